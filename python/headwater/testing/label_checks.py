"""The labels that a learner knows, and how it writes them."""

import copy
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from headwater.errors import LabelError, ParameterError
from headwater.learners.base import Learner
from headwater.testing.expect import refused, same, true
from headwater.testing.small_stream import Make, SmallStream, csr, dense, follow, halfway
from headwater.types import Label


def check_a_label_that_does_not_fit_is_refused(make: Make, stream: SmallStream) -> None:
    """A label that does not fit is an error, and nothing has changed."""
    model = halfway(make, stream)
    before = model.to_bytes()
    wrong: list[Any] = [None, math.nan, [], 0.5 if stream.task != "regression" else "half"]
    for label in wrong:
        with refused(LabelError, f"learn_one with the label {label!r}"):
            model.learn_one({"a": 1.0, "new": 1.0}, label)
    same(model.to_bytes(), before, "the state after an error")


def check_probabilities_agree_with_the_prediction(make: Make, stream: SmallStream) -> None:
    """Probabilities are given for every label, sum to 1 and are largest for the prediction."""
    model = halfway(make, stream)
    for event in stream.events:
        shares = model.predict_proba_one(event)
        same(tuple(shares), model.labels, "the labels of the probabilities")
        total = sum(shares.values())
        true(math.isclose(total, 1.0), f"the probabilities: expected a sum of 1, got {total}")
        prediction: Any = model.predict_one(event)
        same(shares.get(prediction), max(shares.values()), "the probability of the prediction")


def check_two_classes_may_be_written_in_many_ways(make: Make, stream: SmallStream) -> None:
    """Bool, 0/1, −1/+1 and `classes=` are the same two classes, told as they were written."""
    plain = make()
    expected = _both_then_follow(plain, stream, (False, True))
    forms: list[tuple[Any, Any, tuple[Label, Label]]] = [
        (0, 1, (0, 1)),
        (-1, 1, (-1, 1)),
        (0.0, 1.0, (0, 1)),
        (np.False_, np.True_, (False, True)),
        (np.int64(0), np.int8(1), (0, 1)),
        (np.float32(-1), np.float64(1), (-1, 1)),
    ]
    for negative, positive, spoken in forms:
        model = make()
        found = _both_then_follow(model, stream, (negative, positive))
        same(found, expected, f"the decisions with the labels {negative!r} and {positive!r}")
        _check_spoken(model, plain, stream, spoken)
    pairs: list[tuple[Any, Any]] = [("ham", "spam"), (7, 3), (True, False), ("1", 1)]
    for classes in pairs:
        model = make(classes=classes)
        _check_spoken(model, make(), stream, classes)
        found = _both_then_follow(model, stream, classes)
        same(found, expected, f"the decisions with classes={classes!r}")
        _check_spoken(model, plain, stream, classes)


def _both_then_follow(model: Learner, stream: SmallStream, classes: tuple[Any, Any]) -> list[Any]:
    """Learn an event of each class, then follow the stream; everything but the predictions."""
    model.learn_one({0: 0.5}, classes[1])
    model.learn_one({0: -0.5}, classes[0])
    labels = [classes[bool(label)] for label in stream.labels]
    return [step[1:] for step in follow(model, stream.events, labels)]


def _check_spoken(
    model: Learner, plain: Learner, stream: SmallStream, classes: tuple[Label, Label]
) -> None:
    """Answers name the classes in their own form, type included; `plain` has learned bools."""
    spoken = [repr(label) for label in classes]
    same([repr(label) for label in model.labels], spoken, "the labels")
    expected = [spoken[bool(plain.predict_one(event))] for event in stream.events]
    same([repr(model.predict_one(event)) for event in stream.events], expected, "predict_one")
    many = model.predict_many(csr(stream.events)).tolist()
    same([repr(label) for label in many], expected, "predict_many")
    same(tuple(model.predict_proba_one({})), classes, "the labels of the probabilities")


