"""Parquet and Arrow files, read by pyarrow a few rows at a time.

Columns come over whole: null and NaN are absent, a bool is 0 or 1, text makes an indicator a value.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
import pyarrow.parquet as pq  # type: ignore[import-untyped, unused-ignore]
from numpy.typing import NDArray

from headwater.errors import EventFileError, HeadwaterError
from headwater.files.events import Batch, EventFile
from headwater.types import Id, Label, Name

AT_A_TIME = 4_096
"""Rows at a time when events are read one by one."""
MOST_PROBLEMS = 10


class ColumnarReader:
    """One walk along a Parquet or an Arrow file."""

    def __init__(self, file: EventFile) -> None:
        self._file = file
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

    def batch(self, size: int) -> Batch | None:
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
        if self._file.on_error == "raise":
            raise error
        self.skipped += 1
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(str(error))

    def _open(self, size: int) -> Iterator[pa.RecordBatch]:
        path = self._file.path
        try:
            if self._file.format == "parquet":
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

    def _read(self, piece: pa.RecordBatch) -> Batch:
        path, wanted = self._file.path, (self._file.label, self._file.id)
        for name in wanted:
            if name is not None and name not in piece.schema.names:
                there = ", ".join(map(repr, piece.schema.names[:10]))
                raise EventFileError(f"{path}: there is no column {name!r}; it has {there}.")
        if len(set(piece.schema.names)) < len(piece.schema.names):
            raise EventFileError(f"{path}: a column is there twice: {piece.schema.names}.")
        parts = _Columns(piece, [n for n in piece.schema.names if n not in wanted], path)
        first, self._done = self._done + 1, self._done + piece.num_rows
        good = np.ones(piece.num_rows, bool)
        for row, reason in parts.refused:
            error = EventFileError(f"{path}, row {first + row}: {reason}")
            good[row] = False
            if self._file.on_error == "raise":
                good[row:] = False
                self._pending = error
                break
            self.skip(error)
        labels = _scalars(piece, self._file.label)
        ids = _scalars(piece, self._file.id)
        rows = np.flatnonzero(good).tolist()
        self.rows = [first + row for row in rows]
        indptr, indices, data = parts.csr(good)
        return Batch(
            indptr, indices, data, parts.names, [labels[r] for r in rows], [ids[r] for r in rows]
        )


class _Columns:
    """The columns of a piece: where something stands, under which name, and what."""

    def __init__(self, piece: pa.RecordBatch, columns: list[str], path: str) -> None:
        shape = piece.num_rows, len(columns)
        self.names: list[Name] = []
        self._present = np.zeros(shape, bool)
        self._index = np.zeros(shape, np.int32)
        self._value = np.ones(shape)
        self._places: dict[str, int] = {}
        self._shared = False
        reasons: dict[int, str] = {}
        for position, name in enumerate(columns):
            column = piece.column(name)
            if _is_text(column.type):
                self._add_text(position, name, column)
                continue
            values = _numbers(column, name, path)
            present = ~np.isnan(values)
            self._present[:, position] = present
            self._value[:, position] = values
            if present.any():
                self._index[:, position] = self._place_of(name)
            for row in np.flatnonzero(np.isinf(values)).tolist():
                shown = "inf" if values[row] > 0 else "-inf"
                reason = f"feature {name!r} must be a finite number, got {shown}."
                reasons.setdefault(row, reason)
        if self._shared:
            for row in range(piece.num_rows):
                index = self._index[row, self._present[row]]
                if len(np.unique(index)) < len(index):
                    twice = self.names[np.bincount(index).argmax()]
                    reasons.setdefault(row, f"feature {twice!r} is there twice.")
        self.refused = sorted(reasons.items())

    def _place_of(self, name: str) -> int:
        if name in self._places:
            self._shared = True  # an indicator has the name of another column's feature
        else:
            self._places[name] = len(self.names)
            self.names.append(name)
        return self._places[name]

    def _add_text(self, position: int, name: str, column: Any) -> None:
        if not pa.types.is_dictionary(column.type):
            column = column.dictionary_encode()
        codes = column.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        words = column.dictionary.to_pylist()
        places = np.zeros(len(words) + 1, np.int32)
        for code in np.unique(codes[codes >= 0]).tolist():
            if words[code] is None:
                codes = np.where(codes == code, -1, codes)
            else:
                places[code] = self._place_of(f"{name}={words[code]}")
        self._present[:, position] = codes >= 0
        self._index[:, position] = places[codes]

    def csr(
        self, rows: NDArray[np.bool_]
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
        """The rows chosen, as the three arrays of a sparse matrix."""
        present = self._present[rows]
        ends = np.cumsum(present.sum(axis=1), dtype=np.int64)
        indptr = np.concatenate([np.zeros(1, np.int64), ends])
        return indptr, self._index[rows][present], self._value[rows][present]


def _is_text(kind: Any) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    views = pa.types.is_string_view(kind)
    return bool(views or pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _numbers(column: Any, name: str, path: str) -> NDArray[np.float64]:
    """Numbers, bools as 0 and 1, null as NaN."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.dictionary_decode(), kind.value_type
    if pa.types.is_null(kind):
        return np.full(len(column), np.nan)
    if not (
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_decimal(kind)
    ):
        raise EventFileError(
            f"{path}: column {name!r} must hold numbers, bools or text, got {kind}."
        )
    floats = column.cast(pa.float64(), safe=False)
    return np.asarray(floats.to_numpy(zero_copy_only=False), np.float64)


def _scalars(piece: pa.RecordBatch, name: str | None) -> list[Any]:
    return [None] * piece.num_rows if name is None else list(piece.column(name).to_pylist())


def _events_of(batch: Batch) -> Iterator[tuple[Id | None, dict[Name, float], Label | None]]:
    starts = batch.indptr.tolist()
    for row, (start, stop) in enumerate(pairwise(starts)):
        columns = batch.indices[start:stop].tolist()
        values = batch.data[start:stop].tolist()
        names = [batch.names[column] for column in columns]
        yield batch.ids[row], dict(zip(names, values, strict=True)), batch.labels[row]
