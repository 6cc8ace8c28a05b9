"""Probabilities: one slope, fitted to the last labels, by every door the same."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headwater as hw
from effort import reduced
from headwater.errors import ModelFileError
from model_bytes import put_together, take_apart
from reference.calibration import PastLabel, fitted, probabilities, remembered, weight_of

TWO: dict[str, Callable[..., hw.Learner]] = {
    "Linear": partial(hw.Linear, class_weight=None),
    "raw": partial(hw.Linear, class_weight=None, scale=None, query="all"),
    "FLLS": hw.FLLS,
    "FLLS, seldom": partial(hw.FLLS, query_width=0.1),
    "OLVF": hw.OLVF,
    "SEL2": hw.SEL2,
    "OFSP": partial(hw.OFSP, count=2),
    "FESL": partial(hw.FESL, overlap=2),
    "RFESL": hw.RFESL,
    "restart": partial(hw.Linear, class_weight=None, growth="restart", scale=None, query="all"),
    "closed": partial(hw.Linear, class_weight=None, growth="closed", scale=None, query="all"),
}
SEVERAL: dict[str, Callable[..., hw.Learner]] = {
    "MPAA": hw.MPAA,
    "AROW": partial(hw.Linear, multiclass=True, query=hw.query.Budget(0.5)),
    "restart": partial(hw.Linear, multiclass=True, growth="restart", scale=None, query="all"),
}


def stream(
    classes: int, length: int = 120, seed: int = 0
) -> tuple[list[dict[str, Any]], list[int]]:
    """Noisy events whose features come one by one, and their classes."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(length, 5))
    scores = values @ rng.normal(size=(5, classes)) + rng.normal(size=(length, classes))
    events = [
        {f"f{c}": row[c] for c in range(5) if t >= 12 * c} for t, row in enumerate(values.tolist())
    ]
    return events, scores.argmax(axis=1).tolist()


def kept_by(model: hw.Learner) -> list[PastLabel]:
    """The labels that a learner has written down, from its saved bytes."""
    state = take_apart(model.to_bytes())[1]["calibration"]
    scores = iter(state.get("scores", []))
    past = []
    for y, count, weight in state.get("labels", []):
        own = [next(scores) for _ in range(count)]
        past.append(PastLabel(tuple([0.0, *own] if count == 1 else own), y, weight))
    assert list(scores) == []
    assert {name: state[name] for name in NEW} == NEW
    return past


NEW = {"slope": 1.0, "information": 0.0, "mean_lead": 0.0, "weight": 0.0}
"""The slope before the first label: what was fitted is not saved."""


def scores_of(model: hw.Learner, event: dict[str, Any]) -> list[float]:
    """The scores behind a prediction, worked out from the weights."""
    if model.parameters().get("multiclass") or isinstance(model, hw.MPAA):
        weights = model.weights()
        return [
            sum(weights[label].get(name, 0.0) * value for name, value in event.items())
            for label in model.labels
        ]
    return [0.0, model.margin_one(event)]


def assert_same(got: list[PastLabel], expected: list[PastLabel]) -> None:
    """The same labels, scores up to rounding and where their zero is."""
    assert [(one.y, one.weight) for one in got] == [(one.y, one.weight) for one in expected]
    for one, other in zip(got, expected, strict=True):
        apart = [score - other.scores[0] for score in other.scores]
        scores = [score - one.scores[0] for score in one.scores]
        assert scores == pytest.approx(apart, rel=1e-9, abs=1e-12)


def assert_fits(model: hw.Learner, event: dict[str, Any], past: list[PastLabel]) -> None:
    """The probabilities are those of the slope that the reference fits to these labels."""
    shares = model.predict_proba_one(event)
    expected = probabilities(fitted(past), scores_of(model, event))
    assert list(shares.values()) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("make", TWO.values(), ids=TWO)
def test_every_answer_is_written_down_and_fitted_as_the_reference_does(
    make: Callable[..., hw.Learner],
) -> None:
    model = make()
    past: list[PastLabel] = []
    for event, label in zip(*stream(2), strict=True):
        decision = model.decide_one(event)
        if decision.asked:
            weight = weight_of(True, decision.query_probability)
            past = remembered(past, [0.0, decision.margin], label, weight)
            model.answer(decision, label)
            assert_same(kept_by(model), past)
            assert_fits(model, event, past)
    assert len(past) > 5
    assert fitted(past).slope != 1.0


