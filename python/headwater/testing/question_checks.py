"""Questions and their answers: once per decision, now or much later."""

import copy
import math
import pickle
import random
from typing import Any

import numpy as np

from headwater._core import Decision
from headwater.errors import AnswerError, LabelError
from headwater.labels import Oracle
from headwater.learners.base import from_bytes
from headwater.session import Session
from headwater.testing.expect import refused, same, true
from headwater.testing.small_stream import (
    Event,
    Make,
    SmallStream,
    csr,
    follow,
    halfway,
    knowledge,
    step_of,
    steps_of,
)
from headwater.types import Label


def check_labels_not_asked_for_never_matter(make: Make, stream: SmallStream) -> None:
    """`simulate` does not look at a label that was not asked for."""
    X = csr(stream.events)
    honest = make()
    trace = honest.simulate(X, stream.labels)
    known = sorted(set(stream.labels))
    other = dict(zip(known, [*known[1:], known[0]], strict=True))
    lies: list[Label] = []
    gaps: list[Label | None] = []
    for label, asked in zip(stream.labels, trace.asked, strict=True):
        lies.append(label if asked else other[label])
        gaps.append(label if asked else None)
    for labels in (lies, gaps):
        model = make()
        same(steps_of(model.simulate(X, labels)), steps_of(trace), "the decisions")
        same(model.to_bytes(), honest.to_bytes(), "the state")


def check_a_missing_label_is_asked_for_and_not_answered(make: Make, stream: SmallStream) -> None:
    """In `simulate` a label of None or NaN is a question without an answer."""
    X = csr(stream.events)
    asked = np.flatnonzero(make().simulate(X, stream.labels).asked)
    for nothing in (None, math.nan):
        labels: list[Any] = list(stream.labels)
        labels[asked[0]] = nothing  # asked for in this run too: the same coins up to here
        model, loop = make(), make()
        trace = model.simulate(X, labels)
        answers = [None if label is None or label != label else label for label in labels]
        same(steps_of(trace), follow(loop, stream.events, answers), "the decisions")
        same(model.to_bytes(), loop.to_bytes(), "the state")
        true(bool(trace.asked[asked[0]]), "an event without a label: expected a question")
        same(model.learned, model.asked - 1, "the labels learned")


def check_a_late_answer_learns_frozen_features_with_the_current_model(
    make: Make, stream: SmallStream
) -> None:
    """A late answer learns the event as it was decided on, with the model as it is by then."""
    late, plain = make(), make()
    event: Event = {**stream.events[-1], "site": "roof"}
    original = dict(event)
    decision = late.decide_one(event)
    plain.decide_one(original)
    event["site"] = "cellar"
    event[0] = 1000.0
    for model in (late, plain):
        follow(model, stream.events, stream.labels)
    late.answer(decision, stream.labels[-1])
    plain.learn_one(original, stream.labels[-1])
    same(knowledge(late, stream), knowledge(plain, stream), "what is known after a late answer")
    same(decision.features.get("site=roof"), 1.0, "a feature of the decision")


def check_any_decision_may_be_answered(make: Make, stream: SmallStream) -> None:
    """An answer that nobody asked for is learned as `learn_one` learns."""
    answering, learning = make(), make()
    for event, label in zip(stream.events, stream.labels, strict=True):
        answering.answer(answering.decide_one(event), label)
        learning.decide_one(event)
        learning.learn_one(event, label)
    same(knowledge(answering, stream), knowledge(learning, stream), "what is known")
    same(answering.learned, len(stream.events), "the labels learned")


def check_a_second_answer_is_refused(make: Make, stream: SmallStream) -> None:
    """A decision is answered once; a label that does not fit is no answer."""
    model = make()
    decision = model.decide_one(stream.events[1])
    true(not decision.answered, "a new decision: expected it not to be answered")
    with refused(LabelError, "a label that does not fit"):
        model.answer(decision, "half" if stream.task == "regression" else 0.5)
    true(not decision.answered, "a wrong label: expected it to be no answer")
    model.answer(decision, stream.labels[1])
    true(decision.answered, "a decision after its answer: expected it to be answered")
    before = model.to_bytes()
    for again in (decision, pickle.loads(pickle.dumps(decision))):
        with refused(AnswerError, "a second answer", says=("answered before",)):
            model.answer(again, stream.labels[1])
    same(model.to_bytes(), before, "the state after a second answer")


def check_an_answer_is_learned_once_also_across_copies_saving_and_loading(
    make: Make, stream: SmallStream
) -> None:
    """A question is answered once, whichever copy of decision and learner the answer meets."""
    model = make()
    asked = [d for event in stream.events if (d := model.decide_one(event)).asked]
    decision, label = asked[-1], stream.labels[0]
    copies = [copy.deepcopy(decision), pickle.loads(pickle.dumps(decision))]
    model.answer(decision, label)
    for learner in (model, copy.copy(model), from_bytes(model.to_bytes())):
        before = learner.to_bytes()
        for again in copies:
            with refused(AnswerError, "a second answer", says=("answered before",)):
                learner.answer(again, label)
        same(learner.to_bytes(), before, "the state after a second answer")
    same(model.learned, 1, "the labels learned")


