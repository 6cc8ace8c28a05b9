"""`headwater init`."""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from headwater.cli.help import Command
from headwater.cli.mistakes import Mistake
from headwater.cli.model_tables import spelled
from headwater.cli.outputs import check_apart, check_writable
from headwater.cli.sources import event_options, open_events, reading
from headwater.inputs.columns import Columns
from headwater.inputs.config import FILE
from headwater.inputs.proposal import MOST_CLASSES, Proposed, as_columns, label_classes, propose
from headwater.learners.atomic_file import write_file

SAMPLE = 1_000
"""Events that are looked at."""
LISTED = 20
"""Columns of plain numbers that are listed one by one; the others are counted."""


@click.command(cls=Command, example="headwater init events.csv --label wet")
@click.argument("file")
@click.option("--label", metavar="NAME", help="The column with the label.")
@event_options
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=FILE,
    show_default=True,
    help="Where the roles are written.",
)
@click.option("--force", is_flag=True, help="Replace the file that is there.")
def init(
    file: str, label: str | None, form: str | None, on_error: str, out: Path, force: bool
) -> None:
    """Look at a file, propose what its columns are for: headwater.toml.

    Looks at the first 1,000 events. The other commands read what is written; change it as you like.
    """
    if file == "-":
        raise Mistake("init: it looks at a file; standard input can be read once only.")
    events = open_events(file, form, Columns(), on_error)
    if events.format in ("svmlight", "vw"):
        raise Mistake(f"init: {events.format} has no columns, so there are no roles to give.")
    check_apart("--out", out, file)
    if out.exists() and not force:
        raise Mistake(f"--out: {out} is there already; --force replaces it.")
    check_writable(out, streams=False)
    with reading(events):
        sample = events.sample(SAMPLE)
    if not sample:
        raise Mistake(f"{file}: it is empty; there are no events.")
    proposed = propose(sample, label)
    names = [one.column for one in proposed]
    if label is not None and label not in names:
        raise Mistake(f"--label: there is no column {label!r}; there are {', '.join(names[:10])}.")
    columns = as_columns(proposed)
    write_file(out, as_toml(file, proposed, columns).encode())
    _print(file, out, proposed, len(sample))
    if columns.label is None:
        two = [name for name in names if len(label_classes(sample, name)) == 2]
        click.echo(f"No column is called y, label or target: which one is the label{_like(two)}?")
        name = spelled(two[0]) if len(two) == 1 else "NAME"
        command = f"headwater init {file} --label {name} --force"
    else:
        command = f"headwater run {file} --save model.hw"
        command += _learner(label_classes(sample, columns.label))
    if out != Path(FILE):
        command += f" {'--config' if columns.label is not None else '--out'} {out}"
    click.echo(f"Next: {command}")


def as_toml(file: str, proposed: Sequence[Proposed], columns: Columns) -> str:
    """The roles as a section of TOML, each with its reason."""
    reasons: dict[str, list[str]] = {}
    for column, role, reason, _ in proposed:
        if role is not None:
            reasons.setdefault(role, []).append(f"{column}: {reason}")
    lines = [f"# The roles of the columns of {Path(file).name}.", "[columns]"]
    for key, value in columns.to_plain().items():
        lines += [f"# {reason}" for reason in map(_on_one_line, reasons.get(key, []))]
        lines.append(f"{key} = {json.dumps(value, ensure_ascii=False)}")
    plain = [one.column for one in proposed if one.role is None]
    if plain:
        more = f" and {len(plain) - LISTED:,} more" if len(plain) > LISTED else ""
        lines.append(f"# Features as they are: {_on_one_line(', '.join(plain[:LISTED]))}{more}")
    if columns.time is not None:
        lines.append('# time_features = ["hour", "weekday", "since_last"]')
    return "\n".join(lines) + "\n"


def _on_one_line(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text)


def _learner(classes: Counter[Any]) -> str:
    """What must be said about the labels: two words, several, numbers."""
    values = list(classes)
    numbers = [v for v in values if isinstance(v, (int, float)) and not isinstance(v, bool)]
    if set(values) <= {0, 1} or set(values) <= {-1, 1}:
        return ""
    if numbers and len(numbers) == len(values) and len(values) > MOST_CLASSES:
        return " --learner PARegressor"
    if len(values) == 2:
        rare = min(classes, key=lambda value: classes[value])
        other = next(value for value in values if value != rare)
        return f" --set classes={other},{rare}"
    return " --set multiclass=true"


def _like(two: Sequence[str]) -> str:
    """The columns that could be a label of two classes."""
    if not two:
        return ""
    names = " and ".join(filter(None, [", ".join(two[:-1]), two[-1]]))
    return f" ({names} {'has' if len(two) == 1 else 'have'} two values)"


def _print(file: str, out: Path, proposed: Sequence[Proposed], events: int) -> None:
    numbers = [one for one in proposed if one.role is None and one.reason.startswith("numbers")]
    counted = set(numbers[LISTED:])
    listed = [one for one in proposed if one not in counted]
    width = max(len(spelled(one.column)) for one in listed)
    click.echo(f"{file}: the first {events:,} events")
    for one in listed:
        example = f", such as {spelled(one.example[:30])}" if one.example else ""
        role = one.role or "feature"
        click.echo(f"  {spelled(one.column):<{width}}  {role:<8}  {one.reason}{example}")
    if counted:
        click.echo(f"  and {len(counted):,} more features that are numbers")
    click.echo(f"Written: {out}")
