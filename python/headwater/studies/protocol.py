"""From a data set to the data of one run: prepared rows in the order of its seed, stream and test.

The papers z-score every column over the whole data set and scale every row to length 1 ("unit").
A repeat permutes all rows by its seed. With a held-out share the last rows are used for the test,
with every column (if columns are replaced, those present at the end); only the others are streamed.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from inspect import signature
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from headwater import datasets, streams
from headwater.catalogue import imported
from headwater.errors import ParameterError
from headwater.streams.base import filled
from headwater.streams.evolvable import min_max
from headwater.streams.table import DenseTable, SparseTable, Table, table_of
from headwater.studies.plan import DataPlan, Preprocessing, StreamPlan, Study
from headwater.types import Name, Rows


class Data(NamedTuple):
    """A data set as a study wants it."""

    table: Table
    names: tuple[Name, ...]
    labels: NDArray[Any]
    source: str
    """What its contents are known by: a checksum, or a sentence."""
    in_order: bool = False
    """Whether its rows keep their order: those of a stream, real or made for the repeat."""
    is_real: bool = False
    """Whether it is a real stream: then there is only one, whatever the seed."""
    first_scored: int = 0
    """Rows before this one do not count."""
    limit: int = 0
    """Only so many of its rows are streamed; 0: all."""
    unscored: float = 0.0
    """The first share of the stream, which does not count."""


class Split(NamedTuple):
    """What one run sees."""

    X: Rows
    y: NDArray[Any]
    test_X: Rows  # noqa: N815
    test_y: NDArray[Any]
    first_scored: int
    """Events before this one do not count: those before a change."""
    facts: dict[str, int]
    """What a learner may be told of the stream: `overlap` and `horizon` of an evolvable one."""
    is_real: bool = False
    """Whether it is a real stream, of which there is only one."""


def z_scores(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each column with mean 0 and deviation 1 (a constant one: 0).

    Examples
    --------
    >>> z_scores(np.array([[1.0, 5.0], [3.0, 5.0]])).tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """
    deviation = values.std(axis=0)
    z: NDArray[np.float64] = (values - values.mean(axis=0)) / np.where(deviation > 0, deviation, 1)
    return z


def unit_rows(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each row of length 1 (a row of zeros stays).

    Examples
    --------
    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6, 0.8], [0.0, 0.0]]
    """
    length = np.linalg.norm(values, axis=1, keepdims=True)
    unit: NDArray[np.float64] = values / np.where(length > 0, length, 1.0)
    return unit


def rescaled(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each column in a unit of its own and far from 0.

    It is shifted by N(0, 10) of its deviations and multiplied by 10^U(-4, 4).

    Examples
    --------
    >>> rescaled(np.array([[1.0, 5.0], [3.0, 5.0]])).shape
    (2, 2)
    """
    chance = np.random.default_rng(0)
    width = values.shape[1]
    moved: NDArray[np.float64] = values + 10 * chance.normal(size=width) * values.std(axis=0)
    return moved * 10 ** chance.uniform(-4, 4, size=width)


