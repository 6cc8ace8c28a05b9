"""The desk: each test is a sentence that its users can rely on."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import headwater as hw
from headwater.errors import AnswerError, LabelError, ParameterError
from headwater.live import database as db
from live.test_loop import rows
from live.test_machine import by_hand
from live.test_past import run_by_hand

FAST: dict[str, Any] = {"synchronous": "normal", "apply_after": 1e9}
AT_ONCE: dict[str, Any] = {"synchronous": "normal", "apply_after": 0}


class Clock:
    """A clock that the test sets, for leases or for the journal."""

    def __init__(self, start: float = 1e9) -> None:
        self.now = start

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "plant.db")


@pytest.fixture
def plant(path: str) -> Iterator[hw.live.Loop]:
    with hw.live.open(path, learner=hw.OLSF(), **FAST) as loop:
        yield loop


def ask(plant: hw.live.Loop, *values: float, **more: Any) -> list[int]:
    """Events of one feature, all asked about; their questions."""
    return [plant.receive({"a": value}, **more).number for value in values]


def numbers(cards: list[hw.live.Card]) -> list[int]:
    return [card.question for card in cards]


# Leases


def test_a_card_shows_the_event_as_it_came_and_what_was_served(plant: hw.live.Loop) -> None:
    plant.receive({"a": 1.0}, label=True)
    event = {"z": 2.0, "a": 0.5, "site": "roof", 7: -0.0}
    receipt = plant.receive(event, id="monday", group="line-4")
    (card,) = plant.desk.lease("ada")
    assert list(card.features.items()) == list(event.items())
    assert (card.question, card.event, card.group) == (receipt.question, "monday", "line-4")
    assert (card.prediction, card.classes) == (receipt.prediction, [False, True])
    assert card.probability is not None
    assert 0 < card.probability <= 1
    assert card.copies == 0
    assert card.reason.endswith(".")
    again = plant.receive({"b": 1.0})
    assert plant.desk.lease("bob")[0].event == f"#{again.number}"


def test_two_people_never_hold_one_card(plant: hw.live.Loop) -> None:
    ask(plant, *map(float, range(1, 11)))
    ada, bob = plant.desk.lease("ada", 4), plant.desk.lease("bob", 9)
    assert len(ada) == 4
    assert len(bob) == 6
    assert not set(numbers(ada)) & set(numbers(bob))
    assert plant.desk.lease("eve") == []
    with pytest.raises(AnswerError, match="is with ada"):
        plant.desk.answer(ada[0], True, by="bob")
    assert plant.desk.waiting("bob") == 6
    assert plant.desk.waiting() == 10


def test_a_person_who_reloads_gets_the_same_cards_first(plant: hw.live.Loop) -> None:
    ask(plant, 1.0, 2.0, 3.0, 4.0)
    first = numbers(plant.desk.lease("ada", 2))
    assert numbers(plant.desk.lease("ada", 2)) == first
    assert numbers(plant.desk.lease("ada", 3))[:2] == first
    plant.desk.release(first[0], by="ada")
    assert first[0] in numbers(plant.desk.lease("bob", 9))


def test_a_closed_laptop_gives_its_card_back(plant: hw.live.Loop) -> None:
    clock = plant._live.clerk.leases.clock = Clock()
    ask(plant, 1.0)
    (card,) = plant.desk.lease("ada")
    clock.now += 299
    assert plant.desk.lease("bob") == []
    clock.now += 2
    (taken,) = plant.desk.lease("bob")
    assert taken.question == card.question
    with pytest.raises(AnswerError, match="is with bob"):
        plant.desk.answer(card, True, by="ada")


def test_an_answer_after_the_lease_counts_if_nobody_has_the_card(plant: hw.live.Loop) -> None:
    clock = plant._live.clerk.leases.clock = Clock()
    ask(plant, 1.0)
    (card,) = plant.desk.lease("ada")
    clock.now += 1e6
    assert plant.desk.answer(card, True, by="ada").state == "answered"
    assert plant.desk.lease("bob") == []


def test_nobody_sees_nothing_to_do_while_something_is_open_to_them(plant: hw.live.Loop) -> None:
    ask(plant, *map(float, range(1, 31)))
    done = set()
    while plant.desk.waiting("ada"):
        (card,) = plant.desk.lease("ada")
        (plant.desk.skip if card.question % 3 else plant.desk.unsure)(card, by="ada")
        done.add(card.question)
    assert len(done) == 30
    assert plant.desk.lease("ada") == []
    assert plant.desk.waiting("bob") == 30


# Order


def test_least_sure_first_then_the_freshest(path: str) -> None:
    with hw.live.open(path, learner=hw.PAA(query_width=1e9), **FAST) as plant:
        plant.receive({"a": 1.0}, label=True)
        sure = {plant.receive({"a": value, "b": value}).number for value in (3.0, 1.0, 2.0)}
        fresh = [plant.receive({"new": value}).number for value in (1.0, 2.0)]  # margin 0
        order = numbers(plant.desk.lease("ada", 9))
        assert order[:2] == fresh[::-1]
        margins = {row.number: abs(row.margin) for row in rows(path, db.facts) if row.asked}
        assert [margins[one] for one in order] == sorted(margins.values())
        assert sure <= set(order)


def test_one_person_gets_the_events_of_a_group(plant: hw.live.Loop) -> None:
    for value in range(1, 13):
        plant.receive({"a": float(value)}, group=f"line-{value % 3}")
    ada, bob = plant.desk.lease("ada", 4), plant.desk.lease("bob", 4)
    assert len({card.group for card in ada}) == len({card.group for card in bob}) == 1
    assert ada[0].group != bob[0].group
    for card in ada:
        plant.desk.answer(card, True, by="ada")
    assert plant.desk.lease("ada")[0].group not in (ada[0].group, bob[0].group)


def test_the_same_features_are_asked_about_once(path: str) -> None:
    with hw.live.open(path, learner=hw.OLSF(), **AT_ONCE) as plant:
        same = ask(plant, 2.0, 2.0, 2.0)
        (other,) = ask(plant, 3.0)
        assert plant.desk.waiting() == 2
        cards = plant.desk.lease("ada", 9)
        assert numbers(cards) == [other, same[0]]
        assert cards[1].copies == 2
        assert plant.desk.answer(cards[1], True, by="ada").state == "applied"
        assert plant.status().questions == {"applied": 3, "open": 1}
        assert plant.learner.learned == 3
        plant.desk.undo(by="ada")
        plant.wait()
        assert plant.status().questions == {"open": 4}
        assert plant.learner.learned == 0
        assert numbers(plant.desk.lease("ada", 9)) == [other, same[0]]


# What people say


def test_an_answer_is_learned_when_the_same_person_goes_on(plant: hw.live.Loop) -> None:
    ask(plant, 1.0, 2.0, 3.0)
    one, two, three = plant.desk.lease("ada", 3)
    assert plant.desk.answer(one, True, by="ada").state == "answered"
    assert plant.learner.learned == 0
    plant.desk.answer(two, True, by="ada")
    assert plant.learner.learned == 1
    with pytest.raises(LabelError):
        plant.desk.answer(three, "wet", by="ada")
    assert plant.learner.learned == 1


def test_the_same_answer_sent_again_counts_once_and_another_key_corrects(path: str) -> None:
    with hw.live.open(path, learner=hw.OLSF(), **AT_ONCE) as plant:
        (question,) = ask(plant, 1.0)
        first = plant.desk.answer(question, True, by="ada", key="x")
        assert plant.desk.answer(question, True, by="ada", key="x") == first._replace(repeated=True)
        with pytest.raises(AnswerError, match="with another label"):
            plant.desk.answer(question, False, by="ada", key="x")
        assert plant.desk.answer(question, False, by="ada", key="y").state == "correcting"
        plant.wait()
        assert plant.learner.weights() == {"a": -1.0}
        with pytest.raises(AnswerError, match="was answered by ada; correct puts"):
            plant.desk.answer(question, True, by="bob")
        assert plant.learner.learned == 1


def test_skip_and_unsure_keep_the_question_open_for_others(plant: hw.live.Loop) -> None:
    one, two = ask(plant, 1.0, 2.0)
    assert plant.desk.skip(one, by="ada").state == "skipped"
    assert plant.desk.unsure(two, by="ada").state == "unsure"
    assert plant.desk.lease("ada") == []
    with pytest.raises(AnswerError, match="undo that first"):
        plant.desk.skip(one, by="ada")
    assert sorted(numbers(plant.desk.lease("bob", 9))) == [one, two]
    assert plant.status().questions == {"open": 2}


def test_a_bad_event_is_replayed_away_and_can_be_brought_back(path: str) -> None:
    with hw.live.open(path, learner=hw.Spring(label_rate=1.0), **AT_ONCE) as plant:
        questions = [plant.receive({"a": 1.0 + n % 5, "b": float(n)}).question for n in range(20)]
        for number in questions[:-1]:
            if number is not None and number != questions[10]:
                plant.desk.answer(number, number % 2 == 0, by="ada")
        whole = plant.learner.to_bytes()
        assert questions[10] is not None
        assert plant.desk.bad(questions[10], by="ada").state == "bad"
        plant.wait()
        assert plant.learner.seen == 19
        expected = run_by_hand(path, hw.Spring(label_rate=1.0), without={questions[10]})
        assert plant.learner.to_bytes() == expected
        assert plant.desk.undo(by="ada").question == questions[10]
        plant.wait()
        assert plant.learner.to_bytes() == whole
        assert numbers(plant.desk.lease("ada")) == [questions[10]]
        assert plant.desk.answer(questions[10], True, by="ada").state == "applied"


def test_undo_goes_back_act_by_act_to_the_first_of_the_day(path: str) -> None:
    with hw.live.open(path, learner=hw.OLSF(), apply_after=1e9, synchronous="normal") as plant:
        clock = plant._live.journal.clock = Clock()
        plant.desk.answer(ask(plant, 9.0)[0], True, by="ada")
        clock.now += 86_400  # the next day
        one, two, three, four = ask(plant, 1.0, 2.0, 3.0, 4.0)
        plant.desk.answer(one, True, by="ada")
        plant.desk.skip(two, by="ada")
        plant.desk.unsure(three, by="ada")
        plant.desk.answer(four, False, by="ada")
        plant.desk.answer(ask(plant, 8.0)[0], True, by="bob")
        for expected in (four, three, two, one):
            undone = plant.desk.undo(by="ada")
            assert undone.question == expected
            assert expected in numbers(plant.desk.lease("ada", 9))
        plant.wait()
        with pytest.raises(AnswerError, match="nothing of ada today"):
            plant.desk.undo(by="ada")
        with pytest.raises(AnswerError, match="nothing of eve today"):
            plant.desk.undo(by="eve")
        assert plant.learner.learned == 1  # of the day before
        assert plant.desk.waiting("ada") == 4


def test_an_answer_that_was_undone_may_be_given_again_while_the_model_is_replayed(
    path: str,
) -> None:
    with hw.live.open(path, learner=hw.OLSF(), **AT_ONCE) as plant:
        questions = ask(plant, *(n / 100 for n in range(1, 400)))
        for number in questions:
            plant.desk.answer(number, True, by="ada")
        plant.desk.undo(by="ada")
        plant.desk.answer(questions[-1], False, by="ada")
        plant.wait()
        for _ in range(100):  # the writer looks for answers whose time has come
            if plant.status().questions == {"applied": len(questions)}:
                break
            time.sleep(0.05)
        assert plant.learner._learned_of_each() == (1, len(questions) - 1)
        assert plant.status().questions == {"applied": len(questions)}
        assert by_hand(path, hw.OLSF()) == plant.learner.to_bytes()


def test_undo_takes_no_card_from_somebody_who_holds_it(plant: hw.live.Loop) -> None:
    (question,) = ask(plant, 1.0)
    plant.desk.skip(question, by="ada")
    assert numbers(plant.desk.lease("bob")) == [question]
    assert plant.desk.undo(by="ada").question == question
    assert plant.desk.lease("ada") == []
    plant.desk.release(question, by="bob")
    assert numbers(plant.desk.lease("ada")) == [question]


# Deadlines and bounds


def test_a_question_expires_at_its_deadline(path: str) -> None:
    desk = hw.live.DeskSettings(deadline=3600.0)
    with hw.live.open(path, learner=hw.OLSF(), desk=desk, **FAST) as plant:
        clock = plant._live.journal.clock = Clock()
        (old,) = ask(plant, 1.0)
        plant.desk.lease("ada")
        clock.now += 1800
        (new,) = ask(plant, 2.0)
        clock.now += 1801
        assert numbers(plant.desk.lease("ada", 9)) == [new]
        assert plant.status().questions == {"expired": 1, "open": 1}
        with pytest.raises(AnswerError, match="is expired"):
            plant.desk.answer(old, True, by="ada")
    with hw.live.open(path) as plant:  # the settings are kept
        assert plant._live.journal.settings.desk == desk


def test_beyond_the_most_open_questions_the_oldest_expires(path: str) -> None:
    desk = hw.live.DeskSettings(most_open=3)
    with hw.live.open(path, learner=hw.OLSF(), desk=desk, **FAST) as plant:
        questions = ask(plant, *map(float, range(1, 8)))
        assert sorted(numbers(plant.desk.lease("ada", 9))) == questions[-3:]
        assert plant.status().questions == {"expired": 4, "open": 3}


# Several people per question


def test_with_overlap_each_question_goes_to_several_people_and_is_learned_once(
    path: str,
) -> None:
    desk = hw.live.DeskSettings(overlap=3)
    with hw.live.open(path, learner=hw.OLSF(), desk=desk, **AT_ONCE) as plant:
        (question,) = ask(plant, 1.0)
        for name in ("ada", "bob", "eve"):
            assert numbers(plant.desk.lease(name)) == [question]
        assert plant.desk.lease("dan") == []
        assert plant.desk.answer(question, True, by="ada").state == "open"
        assert plant.desk.answer(question, True, by="ada").repeated
        assert plant.desk.lease("ada") == []
        assert plant.desk.answer(question, False, by="bob").state == "open"
        assert plant.learner.learned == 0
        assert plant.desk.answer(question, True, by="eve").state == "applied"
        assert plant.learner._learned_of_each() == (0, 1)
        people = {one.name: one.agreement for one in plant.desk.people()}
        assert people == {"ada": {True: (1, 1)}, "bob": {True: (0, 1)}, "eve": {True: (1, 1)}}
        with pytest.raises(AnswerError, match="must say by whom"):
            plant.desk.answer(ask(plant, 2.0)[0], True, by=None)


def test_a_dispute_is_settled_and_learned_once(path: str) -> None:
    desk = hw.live.DeskSettings(overlap=2)
    with hw.live.open(path, learner=hw.OLSF(), desk=desk, **AT_ONCE) as plant:
        one, copy, two = ask(plant, 1.0, 1.0, 2.0)
        plant.desk.answer(one, True, by="ada")
        assert plant.desk.answer(one, False, by="bob").state == "disputed"
        (dispute,) = plant.desk.disputes()
        assert (dispute.question, dispute.labels) == (one, {"ada": True, "bob": False})
        assert dispute.features == {"a": 1.0}
        assert plant.status().questions == {"disputed": 2, "open": 1}
        assert plant.desk.settle(one, False, by="chief").state == "settled"
        assert plant.desk.disputes() == []
        assert plant.learner._learned_of_each() == (2, 0)  # with its copy
        with pytest.raises(AnswerError, match="not disputed"):
            plant.desk.settle(two, True, by="chief")
        assert plant.status().questions == {"settled": 2, "open": 1}
        assert copy not in numbers(plant.desk.lease("ada", 9))


def test_a_vote_that_is_undone_opens_the_question_again(path: str) -> None:
    desk = hw.live.DeskSettings(overlap=2)
    with hw.live.open(path, learner=hw.OLSF(), desk=desk, **AT_ONCE) as plant:
        one, two = ask(plant, 1.0, 2.0)
        plant.desk.answer(one, True, by="ada")
        plant.desk.answer(one, False, by="bob")
        assert plant.desk.undo(by="bob").state == "open"
        assert plant.desk.answer(one, True, by="bob", key="2").state == "applied"
        assert plant.desk.undo(by="bob").state == "reopening"
        plant.wait()
        assert plant.learner.learned == 0
        assert one in numbers(plant.desk.lease("bob", 9))
        assert numbers(plant.desk.lease("ada", 9)) == [two]
        assert plant.desk.answer(one, True, by="eve").state == "applied"


def test_answers_to_known_cards_are_never_learned(path: str) -> None:
    desk = hw.live.DeskSettings(known_share=1.0)
    with hw.live.open(path, learner=hw.OLSF(), desk=desk, **AT_ONCE) as plant:
        one, two = ask(plant, 1.0, 2.0)
        plant.desk.answer(one, True, by="ada")
        before = plant.learner.to_bytes()
        cards = numbers(plant.desk.lease("bob", 2))
        assert cards == [one, two]  # one is known, no other is
        plant.desk.answer(one, False, by="bob")
        assert plant.desk.answer(one, False, by="bob").repeated
        assert plant.learner.to_bytes() == before
        assert [person.known for person in plant.desk.people()] == [(0, 0), (0, 1)]
        assert plant.desk.undo(by="bob").question == one
        plant.desk.answer(one, True, by="bob")
        assert [person.known for person in plant.desk.people()] == [(0, 0), (1, 1)]
        assert plant.status().questions == {"applied": 1, "open": 1}
        ada = numbers(plant.desk.lease("ada", 9))
        assert one not in ada  # her own answer tells nothing about her


@pytest.mark.parametrize("act", ["skip", "unsure", "bad", "release"])
def test_a_known_card_is_set_aside_like_any_other(path: str, act: str) -> None:
    desk = hw.live.DeskSettings(known_share=1.0)
    with hw.live.open(path, learner=hw.OLSF(), desk=desk, **AT_ONCE) as plant:
        (one,) = ask(plant, 1.0)
        plant.desk.answer(one, True, by="ada")
        before = plant.learner.to_bytes()
        (card,) = plant.desk.lease("bob")
        told = getattr(plant.desk, act)(card, by="bob")
        assert (told.question, told.repeated) == (one, False)
        assert plant.desk.lease("bob") == []  # it is not given again
        if act != "release":
            assert plant.desk.undo(by="bob").question == one
            assert numbers(plant.desk.lease("bob")) == [one]
        plant.wait()
        assert plant.learner.to_bytes() == before
        assert plant.status().questions == {"applied": 1}
    with hw.live.open(path) as plant:
        assert plant.learner.to_bytes() == before


def test_an_answer_to_a_known_card_is_not_learned_after_a_restart_either(path: str) -> None:
    desk = hw.live.DeskSettings(known_share=1.0)
    with hw.live.open(path, learner=hw.OLSF(), desk=desk, **AT_ONCE) as plant:
        (one,) = ask(plant, 1.0)
        plant.desk.answer(one, True, by="ada")
        assert numbers(plant.desk.lease("bob")) == [one]
    with hw.live.open(path) as plant:
        plant.desk.answer(one, False, by="bob")
        assert plant.learner._learned_of_each() == (0, 1)


# Classes


def test_a_mistyped_class_is_renamed_in_the_model_and_merged(path: str) -> None:
    with hw.live.open(path, learner=hw.MPAA(), **AT_ONCE) as plant:
        labels = ["low", "hihg", "high", "low", "hihg"]
        for value, label in enumerate(labels, 1):
            plant.desk.answer(ask(plant, float(value))[0], label, by="ada")
        plant.desk.rename_class("hihg", "high")
        plant.wait()
        assert sorted(map(str, plant.learner.labels)) == ["high", "low"]
        right = {n: label.replace("hihg", "high") for n, label in enumerate(labels, 1)}
        events = {row.number for row in rows(path, db.facts) if row.kind == 1}
        corrected = dict(zip(sorted(events), right.values(), strict=True))
        assert plant.learner.to_bytes() == run_by_hand(path, hw.MPAA(), corrected)
        expected = plant.learner.to_bytes()
        assert "hihg" not in {row.label for row in plant.desk.questions(None)}
        with pytest.raises(LabelError, match="no answer says 'nothing'"):
            plant.desk.rename_class("nothing", "high")
    with hw.live.open(path) as plant:
        assert plant.learner.to_bytes() == expected
    with hw.live.open(path + "2", learner=hw.PAA()) as plant:
        plant.receive({"a": 1.0}, label=True)
        with pytest.raises(LabelError, match="cannot be renamed"):
            plant.desk.rename_class(True, False)


# Lists


def test_questions_and_people_are_listed(plant: hw.live.Loop) -> None:
    clock = plant._live.journal.clock = Clock()
    ask(plant, *map(float, range(1, 6)))
    for number, seconds in zip((1, 2, 3), (0, 30, 90), strict=True):
        clock.now += seconds
        plant.desk.answer(number, True, by="ada")
    plant.desk.lease("bob")
    states = {row.question: (row.state, row.person) for row in plant.desk.questions(None)}
    assert {states[n] for n in (1, 2)} == {("applied", "ada")}
    assert states[3] == ("answered", "ada")
    assert (states[4], states[5]) == (("open", None), ("leased", "bob"))  # the freshest first
    assert len(plant.desk.questions()) == 2
    assert len(plant.desk.questions("leased")) == 1
    assert len(plant.desk.questions(None, limit=3)) == 3
    (ada,) = plant.desk.people()
    assert (ada.name, ada.answers, ada.per_hour) == ("ada", 3, 60.0)
    assert (ada.first, ada.last) == (1e9, 1e9 + 120)


def test_what_is_no_question_person_or_number_is_refused(plant: hw.live.Loop) -> None:
    for strange in ("", " ", "x" * 257, None, 7):
        with pytest.raises(ParameterError, match="a person is a name"):
            plant.desk.lease(strange)  # type: ignore[arg-type]
    for n in (0, -1, True, 1.5):
        with pytest.raises(ParameterError, match="n must be a whole number"):
            plant.desk.lease("ada", n)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="a card or its number"):
        plant.desk.answer("17", True, by="ada")  # type: ignore[arg-type]
    with pytest.raises(AnswerError, match="there is no question 99"):
        plant.desk.skip(99, by="ada")
    with pytest.raises(ParameterError, match="DeskSettings: overlap must be"):
        hw.live.DeskSettings(overlap=0)


def test_acts_survive_a_restart_and_leases_do_not(path: str) -> None:
    desk = hw.live.DeskSettings(overlap=2)
    with hw.live.open(path, learner=hw.OLSF(), desk=desk, **AT_ONCE) as plant:
        one, two, three = ask(plant, 1.0, 2.0, 3.0)
        plant.desk.skip(one, by="ada")
        plant.desk.unsure(two, by="ada")
        plant.desk.answer(three, True, by="ada")
        plant.desk.lease("bob", 3)
    with hw.live.open(path) as plant:
        assert plant.desk.lease("ada", 9) == []
        assert sorted(numbers(plant.desk.lease("bob", 9))) == [one, two, three]
        assert plant.desk.answer(three, True, by="bob").state == "applied"
        with pytest.raises(AnswerError, match="with another label"):
            plant.desk.answer(three, False, by="bob")


def test_an_export_carries_what_people_did(path: str, tmp_path: Path) -> None:
    desk = hw.live.DeskSettings(overlap=2, deadline=1e6)
    with hw.live.open(path, learner=hw.OLSF(), desk=desk, **AT_ONCE) as plant:
        plant._live.journal.clock = clock = Clock()
        ask(plant, 0.5)
        clock.now += 2e6
        one, two, three, four = ask(plant, 1.0, 2.0, 3.0, 4.0)
        for by, label in (("ada", True), ("bob", False)):
            plant.desk.answer(one, label, by=by)
            plant.desk.answer(two, label, by=by)
            plant.desk.answer(three, True, by=by)
        plant.desk.settle(one, True, by="eve")
        plant.desk.bad(four, by="ada")
        plant.wait()
        expected = plant.status().questions
    assert expected == {"expired": 1, "settled": 1, "disputed": 1, "applied": 1, "bad": 1}
    hw.live.export_stream(path, tmp_path / "facts.jsonl")
    hw.live.import_stream(path + "2", tmp_path / "facts.jsonl")
    with hw.live.open(path + "2", desk=desk) as plant:
        assert plant.status().questions == expected
        (dispute,) = plant.desk.disputes()
        assert dispute.labels == {"ada": True, "bob": False}
