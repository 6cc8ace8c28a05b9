"""`headwater label`: label a file by answering some questions about it in a browser."""

import getpass
import os
import threading
import time
import webbrowser
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any

import click

from headwater.cli.columns import column_options, given_columns
from headwater.cli.help import Command
from headwater.cli.mistakes import Mistake
from headwater.cli.outputs import check_apart, check_writable, text_output
from headwater.cli.sources import format_option, open_events, reading
from headwater.inputs.columns import Columns
from headwater.inputs.config import FILE as CONFIG
from headwater.inputs.config import Config, read_config
from headwater.inputs.files import EventFile
from headwater.inputs.proposal import as_columns, propose
from headwater.inputs.random_order import count_rows
from headwater.learners.base import from_bytes
from headwater.learners.spring import Spring

try:
    from headwater import live
    from headwater.cli.demo_live import free_port
    from headwater.live.database import Database
    from headwater.service.app import create_app
    from headwater.service.file_feed import (
        FILE,
        STREAM,
        FileFeed,
        LabelledFile,
        fingerprint,
        known_file,
        texts_of,
    )
    from headwater.service.file_labels import Outcome, outcome, write_labels
    from headwater.service.records import Records
    from headwater.service.server import Server
    from headwater.service.service import Service
    from headwater.service.settings import Settings
except ImportError as error:
    raise Mistake(f"{error}") from None

SAMPLE = 1_000
RATE = 0.05
FEWEST = 1_200
"""Questions that a file should have in it, if it has as many rows: a thousand, and some to skip."""
QUIET = 25.0
"""Seconds without an open question after which all is done; an undo opens one again."""


@click.command(
    cls=Command,
    example="headwater label reviews.csv --classes no,yes --out labelled.jsonl --save model.hw",
    first=("--classes", "--out", "--save", "--text", "--id", "--open"),
)
@click.argument("file")
@click.option("--classes", metavar="A,B", help="The classes; without it they are typed as met.")
@click.option("--out", type=click.Path(path_type=Path), help="Where every row's label is written.")
@click.option("--save", type=click.Path(path_type=Path), help="Where the model is saved.")
@click.option("--open", "browse", is_flag=True, help="Open the page in the browser.")
@click.option("--name", help="Your name.  [default: that of your account]")
@click.option("--db", type=click.Path(path_type=Path), help="The database.  [default: FILE.db]")
@click.option("--budget", type=float, metavar="SHARE", help="The share of rows to ask about.")
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), metavar="INTEGER", default=0)
@click.option("--port", type=click.IntRange(0, 65535), default=8420, show_default=True)
@column_options
@format_option
def label(
    file: str,
    classes: str | None,
    out: Path | None,
    save: Path | None,
    browse: bool,
    name: str | None,
    db: Path | None,
    budget: float | None,
    seed: int,
    port: int,
    config: Path | None,
    form: str | None,
    **roles: Any,
) -> None:
    """Label a file: answer some questions in a browser, and a model does the rest.

    Rows are asked about in random order. Answers are kept in FILE.db as they come: stop by Ctrl-C
    and call it again to go on. At the end it says how good the labels are, and writes them.
    """
    if file == "-":
        raise Mistake("label: it reads a file more than once; standard input can be read once.")
    url = Path(f"{file}.db") if db is None else db
    for option, path in (("--out", out), ("--save", save)):
        if path is not None:
            check_apart(option, path, file, url)
            check_writable(path, option)
    config = Path(CONFIG) if config is None and Path(CONFIG).is_file() else config
    columns, source = given_columns(roles, config, None)
    events = open_events(file, form, columns, "raise")
    with reading(events):
        known = _begin(events, url, source, classes, budget, seed)
    events.columns = Columns.from_plain(known.columns)
    _serve(events, known, url, config, name, port, browse)
    _finish(events, known, url, out, save)


def _begin(
    events: EventFile,
    url: Path,
    source: str | None,
    classes: str | None,
    budget: float | None,
    seed: int,
) -> LabelledFile:
    """Make the stream of a file, or find the one that is there."""
    asked_roles = events.columns.to_plain()
    events.optional = True
    known = _known(events, url)
    if known is not None:
        if asked_roles and asked_roles != known.columns:
            raise Mistake(
                f"{url}: it was begun with other roles ({known.columns}); leave them out, or begin"
                " again with another --db."
            )
        given = classes is not None or budget is not None
        learner = _learner(classes, known.rate if budget is None else budget) if given else None
        live.open(url, stream=STREAM, learner=learner).close()
        click.echo(f"{url}: it goes on where it stopped.")
        return known
    if asked_roles:
        if source is not None:
            click.echo(f"The roles of columns come from {source}.")
    elif events.format not in ("svmlight", "vw"):
        events.columns = _proposed(events)
    rows = count_rows(events)
    if not rows:
        raise Mistake(f"{events.path}: it is empty; there are no rows to label.")
    rate = rate_for(rows) if budget is None else budget
    learner = _learner(classes, rate)
    columns = events.columns.to_plain()
    made = LabelledFile(*fingerprint(events.path), rows, seed, rate, columns)
    with live.open(url, stream=STREAM, learner=learner):
        database = Database(url)
        try:
            Records(database).write(FILE, "", made)
        finally:
            database.close()
    return made


def rate_for(rows: int) -> float:
    """The share of the rows to ask about, if nobody says another."""
    return max(RATE, min(1.0, FEWEST / rows))