@pytest.mark.parametrize("make", SEVERAL.values(), ids=SEVERAL)
def test_several_classes_share_one_slope(make: Callable[..., hw.Learner]) -> None:
    model = make(**({} if make is hw.MPAA else {"intercept": False}))
    if model.parameters().get("scale"):
        model = make(intercept=False, scale=None)
    past: list[PastLabel] = []
    for event, label in zip(*stream(4), strict=True):
        decision = model.decide_one(event)
        if decision.asked:
            scores = scores_of(model, event)
            y = model.labels.index(label) if label in model.labels else None
            model.answer(decision, label)
            weight = weight_of(True, decision.query_probability)
            past = remembered(past, scores, y, weight)
            assert_same(kept_by(model), past)
            assert_fits(model, event, past)
    assert fitted(past).slope != 1.0


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("every", [1, 7, 1_000])
def test_it_does_not_matter_how_often_probabilities_are_asked_for(classes: int, every: int) -> None:
    model: hw.Learner = hw.MPAA() if classes > 2 else hw.FLLS()
    past: list[PastLabel] = []
    events, labels = stream(classes, length=900)
    for number, (event, label) in enumerate(zip(events, labels, strict=True)):
        scores = scores_of(model, event)
        y = label if classes == 2 else None
        if label in model.labels and classes > 2:
            y = model.labels.index(label)
        model.learn_one(event, label)
        past = remembered(past, scores, y, 1.0)
        if number % every == 0:
            model.predict_proba_one(event)
        if number % 100 == 99:
            loaded = hw.from_bytes(model.to_bytes())
            assert_fits(hw.from_bytes(model.to_bytes()), event, past)
            assert_fits(model, event, past)
            assert loaded.to_bytes() == model.to_bytes()
    assert 128 <= len(past) < 256
    assert_same(kept_by(model), past)


def test_a_label_that_nobody_asked_for_counts_once() -> None:
    given, answered = hw.FLLS(query_width=1e-6), hw.FLLS(query_width=1e-6)
    events, labels = stream(2)
    for model in (given, answered):
        model.learn_many(*as_rows(events[:60], labels[:60]))
    decision = answered.decide_one(events[61])
    assert not decision.asked
    margin = given.margin_one(events[61])
    expected = remembered(kept_by(given), [0.0, margin], labels[61], 1.0)
    answered.answer(decision, labels[61])
    given.learn_one(events[61], labels[61])
    assert kept_by(answered) == kept_by(given)
    assert_same(kept_by(given), expected)


def as_rows(events: list[dict[str, Any]], labels: list[int]) -> tuple[Any, list[int]]:
    pa = pytest.importorskip("pyarrow")
    names = [f"f{c}" for c in range(5)]
    return pa.table({name: [event.get(name) for event in events] for name in names}), labels


def test_a_late_answer_is_weighed_by_its_question_and_judged_by_the_model_of_now() -> None:
    model = hw.FLLS(query_width=0.5)
    events, labels = stream(2)
    decisions = [model.decide_one(event) for event in events]
    asked = [i for i, decision in enumerate(decisions) if decision.asked]
    past: list[PastLabel] = []
    for i in asked:
        margin = model.margin_one(events[i])  # not decisions[i].margin, which is old
        weight = weight_of(True, decisions[i].query_probability)
        past = remembered(past, [0.0, margin], labels[i], weight)
        model.answer(decisions[i], labels[i])
        assert_same(kept_by(model), past)


@settings(max_examples=reduced(200), deadline=None)
@given(
    st.lists(
        st.tuples(
            st.dictionaries(st.sampled_from("abcd"), st.floats(-1e3, 1e3), max_size=4),
            st.booleans(),
        ),
        max_size=12,
    ),
    st.dictionaries(st.sampled_from("abcd"), st.floats(-1e3, 1e3), max_size=4),
)
def test_more_likely_than_not_exactly_when_the_margin_is_positive(
    rounds: list[tuple[dict[str, float], bool]], event: dict[str, float]
) -> None:
    for model in (hw.OLSF(), hw.Linear(query="all", class_weight=None)):
        for x, y in rounds:
            model.learn_one(x, y)
        shares, margin = model.predict_proba_one(event), model.margin_one(event)
        assert (shares[True] > 0.5) == (margin > 0)
        assert (shares[False] > 0.5) == (margin < 0)
        assert math.isclose(sum(shares.values()), 1.0)


