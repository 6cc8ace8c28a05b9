"""A session: late labels, frozen features, a budget that stays spent."""

from collections.abc import Iterator
from typing import Any

import pytest

import headwater as hw
from headwater.labels import Oracle
from headwater.types import Id, Label

NETWORK = hw.streams.SensorNetwork(1_200, seed=4)
EVENTS = list(NETWORK)
LABELS = [bool(label) for _, label in EVENTS]
BINARY = [
    name
    for name in hw.names()
    if hw.named(name).labels == (False, True) and name not in ("SEL-2nd",)  # slow on 240 names
]


def run(session: hw.Session) -> hw.Session:
    for event, _ in EVENTS:
        session.receive(event)
        session.settle()
    return session


@pytest.mark.parametrize("name", BINARY)
def test_with_an_oracle_that_answers_at_once_it_is_simulate(name: str) -> None:
    session = run(hw.Session(hw.named(name, seed=2), Oracle(LABELS)))
    model = hw.named(name, seed=2)
    model.simulate(*NETWORK.batch())
    assert session.learner.to_bytes() == model.to_bytes()


def test_a_late_answer_learns_the_features_of_its_question() -> None:
    session = hw.Session(hw.OLSF(), Oracle([True, True], delay=1))
    event = {"rain": 2.0}
    session.receive(event)
    event["rain"] = 100.0
    assert session.settle() == 0
    session.receive({"wind": 1.0})
    assert session.settle() == 1
    assert session.learner.weights() == {"rain": 0.5}


class Silence:
    """A source of labels that never answers."""

    def __init__(self) -> None:
        self.questions: list[Id] = []

    def advance(self) -> None:
        pass

    def ask(self, id: Id, decision: hw.Decision) -> None:
        self.questions.append(id)

    def answers(self) -> Iterator[tuple[hw.Decision, Label]]:
        return iter(())


def test_labels_reach_the_learner_only_through_their_source() -> None:
    silence = Silence()
    session = run(hw.Session(hw.Linear(), silence))
    assert session.learner.learned == 0
    assert session.learner.weights() == {}
    assert len(silence.questions) == session.learner.asked > 0
    assert session.received == len(EVENTS)


@pytest.mark.parametrize("never", [0.0, 0.5, 1.0])
def test_a_budget_that_is_spent_stays_spent(never: float) -> None:
    oracle = Oracle(LABELS, never=never)
    learner = run(hw.Session(hw.Linear(query=hw.query.Budget(0.1)), oracle)).learner
    assert learner.asked == oracle.asked == pytest.approx(120, abs=12)
    assert learner.learned == pytest.approx((1 - never) * learner.asked, abs=25)


def test_an_answer_that_comes_twice_is_learned_once() -> None:
    twice = run(hw.Session(hw.FLLS(), Oracle(LABELS, twice=0.5)))
    once = run(hw.Session(hw.FLLS(), Oracle(LABELS)))
    assert twice.repeated > 0
    assert twice.learner.to_bytes() == once.learner.to_bytes()


def errors(**options: Any) -> int:
    session = hw.Session(hw.Linear(query=hw.query.Budget(0.3)), Oracle(LABELS, **options))
    wrong = 0
    for event, label in EVENTS:
        wrong += session.receive(event).prediction != label
        session.settle()
    return wrong


def test_delays_and_wrong_answers_cost_accuracy_but_do_not_stop_learning() -> None:
    at_once, late, false = errors(), errors(delay=(200, 400)), errors(wrong=0.4)
    majority = min(sum(LABELS), len(LABELS) - sum(LABELS))
    assert at_once < late < 1.2 * majority
    assert at_once < false


def test_a_refused_event_is_not_received() -> None:
    session = hw.Session(hw.OLSF(), Oracle([True]))
    with pytest.raises(hw.errors.EventError):
        session.receive({"rain": float("inf")})
    assert session.received == 0
    session.receive({"rain": 1.0})
    assert session.settle() == 1


@pytest.mark.parametrize("query", ["all", hw.query.Random(0.0)], ids=["asked", "not asked"])
def test_an_event_that_the_oracle_does_not_know_is_refused_before_anything_is_spent(
    query: Any,
) -> None:
    oracle = Oracle({"monday": True, "wednesday": False}, delay=1, price=2.0)
    session = hw.Session(hw.Linear(query=query), oracle)
    session.receive({"rain": 1.0}, id="monday")
    before, spent = session.learner.to_bytes(), oracle.spent
    with pytest.raises(hw.errors.LabelError, match="no label of event 'tuesday'"):
        session.receive({"rain": 2.0}, id="tuesday")
    assert session.learner.to_bytes() == before
    assert (session.received, oracle.spent, session.settle()) == (1, spent, 0)
    session.receive({"rain": 3.0}, id="wednesday")
    assert session.settle() == session.learner.learned == int(query == "all")


def test_a_session_needs_a_learner_and_a_source_of_labels() -> None:
    learner: Any = "FLLS"
    with pytest.raises(hw.errors.ParameterError, match="learner must be a learner, got 'FLLS'"):
        hw.Session(learner, Oracle([True]))
    labels: Any = [True, False]
    with pytest.raises(hw.errors.ParameterError, match="advance, ask and answers"):
        hw.Session(hw.FLLS(), labels)
