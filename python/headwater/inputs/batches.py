"""Batches of events, converted for the core."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from headwater import _core
from headwater.errors import EventError, LabelError
from headwater.inputs import frames
from headwater.types import Label, Name, Task

Arrays: TypeAlias = frames.Csr | NDArray[np.float64]
Answers: TypeAlias = list[Label | None] | NDArray[np.bool_] | NDArray[np.int64]
PLAIN: tuple[Literal["C", "ALIGNED"], ...] = ("C", "ALIGNED")
"""How the core reads arrays; one that is otherwise is copied."""

LARGEST_COLUMN = np.iinfo(np.int32).max
Names: TypeAlias = list[Name] | _core.FeatureNames
ColumnNames: TypeAlias = Sequence[Name] | _core.FeatureNames


def read_rows(X: Any, names: ColumnNames | None) -> tuple[Arrays, Names | None]:
    """`X` as contiguous arrays, and the names of its columns (None: their numbers)."""
    if is_events(X) or frames.is_frame(X):
        return read_named(X, names)
    if names is None:
        names = getattr(X, "names", None)
    listed = None if names is None else _read_names(names)
    if all(hasattr(X, part) for part in ("indptr", "indices", "data")):
        return _read_csr(X, listed)
    return _read_dense(X), listed


def read_named(X: Any, names: ColumnNames | None) -> tuple[frames.Csr, list[Name]]:
    """The rows of a list of events or of a frame, and the names of their features."""
    if frames.is_frame(X):
        return frames.read_frame(X, None if names is None else list(_read_names(names)))
    if names is not None:
        raise EventError("names: the events of a list have names already; leave names= out.")
    return _core.read_events(list(X))


def is_events(X: Any) -> bool:
    """Whether `X` is a list of events, each a mapping; one without any is a list of no events."""
    return isinstance(X, (list, tuple)) and (len(X) == 0 or isinstance(X[0], Mapping))


def _read_names(names: Any) -> Names:
    if isinstance(names, _core.FeatureNames):
        return names
    if isinstance(names, (str, bytes)) or not hasattr(names, "__iter__"):
        raise EventError(f"names: expected one name per column, got {names!r}.")
    return list(names)


def _read_csr(X: Any, names: Names | None) -> tuple[frames.Csr, Names | None]:
    if getattr(X, "format", "csr") != "csr":
        raise EventError(f"X: expected a CSR matrix, got {X.format}; use X.tocsr().")
    indptr, indices = (_whole_numbers(getattr(X, part), part) for part in ("indptr", "indices"))
    data = _numbers(X.data)
    if data.ndim != 1:
        raise EventError(f"X: data must be one-dimensional, got {data.ndim} dimensions.")
    shape = getattr(X, "shape", None)
    if shape is not None:
        if len(shape) != 2 or shape[0] != len(indptr) - 1:
            raise EventError(f"X: expected a matrix of {len(indptr) - 1} rows, got shape {shape}.")
        columns = int(shape[1])
    else:
        columns = len(names) if names is not None else int(indices.max(initial=-1)) + 1
    if indices.dtype != np.int32:  # otherwise the core finds it
        wrong = indices[(indices < 0) | (indices >= columns)]
        if wrong.size:
            raise EventError(f"X: column {wrong[0]} does not exist; there are {columns}.")
        if names is None and int(indices.max(initial=0)) > LARGEST_COLUMN:
            used, indices = np.unique(indices, return_inverse=True)
            names, columns = used.tolist(), len(used)
    arrays = (
        np.require(indptr, np.int64, PLAIN),
        np.require(indices, np.int32, PLAIN),
        np.require(data, np.float64, PLAIN),
        columns,
    )
    return arrays, names


def _whole_numbers(values: Any, part: str) -> NDArray[Any]:
    array = np.asarray(values)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise EventError(f"X: {part} must be a one-dimensional array of whole numbers.")
    return array


def _read_dense(X: Any) -> NDArray[np.float64]:
    array = _numbers(X)
    if array.ndim != 2:
        raise EventError(f"X: expected two dimensions, got {array.ndim}.")
    return np.require(array, np.float64, PLAIN)


def _numbers(values: Any) -> NDArray[np.float64]:
    """An array of floats. Text is not converted to a number."""
    try:
        array = np.asarray(values)
        spelled = array.dtype.kind == "O" and any(isinstance(v, (str, bytes)) for v in array.flat)
        if array.dtype.kind in "biufO" and not spelled:
            return array.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError):
        pass  # ragged, nested, beyond the floats
    raise EventError(
        "X: expected numbers in rows and columns (an array or a sparse matrix), a DataFrame or a"
        f" list of dicts, got {_kind_of(values)}."
    )


def _kind_of(values: Any) -> str:
    """What came instead of a batch, and what makes one of it."""
    if isinstance(values, Mapping):
        return "one dict; put events into a list, or columns into a DataFrame"
    if isinstance(values, Iterator):
        return f"a {type(values).__name__}; list(...) makes a list of it"
    if isinstance(values, np.ndarray):
        return f"an array of {values.dtype}; a DataFrame can hold text"
    return f"a {type(values).__name__} that holds something else"


def events_of(rows: Arrays, names: ColumnNames | None) -> Iterator[dict[Name, float]]:
    """The events of what `read_rows` returned, one dict each, without absent values.

    Examples
    --------
    >>> list(events_of(*read_rows([[1.0, float("nan")], [0.0, 2.0]], ["rain", "wind"])))
    [{'rain': 1.0}, {'rain': 0.0, 'wind': 2.0}]
    """
    if isinstance(rows, tuple):
        indptr, indices, data, _ = rows
        for start, stop in pairwise(indptr.tolist()):
            yield _event(indices[start:stop].tolist(), data[start:stop].tolist(), names)
    else:
        for row in rows.tolist():
            yield _event(range(len(row)), row, names)


def _event(
    columns: Iterable[int], values: Iterable[float], names: ColumnNames | None
) -> dict[Name, float]:
    pairs = zip(columns, values, strict=True)
    return {names[c] if names is not None else c: v for c, v in pairs if v == v}


def read_labels(y: Any) -> Answers:
    """`y` as an array of bools or integers, or as a list without NumPy's types."""
    if frames.library_of(y) is not None:
        return frames.read_labels(y)
    if type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "bi":  # a masked one may lack some
        # The byte of a bool in a foreign buffer may be any.
        return y.view(np.uint8) != 0 if y.dtype.kind == "b" else np.require(y, np.int64, PLAIN)
    if isinstance(y, (str, bytes)) or not hasattr(y, "__iter__"):
        raise LabelError(f"y: expected one label per row, got {y!r}.")
    listed = y.tolist() if hasattr(y, "tolist") else list(y)
    if not isinstance(listed, list):
        raise LabelError(f"y: expected one label per row, got {y!r}.")
    return listed


def predictions(
    task: Task,
    classes: NDArray[np.int64],
    margins: NDArray[np.float64],
    labels: tuple[Label, ...],
) -> NDArray[Any]:
    """What was predicted: the labels with these indices, -1 being None; in regression margins."""
    if task == "regression":
        return margins.copy()
    alike = len({type(label) for label in labels}) == 1 and bool((classes >= 0).all())
    kept_whole = not any(isinstance(label, str) and label.endswith("\0") for label in labels)
    if alike and kept_whole:  # NumPy's text drops NULs at its end
        return np.array(labels)[classes]
    return np.array([*labels, None], dtype=object)[classes]