def check_predictions_take_the_form_of_the_labels_learned(make: Make, stream: SmallStream) -> None:
    """The first labels say whether classes are bool, 0/1 or −1/+1; another form is refused."""
    model = make()
    expected = model.margin_one({}) > 0  # known costs may speak for the positive class
    same(model.predict_one({}), expected, "the prediction of a new learner")
    model.learn_one(stream.events[0], 1)
    same(repr(model.labels), "(0, 1)", "the labels after a 1 alone")
    signed = copy.copy(model)
    signed.learn_one(stream.events[1], -1)
    same(signed.labels, (-1, 1), "the labels after 1 and -1")
    with refused(LabelError, "a 0 after 1 and -1"):
        signed.learn_one(stream.events[1], 0)
    model.learn_one(stream.events[1], 0)
    same(repr(model.labels), "(0, 1)", "the labels after 1 and 0")
    with refused(LabelError, "a -1 after 1 and 0"):
        model.learn_one(stream.events[1], -1)


def check_classes_are_met_as_they_come(make: Make, stream: SmallStream) -> None:
    """With several classes none is known at first, and each is added when it is learned."""
    model = make()
    event = stream.events[1]
    found = (model.labels, model.predict_one(event), model.margin_one(event))
    same(found, ((), None, 0.0), "labels, prediction and margin of a new learner")
    same(model.predict_proba_one(event), {}, "the probabilities of a new learner")
    nothing = [None] * len(stream.events)
    same(model.predict_many(csr(stream.events)).tolist(), nothing, "predict_many")
    model.learn_one({"red": 1.0}, "ham")
    told = (model.predict_one({"red": 1.0}), model.margin_one({"red": 1.0}))
    same(told, ("ham", 0.0), "prediction and margin with one class")
    model.learn_one({"blue": 1.0}, 3)
    model.learn_one({"green": 1.0}, True)
    same(repr(model.labels), "('ham', 3, True)", "the labels in the order of learning")
    spoken = repr(model.predict_one({"blue": 1.0}))
    true(spoken in ("'ham'", "3", "True"), f"the prediction: expected a known label, got {spoken}")


def check_classes_may_be_known_from_the_start(make: Make, stream: SmallStream) -> None:
    """`classes=` names classes before the first label; others are added behind them."""
    model = make(classes=("tea", "ham", "egg"))
    same(list(model.labels), ["tea", "ham", "egg"], "the labels")
    same(model.predict_one({}), "tea", "the prediction of a new learner")
    follow(model, stream.events, stream.labels)
    model.learn_one({}, "jam")
    same(list(model.labels), ["tea", "ham", "egg", "jam"], "the labels")


def check_class_labels_of_any_kind_are_the_same(make: Make, stream: SmallStream) -> None:
    """Classes may be texts or whole numbers of any type."""
    words = make()
    expected = [step[1:] for step in follow(words, stream.events, stream.labels)]
    number = {word: place for place, word in enumerate(words.labels)}
    spellings: list[Callable[[int], Any]] = [int, float, np.int32, np.float32]
    for spell in spellings:
        labels = [spell(number.get(label, 9)) for label in stream.labels]
        model = make()
        found = [step[1:] for step in follow(model, stream.events, labels)]
        same(found, expected, f"the decisions with labels of the type {spell.__name__}")
        types = [type(label) for label in model.labels]
        same(types, [int] * len(number), "the types of the labels")


def check_numbers_have_no_probabilities(make: Make, stream: SmallStream) -> None:
    """A learner of numbers predicts floats and refuses to give probabilities."""
    model = halfway(make, stream)
    same(model.labels, (), "the labels")
    asks: list[Callable[[], Any]] = [
        lambda: model.predict_proba_one({}),
        lambda: model.predict_proba_many([[1.0]]),
    ]
    for ask in asks:
        with refused(ParameterError, "probabilities", says=("predicts a number",)):
            ask()
    same(type(model.predict_one(stream.events[1])), float, "the type of a prediction")
    same(str(model.predict_many(dense(stream.events)).dtype), "float64", "the type of predict_many")
