"""`headwater.toml`: one file of settings, checked and documented by one table."""

import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from headwater.errors import ParameterError
from headwater.inputs.columns import TIME_FEATURES, Columns

FILE = "headwater.toml"

Kind: TypeAlias = Literal[
    "a text", "a list of texts", "a number", "a whole number", "true or false", "a table of texts"
]


class Key(NamedTuple):
    """A key of a section: what it holds, what it means, and what it is if it is left out."""

    kind: Kind
    meaning: str
    default: Any = None


class Section(NamedTuple):
    """A section: what it is for, its keys, and which command reads it.

    `named`: it holds one table of these keys per name, as `[streams.plant]`. `free`: the user
    chooses its keys, which all hold what `Key` says.
    """

    meaning: str
    keys: Mapping[str, Key]
    named: bool = False
    free: Key | None = None
    later: bool = False


SCHEMA: dict[str, Section] = {
    "columns": Section(
        "The roles of columns; a column without a role is a feature.",
        {
            "label": Key("a text", "the column with the label"),
            "id": Key("a text", "the column with the event's id"),
            "time": Key("a text", "the column that says when it happened"),
            "group": Key("a text", "the column that says what an event belongs to"),
            "ignore": Key("a list of texts", "columns that are left out"),
            "text": Key("a list of texts", "columns whose words are features"),
            "category": Key("a list of texts", "columns of indicators, also if they are digits"),
            "number": Key("a list of texts", "columns of numbers, also if they have units"),
            "time_features": Key(
                "a list of texts", f"what is made of the time: {', '.join(TIME_FEATURES)}"
            ),
            "ngrams": Key("a whole number", "how many words in a row are one feature at most"),
            "decimal": Key("a text", 'the decimal sign of numbers written as text, "," or "."'),
            "units": Key("a table of texts", "the units of columns of numbers"),
        },
    ),
    "streams": Section(
        "What runs on a stream of this name.",
        {
            "learner": Key("a text", "the name of a learner"),
            "label_rate": Key("a number", "the share of labels to ask for"),
            "labels": Key(
                "a text",
                '"asked": labels come for events that were asked about, others may be chosen;'
                ' "all": those of all events come by and by, and count in quality',
            ),
            "keep_events": Key("a text", "how long bodies of events are kept"),
            "answer_within": Key("a text", "how long an answer is worth something"),
        },
        named=True,
    ),
    "labels": Section(
        "How a label is shown to people.",
        {},
        free=Key("a text", "the name that people see for this label, `name [k]` with its key"),
    ),
    "fields": Section(
        "How a feature of this name is shown to people.",
        {
            "label": Key("a text", "the name that people see"),
            "unit": Key("a text", "the unit behind its values"),
            "format": Key("a text", "how its numbers are written, as Python's format(): .1f"),
            "hidden": Key("true or false", "whether cards leave it out"),
        },
        named=True,
    ),
    "allowance": Section(
        "How many questions people can answer, for each stream of the service. At every start it"
        " takes the place of an allowance that was set otherwise.",
        {
            "per_hour": Key("a whole number", "questions per hour"),
            "per_day": Key("a whole number", "questions per day"),
            "per_person_per_hour": Key("a whole number", "questions per person and hour"),
            "money_per_day": Key("a number", "money per day"),
            "price": Key("a number", "money per question"),
            "burst": Key("a whole number", "questions per minute"),
            "hours": Key("a text", "when people answer: 09:00-17:00"),
            "tz": Key("a text", "the time zone of days and hours"),
            "reserve": Key("a number", "the share of questions that are drawn at random"),
        },
    ),
    "serve": Section(
        "The service.",
        {
            "database": Key("a text", "a path, or postgresql://...", "headwater.db"),
            "host": Key("a text", "the address that it listens to", "127.0.0.1"),
            "port": Key("a whole number", "the port that it listens to", 8420),
            "hosts": Key("a list of texts", "further names by which it may be called", ()),
            "body_bytes": Key("a whole number", "the largest body of a request", 8 * 2**20),
            "body_seconds": Key("a number", "seconds within which a body must arrive", 30.0),
            "batch_events": Key("a whole number", "the most events of one request", 10_000),
            "requests_per_second": Key(
                "a number", "requests that one token or person may send; 0: any number", 0.0
            ),
            "session_days": Key("a number", "days after which a browser must log in again", 30.0),
            "stop_seconds": Key("a number", "seconds that requests have to end at a stop", 30.0),
        },
    ),
}
"""Every section and key. What is `later` is checked and kept, and read by no command yet."""


