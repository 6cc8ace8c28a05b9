"""Linear as it comes: it follows change, predicts rare classes, and weighs mistakes as told.

That the core equals the reference is checked in tests/test_reference.py.
"""

from math import log
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import headwater as hw
from headwater.errors import ModelFileError, ParameterError
from model_bytes import put_together, take_apart
from reference.class_odds import ClassOdds, prior
from reference.state import read_state

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

WEIGHED: dict[str, dict[str, Any]] = {
    "balanced": {},
    "costs": {"class_weight": (1.0, 8.0)},
    "threshold": {"threshold": 0.2},
}


def changed(seed: int) -> tuple[Floats, Bools]:
    """Twenty thousand events; at the fifteen thousandth the concept is another one."""
    rng = np.random.default_rng(seed)
    X, w = rng.normal(size=(20_000, 12)), rng.normal(size=(2, 12))
    before, after = X @ w[0] > 0, X @ w[1] > 0
    return X, np.where(np.arange(20_000) < 15_000, before, after)


def rare(seed: int, length: int = 8_000, share: float = 0.02) -> tuple[Floats, Bools]:
    """Four of ten values are higher in the events of a rare class."""
    rng = np.random.default_rng(seed)
    y = rng.random(length) < share
    X = rng.normal(size=(length, 10))
    X[:, :4] += 1.2 * y[:, None]
    return X, y


def balanced_accuracy(predicted: Bools, y: Bools) -> float:
    return float((predicted[y].mean() + (~predicted[~y]).mean()) / 2)


def taught(**parameters: Any) -> hw.Learner:
    """A learner that has seen a rare class."""
    model = hw.Linear(query="all", **parameters)
    model.learn_many(*rare(3, 2_000, 0.1))
    return model


def odds_of(model: hw.Learner) -> ClassOdds:
    odds = read_state(model.to_bytes()).class_odds
    assert odds is not None
    return odds


@pytest.mark.parametrize("seed", range(3))
def test_after_a_change_it_makes_at_most_half_the_mistakes_of_the_papers_arow(seed: int) -> None:
    X, y = changed(seed)
    paper = hw.Linear(update=hw.update.AROW(forgetting=None), class_weight=None, query="all")
    ours, theirs = (m.simulate(X, y).prediction != y for m in (hw.Linear(query="all"), paper))
    assert ours[15_000:].mean() < 0.5 * theirs[15_000:].mean()
    assert ours[10_000:15_000].mean() < 0.03  # the price while nothing changes


@pytest.mark.parametrize("query", ["all", hw.query.Budget(0.1)], ids=["all", "budget"])
@pytest.mark.parametrize("seed", range(3))
def test_a_class_of_two_percent_is_predicted(seed: int, query: Any) -> None:
    X, y = rare(seed)
    ours = hw.Linear(query=query, seed=seed).simulate(X, y).prediction
    plain = hw.Linear(query=query, class_weight=None, seed=seed).simulate(X, y).prediction
    assert balanced_accuracy(ours[2_000:], y[2_000:]) > 0.78
    assert balanced_accuracy(plain[2_000:], y[2_000:]) < 0.55
    assert ours[2_000:].mean() < 0.4


def test_a_few_labels_without_a_rare_one_do_not_make_everything_rare() -> None:
    model = hw.Linear(query="all")
    X, _ = rare(5, 600)
    model.learn_many(X, [False] * 600)
    assert model.predict_many(X).mean() < 0.6


@pytest.mark.parametrize("given", WEIGHED.values(), ids=WEIGHED)
def test_the_margin_is_the_decision_value_by_every_way_in(given: dict[str, Any]) -> None:
    model = taught(**given)
    odds, (X, _) = odds_of(model), rare(4, 200)
    margins = model.margin_many(X)
    assert model.predict_many(X).tolist() == (margins > 0).tolist()
    for x, margin in zip(X.tolist(), margins.tolist(), strict=True):
        event = dict(enumerate(x))
        assert model.margin_one(event) == margin
        assert model.predict_one(event) == (margin > 0)
        explained = model.explain_one(event)
        assert explained.margin == margin
        assert sum(explained.contributions.values()) == pytest.approx(margin)
        log_odds = margin - shift_of(given, odds)
        share = model.predict_proba_one(event)[True]
        assert share == pytest.approx(1 / (1 + np.exp(-log_odds)))
    trace = hw.from_bytes(model.to_bytes()).simulate(X, [False] * len(X))
    assert trace.prediction.tolist() == (trace.margin > 0).tolist()


def shift_of(given: dict[str, Any], odds: ClassOdds) -> float:
    if "threshold" in given:
        return -log(given["threshold"] / (1 - given["threshold"]))
    negative, positive = given.get("class_weight", (odds.positives, odds.negatives))
    return log(positive / negative)


