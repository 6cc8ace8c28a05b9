"""The evolvable stream: half-way, one feature space is replaced by another.

n rounds have S1, the table's d1 columns, up to round T1 = ⌊n/2⌋, and S2 = S1·G from B rounds before
that to the end; G (d1×d2) is standard Gaussian, d2 = max(1, ⌊ratio·d1⌋). Both are scaled to [0, 1]
column by column over all rows (a constant column is 0).
Hou, Zhang and Zhou, *Learning with Feature Evolvable Streams*, NIPS 2017.
"""

import math
from collections.abc import Iterator
from typing import Annotated, Any, Unpack

import numpy as np
from numpy.typing import NDArray

from headwater.errors import ParameterError
from headwater.parameters import FINITE, checked, whole
from headwater.streams.base import filled, rows_of
from headwater.streams.table_stream import TableOptions, TableStream
from headwater.types import Rows

OVERLAP = whole("a whole number from 1 to 1000", lambda v: 0 < v <= 1000)


class Evolvable(TableStream):
    """A table as a stream whose features are all replaced half-way.

    A value that is absent from the table counts as 0. The new columns are `new 0`, `new 1`, ...

    Parameters
    ----------
    ratio
        Number of new columns per old column. Paper: 0.7.
    overlap
        Number of rounds with both spaces. Paper: B, 5 or 10.

    Examples
    --------
    >>> import headwater as hw
    >>> table, labels = [[0, 2], [1, 0], [0, 1], [1, 1]], [1, 0, 1, 0]
    >>> stream = hw.streams.Evolvable(table, labels, overlap=1, shuffle=False)
    >>> for event, label in stream:
    ...     print(list(event), label)
    [0, 1] 1
    [0, 1, 'new 0'] 0
    ['new 0'] 1
    ['new 0'] 0
    >>> stream.schedule
    (2, 1, 2)
    """

    schedule: tuple[int, int, int]
    """(T1, B, T2): rounds with the old space, those of them with both, the remaining rounds."""

    @checked
    def __init__(
        self,
        X: Any,
        y: Any,
        *,
        ratio: Annotated[float, FINITE] = 0.7,
        overlap: Annotated[int, OVERLAP] = 10,
        **options: Unpack[TableOptions],
    ) -> None:
        super().__init__(X, y, **options)
        table, own_names = self._table, self.names
        height, width = table.height, table.width
        last = height // 2
        if overlap >= last:
            raise ParameterError(
                f"Evolvable: overlap must be below half the number of rows, {last}, got {overlap}."
            )
        new_width = max(1, math.floor(ratio * width))
        self.names = (*own_names, *(f"new {column}" for column in range(new_width)))
        if len(set(self.names)) < len(self.names):
            raise ParameterError(
                "Evolvable: the table has columns called 'new 0', ...; rename them."
            )
        # Both are drawn, wanted or not, so that the switch does not change G.
        generator = np.random.default_rng(self._seed)
        order = generator.permutation(height)
        gaussian = generator.standard_normal((width, new_width))
        order = order if self._shuffle else np.arange(height)
        self._labels = self._labels[order]
        rows = table.cut(order, np.arange(width), own_names)
        old = min_max(filled(rows, width))
        self._values = np.hstack([old, min_max(old @ gaussian)])
        self._old_width = width
        del self._table  # everything shown is in the values
        self.schedule = (last, overlap, height - last)
        self.first_scored = last

    def __len__(self) -> int:
        return len(self._labels)

    def slices(self) -> Iterator[tuple[Rows, NDArray[Any]]]:
        """The stream in three pieces: the old space, both, the new space."""
        last, overlap, _ = self.schedule
        for begin, end, hidden in (
            (0, last - overlap, slice(self._old_width, None)),
            (last - overlap, last, slice(0, 0)),
            (last, len(self), slice(0, self._old_width)),
        ):
            values = self._values[begin:end].copy()
            values[:, hidden] = math.nan
            yield rows_of(values, self.names), self._labels[begin:end]


def min_max(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each column brought to [0, 1]; a constant one to 0.

    Examples
    --------
    >>> min_max(np.array([[1.0, 5.0], [3.0, 5.0]])).tolist()
    [[0.0, 0.0], [1.0, 0.0]]
    """
    low, high = values.min(axis=0), values.max(axis=0)
    scaled: NDArray[np.float64] = (values - low) / np.where(high > low, high - low, 1.0)
    return scaled
