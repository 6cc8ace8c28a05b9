"""The reversed stream: from some event on, the two labels change places."""

import math
from collections.abc import Iterator
from typing import Annotated, Any, Unpack

import numpy as np
from numpy.typing import NDArray

from headwater.errors import LabelError
from headwater.parameters import RATE, checked
from headwater.streams.masked_table import MaskedTable
from headwater.streams.table_stream import TableOptions
from headwater.types import Rows


class Reversed(MaskedTable):
    """A table of two classes as a stream in which what was good is bad after a while.

    Parameters
    ----------
    place
        The share of the stream after which the labels are reversed.

    Examples
    --------
    >>> import headwater as hw
    >>> stream = hw.streams.Reversed([[1], [2], [3], [4]], [1, -1, 1, 1], shuffle=False)
    >>> [label for _, label in stream]
    [1, -1, -1, -1]
    >>> stream.first_scored
    2
    """

    @checked
    def __init__(
        self,
        X: Any,
        y: Any,
        *,
        place: Annotated[float, RATE] = 0.5,
        **options: Unpack[TableOptions],
    ) -> None:
        super().__init__(X, y, **options)
        self._classes = np.unique(self._labels)
        if len(self._classes) > 2:
            raise LabelError(
                f"Reversed: y must have two classes, got {len(self._classes)}:"
                f" {', '.join(map(str, self._classes[:5].tolist()))}."
            )
        self.first_scored = math.floor(place * len(self) + 1e-9)

    def slices(self) -> Iterator[tuple[Rows, NDArray[Any]]]:
        """The stream, some rows at a time."""
        begin = 0
        for rows, labels in super().slices():
            later = np.arange(begin, begin + len(labels)) >= self.first_scored
            other = np.where(labels == self._classes[0], self._classes[-1], self._classes[0])
            yield rows, np.where(later, other, labels)
            begin += len(labels)

    def _stays(
        self, rounds: NDArray[np.intp], columns: NDArray[np.int32], coins: np.random.Generator
    ) -> NDArray[np.bool_]:
        return np.ones(len(columns), dtype=np.bool_)
