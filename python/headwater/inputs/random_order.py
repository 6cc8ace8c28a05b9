"""The rows of a file in random order, some at a time, without all of them in memory."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from headwater import _core
from headwater.inputs.files import EventFile
from headwater.inputs.records import EventBatch
from headwater.types import Id, Label, Name

PART = 2_000
"""Rows that are in memory at a time; each part is one pass over the file."""
BATCH = 1_000


class FileRow(NamedTuple):
    """A row of a file: its number from 0, its event, and its fields with the role text as texts."""

    row: int
    id: Id | None
    x: dict[Name, float]
    y: Label | None
    texts: dict[str, str]


def count_rows(events: EventFile) -> int:
    """How many events a file has; all of it is read."""
    reader = events.reader()
    rows = 0
    while (batch := reader.batch(BATCH)) is not None:
        rows += len(batch[0]) - 1
    return rows


class RandomOrder:
    """The rows of a file in a random order that follows from a seed.

    Every file format will do, as each part is found by a pass over the file. Memory holds one part,
    and one number per row.

    Examples
    --------
    >>> import headwater as hw, pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "days.csv")
    ...     _ = path.write_text("rain\\n" + "\\n".join(map(str, range(100))))
    ...     rows = list(RandomOrder(hw.open(path, label=None), 100, seed=1).rows(97))
    >>> [one.x["rain"] == one.row for one in rows]
    [True, True, True]
    """

    def __init__(self, events: EventFile, rows: int, seed: int) -> None:
        self.events = events
        self._order = np.random.default_rng(seed).permutation(rows)

    def rows(self, first: int = 0) -> Iterator[FileRow]:
        """The rows from a place of the order on."""
        for start in range(first, len(self._order), PART):
            wanted = self._order[start : start + PART]
            found = {one.row: one for one in self._pass(np.sort(wanted))}
            yield from (found[row] for row in wanted.tolist())

    def _pass(self, wanted: NDArray[np.int64]) -> Iterator[FileRow]:
        """The rows of these numbers, which are sorted."""
        events = self.events
        reader = events.reader()
        texts = set(events.columns.text)
        raw = _core.EventReader(events.source(raw=True)) if texts else None
        start = 0
        while start <= wanted[-1] and (read := reader.batch(BATCH)) is not None:
            batch = EventBatch(*read)
            end = start + len(batch.labels)
            fields = [] if raw is None else _raw(raw, end - start)
            low, high = np.searchsorted(wanted, (start, end))
            for row in wanted[low:high].tolist():
                at = row - start
                span = slice(batch.indptr[at], batch.indptr[at + 1])
                names = [batch.names[i] for i in batch.indices[span].tolist()]
                x = dict(zip(names, batch.data[span].tolist(), strict=True))
                said = {} if raw is None else _texts(fields[at], texts)
                yield FileRow(row, batch.ids[at], x, batch.labels[at], said)
            start = end


def _raw(reader: _core.EventReader, rows: int) -> list[list[tuple[str, Any, bool]]]:
    """The fields of the next rows; a reader may stop at the end of a part of the file."""
    found: list[list[tuple[str, Any, bool]]] = []
    while len(found) < rows and (more := reader.raw(rows - len(found))):
        found += more
    return found


def _texts(fields: list[tuple[str, Any, bool]], names: set[str]) -> dict[str, str]:
    return {name: str(value) for name, value, _ in fields if name in names and value is not None}
