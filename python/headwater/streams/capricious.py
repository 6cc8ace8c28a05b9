"""The capricious stream: every column has its own probability of being present.

Column j is present with probability p_j, drawn once, uniformly between two limits, and
independently in each round.
"""

from typing import Annotated, Any, Unpack

import numpy as np
from numpy.typing import NDArray

from headwater.errors import ParameterError
from headwater.parameters import RATE, checked
from headwater.streams.masked_table import MaskedTable
from headwater.streams.table_stream import TableOptions
from headwater.types import Name


class Capricious(MaskedTable):
    """A table as a stream in which some features are nearly always present, others hardly ever.

    Parameters
    ----------
    low
        Smallest probability of a column to be present.
    high
        Largest probability. Equal limits make all columns alike: `Varying` with `1 - high` removed.

    Examples
    --------
    >>> import headwater as hw
    >>> table, labels = [[1, 2, 3, 4]] * 3, [True, False, True]
    >>> stream = hw.streams.Capricious(table, labels, seed=2)
    >>> {name: round(probability, 2) for name, probability in stream.presence.items()}
    {0: 0.34, 1: 0.98, 2: 0.66, 3: 0.71}
    >>> [list(event) for event, _ in stream]
    [[0, 1, 2, 3], [0, 1, 2], [1, 2, 3]]
    """

    presence: dict[Name, float]
    """The probability of each column to be present."""

    @checked
    def __init__(
        self,
        X: Any,
        y: Any,
        *,
        low: Annotated[float, RATE] = 0.0,
        high: Annotated[float, RATE] = 1.0,
        **options: Unpack[TableOptions],
    ) -> None:
        if low > high:
            raise ParameterError(f"Capricious: low must not be above high, {high!r}, got {low!r}.")
        super().__init__(X, y, **options)
        self._presence = self._fate.uniform(low, high, len(self.names))
        self.presence = dict(zip(self.names, self._presence.tolist(), strict=True))

    def _stays(
        self, rounds: NDArray[np.intp], columns: NDArray[np.int32], coins: np.random.Generator
    ) -> NDArray[np.bool_]:
        return coins.random(len(columns)) >= 1 - self._presence[columns]
