"""A bound on the names that are kept, in plain Python; docs/how-to/memory.md has the rules.

A bounded step is the step without a bound, on the names that find a place; afterwards names go.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from reference.state import Name, State


@dataclass(frozen=True)
class Bound:
    """At most so many names; what becomes of a new one beyond."""

    most: int
    when_full: str


class Row(NamedTuple):
    """A name that is kept: the round in which it was met last, and the size of its weight."""

    name: Name
    last: int
    size: float = 0.0


def in_order(names: Iterable[Name]) -> list[Name]:
    """Integers by value, then text by code point."""
    return sorted(names, key=lambda name: (isinstance(name, str), name))


def taken(bound: Bound, known: Collection[Name], event: Sequence[Name]) -> list[Name]:
    """The names of an event that find a place, in its order: all known ones, the first new ones."""
    carried = [name for name in event if name in known]
    room = bound.most - len(known if bound.when_full == "refuse" else carried)
    new = in_order(name for name in event if name not in known)[: max(room, 0)]
    return [name for name in event if name in carried or name in new]


def leaving(bound: Bound, rows: Sequence[Row], now: int) -> list[Name]:
    """Who goes after round `now`, whose own names stay; `rows` are in the order of their slots."""
    too_many = len(rows) - bound.most
    if too_many <= 0:
        return []
    by_size = bound.when_full == "smallest"
    may_go = [
        (row.size if by_size else 0.0, row.last, age, row.name)
        for age, row in enumerate(rows)
        if row.last < now
    ]
    may_go.sort(key=lambda one: one[:3])
    return [name for *_, name in may_go[: max(too_many, bound.most // 8)]]


def rows_of(state: State, own: Collection[Name]) -> list[Row]:
    """The names of a linear learner, without its own."""
    sizes = [max(map(abs, column)) for column in zip(*state.weights, strict=True)]
    rows = zip(state.names, state.last, sizes or [0.0] * len(state.names), strict=True)
    return [Row(*row) for row in rows if row[0] not in own]


def without(state: State, names: Collection[Name]) -> State:
    """A linear learner without these names."""
    stay = [slot for slot, name in enumerate(state.names) if name not in names]

    def pick(column: list[Any]) -> list[Any]:
        return [column[slot] for slot in stay]

    return replace(
        state,
        names=pick(state.names),
        first=pick(state.first),
        last=pick(state.last),
        times=pick(state.times),
        weights=[pick(vector) for vector in state.weights],
        variances=[pick(vector) for vector in state.variances],
    )
