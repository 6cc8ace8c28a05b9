"""A data set in memory, and how it is read from its file and checked."""

import functools
import gzip
import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headwater.datasets.json_events import JsonRows, read_events
from headwater.datasets.registry import FOLDER_VARIABLE, Entry, entry
from headwater.datasets.svmlight import SvmlightRows, read_svmlight
from headwater.errors import DatasetError
from headwater.streams.base import Stream, filled, rows_of
from headwater.types import Name, Rows

SLICE = 4096  # rows at a time
KEPT = 4  # data sets that a process remembers


class Dataset(Stream):
    """A data set in the order of its file; `load` returns it.

    Its events carry every column, zeros too, unless the set is sparse. Its arrays are read-only,
    because other code may have loaded the same set.

    Examples
    --------
    >>> import gzip, pathlib, tempfile, headwater as hw
    >>> doors = hw.datasets.Entry("doors", d=2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "doors.svm.gz"
    ...     _ = file.write_bytes(gzip.compress(b"-1\\n+1 2:3\\n"))
    ...     data = hw.datasets.load(doors, folder)
    >>> list(data)
    [({1: 0.0, 2: 0.0}, -1), ({1: 0.0, 2: 3.0}, 1)]
    """

    entry: Entry
    """Its entry in the registry."""
    y: NDArray[Any]
    """One label per row: −1 or +1; with several classes 1, 2, ..., or their names."""
    names: Sequence[Name]
    """The numbers of the columns, from 1; of a timed set, their names."""

    def __init__(self, entry: Entry, stored: SvmlightRows | JsonRows) -> None:
        for array in stored[:4]:
            array.setflags(write=False)
        self.entry = entry
        if isinstance(stored, JsonRows):
            self.names = stored.names
        else:
            self.names = list(range(1, (entry.d or 0) + 1))
        self.y = stored.labels
        self._stored = Rows(stored.indptr, stored.indices, stored.data, self.names)

    def __len__(self) -> int:
        return len(self.y)

    def __repr__(self) -> str:
        kind = kind_of(self.entry)
        return f"<Dataset {self.entry.name}: {len(self)} × {len(self.names)}, {kind}>"

    @property
    def X(self) -> NDArray[np.float64] | Rows:  # noqa: N802
        """The whole table: a dense array, or `Rows` if the set is sparse."""
        return self._stored if self.entry.sparse else self.dense()

    def dense(self) -> NDArray[np.float64]:
        """The whole table as a dense array, with 0 for values that are not stored."""
        return self._dense

    @functools.cached_property
    def _dense(self) -> NDArray[np.float64]:
        table = filled(self._stored, len(self.names))
        table.setflags(write=False)
        return table

    def slices(self) -> Iterator[tuple[Rows, NDArray[Any]]]:
        """Its rows in their order, some thousands at a time."""
        for start in range(0, len(self), SLICE):
            labels = self.y[start : start + SLICE]
            if not self.entry.sparse:
                yield rows_of(self._dense[start : start + SLICE], self.names), labels
                continue
            ends = self._stored.indptr[start : start + SLICE + 1]
            inside = slice(ends[0], ends[-1])
            stored = self._stored
            piece = Rows(ends - ends[0], stored.indices[inside], stored.data[inside], self.names)
            yield piece, labels


def load(name: str | Entry, folder: str | Path | None = None) -> Dataset:
    """Load a data set by its name.

    Its file is checked: rows, columns, classes, positives and the checksum, as far as they are
    known. The last few sets that were loaded are kept in memory and shared.

    Parameters
    ----------
    name
        A name that `entries` lists, or an entry of your own.
    folder
        The folder with its file, `<name>.svm.gz` or `streams/<name>.jsonl.gz`; None: the folder in
        the environment variable HEADWATER_DATA, else the user's cache, where `fetch` stores it.

    Examples
    --------
    >>> import headwater as hw
    >>> try:
    ...     data = hw.datasets.load("mushrooms", folder="nowhere")
    ... except hw.errors.DatasetError as error:
    ...     print(error)  # doctest: +ELLIPSIS
    mushrooms: there is no nowhere... `headwater datasets fetch mushrooms` gets it...
    """
    known = name if isinstance(name, Entry) else entry(name)
    path = known.path(folder)
    try:
        state = path.stat()
    except OSError:
        raise DatasetError(f"{known.name}: there is no {path}. {how_to_get(known)}") from None
    return _load(known, path.absolute(), state.st_mtime_ns, state.st_size)


def kind_of(entry: Entry) -> str:
    """What its events carry: every column, what is stored, or named features in order of time."""
    return "timed" if entry.timed else "sparse" if entry.sparse else "dense"


def how_to_get(entry: Entry) -> str:
    """How to get a data set that is missing."""
    place = f"{entry.file} into the folder that {FOLDER_VARIABLE} names"
    if entry.timed:
        return f"It comes from: {entry.source}. Put it as gzipped JSON lines {place}."
    if entry.is_fetchable:
        return f"`headwater datasets fetch {entry.name}` gets it, or put {place}."
    if entry.urls:
        return (
            f"Get it from {' and '.join(entry.urls)} and put it as gzipped svmlight text {place}."
        )
    return f"It comes from: {entry.source}. Put it as gzipped svmlight text {place}."


@functools.lru_cache(maxsize=KEPT)
def _load(entry: Entry, path: Path, changed: int, size: int) -> Dataset:
    """As `load`; a file that has changed since is another one."""
    stored: SvmlightRows | JsonRows
    if entry.timed:
        stored = read_events(path)
        if entry.d is not None and len(stored.names) != entry.d:
            raise DatasetError(f"{path}: must have {entry.d} features, got {len(stored.names)}.")
    elif entry.d is None:
        raise DatasetError(f"{entry.name}: its entry must say how many columns there are.")
    else:
        stored = read_svmlight(path, entry.d)
    check_counts(entry, str(path), stored)
    if entry.sha256 is not None:
        try:
            with gzip.open(path) as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as reason:
            raise DatasetError(f"{path}: must be gzipped text: {reason}.") from None
        check_text(entry, str(path), digest)
    return Dataset(entry, stored)


def check_counts(entry: Entry, where: str, stored: SvmlightRows | JsonRows) -> None:
    """Raise unless there are as many of everything as the entry says."""
    counts = {
        "rows": (entry.n, len(stored.labels)),
        "classes": (entry.classes, len(np.unique(stored.labels))),
        "labels +1": (entry.positives, int((stored.labels == 1).sum())),
        "values other than 0": (entry.nonzeros, int((stored.data != 0).sum())),
    }
    for what, (expected, got) in counts.items():
        if expected is not None and got != expected:
            raise DatasetError(f"{where}: must have {expected} {what}, got {got}.")


def check_text(entry: Entry, where: str, sha256: str) -> None:
    """Raise unless this is the checksum that the entry has."""
    if entry.sha256 is not None and sha256 != entry.sha256:
        raise DatasetError(f"{where}: its text must have SHA-256 {entry.sha256}, got {sha256}.")
