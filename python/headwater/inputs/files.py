"""Open a file of events: find its format, and read its events one by one or in batches.

The core reads the events. Parquet and Arrow files are decoded by pyarrow first.
"""

import os
import select
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, TypeAlias

from headwater import _core
from headwater.errors import ParameterError
from headwater.inputs.columns import Columns
from headwater.inputs.findings import Finding
from headwater.inputs.records import EventBatch, Record, Source
from headwater.parameters import brief, did_you_mean
from headwater.types import Id, Label, Name, Rows

Format: TypeAlias = Literal["svmlight", "vw", "jsonl", "csv", "tsv", "parquet", "arrow"]
OnError: TypeAlias = Literal["raise", "skip"]

SUFFIXES: dict[str, Format] = {
    ".svmlight": "svmlight",
    ".svm": "svmlight",
    ".libsvm": "svmlight",
    ".vw": "vw",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
}
PACKED = (".gz", ".zst")
COLUMNAR = ("parquet", "arrow")
BATCH = 1_000
"""Events at a time, unless told otherwise."""


class EventFile:
    """A file of events, as `headwater.open` returns it. It can be iterated over repeatedly.

    Iterating gives `(x, y)`, `records()` the ids as well, `batches()` many events at once. Values
    are numbers: a text becomes the indicator `name=value`, and absent values are left out. y is
    None if the event has no label.

    Examples
    --------
    >>> import headwater as hw, pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "days.csv")
    ...     _ = path.write_text("day,rain,site,wet\\nmon,2.5,roof,1\\ntue,,roof,0\\n")
    ...     list(hw.open(path, label="wet", id="day"))
    [({'rain': 2.5, 'site=roof': 1.0}, 1), ({'site=roof': 1.0}, 0)]
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        format: Format,
        columns: Columns,
        on_error: OnError,
        *,
        optional: bool = False,
    ) -> None:
        self.path = os.fspath(path)
        self.format = format
        self.columns = columns
        self.on_error = on_error
        self.optional = optional
        self._last: _core.EventReader | None = None

    def __repr__(self) -> str:
        given = f"{self.path!r}, format={self.format!r}, columns={self.columns!r}"
        return f"open({given}, on_error={self.on_error!r})"

    def __iter__(self) -> Iterator[tuple[dict[Name, float], Label | None]]:
        """One event and its label at a time."""
        for _, x, y in self.records():
            yield x, y

    def records(self) -> Iterator[Record]:
        """One event at a time, with its id (None if the file has none).

        Examples
        --------
        >>> import headwater as hw, pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "days.vw")
        ...     _ = path.write_text("1 'monday|sky rain:2.5 grey\\n")
        ...     next(hw.open(path).records())
        Record(id='monday', x={'sky^rain': 2.5, 'sky^grey': 1.0}, y=1)
        """
        reader = self.reader()
        while (found := reader.next()) is not None:
            yield Record(*found)

    def timed_records(self) -> Iterator[tuple[Record, float | None, Id | None]]:
        """`records`, each with its time in seconds since 1970 and its group, if it has them."""
        reader = self.reader()
        while (found := reader.next()) is not None:
            yield Record(*found), reader.time, reader.group

    def batches(self, size: int = BATCH) -> Iterator[tuple[Rows, list[Label | None]]]:
        """Up to `size` events at a time and their labels, as `simulate` and `learn_many` take them.

        Each batch has columns of its own.

        Examples
        --------
        >>> import headwater as hw, pathlib, tempfile
        >>> model = hw.PAA(C=1.0)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "days.jsonl")
        ...     _ = path.write_text('{"rain": 2.0, "wet": true}\\n{"wind": 1.0, "wet": false}\\n')
        ...     for X, y in hw.open(path, label="wet").batches():
        ...         model.learn_many(X, y)
        >>> model.weights()
        {'rain': 0.5, 'wind': -1.0}
        """
        if not isinstance(size, int) or isinstance(size, bool) or size < 1:
            raise ParameterError(
                f"batches: size must be a whole number of at least 1, got {size!r}."
            )
        reader = self.reader()
        while (found := reader.batch(size)) is not None:
            batch = EventBatch(*found)
            yield Rows(batch.indptr, batch.indices, batch.data, batch.names), batch.labels

    @property
    def skipped(self) -> int:
        """Lines that the last pass could not use; 0 before the first."""
        return 0 if self._last is None else self._last.skipped

    @property
    def problems(self) -> list[str]:
        """Why the first ten of them could not be used."""
        return [] if self._last is None else self._last.problems

    @property
    def findings(self) -> list[Finding]:
        """What looks wrong in columns without a role, as far as the last pass has read."""
        found = [] if self._last is None else self._last.findings
        return [Finding(*parts) for parts in found]

    @property
    def is_columnar(self) -> bool:
        """Whether pyarrow decodes it."""
        return self.format in COLUMNAR

    def check(self) -> None:
        """Raise OSError unless the file can be opened; wait for standard input."""
        if self.path == "-":
            _await_input()
        elif not stat.S_ISFIFO(os.stat(self.path).st_mode):  # a pipe can be opened once
            Path(self.path).open("rb").close()  # raises what Python raises

    def source(self, *, raw: bool = False) -> Source:
        """The file as the core takes it, for one pass."""
        self.check()
        batches = None
        if self.is_columnar:
            from headwater.inputs.columnar import RecordBatches

            batches = RecordBatches(self.path, self.format)
        skips = self.on_error == "skip"
        return self.path, self.format, self.columns, self.optional, raw, skips, batches

    def reader(self) -> _core.EventReader:
        """One pass over the file; `skipped` and `problems` are those of the last one."""
        self._last = _core.EventReader(self.source())
        return self._last

    def sample(self, size: int) -> list[list[tuple[str, Any, bool]]]:
        """The fields of the first events as the file has them: name, value, and is it a time?"""
        return _core.EventReader(self.source(raw=True)).raw(size)


def open(
    path: str | os.PathLike[str],
    *,
    format: Format | None = None,
    label: str | None = "y",
    id: str | None = None,
    columns: Columns | None = None,
    on_error: OnError = "raise",
) -> EventFile:
    """Open a file of events; nothing is read before you iterate over it.

    Files compressed by gzip or zstd are decompressed; they are recognised by their content, not by
    their name. Memory does not grow with the length of the file.

    Parameters
    ----------
    path
        The file; `"-"` is standard input, which can be read once.
    format
        `"svmlight"`, `"vw"`, `"jsonl"` (one object per line), `"csv"`, `"tsv"`, `"parquet"` or
        `"arrow"`; by default the file's extension decides.
    label
        The field or column with the label; None: there are no labels. In svmlight and VW the format
        itself says where the label is.
    id
        The field or column with the event's id; in VW it is the tag.
    columns
        The roles of all columns, in place of `label` and `id`.
    on_error
        What happens at a line that cannot be used: `"raise"` raises an error, after the events
        before it; `"skip"` skips the line and counts it in `skipped`.

    Examples
    --------
    >>> import headwater as hw, pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "days.svm")
    ...     _ = path.write_text("+1 1:0.5 7:2\\n-1 7:1\\n")
    ...     for x, y in hw.open(path):
    ...         print(x, y)
    {1: 0.5, 7: 2.0} 1
    {7: 1.0} -1
    """
    if not isinstance(path, (str, os.PathLike)):
        raise ParameterError(f"open: path must be a path, got {path!r}.")
    known = sorted(set(SUFFIXES.values()))
    if format is None:
        format = _by_name(os.fspath(path))
    elif format not in known:
        raise ParameterError(
            f"open: format must be one of {', '.join(known)},"
            f" got {brief(format)}{did_you_mean(format, known)}"
        )
    if on_error not in ("raise", "skip"):
        raise ParameterError(f"open: on_error must be 'raise' or 'skip', got {on_error!r}.")
    for parameter, value in (("label", label), ("id", id)):
        if value is not None and not isinstance(value, str):
            raise ParameterError(f"open: {parameter} must be a str or None, got {value!r}.")
    if columns is None:
        if label is not None and label == id:
            raise ParameterError(f"open: label and id must differ, got {label!r} for both.")
        columns = Columns(label=label, id=id)
    elif not isinstance(columns, Columns):
        raise ParameterError(f"open: columns must be hw.Columns or None, got {columns!r}.")
    elif label not in ("y", columns.label) or id not in (None, columns.id):
        raise ParameterError("open: columns= names the label and the id; leave label= and id= out.")
    if format in ("svmlight", "vw") and any(
        role not in ("label", "id") for role, _ in columns.roles()
    ):
        raise ParameterError(f"open: {format} has no columns, so there are no roles to give.")
    return EventFile(path, format, columns, on_error)


def _by_name(path: str) -> Format:
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    if suffixes and suffixes[-1] in PACKED:
        suffixes.pop()
    if suffixes and suffixes[-1] in SUFFIXES:
        return SUFFIXES[suffixes[-1]]
    raise ParameterError(
        f"open: {path}: its name does not say its format (it would end in"
        f" {', '.join(SUFFIXES)}, and then perhaps {' or '.join(PACKED)}); give format=."
    )


def _await_input() -> None:
    """Wait until standard input can be read: Ctrl-C works while waiting, but not in a read."""
    if sys.platform != "win32":
        select.select([0], [], [])
