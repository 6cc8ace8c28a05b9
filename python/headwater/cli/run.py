"""`headwater run`."""

import dataclasses
import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from headwater.cli.columns import as_option, column_options, given_columns
from headwater.cli.help import Command
from headwater.cli.learner_options import build
from headwater.cli.log_lines import LogLines
from headwater.cli.mistakes import Mistake, disk
from headwater.cli.model_tables import knowledge, number, print_knowledge, print_line, print_pairs
from headwater.cli.outputs import check_apart, check_writable, echo_json
from headwater.cli.sources import (
    event_options,
    explained,
    open_events,
    read_model,
    reading,
    top_option,
)
from headwater.cli.stopping import StoppedError, StopWish, stop_wish
from headwater.errors import EventFileError, OutputError
from headwater.inputs.columns import Columns
from headwater.inputs.files import EventFile
from headwater.inputs.findings import Finding
from headwater.learners.base import Learner
from headwater.types import FileRun

FINDING = ("kind", "column", "count", "of", "example")
DAY = 86_400.0
BUDGET_NOTE = (
    "--budget limits questions about events without a label; --simulate learns only what is asked"
    " for."
)


@click.command(
    cls=Command,
    example="headwater run events.csv --label wet --id day --save model.hw",
    first=(
        *("--save", "--label", "--id", "--time", "--ignore", "--text", "--simulate", "--learner"),
        *("--budget", "--set", "--decisions", "--resume"),
    ),
)
@click.argument("file")
@column_options
@event_options
@click.option(
    "--simulate", is_flag=True, help="Learn only labels that the learner asks for, not all."
)
@click.option("--learner", metavar="NAME", help="Any learner or paper's name.  [default: Spring]")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="A parameter of the learner or a component: C=0.5, update=pa1, update.C=0.5. Repeatable.",
)
@click.option(
    "--budget",
    type=float,
    metavar="SHARE",
    help="Share of the labels to ask for: 0.05 is one in twenty.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**63 - 1),
    metavar="INTEGER",
    help="The same seed gives the same questions and weights.  [default: 0]",
)
@click.option(
    "--resume",
    type=click.Path(path_type=Path),
    metavar="MODEL",
    help="Continue with a saved model, with its learner, parameters and seed.",
)
@click.option("--save", type=click.Path(path_type=Path), help="Where the model is saved.")
@click.option(
    "--decisions",
    type=click.Path(path_type=Path),
    help="Where each decision is written: CSV if the name ends in .csv, else JSON lines.",
)
@click.option(
    "--db",
    metavar="URL",
    help="A live database, a path or postgresql://...: every event becomes a fact in it. Labels in"
    " the file are learned, other events decided on; run again to continue.",
)
@click.option("--stream", default="main", show_default=True, help="The stream of the database.")
@click.option(
    "--answer-within",
    type=click.FloatRange(min=0),
    metavar="DAYS",
    help="With --db: how long labels are taken for events that were not asked about.",
)
@top_option
@click.option("--json", "as_json", is_flag=True, help="The summary as JSON.")
def run(
    file: str,
    config: Path | None,
    form: str | None,
    on_error: str,
    simulate: bool,
    learner: str | None,
    settings: tuple[str, ...],
    budget: float | None,
    seed: int | None,
    resume: Path | None,
    save: Path | None,
    decisions: Path | None,
    db: str | None,
    stream: str,
    answer_within: float | None,
    top: int,
    as_json: bool,
    **roles: Any,
) -> None:
    """Predict each event of a file, then learn its label; save the model.

    FILE is svmlight, VW text, JSON lines, CSV, TSV, Parquet or Arrow, compressed or not; - is
    standard input. Events without a label are decided on, and may be asked about. With --simulate
    a label is learned only if the learner asks for it; the others are used only to count its
    errors. Ctrl-C or SIGTERM ends the run early: the summary is printed and the model saved.
    """
    if db is not None:
        if resume or save or decisions:
            raise Mistake(
                "--db keeps model and decisions; leave out --resume, --save, --decisions."
            )
        from headwater.cli.live import run_live

        columns, _ = given_columns(roles, config, None)
        events = _open_live(file, form, columns, on_error)
        within = None if answer_within is None else answer_within * DAY
        named = learner or settings or budget is not None or seed is not None
        given = build(learner or "Spring", settings, budget, seed or 0) if named else None
        with stop_wish() as wish:
            run_live(events, db, stream, given, within, wish, as_json)
        return
    if answer_within is not None:
        raise Mistake("--answer-within goes with --db.")
    if resume is None:
        model = build(learner or "Spring", settings, budget, seed or 0)
    elif learner or settings or budget is not None or seed is not None:
        raise Mistake("--resume brings the learner; leave out --learner, --set, --budget, --seed.")
    else:
        model = read_model(resume)
    columns, source = given_columns(roles, config, model.columns)
    if source is None and columns.label is None:
        columns = dataclasses.replace(columns, label="y")
    events = open_events(file, form, columns, on_error)
    inputs = [Path(file)] if file != "-" else []
    if save is not None:
        check_apart("--save", save, *inputs)
        check_writable(save, "--save", streams=False)
    if decisions is not None:
        check_apart("--decisions", decisions, *inputs, *filter(None, [save, resume]))
        check_writable(decisions, "--decisions", replaced=False)

    if file == "-":
        events.check()  # until there is something to read, there is nothing to save
    with stop_wish() as wish:
        _run(model, events, simulate, decisions, save, wish, top, as_json)
    if source is not None:
        click.echo(f"The roles of columns come from {source}.", err=True)
    if budget is not None and not simulate and not as_json:
        click.echo(BUDGET_NOTE, err=True)


