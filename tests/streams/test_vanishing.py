"""The vanishing stream: how long columns are there and away, and that the spans tell so."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from headwater.streams import Vanishing

ROUNDS, COLUMNS = 3_000, 40


def presence(stream: Vanishing) -> NDArray[np.bool_]:
    """Whether round r carries column c, from the batch alone."""
    rows, _ = stream.batch()
    there = np.zeros((len(stream), len(stream.names)), dtype=bool)
    there[np.repeat(np.arange(len(stream)), np.diff(rows.indptr)), rows.indices] = True
    return there


def streamed(present: float, absent: float, seed: int = 0) -> Vanishing:
    whole = np.ones((ROUNDS, COLUMNS)), np.ones(ROUNDS)
    return Vanishing(*whole, present=present, absent=absent, seed=seed)


@pytest.mark.parametrize(("present", "absent"), [(20, 10), (3, 6), (1, 1), (1, 4), (1000, 1)])
def test_the_spans_say_what_is_shown(present: float, absent: float) -> None:
    stream = streamed(present, absent)
    told = np.zeros((ROUNDS, COLUMNS), dtype=bool)
    for column, spans in enumerate(stream.spans.values()):
        edges = [edge for span in spans for edge in span]
        assert edges == sorted(set(edges))  # no span is empty and none touches the next
        for begin, end in spans:
            told[begin:end, column] = True
    assert np.array_equal(presence(stream), told)
    assert list(stream.spans) == list(stream.names)


@pytest.mark.parametrize(("present", "absent"), [(20, 10), (3, 6)])
def test_a_column_leaves_and_returns_with_the_probabilities_of_the_mean_lengths(
    present: float, absent: float
) -> None:
    there = presence(streamed(present, absent))
    for now, mean in ((True, present), (False, absent)):
        turns = there[1:][there[:-1] == now] != now
        error = math.sqrt((1 / mean) * (1 - 1 / mean) / len(turns))
        assert turns.mean() == pytest.approx(1 / mean, abs=4 * error)


def test_in_every_round_the_same_share_of_the_columns_is_there_on_average() -> None:
    first, middle, last = (
        np.array([presence(streamed(20, 10, seed))[place] for seed in range(30)]).mean()
        for place in (0, ROUNDS // 2, ROUNDS - 1)
    )
    error = math.sqrt(2 / 9 / (30 * COLUMNS))
    assert [first, middle, last] == pytest.approx([2 / 3] * 3, abs=4 * error)


def test_columns_that_are_there_for_one_round_and_away_for_one_alternate() -> None:
    there = presence(streamed(1, 1))
    assert np.array_equal(there[1:], ~there[:-1])
    assert 0 < there[0].sum() < COLUMNS


def test_columns_vanish_independently_of_each_other() -> None:
    there = presence(streamed(2, 2))  # a coin a round: nothing is remembered
    together = np.corrcoef(there.T) - np.eye(COLUMNS)
    assert np.abs(together).max() < 5 / math.sqrt(ROUNDS)


def test_columns_that_stay_for_longer_than_any_stream_are_possible() -> None:
    assert presence(streamed(1e300, 1)).all()
    away = presence(streamed(1, 1e300))
    assert not away.any()
