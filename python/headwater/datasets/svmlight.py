"""svmlight text: a label, then `index:value` pairs, one row per line.

Indices count from 1 and ascend; zeros may be left out. The core reads it.
"""

from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headwater import _core
from headwater.errors import DatasetError, EventFileError
from headwater.inputs.columns import Columns
from headwater.inputs.records import EventBatch
from headwater.types import Label

AT_ONCE = 1 << 15  # rows


class SvmlightRows(NamedTuple):
    """The three arrays of CSR and one label per row."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    data: NDArray[np.float64]
    labels: NDArray[np.int64]


def read_svmlight(path: Path, d: int, where: str | None = None) -> SvmlightRows:
    """Read a file of svmlight text with `d` columns, packed or not; column 1 becomes index 0.

    An error names `where`, by default the file, and the row.
    """
    where = where or str(path)
    lengths, indices = [np.zeros(0, np.int64)], [np.zeros(0, np.int32)]
    data, labels = [np.zeros(0)], [np.zeros(0, np.int64)]
    here, first = f"{where}, row ", 1
    try:
        reader = _core.EventReader((str(path), "svmlight", Columns(), False, False, False, None))
        while (found := reader.batch(AT_ONCE)) is not None:
            batch = EventBatch(*found)
            indices.append((_columns(here, first, batch, d) - 1).astype(np.int32))
            labels.append(_whole(here, first, batch.labels))
            lengths.append(np.diff(batch.indptr))
            data.append(batch.data)
            first += len(batch.labels)
    except EventFileError as reason:
        raise DatasetError(where + str(reason).removeprefix(str(path))) from None
    ends = np.cumsum(np.concatenate(lengths), dtype=np.int64)
    return SvmlightRows(
        indptr=np.concatenate([np.zeros(1, np.int64), ends]),
        indices=np.concatenate(indices),
        data=np.concatenate(data),
        labels=np.concatenate(labels),
    )


def _columns(here: str, first: int, batch: EventBatch, d: int) -> NDArray[np.int64]:
    """The column of each value, from 1."""
    indptr, places, _, names, *_ = batch
    numbers = [name if isinstance(name, int) and 1 <= name <= d else 0 for name in names]
    columns = np.array(numbers, np.int64)[places]
    before = np.roll(columns, 1)
    before[indptr[:-1][np.diff(indptr) > 0]] = 0  # the first of a row has none before it
    wrong = np.flatnonzero(before >= columns)
    if wrong.size:
        row = first + int(np.searchsorted(indptr, wrong[0], side="right")) - 1
        got = names[places[wrong[0]]]
        expected = f"indices must be whole numbers in 1..{d} that ascend"
        raise DatasetError(f"{here}{row}: {expected}, got {got!r}.")
    return columns


def _whole(here: str, first: int, labels: list[Label | None]) -> NDArray[np.int64]:
    for row, label in enumerate(labels, first):
        if not isinstance(label, int):
            raise DatasetError(f"{here}{row}: a label must be a whole number, got {label!r}.")
    return np.array(labels, np.int64)


def format_svmlight(rows: SvmlightRows) -> bytes:
    """The text of rows: zeros left out, whole numbers without a point, +1 with its sign."""
    sign = "+d" if set(rows.labels.tolist()) <= {-1, 1} else "d"
    lines = []
    for (start, stop), label in zip(
        pairwise(rows.indptr.tolist()), rows.labels.tolist(), strict=True
    ):
        columns, values = rows.indices[start:stop].tolist(), rows.data[start:stop].tolist()
        pairs = [
            f"{column + 1}:{int(value) if value.is_integer() and abs(value) < 1e15 else value!r}"
            for column, value in zip(columns, values, strict=True)
            if value != 0
        ]
        lines.append(" ".join([f"{label:{sign}}", *pairs]))
    return "".join(f"{line}\n" for line in lines).encode()
