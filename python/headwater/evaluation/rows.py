"""Events of any form as `Rows`, and parts of them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headwater.inputs import batches, frames
from headwater.streams.base import rows_of
from headwater.streams.table import DenseTable, names_of, table_of
from headwater.types import Rows


def as_rows(owner: str, X: Any) -> Rows:
    """`X`, of any form that a batch may have, as `Rows`; features keep the order that they have."""
    if batches.is_events(X) or frames.is_frame(X):
        (indptr, indices, data, _), listed = batches.read_named(X, None)
        return Rows(indptr, indices, data, listed)
    table = table_of(owner, X)
    names = names_of(owner, X, None, table.width)
    if isinstance(table, DenseTable):
        return rows_of(table.values, names)
    indptr, indices = np.asarray(X.indptr), np.asarray(X.indices)
    return Rows(indptr, indices, np.asarray(X.data, dtype=np.float64), names)


def stretch(rows: Rows, begin: int, end: int) -> Rows:
    """The rows from `begin` up to, not including, `end`.

    Examples
    --------
    >>> rows = as_rows("here", [[1.0, 2.0], [3.0, float("nan")], [5.0, 6.0]])
    >>> stretch(rows, 1, 3).data.tolist()
    [3.0, 5.0, 6.0]
    """
    first, last = rows.indptr[begin], rows.indptr[end]
    indptr = rows.indptr[begin : end + 1] - first
    return Rows(indptr, rows.indices[first:last], rows.data[first:last], rows.names)


def picked(rows: Rows, places: NDArray[np.intp]) -> Rows:
    """The rows at these places, in this order.

    Examples
    --------
    >>> rows = as_rows("here", [[1.0, 2.0], [3.0, float("nan")], [5.0, 6.0]])
    >>> picked(rows, np.array([2, 1])).data.tolist()
    [5.0, 6.0, 3.0]
    """
    lengths = np.diff(rows.indptr)[places]
    ends = np.cumsum(lengths, dtype=np.int64)
    at = np.arange(lengths.sum()) + np.repeat(rows.indptr[:-1][places] - ends + lengths, lengths)
    indptr = np.concatenate([np.zeros(1, np.int64), ends])
    return Rows(indptr, rows.indices[at], rows.data[at], rows.names)
