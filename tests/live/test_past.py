"""Changes of the past: the model equals a run that was right from the start."""

import random
import struct
import threading
from pathlib import Path
from typing import Any

import pytest

import headwater as hw
from headwater.errors import AnswerError, IdReusedError, JournalError, LabelError, ParameterError
from headwater.live.database import EVENT_TEXTS, records
from headwater.testing import Make, stream_for
from test_contract import CLASSES

FAST: dict[str, Any] = {"synchronous": "normal", "apply_after": 0}


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "plant.db")


def run_by_hand(
    url: str,
    learner: hw.Learner,
    corrected: dict[int, Any] | None = None,
    without: set[int] | None = None,
    unanswered: set[int] | None = None,
) -> bytes:
    """The run that a journal stands for, from its facts: right labels, logged outcomes and rates.

    `corrected` has the labels of events that were corrected, `without` the events that should not
    have come, `unanswered` those whose answer was taken back.
    """
    decisions: dict[int, hw.Decision] = {}
    with hw.live.read(url) as reader:
        facts = list(reader.facts())
    for fact in facts:
        number, target = fact["number"], fact.get("target")
        if fact["kind"] == "event" and number not in (without or ()):
            outcome = (fact["asked"], fact["probability"])
            rate = fact.get("rate")
            decision = learner.decide_one(fact["event"], rate=rate, outcome=outcome)
            decisions[number] = decision
            if "label" in fact and number not in (unanswered or ()):
                learner.answer(decision, (corrected or {}).get(number, fact["label"]))
        elif fact["kind"] == "applied" and target in decisions.keys() - (unanswered or set()):
            label = (corrected or {}).get(target, fact["label"])
            learner.answer(decisions[target], label)
    return learner.to_bytes()


def live(loop: hw.live.Loop, stream: Any, seed: int = 1) -> list[int]:
    """Send a stream, answer most questions some time later; the events whose label was said."""
    numbers = random.Random(seed)
    waiting: list[tuple[int, Any]] = []
    answered = []
    for number, (event, label) in enumerate(zip(stream.events, stream.labels, strict=True)):
        told = label if number % 10 == 7 else None
        receipt = loop.receive(event, label=told)
        if told is not None:
            answered.append(receipt.number)
        if receipt.question is not None:
            waiting.append((receipt.question, label))
        while waiting and numbers.random() < 0.6:
            question, right = waiting.pop(numbers.randrange(len(waiting)))
            loop.answer(question, right)
            answered.append(question)
    return answered


