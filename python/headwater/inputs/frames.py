"""Frames: tables with named columns of pandas, polars, pyarrow or any library that exports Arrow.

All frames are read by the Arrow PyCapsule protocol. Results have the type of the caller's library:
only the library of the given frame is used, which is loaded already, so none is imported.
"""

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headwater import _core
from headwater.errors import EventError, HeadwaterError, LabelError
from headwater.types import Label, Name

LIBRARIES = ("pandas", "polars", "pyarrow")

Csr = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64], int]


def library_of(value: Any) -> str | None:
    """The library that `value` belongs to, one of `LIBRARIES`; None: another one."""
    for cls in type(value).__mro__:
        package = cls.__module__.partition(".")[0]
        if package in LIBRARIES:
            return package
    return None


def is_frame(X: Any) -> bool:
    """Whether `X` offers its columns by the Arrow protocol."""
    return hasattr(X, "__arrow_c_stream__") or hasattr(X, "__arrow_c_array__")


def read_frame(X: Any, names: Sequence[Name] | None) -> tuple[Csr, list[Name]]:
    """The rows of a frame and the names of their features; `names` replace its own."""
    if library_of(X) == "pandas" and hasattr(X, "columns"):
        return _read_pandas(X, list(X.columns) if names is None else names)
    if library_of(X) == "polars" and hasattr(X, "schema"):
        X = _without_null_type(X)
    return _core.read_frame(X, names)


def without_index(X: Any) -> Any:
    """A frame that exports all of its columns, and only these, by names that are texts."""
    if library_of(X) == "pandas" and hasattr(X, "columns"):
        return X.reset_index(drop=True).set_axis([str(name) for name in X.columns], axis=1)
    if library_of(X) == "polars" and hasattr(X, "schema"):
        return _without_null_type(X)
    return X


def _without_null_type(X: Any) -> Any:
    """polars describes a column of the type of nulls by a buffer, which such a column has not."""
    polars = sys.modules["polars"]
    untyped = [name for name, kind in X.schema.items() if kind == polars.Null]
    return X.with_columns(polars.col(untyped).cast(polars.Boolean)) if untyped else X


def _read_pandas(X: Any, names: Sequence[Name]) -> tuple[Csr, list[Name]]:
    """pandas hands over texts as names, and its index as a column: both are seen to here."""
    if X.shape[1] == 0:
        none = np.empty(0, dtype=np.int32)
        return (np.zeros(len(X) + 1, dtype=np.int64), none, np.empty(0), 0), list(names)
    plain = X.reset_index(drop=True).set_axis([str(i) for i in range(X.shape[1])], axis=1)
    try:
        return _core.read_frame(plain, names)
    except HeadwaterError:
        raise
    except ImportError:
        raise EventError(
            "X: frames of pandas are read by pyarrow, which is not there: pip install pyarrow."
        ) from None
    except Exception as error:  # pyarrow's, which finds a column that is none of Arrow's
        raise EventError(_unreadable(plain, names, error)) from None


def _unreadable(plain: Any, names: Sequence[Name], error: Exception) -> str:
    """Which column of a pandas frame pyarrow does not take, and why."""
    for position, name in enumerate(names):
        try:
            plain.iloc[:, [position]].__arrow_c_stream__()
        except Exception as cause:
            dtype, reason = plain.dtypes.iloc[position], str((cause.args or ["?"])[0])
            return (
                f"X: column {name!r} must hold numbers, booleans or text, got {dtype}:"
                f" {reason.rstrip('.')}."
            )
    return f"X: the frame cannot be read: {error}."


def read_labels(y: Any) -> list[Label | None]:
    """The labels of a column of one of the libraries."""
    if len(getattr(y, "shape", (0,))) != 1:
        raise LabelError(f"y: expected one label per row, got a frame of shape {y.shape}.")
    if hasattr(y, "to_pylist"):  # pyarrow
        listed: list[Label | None] = y.to_pylist()
    elif library_of(y) == "pandas":
        missing = y.isna().tolist() if hasattr(y, "isna") else [False] * len(y)
        listed = [None if gone else label for label, gone in zip(y, missing, strict=True)]
    else:
        listed = list(y)
    return listed


def like(X: Any, values: NDArray[Any]) -> Any:
    """One value per row of `X`, as a column of its library; pandas' with the index of `X`."""
    match library_of(X):
        case "pandas":
            return sys.modules["pandas"].Series(values, index=X.index)
        case "polars" | "pyarrow" as name:
            return _column(name, values)
        case _:
            return values


def like_table(X: Any, values: NDArray[np.float64], labels: Sequence[Label]) -> Any:
    """The values as a frame of the library of `X`: one row per row of it, one column per label."""
    library = library_of(X)
    if library == "pandas":
        return sys.modules["pandas"].DataFrame(values, index=X.index, columns=list(labels))
    if library is None:
        return values
    names = [str(label) for label in labels]
    if len(set(names)) < len(names):  # 1 and "1"
        names = [repr(label) for label in labels]
    columns = [_column(library, column) for column in values.T.copy()]
    if library == "polars":
        return sys.modules["polars"].DataFrame(dict(zip(names, columns, strict=True)))
    pyarrow = sys.modules["pyarrow"]
    kind = pyarrow.RecordBatch if isinstance(X, pyarrow.RecordBatch) else pyarrow.Table
    return kind.from_arrays(columns, names=names)


def _column(library: str, values: NDArray[Any]) -> Any:
    """A column of polars or pyarrow. Labels of several types fit neither: they stay as they are."""
    given: Any = values
    if values.dtype.kind == "O":
        given = values.tolist()
        if len({type(label) for label in given if label is not None}) > 1:
            return values
    module = sys.modules[library]
    return module.Series(given) if library == "polars" else module.array(given)