def _open_live(file: str, form: Any, columns: Columns, on_error: Any) -> EventFile:
    """A file for a live stream; it need not have labels, so a field `y` is one if it is there."""
    if columns.label is not None:
        return open_events(file, form, columns, on_error)
    events = open_events(file, form, dataclasses.replace(columns, label="y"), on_error)
    if file != "-":
        try:
            next(events.records(), None)
        except EventFileError as error:
            if "there is no column 'y'" in str(error):
                return open_events(file, form, columns, on_error)
    return events


def _run(
    model: Learner,
    events: EventFile,
    simulate: bool,
    decisions: Path | None,
    save: Path | None,
    wish: StopWish,
    top: int,
    as_json: bool,
) -> None:
    """Run, save, sum up."""
    seen_before, learned_before = model.seen, model.learned
    finished, stopped = _carry_out(model, events, simulate, decisions, save, wish)
    if stopped and (model.seen, model.learned) == (seen_before, learned_before):
        click.echo("Stopped before the first event; nothing was saved.", err=True)
        raise SystemExit(wish.exit_code)
    if not stopped:
        _check(finished, events)
    model._keep_columns(dataclasses.replace(events.columns, units=dict(finished.units)))
    if save is not None:
        with disk(save):
            model.save(save)
    number_wanted = model.task == "regression"
    summary = {
        "learner": repr(model),
        **_counts(finished, number_wanted),
        "unanswered": finished.asked - finished.learned if simulate else finished.asked,
        "every_label": not simulate,
        "stopped": stopped,
        **knowledge(model, top, learned_before),
        "saved": None if save is None else str(save),
        "decisions": None if decisions is None else str(decisions),
    }
    if as_json:
        echo_json(summary)
    else:
        _print(summary, number_wanted)
    for note in _notes(model, finished):
        click.echo(note, err=True)
    if stopped:
        click.echo("Stopped before the end.", err=True)
        raise SystemExit(wish.exit_code)


def _carry_out(
    model: Learner,
    events: EventFile,
    simulate: bool,
    decisions: Path | None,
    save: Path | None,
    wish: StopWish,
) -> tuple[FileRun, bool]:
    """The run, and whether a signal ended it."""
    latest = FileRun()
    unsaved = "" if save is None else " Nothing was saved."
    with reading(events), _bar(events) as show:

        def progress(so_far: FileRun) -> None:
            nonlocal latest
            latest = so_far
            show(so_far)
            wish.check()

        try:
            wish.is_waiting = True
            learn = model.simulate_file if simulate else model.learn_file
            return learn(events, decisions=decisions, progress=progress), False
        except (StoppedError, KeyboardInterrupt):
            return latest, True
        except EventFileError as error:
            cure = unsaved
            if events.on_error == "raise" and (", line " in str(error) or ", row " in str(error)):
                cure += " --on-error skip passes over such lines and counts them."
            raise Mistake(f"{explained(error)}{cure}") from error
        except OutputError as error:
            raise Mistake(f"{error}{unsaved}") from error
        except OSError as error:
            if error.errno is None or error.errno == errno.EPIPE:
                raise
            where = error.filename or events.path
            raise Mistake(f"{where}: {error.strerror}.{unsaved}") from error
        finally:
            wish.is_waiting = False


