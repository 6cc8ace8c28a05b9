"""The numbers that the five papers print, and the data sets that they belong to.

The tables are beside this file, one file per table; README.md gives their sources.
"""

import csv
from importlib import resources
from importlib.resources.abc import Traversable
from typing import NamedTuple

from headwater.errors import ParameterError

PUBLISHED = ("haphazard",)
"""Files of numbers that others have published."""


class PaperCell(NamedTuple):
    """A number of a table.

    Attributes
    ----------
    paper
        FLLS, OLSF, PAA, FESL or OLVF.
    table
        The number of the table.
    dataset
        The data set as the paper prints it.
    algorithm
        The algorithm; `headwater.named` knows most.
    setting
        What else the number depends on, as text; may be empty.
    metric
        What was measured.
    mean
        The number, a mean over repeats.
    std
        Its standard deviation; None: not printed.
    note
        What is odd about it; may be empty.
    """

    paper: str
    table: int
    dataset: str
    algorithm: str
    setting: str
    metric: str
    mean: float
    std: float | None
    note: str


class PaperDataset(NamedTuple):
    """A data set as a paper prints it, and ours.

    Attributes
    ----------
    paper
        FLLS, OLSF, PAA, FESL or OLVF.
    printed
        Its name there.
    n, d
        Rows and columns that the paper prints; None: it does not.
    d2
        Columns of the second feature space, in FESL; None: there is none.
    classes
        How many classes; None: not printed.
    name
        Its name in `headwater.datasets`; None: it is not available, for the reason in remark.
    remark
        How the two differ; may be empty.
    """

    paper: str
    printed: str
    n: int | None
    d: int | None
    d2: int | None
    classes: int | None
    name: str | None
    remark: str


def tables() -> tuple[tuple[str, int], ...]:
    """Paper and number of every table there is.

    Examples
    --------
    >>> [table for paper, table in tables() if paper == "PAA"]
    [2, 3, 6, 7, 8]
    """
    found = []
    for file in _folder().iterdir():
        paper, _, number = file.name.removesuffix(".csv").partition("-")
        if number:
            found.append((paper.upper(), int(number)))
    return tuple(sorted(found))


def read_table(paper: str, table: int) -> list[PaperCell]:
    """The numbers of one table, in the paper's order.

    Parameters
    ----------
    paper
        FLLS, OLSF, PAA, FESL or OLVF, in any case.
    table
        The number of the table.

    Examples
    --------
    >>> cell = read_table("FLLS", 3)[0]
    >>> cell.dataset, cell.algorithm, cell.metric, cell.mean, cell.std
    ('air', 'RPEA', 'AUC', 0.917, 0.041)
    """
    if (str(paper).upper(), table) not in tables():
        known = ", ".join(f"{name} {number}" for name, number in tables())
        raise ParameterError(f"papers: there is no table {table!r} of {paper!r}, only {known}.")
    return [
        PaperCell(
            paper=row["paper"],
            table=int(row["table"]),
            dataset=row["dataset"],
            algorithm=row["algorithm"],
            setting=row["setting"],
            metric=row["metric"],
            mean=float(row["mean"]),
            std=float(row["std"]) if row["std"] else None,
            note=row["note"],
        )
        for row in _rows(f"{paper.lower()}-{table}.csv")
    ]


def read_datasets() -> list[PaperDataset]:
    """Every data set of every paper.

    Examples
    --------
    >>> [data.name for data in read_datasets() if data.printed == "a8a"]
    ['a8a-32561', 'a8a-32561', 'a8a-32561']
    """
    found = []
    for row in _rows("datasets.csv"):
        n, d, d2, classes = (
            int(row[key]) if row[key] else None for key in ("n", "d", "d2", "classes")
        )
        name = row["name"] or None
        found.append(
            PaperDataset(row["paper"], row["printed"], n, d, d2, classes, name, row["remark"])
        )
    return found


class PublishedCell(NamedTuple):
    """A number that others have published for a method of theirs, for which there is no preset.

    Attributes
    ----------
    dataset
        The data set as it is printed.
    name
        Its name in `headwater.datasets`.
    rows
        How many rows it has there.
    setting
        What else the number depends on, as text.
    method
        The method.
    is_best
        Whether it is the best of all methods that were compared there, also of those not here.
    value
        The number, from 0 to 1.
    """

    dataset: str
    name: str
    rows: int
    setting: str
    method: str
    is_best: bool
    value: float


def read_published(name: str) -> list[PublishedCell]:
    """Published numbers by the name of their file, in its order; README.md gives their source.

    Examples
    --------
    >>> best = [one for one in read_published("haphazard") if one.is_best]
    >>> best[0].dataset, best[0].setting, best[0].method, best[0].value
    ('wpbc', '0.25', 'OLVF', 0.581)
    """
    if name not in PUBLISHED:
        raise ParameterError(f"published must be one of {', '.join(PUBLISHED)}, got {name!r}.")
    return [
        PublishedCell(
            dataset=row["dataset"],
            name=row["name"],
            rows=int(row["rows"]),
            setting=row["present"],
            method=row["method"],
            is_best=row["best"] == "yes",
            value=round(float(row["balanced_accuracy"]) / 100, 6),
        )
        for row in _rows(f"{name}.csv")
    ]


def _folder() -> Traversable:
    return resources.files("headwater.studies.papers")


def _rows(name: str) -> list[dict[str, str]]:
    text = (_folder() / name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))
