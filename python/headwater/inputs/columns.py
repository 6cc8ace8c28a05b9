"""What the columns of a source are for: label, id, time, group, text, category, number, ignore."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, NamedTuple, Self, TypeAlias

from headwater import _core
from headwater.errors import EventError, ParameterError
from headwater.inputs import frames
from headwater.parameters import check_parameters
from headwater.types import Id, Label, Rows

TimeFeature: TypeAlias = Literal["hour", "weekday", "since_last"]
TIME_FEATURES = ("hour", "weekday", "since_last")
SINGLE = ("label", "id", "time", "group")
"""Roles that one column has."""
SEVERAL = ("ignore", "text", "category", "number")
"""Roles that several columns may have."""
MOST_NGRAMS = 5


class LabelledRows(NamedTuple):
    """What `Columns.read` makes of a batch: events as `Rows`, their labels, their ids."""

    X: Rows
    y: list[Label | None]
    ids: list[Id | None]


@dataclass(frozen=True, kw_only=True, repr=False)
class Columns:
    """The roles of columns; a column without a role is a feature, as its values are.

    Files take it (`headwater.open`, `simulate_file`, `learn_file`), `read` applies it to frames and
    lists of dicts, and `Session` to every event that it receives. A model that was trained on a
    file keeps it.

    Parameters
    ----------
    label
        The column with the label; None: there is none.
    id
        The column with the event's id.
    time
        The column that says when it happened: ISO 8601, or a number since 1970 (seconds to
        nanoseconds, by its size), or times of a frame. It is no feature itself.
    group
        The column that says what an event belongs to, such as a device. It is no feature.
    ignore
        Columns that are left out.
    text
        Columns whose words are features: `column:word`, with the number of times that it is there.
    category
        Columns whose values are indicators, `column=value`, even if they are written as numbers.
    number
        Columns of numbers, even if they are written with a unit or a currency (`"21.5 °C"`).
    time_features
        What is made of the time: `"hour"` and `"weekday"` are indicators, in UTC; `"since_last"` is
        the number of seconds since the event before, of the same group if there is one.
    ngrams
        How many words in a row are one feature at most: with 2, pairs are features as well.
    decimal
        The decimal sign of numbers with the role `number` that are written as text, `","` or `"."`;
        the other one separates thousands. None: a comma in a number is refused.
    units
        The units that columns of numbers are in, by name. A value in another unit is refused. A
        column that is not listed is in the unit of its first value.

    Examples
    --------
    >>> import headwater as hw
    >>> columns = hw.Columns(label="spam", time="at", text=["subject"], time_features=["hour"])
    >>> mail = {"at": "2026-11-16T10:00:03Z", "subject": "Free, free!", "size": 3, "spam": True}
    >>> X, y, ids = columns.read([mail])
    >>> X.names, X.data.tolist(), y
    (['subject:free', 'size', 'at.hour=10'], [2.0, 3.0, 1.0], [True])
    """

    label: str | None = None
    id: str | None = None
    time: str | None = None
    group: str | None = None
    ignore: Sequence[str] = ()
    text: Sequence[str] = ()
    category: Sequence[str] = ()
    number: Sequence[str] = ()
    time_features: Sequence[TimeFeature] = ()
    ngrams: int = 1
    decimal: str | None = None
    units: Mapping[str, str] = field(default_factory=dict)

    def __new__(cls, *args: Any, **given: Any) -> Self:
        check_parameters(cls, given)
        return super().__new__(cls)

    def __post_init__(self) -> None:
        for name in SINGLE:
            value = getattr(self, name)
            if value is not None and (not isinstance(value, str) or not value):
                raise ParameterError(
                    f"Columns: {name} must be the name of a column or None, got {value!r}."
                )
        for name in (*SEVERAL, "time_features"):
            object.__setattr__(self, name, _names(name, getattr(self, name)))
        for word in self.time_features:
            if word not in TIME_FEATURES:
                raise ParameterError(
                    f"Columns: time_features must be some of {', '.join(TIME_FEATURES)},"
                    f" got {word!r}."
                )
        if self.time_features and self.time is None:
            raise ParameterError("Columns: time_features need a column with the role time.")
        if type(self.ngrams) is not int or not 1 <= self.ngrams <= MOST_NGRAMS:
            raise ParameterError(
                f"Columns: ngrams must be a whole number from 1 to {MOST_NGRAMS},"
                f" got {self.ngrams!r}."
            )
        if self.decimal not in (None, ",", "."):
            raise ParameterError(f"Columns: decimal must be ',' or '.', got {self.decimal!r}.")
        self._check_units()
        given: dict[str, str] = {}
        for role, name in self.roles():
            if name in given:
                raise ParameterError(
                    f"Columns: {name!r} has two roles, {given[name]} and {role}; leave one out."
                )
            given[name] = role

    def _check_units(self) -> None:
        units = self.units
        if not isinstance(units, Mapping) or not all(
            isinstance(part, str) for pair in units.items() for part in pair
        ):
            raise ParameterError(f"Columns: units must map columns to units, got {units!r}.")
        object.__setattr__(self, "units", dict(sorted(units.items())))
        for name in units:
            if name not in self.number:
                raise ParameterError(
                    f"Columns: units names {name!r}, which does not have the role number."
                )

    def __repr__(self) -> str:
        given = {name: getattr(self, name) for name in self.to_plain()}
        return f"Columns({', '.join(f'{name}={value!r}' for name, value in given.items())})"

    def __hash__(self) -> int:
        return hash((*self.roles(), self.time_features, self.ngrams, self.decimal))

    def roles(self) -> list[tuple[str, str]]:
        """Every role and the name of a column that has it.

        Examples
        --------
        >>> import headwater as hw
        >>> hw.Columns(label="y", ignore=["a", "b"]).roles()
        [('label', 'y'), ('ignore', 'a'), ('ignore', 'b')]
        """
        one = [(role, getattr(self, role)) for role in SINGLE]
        many = [(role, name) for role in SEVERAL for name in getattr(self, role)]
        return [(role, name) for role, name in one if name is not None] + many

    def to_plain(self) -> dict[str, Any]:
        """What differs from the defaults, as TOML and JSON have it."""
        plain = {}
        for each in fields(self):
            value = getattr(self, each.name)
            if value not in (None, (), {}) and not (each.name == "ngrams" and value == 1):
                plain[each.name] = list(value) if isinstance(value, tuple) else value
        return plain

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        """The columns that `to_plain` described."""
        known = {each.name for each in fields(cls)}
        for name in plain:
            if name not in known:
                raise ParameterError(f"Columns: there is no {name!r}.")
        return cls(**plain)

    def read(self, X: Any) -> LabelledRows:
        """The events of a frame or of a list of dicts, their labels and their ids.

        Examples
        --------
        >>> import headwater as hw, pandas as pd
        >>> days = pd.DataFrame({"day": ["mon", "tue"], "rain": ["2 mm", "0 mm"], "wet": [1, 0]})
        >>> X, y, ids = hw.Columns(label="wet", id="day", number=["rain"]).read(days)
        >>> model = hw.Linear(query="all")
        >>> trace = model.simulate(X, y)
        >>> X.data.tolist(), y, ids
        ([2.0, 0.0], [1, 0], ['mon', 'tue'])
        """
        if isinstance(X, (list, tuple)):
            reader = _core.RoleReader(self)
            read = []
            for row, event in enumerate(X):
                try:
                    read.append(reader.read(event))
                except EventError as error:
                    said = str(error).removeprefix("event: ")
                    raise EventError(f"X, row {row}: {said}") from None
            (indptr, indices, data, _), names = _core.read_events([x for _, x, _ in read])
            labels, ids = [y for _, _, y in read], [id for id, _, _ in read]
        elif frames.is_frame(X):
            plain = frames.without_index(X)
            indptr, indices, data, names, labels, ids = _core.read_columns(plain, self)
        else:
            raise EventError(f"X: expected a frame or a list of dicts, got {type(X).__name__}.")
        return LabelledRows(Rows(indptr, indices, data, names), labels, ids)


def _names(role: str, value: Any) -> tuple[str, ...]:
    """One name or several."""
    if isinstance(value, str):
        value = (value,)
    if not hasattr(value, "__iter__") or not all(isinstance(n, str) and n for n in value):
        raise ParameterError(f"Columns: {role} must be a list of names, got {value!r}.")
    return tuple(value)