@pytest.mark.parametrize("make", CLASSES.values(), ids=CLASSES)
def test_a_corrected_model_equals_a_run_with_the_right_label_from_the_start(
    make: Make, path: str
) -> None:
    stream = stream_for(make)
    with hw.live.open(path, learner=make(), **FAST, snapshot_facts=25) as loop:
        answered = live(loop, stream)
        assert run_by_hand(path, make()) == loop.learner.to_bytes()
        corrected: dict[int, Any] = {}
        for question in (answered[1], answered[-1], answered[len(answered) // 2]):
            label = next(y for y in stream.labels if y != loop.learner.predict_one({}))
            assert loop.correct(question, label).state == "correcting"
            corrected[question] = label
            loop.receive(stream.events[0])  # it goes on serving
        loop.wait()
        assert run_by_hand(path, make(), corrected) == loop.learner.to_bytes()
        live(loop, stream, seed=2)
        expected = run_by_hand(path, make(), corrected)
        assert expected == loop.learner.to_bytes()
    with hw.live.open(path) as loop:
        assert loop.learner.to_bytes() == expected


@pytest.mark.parametrize("name", ["Spring(often)", "MPAA()", "OLVF(sparse, divide)", "FESL()"])
def test_retracted_answers_and_removed_events_leave_nothing(name: str, path: str) -> None:
    make = CLASSES[name]
    stream = stream_for(make)
    with hw.live.open(path, learner=make(), **FAST, snapshot_facts=30) as loop:
        answered = live(loop, stream)
        question, bad = answered[2], answered[3]
        assert loop.retract(question).state == "reopening"
        loop.remove(f"#{bad}")
        loop.remove("#1")
        loop.wait()
        assert run_by_hand(path, make(), None, {bad, 1}, {question}) == loop.learner.to_bytes()
        assert loop.status().questions["bad"] >= 1
        with pytest.raises(AnswerError, match="no event of fact"):
            loop.correct(bad, stream.labels[0])
        with pytest.raises(JournalError, match="no event of fact 1"):
            loop.remove("#1")
        again = loop.answer(question, stream.labels[-1])
        assert again.state == "applied"  # its frozen inputs are those of the replayed model
        expected = loop.learner.to_bytes()
    for file in Path(f"{path}.snapshots").iterdir():
        file.unlink()
    with hw.live.open(path) as loop:
        assert loop.learner.to_bytes() == expected


def test_open_questions_get_the_inputs_of_the_corrected_model(path: str) -> None:
    """A removed event shifts the numbers and the scaler of all that follow."""
    make = CLASSES["Spring(often)"]
    stream = stream_for(hw.PAA)
    with hw.live.open(path, learner=make(), **FAST) as loop:
        receipts = [loop.receive(event) for event in stream.events]
        questions = [one.question for one in receipts if one.question is not None]
        loop.answer(questions[0], True)
        loop.remove("#2")
        loop.wait()
        for question in questions[1:]:
            assert loop.answer(question, True).state == "applied"
        assert run_by_hand(path, make(), None, {2}) == loop.learner.to_bytes()


def test_a_correction_is_a_fact_before_the_model_has_it_and_survives_a_stop(path: str) -> None:
    make = CLASSES["Spring(often)"]
    stream = stream_for(hw.PAA)
    loop = hw.live.open(path, learner=make(), **FAST, snapshot_facts=20)
    answered = live(loop, stream)
    loop._live.past.carry_out = _never  # the replayed model never takes over, as after a kill
    wrong = not stream.labels[answered[0] - 1]
    loop.correct(answered[0], wrong)
    corrected = {answered[0]: wrong}
    assert run_by_hand(path, make(), corrected) != loop.learner.to_bytes()
    assert not loop.wait(0.1)
    stop_like_a_kill(loop)
    with hw.live.open(path) as again:
        again.wait(10)
        assert run_by_hand(path, make(), corrected) == again.learner.to_bytes()
        assert again.status().last[0][1] == "swapped"


def _never(call: Any) -> None:
    threading.Event().wait(0.05)


def stop_like_a_kill(loop: hw.live.Loop) -> None:
    """Stop without a last snapshot and without waiting for anything."""
    from headwater.live import loop as module

    module._writers.pop(loop._writer.database.url)
    loop._writer.close()
    loop._journal.is_settled.set()


def test_changes_while_the_model_is_replayed_are_all_contained_in_the_end(path: str) -> None:
    make = CLASSES["Linear()"]
    stream = stream_for(hw.PAA)
    with hw.live.open(path, learner=make(), **FAST) as loop:
        answered = live(loop, stream)
        corrected = {}
        for question in answered[:8]:
            label = question % 3 == 0
            loop.correct(question, label)
            corrected[question] = label
        for question in answered[:4]:
            loop.correct(question, True)
            corrected[question] = True
        loop.wait()
        assert run_by_hand(path, make(), corrected) == loop.learner.to_bytes()


def test_a_correction_by_the_same_key_counts_once_and_one_that_does_not_fit_not_at_all(
    path: str,
) -> None:
    with hw.live.open(path, learner=hw.PAA(classes=("dry", "wet")), **FAST) as loop:
        question = loop.receive({"rain": 1.0}).number
        with pytest.raises(AnswerError, match="no answer yet"):
            loop.correct(question, "dry")
        loop.answer(question, "wet", by="ada")
        facts = loop.status().facts
        with pytest.raises(LabelError):
            loop.correct(question, "wett")
        assert loop.status().facts == facts
        first = loop.correct(question, "dry", key="7")
        loop.wait()
        facts = loop.status().facts
        assert loop.correct(question, "dry", key="7")[:2] == first[:2]
        assert loop.status().facts == facts
        assert loop.learner._learned_of_each() == (1, 0)
        with pytest.raises(IdReusedError):
            loop.answer(question, "dry", by="ada")
        with pytest.raises(AnswerError, match="no event of fact 99"):
            loop.correct(99, "dry")


def test_another_learner_learns_the_whole_journal_with_the_questions_as_they_were(
    path: str,
) -> None:
    make = CLASSES["Spring(often)"]
    with hw.live.open(path, learner=make(), **FAST) as loop:
        live(loop, stream_for(hw.PAA))
        loop.change_learner(hw.Linear(seed=5))
        loop.receive({"a": 1.0})
        loop.wait()
        assert isinstance(loop.learner, hw.Linear)
        expected = run_by_hand(path, hw.Linear(seed=5))
        assert loop.learner.to_bytes() == expected
        with pytest.raises(ParameterError, match="has learned nothing"):
            loop.change_learner(loop.learner)
    with hw.live.open(path, learner=hw.Linear(seed=5)) as loop:
        assert loop.learner.to_bytes() == expected


# Forgetting


def bytes_on_disk(path: str) -> dict[str, bytes]:
    folder = Path(path).parent
    return {str(file): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def found_in(path: str, *pieces: bytes) -> list[str]:
    return [
        f"{piece!r} in {name}"
        for name, content in bytes_on_disk(path).items()
        for piece in pieces
        if piece in content
    ]


def test_forget_leaves_no_byte_of_the_event_and_nothing_of_its_influence(path: str) -> None:
    make = CLASSES["Spring(often)"]
    stream = stream_for(hw.PAA)
    value = 1234.56789
    secret: dict[Any, Any] = {"iban-of-eve": value, "remark": "eve-was-here", **stream.events[3]}
    pieces = [b"iban-of-eve", b"remark", b"eve-was-here", b"eve-4711", struct.pack("<d", value)]
    pieces.append(b"a letter of eve")
    with hw.live.open(path, learner=make(), **FAST, snapshot_facts=10) as loop:
        for number, event in enumerate(stream.events[:30]):
            loop.receive(event, id=number, label=stream.labels[number] if number % 4 else None)
        receipt = loop.receive(secret, id="eve-4711", label=True)
        texts = [(EVENT_TEXTS, '"eve-4711"', '{"letter": "a letter of eve"}')]
        database = loop._writer.database
        with database.engine.begin() as connection:
            database.insert(connection, records, texts)
        loop.snapshot()
        answered = live(loop, stream)
        loop.correct(answered[0], not stream.labels[0])
        loop.wait()
        assert found_in(path, *pieces)
        assert "iban-of-eve" in loop.learner.weights() or loop.learner.learned
        number = loop.forget("eve-4711")
        assert not found_in(path, *pieces)
        corrected = {answered[0]: not stream.labels[0]}
        expected = run_by_hand(path, make(), corrected, {receipt.number})
        assert loop.learner.to_bytes() == expected
        assert b"iban-of-eve" not in expected
        with pytest.raises(JournalError, match="there is no event 'eve-4711'"):
            loop.forget("eve-4711")
        assert not loop.receive({"new": 1.0, "remark": 2.0}, id="eve-4711").repeated
        assert number > receipt.number
        expected = loop.learner.to_bytes()
    with hw.live.open(path) as loop:
        assert loop.learner.to_bytes() == expected


def test_a_forgotten_person_is_a_number(path: str) -> None:
    with hw.live.open(path, learner=hw.OLSF(), **FAST) as loop:
        question = loop.receive({"a": 1.0}).number
        loop.answer(question, True, by="Eve Adams")
        assert found_in(path, b"Eve Adams")
        assert loop.forget_person("Eve Adams") == 1
        assert not found_in(path, b"Eve Adams")
        assert loop.learner.learned == 1
        with pytest.raises(AnswerError, match="nobody called 'Eve Adams'"):
            loop.forget_person("Eve Adams")
        loop.answer(loop.receive({"a": 1.0}).number, True, by="Eve Adams")
        assert loop.forget_person("Eve Adams") == 2
