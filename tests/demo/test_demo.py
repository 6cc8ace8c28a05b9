"""The demo's run: what it promises holds on a short stream."""

from collections import defaultdict

import numpy as np
import pytest

from headwater.demo.five_learners import CHOSEN, DEAF, FEW_LABELS, NAMES, Demo, run
from headwater.learners.spring import Spring
from headwater.streams import SensorNetwork

EVENTS = 6_000


@pytest.fixture(scope="module")
def demo() -> Demo:
    return run(EVENTS, seed=2)


def test_the_learners_meet_every_event(demo: Demo) -> None:
    assert tuple(outcome.name for outcome in demo.outcomes) == NAMES
    for outcome in demo.outcomes:
        assert len(outcome.mistakes) == len(outcome.asked) == EVENTS


def test_one_buys_every_label_one_a_tenth_and_three_a_fiftieth(demo: Demo) -> None:
    every, published, *few = demo.outcomes
    assert every.labels == EVENTS
    assert 0.06 * EVENTS < published.labels < 0.14 * EVENTS
    for outcome in few:
        assert 0.015 * EVENTS < outcome.labels < 0.025 * EVENTS, outcome.name


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


def test_a_learner_that_is_deaf_to_new_sensors_is_worse_than_the_same_with_them(demo: Demo) -> None:
    deaf, chosen = demo.outcome(DEAF), demo.outcome(CHOSEN)
    assert deaf.balanced_accuracy < chosen.balanced_accuracy - 0.05
    assert deaf.errors > chosen.errors


def test_the_deaf_learner_hears_the_first_sensors_only() -> None:
    network = SensorNetwork(2_000, seed=2)
    early = {sensor.name for sensor in network.sensors if sensor.installed == 0}
    model = Spring(label_rate=FEW_LABELS, seed=2)
    wrong = []
    for event, incident in network:
        decision = model.decide_one({name: event[name] for name in event if name in early})
        wrong.append(decision.margin == 0 or (decision.margin > 0) != incident)
        if decision.asked:
            model.answer(decision, incident)
    outcome = run(2_000, seed=2).outcome(DEAF)
    assert outcome.mistakes.tolist() == wrong
    assert outcome.labels == model.asked


def test_the_explained_event_is_the_last_incident(demo: Demo) -> None:
    assert demo.explained.incident
    assert demo.explained.number == int(np.flatnonzero(demo.incidents)[-1])
    event, _ = list(SensorNetwork(EVENTS, seed=2))[demo.explained.number]
    assert set(event) - set(demo.explained.explanation.contributions) <= {
        sensor.name for sensor in demo.sensors
    }
    assert demo.explained.explanation.margin == pytest.approx(
        sum(demo.explained.explanation.contributions.values())
    )


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
