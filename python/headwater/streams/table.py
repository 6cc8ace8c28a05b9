"""A whole table in memory, dense or CSR, from which streams take their rows and columns."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from headwater.errors import EventError, LabelError, ParameterError
from headwater.streams.base import rows_of
from headwater.types import Name, Rows


class Table(Protocol):
    """Rows and columns, independent of how they are stored."""

    @property
    def height(self) -> int:
        """How many rows there are."""

    @property
    def width(self) -> int:
        """How many columns there are."""

    def cut(self, rows: NDArray[np.intp], columns: NDArray[np.intp], names: Sequence[Name]) -> Rows:
        """These rows of these columns, in this order; a column may come more than once.

        `names` may go on beyond `columns`.
        """


@dataclass(frozen=True, eq=False)
class DenseTable:
    """An array in which NaN is absent and 0 is a value."""

    values: NDArray[np.float64]

    @property
    def height(self) -> int:
        return int(self.values.shape[0])

    @property
    def width(self) -> int:
        return int(self.values.shape[1])

    def cut(self, rows: NDArray[np.intp], columns: NDArray[np.intp], names: Sequence[Name]) -> Rows:
        return rows_of(self.values[np.ix_(rows, columns)], names)


@dataclass(frozen=True, eq=False)
class SparseTable:
    """The three arrays of CSR: a value not stored, or NaN, is absent; a stored 0 is a value."""

    indptr: NDArray[Any]
    indices: NDArray[Any]
    data: NDArray[np.float64]
    width: int

    @property
    def height(self) -> int:
        return len(self.indptr) - 1

    def cut(self, rows: NDArray[np.intp], columns: NDArray[np.intp], names: Sequence[Name]) -> Rows:
        lengths = np.diff(self.indptr)[rows]
        row, at = _ranges(self.indptr[:-1][rows], lengths)
        there = ~np.isnan(self.data[at])
        row, at = row[there], at[there]
        # The places of a column in the cut, none or several, lie side by side in `places`.
        places = np.argsort(columns, kind="stable").astype(np.int32)
        times = np.bincount(columns, minlength=self.width)
        own = self.indices[at]
        value, place = _ranges((np.cumsum(times) - times)[own], times[own])
        row, at, column = row[value], at[value], places[place]
        order = np.lexsort((column, row))
        ends = np.cumsum(np.bincount(row, minlength=len(rows)), dtype=np.int64)
        return Rows(
            indptr=np.concatenate([np.zeros(1, np.int64), ends]),
            indices=column[order],
            data=self.data[at[order]],
            names=names,
        )


def _ranges(starts: NDArray[Any], lengths: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """start, start + 1, ... of each range, one after the other: whose it is, and the number."""
    owner = np.repeat(np.arange(len(lengths)), lengths)
    before = np.cumsum(lengths) - lengths
    return owner, np.arange(len(owner)) + (starts - before)[owner]


def table_of(owner: str, X: Any) -> Table:
    """`X` as a table: from its three CSR arrays if it has them, else as a dense array."""
    if hasattr(X, "tocsr") and getattr(X, "format", None) != "csr":
        raise EventError(
            f"{owner}: X must be a dense array or CSR, got {type(X).__name__};"
            " X.tocsr() makes CSR of it."
        )
    if all(hasattr(X, name) for name in ("indptr", "indices", "data")):
        return _sparse(owner, X)
    try:
        values = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError) as reason:
        raise EventError(f"{owner}: X must hold numbers only: {reason}.") from reason
    if values.ndim != 2:
        raise EventError(f"{owner}: X must have rows and columns, got {values.ndim} dimension(s).")
    return DenseTable(values)


def _sparse(owner: str, X: Any) -> SparseTable:
    indptr, indices = np.asarray(X.indptr), np.asarray(X.indices)
    stored = int(indices.max()) + 1 if len(indices) else 0
    if hasattr(X, "shape"):
        width = int(X.shape[1])
    elif hasattr(X, "names"):
        width = len(X.names)
    else:
        width = stored
    if stored > width:
        raise EventError(f"{owner}: X must have indices below {width}, got {stored - 1}.")
    return SparseTable(indptr, indices, np.asarray(X.data, dtype=np.float64), width)


def names_of(owner: str, X: Any, names: Sequence[Name] | None, width: int) -> list[Name]:
    """One name per column: as given, those of `X`, or 0, 1, ..."""
    if names is None:
        names = getattr(X, "names", None)
    if names is None:
        return list(range(width))
    names = list(names)
    if len(names) != width:
        raise ParameterError(f"{owner}: names must be one per column, {width}, got {len(names)}.")
    if len(set(names)) < width:
        twice = next(name for position, name in enumerate(names) if name in names[:position])
        raise ParameterError(f"{owner}: names must differ from each other, got {twice!r} twice.")
    return names


def labels_of(owner: str, y: Any, height: int) -> NDArray[Any]:
    """One label per row, as an array."""
    labels = np.asarray(y)
    if labels.shape != (height,):
        shape = " × ".join(map(str, labels.shape)) or "a single one"
        raise LabelError(f"{owner}: y must be one label per row, {height}, got {shape}.")
    return labels