def with_gross_errors(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """One value in a thousand times 10^4.

    Examples
    --------
    >>> changed = with_gross_errors(np.ones((1000, 10)))
    >>> set(changed.ravel().tolist()) == {1.0, 10_000.0}
    True
    """
    wrong = np.random.default_rng(0).random(values.shape) < 0.001
    return np.where(wrong, 1e4 * values, values)


def _prepared(values: NDArray[np.float64], preprocess: Preprocessing) -> NDArray[np.float64]:
    match preprocess:
        case "raw":
            return values
        case "z-score":
            return z_scores(values)
        case "unit":
            return unit_rows(z_scores(values))
        case "rows":
            return unit_rows(values)
        case "min-max":
            return min_max(values)
        case "rescaled":
            return rescaled(values)
        case "gross-errors":
            return with_gross_errors(values)


class _Source(NamedTuple):
    """What a data set is made from, in a form that can be remembered."""

    source: str
    classes: tuple[int, ...]
    positive: str | int | None
    options: tuple[tuple[str, Any], ...]
    seed: int | None
    """For a function that takes one."""


@lru_cache(maxsize=3)
def _load(made: _Source, preprocess: Preprocessing, folder: Path | None) -> Data:
    source, classes = made.source, made.classes
    in_order, is_real, first = made.seed is not None, False, 0
    if is_function(source):
        X, y, first = _called(made)
        table, names = table_of(source, X), getattr(X, "names", None)
        labels, known = np.asarray(y), source
    else:
        data = datasets.load(source, folder)
        table, names = table_of(source, data.X), data.names
        labels, known = np.asarray(data.y), data.entry.sha256 or source
        in_order = is_real = data.entry.timed
    columns = tuple(range(table.width)) if names is None else tuple(names)
    if labels.dtype == np.bool_:
        labels = np.where(labels, 1, -1)
    kept = np.flatnonzero(np.isin(labels, classes)) if classes else np.arange(len(labels))
    labels = labels[kept]
    if len(classes) == 2:
        labels = np.where(labels == classes[1], 1, -1)
    if made.positive is not None:
        labels = np.where(labels == made.positive, 1, -1)
    if classes:
        table = table_of(source, table.cut(kept, np.arange(table.width), columns))
    if preprocess == "rows" and isinstance(table, SparseTable):
        table = _unit_sparse_rows(table)
    elif preprocess != "raw":
        table = DenseTable(_prepared(_filled(table, columns), preprocess))
    known = f"{known} {','.join(map(str, classes))}".strip()
    return Data(table, columns, labels, known, in_order, is_real, first)


def _unit_sparse_rows(table: SparseTable) -> SparseTable:
    """What is stored of each row brought to length 1; what is not stored stays absent."""
    row = np.repeat(np.arange(table.height), np.diff(table.indptr))
    length = np.sqrt(
        np.bincount(row, weights=np.nan_to_num(table.data) ** 2, minlength=table.height)
    )
    return replace(table, data=table.data / np.where(length > 0, length, 1.0)[row])


def _filled(table: Table, names: tuple[Name, ...]) -> NDArray[np.float64]:
    """The table as an array; absent values are 0."""
    if isinstance(table, DenseTable):
        return np.nan_to_num(table.values, nan=0.0)
    rows = table.cut(np.arange(table.height), np.arange(table.width), names)
    return filled(rows, table.width)


def is_function(source: str) -> bool:
    """Whether a source is `module:function`."""
    return ":" in source and not Path(source).exists()


def _called(made: _Source) -> tuple[Any, Any, int]:
    """What `module:function` gives, X and y or a stream, and the first row that counts."""
    function = imported(made.source)
    options = dict(made.options) | ({} if made.seed is None else {"seed": made.seed})
    try:
        found = function(**options)
        if isinstance(found, streams.Stream):
            return *found.batch(), found.first_scored
        X, y = found
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"{made.source}: must be a function that gives X and y: {error}."
        ) from error
    return X, y, 0


def load(plan: DataPlan, preprocess: Preprocessing, folder: Path | None, seed: int = 0) -> Data:
    """A study's data set; the last few are kept, for runs that follow each other in a process."""
    seeded = is_function(plan.source) and "seed" in signature(imported(plan.source)).parameters
    options = tuple(sorted(plan.options.items()))
    made = _Source(plan.source, plan.classes, plan.positive, options, seed if seeded else None)
    return _load(made, preprocess, folder)._replace(limit=plan.limit, unscored=plan.unscored)


def split(study: Study, data: Data, stream: StreamPlan, seed: int) -> Split:
    """The rows in the order of the seed, or their own: the stream, and what is for the test."""
    order = np.arange(len(data.labels))
    if not data.in_order:
        order = np.random.default_rng(seed).permutation(len(order))
    order = order[: data.limit or len(order)]
    end = len(order) - held_out(study, len(order))
    return cut(data, stream, order[:end], order[end:], seed)


def held_out(study: Study, rows: int) -> int:
    """How many rows are kept for the test."""
    return rows - math.floor((1 - study.held_out) * rows + 1e-9)


def cut(
    data: Data,
    stream: StreamPlan,
    streamed: NDArray[np.intp],
    tested: NDArray[np.intp],
    seed: int,
) -> Split:
    """These rows as a stream, those as a test with every column that is there at its end."""
    shown = stream_class(stream)(
        _rows(data, streamed),
        data.labels[streamed],
        shuffle=False,
        seed=seed,
        names=data.names,
        **stream.parameters,
    )
    X, y = shown.batch()
    first = max(shown.first_scored, data.first_scored, math.floor(data.unscored * len(y)))
    facts = {}
    if isinstance(shown, streams.Evolvable):
        _, overlap, horizon = shown.schedule
        facts = {"overlap": overlap, "horizon": horizon}
    columns = np.arange(data.table.width)
    names: Sequence[Name] = data.names
    if isinstance(shown, streams.Replacement):
        gone = {name for space in shown.spaces[:-1] for name in space}
        stays = [place for place, name in enumerate(names) if name not in gone]
        columns, names = np.array(stays, dtype=np.intp), [names[place] for place in stays]
    test_X = data.table.cut(tested, columns, names)
    return Split(X, y, test_X, data.labels[tested], first, facts, data.is_real)


def _rows(data: Data, rows: NDArray[np.intp]) -> Any:
    """Some rows as a stream takes them: an array if the table is one, which is much quicker."""
    if isinstance(data.table, DenseTable):
        return data.table.values[rows]
    return data.table.cut(rows, np.arange(data.table.width), data.names)


def stream_class(plan: StreamPlan) -> Any:
    """The class that a stream plan names."""
    found = getattr(streams, plan.kind, None)
    if plan.kind not in streams.__all__ or not isinstance(found, type):
        raise ParameterError(
            f"streams.{plan.name}: there is no stream {plan.kind!r};"
            f" there are {', '.join(streams.__all__)}."
        )
    return found
