"""The registry of data sets: the table in `registry.csv`, one row per set."""

import csv
import difflib
import functools
import os
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from headwater.errors import ParameterError

FOLDER_VARIABLE = "HEADWATER_DATA"
"""The environment variable that names the folder of data sets."""


@dataclass(frozen=True)
class Entry:
    """The description of a data set: one of the registry, or one of your own.

    Parameters
    ----------
    name
        The name for `load`; its file is `<name>.svm.gz`, or `streams/<name>.jsonl.gz` if it is
        timed.
    n
        How many rows it has; None: not known.
    d
        How many columns it has, columns of zeros too; None: not known, and it cannot be loaded.
    classes
        How many classes it has; None: not known.
    positives
        How many labels are +1; None: not known, or there are more than two classes.
    nonzeros
        How many values are not zero; None: not known.
    sparse
        Whether values that are not stored are absent, as in text; else they are 0, an observation.
    timed
        Whether it is a stream in the order of time, whose events name their features; it is always
        sparse.
    sha256
        Checksum of the text, uncompressed; None: not known, and it is not fetched.
    urls
        Addresses of its rows as svmlight text, in consecutive parts; may be empty.
    source
        Where it comes from.
    licence
        The terms of use.
    note
        What its labels mean, and how it differs from other sets with this name.

    Examples
    --------
    >>> import headwater as hw
    >>> spambase = hw.datasets.entry("spambase")
    >>> spambase.n, spambase.d, spambase.sparse
    (4601, 57, False)
    """

    name: str
    n: int | None = None
    d: int | None = None
    classes: int | None = None
    positives: int | None = None
    nonzeros: int | None = None
    sparse: bool = False
    timed: bool = False
    sha256: str | None = None
    urls: tuple[str, ...] = ()
    source: str = ""
    licence: str = ""
    note: str = ""

    @property
    def is_fetchable(self) -> bool:
        """Whether `fetch` can get it: there is an address, and a checksum to know it by."""
        return bool(self.urls) and self.d is not None and self.sha256 is not None

    def path(self, folder: str | Path | None = None) -> Path:
        """Where its file is looked for: in `folder`, else in `$HEADWATER_DATA`, else in a cache."""
        return folder_of(folder) / self.file

    @property
    def file(self) -> str:
        """The place of its file in the folder of data sets."""
        return f"streams/{self.name}.jsonl.gz" if self.timed else f"{self.name}.svm.gz"


def folder_of(folder: str | Path | None = None) -> Path:
    """The folder of data sets: as given, by the environment, or the user's cache."""
    folder = folder or os.environ.get(FOLDER_VARIABLE)
    if folder:
        return Path(folder)
    from platformdirs import user_cache_path  # only here, so that the package imports quickly

    return user_cache_path("headwater", appauthor=False)


def read_registry(text: str) -> dict[str, Entry]:
    """The entries of a registry by name; an empty cell is None."""
    found = {}
    for row in csv.DictReader(text.splitlines()):
        numbers = {
            column: int(row[column]) if row[column] else None
            for column in ("n", "d", "classes", "positives", "nonzeros")
        }
        found[row["name"]] = Entry(
            name=row["name"],
            **numbers,
            sparse=row["kind"] in ("sparse", "timed"),
            timed=row["kind"] == "timed",
            sha256=row["sha256"] or None,
            urls=tuple(row["url"].split()),
            source=row["source"],
            licence=row["licence"],
            note=row["note"],
        )
    return found


@functools.cache
def _registry() -> dict[str, Entry]:
    file = resources.files("headwater.datasets") / "registry.csv"
    return read_registry(file.read_text(encoding="utf-8"))


def entries() -> tuple[Entry, ...]:
    """Every data set of the registry, by name.

    Examples
    --------
    >>> import headwater as hw
    >>> [entry.name for entry in hw.datasets.entries() if entry.classes == 26]
    ['letter']
    """
    return tuple(_registry().values())


def entry(name: str) -> Entry:
    """The entry of the data set with this name.

    Parameters
    ----------
    name
        A name that `entries` lists.

    Examples
    --------
    >>> import headwater as hw
    >>> hw.datasets.entry("mushrooms").note
    'poisonous=+1, edible=-1; one-hot without stalk-root'
    """
    known = _registry()
    if not isinstance(name, str) or name not in known:
        near = difflib.get_close_matches(str(name), known, n=3, cutoff=0.5)
        hint = f" The nearest: {', '.join(near)}." if near else ""
        raise ParameterError(f"datasets: there is no data set {name!r}.{hint}")
    return known[name]
