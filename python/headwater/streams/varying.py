"""The varying stream: every event carries any subset of the columns.

Each value is removed, independently of all others, if its uniform random number is below the
removing ratio; an event may become empty.
Beyazit, Alagurajah and Wu, *Online learning from data streams with varying feature spaces*,
AAAI 2019.
"""

from typing import Annotated, Any, Unpack

import numpy as np
from numpy.typing import NDArray

from headwater.parameters import RATE, checked
from headwater.streams.masked_table import MaskedTable
from headwater.streams.table_stream import TableOptions


class Varying(MaskedTable):
    """A table as a stream in which values are missing at random.

    Parameters
    ----------
    removed
        Share of the values that are removed. Paper: Rem.
    seed
        The same seed and the same table give the same stream. The values removed with a smaller
        share are also removed with a larger one.

    Examples
    --------
    >>> import headwater as hw
    >>> table, labels = [[1, 2, 3, 4], [5, 6, 7, 8]], [True, False]
    >>> for event, label in hw.streams.Varying(table, labels, removed=0.5, shuffle=False, seed=1):
    ...     print(event, label)
    {1: 2.0} True
    {0: 5.0, 2: 7.0} False
    """

    @checked
    def __init__(
        self,
        X: Any,
        y: Any,
        *,
        removed: Annotated[float, RATE] = 0.25,
        **options: Unpack[TableOptions],
    ) -> None:
        super().__init__(X, y, **options)
        self._removed = removed

    def _stays(
        self, rounds: NDArray[np.intp], columns: NDArray[np.int32], coins: np.random.Generator
    ) -> NDArray[np.bool_]:
        return coins.random(len(columns)) >= self._removed
