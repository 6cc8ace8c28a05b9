"""Running scores: against their definitions, against scikit-learn, one by one and in batches."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.errors import EventError, LabelError, ParameterError
from headwater.evaluation import ClassScores, Scores
from headwater.evaluation.metrics import roc_auc

scored_events = st.lists(
    st.tuples(
        st.sampled_from([-2.0, -0.5, -0.0, 0.0, 0.5, 2.0]) | st.floats(allow_nan=False),
        st.booleans(),
        st.booleans(),
    ),
    max_size=30,
)


def same(one: dict[str, float], other: dict[str, float]) -> bool:
    assert one.keys() == other.keys()
    return all(
        a == other[name] or (math.isnan(a) and math.isnan(other[name])) for name, a in one.items()
    )


def columns(events: list[Any]) -> tuple[list[Any], list[Any], Any]:
    """What was predicted, the labels, and whether they were bought."""
    asked = np.array([asked for *_, asked in events], dtype=bool)
    return [event[0] for event in events], [event[1] for event in events], asked


@given(scored_events)
def test_one_by_one_and_in_batches_are_the_same(scored: list[tuple[float, bool, bool]]) -> None:
    single, batch, halves = Scores(), Scores(), Scores()
    for event in scored:
        single.update(*event)
    middle = len(scored) // 2
    batch.update_many(*columns(scored))
    for half in (scored[:middle], scored[middle:]):
        part = Scores()
        part.update_many(*columns(half))
        halves.add(part)
    assert same(single.numbers(), batch.numbers())
    assert same(single.numbers(), halves.numbers())
    assert single.roc_auc_slack == batch.roc_auc_slack or math.isnan(batch.roc_auc_slack)


@given(scored_events)
def test_scores_are_what_they_are_defined_to_be(scored: list[tuple[float, bool, bool]]) -> None:
    scores = Scores(costs=(3.0, 0.5), sensitivity_weight=0.25)
    for event in scored:
        scores.update(*event)
    hits = sum(y and q > 0 for q, y, _ in scored)
    missed = sum(y and q <= 0 for q, y, _ in scored)
    alarms = sum(not y and q > 0 for q, y, _ in scored)
    quiet = sum(not y and q <= 0 for q, y, _ in scored)
    assert scores.errors == sum((1 if y else -1) * q <= 0 for q, y, _ in scored)
    assert scores.asked == sum(asked for *_, asked in scored)
    assert scores.events == len(scored)
    assert (hits, missed, alarms, quiet) == (
        *(scores.true_positives, scores.false_negatives),
        *(scores.false_positives, scores.true_negatives),
    )
    if scored:
        assert scores.accuracy == pytest.approx(1 - scores.errors / len(scored))
        assert scores.cost == 3 * missed + 0.5 * alarms
    if hits + missed and alarms + quiet:
        sensitivity, specificity = hits / (hits + missed), quiet / (alarms + quiet)
        assert scores.sensitivity == sensitivity
        assert scores.specificity == specificity
        assert scores.sum == pytest.approx(0.25 * sensitivity + 0.75 * specificity)
    else:
        assert math.isnan(scores.balanced_accuracy)
        assert math.isnan(scores.sum)
        assert math.isnan(scores.roc_auc)


def test_costs_are_by_default_the_share_of_the_other_class() -> None:
    scores = Scores()
    scores.update_many([1.0, -1.0, 1.0, -1.0, -1.0], [1, 1, -1, -1, -1])  # one missed, one alarm
    assert scores.cost == pytest.approx(3 / 5 * 1 + 2 / 5 * 1)


def test_scores_of_two_classes_agree_with_scikit_learn() -> None:
    theirs = pytest.importorskip("sklearn.metrics")
    generator = np.random.default_rng(0)
    labels = generator.random(3_000) < 0.3
    margin = generator.normal(size=3_000) + labels
    scores = Scores()
    scores.update_many(margin, labels)
    predicted = margin > 0
    assert scores.accuracy == pytest.approx(theirs.accuracy_score(labels, predicted))
    assert scores.balanced_accuracy == pytest.approx(
        theirs.balanced_accuracy_score(labels, predicted)
    )
    assert scores.f_measure == pytest.approx(theirs.f1_score(labels, predicted))
    assert scores.sensitivity == pytest.approx(theirs.recall_score(labels, predicted))
    assert abs(scores.roc_auc - theirs.roc_auc_score(labels, margin)) <= scores.roc_auc_slack
    assert scores.roc_auc_slack < 0.002


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1_000.0])
def test_the_running_auc_lies_within_its_slack_whatever_the_scale(scale: float) -> None:
    generator = np.random.default_rng(1)
    for _ in range(20):
        labels = generator.random(400) < 0.4
        margin = scale * (generator.standard_t(2, size=400) + labels)
        margin[:20] = 0.0
        scores = Scores()
        scores.update_many(margin, labels)
        assert abs(scores.roc_auc - roc_auc(margin, labels)) <= scores.roc_auc_slack + 1e-12
        assert scores.roc_auc_slack < 0.003


def test_margins_beyond_the_bins_count_as_equal_and_the_slack_says_so() -> None:
    scores = Scores()
    scores.update_many([1e7, 2e7, math.inf, 1e-30, 2e-30], [True, False, True, False, True])
    exact = roc_auc([1e7, 2e7, math.inf, 1e-30, 2e-30], [True, False, True, False, True])
    assert abs(scores.roc_auc - exact) <= scores.roc_auc_slack
    assert scores.roc_auc_slack == pytest.approx(3 / 2 / 6)


def test_the_size_of_scores_does_not_grow_with_the_stream() -> None:
    import pickle

    scores = Scores()
    scores.update_many([0.1], [True])
    before = len(pickle.dumps(scores))
    scores.update_many(np.random.default_rng(2).normal(size=50_000), np.arange(50_000) % 2)
    assert len(pickle.dumps(scores)) < before + 100


def test_labels_of_any_form_are_taken_and_others_refused() -> None:
    scores = Scores(classes=("ham", 1))
    scores.update_many([1.0, -1.0], ["ham", 1])
    assert scores.errors == 2
    with pytest.raises(ParameterError, match=r"classes must be \(negative, positive\), got"):
        Scores(classes=("ham", "spam", "eggs"))
    with pytest.raises(LabelError, match="labels must be 'ham' or 1, got 'eggs'"):
        scores.update(1.0, "eggs")
    with pytest.raises(LabelError, match=r"got None|got nan"):
        Scores().update(1.0, math.nan)
    with pytest.raises(LabelError, match="expected one an event, 2, got 1"):
        scores.update_many([1.0, 2.0], [1])
    with pytest.raises(EventError, match="asked: expected True or False an event"):
        scores.update_many([1.0], [1], [0.5])
    with pytest.raises(EventError, match="got NaN at 0"):
        scores.update(math.nan, 1)
    assert scores.events == 2


# Several classes

LETTERS = st.sampled_from(["a", "b", "c"])


@given(st.lists(st.tuples(st.none() | LETTERS, LETTERS, st.booleans()), max_size=30))
def test_several_classes_one_by_one_and_in_batches_are_the_same(scored: list[Any]) -> None:
    single, batch, sum_of_parts = ClassScores(), ClassScores(), ClassScores()
    for event in scored:
        single.update(*event)
        part = ClassScores()
        part.update(*event)
        sum_of_parts.add(part)
    batch.update_many(*columns(scored))
    assert same(single.numbers(), batch.numbers())
    assert same(single.numbers(), sum_of_parts.numbers())
    assert single.errors == sum(said != label for said, label, _ in scored)


def test_scores_of_several_classes_agree_with_scikit_learn() -> None:
    theirs = pytest.importorskip("sklearn.metrics")
    generator = np.random.default_rng(3)
    labels = generator.integers(0, 5, 2_000)
    labels[labels == 4] = 3  # a class that is predicted and never there
    predicted = np.where(generator.random(2_000) < 0.6, labels, generator.integers(0, 5, 2_000))
    scores = ClassScores()
    scores.update_many(predicted, labels)
    assert scores.accuracy == pytest.approx(theirs.accuracy_score(labels, predicted))
    assert scores.f_measure == pytest.approx(theirs.f1_score(labels, predicted, average="macro"))
    recall = theirs.recall_score(labels, predicted, average=None, labels=range(4))
    assert scores.balanced_accuracy == pytest.approx(recall.mean())


def test_labels_of_different_types_are_not_confused() -> None:
    scores = ClassScores()
    scores.update_many([1, "1", None], ["1", "1", 1])
    assert scores.errors == 2
    with pytest.raises(LabelError, match="every label must be known, got None"):
        scores.update(1, None)  # type: ignore[arg-type]
    assert scores.events == 3
