"""Whatever is wrong is refused by a readable sentence, and nothing has changed.

The tables hold a claim, the call, the exception and a part of its sentence.
"""

import dataclasses
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from math import inf, isfinite, nan
from pathlib import Path
from typing import Any, NamedTuple

import msgpack  # type: ignore[import-untyped]
import numpy as np
import pytest
import scipy.sparse as sp  # type: ignore[import-untyped]

import headwater as hw
from headwater import streams
from headwater.adapters.sklearn import HeadwaterClassifier, _SklearnEstimator
from headwater.errors import (
    AnswerError,
    EventError,
    HeadwaterError,
    LabelError,
    ModelFileError,
    ParameterError,
    StepError,
)
from headwater.evaluation import (
    ErrorEstimate,
    Scores,
    cross_validated,
    learning_curve,
    prequential,
)
from headwater.learners.base import learner_classes
from headwater.parameters import Limit, argument_limits, field_limits
from headwater.rules.component import Component
from headwater.streams import SensorNetwork, Trapezoid, Varying
from model_bytes import put_together, take_apart

TWICE = [[0.5, 1.0], [1.0, nan]]

DEBRIS = [
    *("PanicException", "Err(", "Ok(", "Some(", "{:?}", "{}", "\\u{", "::", "unwrap", "enum "),
    *("Traceback", "__init__", "cannot be converted", "NoneType' object", "\n"),
]
"""What no reader should see."""


def assert_readable(text: str) -> None:
    """One or two sentences: where, then what was expected and what came."""
    where, _, what = text.partition(": ")
    assert where, text
    assert what, text
    assert text[-1] in ".?", text
    assert not [debris for debris in DEBRIS if debris in text], text


# Learners to be wronged


def taught(model: hw.Learner, negative: Any = False, positive: Any = True) -> hw.Learner:
    model.learn_one({"rain": 1.0, "wind": 0.5}, positive)
    model.learn_one({"rain": -1.0, "sun": 2.0}, negative)
    return model


def bools() -> hw.Learner:
    return taught(hw.PAA())


def zeros_and_ones() -> hw.Learner:
    return taught(hw.PAA(), 0, 1)


def signs() -> hw.Learner:
    return taught(hw.PAA(), -1, 1)


def ham_or_spam() -> hw.Learner:
    return taught(hw.PAA(classes=("ham", "spam")), "ham", "spam")


def with_intercept() -> hw.Learner:
    return taught(hw.Linear())


def with_step(C: float) -> hw.Learner:
    return hw.PAA(C=C)


def steep() -> hw.Learner:
    """A learner with a weight of 1e150."""
    model = hw.PAA(update="pa")
    model.learn_one({"rain": 1e-150}, True)
    return model


class Row(NamedTuple):
    claim: str
    call: Callable[[Any], object]
    error: type[Exception]
    says: str
    make: Callable[[], hw.Learner] = bools


