"""The varying stream: every event carries any subset of the columns.

Each column of each row is removed, independently of all others, iff its uniform number lies below
the removing ratio; an event may become empty.
Beyazit, Alagurajah and Wu, *Online learning from data streams with varying feature spaces*,
AAAI 2019.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headwater.limits import check
from headwater.streams.base import Stream
from headwater.streams.table import labels_of, names_of, table_of
from headwater.types import Name, Rows

SLICE = 1024  # rows at a time


class Varying(Stream):
    """A table shown as a stream in whose events features are missing at random.

    Parameters
    ----------
    X
        The whole table: a dense array, in which NaN is absent and 0 is an observation, or anything
        with the three arrays of CSR, in which what is not stored is absent.
    y
        A label a row.
    removed
        Share of the values that are removed. Paper: Rem.
    shuffle
        Take the rows in a random order instead of their own.
    names
        A name a column; None: the names that `X` brings, or the numbers 0, 1, ...
    seed
        Same seed and same table: same stream. What a smaller share removes, a larger one removes
        too.

    Examples
    --------
    >>> import headwater as hw
    >>> table, labels = [[1, 2, 3, 4], [5, 6, 7, 8]], [True, False]
    >>> for event, label in hw.streams.Varying(table, labels, removed=0.5, shuffle=False, seed=1):
    ...     print(event, label)
    {1: 2.0} True
    {0: 5.0, 2: 7.0} False
    """

    def __init__(
        self,
        X: Any,
        y: Any,
        *,
        removed: float = 0.25,
        shuffle: bool = True,
        names: Sequence[Name] | None = None,
        seed: int = 0,
    ) -> None:
        check("Varying", removed=removed, shuffle=shuffle, seed=seed)
        self._table = table_of("Varying", X)
        height = self._table.height
        self._labels = labels_of("Varying", y, height)
        self.names = tuple(names_of("Varying", X, names, self._table.width))
        self._removed = removed
        # The order is drawn, wanted or not, so that the switch does not change the removals.
        orders, self._coins = np.random.SeedSequence(seed).spawn(2)
        order = np.random.default_rng(orders).permutation(height)
        self._rows = order if shuffle else np.arange(height)

    def __len__(self) -> int:
        return len(self._rows)

    def slices(self) -> Iterator[tuple[Rows, NDArray[Any]]]:
        """The stream, some rows at a time; a uniform number a value, in the order of the stream."""
        generator = np.random.default_rng(self._coins)
        columns = np.arange(self._table.width)
        for begin in range(0, max(len(self), 1), SLICE):
            rows = self._rows[begin : begin + SLICE]
            whole = self._table.cut(rows, columns, self.names)
            stays = generator.random(len(whole.data)) >= self._removed
            yield _kept(whole, stays), self._labels[rows]


def _kept(rows: Rows, stays: NDArray[np.bool_]) -> Rows:
    """The stored values that stay."""
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(stays, dtype=np.int64)])
    return Rows(before[rows.indptr], rows.indices[stays], rows.data[stays], rows.names)
