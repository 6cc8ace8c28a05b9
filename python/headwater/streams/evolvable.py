"""The evolvable stream: half-way, one feature space is replaced by another.

n rounds show S1, the table's d1 columns, up to round T1 = ⌊n/2⌋, and S2 = S1·G from B rounds before
that to the end; G (d1×d2) is standard Gaussian, d2 = max(1, ⌊ratio·d1⌋). Both are scaled to [0, 1]
column by column over all rows (a constant column is 0).
Hou, Zhang and Zhou, *Learning with Feature Evolvable Streams*, NIPS 2017.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headwater.errors import ParameterError
from headwater.parameters import check
from headwater.streams.base import Stream, filled, rows_of
from headwater.streams.table import labels_of, names_of, table_of
from headwater.types import Name, Rows


class Evolvable(Stream):
    """A table shown as a stream whose features are all replaced half-way.

    Parameters
    ----------
    X
        The whole table, as `Trapezoid` takes it; what is absent counts as 0.
    y
        A label a row.
    ratio
        How many new columns there are for each old one. Paper: 0.7.
    overlap
        How many rounds show both spaces. Paper: B, 5 or 10.
    shuffle
        Take the rows in a random order instead of their own.
    names
        A name an old column; None: the names that `X` brings, or the numbers 0, 1, ... The new
        columns are called `new 0`, `new 1`, ...
    seed
        Same seed and same table: same stream.

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
    """(T1, B, T2): rounds that show the old space, those of them that show both, the others."""

    def __init__(
        self,
        X: Any,
        y: Any,
        *,
        ratio: float = 0.7,
        overlap: int = 10,
        shuffle: bool = True,
        names: Sequence[Name] | None = None,
        seed: int = 0,
    ) -> None:
        check("Evolvable", ratio=ratio, overlap=overlap, shuffle=shuffle, seed=seed)
        table = table_of("Evolvable", X)
        height, width = table.height, table.width
        last = height // 2
        if overlap >= last:
            raise ParameterError(
                f"Evolvable: overlap must be below half the number of rows, {last}, got {overlap}."
            )
        own_names = tuple(names_of("Evolvable", X, names, width))
        new_width = max(1, math.floor(ratio * width))
        self.names = (*own_names, *(f"new {column}" for column in range(new_width)))
        if len(set(self.names)) < len(self.names):
            raise ParameterError(
                "Evolvable: the table has columns called 'new 0', ...; rename them."
            )
        # Both are drawn, wanted or not, so that the switch does not change G.
        generator = np.random.default_rng(seed)
        order = generator.permutation(height)
        gaussian = generator.standard_normal((width, new_width))
        order = order if shuffle else np.arange(height)
        self._labels = labels_of("Evolvable", y, height)[order]
        rows = table.cut(order, np.arange(width), own_names)
        old = min_max(filled(rows, width))
        self._values = np.hstack([old, min_max(old @ gaussian)])
        self._old_width = width
        self.schedule = (last, overlap, height - last)

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
