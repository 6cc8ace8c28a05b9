"""Choosing a parameter: which rows train, which test, what is best."""

from typing import Any

import numpy as np
import pytest

import headwater as hw
from headwater.errors import EventError, LabelError, ParameterError
from headwater.evaluation import AtRate, cross_validated
from headwater.evaluation.metrics import balanced_accuracy
from headwater.types import Rows, Trace

ROWS, LABELS = hw.streams.SensorNetwork(600, seed=3).batch()


class Notebook:
    """Notes what it is shown; its margins are the given value wherever the label is positive."""

    notes: list[tuple[float, list[float], list[float]]]

    def __init__(self, value: float) -> None:
        self.value = value

    def simulate(self, X: Rows, y: Any) -> Trace:
        self.trained = X.data.tolist()
        assert [place % 2 == 0 for place in self.trained] == list(y)
        return hw.OLSF().simulate(X, y)

    def margin_many(self, X: Rows) -> Any:
        type(self).notes.append((self.value, self.trained, X.data.tolist()))
        return np.full(len(X), self.value)


def test_every_row_is_left_out_once_and_the_others_train_in_the_order_of_the_stream() -> None:
    Notebook.notes = []
    table = np.arange(23.0)[:, np.newaxis]
    cross_validated(Notebook, table, table[:, 0] % 2 == 0, (1.0, 2.0), 4, lambda q, y: 0.0)
    for value in (1.0, 2.0):
        of_value = [(train, test) for tried, train, test in Notebook.notes if tried == value]
        assert sorted(row for _, test in of_value for row in test) == table[:, 0].tolist()
        for train, test in of_value:
            assert train == sorted(set(table[:, 0].tolist()) - set(test))
            assert len(test) in (5, 6)


def test_the_best_mean_wins_and_a_tie_goes_to_the_smaller_value() -> None:
    Notebook.notes = []
    table, labels = np.arange(20.0)[:, np.newaxis], np.arange(20) % 2 == 0

    def score(margin: Any, labels: Any) -> float:
        return {1.0: 0.3, 2.0: 0.7, 3.0: 0.7}[margin[0]]

    choice = cross_validated(Notebook, table, labels, (3.0, 1.0, 2.0), 4, score)
    assert choice.value == 2.0
    assert choice.scores == {1.0: (0.3,) * 4, 2.0: (0.7,) * 4, 3.0: (0.7,) * 4}


def test_the_choice_equals_one_worked_out_by_hand() -> None:
    dense = np.full((600, len(ROWS.names)), np.nan)
    dense[np.repeat(np.arange(600), np.diff(ROWS.indptr)), ROWS.indices] = ROWS.data
    grid = (0.01, 0.1, 1.0)
    fold = np.random.default_rng(7).permutation(600) % 3
    expected: dict[float, tuple[float, ...]] = {}
    for C in grid:
        of_folds = []
        for left_out in range(3):
            model = hw.PAA(C=C, query_width=0.1, seed=2)
            train = fold != left_out
            model.simulate(dense[train], LABELS[train], names=ROWS.names)
            margin = model.margin_many(dense[~train], names=ROWS.names)
            of_folds.append(balanced_accuracy(margin, LABELS[~train]))
        expected[C] = tuple(of_folds)

    def make(C: float) -> hw.Learner:
        return hw.PAA(C=C, query_width=0.1, seed=2)

    choice = cross_validated(make, ROWS, LABELS, grid, 3, seed=7)
    assert choice.scores == expected
    assert choice == cross_validated(make, ROWS, LABELS, grid, 3, balanced_accuracy, seed=7)
    assert choice.value == max(grid, key=lambda C: sum(expected[C]))


def test_the_width_is_searched_on_each_training_part() -> None:
    trials: list[AtRate] = []

    def make(C: float) -> AtRate:
        trials.append(AtRate(lambda width: hw.FLLS(C=C, query_width=width), rate=0.2))
        return trials[-1]

    choice = cross_validated(make, ROWS, LABELS, (0.1, 1.0), folds=2)
    assert len(trials) == 4
    assert all(0.15 < trial.learner.asked / trial.learner.seen < 0.25 for trial in trials)
    assert choice.value in (0.1, 1.0)


def test_several_classes_are_scored_by_their_predictions() -> None:
    labels = np.where(LABELS, "incident", "quiet")

    def make(C: float) -> hw.Learner:
        return hw.MPAA(C=C)

    assert max(map(max, cross_validated(make, ROWS, labels, (0.01,)).scores.values())) > 0.5


def test_a_fold_that_lacks_a_class_does_not_count() -> None:
    labels = np.zeros(600, dtype=bool)
    labels[17] = True
    choice = cross_validated(lambda C: hw.PAA(C=C), ROWS, labels, (1.0,), folds=3)
    assert int(np.isnan(choice.scores[1.0]).sum()) == 2
    with pytest.raises(LabelError, match="are there two classes"):
        cross_validated(lambda C: hw.PAA(C=C), ROWS, labels & False, (1.0,))


def test_what_cannot_be_tried_is_refused() -> None:
    def make(C: float) -> hw.Learner:
        return hw.PAA(C=C)

    with pytest.raises(ParameterError, match="grid must hold at least one value"):
        cross_validated(make, ROWS, LABELS, ())
    with pytest.raises(ParameterError, match=r"score must be one of accuracy, .*, got 'errors'"):
        cross_validated(make, ROWS, LABELS, (1.0,), score="errors")
    with pytest.raises(EventError, match="one event per fold, 5, got 2"):
        cross_validated(make, [[1.0], [2.0]], [True, False], (1.0,))
    with pytest.raises(LabelError, match="y must be one label per row"):
        cross_validated(make, ROWS, LABELS[:5], (1.0,))
    with pytest.raises(ParameterError, match="its width is searched by simulate"):
        AtRate(lambda width: hw.PAA(query_width=width), 0.1).margin_many(ROWS)