class Index:
    """A whole number that is equal to no other."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __index__(self) -> int:
        return self.number


class Pairs(Mapping[Any, Any]):
    """A mapping that, as those of some web frameworks do, lists a name twice."""

    def __init__(self, *pairs: tuple[Any, Any]) -> None:
        self.pairs = pairs

    def __getitem__(self, name: Any) -> Any:
        return dict(self.pairs)[name]

    def __iter__(self) -> Iterator[Any]:
        return (name for name, _ in self.pairs)

    def __len__(self) -> int:
        return len(self.pairs)

    def items(self) -> Any:
        return self.pairs


def learn(event: Any, label: Any = True) -> Callable[[Any], object]:
    return lambda model: model.learn_one(event, label)


def simulate(X: Any, y: Any, **names: Any) -> Callable[[Any], object]:
    return lambda model: model.simulate(X, y, **names)


def made(name: str, **parameters: Any) -> Callable[[Any], object]:
    return lambda _: getattr(hw, name)(**parameters)


def named(name: Any, **parameters: Any) -> Callable[[Any], object]:
    return lambda _: hw.named(name, **parameters)


def rows(indptr: Any, indices: Any, data: Any, names: Any = ("a", "b")) -> hw.Rows:
    return hw.Rows(np.array(indptr), np.array(indices), np.array(data), names)


EVENTS = [
    Row("an event is no list", learn([1.0]), EventError, "a mapping"),
    Row("an event is no list of pairs", learn([("rain", 1.0)]), EventError, "got list"),
    Row("an event is not None", learn(None), EventError, "got NoneType"),
    Row("an event is no text", learn("rain"), EventError, "got str"),
    Row("an event is no bytes", learn(b"rain"), EventError, "got bytes"),
    Row("an event is no array", learn(np.ones(2)), EventError, "got ndarray"),
    Row("a name is no float", learn({1.5: 1.0}), EventError, "a str or an int, got 1.5"),
    Row("a name is no tuple", learn({("a", 1): 1.0}), EventError, "got ('a', 1) (tuple)"),
    Row("a name is no bool", learn({True: 1.0}), EventError, "got True (bool)"),
    Row("a name is no bool of NumPy", learn({np.True_: 1.0}), EventError, "(bool"),
    Row("a name is not None", learn({None: 1.0}), EventError, "got None"),
    Row("a name is no bytes", learn({b"rain": 1.0}), EventError, "got b'rain' (bytes)"),
    Row("a name fits 64 bits", learn({2**63: 1.0}), EventError, f"{2**63}: a name that is an int"),
    Row("a name is text", learn({"\ud800": 1.0}), EventError, r"'\ud800' is not valid text"),
    Row("an absent feature has a name too", learn({1.5: None}), EventError, "got 1.5"),
    Row("a value is finite", learn({"rain": inf}), EventError, "'rain' must be a finite number"),
    Row("a value is finite below", learn({"rain": -inf}), EventError, "got -inf"),
    Row("NumPy's infinity is one", learn({"rain": np.float32(inf)}), EventError, "finite"),
    Row("a value is within the floats", learn({"rain": 10**400}), EventError, "finite number"),
    Row("a value is no list", learn({"rain": [1.0]}), EventError, "'rain' must be a number"),
    Row("a value is no mapping", learn({"rain": {"mm": 1}}), EventError, "{'mm': 1} (dict)"),
    Row("a value is no array", learn({"rain": np.ones(2)}), EventError, "(ndarray)"),
    Row("a value is no array of one", learn({"rain": np.ones(1)}), EventError, "(ndarray)"),
    Row("a value is no bytes", learn({"rain": b"1"}), EventError, "(bytes)"),
    Row("a value is not complex", learn({"rain": 1j}), EventError, "1j (complex)"),
    Row("a value is no date", learn({"rain": datetime(2020, 1, 1)}), EventError, "(datetime)"),
    Row("a text value is text", learn({"sky": "\ud800"}), EventError, "'sky' is not valid text"),
    Row(
        "an indicator may not be there already",
        learn({"sky": "blue", "sky=blue": 1.0}),
        EventError,
        "'sky=blue' appears twice",
    ),
    Row("two indicators differ", learn({1: "x", "1": "x"}), EventError, "appears twice"),
    Row("a number names one feature", learn({1: 1.0, Index(1): 2.0}), EventError, "twice"),
    Row("a name is listed once", learn(Pairs(("a", 1.0), ("a", 2.0))), EventError, "twice"),
    Row(
        "the intercept is the learner's own",
        learn({"(intercept)": 1.0}),
        EventError,
        "intercept=False",
        with_intercept,
    ),
    Row(
        "so it is before the first event",
        lambda model: model.predict_one({"(intercept)": 1.0}),
        EventError,
        "intercept=False",
        hw.Linear,
    ),
    Row("a squared length is finite", learn({"rain": 1e200}), StepError, "its squared length"),
    Row("a weight is finite", learn({"new": 1e-155}), StepError, "a weight", steep),
    Row(
        "a margin is finite",
        lambda model: model.predict_one({"rain": 1e200}),
        StepError,
        "its margin",
        steep,
    ),
    Row(
        "a score is finite",
        lambda model: model.predict_proba_one({"rain": 1e200}),
        StepError,
        "its margin",
        steep,
    ),
    Row(
        "a query rule that needs the length refuses it",
        lambda model: model.decide_one({"rain": 1e200}),
        StepError,
        "its squared length",
        lambda: taught(hw.named("SEL-ada", by_norm=True)),
    ),
]

LABELS = [
    Row("a label is not None", learn({}, None), LabelError, "got None"),
    Row("a label is not NaN", learn({}, nan), LabelError, "got nan"),
    Row("a label is whole", learn({}, 0.5), LabelError, "got 0.5."),
    Row("a label is finite", learn({}, inf), LabelError, "got inf"),
    Row("a label fits 64 bits", learn({}, 2**64), LabelError, str(2**64)),
    Row("a label is no bytes", learn({}, b"spam"), LabelError, "b'spam' (bytes)"),
    Row("a label is no list", learn({}, [1]), LabelError, "[1] (list)"),
    Row("a label is no array", learn({}, np.ones(2)), LabelError, "(ndarray)"),
    Row("a label is not complex", learn({}, 1j), LabelError, "1j (complex)"),
    Row("a label is no object", learn({}, object()), LabelError, "(object)"),
    Row("a label is text", learn({}, "\ud800"), LabelError, r"'\ud800'"),
    Row("two classes have two labels", learn({}, 2), LabelError, "0 or 1, -1 or +1", hw.PAA),
    Row("other labels are given first", learn({}, "spam"), LabelError, "classes=", hw.PAA),
    Row("bools are no signs", learn({}, -1), LabelError, "were True or False, got -1"),
    Row("zeros are no signs", learn({}, -1), LabelError, "were 0 or 1, got -1", zeros_and_ones),
    Row("signs are no zeros", learn({}, 0), LabelError, "were -1 or +1, got 0", signs),
    Row("a given label is meant", learn({}, "egg"), LabelError, "'ham' or 'spam'", ham_or_spam),
    Row("given labels are no bools", learn({}, True), LabelError, "got True", ham_or_spam),
    Row("a decision is one", lambda m: m.answer({"rain": 1.0}, True), AnswerError, "Decision"),
]

BATCHES = [
    Row("X is no row", simulate([1.0], [1]), EventError, "two dimensions, got 1"),
    Row("X is no cube", simulate(np.ones((1, 1, 1)), [1]), EventError, "two dimensions, got 3"),
    Row("X is there", simulate(None, []), EventError, "X: expected"),
    Row("X is not ragged", simulate([[1.0], [1.0, 2.0]], [1, 0]), EventError, "X: expected"),
    Row("X holds no words", simulate([["rain"]], [1]), EventError, "numbers"),
    Row("X holds no texts of numbers", simulate([["1.5"]], [1]), EventError, "numbers"),
    Row("... in an array", simulate(np.array([["1.5"]]), [1]), EventError, "numbers"),
    Row("... in a CSR", simulate(rows([0, 1], [0], ["1.5"]), [1]), EventError, "numbers"),
    Row("X holds events only", simulate([{"rain": 1.0}, [2.0]], [1, 0]), EventError, "X, row 1"),
    Row("X is not complex", simulate(np.array([[1j]]), [1]), EventError, "numbers"),
    Row("a CSR is not complex", simulate(rows([0, 1], [0], [1j]), [1]), EventError, "numbers"),
    Row("X holds no dates", simulate(np.array([["2020"]], "M8[Y]"), [1]), EventError, "numbers"),
    Row("X is finite", simulate([[1.0, 2.0], [3.0, inf]], [1, 0]), EventError, "row 1: feature 1"),
    Row("X is within the floats", simulate([[10**400]], [1]), EventError, "X: "),
    Row(
        "a named column is called by its name",
        simulate([[1.0, -inf]], [1], names=["rain", "wind"]),
        EventError,
        "row 0: feature 'wind' must be a finite number",
    ),
    Row("a CSR is finite", simulate(sp.csr_matrix([[inf]]), [1]), EventError, "row 0: feature 0"),
    Row("X is no COO", simulate(sp.coo_matrix(np.eye(2)), [1, 0]), EventError, "coo"),
    Row("X is no CSC", simulate(sp.csc_matrix(np.eye(2)), [1, 0]), EventError, "tocsr()"),
    Row(
        "... not even a wide one",
        simulate(sp.csc_matrix(np.ones((1, 3))), [1]),
        EventError,
        "tocsr()",
    ),
    Row("X is no BSR", simulate(sp.bsr_matrix(np.eye(2)), [1, 0]), EventError, "tocsr()"),
    Row(
        "a column is there once",
        simulate(rows([0, 2], [0, 0], [1.0, 2.0]), [1]),
        EventError,
        "twice",
    ),
    Row(
        "... wherever it stands",
        simulate(rows([0, 3], [1, 0, 1], [1.0] * 3), [1]),
        EventError,
        "'b'",
    ),
    Row("a column exists", simulate(rows([0, 1], [2], [1.0]), [1]), EventError, "column 2"),
    Row(
        "a column is not negative",
        simulate(rows([0, 1], [-1], [1.0]), [1]),
        EventError,
        "column -1",
    ),
    Row("indptr starts at 0", simulate(rows([1, 1], [0], [1.0]), [1]), EventError, "start at 0"),
    Row(
        "indptr never falls",
        simulate(rows([0, 1, 0], [0], [1.0]), [1, 0]),
        EventError,
        "never fall",
    ),
    Row("indptr ends with X", simulate(rows([0, 5], [0], [1.0]), [1]), EventError, "end at"),
    Row("indptr is there", simulate(rows([], [], []), []), EventError, "indptr"),
    Row("indptr is flat", simulate(rows([[0, 1]], [0], [1.0]), [1]), EventError, "one-dimensional"),
    Row(
        "indptr is whole", simulate(rows([0.0, 1.0], [0], [1.0]), [1]), EventError, "whole numbers"
    ),
    Row(
        "indices are whole", simulate(rows([0, 1], [0.5], [1.0]), [1]), EventError, "whole numbers"
    ),
    Row(
        "data is as long", simulate(rows([0, 1], [0], [1.0, 2.0]), [1]), EventError, "equally long"
    ),
    Row("data is flat", simulate(rows([0, 1], [0], [[1.0]]), [1]), EventError, "one-dimensional"),
    Row("names are as many", simulate(TWICE, [1, 0], names=["a"]), EventError, "2 in all, got 1"),
    Row("a name is given once", simulate(TWICE, [1, 0], names=["a", "a"]), EventError, "twice"),
    Row("names are names", simulate(TWICE, [1, 0], names=["a", 1.5]), EventError, "names"),
    Row("names are text", simulate(TWICE, [1, 0], names=["a", "\ud800"]), EventError, "valid text"),
    Row("names are a list", simulate(TWICE, [1, 0], names=5), EventError, "names"),
    Row("names are not one text", simulate(TWICE, [1, 0], names="ab"), EventError, "names"),
    Row(
        "no column is the intercept",
        simulate(TWICE, [1, 0], names=["a", "(intercept)"]),
        EventError,
        "intercept=False",
        with_intercept,
    ),
    Row("y is as long as X", simulate(TWICE, [1]), LabelError, "2 in all, got 1"),
    Row("y is not longer", simulate(TWICE, [1, 0, 1]), LabelError, "2 in all, got 3"),
    Row("y is no label", simulate([[1.0]], 1), LabelError, "one label per row"),
    Row("y is no text", simulate([[1.0]], "x"), LabelError, "one label per row"),
    Row("y is there", simulate([[1.0]], None), LabelError, "one label per row"),
    Row("y is no scalar", simulate([[1.0]], np.array(1)), LabelError, "one label per row"),
    Row("y is flat", simulate(TWICE, np.array([[1], [0]])), LabelError, "row 0"),
    Row("y is of one form", simulate(TWICE, [0, -1]), LabelError, "row 1: label: the", hw.PAA),
    Row("y fits", simulate(TWICE, [True, "x"]), LabelError, "row 1"),
    Row("y holds labels", simulate(TWICE, [True, 0.5]), LabelError, "row 1"),
    Row("y is whole", lambda m: m.learn_many(TWICE, [True, None]), LabelError, "learn_many needs"),
    Row("learn_many checks X", lambda m: m.learn_many([[inf]], [1]), EventError, "finite"),
    Row("predict_many checks X", lambda m: m.predict_many([[inf]]), EventError, "finite"),
    Row("margin_many checks X", lambda m: m.margin_many([1.0]), EventError, "two dimensions"),
    Row("so does the last", lambda m: m.predict_proba_many("rain"), EventError, "X: expected"),
]

PARAMETERS = [
    Row("a name is known", named("FLSS-I"), ParameterError, "mean FLLS-I"),
    Row("... or it is listed", named("zzzzzzz"), ParameterError, "headwater.names()"),
    Row("a name is text", named(["FLLS"]), ParameterError, "no algorithm"),
    Row("a name has parameters", named("PA", rate=0.1), ParameterError, "has no parameter 'rate'"),
    Row("a switch is a bool", named("PEA", margin_perceptron=1), ParameterError, "True or False"),
    Row("a word is known", made("Linear", update="adam"), ParameterError, "'arow'"),
    Row(
        "a component is of its kind", made("Linear", query=hw.update.PA()), ParameterError, "query"
    ),
    Row("a component is there", made("Linear", update=None), ParameterError, "got None"),
    Row("a sparsifier is known", made("Linear", sparsify="l1"), ParameterError, "keep_largest"),
    Row("an update is a word", made("PAA", update="adam"), ParameterError, '"pa2"'),
    Row("OLSF has one more", made("OLSF", update="adam"), ParameterError, '"perceptron"'),
    Row("an update is no list", made("FLLS", update=["pa"]), ParameterError, "update must be"),
    Row(
        "a margin is one", made("CSPAA", positive_margin=hw.query.All()), ParameterError, "above 0"
    ),
    Row("... not many", made("CSPAA", positive_margin=np.ones(2)), ParameterError, "above 0"),
    Row("C is within the floats", made("PAA", C=10**400), ParameterError, "C must be"),
    Row(
        "CW is for two", made("Linear", update="cw", multiclass=True), ParameterError, "two classes"
    ),
    Row("CPA too", made("Linear", update="cpa", multiclass=True), ParameterError, "two classes"),
    Row(
        "the gradient too",
        made("Linear", update="gradient", multiclass=True),
        ParameterError,
        "two classes",
    ),
    Row(
        "a positive margin has a positive class",
        made("Linear", update=hw.update.PA1(positive_margin=2.0), multiclass=True),
        ParameterError,
        "no positive class",
    ),
    Row("weights do not vanish", named("OFS", step=2.0, decay=0.5), ParameterError, "below 1"),
    Row(
        "legacy has a radius", named("OLSF-I", legacy=True, l1_radius=5.0), ParameterError, "leave"
    ),
    Row("two are not three", made("FLLS", classes=("a", "b", "c")), ParameterError, "multiclass"),
    Row("two are not one", made("FLLS", classes=("a",)), ParameterError, "got 1 class"),
    Row("classes differ", made("FLLS", classes=("a", "a")), ParameterError, "'a' is given twice"),
    Row("True is 1", made("MPAA", classes=(1, True)), ParameterError, "True is given twice"),
    Row("a class is not None", made("FLLS", classes=("a", None)), ParameterError, "None"),
    Row("a class is a label", made("FLLS", classes=("a", 0.5)), ParameterError, "classes"),
    Row("a class is not nested", made("FLLS", classes=("a", ["b"])), ParameterError, "classes"),
]

LIMITED: dict[str, tuple[Callable[[Any], object], list[Any]]] = {
    "update": (lambda v: hw.OLSF(update=v), ["adam", None, ["pa"]]),
    "C": (lambda v: hw.PAA(C=v), [0, -1.0, nan, "1", True, None]),
    "C_space": (lambda v: hw.OLVF(C_space=v), [0, -1.0, nan, None]),
    "positive_margin": (lambda v: hw.CSPAA(positive_margin=v), [0, nan, "rare", None]),
    "sensitivity_weight": (lambda v: hw.update.Balanced(v), [0, 1, nan, None]),
    "confidence": (lambda v: hw.update.CW(v), [0.5, 1, nan, "0.9"]),
    "form": (lambda v: hw.update.CW(form=v), ["sd", None, []]),
    "step": (lambda v: hw.update.Gradient(step=v), [0, inf, nan]),
    "decay": (lambda v: hw.update.Gradient(decay=v), [-1, inf, nan]),
    "epsilon": (lambda v: hw.PARegressor(epsilon=v), [-0.1, inf, nan, None, "0.1"]),
    "replay": (lambda v: hw.update.DualLogistic(replay=v), [-1, 1.5, 2**32, True, None]),
    "memory": (lambda v: hw.update.DualLogistic(memory=v), [0, 1.5, 2**32, None]),
    "balance": (lambda v: hw.update.DualLogistic(balance=v), ["yes", 1, 0.5, None]),
    "track": (lambda v: hw.Spring(track=v), ["yes", 1, None]),
    "change": (lambda v: hw.streams.LinearConcept(change=v), ["slowly", None, []]),
    "noise": (lambda v: hw.streams.LinearConcept(noise=v), [-0.1, inf, nan, None]),
    "positive_share": (lambda v: hw.streams.LinearConcept(positive_share=v), [0, 1, nan]),
    "relevant": (lambda v: hw.streams.LinearConcept(relevant=v), [0, 1.1, nan, None]),
    "sensors": (lambda v: hw.streams.LinearConcept(sensors=v), [0, 1.5, True, None]),
    "days": (lambda v: hw.streams.Plant(v), [0, 1.5, True, None]),
    "interval": (lambda v: hw.streams.Plant(1, interval=v), [0, 7, 7_200, 60.5, True]),
    "devices": (lambda v: hw.streams.InTurn([[1.0]], [True], devices=v), [0, 1.5, True, None]),
    "place": (lambda v: hw.streams.Reversed([[1.0]], [True], place=v), [-0.1, 1.1, nan, None]),
    "length": (lambda v: hw.streams.ShortTexts(length=v), [0.5, nan, None]),
    "telling": (lambda v: hw.streams.ShortTexts(telling=v), [0, 1.1, nan, None]),
    "vocabulary": (lambda v: hw.streams.ShortTexts(vocabulary=v), [0, 1.5, True, None]),
    "label_rate": (lambda v: hw.Spring(label_rate=v), [0, 1.1, nan, None, "few"]),
    "prior_weight": (lambda v: hw.SEL2(prior_weight=v), [0, -1, inf, nan, None]),
    "query_form": (lambda v: hw.named("SEL-2nd", query_form=v), ["print", None, []]),
    "exploration": (lambda v: hw.OFSP(exploration=v), [0, 1.1, nan, True]),
    "rate": (lambda v: hw.query.Budget(v), [-0.1, 1.1, nan, True, None]),
    "total": (lambda v: hw.query.Quota(total=v), [0, -1, 1.5, True, 2**64]),
    "width": (lambda v: hw.query.Margin(v), [0, -1, nan, "wide"]),
    "query_width": (lambda v: hw.FLLS(query_width=v), [0, -1, nan, None]),
    "by_norm": (lambda v: hw.named("SEL-ada", by_norm=v), [0, 1, None]),
    "share": (lambda v: hw.sparsify.KeepLargest(v), [0, 1.1, nan]),
    "kept_share": (lambda v: hw.OLSF(kept_share=v), [0, 2, nan, "half"]),
    "count": (lambda v: hw.sparsify.KeepCount(v), [0, 1.5, 2**32, True]),
    "l1_radius": (lambda v: hw.FLLS(l1_radius=v), [0, -1, nan]),
    "l2_radius": (lambda v: hw.sparsify.KeepCount(l2_radius=v), [0, nan]),
    "plus_one": (lambda v: hw.PAA(plus_one=v), [1, None]),
    "intercept": (lambda v: hw.Linear(intercept=v), [1, "yes"]),
    "class_weight": (
        lambda v: hw.Linear(class_weight=v),
        ["even", 2, (1,), (1, 0), (1, inf), (1, nan), {True: 1}, {True: 1, False: "2"}],
    ),
    "threshold": (lambda v: hw.Linear(threshold=v), [0, 1, nan, True, "low"]),
    "forgetting": (lambda v: hw.update.AROW(forgetting=v), [0, 1, nan, True, "slow"]),
    "multiclass": (lambda v: hw.Linear(multiclass=v), [3, None]),
    "legacy": (lambda v: hw.named("OLSF-I", legacy=v), [0, 1]),
    "classes": (lambda v: hw.FLLS(classes=v), ["ab", b"ab", 2, {1, 2}, {"a": "b"}]),
    "max_features": (lambda v: hw.FLLS(max_features=v), [0, -1, 1.5, 2**32, True, "all"]),
    "when_full": (lambda v: hw.FLLS(when_full=v), ["forget", None, []]),
    "growth": (lambda v: hw.Linear(growth=v), ["slow", None, []]),
    "keep": (lambda v: hw.OLSF(keep=v), ["smallest", None]),
    "combine": (lambda v: hw.FESL(combine=v), ["both", None]),
    "loss": (lambda v: hw.FESL(loss=v), ["hinge", None]),
    "ridge": (lambda v: hw.FESL(ridge=v), [0, -1, inf, nan, "1"]),
    "overlap": (lambda v: hw.FESL(overlap=v), [0, 1001, 1.5, True, None]),
    "horizon": (lambda v: hw.FESL(horizon=v), [0, 1.5, True, 2**64]),
    "clip_losses": (lambda v: hw.named("FESL-c", clip_losses=v), [0, 1, None]),
    "schedule": (
        lambda v: hw.named("FESL-c", schedule=v),
        [(5, 5, 5), (5, 0, 5), (5, 4), (5, 4, 0), (5.0, 4, 3), 5, "543", (2000, 1001, 5)],
    ),
    "seed": (lambda v: hw.PAA(seed=v), [-1, 2**64, 1.0, True, None]),
    "chunks": (lambda v: Trapezoid(TWICE, [0, 1], chunks=v), [0, 1.5, True]),
    "start": (lambda v: Trapezoid(TWICE, [0, 1], start=v), [0, 1.1, nan]),
    "widening": (lambda v: Trapezoid(TWICE, [0, 1], widening=v), ["odd", None, []]),
    "fractions": (
        lambda v: Trapezoid(TWICE, [0, 1], fractions=v),
        [(), (0, 1), (0.5, 1.1), (0.5, 0.4), (0.5, nan), 0.5, "01", [True]],
    ),
    "permute_columns": (lambda v: Trapezoid(TWICE, [0, 1], permute_columns=v), [1, None]),
    "shuffle": (lambda v: Trapezoid(TWICE, [0, 1], shuffle=v), [1, None]),
    "never": (lambda v: hw.labels.Oracle([0, 1], never=v), [-0.1, 1.1, nan, "often"]),
    "wrong": (lambda v: hw.labels.Oracle([0, 1], wrong=v), [-0.1, 1.1, nan, True]),
    "twice": (lambda v: hw.labels.Oracle([0, 1], twice=v), [-0.1, 1.1, nan, None]),
    "price": (lambda v: hw.labels.Oracle([0, 1], price=v), [-1, inf, nan, "much"]),
    "removed": (lambda v: Varying(TWICE, [0, 1], removed=v), [-0.1, 1.1, nan, True]),
    "ratio": (lambda v: streams.Evolvable(TWICE, [0, 1], ratio=v), [0, -1, inf, nan, None]),
    "copied": (lambda v: streams.Redundant(TWICE, [0, 1], copied=v), [-0.1, 1.1, nan, True]),
    "places": (
        lambda v: streams.Replacement(TWICE, [0, 1], places=v),
        [(0, 0.5), (0.5, 1), (0.5, 0.5), (0.6, 0.5), (nan,), 0.5, "1", None],
    ),
    "lasting": (lambda v: streams.Replacement(TWICE, [0, 1], lasting=v), [-0.1, 1.1, nan, None]),
    "present": (lambda v: streams.Vanishing(TWICE, [0, 1], present=v), [0, 0.5, inf, nan, None]),
    "absent": (lambda v: streams.Vanishing(TWICE, [0, 1], absent=v), [-1, 0.5, inf, nan, None]),
    "survivors": (lambda v: streams.Dying(TWICE, [0, 1], survivors=v), [-0.1, 1.1, nan, None]),
    "low": (lambda v: streams.Capricious(TWICE, [0, 1], low=v), [-0.1, 1.1, nan, None]),
    "high": (lambda v: streams.Capricious(TWICE, [0, 1], high=v), [-0.1, 1.1, nan, "1"]),
    "events": (lambda v: SensorNetwork(v), [0, 1.5, None]),
    "n": (lambda v: SensorNetwork(10).held_out(v), [0, -1, 1.5]),
    "incident_share": (lambda v: SensorNetwork(10, incident_share=v), [0, 1, nan]),
    "missing_share": (lambda v: SensorNetwork(10, missing_share=v), [-0.1, 0.6, nan]),
    "folds": (lambda v: cross_validated(with_step, TWICE, [0, 1], [1.0], folds=v), [1, 2.5, None]),
    "window": (lambda v: prequential(hw.PAA(), (TWICE, [0, 1]), window=v), [0, 1.5, None]),
    "points": (
        lambda v: learning_curve(hw.PAA(), (TWICE, [0, 1]), TWICE, [0, 1], points=v),
        [0, 1.5, None],
    ),
    "level": (lambda v: ErrorEstimate(level=v), [0, 1, 95, nan, None]),
    "floor": (lambda v: ErrorEstimate(floor=v), [-0.1, 1.1, nan, None]),
    "costs": (lambda v: Scores(costs=v), [1, (1,), (1, -1), (1, inf), (nan, 1), "12"]),
    "epochs": (lambda v: HeadwaterClassifier(epochs=v).fit([[1.0]], [1]), [0, -1, 1.5, None]),
    "feature_space": (
        lambda v: HeadwaterClassifier(feature_space=v).fit([[1.0]], [1]),
        ["closed", None],
    ),
}


def ids(table: list[Row]) -> list[str]:
    return [row.claim.replace(" ", "_") for row in table]


TABLE = EVENTS + LABELS + BATCHES + PARAMETERS


@pytest.mark.parametrize("row", TABLE, ids=ids(TABLE))
def test_what_is_wrong_is_refused_and_changes_nothing(row: Row) -> None:
    model = row.make()
    before = model.to_bytes()
    with pytest.raises(row.error) as caught:
        row.call(model)
    assert isinstance(caught.value, HeadwaterError)
    assert row.says in str(caught.value)
    assert_readable(str(caught.value))
    assert model.to_bytes() == before


VERBS = [
    *("predict_one", "predict_proba_one", "margin_one", "explain_one", "query_one"),
    *("decide_one", "learn_one"),
]


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("event", [{"rain": inf}, {None: 1.0}, [1.0]], ids=str)
def test_every_verb_refuses_a_wrong_event(verb: str, event: Any) -> None:
    model = bools()
    before = model.to_bytes()
    with pytest.raises(EventError) as caught:
        getattr(model, verb)(event, *([True] if verb == "learn_one" else []))
    assert_readable(str(caught.value))
    assert model.to_bytes() == before


LIMIT_ROWS = [(name, make, value) for name, (make, wrong) in LIMITED.items() for value in wrong]


@pytest.mark.parametrize(("name", "make", "value"), LIMIT_ROWS, ids=lambda v: repr(v)[:20])
def test_a_parameter_outside_its_limits_is_refused(
    name: str, make: Callable[[Any], object], value: Any
) -> None:
    with pytest.raises(ParameterError) as caught:
        make(value)
    text = str(caught.value)
    assert f"{name} must be" in text
    assert re.search(rf", got {re.escape(repr(value))}(; {value} % is [\d.]+)?\.$", text)
    assert_readable(text)


@pytest.mark.parametrize("value", [0, -1.0, inf, 1e10, nan, None, "1"])
def test_dual_steps_need_a_cost_that_is_finite(value: Any) -> None:
    with pytest.raises(ParameterError, match="C must be a number from 1e-9 to 1e9") as caught:
        hw.update.DualLogistic(C=value)
    assert_readable(str(caught.value))


def test_class_balance_is_on_or_off() -> None:
    with pytest.raises(ParameterError, match=r"balance must be True or False, got 'yes'\."):
        hw.update.DualLogistic(balance="yes")  # type: ignore[arg-type]


def with_fields() -> list[type]:
    """Every learner and every component of the package."""
    kinds, waiting = [], Component.__subclasses__()
    while waiting:
        kinds.append(waiting.pop())
        waiting += kinds[-1].__subclasses__()
    found = [*learner_classes().values(), *filter(dataclasses.is_dataclass, kinds)]
    return [cls for cls in found if cls.__module__.startswith("headwater.")]


def with_arguments() -> list[Callable[..., Any]]:
    """Every public function of streams, labels and evaluation, and what makes their classes."""
    found: list[Callable[..., Any]] = [SensorNetwork.held_out, _SklearnEstimator.__init__]
    for module in (streams, hw.labels, hw.evaluation):
        for name in module.__all__:
            value = getattr(module, name)
            if isinstance(value, type) and issubclass(value, tuple):
                continue  # what functions return
            found.append(vars(value).get("__init__", value) if isinstance(value, type) else value)
    return found


FIELDS = [(cls, name, limit) for cls in with_fields() for name, limit in field_limits(cls).items()]


def test_every_limit_is_tried() -> None:
    limited = {name for _, name, _ in FIELDS}
    limited |= {name for function in with_arguments() for name in argument_limits(function)}
    assert set(LIMITED) == limited


@pytest.mark.parametrize(
    ("cls", "name", "limit"), FIELDS, ids=lambda value: getattr(value, "__name__", None)
)
def test_none_is_refused_where_it_means_nothing(cls: Any, name: str, limit: Limit) -> None:
    if limit.optional:
        assert cls(**{name: None}).parameters()[name] is None
        return
    with pytest.raises(ParameterError, match=rf"\b{name} must be .*, got None\.$"):
        cls(**{name: None})


def test_a_refused_parameter_says_what_it_may_be() -> None:
    with pytest.raises(ParameterError) as caught:
        hw.FLLS(C=None)  # type: ignore[arg-type]
    assert str(caught.value) == "FLLS: C must be a number above 0, got None."


@pytest.mark.parametrize("label", [None, nan, "spam", 0.5, b"x", 2])
def test_a_wrong_answer_leaves_the_decision_open(label: Any) -> None:
    model = bools()
    decision = model.decide_one({"rain": 1.0})
    before = model.to_bytes()
    with pytest.raises(LabelError) as caught:
        model.answer(decision, label)
    assert_readable(str(caught.value))
    assert model.to_bytes() == before
    assert not decision.answered


def test_a_second_answer_is_refused() -> None:
    model = bools()
    decision = model.decide_one({"rain": 1.0})
    model.answer(decision, True)
    before = model.to_bytes()
    with pytest.raises(AnswerError, match="answered before") as caught:
        model.answer(decision, False)
    assert_readable(str(caught.value))
    assert model.to_bytes() == before


def test_a_batch_that_overflows_says_which_row_and_keeps_the_rows_before() -> None:
    batch, loop = hw.OLSF(), hw.OLSF()
    with pytest.raises(StepError, match="row 1") as caught:
        batch.learn_many([[1.0], [1e200], [1.0]], [True, True, True])
    assert_readable(str(caught.value))
    loop.learn_one({0: 1.0}, True)
    assert batch.to_bytes() == loop.to_bytes()


# Where the interpreter itself is at stake, another one is used.


def outcome(script: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", f"import headwater as hw\nimport numpy as np\n{script}"]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("label", ["np.longdouble(1)", "np.clongdouble(1)"])
def test_a_number_that_numpy_cannot_shorten_does_not_end_the_interpreter(label: str) -> None:
    script = f"""
