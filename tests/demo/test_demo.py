"""The demo's run: what it promises holds on a short stream."""

from collections import defaultdict

import numpy as np
import pytest

from headwater.demo.five_learners import NAMES, Demo, run
from headwater.streams import SensorNetwork

EVENTS = 6_000


@pytest.fixture(scope="module")
def demo() -> Demo:
    return run(EVENTS, seed=2)


def test_the_learners_meet_every_event(demo: Demo) -> None:
    assert tuple(outcome.name for outcome in demo.outcomes) == NAMES
    for outcome in demo.outcomes:
        assert len(outcome.mistakes) == len(outcome.asked) == EVENTS


def test_one_buys_every_label_one_a_fiftieth_and_the_others_about_a_tenth(demo: Demo) -> None:
    every, *others, few = demo.outcomes
    assert every.labels == EVENTS
    assert 0.015 * EVENTS < few.labels < 0.025 * EVENTS
    for outcome in others:
        assert 0.06 * EVENTS < outcome.labels < 0.14 * EVENTS, outcome.name


def test_every_learner_has_learned_something(demo: Demo) -> None:
    for outcome in demo.outcomes:
        assert outcome.errors < 0.3 * EVENTS
        assert outcome.balanced_accuracy > 0.7
        assert outcome.roc_auc > 0.8


def test_mistakes_are_incidents_missed_and_false_alarms(demo: Demo) -> None:
    truth = np.array([incident for _, incident in SensorNetwork(EVENTS, seed=2)])
    assert np.array_equal(demo.incidents, truth)
    for outcome in demo.outcomes:
        assert outcome.missed + outcome.false_alarms == outcome.errors
        assert outcome.missed == sum(outcome.mistakes[demo.incidents])


def test_spring_misses_the_fewest_incidents_of_those_with_a_tenth_of_the_labels(demo: Demo) -> None:
    _, flls, linear, spring, few = demo.outcomes
    assert spring.missed < min(flls.missed, linear.missed)
    assert spring.balanced_accuracy > max(flls.balanced_accuracy, few.balanced_accuracy)


def test_the_top_sensors_are_running_ones_largest_first(demo: Demo) -> None:
    sensors = {sensor.name: sensor for sensor in SensorNetwork(EVENTS, seed=2).sensors}
    weights = [abs(top.weight) for top in demo.top_sensors]
    assert weights == sorted(weights, reverse=True)
    assert weights[0] > 0
    for top in demo.top_sensors:
        assert top.sensor == sensors[top.sensor.name]
        assert top.sensor.died is None
        assert top.labels > 0


def test_the_report_counts_up_to_the_outcome() -> None:
    told: dict[str, list[tuple[int, int, int]]] = defaultdict(list)

    def report(name: str, events: int, errors: int, labels: int) -> None:
        told[name].append((events, errors, labels))

    demo = run(2_500, seed=0, report=report)
    assert tuple(told) == NAMES
    for outcome in demo.outcomes:
        assert [events for events, _, _ in told[outcome.name]] == [1_000, 2_000, 2_500]
        assert told[outcome.name][-1] == (2_500, outcome.errors, outcome.labels)


def test_the_same_seed_gives_the_same_outcome(demo: Demo) -> None:
    again = run(EVENTS, seed=2)
    assert again.top_sensors == demo.top_sensors
    for one, other in zip(demo.outcomes, again.outcomes, strict=True):
        assert np.array_equal(one.mistakes, other.mistakes)
        assert np.array_equal(one.asked, other.asked)
        assert one.roc_auc == other.roc_auc
