"""The trapezoidal stream: as time goes on, events carry more and more columns.

T rounds are cut into m chunks. Round t = 1..T lies in chunk c = 1 + ⌊m(t−1)/T⌋ and shows the first
max(1, ⌊c·d/m⌋) of d columns; with a start share f, min(d, max(1, ⌊(f + (c−1)/m)·d⌋)).
Zhang et al., *Online Learning from Trapezoidal Data Streams*, TKDE 28 (2016).
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headwater.limits import check
from headwater.streams.base import Stream
from headwater.streams.table import labels_of, names_of, table_of
from headwater.types import Name, Rows


class Trapezoid(Stream):
    """A table shown as a stream whose events grow wider, chunk by chunk.

    Parameters
    ----------
    X
        The whole table: a dense array, in which NaN is absent and 0 is an observation, or anything
        with the three arrays of CSR, in which what is not stored is absent.
    y
        A label a row.
    chunks
        In how many steps the events widen. Paper: 10.
    start
        Share of the columns that the first chunk shows; None: `1/chunks`.
    permute_columns
        Show the columns in a random order instead of their own. Names stay with their columns.
    shuffle
        Take the rows in a random order instead of their own.
    names
        A name a column; None: the names that `X` brings, or the numbers 0, 1, ...
    seed
        Same seed and same table: same stream.

    Examples
    --------
    >>> import headwater as hw
    >>> table, labels = [[1, 2, 3, 4], [5, 6, 7, 8]], [True, False]
    >>> for event, label in hw.streams.Trapezoid(table, labels, chunks=2, shuffle=False):
    ...     print(event, label)
    {0: 1.0, 1: 2.0} True
    {0: 5.0, 1: 6.0, 2: 7.0, 3: 8.0} False
    """

    shown: tuple[int, ...]
    """How many columns each chunk shows."""

    def __init__(
        self,
        X: Any,
        y: Any,
        *,
        chunks: int = 10,
        start: float | None = None,
        permute_columns: bool = False,
        shuffle: bool = True,
        names: Sequence[Name] | None = None,
        seed: int = 0,
    ) -> None:
        check("Trapezoid", chunks=chunks, start=start, seed=seed)
        check("Trapezoid", permute_columns=permute_columns, shuffle=shuffle)
        self._table = table_of("Trapezoid", X)
        height, width = self._table.height, self._table.width
        self._labels = labels_of("Trapezoid", y, height)
        own_names = names_of("Trapezoid", X, names, width)
        # Both orders are drawn, wanted or not, so that neither switch changes the other's draw.
        generator = np.random.default_rng(seed)
        row_order, column_order = generator.permutation(height), generator.permutation(width)
        self._rows = row_order if shuffle else np.arange(height)
        self._columns = column_order if permute_columns else np.arange(width)
        self.names = tuple(own_names[column] for column in self._columns.tolist())
        self.shown = tuple(columns_shown(c, width, chunks, start) for c in range(1, chunks + 1))

    def __len__(self) -> int:
        return len(self._rows)

    def slices(self) -> Iterator[tuple[Rows, NDArray[Any]]]:
        """The stream chunk by chunk."""
        rounds, chunks = len(self), len(self.shown)
        for chunk, shown in enumerate(self.shown):  # chunk = c − 1
            begin, end = (-(-c * rounds // chunks) for c in (chunk, chunk + 1))
            rows, columns = self._rows[begin:end], self._columns[:shown]
            yield self._table.cut(rows, columns, self.names), self._labels[rows]


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
