"""Dicts of every kind are read alike: by the same names and values the same is learned."""

import copy
import enum
import json
import math
import pickle
from collections import OrderedDict
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

import headwater as hw
from headwater.errors import EventError

NAMES = [f"sensor-{i}" for i in range(40)]


class Colour(enum.StrEnum):
    RED = "red"


def plain_events() -> list[dict[Any, Any]]:
    values = np.random.default_rng(3).normal(size=(60, len(NAMES))).round(3).tolist()
    return [
        {
            name: value
            for i, (name, value) in enumerate(zip(NAMES, row, strict=True))
            if i % 5 != t % 7
        }
        for t, row in enumerate(values)
    ]


def run(model: hw.Learner, events: list[Any]) -> bytes:
    for number, event in enumerate(events):
        decision = model.decide_one(event)
        if decision.asked:
            model.answer(decision, number % 3 == 0)
        model.predict_one(event)
    return model.to_bytes()


MODELS = {
    "FLLS": lambda: hw.FLLS(kept_share=0.5),
    "Spring": lambda: hw.Spring(label_rate=0.5),
    "evicting": lambda: hw.FLLS(max_features=10),
}


def with_absent(event: dict[Any, Any], absent: Any) -> dict[Any, Any]:
    return {name: event.get(name, absent) for name in NAMES}


REWRITTEN = {
    "None in place of absent values": lambda event: with_absent(event, None),
    "NaN in place of absent values": lambda event: with_absent(event, math.nan),
    "NumPy's NaN in place of absent values": lambda event: with_absent(event, np.float32("nan")),
    "NumPy's floats": lambda event: {name: np.float64(value) for name, value in event.items()},
    "fractions": lambda event: {name: Fraction(value) for name, value in event.items()},
    "names that are new objects": lambda event: json.loads(json.dumps(event)),
    "names of NumPy": lambda event: {np.str_(name): value for name, value in event.items()},
    "an ordered dict": OrderedDict,
    "a mapping that is no dict": MappingProxyType,
}


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("rewrite", REWRITTEN.values(), ids=REWRITTEN)
def test_the_same_event_in_another_form_teaches_the_same(make: Any, rewrite: Any) -> None:
    events = plain_events()
    assert run(make(), [rewrite(event) for event in events]) == run(make(), events)
    mixed = [rewrite(event) if number % 2 else event for number, event in enumerate(events)]
    assert run(make(), mixed) == run(make(), events)


NUMPY = (
    *("bool_", "int8", "int16", "int32", "int64", "longlong", "uint8", "uint16", "uint32"),
    *("uint64", "ulonglong", "float16", "float32", "float64", "longdouble"),
)


@pytest.mark.parametrize("kind", [bool, int, *(getattr(np, kind) for kind in NUMPY)])
def test_a_number_of_any_type_is_its_float(kind: Any) -> None:
    for number in (0, 1, 100):
        value = kind(number)
        model = hw.PAA()
        assert model.decide_one({"a": 2.0, "b": value}).features == {"a": 2.0, "b": float(value)}


def test_texts_are_indicators_whether_they_are_known_or_not() -> None:
    model = hw.PAA()
    event = {"a": 1.0, "colour": "red", 7: "x"}
    for _ in range(3):
        decision = model.decide_one(event)
        assert decision.features == {"a": 1.0, "colour=red": 1.0, "7=x": 1.0}
        assert decision.event == event
        model.answer(decision, True)
    assert model.decide_one({"colour": Colour.RED}).features == {"colour=red": 1.0}
    assert set(model.weights()) == {"a", "colour=red", "7=x"}


@pytest.mark.parametrize("known", [False, True])
def test_an_indicator_with_the_name_of_another_feature_is_refused(known: bool) -> None:
    model = hw.PAA()
    if known:
        model.learn_one({"a=x": 1.0, "b": 2.0}, True)
    before = model.to_bytes()
    for event in ({"a": "x", "a=x": 1.0}, {"a=x": 1.0, "b": 1.0, "a": "x"}):
        with pytest.raises(EventError, match="'a=x' appears twice"):
            model.learn_one(event, True)
    assert model.to_bytes() == before


@pytest.mark.parametrize("known", [False, True])
def test_numbers_as_names_are_found_again(known: bool) -> None:
    model = hw.PAA()
    if known:
        model.learn_one({-5: 1.0, 3: 1.0, "3": 1.0, 2**40: 1.0}, True)
    decision = model.decide_one({3: 1.0, "3": 2.0, -5: 3.0, 2**40: 4.0})
    assert decision.features == {3: 1.0, "3": 2.0, -5: 3.0, 2**40: 4.0}
    with pytest.raises(EventError, match="64 bits"):
        model.decide_one({2**64: 1.0})