model = hw.PAA()
try:
    model.learn_one({{"rain": 1.0}}, {label})
except hw.errors.LabelError:
    pass
print("alive")
"""
    found = outcome(script)
    assert (found.returncode, found.stdout) == (0, "alive\n"), found.stderr


def test_an_event_that_changes_while_it_is_read_is_no_panic() -> None:
    script = """
class Name:
    def __index__(self):
        event[len(event)] = 1.0
        return -1

event = {Name(): 1.0}
try:
    hw.PAA().learn_one(event, True)
except Exception:
    pass
print("alive")
"""
    found = outcome(script)
    assert (found.returncode, found.stdout) == (0, "alive\n"), found.stderr


# Model files


def saved() -> bytes:
    """A small model file with something of everything in it."""
    update = hw.update.AROW(positive_margin="balanced")
    sparsify = hw.sparsify.KeepLargest(share=0.9)
    return taught(hw.Linear(update=update, sparsify=sparsify, seed=3)).to_bytes()


def saved_classes() -> bytes:
    model = hw.MPAA(classes=("ham", "egg"))
    for label in ("ham", "egg", "tea"):
        model.learn_one({f"smells of {label}": 1.0}, label)
    return model.to_bytes()


def assert_refused(data: Any, says: str = "model file") -> None:
    with pytest.raises(ModelFileError) as caught:
        hw.from_bytes(data)
    assert says in str(caught.value)
    assert_readable(str(caught.value))


def test_a_file_with_any_byte_altered_is_refused() -> None:
    data = saved()
    for position in range(len(data)):
        for flipped in (0x01, 0x80, 0xFF):
            altered = bytearray(data)
            altered[position] ^= flipped
            assert_refused(bytes(altered))


def test_a_file_cut_off_anywhere_is_refused() -> None:
    data = saved()
    for length in range(len(data)):
        assert_refused(data[:length], "cut off")


def test_a_file_with_more_behind_its_end_is_refused() -> None:
    assert_refused(saved() + b"\0", "more behind its end")


FOREIGN = [b"PK\x03\x04" * 10, b"\x89PNG\r\n\x1a\n" * 4, b"rain,wind\n1.0,2.0\n", b"\0" * 64]


@pytest.mark.parametrize("data", FOREIGN, ids=["zip", "png", "csv", "zeros"])
def test_a_foreign_file_is_refused(data: bytes) -> None:
    assert_refused(data, "not a model file")


@pytest.mark.parametrize("data", ["text", None, 5, [1, 2]], ids=repr)
def test_what_is_not_bytes_is_refused(data: Any) -> None:
    assert_refused(data, "bytes")


def test_a_newer_format_is_refused_by_its_version() -> None:
    header, state = take_apart(saved())
    assert_refused(put_together(header, state, version=4), "version 4")


def test_a_file_put_together_by_hand_is_taken() -> None:
    for data in (saved(), saved_classes()):
        assert hw.from_bytes(put_together(*take_apart(data))).to_bytes() == data


def deep(levels: int) -> bytes:
    return b"[" * levels + b"]" * levels


HEADERS: list[tuple[str, object, str]] = [
    ("bad JSON", b"{", "header"),
    ("no JSON", b"", "header"),
    ("no UTF-8", b"\xff", "UTF-8"),
    ("deep JSON", deep(100_000), "header"),
    ("a list", [], "header"),
    ("a number", 5, "header"),
    ("no class", {"parameters": {}}, "header"),
    ("no parameters", {"class": "PAA"}, "header"),
    ("an unknown class", {"class": "Oracle", "parameters": {}}, "Oracle"),
    ("the base class", {"class": "Learner", "parameters": {}}, "Learner"),
    ("a class that is none", {"class": ["PAA"], "parameters": {}}, "header"),
    ("a list of parameters", {"class": "PAA", "parameters": [1]}, "header"),
    ("an unknown parameter", {"class": "PAA", "parameters": {"zeal": 1}}, "zeal"),
    ("a wrong parameter", {"class": "PAA", "parameters": {"C": -1}}, "C must be"),
    ("an endless parameter", {"class": "PAA", "parameters": {"C": 10**400}}, "C must be"),
    ("a component without a name", {"class": "Linear", "parameters": {"update": {}}}, "header"),
    (
        "an unknown component",
        {"class": "Linear", "parameters": {"update": {"component": "update.Adam"}}},
        "update.Adam",
    ),
    (
        "a component of another kind",
        {"class": "Linear", "parameters": {"update": {"component": "query.All"}}},
        "update must be",
    ),
    (
        "a component with a parameter of another",
        {"class": "Linear", "parameters": {"update": {"component": "update.PA1", "balance": True}}},
        "update.PA1 has other parameters",
    ),
    ("another learner", {"class": "PAA", "parameters": {}}, "does not fit"),
    ("several classes", {"class": "MPAA", "parameters": {}}, "does not fit"),
    ("given classes", {"class": "Linear", "parameters": {"classes": [0, 1]}}, "does not fit"),
]


@pytest.mark.parametrize(("claim", "header", "says"), HEADERS, ids=[row[0] for row in HEADERS])
def test_a_header_that_makes_no_learner_is_refused(claim: str, header: object, says: str) -> None:
    assert_refused(put_together(header, take_apart(saved())[1]), says)


State = dict[str, Any]


class Alteration(NamedTuple):
    """`state[key]`, or the element `at` a place inside it, is replaced; None: `key` is left out.

    A key that the state does not have is the model's.
    """

    key: str
    value: Any
    says: str
    at: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"{self.key}{[*self.at] or ''} is {str(self.value)[:24]}"

    def apply(self, state: State) -> None:
        part = state if self.key in state else state["model"]["linear"]["weights"]
        holder: Any = part
        place: Any = self.key
        for step in self.at:
            holder, place = holder[place], step
        holder[place] = self.value
        if self.value is None:
            del part[self.key]


STATES = [
    Alteration("names", None, "names"),
    Alteration("query", None, "query"),
    Alteration("names", ["a"], "as long as its names"),
    Alteration("names", ["(intercept)", *["rain"] * 3], "twice"),
    Alteration("names", ["rain", "b", "c", "d"], "not those of its own features"),
    Alteration("names", [1.5, "b", "c", "d"], "cannot be read"),
    Alteration("names", [True, "b", "c", "d"], "cannot be read"),
    Alteration("names", [2**64 - 1, "b", "c", "d"], "cannot be read"),
    Alteration("names", "abcd", "cannot be read"),
    Alteration("first", [1], "as long as its names"),
    Alteration("last", [1] * 5, "as long as its names"),
    Alteration("times", [], "as long as its names"),
    Alteration("times", -1, "cannot be read", (0,)),
    Alteration("times", 2**64 - 1, "counter", (0,)),
    Alteration("values", [], "weight vectors"),
    Alteration("values", [[0.0] * 4] * 2, "weight vectors"),
    Alteration("values", [[0.0] * 3], "as long as its names"),
    Alteration("values", nan, "finite", (0, 0)),
    Alteration("values", inf, "finite", (0, 1)),
    Alteration("values", "heavy", "cannot be read", (0, 1)),
    Alteration("values", "nothing", "cannot be read"),
    Alteration("scales", [1.0, 1.0], "weight vectors"),
    Alteration("scales", 0.0, "scale", (0,)),
    Alteration("scales", -1.0, "scale", (0,)),
    Alteration("scales", 2.0, "scale", (0,)),
    Alteration("scales", nan, "finite", (0,)),
    Alteration("variances", [], "weight vectors"),
    Alteration("variances", [[1.0] * 5], "as long as its names"),
    Alteration("variances", -0.5, "variance", (0, 0)),
    Alteration("variances", 1.5, "variance", (0, 0)),
    Alteration("variances", nan, "finite", (0, 0)),
    Alteration("norms", [[0.0]], "cannot be read"),
    Alteration("norms", nan, "finite", (0, 0)),
    Alteration("steps", [], "weight vectors"),
    Alteration("steps", 2**64 - 1, "counter", (0,)),
    Alteration("label_form", "open", "form"),
    Alteration("label_form", "given", "form"),
    Alteration("label_form", "roman", "cannot be read"),
    Alteration("seen", -1, "cannot be read"),
    Alteration("seen", 2**64 - 1, "counter"),
    Alteration("learned", 1.5, "cannot be read"),
    Alteration("coins", [0] * 4, "generator"),
    Alteration("draws", [0] * 4, "generator"),
    Alteration("coins", [1, 2, 3], "cannot be read"),
    Alteration("query", {}, "cannot be read"),
]


@pytest.mark.parametrize("alteration", STATES, ids=str)
def test_a_state_that_does_not_fit_is_refused(alteration: Alteration) -> None:
    header, state = take_apart(saved())
    assert len(state["names"]) == 4
    alteration.apply(state)
    assert_refused(put_together(header, state), alteration.says)


CLASS_STATES = [
    Alteration("classes", ["ham", "egg", "ham"], "twice"),
    Alteration("classes", ["egg", "ham", "tea"], "classes are others"),
    Alteration("classes", ["ham"], "classes are others"),
    Alteration("classes", ["ham", "egg"], "weight vectors"),
    Alteration("classes", ["ham", "egg", 1.5], "neither a text nor"),
    Alteration("label_form", "bool", "form"),
    Alteration("values", [[0.0] * 3] * 2, "weight vectors"),
    Alteration("variances", [[1.0] * 3] * 3, "weight vectors"),
]


@pytest.mark.parametrize("alteration", CLASS_STATES, ids=str)
def test_a_state_of_several_classes_that_does_not_fit_is_refused(alteration: Alteration) -> None:
    header, state = take_apart(saved_classes())
    alteration.apply(state)
    assert_refused(put_together(header, state), alteration.says)


def test_a_state_that_is_no_map_is_refused() -> None:
    header, state = take_apart(saved())
    whole = msgpack.packb(state)
    for body in (b"", b"\xc1", b"\x93\x01\x02\x03", b"text", whole[:-1], b"\xdf\xff\xff\xff\xff"):
        assert_refused(put_together(header, body), "state")


def test_a_state_with_more_behind_its_end_is_refused() -> None:
    header, state = take_apart(saved())
    assert_refused(put_together(header, msgpack.packb(state) + b"\0"), "state")


EXTREMES = [0, 1, 2**62, -1, 0.0, -0.0, 1e-320, 1e-200, -1e308, 1e308, "x", None, []]


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all numbers and texts in a state."""
    parts: Any = value.items() if isinstance(value, dict) else enumerate(value)
    for place, part in parts:
        if isinstance(part, (dict, list)):
            yield from leaves(part, (*path, place))
        else:
            yield (*path, place)


