"""The evolvable stream shows two spaces, overlapping, as the paper describes."""

import numpy as np
import pytest
import scipy.sparse  # type: ignore[import-untyped]

import headwater as hw
from headwater.errors import ParameterError


def table(rows: int = 21, columns: int = 10) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(3.0, 2.0, size=(rows, columns))
    X[:, 4] = 5.0
    return X, rng.random(rows) < 0.5


def test_old_columns_then_both_then_new_ones() -> None:
    X, y = table()
    stream = hw.streams.Evolvable(X, y, overlap=4)
    assert stream.schedule == (10, 4, 11)
    assert len(stream) == 21
    spaces = [(sum(isinstance(n, int) for n in e), len(e)) for e, _ in stream]
    assert spaces == [(10, 10)] * 6 + [(10, 17)] * 4 + [(0, 7)] * 11
    assert sorted(label for _, label in stream) == sorted(y.tolist())


def test_new_columns_are_a_linear_image_of_the_old_ones() -> None:
    X, y = table(60)
    events = [event for event, _ in hw.streams.Evolvable(X, y, overlap=29)][1:30]
    old = np.array([[1.0, *(event[i] for i in range(10))] for event in events])
    new = np.array([[event[f"new {i}"] for i in range(7)] for event in events])
    found, *_ = np.linalg.lstsq(old, new, rcond=None)
    assert np.allclose(old @ found, new)


def test_columns_fill_the_unit_interval_and_a_constant_one_is_0() -> None:
    X, y = table()
    events = [event for event, _ in hw.streams.Evolvable(X, y, shuffle=False, overlap=9)]
    low, high = X.min(axis=0), X.max(axis=0)
    for row, event in zip(X[:10], events[:10], strict=True):
        expected = (row - low) / np.where(high > low, high - low, 1)
        assert np.allclose([event[i] for i in range(10)], expected)
    assert {event[4] for event in events[:10]} == {0.0}
    assert all(0 <= value <= 1 for event in events for value in event.values())


def test_the_width_of_the_new_space_is_rounded_down_as_it_stands() -> None:
    X, y = np.ones((30, 180)), np.ones(30)
    assert len(hw.streams.Evolvable(X, y).names) == 180 + 125  # 0.7·180 = 125.99999999999999
    assert len(hw.streams.Evolvable(X[:, :1], y).names) == 2


def test_every_walk_and_every_form_of_the_table_give_the_same_events() -> None:
    X, y = table()
    X[::3, 2] = 0.0
    stream = hw.streams.Evolvable(X, y, overlap=3, seed=5)
    assert list(stream) == list(stream)
    assert list(hw.streams.Evolvable(scipy.sparse.csr_array(X), y, overlap=3, seed=5)) == list(
        stream
    )
    rows, labels = stream.batch()
    assert rows.names == stream.names
    assert labels.tolist() == [label for _, label in stream]
    other = hw.streams.Evolvable(X, y, overlap=3, seed=6)
    assert list(other) != list(stream)


def test_impossible_streams_are_refused() -> None:
    X, y = table()
    with pytest.raises(ParameterError, match="overlap must be below half the number of rows, 10"):
        hw.streams.Evolvable(X, y, overlap=10)
    with pytest.raises(ParameterError, match="ratio must be"):
        hw.streams.Evolvable(X, y, ratio=0)
    with pytest.raises(ParameterError, match="rename"):
        hw.streams.Evolvable(X[:, :2], y, overlap=2, names=["new 0", "b"])


def test_fesl_finds_its_schedule() -> None:
    X, y = table(200)
    stream = hw.streams.Evolvable(X, y)
    found = hw.FESL(horizon=stream.schedule[2])
    told = hw.named("FESL-c", schedule=stream.schedule)
    rows, labels = stream.batch()
    assert found.simulate(rows, labels).margin.tolist() == (
        told.simulate(rows, labels).margin.tolist()
    )
