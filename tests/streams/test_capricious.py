"""The capricious stream: every column is there as often as its probability says."""

import math

import numpy as np
import pytest

from headwater.errors import ParameterError
from headwater.streams import Capricious, Varying

ROUNDS, COLUMNS = 4_000, 8
WHOLE = np.ones((ROUNDS, COLUMNS)), np.ones(ROUNDS)


def test_each_column_is_there_with_its_own_probability_independently_of_the_others() -> None:
    stream = Capricious(*WHOLE, low=0.1, high=0.9, seed=1)
    there = np.array([[name in event for name in stream.names] for event, _ in stream])
    for column, probability in enumerate(stream.presence.values()):
        error = math.sqrt(probability * (1 - probability) / ROUNDS)
        assert there[:, column].mean() == pytest.approx(probability, abs=4 * error)
        after = np.corrcoef(there[1:, column], there[:-1, column])[0, 1]
        assert abs(after) < 4 / math.sqrt(ROUNDS)
    together = np.corrcoef(there.T) - np.eye(COLUMNS)
    assert np.abs(together).max() < 4 / math.sqrt(ROUNDS)


def test_probabilities_are_drawn_evenly_between_the_limits() -> None:
    wide = Capricious(np.ones((1, 4_000)), [1], low=0.2, high=0.6)
    probabilities = np.array(list(wide.presence.values()))
    counts, _ = np.histogram(probabilities, bins=4, range=(0.2, 0.6))
    assert counts.sum() == 4_000
    assert np.allclose(counts, 1_000, atol=4 * math.sqrt(4_000 * 0.25 * 0.75))


def test_columns_that_are_all_alike_make_the_varying_stream() -> None:
    alike = Capricious(*WHOLE, low=0.75, high=0.75, seed=3)
    assert list(alike) == list(Varying(*WHOLE, removed=0.25, seed=3))


def test_the_probabilities_do_not_depend_on_the_length_of_the_stream() -> None:
    short = Capricious(np.ones((2, COLUMNS)), [0, 1], seed=4)
    assert short.presence == Capricious(*WHOLE, seed=4).presence


def test_nothing_or_everything_may_be_there() -> None:
    assert all(event == {} for event, _ in Capricious(*WHOLE, high=0))
    assert all(len(event) == COLUMNS for event, _ in Capricious(*WHOLE, low=1))


def test_limits_the_wrong_way_round_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"low must not be above high, 0\.2, got 0\.3\."):
        Capricious(*WHOLE, low=0.3, high=0.2)
