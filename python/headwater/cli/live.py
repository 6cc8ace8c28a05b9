"""The commands about live streams: `run --db`, `status`, `replay`, `export` and their like."""

import os
import time
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

import click

from headwater.catalogue import algorithm
from headwater.cli.help import Command
from headwater.cli.learner_options import build
from headwater.cli.log_lines import LogLines
from headwater.cli.mistakes import Mistake
from headwater.cli.model_tables import number, print_pairs
from headwater.cli.outputs import echo_json
from headwater.cli.sources import reading, tell_of
from headwater.cli.stopping import StoppedError, StopWish
from headwater.inputs.files import EventFile
from headwater.learners.base import Learner

try:
    from headwater import live
    from headwater.live.event_record import EventRecord
    from headwater.live.results import Receipt
except ImportError as error:
    raise Mistake(f"{error}") from None

PAGE = 500
"""Events of a file that share a commit."""

SHOWN = 10
"""Refused events that are named."""

WINDOWS: tuple[Any, ...] = ("day", "week")
"""Of which `status` shows the error rate, beside that of all events."""

Decorated = Callable[..., Any]


def database_options(command: Decorated) -> Decorated:
    """Give a command the options that say which stream it is about."""
    for option in (
        click.option("--stream", default="main", show_default=True, help="The stream's name."),
        click.option("--db", required=True, metavar="URL", help="A path, or postgresql://..."),
    ):
        command = option(command)
    return command


def run_live(
    events: EventFile,
    db: str,
    stream: str,
    learner: Learner | None,
    answer_within: float | None,
    wish: StopWish,
    as_json: bool,
) -> None:
    """`headwater run --db`: every event of a file becomes a fact.

    An event without an id of its own is known by file and number, so that a second run goes on
    where the first one stopped.
    """
    counts = {"events": 0, "new": 0, "asked": 0, "labels": 0, "refused": 0}
    stopped = False
    refused: list[str] = []
    place = "-" if events.path == "-" else os.path.basename(events.path)
    if learner is None and not _has_stream(db, stream):
        learner = build("Spring", ("track=true",), None, 0)
    clock: Any = None if events.columns.time is None else "events"
    log = LogLines("standard input" if events.path == "-" else events.path)
    kept: dict[str, Any] = {"clock": clock, "answer_within": answer_within}
    with live.open(db, learner=learner, stream=stream, **kept) as loop, reading(events):
        if clock is None and loop._journal.settings.clock == "events":
            click.echo(
                f"{stream} has had the times of its events so far, and {events.path} gives none, so"
                " its events come now; --time says which column has them.",
                err=True,
            )
        records = enumerate(events.timed_records())
        while page := list(islice(records, PAGE)):
            ids = [f"{place}/{at}" if one.id is None else one.id for at, (one, _, _) in page]
            labels = [one.y for _, (one, _, _) in page]
            done = loop.receive_many(
                [one.x for _, (one, _, _) in page],
                ids=ids,
                labels=labels,
                times=[time for _, (_, time, _) in page],
                groups=[None if group is None else str(group) for _, (_, _, group) in page],
            )
            for receipt, label in zip(done, labels, strict=True):
                counts["events"] += 1
                if not isinstance(receipt, Receipt):
                    counts["refused"] += 1
                    if len(refused) < SHOWN:
                        id = ids[done.index(receipt)]
                        refused.append(f"{id}: {receipt}")
                    if events.on_error == "raise":
                        raise Mistake(f"{events.path}: {receipt} The events before it are kept.")
                elif not receipt.repeated:
                    counts["new"] += 1
                    counts["asked"] += receipt.asked
                    counts["labels"] += label is not None
            log.show(None, f"{counts['events']:,} events, {counts['asked']:,} questions")
            try:
                wish.check()
            except StoppedError:
                stopped = True
                break
        summary: dict[str, Any] = {"learner": repr(loop.learner), **counts, "stopped": stopped}
    summary["skipped"] = events.skipped
    if as_json:
        echo_json(summary)
    else:
        _print(
            summary["learner"],
            [
                ("events in the file", counts["events"]),
                ("new events", counts["new"]),
                ("labels learned from the file", counts["labels"]),
                ("questions asked", counts["asked"]),
                ("lines skipped", events.skipped),
                ("events refused", counts["refused"]),
            ],
        )
    tell_of(events, refused, counts["refused"])
    if stopped:
        click.echo("Stopped before the end; run again to continue.", err=True)
        raise SystemExit(wish.exit_code)


