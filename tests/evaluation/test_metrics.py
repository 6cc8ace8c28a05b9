"""Scores of margins against their definitions."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.errors import EventError, LabelError
from headwater.evaluation.metrics import balanced_accuracy, errors, f_measure, mistakes, roc_auc

SCORES = (errors, balanced_accuracy, roc_auc, f_measure)

scored_events = st.lists(
    st.tuples(st.integers(-3, 3).map(float), st.booleans()), min_size=1, max_size=30
)


def test_a_margin_of_zero_is_a_mistake_whatever_the_label() -> None:
    assert mistakes([0.0, 0.0], [True, False]).tolist() == [True, True]
    assert errors(np.zeros(19_020), np.arange(19_020) % 2) == 19_020  # OLSF, Table 4


@given(scored_events)
def test_errors_count_the_rounds_with_y_q_at_most_zero(scored: list[tuple[float, bool]]) -> None:
    margin, labels = zip(*scored, strict=True)
    assert errors(margin, labels) == sum((1 if y else -1) * q <= 0 for q, y in scored)


def test_balanced_accuracy_is_the_mean_of_sensitivity_and_specificity() -> None:
    margin = [1, 1, 1, -1, -1, 1]
    labels = [True, True, True, True, False, False]  # 3 of 4, 1 of 2
    assert balanced_accuracy(margin, labels) == (0.75 + 0.5) / 2


def test_a_margin_of_zero_is_the_negative_class_where_a_class_is_needed() -> None:
    assert balanced_accuracy([0.0, 0.0], [True, False]) == 0.5
    assert f_measure([0.0, 1.0], [True, True]) == 2 / 3


@given(scored_events)
def test_roc_auc_is_the_share_of_pairs_in_order(scored: list[tuple[float, bool]]) -> None:
    positives = [q for q, y in scored if y]
    negatives = [q for q, y in scored if not y]
    auc = roc_auc(*zip(*scored, strict=True))
    if not positives or not negatives:
        assert math.isnan(auc)
        return
    wins = sum((p > n) + (p == n) / 2 for p in positives for n in negatives)
    assert auc == pytest.approx(wins / (len(positives) * len(negatives)), abs=1e-12)


def test_scores_agree_with_scikit_learn() -> None:
    theirs = pytest.importorskip("sklearn.metrics")
    generator = np.random.default_rng(0)
    labels = generator.random(2_000) < 0.3
    margin = np.round(generator.normal(size=2_000) + labels, 1)  # rounded: many ties, some zeros
    predicted = margin > 0
    assert roc_auc(margin, labels) == pytest.approx(theirs.roc_auc_score(labels, margin))
    assert balanced_accuracy(margin, labels) == pytest.approx(
        theirs.balanced_accuracy_score(labels, predicted)
    )
    assert f_measure(margin, labels) == pytest.approx(theirs.f1_score(labels, predicted))


def test_f_measure_is_zero_when_nothing_is_positive_nor_predicted_so() -> None:
    assert f_measure([-1.0, -1.0], [False, False]) == 0.0


@pytest.mark.parametrize("score", [balanced_accuracy, roc_auc])
def test_a_score_of_two_classes_is_nan_when_one_is_absent(score: Callable[..., float]) -> None:
    assert math.isnan(score([1.0, -1.0], [True, True]))
    assert math.isnan(score([1.0, -1.0], [False, False]))


@pytest.mark.parametrize("score", SCORES)
def test_the_three_forms_of_labels_score_the_same(score: Callable[..., float]) -> None:
    margin = [0.3, -0.2, 0.1, -0.4]
    truth = np.array([True, True, False, False])
    assert (
        score(margin, truth)
        == score(margin, truth.astype(int))
        == score(margin, np.where(truth, 1.0, -1.0))
    )


@pytest.mark.parametrize("score", SCORES)
def test_labels_that_do_not_fit_are_refused(score: Callable[..., float]) -> None:
    with pytest.raises(
        LabelError, match=r"labels must be one per margin, got shapes \(1,\) and \(2,\)"
    ):
        score([1.0, 2.0], [True])
    with pytest.raises(LabelError, match=r"labels must be bool, 0/1 or -1/\+1, got 2"):
        score([1.0, 2.0], [1, 2])
    with pytest.raises(LabelError, match="got both -1 and 0"):
        score([1.0, 2.0], [-1, 0])


@pytest.mark.parametrize("score", SCORES)
def test_a_margin_that_is_no_number_is_refused_with_its_place(score: Callable[..., float]) -> None:
    with pytest.raises(EventError, match="got NaN at 1"):
        score([1.0, math.nan], [True, False])
