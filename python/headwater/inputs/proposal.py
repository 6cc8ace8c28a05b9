"""Looks at a sample of events and proposes a role for each column, with the reason."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from headwater import _core
from headwater.errors import EventError
from headwater.inputs.columns import Columns

LABEL_NAMES = ("y", "label", "target", "class", "outcome")
TIME_NAMES = ("time", "timestamp", "ts", "date", "datetime", "at", "when", "created", "created_at")
CODE_NAMES = re.compile(r"(^|_)(zip|zipcode|postcode|plz|code)$", re.IGNORECASE)
MOSTLY = 0.9
FEWEST = 20
"""Values that a column must have before it is called ever new."""
MOST_CLASSES = 20


class Proposed(NamedTuple):
    """A column, the role that is proposed for it (None: a feature), why, and one of its values."""

    column: str
    role: str | None
    reason: str
    example: str


@dataclass
class _Values:
    """What a column holds in the sample."""

    numbers: list[float] = field(default_factory=list)
    bools: int = 0
    texts: list[str] = field(default_factory=list)
    times: int = 0
    distinct: set[Any] = field(default_factory=set)
    example: str = ""

    def add(self, value: Any, is_time: bool) -> None:
        if value is None:
            return
        self.example = str(value)
        self.distinct.add(value)
        if is_time:
            self.times += 1
        elif isinstance(value, bool):
            self.bools += 1
        elif isinstance(value, str):
            self.texts.append(value)
        else:
            self.numbers.append(value)

    @property
    def present(self) -> int:
        return len(self.numbers) + self.bools + len(self.texts) + self.times


def propose(
    sample: Sequence[Iterable[tuple[str, Any, bool]]], label: str | None = None
) -> list[Proposed]:
    """A role for each column of a sample, in the order in which the columns came.

    Examples
    --------
    >>> for day in propose([[("id", n, False), ("rain", "2 mm", False)] for n in range(30)]):
    ...     print(day)
    Proposed(column='id', role='id', reason='its name, and every value differs', example='29')
    Proposed(column='rain', role='number', reason='numbers with a unit', example='2 mm')
    """
    columns: dict[str, _Values] = {}
    for event in sample:
        for name, value, is_time in event:
            columns.setdefault(name, _Values()).add(value, is_time)
    why = "as you say"
    if label is None:
        named = [name for name in columns if name.lower() in LABEL_NAMES]
        label, why = (named[0] if len(named) == 1 else None), "its name"
    listed: list[Proposed] = []
    for name, values in columns.items():
        role, reason = ("label", why) if name == label else _role(name, values, len(sample))
        if role in ("id", "time") and any(one.role == role for one in listed):
            reason = f"a second {role}: {reason}"
            role = "ignore"
        listed.append(Proposed(name, role, reason, values.example))
    return listed


def _role(name: str, values: _Values, events: int) -> tuple[str | None, str]:
    """The role of a column that is not the label, and why."""
    if not values.present:
        return "ignore", "no values in the sample"
    all_differ = len(values.distinct) == values.present
    if _is_id(name) and all_differ and values.present > 1:
        return "id", "its name, and every value differs"
    if values.times:
        return "time", "times"
    if values.texts and _share(values.texts, Columns(time=name), name) >= MOSTLY:
        return "time", "texts that are times"
    if values.numbers and name.lower() in TIME_NAMES and min(values.numbers) > 1e8:
        return "time", "its name, and numbers as large as seconds since 1970"
    if values.numbers and CODE_NAMES.search(name):
        return "category", "its name: a code, not a quantity"
    if any(re.fullmatch(r"0\d+", text) for text in values.texts):
        return "category", "digits with zeros in front: a code"
    if values.texts and len(values.texts) >= values.present / 2:
        return _text_role(name, values, all_differ)
    what = "numbers" if values.numbers else "true and false"
    missing = 1 - values.present / max(1, events)
    return None, f"{what}, {missing:.0%} missing" if missing > 0.005 else what


def _text_role(name: str, values: _Values, all_differ: bool) -> tuple[str | None, str]:
    texts = values.texts
    for sign in (".", ","):
        columns = Columns(number=(name,), decimal=sign)
        if _share(texts, columns, name) >= MOSTLY:
            commas = sum("," in text for text in texts)
            if (
                commas
                and sign == "."
                and all(re.search(r",\d{1,2}(\D|$)", t) for t in texts if "," in t)
            ):
                continue  # 1,5: the comma does not separate thousands
            return (
                "number",
                "numbers with a decimal comma" if sign == "," else "numbers with a unit",
            )
    words = sum(len(text.split()) for text in texts) / len(texts)
    fresh = len(values.distinct) / values.present
    if words >= 3 and fresh > 0.5:
        return "text", f"{words:.0f} words on average"
    if fresh > 0.5 and values.present >= FEWEST:
        said = "every value differs" if all_differ else f"{fresh:.0%} of the values differ"
        return "ignore", f"texts, and {said}"
    return None, f"{len(values.distinct)} different texts: indicators"


def _is_id(name: str) -> bool:
    low = name.lower()
    return low in ("id", "uuid", "key") or low.endswith(("_id", "-id")) or name.endswith("Id")


def _share(texts: Sequence[str], columns: Columns, name: str) -> float:
    """The share of texts that can be read in a role; units may differ."""
    read = 0
    for text in texts:
        try:
            _core.RoleReader(columns).read({name: text})
            read += 1
        except EventError:
            pass
    return read / len(texts)


def as_columns(proposed: Sequence[Proposed]) -> Columns:
    """The roles that were proposed."""
    roles: dict[str, Any] = {}
    for column, role, reason, _ in proposed:
        if role in ("label", "id", "time"):
            roles[role] = column
        elif role is not None:
            roles.setdefault(role, []).append(column)
        if reason == "numbers with a decimal comma":
            roles["decimal"] = ","
    return Columns(**roles)


def label_classes(sample: Sequence[Iterable[tuple[str, Any, bool]]], label: str) -> Counter[Any]:
    """How often each label is there."""
    values = (value for event in sample for name, value, _ in event if name == label)
    return Counter(value for value in values if value is not None)
