"""The dying stream: who dies, when, and who is left."""

import math

import numpy as np
import pytest

from headwater.streams import Dying

ROUNDS, COLUMNS = 200, 30
WHOLE = np.ones((ROUNDS, COLUMNS)), np.ones(ROUNDS)


def shown(stream: Dying) -> list[set[object]]:
    return [set(event) for event, _ in stream]


@pytest.mark.parametrize(("survivors", "left"), [(0, 0), (0.1, 3), (0.5, 15), (0.99, 30), (1, 30)])
def test_the_first_event_is_whole_and_the_last_carries_the_survivors_alone(
    survivors: float, left: int
) -> None:
    stream = Dying(*WHOLE, survivors=survivors)
    events = shown(stream)
    assert len(events[0]) == COLUMNS
    assert len(events[-1]) == left
    assert events[-1] == set(range(COLUMNS)) - set(stream.deaths)


def test_a_column_is_there_until_its_death_and_never_again() -> None:
    stream = Dying(*WHOLE, survivors=0.3, seed=1)
    for number, event in enumerate(shown(stream)):
        dead = {name for name, death in stream.deaths.items() if death <= number}
        assert event == set(range(COLUMNS)) - dead


def test_deaths_are_spread_evenly_over_the_stream() -> None:
    wide = Dying(np.ones((11, 5_000)), np.ones(11), survivors=0)
    counts = np.bincount(list(wide.deaths.values()), minlength=11)
    assert counts[0] == 0
    assert np.allclose(counts[1:], 500, atol=4 * math.sqrt(5_000 * 0.1 * 0.9))


def test_with_fewer_survivors_the_same_columns_die_at_the_same_times_and_others_too() -> None:
    few, many = (Dying(*WHOLE, survivors=share, seed=2).deaths for share in (0.2, 0.7))
    assert many.items() < few.items()


def test_a_stream_of_a_single_event_sees_no_death() -> None:
    stream = Dying([[1.0, 2.0]], [True], survivors=0)
    assert stream.deaths == {}
    assert shown(stream) == [{0, 1}]


def test_deaths_are_told_by_name() -> None:
    stream = Dying(np.ones((9, 2)), np.ones(9), survivors=0, names=["rain", "wind"])
    assert set(stream.deaths) == {"rain", "wind"}