def _has_stream(db: str, stream: str) -> bool:
    from headwater.errors import JournalError

    try:
        live.read(db, stream).close()
    except JournalError:
        return False
    return True


@click.command(cls=Command, example="headwater status --db plant.db")
@database_options
@click.option(
    "--alarm",
    type=click.FloatRange(0, 1),
    metavar="RATE",
    help="Exit with code 3 if the error rate of the last week is certainly above this.",
)
@click.option("--last", default=5, show_default=True, type=click.IntRange(min=0), help="Facts.")
@click.option("--json", "as_json", is_flag=True, help="The same as JSON.")
def status(db: str, stream: str, last: int, alarm: float | None, as_json: bool) -> None:
    """Show a live stream: events, questions, quality, last facts.

    The error rate is over all events, estimated from the labels that were asked for, with an
    interval of 95 %.
    """
    with live.read(db, stream) as reader:
        found = reader.status(last)
        recent = {window: reader.quality(window) for window in WINDOWS}
    over = alarm is not None and recent["week"].is_above(alarm)
    if as_json:
        told = found._asdict()
        told["error"] = None if found.error is None else number(found.error)
        told["interval"] = None if found.interval is None else [number(x) for x in found.interval]
        told["recent"] = {
            window: {"error": one.error, "interval": list(one.interval), "labels": one.labels}
            for window, one in recent.items()
        }
        told["alarm"] = over
        echo_json(told)
        _sound(over, alarm)
        return
    states = [(f"questions {state}", count) for state, count in sorted(found.questions.items())]
    pairs: list[tuple[str, Any]] = [
        ("events", found.events),
        ("questions asked", found.asked),
        *states,
        ("labels learned", found.labels),
        ("error rate", _error(found.error, found.interval)),
        *((f"error rate, last {name}", _error(*told[:2])) for name, told in recent.items()),
        ("snapshots", len(found.snapshots)),
    ]
    _print(f"{found.stream}: {found.learner}", pairs)
    for fact, kind, when in found.last:
        moment = datetime.fromtimestamp(when, UTC).strftime("%Y-%m-%d %H:%M:%S")
        click.echo(f"  {fact}  {moment}  {kind}")
    _sound(over, alarm)


def _sound(over: bool, alarm: float | None) -> None:
    """Exit code 3 if the error of the last week is above a line for all that is known."""
    if over:
        click.echo(f"The error rate of the last week is above {alarm:g}.", err=True)
        raise SystemExit(3)


@click.command(cls=Command, example="headwater replay --db plant.db --learner Linear")
@database_options
@click.option("--learner", required=True, metavar="NAME", help="Any learner or paper's name.")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="As in run.")
@click.option("--budget", type=float, metavar="SHARE", help="As in run.")
@click.option("--since", metavar="DATE", help="Count the error from this day on: 2026-11-01.")
@click.option("--questions", type=click.IntRange(min=1), help="Keep so many of the questions.")
@click.option("--json", "as_json", is_flag=True, help="The same as JSON.")
def replay(
    db: str,
    stream: str,
    learner: str,
    settings: tuple[str, ...],
    budget: float | None,
    since: str | None,
    questions: int | None,
    as_json: bool,
) -> None:
    """Replay a live stream to another learner, and compare.

    The learner is told the questions that were asked, or some of them. If it would have asked about
    other events in more than a tenth of the cases, its error is not known.
    """
    algorithm(learner)
    model = build(learner, settings, budget, 0)
    found = live.what_if(db, model, stream=stream, since=_time(since), questions=questions)
    if as_json:
        told = {**found._asdict(), "learner": repr(found.learner)}
        told["interval"] = None if found.interval is None else list(found.interval)
        echo_json(told)
        return
    pairs = [
        ("events", found.events),
        ("labels learned", found.labels),
        ("would have asked elsewhere", f"{found.unasked:,} of {found.wished:,}"),
        ("error rate", _error(found.error, found.interval)),
    ]
    _print(repr(found.learner), pairs)


