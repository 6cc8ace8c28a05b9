"""What all simulators over a table have in common: walks, doors, tables, seeds."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse  # type: ignore[import-untyped]

import headwater as hw
from headwater import streams
from headwater.errors import EventError, LabelError, ParameterError
from headwater.streams.masked_table import SLICE

ROWS, COLUMNS = SLICE + 40, 12  # more than a slice

MADE: dict[str, Callable[..., streams.Stream]] = {
    "OLVF's trapezoid": lambda *t, **o: streams.Trapezoid(*t, widening="olvf", **o),
    "OLSF's trapezoid": lambda *t, **o: streams.Trapezoid(*t, fractions=(0.1, 0.4, 0.7, 1), **o),
    "Redundant": streams.Redundant,
    "Redundant, permuted": lambda *t, **o: streams.Redundant(*t, permute_columns=True, **o),
    "Varying": streams.Varying,
    "Capricious": streams.Capricious,
    "Dying": streams.Dying,
    "Vanishing": lambda *t, **o: streams.Vanishing(*t, present=20, absent=10, **o),
    "Replacement": lambda *t, **o: streams.Replacement(*t, places=(0.3, 0.6), lasting=0.2, **o),
    "Replacement, permuted": lambda *t, **o: streams.Replacement(*t, permute_columns=True, **o),
}
PLAIN: dict[str, Callable[..., streams.Stream]] = {
    "Redundant": lambda *t, **o: streams.Redundant(*t, copied=0, chunks=1, **o),
    "Varying": lambda *t, **o: streams.Varying(*t, removed=0, **o),
    "Capricious": lambda *t, **o: streams.Capricious(*t, low=1, **o),
    "Dying": lambda *t, **o: streams.Dying(*t, survivors=1, **o),
    "Vanishing": lambda *t, **o: streams.Vanishing(*t, absent=0, **o),
    "Replacement nowhere": lambda *t, **o: streams.Replacement(*t, places=(), **o),
    "Replacement of nothing": lambda *t, **o: streams.Replacement(*t, lasting=1, **o),
}
every = pytest.mark.parametrize("make", MADE.values(), ids=MADE)
every_plain = pytest.mark.parametrize("make", PLAIN.values(), ids=PLAIN)


def table(absent: float = 0.2) -> tuple[Any, Any]:
    """Row r, column c holds 100r + c, or nothing, or 0."""
    rows, columns = np.indices((ROWS, COLUMNS), dtype=np.float64)
    values, coins = 100 * rows + columns, np.random.default_rng(0).random((ROWS, COLUMNS))
    values[coins < 0.1] = 0.0
    values[coins > 1 - absent] = np.nan
    return values, np.resize(np.array([True, False, False]), ROWS)


def csr_of(values: Any) -> Any:
    """What is there, zeros too, each row's columns in a descending order."""
    present = ~np.isnan(values)
    columns = [np.flatnonzero(row)[::-1] for row in present]
    ends = np.cumsum([0, *map(len, columns)])
    data = np.concatenate([row[own] for row, own in zip(values, columns, strict=True)])
    return scipy.sparse.csr_array((data, np.concatenate(columns), ends), shape=values.shape)


@every
def test_the_batch_is_exactly_the_loop(make: Callable[..., streams.Stream]) -> None:
    stream = make(*table(), seed=3)
    rows, labels = stream.batch()
    looped = list(stream)
    assert len(stream) == len(rows) == len(labels) == len(looped) == ROWS
    assert rows.names == stream.names
    for place, (event, label) in enumerate(looped):
        stored = slice(rows.indptr[place], rows.indptr[place + 1])
        assert list(event) == [rows.names[column] for column in rows.indices[stored]]
        assert list(event.values()) == rows.data[stored].tolist()
        assert label is bool(labels[place])


@every
def test_a_learner_learns_the_same_by_the_loop_and_by_the_batch(
    make: Callable[..., streams.Stream],
) -> None:
    generator = np.random.default_rng(1)
    values = generator.normal(size=(300, 8))
    stream = make(values, values[:, 0] + values[:, 5] > 0, seed=2)
    by_loop, by_batch = hw.FLLS(seed=3), hw.FLLS(seed=3)
    for event, label in stream:
        decision = by_loop.decide_one(event)
        if decision.asked:
            by_loop.answer(decision, label)
    by_batch.simulate(*stream.batch())
    assert by_loop.weights() == by_batch.weights()
    assert by_loop.asked == by_batch.asked > 0


