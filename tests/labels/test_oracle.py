"""The oracle answers as it is told to: in time, late, never, wrongly, twice."""

from collections import Counter
from math import nan
from typing import Any

import numpy as np
import pytest

import headwater as hw
from headwater.errors import LabelError, ParameterError
from headwater.labels import Oracle


def arrivals(oracle: Oracle, questions: int, more: int = 0) -> list[tuple[int, int, Any]]:
    """(time of arrival, event, label), every event asked for; `more` events come after them."""
    model = hw.OLSF()
    got = []
    for event in range(questions + more):
        oracle.advance()
        if event < questions:
            oracle.ask(event, model.decide_one({"event": float(event)}))
        for _, decision, label in oracle.answers():
            got.append((event, int(decision.features["event"]), label))
    return got


def test_an_answer_without_delay_is_there_at_once() -> None:
    assert arrivals(Oracle([True, False]), 2) == [(0, 0, True), (1, 1, False)]


def test_a_delay_is_counted_in_events() -> None:
    assert arrivals(Oracle(["a", "b"], delay=3), 2, more=4) == [(3, 0, "a"), (4, 1, "b")]


def test_a_delay_may_depend_on_the_event_and_turn_the_order_round() -> None:
    oracle = Oracle([0, 1, 2], delay=lambda event: 4 - 2 * int(event))
    assert [event for _, event, _ in arrivals(oracle, 3, more=3)] == [2, 1, 0]


def test_random_delays_lie_between_their_limits() -> None:
    got = arrivals(Oracle([True] * 500, delay=(3, 9)), 500, more=9)
    delays = [time - event for time, event, _ in got]
    assert len(got) == 500
    assert set(delays) == set(range(3, 10))


def test_some_questions_are_never_answered() -> None:
    oracle = Oracle([True] * 2000, never=0.25)
    assert len(arrivals(oracle, 2000)) == pytest.approx(1500, abs=80)
    assert oracle.asked == 2000
    assert oracle.waiting == 0


@pytest.mark.parametrize("missing", [None, nan, np.nan])
def test_a_label_that_is_missing_is_never_given(missing: Any) -> None:
    assert arrivals(Oracle([missing, True]), 2) == [(1, 1, True)]


def test_wrong_answers_are_other_labels() -> None:
    labels = ["ham", "egg", "tea"] * 700
    given = arrivals(Oracle(labels, wrong=0.3), 2100)
    got = Counter((labels[event], label) for _, event, label in given)
    right = sum(count for (truth, label), count in got.items() if truth == label)
    assert right == pytest.approx(1470, abs=90)
    assert len(got) == 9  # every label is taken for every other now and then


def test_an_answer_may_come_twice() -> None:
    got = arrivals(Oracle([True] * 3, twice=1.0), 3, more=1)
    assert [event for _, event, _ in got] == [0, 0, 1, 1, 2, 2]


def test_every_question_costs_its_price() -> None:
    oracle = Oracle([True, False, None], never=1.0, price=2.5)
    arrivals(oracle, 3)
    assert oracle.spent == 7.5


def test_the_same_seed_gives_the_same_answers_and_shares_do_not_disturb_each_other() -> None:
    def run(**options: Any) -> list[tuple[int, int, Any]]:
        return arrivals(Oracle([True, False] * 50, delay=(0, 5), **options), 100, more=6)

    assert run(seed=1, wrong=0.2) == run(seed=1, wrong=0.2)
    assert run(seed=1) != run(seed=2)
    told = {event: time for time, event, _ in run(seed=1)}
    assert {event: time for time, event, _ in run(seed=1, wrong=0.5)} == told


def test_labels_come_from_arrays_and_mappings() -> None:
    assert [label for *_, label in arrivals(Oracle(np.array([1, 0])), 2)] == [1, 0]
    oracle = Oracle({"monday": True})
    oracle.advance()
    oracle.ask("monday", hw.PAA().decide_one({}))
    assert [label for _, _, label in oracle.answers()] == [True]


def test_an_event_that_it_does_not_know_is_refused() -> None:
    with pytest.raises(LabelError, match="no label of event 'tuesday'"):
        Oracle({"monday": True}).ask("tuesday", hw.PAA().decide_one({}))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"delay": -1}, "delay"),
        ({"delay": 1.5}, "delay"),
        ({"delay": True}, "delay"),
        ({"delay": (5, 2)}, "delay"),
        ({"delay": "soon"}, "delay"),
        ({"never": 1.5}, "never"),
        ({"wrong": -0.1}, "wrong"),
        ({"twice": nan}, "twice"),
        ({"price": -1}, "price"),
        ({"seed": 0.5}, "seed"),
    ],
)
def test_impossible_parameters_are_refused_by_name(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ParameterError, match=f"Oracle: {says} must be"):
        Oracle([True, False], **options)


def test_wrong_answers_need_two_labels_and_labels_a_collection() -> None:
    with pytest.raises(ParameterError, match="two different labels"):
        Oracle([True, True], wrong=0.1)
    with pytest.raises(ParameterError, match="a sequence or a mapping"):
        Oracle("yes")
    oracle = Oracle([True], delay=lambda event: -1)
    with pytest.raises(ParameterError, match="delay of event 0"):
        oracle.ask(0, hw.PAA().decide_one({}))
