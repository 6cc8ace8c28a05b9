"""The capricious stream: every column has a reliability of its own.

Column j is there with probability p_j, drawn once and uniformly between two limits; in each round
a coin decides, independently of all others.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headwater.errors import ParameterError
from headwater.parameters import check
from headwater.streams.masked_table import MaskedTable
from headwater.types import Name


class Capricious(MaskedTable):
    """A table shown as a stream in which some features are nearly always there, others hardly ever.

    Parameters
    ----------
    X
        The whole table, as `Trapezoid` takes it.
    y
        A label a row.
    low
        The least probability with which a column can be there.
    high
        The largest one. Equal limits make all columns alike: `Varying` with `1 - high` removed.
    shuffle
        Take the rows in a random order instead of their own.
    names
        A name a column; None: the names that `X` brings, or the numbers 0, 1, ...
    seed
        Same seed and same table: same stream.

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
    """The probability with which each column is there."""

    def __init__(
        self,
        X: Any,
        y: Any,
        *,
        low: float = 0.0,
        high: float = 1.0,
        shuffle: bool = True,
        names: Sequence[Name] | None = None,
        seed: int = 0,
    ) -> None:
        check("Capricious", low=low, high=high)
        if low > high:
            raise ParameterError(f"Capricious: low must not be above high, {high!r}, got {low!r}.")
        super().__init__(X, y, shuffle=shuffle, names=names, seed=seed)
        self._presence = self._fate.uniform(low, high, len(self.names))
        self.presence = dict(zip(self.names, self._presence.tolist(), strict=True))

    def _stays(
        self, rounds: NDArray[np.intp], columns: NDArray[np.int32], coins: np.random.Generator
    ) -> NDArray[np.bool_]:
        return coins.random(len(columns)) >= 1 - self._presence[columns]
