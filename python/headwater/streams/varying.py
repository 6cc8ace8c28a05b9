"""The varying stream: every event carries any subset of the columns.

Each column of each row is removed, independently of all others, iff its uniform number lies below
the removing ratio; an event may become empty.
Beyazit, Alagurajah and Wu, *Online learning from data streams with varying feature spaces*,
AAAI 2019.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headwater.parameters import check
from headwater.streams.masked_table import MaskedTable
from headwater.types import Name


class Varying(MaskedTable):
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
        check("Varying", removed=removed)
        super().__init__(X, y, shuffle=shuffle, names=names, seed=seed)
        self._removed = removed

    def _stays(
        self, rounds: NDArray[np.intp], columns: NDArray[np.int32], coins: np.random.Generator
    ) -> NDArray[np.bool_]:
        return coins.random(len(columns)) >= self._removed