def check_a_decision_of_another_learner_is_refused(make: Make, stream: SmallStream) -> None:
    """A learner with other parameters, or on another stream, refuses the decision."""
    model, stranger, twin = make(), make(seed=99), make()
    for event in stream.events:
        decision = model.decide_one(event)
        stranger.decide_one(event)
        twin.decide_one({"another": 5.0, **event})
        if decision.asked:
            break
    says = ("another learner made", "answered before", "not about the event")
    for other in (stranger, twin):  # other parameters; the same, but another stream
        before = other.to_bytes()
        with refused(AnswerError, "a decision of another learner", says=says):
            other.answer(decision, stream.labels[0])
        same(other.to_bytes(), before, "the state after a decision of another learner")


def check_decisions_pickle(make: Make, stream: SmallStream) -> None:
    """A pickled decision is the same decision, and may be answered in its place."""
    model = halfway(make, stream)
    decision = model.decide_one({**stream.events[-1], "site": "roof", "new": 0.0})
    other = copy.copy(model)
    thawed = pickle.loads(pickle.dumps(decision))
    same(repr(thawed), repr(decision), "the decision")
    same(step_of(thawed), step_of(decision), "the decision")
    same(list(thawed.features.items()), list(decision.features.items()), "its features")
    true(not thawed.answered, "a pickled decision: expected it not to be answered")
    model.answer(decision, stream.labels[-1])
    other.answer(thawed, stream.labels[-1])
    same(other.to_bytes(), model.to_bytes(), "the state after the answer")


def check_a_decision_comes_back_from_its_bytes_and_its_event(
    make: Make, stream: SmallStream
) -> None:
    """A decision is short as bytes, and with its event it comes back and may be answered."""
    model = halfway(make, stream)
    event = {**stream.events[-1], "site": "roof", "new": -0.0, "away": None}
    decision = model.decide_one(event)
    data = decision.to_bytes()
    text = decision.prediction if isinstance(decision.prediction, str) else ""
    most = 64 + 20 * len(decision.features) + len(text.encode())
    true(len(data) <= most, f"a decision as bytes: expected at most {most}, got {len(data)}")
    other = from_bytes(model.to_bytes())
    for given in (event, decision.event):
        thawed = Decision.from_bytes(data, given)
        same(thawed.to_bytes(), data, "the bytes of a decision that came back")
        same((repr(thawed), thawed.event), (repr(decision), decision.event), "the decision")
    same(decision.event, {**stream.events[-1], "site": "roof", "new": 0.0}, "its event")
    with refused(AnswerError, "another event", says=("another event",)):
        Decision.from_bytes(data, {**event, "new": 0.0})
    model.answer(decision, stream.labels[-1])
    other.answer(thawed, stream.labels[-1])
    same(other.to_bytes(), model.to_bytes(), "the state after the answer")
    answered = Decision.from_bytes(decision.to_bytes(), event).answered
    true(answered, "a decision after its answer, from its bytes: expected it to be answered")


def check_a_run_that_is_repeated_with_its_outcomes_has_the_same_bytes(
    make: Make, stream: SmallStream
) -> None:
    """`decide_one(outcome=...)` repeats a run, also if answers come late and in another order."""
    first, again = make(), make()
    numbers = random.Random(3)
    questions: list[tuple[Decision, Decision, Label]] = []
    for event, label in zip(stream.events, stream.labels, strict=True):
        decision = first.decide_one(event)
        outcome = (decision.asked, decision.query_probability)
        repeated = again.decide_one(event, outcome=outcome)
        same(step_of(repeated), step_of(decision), "the decision")
        if decision.asked:
            questions.append((decision, repeated, label))
        while questions and numbers.random() < 0.5:
            one, other, answer = questions.pop(numbers.randrange(len(questions)))
            first.answer(one, answer)
            again.answer(Decision.from_bytes(other.to_bytes(), other.event), answer)
        same(again.to_bytes(), first.to_bytes(), "the state of a run that is repeated")


def check_a_decision_may_be_answered_by_a_loaded_learner(make: Make, stream: SmallStream) -> None:
    """A learner that was saved after a decision and loaded takes its answer."""
    model = halfway(make, stream)
    decision = model.decide_one(stream.events[-1])
    loaded = from_bytes(model.to_bytes())
    model.learn_one({"in between": 1.0}, stream.labels[0])
    loaded.learn_one({"aside": 1.0, "in between": 1.0}, stream.labels[0])
    expected = copy.copy(loaded)
    loaded.answer(decision, stream.labels[-1])
    expected.learn_one(stream.events[-1], stream.labels[-1])
    same(knowledge(loaded, stream), knowledge(expected, stream), "what is known")


def check_a_session_learns_every_answer_once(make: Make, stream: SmallStream) -> None:
    """In a session whose answers are late every question is learned once."""
    session = Session(make(), Oracle(stream.labels, delay=(1, 9), seed=1))
    for event in stream.events:
        session.receive(event)
        session.settle()
    for _ in range(10):  # the oracle's clock goes on until the last answer is there
        session.labels.advance()
        session.settle()
    learner = session.learner
    same((learner.seen, learner.learned), (len(stream.events), learner.asked), "seen and learned")
    same((session.rejected, session.repeated), ([], 0), "answers rejected or repeated")
