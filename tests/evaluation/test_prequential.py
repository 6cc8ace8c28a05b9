"""Runs along a stream: windows, late labels, tests on the way."""

from typing import Any

import numpy as np
import pytest

import headwater as hw
from headwater.errors import EventError, LabelError, ParameterError
from headwater.evaluation import (
    ClassScores,
    Scores,
    held_out,
    learning_curve,
    prequential,
    sparsity,
)
from headwater.evaluation.metrics import balanced_accuracy, f_measure, mistakes, roc_auc
from headwater.evaluation.prequential import Prequential

NETWORK = hw.streams.SensorNetwork(2_300, seed=4)
X, Y = NETWORK.batch()
COUNTS = ("errors", "asked")


def equal(one: Prequential, other: Prequential) -> bool:
    assert one.windows.keys() == other.windows.keys()
    return np.array_equal(one.ends, other.ends) and all(
        np.array_equal(one.windows[name], other.windows[name], equal_nan=True)
        for name in one.windows
        if name != "seconds"
    )


def test_the_whole_and_the_windows_are_what_the_trace_says() -> None:
    trace = hw.Linear(seed=1).simulate(X, Y)
    run = prequential(hw.Linear(seed=1), NETWORK, window=500)
    assert isinstance(run.scores, Scores)
    assert run.scores.errors == mistakes(trace.margin, Y).sum()
    assert run.scores.f_measure == f_measure(trace.margin, Y)
    assert abs(run.scores.roc_auc - roc_auc(trace.margin, Y)) <= run.scores.roc_auc_slack
    assert run.ends.tolist() == [500, 1000, 1500, 2000, 2300]
    for window, end in enumerate(run.ends):
        part = slice(500 * window, end)
        assert run.windows["errors"][window] == mistakes(trace.margin[part], Y[part]).sum()
        assert run.windows["asked"][window] == trace.asked[part].sum()
        assert run.windows["balanced_accuracy"][window] == pytest.approx(
            balanced_accuracy(trace.margin[part], Y[part])
        )


