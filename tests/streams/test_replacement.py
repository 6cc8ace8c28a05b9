"""The stream of sudden replacements: which columns are shown when, and what lasts."""

import numpy as np
import pytest

import headwater as hw
from headwater.errors import ParameterError
from headwater.streams import Evolvable, Replacement


def shown(stream: Replacement) -> list[set[object]]:
    return [set(event) for event, _ in stream]


def test_the_first_half_of_the_columns_then_both_then_the_second_half() -> None:
    stream = Replacement(np.ones((61, 7)), np.ones(61))
    old, new = {0, 1, 2}, {3, 4, 5, 6}
    assert stream.spaces == ((0, 1, 2), (3, 4, 5, 6))
    assert stream.spans == ((0, 30), (20, 61))
    assert shown(stream) == [old] * 20 + [old | new] * 10 + [new] * 31


def test_the_overlap_lies_where_evolvable_has_it() -> None:
    X, y = np.random.default_rng(0).normal(size=(41, 6)), np.ones(41)
    T1, B, T2 = Evolvable(X, y, overlap=7).schedule
    (_, old_end), (new_begin, new_end) = Replacement(X, y, overlap=7).spans
    assert (old_end, old_end - new_begin, new_end - old_end) == (T1, B, T2)


def test_several_places_cut_the_columns_evenly() -> None:
    stream = Replacement(np.ones((20, 6)), np.ones(20), places=(0.25, 0.5), overlap=2)
    assert stream.spans == ((0, 5), (3, 10), (8, 20))
    assert shown(stream) == (
        [{0, 1}] * 3 + [{0, 1, 2, 3}] * 2 + [{2, 3}] * 3 + [{2, 3, 4, 5}] * 2 + [{4, 5}] * 10
    )


def test_without_an_overlap_the_change_is_sudden() -> None:
    stream = Replacement(np.ones((9, 2)), np.ones(9), overlap=0)
    assert shown(stream) == [{0}] * 4 + [{1}] * 5


def test_a_share_of_the_columns_lasts() -> None:
    stream = Replacement(np.ones((8, 10)), np.ones(8), lasting=0.4, overlap=1)
    lasting = {0, 1, 2, 3}
    assert stream.spaces == ((4, 5, 6), (7, 8, 9))
    assert all(lasting < event for event in shown(stream))
    assert [len(event) for event in shown(stream)] == [7, 7, 7, 10, 7, 7, 7, 7]


def test_permuted_columns_are_dealt_out_at_random_and_each_once() -> None:
    stream = Replacement(np.ones((8, 10)), np.ones(8), overlap=1, permute_columns=True)
    assert [len(space) for space in stream.spaces] == [5, 5]
    assert sorted(sum(stream.spaces, ())) == list(range(10))
    assert stream.spaces[0] != (0, 1, 2, 3, 4)
    assert shown(stream)[0] == set(stream.spaces[0])
    assert shown(stream)[-1] == set(stream.spaces[1])


def test_fesl_finds_the_replacement_by_itself() -> None:
    generator = np.random.default_rng(1)
    X = generator.random((200, 8))
    stream = Replacement(X, X[:, 1] > 0.5)
    found, told = hw.FESL(horizon=100), hw.named("FESL-c", schedule=(100, 10, 100))
    rows, labels = stream.batch()
    assert found.simulate(rows, labels).margin.tolist() == (
        told.simulate(rows, labels).margin.tolist()
    )


@pytest.mark.parametrize("overlap", [-1, 1.5, True, None])
def test_an_overlap_is_a_whole_number_or_0(overlap: object) -> None:
    with pytest.raises(ParameterError, match="Replacement: overlap must be a whole number, 0 or"):
        Replacement(np.ones((8, 2)), np.ones(8), overlap=overlap)  # type: ignore[arg-type]


@pytest.mark.parametrize(("rows", "places", "overlap"), [(20, (0.5,), 10), (20, (0.5, 0.7), 4)])
def test_a_space_must_have_rounds_of_its_own(
    rows: int, places: tuple[float, ...], overlap: int
) -> None:
    table = np.ones((rows, 4)), np.ones(rows)
    with pytest.raises(ParameterError, match=f"is replaced, {overlap}, got {overlap}"):
        Replacement(*table, places=places, overlap=overlap)
    assert len(Replacement(*table, places=places, overlap=overlap - 1)) == rows
