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


# Answers that do not fit, and sources that are broken


class Queue:
    """A source whose answers are put into it; `answers` gives them and empties it."""

    def __init__(self) -> None:
        self.asked: dict[Id, hw.Decision] = {}
        self.given: list[Any] = []

    def advance(self) -> None:
        pass

    def ask(self, id: Id, decision: hw.Decision) -> None:
        self.asked[id] = decision

    def give(self, id: Id, label: Label) -> None:
        self.given.append((id, self.asked[id], label))

    def answers(self) -> list[Any]:
        given, self.given = self.given, []
        return given


def asked(days: int, **options: Any) -> tuple[hw.Session, Queue]:
    """A session that has asked about some days."""
    queue = Queue()
    session = hw.Session(hw.OLSF(**options), queue)
    for day in range(days):
        session.receive({"rain": 1.0, f"day {day}": 1.0})
    return session, queue


def test_one_label_that_does_not_fit_loses_no_answer_behind_it() -> None:
    session, queue = asked(4)
    labels: list[Label] = [True, "perhaps", False, True]
    for day, label in enumerate(labels):
        queue.give(day, label)
    assert session.settle() == 3
    assert session.learner.learned == 3
    [bad] = session.rejected
    assert (bad.id, bad.decision, bad.label) == (1, queue.asked[1], "perhaps")
    assert isinstance(bad.error, hw.errors.LabelError)
    assert session.repeated == 0
    assert session.settle() == 0


class Overflowing(hw.OLSF):
    """A learner that cannot take the step of one event."""

    def answer(self, decision: hw.Decision, y: Any, *, weight: float | None = None) -> None:
        if "day 1" in decision.features:
            raise hw.errors.StepError("it would be infinite")
        super().answer(decision, y, weight=weight)


def test_a_step_that_would_be_infinite_loses_no_answer_behind_it() -> None:
    queue = Queue()
    session = hw.Session(Overflowing(), queue)
    for day in range(3):
        session.receive({f"day {day}": 1.0})
        queue.give(day, True)
    assert session.settle() == 2
    assert [one.id for one in session.rejected] == [1]
    assert isinstance(session.rejected[0].error, hw.errors.StepError)


def test_a_rejected_answer_is_corrected_as_if_it_had_been_right() -> None:
    session, queue = asked(2)
    queue.give(0, "perhaps")
    session.settle()
    [bad] = session.rejected
    with pytest.raises(hw.errors.LabelError):
        session.correct(bad, "still perhaps")
    assert session.rejected == [bad]
    session.correct(bad, True)
    assert session.rejected == []
    right, other = asked(2)
    other.give(0, True)
    right.settle()
    assert session.learner.to_bytes() == right.learner.to_bytes()
    with pytest.raises(hw.errors.AnswerError, match="answered before"):
        session.correct(bad, True)


def test_a_source_may_put_its_own_answer_right() -> None:
    session, queue = asked(1)
    for label in ("perhaps", "or not"):
        queue.give(0, label)
        session.settle()
    assert [one.label for one in session.rejected] == ["or not"], "one per question, the last"
    queue.give(0, True)
    assert session.settle() == 1
    assert session.rejected == []


def test_a_source_need_not_tell_ids() -> None:
    session, queue = asked(2)
    queue.given = [(queue.asked[0], "perhaps"), (queue.asked[1], True)]
    assert session.settle() == 1
    assert [(one.id, one.decision) for one in session.rejected] == [(None, queue.asked[0])]


@pytest.mark.parametrize(
    "strange", ["spam", None, (1, True), (1, None, True), ("monday", 2, 3, 4), b"x" * 10_000]
)
def test_a_source_that_gives_no_decisions_is_broken_and_not_repeating_itself(strange: Any) -> None:
    session, queue = asked(2)
    queue.give(0, True)
    queue.given.append(strange)
    queue.give(1, False)
    with pytest.raises(hw.errors.AnswerError, match="must be \\(id, decision, label\\)") as caught:
        session.settle()
    assert len(str(caught.value)) < 300
    assert (session.learner.learned, session.repeated, session.rejected) == (2, 0, [])
    assert session.settle() == 0


def test_an_error_of_the_source_is_passed_on_and_what_came_before_it_is_learned() -> None:
    class Failing(Queue):
        def answers(self) -> Any:
            yield from super().answers()
            raise ConnectionError("the line is dead")

    queue = Failing()
    session = hw.Session(hw.OLSF(), queue)
    for _ in range(2):
        session.receive({"rain": 1.0})
    queue.give(0, True)
    with pytest.raises(ConnectionError):
        session.settle()
    assert session.learner.learned == 1
    queue.give(1, False)
    with pytest.raises(ConnectionError):
        session.settle()
    assert session.learner.learned == 2
    assert session.repeated == 0


class Interrupted(hw.OLSF):
    """A learner whose second answer is interrupted once."""

    calls = 0

    def answer(self, decision: hw.Decision, y: Any, *, weight: float | None = None) -> None:
        Interrupted.calls += 1
        if Interrupted.calls == 2:
            raise KeyboardInterrupt
        super().answer(decision, y, weight=weight)


def test_an_interruption_loses_no_answer() -> None:
    queue = Queue()
    session = hw.Session(Interrupted(), queue)
    for day in range(4):
        session.receive({"rain": 1.0})
        queue.give(day, day % 2 == 0)
    with pytest.raises(KeyboardInterrupt):
        session.settle()
    assert session.learner.learned == 1
    assert session.settle() == 3
    assert session.repeated == 0


def test_an_answer_is_learned_before_the_next_one_is_asked_for() -> None:
    """So that a source can take note of what is done."""
    done: list[int] = []

    class Noting(Queue):
        def answers(self) -> Any:
            for answer in super().answers():
                yield answer
                done.append(session.learner.learned)

    queue = Noting()
    session = hw.Session(hw.OLSF(), queue)
    for day in range(3):
        session.receive({"rain": 1.0})
        queue.give(day, True)
    session.settle()
    assert done == [1, 2, 3]
