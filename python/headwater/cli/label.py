"""`headwater label`: label a file by answering some questions about it in a browser."""

import webbrowser
from functools import partial
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
from headwater.inputs.config import read_config
from headwater.inputs.files import EventFile
from headwater.learners.base import from_bytes

try:
    from headwater import live
    from headwater.service.file_feed import STREAM, LabelledFile
    from headwater.service.file_labels import counted, outcome, sentences, write_labels
    from headwater.service.file_stream import PORT, FileService, open_stream
except ImportError as error:
    raise Mistake(f"{error}") from None


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
@click.option("--port", type=click.IntRange(0, 65535), default=PORT, show_default=True)
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
    """Label a file: answer some questions, and a model does the rest.

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
    if source is not None and columns.to_plain():
        events, lay = open_events(file, form, columns, "raise"), None
        click.echo(f"The roles of columns come from {source}.")
    else:
        events = open_events(file, form, Columns(), "raise")
        lay = partial(_with_options, roles)
    names = None if classes is None else tuple(part.strip() for part in classes.split(","))
    with reading(events):
        known = open_stream(events, url, names, budget, seed, click.echo, lay)
    shown = None if config is None else read_config(config)
    pages = FileService(events, known, url, name, port, shown)

    def ready() -> None:
        link = pages.link
        click.echo(f"{events.path}: {counted(known.rows, 'row')}. You are {pages.me}.")
        click.echo(f"Label:  {link}")
        click.echo(f"Others: {pages.address}/s/{STREAM}/people makes links for them.")
        click.echo("The link logs you in once, within ten minutes. Stop by Ctrl-C; all is kept.")
        if browse:
            webbrowser.open(link)

    pages.when_ready = ready
    with reading(events):
        pages.run()
    _finish(events, known, url, out, save)


def _with_options(options: dict[str, Any], columns: Columns) -> Columns:
    """Columns with the roles that options give."""
    return given_columns(options, None, columns)[0]


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
    click.echo(f"All answers are in {url}; the same command goes on from there.")
