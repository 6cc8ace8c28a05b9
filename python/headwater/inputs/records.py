"""Types of what is read from a file of events: one event, many events as arrays, a reader."""

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from headwater.inputs.columns import Columns
from headwater.types import Id, Label, Name

Source: TypeAlias = tuple[str, str, Columns, bool, bool, bool, Any]
"""A file as the core takes it: path, format, columns, whether these may be missing, whether they
are wanted raw, whether bad lines are skipped, batches."""


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
