"""Batches of events, brought into the shape that the core takes."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from headwater.errors import EventError, LabelError
from headwater.types import Label, Name

Csr: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64], int]
Arrays: TypeAlias = Csr | NDArray[np.float64]


def read_rows(X: Any, names: Sequence[Name] | None) -> tuple[Arrays, list[Name] | None]:
    """`X` as contiguous arrays, and the names of its columns (None: their numbers)."""
    if names is None:
        names = getattr(X, "names", None)
    listed = None if names is None else list(names)
    if all(hasattr(X, part) for part in ("indptr", "indices", "data")):
        return _read_csr(X, listed), listed
    return _read_dense(X), listed


def _read_csr(X: Any, names: list[Name] | None) -> Csr:
    indptr, indices = (_whole_numbers(getattr(X, part), part) for part in ("indptr", "indices"))
    try:
        data = np.ascontiguousarray(X.data, dtype=np.float64)
    except (TypeError, ValueError):
        raise EventError("X: data must be an array of numbers.") from None
    shape = getattr(X, "shape", None)
    if shape is not None:
        if len(shape) != 2 or shape[0] != len(indptr) - 1:
            raise EventError(f"X: expected a matrix of {len(indptr) - 1} rows, got shape {shape}.")
        if getattr(X, "format", "csr") != "csr":
            raise EventError(f"X: expected a CSR matrix, got {X.format}; use X.tocsr().")
        columns = int(shape[1])
    else:
        columns = len(names) if names is not None else int(indices.max(initial=-1)) + 1
    if columns > np.iinfo(np.int32).max:
        raise EventError(f"X: at most {np.iinfo(np.int32).max} columns, got {columns}.")
    if indices.size and (indices.min() < 0 or indices.max() >= columns):
        wrong = indices[(indices < 0) | (indices >= columns)][0]
        raise EventError(f"X: column {wrong} does not exist; there are {columns}.")
    return (
        np.ascontiguousarray(indptr, dtype=np.int64),
        np.ascontiguousarray(indices, dtype=np.int32),
        data,
        columns,
    )


def _whole_numbers(values: Any, part: str) -> NDArray[Any]:
    array = np.asarray(values)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise EventError(f"X: {part} must be a one-dimensional array of whole numbers.")
    return array


def _read_dense(X: Any) -> NDArray[np.float64]:
    try:
        array = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        raise EventError(
            "X: expected a two-dimensional array of numbers or a sparse matrix with indptr,"
            f" indices and data, got {type(X).__name__}."
        ) from None
    if array.ndim != 2:
        raise EventError(f"X: expected two dimensions, got {array.ndim}.")
    return np.ascontiguousarray(array)


def read_labels(y: Any) -> list[Label | None]:
    """`y` as a list, without NumPy's types where NumPy knows better."""
    if isinstance(y, (str, bytes)) or not hasattr(y, "__iter__"):
        raise LabelError(f"y: expected one label a row, got {y!r}.")
    if hasattr(y, "tolist"):
        return y.tolist()  # type: ignore[no-any-return]
    return list(y)


def spell_out(classes: NDArray[np.int64], labels: tuple[Label, ...]) -> NDArray[Any]:
    """The labels with these indices; -1 is None."""
    kinds = {type(label) for label in labels}
    alike = len(kinds) == 1 and bool((classes >= 0).all())
    spoken = np.array([*labels, None], dtype=object)
    if alike:
        spoken = np.array(labels)
    return spoken[classes]
