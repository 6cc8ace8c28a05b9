"""Probabilities: one slope, learned from the labels, by every door the same."""

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
from reference.calibration import Slope, learned, probabilities, weight_of

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


def slope_of(model: hw.Learner) -> Slope:
    return Slope(**take_apart(model.to_bytes())[1]["calibration"])


def scores_of(model: hw.Learner, event: dict[str, Any]) -> list[float]:
    """The scores behind a prediction, worked out from the weights."""
    if model.parameters().get("multiclass") or isinstance(model, hw.MPAA):
        weights = model.weights()
        return [
            sum(weights[label].get(name, 0.0) * value for name, value in event.items())
            for label in model.labels
        ]
    return [0.0, model.margin_one(event)]


def assert_close(got: Slope, expected: Slope) -> None:
    for name, value in vars(expected).items():
        assert math.isclose(getattr(got, name), value, rel_tol=1e-9, abs_tol=1e-12), name


@pytest.mark.parametrize("make", TWO.values(), ids=TWO)
def test_every_answer_moves_the_slope_as_the_reference_does(
    make: Callable[..., hw.Learner],
) -> None:
    model = make()
    answers = 0
    for event, label in zip(*stream(2), strict=True):
        decision = model.decide_one(event)
        if decision.asked:
            weight = weight_of(True, decision.query_probability)
            expected = learned(slope_of(model), [0.0, decision.margin], label, weight)
            model.answer(decision, label)
            assert_close(slope_of(model), expected)
            answers += 1
    assert answers > 5
    assert slope_of(model).slope != 1.0


@pytest.mark.parametrize("make", SEVERAL.values(), ids=SEVERAL)
def test_several_classes_share_one_slope(make: Callable[..., hw.Learner]) -> None:
    model = make(**({} if make is hw.MPAA else {"intercept": False}))
    if model.parameters().get("scale"):
        model = make(intercept=False, scale=None)
    for event, label in zip(*stream(4), strict=True):
        decision = model.decide_one(event)
        if decision.asked:
            before, scores = slope_of(model), scores_of(model, event)
            y = model.labels.index(label) if label in model.labels else None
            model.answer(decision, label)
            weight = weight_of(True, decision.query_probability)
            assert_close(slope_of(model), learned(before, scores, y, weight))
            shares = model.predict_proba_one(event)
            expected = probabilities(slope_of(model), scores_of(model, event))
            assert list(shares.values()) == pytest.approx(expected)
    assert slope_of(model).slope != 1.0


def test_a_label_that_nobody_asked_for_counts_once() -> None:
    given, answered = hw.FLLS(query_width=1e-6), hw.FLLS(query_width=1e-6)
    events, labels = stream(2)
    for model in (given, answered):
        model.learn_many(*as_rows(events[:60], labels[:60]))
    decision = answered.decide_one(events[61])
    assert not decision.asked
    expected = learned(slope_of(given), [0.0, given.margin_one(events[61])], labels[61], 1.0)
    answered.answer(decision, labels[61])
    given.learn_one(events[61], labels[61])
    assert slope_of(answered) == slope_of(given)
    assert_close(slope_of(given), expected)


def as_rows(events: list[dict[str, Any]], labels: list[int]) -> tuple[Any, list[int]]:
    pa = pytest.importorskip("pyarrow")
    names = [f"f{c}" for c in range(5)]
    return pa.table({name: [event.get(name) for event in events] for name in names}), labels


def test_a_late_answer_is_weighed_by_its_question_and_judged_by_the_model_of_now() -> None:
    model = hw.FLLS(query_width=0.5)
    events, labels = stream(2)
    decisions = [model.decide_one(event) for event in events]
    asked = [i for i, decision in enumerate(decisions) if decision.asked]
    for i in asked:
        expected = learned(
            slope_of(model),
            [0.0, model.margin_one(events[i])],  # not decisions[i].margin, which is old
            labels[i],
            weight_of(True, decisions[i].query_probability),
        )
        model.answer(decisions[i], labels[i])
        assert_close(slope_of(model), expected)


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
    assert slope_of(model) == Slope()


WRONG = [("slope", 0.0), ("slope", math.inf), ("slope", math.nan), ("information", -1.0)]
WRONG += [("mean_lead", math.inf), ("mean_lead", -0.5), ("weight", math.nan)]


@pytest.mark.parametrize(("key", "value"), WRONG)
def test_a_file_with_an_impossible_slope_is_refused(key: str, value: float) -> None:
    header, state = take_apart(hw.FLLS().to_bytes())
    state["calibration"][key] = value
    with pytest.raises(ModelFileError, match="its calibration is no slope"):
        hw.from_bytes(put_together(header, state))