@click.command(cls=Command, example="headwater export facts.jsonl --db plant.db")
@click.argument("file", type=click.Path(path_type=Path))
@database_options
def export(db: str, stream: str, file: Path) -> None:
    """Write a live stream to a file: JSON lines or Parquet."""
    count = live.export_stream(db, file, stream)
    click.echo(f"{file}: {count:,} facts.")


@click.command("import", cls=Command, example="headwater import facts.jsonl --db copy.db")
@click.argument("file", type=click.Path(exists=True, path_type=Path))
@click.option("--db", required=True, metavar="URL", help="A path, or postgresql://...")
@click.option("--stream", default=None, help="The new stream's name.  [default: as exported]")
def import_(db: str, stream: str | None, file: Path) -> None:
    """Make a live stream from an export."""
    count = live.import_stream(db, file, stream)
    click.echo(f"{db}: {count:,} facts.")


@click.command(cls=Command, example="headwater backup plant.backup --db plant.db")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--db", required=True, metavar="URL", help="A path, or postgresql://...")
def backup(db: str, file: Path) -> None:
    """Copy a live database into one file, also while it is used."""
    live.backup(db, file)
    click.echo(f"{file}: {file.stat().st_size:,} bytes.")


@click.command(cls=Command, example="headwater restore plant.backup --db plant.db")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--db", required=True, metavar="URL", help="A new database.")
def restore(db: str, file: Path) -> None:
    """Make a live database from a backup."""
    live.restore(file, db)
    click.echo(f"{db}: restored from {file}.")


@click.command(cls=Command, example="headwater upgrade --db plant.db")
@click.option("--db", required=True, metavar="URL", help="A path, or postgresql://...")
def upgrade(db: str) -> None:
    """Bring a live database to the newest version, after a backup."""
    kept = f"{db}.before-{int(time.time())}"
    before = live.upgrade(db, kept)
    if before is None:
        click.echo(f"{db}: its tables are of the newest version.")
    else:
        click.echo(f"{db}: upgraded from version {before}; the database before is {kept}.")


@click.command(cls=Command, example="headwater forget --db plant.db --event eve-4711")
@database_options
@click.option("--event", metavar="ID", help="The event's id, or # and the number of its fact.")
@click.option("--person", metavar="NAME", help="The name of somebody who has answered.")
def forget(db: str, stream: str, event: str | None, person: str | None) -> None:
    """Erase an event or a person from a live stream.

    The event's content goes from tables, snapshots and the write-ahead log, and the model is
    replayed without it. Of a person the name goes. Backups must expire by themselves.
    """
    if (event is None) == (person is None):
        raise Mistake("forget: say either --event or --person.")
    with live.open(db, stream=stream) as loop:
        if event is not None:
            loop.forget(f"#{find_event(loop, event).number}")
            click.echo(f"{db}: event {event} is forgotten.")
        else:
            assert person is not None
            known = loop.forget_person(person)
            click.echo(f"{db}: {person} is person {known} now.")


def find_event(loop: live.Loop, text: str) -> EventRecord:
    """An event by its id as somebody wrote it: a text, or a whole number."""
    is_number = text.removeprefix("-").isdecimal() and text.isascii()
    return loop.find([text, int(text)] if is_number else text)


def _print(title: str, pairs: list[tuple[str, Any]]) -> None:
    from rich.console import Console

    print_pairs(Console(), title, pairs)


def _error(error: float | None, interval: Any) -> str:
    if error is None or interval is None:
        return "not known"
    return f"{error:.1%} ({interval.low:.1%} to {interval.high:.1%})"


def _time(day: str | None) -> float:
    if day is None:
        return 0.0
    try:
        moment = datetime.fromisoformat(day)
    except ValueError:
        raise Mistake(f"--since must be a date such as 2026-11-01, got {day!r}.") from None
    return moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()
