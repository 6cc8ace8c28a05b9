"""The trapezoidal stream: what each round shows, in which order, from which kinds of table."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from headwater.errors import EventError, LabelError, ParameterError
from headwater.streams import Trapezoid
from headwater.streams.trapezoid import columns_shown
from headwater.types import Rows


def numbered_table(height: int, width: int) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Row r, column c holds 100r + c: every value says where it comes from."""
    rows, columns = np.indices((height, width), dtype=np.float64)
    return 100 * rows + columns, np.resize(np.array([True, False]), height)


def assert_batch_is_the_loop(stream: Trapezoid) -> None:
    rows, labels = stream.batch()
    looped = list(stream)
    assert len(stream) == len(rows) == len(labels) == len(looped)
    for place, (event, label) in enumerate(looped):
        stored = slice(rows.indptr[place], rows.indptr[place + 1])
        names = [rows.names[column] for column in rows.indices[stored]]
        assert list(event) == names  # in the same order, since sums run in it
        assert list(event.values()) == rows.data[stored].tolist()
        assert label == labels[place]


@given(T=st.integers(1, 60), d=st.integers(1, 40), m=st.integers(1, 12))
def test_round_t_shows_the_first_columns_of_its_chunk(T: int, d: int, m: int) -> None:
    table, labels = numbered_table(T, d)
    for t, (event, _) in enumerate(Trapezoid(table, labels, chunks=m, shuffle=False), start=1):
        chunk = 1 + m * (t - 1) // T
        assert list(event) == list(range(max(1, chunk * d // m)))


def test_ten_chunks_of_21_columns_show_what_the_specification_says() -> None:
    table, labels = numbered_table(30, 21)
    stream = Trapezoid(table, labels)
    assert stream.shown == (2, 4, 6, 8, 10, 12, 14, 16, 18, 21)
    assert [len(event) for event, _ in stream] == [n for n in stream.shown for _ in range(3)]


def test_more_chunks_than_columns_still_show_one_column() -> None:
    assert [columns_shown(c, columns=2, chunks=4) for c in (1, 2, 3, 4)] == [1, 1, 1, 2]


def test_a_start_share_is_where_the_first_chunk_begins_and_never_exceeds_the_table() -> None:
    shown = [columns_shown(c, columns=20, chunks=10, start=0.5) for c in range(1, 11)]
    assert shown == [10, 12, 14, 16, 18, 20, 20, 20, 20, 20]


def test_a_fraction_of_the_columns_is_floored_as_if_it_were_exact() -> None:
    assert math.floor(0.29 * 100) == 28  # what plain floating point would say
    assert columns_shown(1, columns=100, chunks=10, start=0.29) == 29


def test_zeros_are_observations_and_nan_is_absent_in_a_dense_table() -> None:
    table = [[0.0, math.nan, 2.0], [math.nan, 0.0, 0.0]]
    events = [event for event, _ in Trapezoid(table, [True, False], chunks=1, shuffle=False)]
    assert events == [{0: 0.0, 2: 2.0}, {1: 0.0, 2: 0.0}]


def test_a_row_without_any_value_is_an_empty_event() -> None:
    stream = Trapezoid([[math.nan, math.nan], [1.0, 2.0]], [0, 1], chunks=1, shuffle=False)
    assert [event for event, _ in stream] == [{}, {0: 1.0, 1: 2.0}]
    assert_batch_is_the_loop(stream)


@pytest.mark.parametrize("permute_columns", [False, True])
@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("start", [None, 0.35])
def test_the_batch_is_exactly_the_loop(
    permute_columns: bool, shuffle: bool, start: float | None
) -> None:
    table, labels = numbered_table(47, 13)
    table[np.random.default_rng(0).random(table.shape) < 0.2] = np.nan
    assert_batch_is_the_loop(
        Trapezoid(
            table, labels, start=start, permute_columns=permute_columns, shuffle=shuffle, seed=5
        )
    )


def test_shuffling_permutes_rows_with_their_labels() -> None:
    table, labels = numbered_table(40, 3)
    shown = [(int(event[0]) // 100, label) for event, label in Trapezoid(table, labels, seed=1)]
    assert [row for row, _ in shown] != list(range(40))
    assert sorted(row for row, _ in shown) == list(range(40))
    assert all(label == labels[row] for row, label in shown)


def test_permuted_columns_keep_their_names_and_values() -> None:
    table, labels = numbered_table(20, 12)
    names = [f"column-{c}" for c in range(12)]
    stream = Trapezoid(table, labels, permute_columns=True, shuffle=False, names=names, seed=2)
    assert list(stream.names) != names
    assert sorted(stream.names, key=str) == sorted(names)
    for row, (event, _) in enumerate(stream):
        assert list(event) == list(stream.names[: len(event)])
        assert all(event[name] == 100 * row + names.index(str(name)) for name in event)


def test_neither_permutation_changes_the_other() -> None:
    table, labels = numbered_table(20, 12)
    both = Trapezoid(table, labels, permute_columns=True, seed=3)
    rows_only = Trapezoid(table, labels, seed=3)
    columns_only = Trapezoid(table, labels, permute_columns=True, shuffle=False, seed=3)
    assert both.names == columns_only.names
    assert [label for _, label in both] == [label for _, label in rows_only]


def test_the_same_seed_gives_the_same_stream_and_another_seed_another() -> None:
    table, labels = numbered_table(30, 5)
    assert list(Trapezoid(table, labels, seed=4)) == list(Trapezoid(table, labels, seed=4))
    assert list(Trapezoid(table, labels, seed=4)) != list(Trapezoid(table, labels, seed=5))


def test_a_stream_can_be_walked_twice() -> None:
    stream = Trapezoid(*numbered_table(12, 4))
    assert list(stream) == list(stream)


def test_a_csr_table_gives_the_same_stream_as_the_dense_one() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    table, labels = numbered_table(33, 9)
    table[np.random.default_rng(1).random(table.shape) < 0.5] = np.nan
    present = ~np.isnan(table)
    coordinates = sparse.coo_array((table[present], np.nonzero(present)), shape=table.shape)
    options: dict[str, Any] = {"permute_columns": True, "seed": 6}
    dense = Trapezoid(table, labels, **options)
    assert list(Trapezoid(coordinates.tocsr(), labels, **options)) == list(dense)


def test_what_a_csr_table_does_not_store_is_absent_and_a_stored_zero_is_there() -> None:
    rows = Rows(
        np.array([0, 2, 3]), np.array([2, 0, 1]), np.array([7.0, 0.0, 5.0]), ["a", "b", "c"]
    )
    stream = Trapezoid(rows, [True, False], chunks=1, shuffle=False)
    assert [event for event, _ in stream] == [{"a": 0.0, "c": 7.0}, {"b": 5.0}]
    assert_batch_is_the_loop(stream)


def test_the_names_of_rows_are_kept_unless_others_are_given() -> None:
    rows = Rows(np.array([0, 1]), np.array([0]), np.array([1.0]), ["theirs"])
    assert Trapezoid(rows, [1], chunks=1).names == ("theirs",)
    assert Trapezoid(rows, [1], chunks=1, names=["ours"]).names == ("ours",)


def test_labels_come_back_as_they_were_given() -> None:
    table, _ = numbered_table(3, 1)
    stream = Trapezoid(table, ["no", "yes", "no"], chunks=1, shuffle=False)
    assert [label for _, label in stream] == ["no", "yes", "no"]
    assert [type(label) for _, label in Trapezoid(table, [0, 1, 0])] == [int, int, int]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"chunks": 0}, "Trapezoid: chunks must be a whole number above 0, got 0."),
        ({"chunks": 2.5}, "Trapezoid: chunks must be a whole number above 0, got 2.5."),
        ({"start": 0.0}, "Trapezoid: start must be in (0, 1], or None, got 0.0."),
        ({"start": True}, "Trapezoid: start must be in (0, 1], or None, got True."),
        ({"seed": -1}, "Trapezoid: seed must be a whole number from 0 to 2**64 - 1, got -1."),
        ({"shuffle": "no"}, "Trapezoid: shuffle must be True or False, got 'no'."),
        ({"names": ["a"]}, "Trapezoid: names must be one per column, 2, got 1."),
        ({"names": ["a", "a"]}, "Trapezoid: names must differ from each other, got 'a' twice."),
    ],
)
def test_an_impossible_parameter_is_refused_by_name(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ParameterError) as refusal:
        Trapezoid([[1.0, 2.0]], [True], **options)
    assert str(refusal.value) == sentence


@pytest.mark.parametrize(
    ("X", "sentence"),
    [
        ([1.0, 2.0], "Trapezoid: X must have rows and columns, got 1 dimension(s)."),
        (
            [["sun"]],
            "Trapezoid: X must hold numbers only: could not convert string to float: 'sun'.",
        ),
    ],
)
def test_what_is_no_table_is_refused(X: Any, sentence: str) -> None:
    with pytest.raises(EventError) as refusal:
        Trapezoid(X, [True])
    assert str(refusal.value) == sentence


def test_a_sparse_table_that_is_not_csr_is_refused_with_the_cure() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(EventError, match=r"got csc_array; X\.tocsr\(\) makes CSR of it\."):
        Trapezoid(sparse.csc_array([[1.0]]), [True])


def test_an_index_beyond_the_columns_is_refused() -> None:
    rows = Rows(np.array([0, 1]), np.array([3]), np.array([1.0]), ["a", "b"])
    with pytest.raises(EventError, match="indices below 2, got 3"):
        Trapezoid(rows, [True])


def test_labels_must_be_one_a_row() -> None:
    with pytest.raises(LabelError, match="y must be one label per row, 1, got 2"):
        Trapezoid([[1.0]], [True, False])


@given(
    T=st.integers(1, 60),
    d=st.integers(1, 40),
    fractions=st.lists(st.floats(0.01, 1), min_size=1, max_size=12).map(sorted),
)
def test_olsfs_schedule_is_that_of_its_formula(T: int, d: int, fractions: list[float]) -> None:
    table, labels = numbered_table(T, d)
    stream = Trapezoid(table, labels, fractions=fractions, shuffle=False)
    m = len(fractions)
    step = max(1, T // m)
    for t, (event, _) in enumerate(stream, start=1):
        j = min(m, max((t - 1) // step, 1))
        assert list(event) == list(range(max(1, math.floor(fractions[j - 1] * d + 1e-9))))
    assert_batch_is_the_loop(stream)


def test_olsfs_first_share_lasts_twice_and_its_last_is_what_remains() -> None:
    table, labels = numbered_table(43, 20)
    stream = Trapezoid(table, labels, fractions=(0.1, 0.4, 0.7, 1))
    assert stream.shown == (2, 8, 14, 20)
    assert [len(event) for event, _ in stream] == [2] * 20 + [8] * 10 + [14] * 10 + [20] * 3
    even, labels = numbered_table(40, 20)
    assert {len(event) for event, _ in Trapezoid(even, labels, fractions=(0.5, 1))} == {10}


@given(T=st.integers(1, 60), d=st.integers(1, 40), m=st.integers(1, 12))
def test_olvfs_schedule_is_that_of_its_formula(T: int, d: int, m: int) -> None:
    table, labels = numbered_table(T, d)
    stream = Trapezoid(table, labels, chunks=m, widening="olvf", shuffle=False)
    for t, (event, _) in enumerate(stream, start=1):
        chunk = 1 + m * (t - 1) // T
        assert list(event) == list(range(min(d, 1 + chunk * ((d + 1) // m))))


def test_olvfs_schedule_of_nine_columns_shows_one_more_than_ours() -> None:
    table, labels = numbered_table(10, 9)
    assert Trapezoid(table, labels, widening="olvf").shown == (2, 3, 4, 5, 6, 7, 8, 9, 9, 9)


@pytest.mark.parametrize("also", [{"chunks": 4}, {"start": 0.1}, {"widening": "olvf"}])
def test_fractions_leave_no_room_for_another_schedule(also: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match="Trapezoid: fractions make chunks of their own"):
        Trapezoid([[1.0]], [True], fractions=(0.5, 1), **also)


def test_olvfs_schedule_has_no_start_share() -> None:
    with pytest.raises(ParameterError, match=r"Trapezoid: widening=.* leave start out"):
        Trapezoid([[1.0]], [True], start=0.5, widening="olvf")
