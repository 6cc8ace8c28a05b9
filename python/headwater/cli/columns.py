"""The roles of columns on the command line: options, and `headwater.toml`."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from headwater.cli.mistakes import Mistake, disk
from headwater.errors import ParameterError
from headwater.inputs.columns import SEVERAL, SINGLE, TIME_FEATURES, Columns
from headwater.inputs.config import FILE, read_config

HELP = {
    "label": "The column with the label.",
    "id": "The column with the event's id.",
    "time": "The column that says when it happened.",
    "group": "The column that says what an event belongs to.",
    "ignore": "Columns to leave out: a,b.",
    "text": "Columns whose words are features: a,b.",
    "category": "Columns of categories that look like numbers: a,b.",
    "number": "Columns of numbers with units: a,b.",
    "time_features": f"What is made of the time: {','.join(TIME_FEATURES)}.",
    "ngrams": "How many words in a row are one feature at most.",
    "decimal": "The decimal sign of numbers with the role number.",
}
ROLES = ("label", "id", "time", "ignore", "text", "category", "number", "group")
FINER = ("time_features", "ngrams", "decimal")


def _option(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    flag = f"--{name.replace('_', '-')}"
    if name == "ngrams":
        return click.option(flag, type=click.IntRange(1, 5), metavar="N", help=HELP[name])
    metavar = "NAME" if name in SINGLE else "SIGN" if name == "decimal" else "NAMES"
    return click.option(flag, name, metavar=metavar, help=HELP[name])


config_option = click.option(
    "--config",
    type=click.Path(path_type=Path),
    metavar="TOML",
    help=f"Where roles are written.  [default: {FILE}, if it is here]",
)


def column_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command one option per role."""
    for name in reversed((*ROLES, *FINER)):
        command = _option(name)(command)
    return config_option(command)


def given_columns(
    options: dict[str, Any], config: Path | None, base: Columns | None = None
) -> tuple[Columns, str | None]:
    """The columns that options, a file and a model say, and where they come from.

    An option replaces what the file says about its role; a column gets its role from the option.
    """
    columns, source = base or Columns(), "the model" if base is not None else None
    if config is None and Path(FILE).is_file() and base is None:
        config = Path(FILE)
    if config is not None:
        with disk(config):
            columns, source = read_config(config).columns, str(config)
    said = {name: value for name, value in options.items() if value is not None}
    changes: dict[str, Any] = {}
    for name, value in said.items():
        several = name in SEVERAL or name == "time_features"
        changes[name] = tuple(filter(None, value.split(","))) if several else value
    taken = {n for name in said if name in ROLES for n in _listed(changes[name])}
    for role in (*SINGLE, *SEVERAL):
        if role in changes:
            continue
        now = getattr(columns, role)
        if isinstance(now, tuple):
            changes[role] = tuple(name for name in now if name not in taken)
        elif now in taken:
            changes[role] = None
    number = changes.get("number", columns.number)
    changes["units"] = {name: u for name, u in columns.units.items() if name in number}
    if changes.get("time", columns.time) is None and "time_features" not in said:
        changes["time_features"] = ()
    try:
        return dataclasses.replace(columns, **changes), source
    except ParameterError as error:
        raise Mistake(str(error).removeprefix("Columns: ")) from None


def _listed(value: Any) -> tuple[str, ...]:
    return value if isinstance(value, tuple) else (value,)


def as_option(role: str, column: str) -> str:
    """A role as the command line takes it."""
    return f"--{role} {column!r}" if " " in column else f"--{role} {column}"