@every
def test_every_walk_is_the_same_and_so_is_every_stream_of_the_same_seed(
    make: Callable[..., streams.Stream],
) -> None:
    stream = make(*table(), seed=4)
    assert list(stream) == list(stream) == list(make(*table(), seed=4))
    assert list(stream) != list(make(*table(), seed=5))


@every
def test_a_csr_table_gives_the_same_stream_as_the_dense_one(
    make: Callable[..., streams.Stream],
) -> None:
    values, labels = table()
    assert list(make(csr_of(values), labels, seed=6)) == list(make(values, labels, seed=6))


@every
def test_values_keep_their_row_their_column_and_their_label(
    make: Callable[..., streams.Stream],
) -> None:
    values, labels = table()
    names = [f"c{column}" for column in range(COLUMNS)]
    copies: dict[Any, Any] = getattr(make(values, labels, names=names), "copies", {})
    met: list[int] = []
    for event, label in make(values, labels, names=names):
        found = {name: value for name, value in event.items() if value != 0}
        rows = {int(value) // 100 for value in found.values()} - {0}
        assert all(f"c{int(v) % 100}" == copies.get(name, name) for name, v in found.items())
        assert len(rows) <= 1
        assert all(label == labels[row] for row in rows)
        met += rows
    assert len(set(met)) == len(met)
    assert met != sorted(met)


@every
def test_not_to_shuffle_keeps_the_rows_in_their_order(make: Callable[..., streams.Stream]) -> None:
    rows = np.indices((50, 12), dtype=np.float64)[0]
    stream = make(rows, np.arange(50), shuffle=False)
    assert [label for _, label in stream] == list(range(50))
    assert all(set(event.values()) <= {float(label)} for event, label in stream)


@every
def test_shuffling_does_not_change_which_columns_a_round_shows(
    make: Callable[..., streams.Stream],
) -> None:
    whole, labels = np.ones((50, 12)), np.ones(50)
    shuffled = [list(event) for event, _ in make(whole, labels, seed=7)]
    assert shuffled == [list(event) for event, _ in make(whole, labels, shuffle=False, seed=7)]
    assert any(len(event) < 12 for event in shuffled)


@every_plain
def test_with_nothing_to_hide_the_stream_is_the_table(
    make: Callable[..., streams.Stream],
) -> None:
    values, labels = table()
    expected = [
        {column: value for column, value in enumerate(row) if value == value}
        for row in values.tolist()
    ]
    assert [event for event, _ in make(values, labels, shuffle=False)] == expected


@pytest.mark.parametrize("name", [name for name in MADE if not name.startswith("Replacement")])
def test_an_empty_table_is_an_empty_stream(name: str) -> None:
    for shape in ((0, 3), (0, 0)):
        stream = MADE[name](np.empty(shape), [])
        assert list(stream) == []
        assert len(stream.batch()[0]) == 0


@every
def test_a_table_without_columns_is_a_stream_of_empty_events(
    make: Callable[..., streams.Stream],
) -> None:
    assert list(make(np.empty((40, 0)), np.ones(40))) == [({}, 1.0)] * 40


@every
def test_what_is_wrong_is_refused_under_the_stream_s_own_name(
    make: Callable[..., streams.Stream],
) -> None:
    owner = type(make(*table())).__name__
    with pytest.raises(EventError, match=f"^{owner}: X must have rows and columns"):
        make([1.0, 2.0], [True])
    with pytest.raises(LabelError, match=f"^{owner}: y must be one label per row, {ROWS}, got 1"):
        make(table()[0], [True])
    with pytest.raises(ParameterError, match=f"^{owner}: names must be one per column, {COLUMNS}"):
        make(*table(), names=["a"])
    with pytest.raises(ParameterError, match=f"^{owner}: shuffle must be True or False"):
        make(*table(), shuffle=1)
    with pytest.raises(ParameterError, match=f"^{owner}: seed must be"):
        make(*table(), seed=-1)
