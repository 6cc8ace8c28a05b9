"""The trapezoidal stream: over time, events carry more and more columns.

T rounds are divided into m chunks. Round t = 1..T is in chunk c = 1 + ⌊m(t−1)/T⌋ and has the first
max(1, ⌊c·d/m⌋) of d columns; with a start share f, min(d, max(1, ⌊(f + (c−1)/m)·d⌋)).
Zhang et al., *Online Learning from Trapezoidal Data Streams*, TKDE 28 (2016).

Two schedules of published code differ. OLVF's has min(d, 1 + c·⌊(d+1)/m⌋) columns. OLSF's has
max(1, ⌊f_j·d⌋) for shares f_1, ..., f_m, with j = min(m, max(⌊(t−1)/step⌋, 1)) and
step = max(1, ⌊T/m⌋): f_1 lasts two steps, and f_m only the rounds that are left, if any.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Annotated, Any, Literal, Unpack

import numpy as np
from numpy.typing import NDArray

from headwater.errors import ParameterError
from headwater.parameters import COUNT, SHARE, Limit, checked, read_number, tuple_of
from headwater.streams.table_stream import TableOptions, TableStream
from headwater.types import Rows

CHUNKS = 10
FRACTIONS = Limit(
    tuple_of(read_number),
    lambda v: len(v) > 0 and v[0] > 0 and v[-1] <= 1 and list(v) == sorted(v),
    "some numbers in (0, 1], none below the one before",
)


class TrapezoidOptions(TableOptions, total=False):
    """Parameters of a trapezoid besides the table, for the types of `__init__`."""

    chunks: int
    start: float | None
    widening: Literal["even", "olvf"]
    fractions: Sequence[float] | None
    permute_columns: bool


class Trapezoid(TableStream):
    """A table as a stream whose events get more columns, chunk by chunk.

    Parameters
    ----------
    chunks
        Number of steps in which columns are added. Paper: 10.
    start
        Share of the columns in the first chunk; None: `1/chunks`.
    widening
        `"even"`, or `"olvf"`: as in the OLVF paper's experiments, one column more.
    fractions
        The share of the columns in each chunk, never decreasing, as in the code of OLSF's
        authors: the first chunk is twice as long as the others, and the last has only the remaining
        events, a few or none. None: `chunks`, `start` and `widening` decide.
    permute_columns
        Use the columns in a random order instead of their own. Names stay with their columns.

    Examples
    --------
    >>> import headwater as hw
    >>> table, labels = [[1, 2, 3, 4], [5, 6, 7, 8]], [True, False]
    >>> for event, label in hw.streams.Trapezoid(table, labels, chunks=2, shuffle=False):
    ...     print(event, label)
    {0: 1.0, 1: 2.0} True
    {0: 5.0, 1: 6.0, 2: 7.0, 3: 8.0} False
    """

    @checked
    def __init__(
        self,
        X: Any,
        y: Any,
        *,
        chunks: Annotated[int, COUNT] = CHUNKS,
        start: Annotated[float, SHARE] | None = None,
        widening: Literal["even", "olvf"] = "even",
        fractions: Annotated[Sequence[float], FRACTIONS] | None = None,
        permute_columns: bool = False,
        **options: Unpack[TableOptions],
    ) -> None:
        owner = type(self).__name__
        if fractions is not None and (chunks, start, widening) != (CHUNKS, None, "even"):
            raise ParameterError(
                f"{owner}: fractions make chunks of their own; leave chunks, start, widening out."
            )
        if start is not None and widening == "olvf":
            raise ParameterError(
                f'{owner}: widening="olvf" has a start of its own; leave start out.'
            )
        self._chunks, self._start, self._widening = chunks, start, widening
        self._fractions = fractions
        super().__init__(X, y, **options)
        height, width = self._table.height, self._table.width
        # Both orders are drawn, wanted or not, so that neither switch changes the other's draw.
        generator = np.random.default_rng(self._seed)
        row_order, column_order = generator.permutation(height), generator.permutation(width)
        self._rows = row_order if self._shuffle else np.arange(height)
        self._columns = column_order if permute_columns else np.arange(width)
        self.names = tuple(self.names[column] for column in self._columns.tolist())

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def shown(self) -> tuple[int, ...]:
        """The number of columns in each chunk."""
        d, m = len(self._columns), self._chunks
        if self._fractions is not None:
            return tuple(min(d, max(1, math.floor(f * d + 1e-9))) for f in self._fractions)
        if self._widening == "olvf":
            return tuple(min(d, 1 + c * ((d + 1) // m)) for c in range(1, m + 1))
        return tuple(columns_shown(c, d, m, self._start) for c in range(1, m + 1))

    def slices(self) -> Iterator[tuple[Rows, NDArray[Any]]]:
        """The stream chunk by chunk."""
        for shown, (begin, end) in zip(self.shown, pairwise(self._cuts()), strict=True):
            rows, columns = self._rows[begin:end], self._columns[:shown]
            yield self._table.cut(rows, columns, self.names), self._labels[rows]

    def _cuts(self) -> list[int]:
        """The rounds, from 0, before which the chunks begin, and the end of the last."""
        rounds = len(self)
        if self._fractions is None:
            return [-(-c * rounds // self._chunks) for c in range(self._chunks + 1)]
        m = len(self._fractions)
        step = max(1, rounds // m)
        return [0, *(min(rounds, j * step) for j in range(2, m + 1)), rounds]


def columns_shown(chunk: int, columns: int, chunks: int, start: float | None = None) -> int:
    """How many of the columns chunk 1, 2, ... shows.

    Examples
    --------
    >>> [columns_shown(c, columns=8, chunks=10) for c in (1, 2, 9, 10)]
    [1, 1, 7, 8]
    >>> [columns_shown(c, columns=8, chunks=10, start=0.5) for c in (1, 2, 9, 10)]
    [4, 4, 8, 8]
    """
    if start is None:
        share_of_columns = chunk * columns // chunks
    else:
        share_of_columns = math.floor((start + (chunk - 1) / chunks) * columns + 1e-9)
    return min(columns, max(1, share_of_columns))