@pytest.mark.parametrize("value", [1.0, None, "text"])
@pytest.mark.parametrize(
    ("name", "sentence"), [((1, 2), "must be a str or an int"), ("\udc80", "not valid text")]
)
def test_a_bad_name_is_refused_whatever_its_value(name: Any, sentence: str, value: Any) -> None:
    model = hw.PAA()
    before = model.to_bytes()
    with pytest.raises(EventError, match=sentence):
        model.learn_one({"a": 1.0, name: value}, True)
    assert model.to_bytes() == before


def test_a_decision_keeps_its_names_when_its_learner_is_gone() -> None:
    model = hw.PAA()
    model.learn_one({"rain": 1.0, 3: 1.0}, True)
    decision = model.decide_one({"rain": 2.0, "new": 4.0, 3: 5.0, "site": "roof"})
    features = {"rain": 2.0, "new": 4.0, 3: 5.0, "site=roof": 1.0}
    copied, pickled = copy.copy(model), pickle.loads(pickle.dumps(decision))
    stored = hw.Decision.from_bytes(decision.to_bytes(), decision.event)
    model.answer(decision, False)
    for other in (pickled, stored):
        assert other.features == features
        once = copy.copy(copied)
        once.answer(other, False)
        assert once.weights() == model.weights()
    once = copy.copy(copied)  # its ids are its own
    del model
    assert decision.features == features


def test_a_name_whose_object_is_gone_is_no_other_name() -> None:
    model = hw.PAA()
    for number in range(2_000):  # their objects are at few different addresses
        name = f"name-{number}"
        model.learn_one({name: 1.0}, True)
        assert model.predict_one({name: 1.0}) is True
    assert len(model.features()) == 2_000


class Readings:
    """An object whose attributes are an event: such dicts share their names."""

    def __init__(self) -> None:
        self.rain, self.wind, self.sun = 1.0, 2.0, 3.0


def dicts_of_every_making() -> list[dict[Any, Any]]:
    many = {f"name-{i}": float(i) for i in range(1_000)}
    thinned = dict(many)
    for i in range(0, 1_000, 3):
        del thinned[f"name-{i}"]
    first, last, refilled = dict(many), dict(many), dict(many)
    del first["name-0"]
    last.popitem()
    refilled.clear()
    refilled["rain"] = 1.0
    mixed: dict[Any, Any] = {"a": 1.0, "b": None, "c": 2.0, 7: 3.0, "ä": 4.0, "€": 5.0, "𝔘": 6.0}
    del mixed["c"]
    grown = vars(Readings()) | {"more": 4.0}
    replaced = vars(Readings())
    replaced["other"] = 5.0
    numbers = {i * 1_000: 1.0 for i in range(300)}
    del numbers[5_000]
    same: dict[Any, Any] = dict.fromkeys("abc", 1.0)
    whole = [vars(Readings()), grown, replaced, same, {}, numbers]
    return [many, thinned, first, last, refilled, mixed, *whole, dict(rain=1.0, wind=2.0)]


def test_items_are_read_in_their_order_however_a_dict_came_about() -> None:
    model = hw.PAA()
    for turn in range(3):  # new, known, and known by their objects
        for event in dicts_of_every_making():
            decision = model.decide_one(event)
            given = [(name, value) for name, value in event.items() if value is not None]
            assert list(decision.features.items()) == given
            model.answer(decision, turn == 1)


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_new_objects_in_any_order_and_alphabet_are_the_names_that_they_say(make: Any) -> None:
    draws = np.random.default_rng(5)
    names = ["a", "b", "ab", "sensor-1", "sensor-2", "ä", "€-1", "𝔘", "x" * 40, "x" * 39 + "y", ""]
    values = draws.normal(size=(300, len(names))).round(3).tolist()
    events, fresh = [], []
    for number, row in enumerate(values):
        order = draws.permutation(len(names)) if number % 3 else range(len(names))
        events.append({names[i]: row[i] for i in order})
        fresh.append({names[i].encode().decode(): row[i] for i in order})
    pairs = zip(events, fresh, strict=True)
    mixed = [new if 50 < t < 200 else old for t, (old, new) in enumerate(pairs)]
    assert run(make(), fresh) == run(make(), events) == run(make(), mixed)


def test_an_event_that_was_refused_leaves_nothing_for_the_next() -> None:
    for make in (lambda: hw.Spring(label_rate=1.0), lambda: hw.Linear(query="all")):
        model, other = make(), make()
        waiting = [m.decide_one({"a": 1.0, "b": 2.0}) for m in (model, other)]
        with pytest.raises(EventError):
            model.decide_one({"a": 1.0, "c": math.inf})
        with pytest.raises(EventError):
            model.decide_one({"a": 1.0, "(intercept)": 1.0, "c": 1.0})
        for m, decision in zip((model, other), waiting, strict=True):
            if decision.asked:
                m.answer(decision, True)
        assert model.to_bytes() == other.to_bytes()