@dataclass(frozen=True)
class Config:
    """What a `headwater.toml` says: the columns, and the other sections as they stand there."""

    columns: Columns = Columns()  # noqa: RUF009, it is frozen
    sections: Mapping[str, Any] = field(default_factory=dict)


def read_config(path: str | Path) -> Config:
    """The settings in a file; what it does not know is an error.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "headwater.toml")
    ...     _ = path.write_text('[columns]\\nlabel = "wet"\\nignore = ["note"]\\n')
    ...     read_config(path).columns
    Columns(label='wet', ignore=('note',))
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
        tables = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ParameterError(f"{path}: it is not TOML: {error}.") from None
    for name, table in tables.items():
        _check_section(str(path), name, table)
    try:
        columns = Columns.from_plain(tables.get("columns", {}))
    except ParameterError as error:
        said = str(error).removeprefix("Columns: ")
        raise ParameterError(f"{path}, [columns]: {said}") from None
    return Config(columns, {name: t for name, t in tables.items() if name != "columns"})


def _check_section(path: str, name: str, table: Any) -> None:
    if name not in SCHEMA:
        raise ParameterError(f"{path}: there is no section [{name}]{_near(name, SCHEMA)}.")
    section = SCHEMA[name]
    if not isinstance(table, dict):
        raise ParameterError(f"{path}: {name} must be a section, [{name}], got {table!r}.")
    if not section.named:
        _check_keys(path, name, section, table)
        return
    for part, keys in table.items():
        if not isinstance(keys, dict):
            raise ParameterError(
                f"{path}, [{name}]: each is a section of its own, [{name}.NAME], got {part!r}."
            )
        _check_keys(path, f"{name}.{part}", section, keys)


def _check_keys(path: str, place: str, section: Section, table: Mapping[str, Any]) -> None:
    for name, value in table.items():
        key = section.keys.get(name, section.free)
        if key is None:
            raise ParameterError(
                f"{path}, [{place}]: there is no key {name!r}{_near(name, section.keys)}."
            )
        if not _fits(key.kind, value):
            raise ParameterError(f"{path}, [{place}]: {name} must be {key.kind}, got {value!r}.")


def _fits(kind: Kind, value: Any) -> bool:
    match kind:
        case "a text":
            return isinstance(value, str)
        case "a list of texts":
            return isinstance(value, list) and all(isinstance(part, str) for part in value)
        case "a number":
            return isinstance(value, (int, float)) and not isinstance(value, bool)
        case "a whole number":
            return isinstance(value, int) and not isinstance(value, bool)
        case "true or false":
            return isinstance(value, bool)
        case "a table of texts":
            return isinstance(value, dict) and all(isinstance(part, str) for part in value.values())


def _near(name: str, known: Mapping[str, Any]) -> str:
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f"; did you mean {near[0]}" if near else f"; there are {', '.join(known)}"


def schema_table() -> str:
    """The schema as the tables of its documentation page."""
    parts = []
    for name, section in SCHEMA.items():
        head = f"### `[{name}{'.NAME' if section.named else ''}]`"
        later = " No command reads it yet." if section.later else ""
        rows = [f"| `{key}` | {one.kind} | {_meaning(one)} |" for key, one in section.keys.items()]
        if section.free is not None:
            rows.append(f"| any name | {section.free.kind} | {section.free.meaning} |")
        table = "\n".join(["| key | value | meaning |", "| --- | --- | --- |", *rows])
        parts.append(f"{head}\n\n{section.meaning}{later}\n\n{table}\n")
    return "\n".join(parts)


def _meaning(key: Key) -> str:
    if key.default is None:
        return key.meaning
    default = ", ".join(key.default) if isinstance(key.default, tuple) else str(key.default)
    return f"{key.meaning} (default: {default or 'none'})"