@pytest.mark.parametrize("data", [saved(), saved_classes()], ids=["binary", "multiclass"])
def test_a_state_with_a_right_checksum_is_refused_or_harmless(data: bytes) -> None:
    header, state = take_apart(data)
    for path in leaves(state):
        for extreme in EXTREMES:
            altered = take_apart(data)[1]
            holder: Any = altered
            for step in path[:-1]:
                holder = holder[step]
            holder[path[-1]] = extreme
            try:
                model = hw.from_bytes(put_together(header, altered))
            except ModelFileError as error:
                assert_readable(str(error))
                continue
            assert_goes_on(model)


def assert_goes_on(model: hw.Learner) -> None:
    """It predicts, asks and learns, or refuses an event by name; its numbers are numbers."""
    for step in range(4):
        try:
            label = model.labels[step % 2]
            model.answer(model.decide_one({"rain": 1.0, step: 0.5}), label)
        except HeadwaterError as error:
            assert_readable(str(error))
    for feature in model.features():
        weight = feature.weight
        parts = weight.values() if isinstance(weight, dict) else [weight]
        assert all(isfinite(part) for part in parts)
    hw.from_bytes(model.to_bytes())


def test_a_damaged_file_is_refused_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "rain.hw"
    path.write_bytes(saved()[:-1])
    with pytest.raises(ModelFileError) as caught:
        hw.load(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert_readable(str(caught.value))


FILES: list[tuple[str, str, type[OSError]]] = [
    ("load", "missing.hw", FileNotFoundError),
    ("load", "missing/model.hw", FileNotFoundError),
    ("load", "", IsADirectoryError),
    ("save", "missing/model.hw", FileNotFoundError),
    ("save", "folder", IsADirectoryError),
]


@pytest.mark.parametrize(("verb", "name", "error"), FILES)
def test_a_file_that_cannot_be_opened_is_named(
    verb: str, name: str, error: type[OSError], tmp_path: Path
) -> None:
    (tmp_path / "folder").mkdir()
    model, path = bools(), tmp_path / name
    before = model.to_bytes()
    with pytest.raises(error) as caught:
        hw.load(path) if verb == "load" else model.save(path)
    assert str(path) in str(caught.value)
    assert model.to_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["folder"]
    assert not list((tmp_path / "folder").iterdir())


def test_a_decision_whose_pickle_was_altered_is_refused() -> None:
    restore, parts = hw.Linear().decide_one({"rain": 1.0, "wind": 2.0}).__reduce__()
    assert restore(*parts).features == {"rain": 1.0, "wind": 2.0}
    *before, seen_as, summary, identity, number = parts
    with pytest.raises(AnswerError, match=r"decision: expected a value .* each feature") as caught:
        restore(*before, seen_as[:1], summary, identity, number)
    assert_readable(str(caught.value))
