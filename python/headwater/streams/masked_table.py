"""The base class of streams that hide some values of a table."""

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from headwater.streams.table_stream import TableOptions, TableStream
from headwater.types import Rows

SLICE = 1024  # rows at a time


class MaskedTable(TableStream):
    """A table in which some values are hidden, depending on their round and column.

    Only stored values are processed, so a sparse table costs only what it stores.
    """

    def __init__(self, X: Any, y: Any, **options: Unpack[TableOptions]) -> None:
        super().__init__(X, y, **options)
        # The order is drawn, wanted or not, so that the switch does not change what is hidden.
        orders, self._coins, fates = np.random.SeedSequence(self._seed).spawn(3)
        order = np.random.default_rng(orders).permutation(self._table.height)
        self._rows = order if self._shuffle else np.arange(self._table.height)
        self._fate = np.random.default_rng(fates)  # for what is drawn once, when the stream is made

    def __len__(self) -> int:
        return len(self._rows)

    @abstractmethod
    def _stays(
        self, rounds: NDArray[np.intp], columns: NDArray[np.int32], coins: np.random.Generator
    ) -> NDArray[np.bool_]:
        """Whether each value is shown, given its round, from 0, and its column."""

    def slices(self) -> Iterator[tuple[Rows, NDArray[Any]]]:
        """The stream, some rows at a time; every iteration draws the same random numbers."""
        coins = np.random.default_rng(self._coins)
        columns = np.arange(self._table.width)
        for begin in range(0, max(len(self), 1), SLICE):
            rows = self._rows[begin : begin + SLICE]
            whole = self._table.cut(rows, columns, self.names)
            rounds = np.repeat(np.arange(begin, begin + len(rows)), np.diff(whole.indptr))
            yield _kept(whole, self._stays(rounds, whole.indices, coins)), self._labels[rows]


def _kept(rows: Rows, stays: NDArray[np.bool_]) -> Rows:
    """The stored values that stay."""
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(stays, dtype=np.int64)])
    return Rows(before[rows.indptr], rows.indices[stays], rows.data[stays], rows.names)
