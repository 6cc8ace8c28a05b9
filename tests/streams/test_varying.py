"""The varying stream: what is removed, independently of what, from which kinds of table."""

import math
from typing import Any

import numpy as np
import pytest
import scipy.sparse  # type: ignore[import-untyped]

from headwater.errors import LabelError, ParameterError
from headwater.streams import Varying
from headwater.streams.masked_table import SLICE


def numbered_table(height: int, width: int) -> tuple[Any, Any]:
    """Row r, column c holds 100r + c: every value says where it comes from."""
    rows, columns = np.indices((height, width), dtype=np.float64)
    return 100 * rows + columns, np.resize(np.array([True, False]), height)


def events_of(stream: Varying) -> list[dict[Any, float]]:
    return [event for event, _ in stream]


def test_each_value_is_removed_with_the_same_probability_independently_of_the_others() -> None:
    table, labels = numbered_table(4000, 6)
    for removed in (0.25, 0.5, 0.75):
        events = events_of(Varying(table, labels, removed=removed))
        present = np.array([[column in event for column in range(6)] for event in events])
        error = math.sqrt(removed * (1 - removed) / 4000)
        assert np.allclose(present.mean(axis=0), 1 - removed, atol=4 * error)
        together = np.corrcoef(present.T) - np.eye(6)
        assert np.abs(together).max() < 4 / math.sqrt(4000)
        after = np.corrcoef(present[1:, 0], present[:-1, 0])[0, 1]
        assert abs(after) < 4 / math.sqrt(4000)


def test_nothing_or_everything_may_be_removed() -> None:
    table, labels = numbered_table(30, 4)
    assert all(len(event) == 4 for event in events_of(Varying(table, labels, removed=0)))
    assert all(event == {} for event in events_of(Varying(table, labels, removed=1)))


def test_a_larger_share_removes_what_a_smaller_one_does() -> None:
    table, labels = numbered_table(50, 8)
    few, many = (events_of(Varying(table, labels, removed=r, seed=7)) for r in (0.3, 0.6))
    assert all(more.items() <= less.items() for less, more in zip(few, many, strict=True))
    assert sum(map(len, many)) < sum(map(len, few))


def test_values_keep_their_row_column_and_label() -> None:
    table, labels = numbered_table(40, 5)
    seen = []
    for event, label in Varying(table, labels, removed=0.2):
        rows = {int(value) // 100 for value in event.values()}
        assert all(int(value) % 100 == column for column, value in event.items())
        assert len(rows) <= 1
        for row in rows:
            assert label == labels[row]
            seen.append(row)
    assert len(set(seen)) == len(seen)
    assert seen != sorted(seen)
    assert [
        int(e[0]) // 100 for e in events_of(Varying(table, labels, removed=0, shuffle=False))
    ] == list(range(40))


def test_the_batch_is_exactly_the_loop_and_every_walk_the_same() -> None:
    table, labels = numbered_table(SLICE + 50, 3)
    stream = Varying(table, labels, removed=0.5, names=["a", "b", "c"], seed=2)
    rows, batch_labels = stream.batch()
    looped = list(stream)
    assert looped == list(stream)
    assert looped == list(Varying(table, labels, removed=0.5, names=["a", "b", "c"], seed=2))
    assert looped != list(Varying(table, labels, removed=0.5, names=["a", "b", "c"], seed=3))
    assert len(stream) == len(rows) == len(looped) == SLICE + 50
    for place, (event, label) in enumerate(looped):
        stored = slice(rows.indptr[place], rows.indptr[place + 1])
        assert list(event) == [rows.names[column] for column in rows.indices[stored]]
        assert list(event.values()) == rows.data[stored].tolist()
        assert label == batch_labels[place]


def test_zeros_stay_and_what_is_absent_stays_absent() -> None:
    table = [[0.0, math.nan, 2.0], [math.nan, 0.0, 0.0]]
    stream = Varying(table, [True, False], removed=0, shuffle=False)
    assert events_of(stream) == [{0: 0.0, 2: 2.0}, {1: 0.0, 2: 0.0}]
    sparse = scipy.sparse.csr_array(([0.0, 2.0, 1.0], [0, 2, 1], [0, 2, 3]), shape=(2, 3))
    stream = Varying(sparse, [True, False], removed=0, shuffle=False)
    assert events_of(stream) == [{0: 0.0, 2: 2.0}, {1: 1.0}]


def test_a_table_without_rows_is_an_empty_stream() -> None:
    stream = Varying(np.empty((0, 3)), [])
    assert list(stream) == []
    assert len(stream.batch()[0]) == 0


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(
        ParameterError, match=r"Varying: removed must be in \[0, 1\], got 2; 2 % is 0\.02\."
    ):
        Varying([[1.0]], [True], removed=2)
    with pytest.raises(LabelError, match="Varying: y must be one label per row"):
        Varying([[1.0]], [True, False])
    with pytest.raises(ParameterError, match="twice"):
        Varying([[1.0, 2.0]], [True], names=["a", "a"])