@contextmanager
def _bar(events: EventFile) -> Iterator[Callable[[FileRun], None]]:
    """A bar on standard error, if that is a terminal; else a line every half minute."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    path = Path(events.path)
    size = path.stat().st_size if events.path != "-" else None
    console = Console(stderr=True)
    columns = (BarColumn(), TaskProgressColumn(), TextColumn("{task.description}", markup=False))
    with Progress(
        *columns, console=console, disable=not console.is_terminal, transient=True
    ) as bars:
        task = bars.add_task("", total=size or None)
        log = LogLines("standard input" if events.path == "-" else events.path)

        def show(now: FileRun) -> None:
            error = f"{now.error_rate:.1%} wrong" if now.labelled else "no label yet"
            if now.absolute_error:
                error = f"{now.mean_absolute_error:.4g} off on average"
            said = f"{now.events:,} events, {error}, {now.asked:,} labels asked for"
            bars.update(task, completed=now.bytes, description=said)
            log.show(now.bytes / size if size else None, said)

        yield show


def _check(finished: FileRun, events: EventFile) -> None:
    """Raise if there was nothing to learn from, which is surely a mistake."""
    name = "standard input" if events.path == "-" else events.path
    if not finished.events:
        if finished.skipped:
            why = finished.problems[0]
            raise Mistake(f"{name}: none of its {finished.skipped:,} lines can be used; {why}")
        raise Mistake(f"{name}: it is empty; there are no events.")
    if not finished.labelled:
        count = f"none of its {finished.events:,} events" if finished.events > 1 else "its event"
        verb = "has" if finished.events > 1 else "does not have"
        if events.format in ("svmlight", "vw"):
            raise Mistake(f"{name}: {count} {verb} a label.")
        label = events.columns.label
        where = "" if label is None else f" in {label!r}"
        raise Mistake(f"{name}: {count} {verb} a label{where}; --label says which field it is.")


def _counts(finished: FileRun, number_wanted: bool) -> dict[str, Any]:
    if number_wanted:
        quality = {"mean_absolute_error": number(finished.mean_absolute_error)}
    else:
        quality = {"errors": finished.mistakes, "error_rate": number(finished.error_rate)}
    return {
        "events": finished.events,
        "labelled": finished.labelled,
        **quality,
        "asked": finished.asked,
        "asked_share": number(finished.asked_share),
        "learned": finished.learned,
        "skipped": finished.skipped,
        "problems": list(finished.problems),
        "findings": [dict(zip(FINDING, parts, strict=True)) for parts in finished.findings],
    }


def _print(summary: dict[str, Any], number_wanted: bool) -> None:
    from rich.console import Console

    console = Console()
    if number_wanted:
        quality = [("error, on average", _shown(summary["mean_absolute_error"], ".4g"))]
    else:
        rate = _shown(summary["error_rate"], ".2%")
        quality = [("errors", f"{summary['errors']:,} ({rate})")]
    asked = _shown(summary["asked_share"], ".2%")
    pairs = [
        ("events", summary["events"]),
        ("with a label in the file", summary["labelled"]),
        *quality,
        ("labels asked for", f"{summary['asked']:,} ({asked})"),
        ("labels learned", summary["learned"]),
        ("lines skipped", summary["skipped"]),
        ("features learned from", summary["features"]),
        ("weights that are not 0", summary["weights"]),
    ]
    print_line(console, _line(summary))
    print_pairs(console, summary["learner"], pairs)
    print_knowledge(console, summary)
    for what in ("saved", "decisions"):
        if summary[what]:
            said = "The model" if what == "saved" else "The decisions"
            print_line(console, f"{said}: {summary[what]}")


def _line(summary: dict[str, Any]) -> str:
    """What the run did, in one line."""
    if not summary["every_label"]:
        asked = f"{summary['asked']:,} labels asked for and {summary['learned']:,} learned"
    else:
        asked = f"{summary['learned']:,} labels learned, {summary['asked']:,} asked for"
    unanswered = f"{summary['unanswered']:,} of them not there"
    return f"{summary['events']:,} events: {asked}, {unanswered}."


def _shown(value: float | None, form: str) -> str:
    """A number; one that is not known, as of a run stopped before a label came, is a dash."""
    return "-" if value is None else format(value, form)


def _notes(model: Learner, finished: FileRun) -> Iterator[str]:
    """What the user should know before trusting the model."""
    yield from (Finding(*parts).sentence(as_option) for parts in finished.findings)
    if finished.skipped:
        yield f"Lines skipped: {finished.skipped:,}"
        yield from (f"  {problem}" for problem in finished.problems)
        if finished.skipped > len(finished.problems):
            yield "  ..."
    if not model.learned:
        yield "No label was learned: it asked for none of those that are there."
    elif (only := _only_label(model)) is not None:
        yield f"Every label learned was {only!r}: it has not seen what it should tell apart."


def _only_label(model: Learner) -> Any:
    """The one label that the model has ever learned; None if there were several."""
    if model.task == "multiclass":
        return model.labels[0] if len(model.labels) == 1 else None
    negatives, positives = model._learned_of_each()
    if (negatives == 0) == (positives == 0):
        return None
    return model.labels[int(positives > 0)]
