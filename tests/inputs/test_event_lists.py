"""A list of events is a batch: the same results as event by event."""

import math
from collections import OrderedDict
from typing import Any

import numpy as np
import pandas as pd
import pytest

import headwater as hw
from headwater.errors import EventError

EVENTS: list[dict[Any, Any]] = [
    {"rain": 2.0, "site": "roof", "on": True},
    {"wind": -1, 7: 0.5, "site": None},
    {"rain": math.nan, "on": np.bool_(False), "tiny": np.float32(0.25)},
    {},
    OrderedDict(wind=3.0, rain=-1.5, site="yard"),
    {"site": "roof", "wind": 0, "new": 1.0},
]
LABELS = [True, False, True, None, False, True]


def loop(model: hw.Learner) -> list[hw.Decision]:
    decisions = []
    for x, y in zip(EVENTS, LABELS, strict=True):
        decisions.append(model.decide_one(x))
        if decisions[-1].asked and y is not None:
            model.answer(decisions[-1], y)
    return decisions


@pytest.mark.parametrize("make", [hw.Linear, hw.FLLS, hw.Spring, hw.OLVF], ids=lambda c: c.__name__)
@pytest.mark.parametrize("kind", [list, tuple])
def test_a_list_of_events_gives_what_the_event_loop_gives(make: Any, kind: Any) -> None:
    by_list, by_event = make(), make()
    trace = by_list.simulate(kind(EVENTS), LABELS)
    decisions = loop(by_event)
    assert by_list.to_bytes() == by_event.to_bytes()
    assert trace.margin.tolist() == [decision.margin for decision in decisions]
    assert by_list.predict_many(EVENTS).tolist() == [by_event.predict_one(x) for x in EVENTS]
    assert by_list.margin_many(EVENTS).tolist() == [by_event.margin_one(x) for x in EVENTS]
    shares = [list(by_event.predict_proba_one(x).values()) for x in EVENTS]
    assert by_list.predict_proba_many(EVENTS).tolist() == shares


def test_learning_a_list_is_learning_each_of_its_events() -> None:
    by_list, by_event = hw.OLSF(), hw.OLSF()
    by_list.learn_many(EVENTS[:3], LABELS[:3])
    for x, y in zip(EVENTS[:3], LABELS[:3], strict=True):
        assert y is not None
        by_event.learn_one(x, y)
    assert by_list.to_bytes() == by_event.to_bytes()


def test_no_events_are_a_batch_without_rows() -> None:
    model = hw.Linear()
    before = model.to_bytes()
    assert len(model.simulate([], [])) == 0
    assert model.predict_many([]).tolist() == []
    assert model.to_bytes() == before


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        ({"a": math.inf}, "X, row 1: feature 'a' must be a finite number, got inf."),
        ({"a": [1]}, r"X, row 1: feature 'a' must be a number, a bool, a str, None or NaN"),
        ({1.5: 1.0}, "X, row 1: a feature's name must be a str or an int"),
        ({"a": "b", "a=b": 1.0}, "X, row 1: feature 'a=b' appears twice."),
        ([1.0], "X, row 1: expected a mapping from feature name to value, got list."),
        ({"\ud800": 1.0}, "X, row 1: feature .* is not valid text"),
    ],
)
def test_an_event_that_cannot_be_read_is_named_and_nothing_changes(bad: Any, sentence: str) -> None:
    model = hw.Linear()
    before = model.to_bytes()
    with pytest.raises(EventError, match=sentence):
        model.simulate([{"a": 1.0}, bad], [True, False])
    assert model.to_bytes() == before


def test_names_are_those_of_the_events() -> None:
    with pytest.raises(EventError, match="names: the events of a list have names already"):
        hw.Linear().predict_many([{"a": 1.0}], names=["b"])


def test_an_evaluation_takes_a_list_of_events_too() -> None:
    events = [{"a": float(n % 5 - 2), "s": "xy"[n % 2]} for n in range(60)]
    labels = [n % 5 > 2 for n in range(60)]
    frame = pd.DataFrame(events)
    by_list, by_frame, by_event = hw.Linear(), hw.Linear(), hw.Linear()
    hw.evaluation.prequential(by_list, (events, labels))
    hw.evaluation.prequential(by_frame, (frame, labels))
    by_event.simulate(events, labels)
    assert by_list.to_bytes() == by_frame.to_bytes() == by_event.to_bytes()
