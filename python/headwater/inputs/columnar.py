"""Parquet and Arrow files: pyarrow decodes their bytes, the core reads the rows."""

import os
from collections.abc import Iterator

import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
import pyarrow.parquet as pq  # type: ignore[import-untyped, unused-ignore]

from headwater.errors import EventFileError

ROWS, CELLS, FEWEST_ROWS = 4_096, 1_000_000, 64
"""A batch has at most so many rows, of wide tables fewer: as many as have so many cells."""


class RecordBatches:
    """The batches of a file, once.

    `bytes` counts those of the file that are done in proportion to its rows: pyarrow does not say
    what it has taken from the file.
    """

    def __init__(self, path: str, format: str) -> None:
        self._path = path
        self.bytes = 0
        try:
            self._size = os.stat(path).st_size
            if format == "parquet":
                file = pq.ParquetFile(path)
                self.schema = file.schema_arrow
                self._batches = self._of_parquet(file)
            else:
                reader = pa.ipc.open_file(pa.memory_map(path))
                self.schema = reader.schema
                self._batches = self._of_arrow(reader)
        except (pa.ArrowException, OSError) as error:
            raise EventFileError(f"{path}: it cannot be read: {_first_line(error)}.") from None

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self._batches

    def _of_parquet(self, file: pq.ParquetFile) -> Iterator[pa.RecordBatch]:
        rows, done = file.metadata.num_rows, 0
        for batch in file.iter_batches(batch_size=self._rows_at_a_time()):
            done += batch.num_rows
            self.bytes = self._size * done // rows
            yield batch
        self.bytes = self._size

    def _of_arrow(self, reader: pa.ipc.RecordBatchFileReader) -> Iterator[pa.RecordBatch]:
        count, size = reader.num_record_batches, self._rows_at_a_time()
        for number in range(count):
            piece = reader.get_batch(number)
            for start in range(0, piece.num_rows, size):
                share = min(1, (start + size) / piece.num_rows)
                self.bytes = int(self._size * (number + share) / count)
                yield piece.slice(start, size)
        self.bytes = self._size

    def _rows_at_a_time(self) -> int:
        return max(FEWEST_ROWS, min(ROWS, CELLS // max(1, len(self.schema.names))))


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or ["?"])[0].rstrip(".")
