"""The search for the width at which a learner asks for a given share."""

from typing import Any

import numpy as np
import pytest

from headwater.errors import EventError, ParameterError
from headwater.evaluation.width_search import GRID, width_for_rate
from headwater.types import Trace


class Asker:
    """Asks with the probability width/(width + |q|) for margins it is given."""

    runs = 0

    def __init__(self, width: float) -> None:
        self.width = width

    def simulate(self, X: Any, y: Any) -> Trace:
        type(self).runs += 1
        margin = np.asarray(X, dtype=np.float64)
        probability = self.width / (self.width + np.abs(margin))
        asked = np.random.default_rng(0).random(len(margin)) < probability
        return Trace(margin > 0, margin, probability, asked)


class Zigzag:
    """Asks for more with the width, but for small steps back: as learners do by chance."""

    def __init__(self, width: float) -> None:
        self.width = width

    def simulate(self, X: Any, y: Any) -> Trace:
        place = GRID.index(self.width)
        asks = 10 * place + (15 if place % 2 else 0)
        asked = np.arange(len(y)) < asks
        return Trace(asked, asked.astype(float), asked.astype(float), asked)


def nearest_by_trying_all(make: Any, X: Any, y: Any, rate: float) -> float:
    return min(GRID, key=lambda width: abs(make(width).simulate(X, y).asked.mean() - rate))


@pytest.mark.parametrize("rate", [0.01, 0.1, 0.33, 0.9])
def test_the_width_is_the_one_that_trying_all_of_the_grid_finds(rate: float) -> None:
    margin = np.random.default_rng(1).normal(size=2_000)
    labels = margin > 0
    found = width_for_rate(Asker, margin, labels, rate)
    assert found == nearest_by_trying_all(Asker, margin, labels, rate)


@pytest.mark.parametrize("rate", [0.1, 0.25, 0.5])
def test_a_rate_that_steps_back_now_and_then_is_no_obstacle(rate: float) -> None:
    labels = np.zeros(1_000, dtype=bool)
    found = width_for_rate(Zigzag, labels, labels, rate)
    assert found == nearest_by_trying_all(Zigzag, labels, labels, rate)


def test_a_search_takes_a_dozen_runs_not_the_whole_grid() -> None:
    margin = np.random.default_rng(2).normal(size=500)
    before = Asker.runs
    width_for_rate(Asker, margin, margin > 0, 0.1)
    assert Asker.runs - before <= 12


def test_a_tie_goes_to_the_smaller_width() -> None:
    zeros = np.zeros(50)  # a margin of 0 is asked for at every width
    assert width_for_rate(Asker, zeros, zeros > 0, 0.1) == GRID[0]


def test_the_grid_is_that_of_the_papers() -> None:
    assert GRID[0] == 2.0**-20
    assert GRID[1] == 2.0**-19.5
    assert GRID[-1] == 2.0**20
    assert len(GRID) == 81


def test_an_impossible_rate_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"width_for_rate: rate must be in \[0, 1\], got 1\.5"):
        width_for_rate(Asker, [1.0], [True], 1.5)


def test_an_empty_stream_is_refused() -> None:
    with pytest.raises(EventError, match="at least one event"):
        width_for_rate(Asker, [], [], 0.1)