def test_a_threshold_is_a_probability_and_a_ratio_of_costs() -> None:
    X, _ = rare(6, 500)
    base = taught(class_weight=(1.0, 1.0))
    shares = base.predict_proba_many(X)[:, 1]
    for threshold in (0.02, 0.2, 0.5, 0.9):
        model = taught(threshold=threshold)
        assert model.predict_many(X).tolist() == (shares > threshold).tolist()
        costs = taught(class_weight=(threshold, 1 - threshold))
        assert model.margin_many(X) == pytest.approx(costs.margin_many(X))
    assert 0 < (shares > 0.9).sum() < (shares > 0.02).sum() < len(X)


def test_questions_do_not_depend_on_costs() -> None:
    X, y = rare(7, 3_000, 0.1)
    traces = [
        hw.Linear(query=hw.query.Budget(0.1), **given).simulate(X, y) for given in WEIGHED.values()
    ]
    for trace in traces[1:]:
        assert trace.asked.tolist() == traces[0].asked.tolist()
        assert trace.query_probability.tolist() == traces[0].query_probability.tolist()
        assert trace.prediction.tolist() != traces[0].prediction.tolist()


def test_probabilities_are_those_of_the_stream_not_of_balanced_classes() -> None:
    expected = observed = 0.0
    for seed in range(5):
        X, y = rare(20 + seed, 12_000, 0.05)
        model = hw.Linear(query=hw.query.Budget(0.2), seed=seed)
        model.simulate(X[:6_000], y[:6_000])
        expected += model.predict_proba_many(X[6_000:])[:, 1].mean()
        observed += y[6_000:].mean()
    assert 0.6 < expected / observed < 1.5


def test_class_weights_may_be_given_by_label() -> None:
    by_label = hw.Linear(class_weight={True: 5, False: 1})
    assert by_label.class_weight == (1.0, 5.0)
    assert repr(by_label) == "Linear(class_weight=(1.0, 5.0))"
    assert hw.Linear(class_weight={1: 5, -1: 2}).class_weight == (2.0, 5.0)
    named = hw.Linear(class_weight={"alarm": 9.0, "calm": 1.0}, classes=("calm", "alarm"))
    assert named.class_weight == (1.0, 9.0)
    assert hw.from_bytes(named.to_bytes()).parameters() == named.parameters()


def test_a_threshold_stands_instead_of_the_balance() -> None:
    X, _ = rare(9, 50)
    one, other = taught(threshold=0.3), taught(threshold=0.3, class_weight=None)
    assert one.margin_many(X).tolist() == other.margin_many(X).tolist()


@pytest.mark.parametrize(
    "given",
    [
        {"multiclass": True},
        {"intercept": False},
        {"update": hw.update.PA1(positive_margin="balanced")},
        {"update": "dual_logistic"},
    ],
    ids=str,
)
def test_where_there_are_no_class_weights_the_default_changes_nothing(given: Any) -> None:
    X, y = rare(10, 300, 0.3)
    models = [hw.Linear(query="all", **given, class_weight=one) for one in ("balanced", None)]
    balanced, plain = (model.simulate(X, y).margin.tolist() for model in models)
    assert balanced == plain
    for weighed in ({"class_weight": (1, 2)}, {"threshold": 0.5}):
        (name,) = weighed
        with pytest.raises(ParameterError, match=rf"^Linear: {name} needs two classes, .*leave"):
            hw.Linear(**given, **weighed)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"class_weight": (1, 2), "threshold": 0.5}, "class_weight and threshold both say when"),
        ({"class_weight": "even"}, 'class_weight must be "balanced", two positive numbers'),
        ({"class_weight": (1, 2, 3)}, "class_weight must be"),
        ({"class_weight": (0, 1)}, "class_weight must be"),
        ({"class_weight": {True: float("inf"), False: 1}}, "class_weight must be"),
        ({"class_weight": {"a": 1, "b": 2}}, "the labels of class_weight must be False and True"),
        (
            {"class_weight": {"a": 1, "b": 2}, "classes": ("a", "c")},
            "the labels of class_weight must be those of classes, 'a' and 'c', got 'a' and 'b'",
        ),
        ({"threshold": 0}, r"threshold must be in \(0, 1\), or None, got 0"),
        ({"threshold": 1.0}, r"threshold must be in \(0, 1\)"),
        ({"threshold": "low"}, r"threshold must be in \(0, 1\)"),
    ],
)
def test_wrong_values_are_refused_with_a_sentence(given: Any, text: str) -> None:
    with pytest.raises(ParameterError, match=f"^Linear: {text}"):
        hw.Linear(**given)


def test_a_model_file_needs_class_odds_exactly_if_there_are_class_weights() -> None:
    weighed, plain = taught(), taught(class_weight=None)
    assert odds_of(weighed).slope > 0.5
    assert prior(odds_of(weighed)) < 0
    assert read_state(plain.to_bytes()).class_odds is None
    for model, other in ((weighed, plain), (plain, weighed)):
        with pytest.raises(ModelFileError, match="class odds"):
            hw.from_bytes(with_header_of(model, other))


def with_header_of(model: hw.Learner, other: hw.Learner) -> bytes:
    """The state of one learner under the parameters of another."""
    return put_together(take_apart(other.to_bytes())[0], take_apart(model.to_bytes())[1])
