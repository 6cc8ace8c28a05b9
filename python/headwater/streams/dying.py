"""The dying stream: columns disappear for good, each at its own time, until some are left.

Of d columns round(survivors·d), chosen at random, stay to the end. Each of the others disappears
before a round drawn uniformly from the second to the last: the first event has all columns, the
last one only the survivors.
"""

from typing import Annotated, Any, Unpack

import numpy as np
from numpy.typing import NDArray

from headwater.parameters import RATE, checked
from headwater.streams.masked_table import MaskedTable
from headwater.streams.table_stream import TableOptions
from headwater.types import Name


class Dying(MaskedTable):
    """A table as a stream whose features disappear one after the other; none returns.

    Parameters
    ----------
    survivors
        Share of the columns that stay to the end.
    seed
        The same seed and the same table give the same stream. With fewer survivors the same
        columns disappear at the same times, and others in addition.

    Examples
    --------
    >>> import headwater as hw
    >>> table, labels = [[1, 2, 3, 4]] * 5, [True, False, True, False, True]
    >>> stream = hw.streams.Dying(table, labels, seed=4)
    >>> stream.deaths
    {0: 3, 3: 1}
    >>> [list(event) for event, _ in stream]
    [[0, 1, 2, 3], [0, 1, 2], [0, 1, 2], [1, 2], [1, 2]]
    """

    deaths: dict[Name, int]
    """The first event, counted from 0, without the column; survivors are not listed."""

    @checked
    def __init__(
        self,
        X: Any,
        y: Any,
        *,
        survivors: Annotated[float, RATE] = 0.5,
        **options: Unpack[TableOptions],
    ) -> None:
        super().__init__(X, y, **options)
        width = len(self.names)
        order = self._fate.permutation(width)
        times = self._fate.integers(1, max(len(self), 2), width)  # a single event is whole
        dying = np.sort(order[: width - round(survivors * width)])
        self._end = np.full(width, len(self))
        self._end[dying] = times[dying]
        self.deaths = {
            self.names[column]: int(times[column])
            for column in dying.tolist()
            if times[column] < len(self)
        }

    def _stays(
        self, rounds: NDArray[np.intp], columns: NDArray[np.int32], coins: np.random.Generator
    ) -> NDArray[np.bool_]:
        alive: NDArray[np.bool_] = rounds < self._end[columns]
        return alive
