"""The vanishing stream: columns disappear and come back.

A column is present for a while, then absent for a while, and so on, independently of all others.
The lengths are geometric, P(length = k) = p(1 − p)^(k−1), with means 1/p of `present` and `absent`
rounds. The stream starts in its stationary state: in every round a column is present with
probability present/(present + absent).
"""

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Annotated, Any, Unpack

import numpy as np
from numpy.typing import NDArray

from headwater.parameters import checked, number
from headwater.streams.masked_table import MaskedTable
from headwater.streams.table_stream import TableOptions
from headwater.types import Name

PRESENT = number("a finite number, 1 or above", lambda v: 1 <= v < math.inf)
ABSENT = number("0, or a finite number, 1 or above", lambda v: v == 0 or 1 <= v < math.inf)


class Vanishing(MaskedTable):
    """A table as a stream whose features disappear and return.

    Every round in which a column appears or disappears is kept in memory, as one number.

    Parameters
    ----------
    present
        Mean number of rounds for which a column is present.
    absent
        Mean number of rounds for which it is then absent; 0: it never disappears.

    Examples
    --------
    >>> import headwater as hw
    >>> table, labels = [[1, 2, 3]] * 6, [True, False] * 3
    >>> stream = hw.streams.Vanishing(table, labels, present=3, absent=2, seed=1)
    >>> [list(event) for event, _ in stream]
    [[0, 1, 2], [0, 1, 2], [0, 1], [0, 1], [2], [0, 2]]
    >>> stream.spans[2]
    ((0, 2), (4, 6))
    """

    @checked
    def __init__(
        self,
        X: Any,
        y: Any,
        *,
        present: Annotated[float, PRESENT] = 200,
        absent: Annotated[float, ABSENT] = 100,
        **options: Unpack[TableOptions],
    ) -> None:
        super().__init__(X, y, **options)
        rounds, width = len(self), len(self.names)
        self._there = self._fate.random(width) < present / (present + absent)
        # Round r of column c has the number c·rounds + r.
        switches = _switches(self._there, rounds, present, absent, self._fate) if absent else []
        self._switches = np.sort(np.concatenate([np.empty(0, np.int64), *switches]))
        self._first = np.searchsorted(self._switches, np.arange(width + 1) * rounds)  # a column's

    @property
    def spans(self) -> dict[Name, tuple[tuple[int, int], ...]]:
        """When each column is present: from one event up to, not including, another, from 0."""
        spans = {}
        for column, (first, end) in enumerate(pairwise(self._first.tolist())):
            turns = (self._switches[first:end] - column * len(self)).tolist()
            turns = [0] * bool(self._there[column]) + turns  # at even places it comes
            turns += [len(self)] * (len(turns) % 2)
            spans[self.names[column]] = tuple(zip(turns[::2], turns[1::2], strict=True))
        return spans

    def _stays(
        self, rounds: NDArray[np.intp], columns: NDArray[np.int32], coins: np.random.Generator
    ) -> NDArray[np.bool_]:
        number = columns.astype(np.int64) * len(self) + rounds
        turns = np.searchsorted(self._switches, number, side="right") - self._first[columns]
        there: NDArray[np.bool_] = self._there[columns] ^ (turns % 2 == 1)
        return there


def _switches(
    there: NDArray[np.bool_],
    rounds: int,
    present: float,
    absent: float,
    generator: np.random.Generator,
) -> Iterator[NDArray[np.int64]]:
    """The numbers of the rounds in which columns come or go: the first of each, the second, ..."""
    columns, turn = np.arange(len(there)), np.zeros(len(there), np.int64)
    while len(columns):
        lengths = generator.geometric(1 / np.where(there, present, absent))
        turn = turn + np.minimum(lengths, rounds)  # longer than the stream is long enough
        goes_on = turn < rounds
        columns, turn, there = columns[goes_on], turn[goes_on], ~there[goes_on]
        yield columns * rounds + turn
