"""The stream of devices that report in turn: each event carries the columns of one device."""

from typing import Annotated, Any, Unpack

import numpy as np
from numpy.typing import NDArray

from headwater.parameters import COUNT, checked
from headwater.streams.masked_table import MaskedTable
from headwater.streams.table_stream import TableOptions
from headwater.types import Name


class InTurn(MaskedTable):
    """A table as a stream of several devices, one of which reports in each event.

    The columns are dealt to the devices at random, as evenly as possible. Event t is reported by
    device t modulo `devices`.

    Parameters
    ----------
    devices
        How many devices there are.

    Examples
    --------
    >>> import headwater as hw
    >>> stream = hw.streams.InTurn([[1, 2, 3, 4]] * 3, [True, False, True], devices=2)
    >>> stream.device
    {0: 0, 1: 1, 2: 1, 3: 0}
    >>> [list(event) for event, _ in stream]
    [[0, 3], [1, 2], [0, 3]]
    """

    device: dict[Name, int]
    """The device of each column, from 0."""

    @checked
    def __init__(
        self,
        X: Any,
        y: Any,
        *,
        devices: Annotated[int, COUNT] = 2,
        **options: Unpack[TableOptions],
    ) -> None:
        super().__init__(X, y, **options)
        self._devices = devices
        self._device = self._fate.permutation(np.arange(len(self.names)) % devices)
        self.device = dict(zip(self.names, self._device.tolist(), strict=True))

    def _stays(
        self, rounds: NDArray[np.intp], columns: NDArray[np.int32], coins: np.random.Generator
    ) -> NDArray[np.bool_]:
        there: NDArray[np.bool_] = self._device[columns] == rounds % self._devices
        return there
