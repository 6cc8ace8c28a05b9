"""Types of what is read from a file of events: one event, many events as arrays, a reader."""

from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from headwater.types import Id, Label, Name

Source: TypeAlias = tuple[str, str, str | None, str | None, bool]
"""A file as the core takes it: path, format, label, id, and whether bad lines are skipped."""

BatchParts: TypeAlias = tuple[
    NDArray[np.int64],
    NDArray[np.int32],
    NDArray[np.float64],
    list[Name],
    list[Label | None],
    list[Id | None],
]


class EventBatch(NamedTuple):
    """Events as the arrays of a sparse matrix, with their labels and ids."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    data: NDArray[np.float64]
    names: list[Name]
    labels: list[Label | None]
    ids: list[Id | None]


class Record(NamedTuple):
    """An event of a file: its id, its features, its label if it has one.

    Examples
    --------
    >>> Record("monday", {"rain": 1.0}, True).id
    'monday'
    """

    id: Id | None
    x: dict[Name, float]
    y: Label | None


class Reader(Protocol):
    """One pass over a file."""

    def next(self) -> tuple[Id | None, dict[Name, float], Label | None] | None:
        """The next event; None if there is none."""

    def batch(self, size: int) -> EventBatch | BatchParts | None:
        """The next events, at most `size`; None if there are none."""

    @property
    def skipped(self) -> int:
        """Lines that could not be used."""

    @property
    def problems(self) -> list[str]:
        """Why the first of them could not."""