def test_equal_scores_of_two_classes_are_equally_likely() -> None:
    model = hw.MPAA(classes=("ham", "egg"))
    model.learn_one({"x": 1.0}, "ham")
    assert model.predict_proba_one({"y": 1.0}) == {"ham": 0.5, "egg": 0.5}


@pytest.mark.parametrize("scale", [1e-12, 1e9])
def test_the_scale_of_the_margins_does_not_matter(scale: float) -> None:
    # A perceptron's weights are sums of events: margins grow with the square of their scale.
    events, labels = stream(2)
    one = hw.Linear(update="perceptron", query="all", scale=None, intercept=False)
    other = hw.Linear(update="perceptron", query="all", scale=None, intercept=False)
    for event, label in zip(events, labels, strict=True):
        one.learn_one(event, label)
        other.learn_one({name: scale * value for name, value in event.items()}, label)
    for event in events:
        scaled = {name: scale * value for name, value in event.items()}
        expected = one.predict_proba_one(event)
        assert other.predict_proba_one(scaled) == pytest.approx(expected)


def test_probabilities_come_near_to_what_happens() -> None:
    rng = np.random.default_rng(5)
    values = rng.normal(size=(6_000, 10))
    truth = 1 / (1 + np.exp(-2 * values @ rng.normal(size=10)))
    labels = rng.random(6_000) < truth
    model = hw.Linear(query="all", intercept=False)
    model.learn_many(values[:4_000], labels[:4_000])
    shares = model.predict_proba_many(values[4_000:])[:, 1]
    assert abs(shares - truth[4_000:]).mean() < 0.06
    plain = 1 / (1 + np.exp(-model.margin_many(values[4_000:])))
    assert abs(plain - truth[4_000:]).mean() > 0.1  # what the margins alone would say


def test_regression_has_no_slope_to_learn() -> None:
    model = hw.PARegressor()
    model.learn_many([[1.0], [2.0]], [1.0, 5.0])
    assert kept_by(model) == []


def test_a_file_with_a_slope_and_no_labels_is_read_and_its_slope_used() -> None:
    """Files were once written so."""
    model = hw.FLLS()
    events, labels = stream(2)
    for event, label in zip(events, labels, strict=True):
        model.learn_one(event, label)
    header, state = take_apart(model.to_bytes())
    state["calibration"] = vars(fitted(kept_by(model)))
    old = put_together(header, state)
    loaded = hw.from_bytes(old)
    assert loaded.to_bytes() == old
    for event in events:
        assert loaded.predict_proba_one(event) == pytest.approx(model.predict_proba_one(event))
    for again in (model, loaded):
        again.learn_one(events[0], labels[0])
    assert loaded.predict_proba_one(events[1]) == pytest.approx(model.predict_proba_one(events[1]))


WRONG = [("slope", 0.0), ("slope", math.inf), ("slope", math.nan), ("information", -1.0)]
WRONG += [("mean_lead", math.inf), ("mean_lead", -0.5), ("weight", math.nan)]
WRONG_LABELS: list[tuple[list[list[float]], list[float]]] = [
    ([[2, 1, 1.0]], [0.5]),
    ([[1, 1, 11.0]], [0.5]),
    ([[1, 1, 0.0]], [0.5]),
    ([[1, 2, 1.0]], [0.5, 1.0]),
    ([[1, 1, 1.0]], [math.nan]),
    ([[1, 1, 1.0]], [0.5, 1.0]),
    ([[1, 3, 1.0]], [0.5, 1.0]),
    ([[1, 1, 1.0]] * 257, [0.5] * 257),
]


def refuse(change: dict[str, Any]) -> None:
    header, state = take_apart(hw.FLLS().to_bytes())
    state["calibration"] |= change
    with pytest.raises(ModelFileError, match="its calibration has no slope or no labels"):
        hw.from_bytes(put_together(header, state))


@pytest.mark.parametrize(("key", "value"), WRONG)
def test_a_file_with_an_impossible_slope_is_refused(key: str, value: float) -> None:
    refuse({key: value})


@pytest.mark.parametrize(("labels", "scores"), WRONG_LABELS)
def test_a_file_with_impossible_labels_is_refused(
    labels: list[list[float]], scores: list[float]
) -> None:
    refuse({"labels": labels, "scores": scores})
