"""What `run`, `predict`, `show` and `diff` read: files of events and models."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from headwater.cli.columns import as_option
from headwater.cli.mistakes import Mistake, disk
from headwater.errors import EventFileError, LabelError, ModelFileError, ParameterError
from headwater.inputs.columns import Columns
from headwater.inputs.files import SUFFIXES, EventFile
from headwater.inputs.files import open as open_file
from headwater.learners.base import Learner, load
from headwater.parameters import did_you_mean

NO_COLUMN = re.compile("there is no column '([^']*)'; its header has (.*)\\.$")
"""The sentence of the core, which does not look for the nearest name."""
FORMATS = tuple(dict.fromkeys(SUFFIXES.values()))

format_option = click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    help="The format of FILE; by default its extension decides.",
)
OPTIONS = (
    format_option,
    click.option(
        "--on-error",
        type=click.Choice(["raise", "skip"]),
        default="raise",
        show_default=True,
        help="What happens at a line that cannot be used: stop, or skip and count it.",
    ),
)

top_option = click.option(
    "--top",
    type=click.IntRange(min=0),
    default=10,
    show_default=True,
    help="How many weights and names a list shows.",
)


def event_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of a file of events."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def open_events(file: str, form: Any, columns: Columns, on_error: Any) -> EventFile:
    """The file, if it is there and its format is known."""
    try:
        events = open_file(file, format=form, columns=columns, on_error=on_error)
    except ParameterError as error:
        if "has no columns" in str(error):
            raise Mistake(str(error).removeprefix("open: ")) from None
        what = "standard input" if file == "-" else f"the name of {file}"
        raise Mistake(
            f"{what} does not say its format; say it with --format ({', '.join(FORMATS)})."
        ) from None
    if file != "-":
        with disk(file):
            events.check()
    elif events.is_columnar:
        raise Mistake(f"standard input: {events.format} is read from a file only.")
    return events


def explained(error: EventFileError) -> str:
    """The sentence of an error; of a column that is not there, with the nearest that is."""
    text = str(error)
    missing = NO_COLUMN.search(text)
    if missing is None:
        return text
    if missing[1] == "y":
        return f"{text} --label NAME says which one is the label."
    near = did_you_mean(missing[1], re.findall("'([^']*)'", missing[2]))
    return f"{text.removesuffix('.')}{near}"


def tell_of(events: EventFile, refused: Sequence[str] = (), count: int = 0) -> None:
    """Say what looks wrong in a file that was read, and which lines could not be used.

    `refused` are sentences about events that the reader took and a stream did not, `count` how many
    there were.
    """
    for finding in events.findings:
        if finding[:2] == ("unused", "y"):
            continue  # nobody named it: a field `y` is the label if it is there
        click.echo(finding.sentence(as_option), err=True)
    for title, problems, total in (
        ("Lines skipped", events.problems, events.skipped),
        ("Events refused", refused, count),
    ):
        if total:
            click.echo(f"{title}: {total:,}", err=True)
            for problem in problems:
                click.echo(f"  {problem}", err=True)
            if total > len(problems):
                click.echo("  ...", err=True)


@contextmanager
def reading(file: EventFile) -> Iterator[None]:
    """Turn errors while reading a file into messages for the command line."""
    try:
        with disk(file.path):
            yield
    except LabelError as error:
        if "classes=" not in str(error):
            raise
        cure = "--set classes=NEGATIVE,POSITIVE, or --set multiclass=true for several"
        raise Mistake(f"{error} On the command line: {cure}.") from error
    except EventFileError as error:
        raise Mistake(explained(error)) from error
    except ModuleNotFoundError as error:
        if error.name != "pyarrow":
            raise
        raise Mistake(
            f'{file.path}: reading {file.format} needs pyarrow: pip install "headwater[arrow]".'
        ) from error


SQLITE = b"SQLite format 3\0"


def read_model(path: Path) -> Learner:
    """The saved model."""
    with disk(path):
        try:
            return load(path)
        except ModelFileError:
            with path.open("rb") as file:
                if file.read(len(SQLITE)) != SQLITE:
                    raise
    raise Mistake(
        f"{path}: this is the database of a live stream, no model file;"
        f" `headwater status --db {path}` and `headwater features --db {path}` show it."
    )