def _known(events: EventFile, url: Path) -> LabelledFile | None:
    """The file as its database knows it; None if that has to be made."""
    if not url.exists():
        return None
    database = Database(url)
    try:
        database.check()
        known = known_file(Records(database), events)
    finally:
        database.close()
    if known is None:
        with live.read(url, STREAM) as reader:
            if reader.status().events:
                raise Mistake(f"{url}: it is the database of something else; name another by --db.")
    return known


def _learner(classes: str | None, rate: float) -> Spring:
    if classes is None:
        return Spring(label_rate=rate, multiclass=True)
    names = tuple(part.strip() for part in classes.split(","))
    if len(names) < 2 or not all(names) or len(set(names)) < len(names):
        raise Mistake(f"--classes: expected two names or more, such as no,yes, got {classes!r}.")
    return Spring(label_rate=rate, classes=names, multiclass=len(names) > 2)


def _proposed(events: EventFile) -> Columns:
    """The roles that a sample of the file suggests, which are said."""
    sample = events.sample(SAMPLE)
    if not sample:
        raise Mistake(f"{events.path}: it is empty; there are no rows to label.")
    columns = as_columns(propose(sample))
    told = "; ".join(f"{role} {name}" for role, name in columns.roles())
    click.echo(f"Roles: {told or 'none, every column is a feature'}.")
    click.echo("`headwater init` writes them to a file, for you to change.")
    return columns


def _serve(
    events: EventFile,
    file: LabelledFile,
    url: Path,
    config: Path | None,
    name: str | None,
    port: int,
    browse: bool,
) -> None:
    """Run the pages until all is answered or Ctrl-C is pressed."""
    sections = {} if config is None else read_config(config).sections
    shown = {one: sections[one] for one in ("fields", "labels") if one in sections}
    port = free_port("label", port)
    app = create_app(Settings(database=str(url), port=port, config=Config(sections=shown)))
    service: Service = app.state.service
    service.texts = texts_of(service)
    me = name or _account()
    known = {one.name: one for one in service.access.grants("person")}
    person = known.get(me) or service.access.add_person(me, ["admin"])
    code, _ = service.access.invite(person)
    feed = FileFeed(service, events, file)

    def ready(port: int) -> None:
        address = f"http://127.0.0.1:{port}"
        click.echo(f"{events.path}: {file.rows:,} rows. You are {me}.")
        click.echo(f"Label:  {address}/login#{code}")
        click.echo(f"Others: {address}/s/{STREAM}/people makes links for them.")
        click.echo("The link logs you in once, within ten minutes. Stop by Ctrl-C; all is kept.")
        feed.start()
        if browse:
            webbrowser.open(f"{address}/login#{code}")

    server = Server(app, ready)
    watch = threading.Thread(target=_watch, args=(feed, server), daemon=True)
    watch.start()
    with open(os.devnull, "w") as nowhere, redirect_stderr(nowhere):  # the log of requests
        try:
            server.run()
        finally:
            feed.close()
    if feed.failure is not None:
        raise Mistake(f"{feed.failure}")


def _watch(feed: FileFeed, server: Server) -> None:
    """Stop the server when all is done, or when the file cannot be read on."""
    quiet_since: float | None = None
    while not server.should_exit:
        time.sleep(0.5)
        if feed.failure is not None:
            server.should_exit = True
        elif not feed.is_done or server.should_exit:
            continue
        elif not feed.is_finished:
            quiet_since = None
        elif quiet_since is None:
            quiet_since = time.monotonic()
        elif time.monotonic() - quiet_since > QUIET:
            server.should_exit = True


def _account() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return "you"


def _finish(
    events: EventFile, file: LabelledFile, url: Path, out: Path | None, save: Path | None
) -> None:
    """Say how good it is, write the labels and save the model."""
    with live.open(url, stream=STREAM) as loop, reading(events):
        loop.apply()
        loop.wait()
        for line in sentences(outcome(loop, str(url), events, file)):
            click.echo(line)
        if out is not None:
            with text_output(out) as output:
                given, known, predicted = write_labels(loop, events, output.write)
            click.echo(f"{out}: {given:,} given, {known:,} from the file, {predicted:,} predicted.")
        if save is not None:
            model = from_bytes(loop.learner.to_bytes())
            model._keep_columns(events.columns)
            model.save(save)
            click.echo(f"The model: {save}")


def sentences(found: Outcome) -> list[str]:
    """What came of it, in words."""
    lines = [
        f"{found.answers:,} answers about {found.seen:,} of {found.rows:,} rows;"
        f" {found.open:,} questions are open."
    ]
    if len(found.people) > 1:
        people = sorted(found.people.items(), key=lambda one: (-one[1], one[0]))
        lines.append("By " + ", ".join(f"{who} {count:,}" for who, count in people) + ".")
    error, (low, high) = found.quality.error, found.quality.interval
    if error is None:
        lines.append("How good the predictions are is not known yet.")
    else:
        lines.append(
            f"Predictions were wrong in {error:.1%} of the rows ({low:.1%} to {high:.1%} with 95 %"
            " confidence), each predicted before its answer."
        )
    if found.effect is None:
        lines.append("From 200 answers on, this says whether more of them help.")
    else:
        changed = f"The last 100 answers changed {found.effect.changed:.1%} of the predictions"
        if found.effect.is_small:
            lines.append(f"{changed}: another hundred would hardly help.")
        else:
            lines.append(f"{changed}: another hundred may help.")
    return lines