@pytest.mark.parametrize(("window", "events"), [(1, 100), (7, 300), (1_000, 2_300), (5_000, 2_300)])
def test_windows_part_the_whole_whatever_their_length(window: int, events: int) -> None:
    network = hw.streams.SensorNetwork(events, seed=4)
    run = prequential(hw.FLLS(query_width=0.1), network, window=window)
    assert len(run.ends) == len(run.windows["errors"]) == -(-events // window)
    assert run.ends[-1] == run.scores.events == events
    for name in COUNTS:
        assert run.windows[name].sum() == getattr(run.scores, name)
    assert run.seconds == pytest.approx(run.windows["seconds"].sum())
    assert run.sparsity == run.windows["sparsity"][-1]
    assert 0.4 < run.sparsity <= 0.6  # FLLS keeps half


@pytest.mark.parametrize("make", [hw.Linear, lambda: hw.FLLS(query_width=0.05)])
def test_a_session_that_is_answered_at_once_is_the_learner_alone(make: Any) -> None:
    alone, taught = make(), make()
    session = hw.Session(taught, hw.labels.Oracle(Y))
    assert equal(prequential(alone, NETWORK), prequential(session, NETWORK))
    assert alone.to_bytes() == taught.to_bytes()


def test_late_labels_are_learned_late_and_events_are_scored_by_the_streams_labels() -> None:
    never = hw.Session(hw.Linear(), hw.labels.Oracle(Y, never=1.0))
    run = prequential(never, NETWORK)
    assert run.scores.errors == 2_300  # it knows nothing, and a margin of 0 is an error
    assert run.scores.asked == never.learner.asked > 0
    late = hw.Session(hw.Linear(), hw.labels.Oracle(Y, delay=1_000))
    windows = prequential(late, NETWORK, window=1_000).windows
    assert windows["errors"][0] == 1_000
    assert windows["errors"][1] < 500


def test_arrays_and_streams_give_the_same_run() -> None:
    dense = np.full((2_300, len(X.names)), np.nan)
    dense[np.repeat(np.arange(2_300), np.diff(X.indptr)), X.indices] = X.data
    by_stream = prequential(hw.Linear(), NETWORK, window=300)
    assert equal(by_stream, prequential(hw.Linear(), (X, Y), window=300))
    numbered = prequential(hw.Linear(), (dense, Y), window=300)
    assert numbered.scores.errors == by_stream.scores.errors


@pytest.mark.parametrize("name", hw.names())
def test_every_learner_that_predicts_classes_can_be_run(name: str) -> None:
    generator = np.random.default_rng(0)
    labels = generator.random(60) < 0.5
    table = generator.normal(size=(60, 3)) + labels[:, np.newaxis]
    run = prequential(hw.named(name), (table, labels), window=25)
    assert run.ends.tolist() == [25, 50, 60]
    assert run.scores.events == 60
    assert run.scores.asked == hw.named(name).simulate(table, labels).asked.sum()
    assert 0 <= run.sparsity <= 1


def test_several_classes_are_scored_by_their_predictions() -> None:
    classes = np.where(Y, "incident", np.where(np.arange(2_300) % 2, "quiet", "calm"))
    trace = hw.MPAA().simulate(X, classes)
    run = prequential(hw.MPAA(), (X, classes))
    assert isinstance(run.scores, ClassScores)
    assert run.scores.errors == (trace.prediction != classes).sum()
    session = hw.Session(hw.MPAA(), hw.labels.Oracle(classes))
    assert equal(run, prequential(session, (X, classes)))


def test_two_classes_of_any_name_are_scored() -> None:
    named = np.where(Y, "incident", "quiet")
    run = prequential(hw.Linear(classes=("quiet", "incident")), (X, named))
    assert equal(run, prequential(hw.Linear(), NETWORK))


def test_costs_and_weights_reach_the_scores() -> None:
    run = prequential(hw.Linear(), NETWORK, costs=(5.0, 1.0), sensitivity_weight=0.9)
    assert isinstance(run.scores, Scores)
    assert run.scores.cost == 5 * run.scores.false_negatives + run.scores.false_positives
    assert run.windows["cost"].sum() == run.scores.cost
    assert run.scores.sum == pytest.approx(
        0.9 * run.scores.sensitivity + 0.1 * run.scores.specificity
    )


# Held-out data


def test_held_out_scores_are_those_of_the_margins_and_teach_nothing() -> None:
    model = hw.Linear()
    model.simulate(X, Y)
    before = model.to_bytes()
    rows, labels = NETWORK.held_out(700)
    scores = held_out(model, rows, labels)
    assert isinstance(scores, Scores)
    assert scores.balanced_accuracy == pytest.approx(
        balanced_accuracy(model.margin_many(rows), labels)
    )
    assert (scores.events, scores.asked) == (700, 0)
    assert model.to_bytes() == before


def test_a_learning_curve_tests_the_model_as_it_was() -> None:
    rows, labels = NETWORK.held_out(400)
    curve = learning_curve(hw.Linear(seed=5), NETWORK, rows, labels, points=3)
    assert curve.ends.tolist() == [767, 1534, 2300]
    model, begin = hw.Linear(seed=5), 0
    events = [event for event, _ in NETWORK]
    for point, end in enumerate(curve.ends.tolist()):
        for event, label in zip(events[begin:end], Y[begin:end].tolist(), strict=True):
            decision = model.decide_one(event)
            if decision.asked:
                model.answer(decision, label)
        expected = balanced_accuracy(model.margin_many(rows), labels)
        assert curve.tested["balanced_accuracy"][point] == pytest.approx(expected)
        begin = end
    assert equal(curve, learning_curve(hw.Linear(seed=5), (X, Y), rows, labels, points=3))


def test_more_points_than_events_are_as_many_as_events() -> None:
    table, labels = [[1.0], [-1.0], [1.0]], [True, False, True]
    assert learning_curve(hw.OLSF(), (table, labels), table, labels).ends.tolist() == [1, 2, 3]


def test_sparsity_counts_the_weights_of_every_class() -> None:
    model = hw.MPAA()
    assert np.isnan(sparsity(model))
    model.learn_one({"round": 1.0, "yellow": 1.0}, "lemon")  # no rival yet: nothing moves
    model.learn_one({"round": 1.0}, "plum")
    assert model.weights() == {"lemon": {"round": -0.5}, "plum": {"round": 0.5}}
    assert sparsity(model) == 0.5


def test_what_cannot_be_run_or_scored_is_refused() -> None:
    with pytest.raises(ParameterError, match="stream must be a stream or"):
        prequential(hw.PAA(), [1, 2])  # type: ignore[arg-type]
    with pytest.raises(EventError, match="at least one event"):
        prequential(hw.PAA(), ([], []))
    with pytest.raises(ParameterError, match="model must be a learner or hold one, got 'PAA'"):
        prequential("PAA", NETWORK)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="model must predict classes, got PARegressor"):
        prequential(hw.PARegressor(), NETWORK)
    with pytest.raises(ParameterError, match="costs are for two classes"):
        prequential(hw.MPAA(), NETWORK, costs=(1.0, 2.0))
    with pytest.raises(LabelError, match="y must be one label per row"):
        prequential(hw.PAA(), ([[1.0], [2.0]], [True]))
