"""Parquet and Arrow files, read by pyarrow a few rows at a time.

The core takes them as it takes frames: null and NaN are absent, text is an indicator.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
import pyarrow.parquet as pq  # type: ignore[import-untyped, unused-ignore]
from numpy.typing import NDArray

from headwater import _core
from headwater.errors import EventError, EventFileError, HeadwaterError
from headwater.inputs.records import EventBatch, Source
from headwater.types import Id, Label, Name

AT_A_TIME = 4_096
"""Rows at a time when events are read one by one."""
MOST_PROBLEMS = 10


class ColumnarReader:
    """One pass over a Parquet or an Arrow file."""

    def __init__(self, source: Source) -> None:
        self._path, self._format, self._label, self._id, self._skips = source
        self.skipped = 0
        self.problems: list[str] = []
        self.rows: list[int] = []
        """The numbers of the rows that the last batch holds, from 1."""
        self._done = 0
        self._pending: EventFileError | None = None
        self._pieces: Iterator[pa.RecordBatch] | None = None
        self._events: Iterator[tuple[Id | None, dict[Name, float], Label | None]] = iter(())

    def next(self) -> tuple[Id | None, dict[Name, float], Label | None] | None:
        """The next event; None if there is none."""
        for event in self._events:
            return event
        batch = self.batch(AT_A_TIME)
        if batch is None:
            return None
        self._events = _events_of(batch)
        return next(self._events)

    def batch(self, size: int) -> EventBatch | None:
        """The next events, at most `size`; None if there are none."""
        if self._pieces is None:
            self._pieces = self._open(size)
        while self._pending is None:
            piece = next(self._pieces, None)
            if piece is None:
                return None
            batch = self._read(piece)
            if batch.labels:
                return batch
        raise self._pending

    def skip(self, error: HeadwaterError) -> None:
        """Count a row that cannot be used, or stop because of it."""
        if not self._skips:
            raise error
        self.skipped += 1
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(str(error))

    def _open(self, size: int) -> Iterator[pa.RecordBatch]:
        path = self._path
        try:
            if self._format == "parquet":
                yield from pq.ParquetFile(path).iter_batches(batch_size=size)
                return
            with pa.memory_map(path) as source:
                reader = pa.ipc.open_file(source)
                for number in range(reader.num_record_batches):
                    piece = reader.get_batch(number)
                    for start in range(0, piece.num_rows, size):
                        yield piece.slice(start, size)
        except (pa.ArrowException, OSError) as error:
            raise EventFileError(f"{path}: it cannot be read: {error}.") from None

    def _read(self, piece: pa.RecordBatch) -> EventBatch:
        path, wanted = self._path, (self._label, self._id)
        for name in wanted:
            if name is not None and name not in piece.schema.names:
                there = ", ".join(map(repr, piece.schema.names[:10]))
                raise EventFileError(f"{path}: there is no column {name!r}; it has {there}.")
        if len(set(piece.schema.names)) < len(piece.schema.names):
            raise EventFileError(f"{path}: a column appears twice: {piece.schema.names}.")
        columns = [name for name in piece.schema.names if name not in wanted]
        try:
            (indptr, indices, data, _), names = _core.read_frame(piece.select(columns), None)
        except EventError as error:
            raise EventFileError(f"{path}: {str(error).removeprefix('X: ')}") from None
        first, self._done = self._done + 1, self._done + piece.num_rows
        good = np.ones(piece.num_rows, bool)
        for row, reason in _refused(columns, names, indptr, indices, data):
            refusal = EventFileError(f"{path}, row {first + row}: {reason}")
            good[row] = False
            if not self._skips:
                good[row:] = False
                self._pending = refusal
                break
            self.skip(refusal)
        labels = _scalars(piece, self._label)
        ids = _scalars(piece, self._id)
        rows = np.flatnonzero(good).tolist()
        self.rows = [first + row for row in rows]
        lengths = np.diff(indptr)
        kept = np.repeat(good, lengths)
        indptr = np.concatenate([indptr[:1], np.cumsum(lengths[good])])
        kept_labels, kept_ids = [labels[row] for row in rows], [ids[row] for row in rows]
        return EventBatch(indptr, indices[kept], data[kept], names, kept_labels, kept_ids)


def _refused(
    columns: list[str],
    names: list[Name],
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    data: NDArray[np.float64],
) -> list[tuple[int, str]]:
    """The rows that are no events, and why."""
    reasons: dict[int, str] = {}
    row_of = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    for at in np.flatnonzero(np.isinf(data)).tolist():
        name = names[indices[at]]
        reason = f"feature {name!r} must be a finite number, got {data[at]}."
        reasons.setdefault(int(row_of[at]), reason)
    if any("=" in name for name in columns):  # one may have the name of another's indicator
        found, counts = np.unique(row_of * len(names) + indices, return_counts=True)
        for row, index in (divmod(place, len(names)) for place in found[counts > 1].tolist()):
            reasons.setdefault(row, f"feature {names[index]!r} appears twice.")
    return sorted(reasons.items())


def _scalars(piece: pa.RecordBatch, name: str | None) -> list[Any]:
    return [None] * piece.num_rows if name is None else list(piece.column(name).to_pylist())


def _events_of(batch: EventBatch) -> Iterator[tuple[Id | None, dict[Name, float], Label | None]]:
    starts = batch.indptr.tolist()
    for row, (start, stop) in enumerate(pairwise(starts)):
        columns = batch.indices[start:stop].tolist()
        values = batch.data[start:stop].tolist()
        names = [batch.names[column] for column in columns]
        yield batch.ids[row], dict(zip(names, values, strict=True)), batch.labels[row]
