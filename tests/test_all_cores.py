"""Scoring on all cores, names that are kept, several threads at once."""

import os
import pickle
import threading
from typing import Any

import numpy as np
import pytest

import headwater as hw
from headwater.errors import EventError, StepError

WIDTH = 30
NAMES = [f"c{column}" for column in range(WIDTH)]


def arrays(rows: int = 6_000) -> tuple[Any, Any]:
    generator = np.random.default_rng(5)
    X = generator.normal(size=(rows, WIDTH))
    X[generator.random(X.shape) < 0.3] = np.nan
    return X, np.nan_to_num(X)[:, 0] + np.nan_to_num(X)[:, 1] > 0


def trained(X: Any, y: Any, **options: Any) -> list[hw.Learner]:
    models: list[hw.Learner] = [hw.FLLS(), hw.Spring(), hw.MPAA(), hw.SEL2(), hw.OLVF()]
    for model in models:
        model.learn_many(X[:300], y[:300], **options)
    return models


@pytest.mark.parametrize("number", range(5))
def test_scores_of_many_rows_are_those_of_each_alone(number: int) -> None:
    X, y = arrays()
    model = trained(X, y, names=NAMES)[number]
    before = model.to_bytes()
    margins, shares = model.margin_many(X, names=NAMES), model.predict_proba_many(X, names=NAMES)
    predicted = model.predict_many(X, names=NAMES)
    for row in range(0, len(X), 97):
        event = {name: value for name, value in zip(NAMES, X[row], strict=True) if value == value}
        assert margins[row] == model.margin_one(event)
        assert list(shares[row]) == list(model.predict_proba_one(event).values())
        assert predicted[row] == model.predict_one(event)
    in_parts = [model.margin_many(X[i : i + 100], names=NAMES) for i in range(0, len(X), 100)]
    assert np.array_equal(np.concatenate(in_parts), margins)
    assert model.to_bytes() == before


def test_the_first_bad_row_is_named_whichever_core_finds_one() -> None:
    X, y = arrays()
    model = hw.PAA()
    model.learn_many(X[:300], y[:300])
    for row in (5_999, 3_100, 17):
        X[row] = 1e308
        with pytest.raises(StepError, match=f"row {row}:"):
            model.margin_many(X)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="cores cannot be chosen here")
def test_one_core_gives_the_same_bits() -> None:
    X, y = arrays()
    model = hw.Spring()
    model.learn_many(X[:300], y[:300])
    several, cores = model.margin_many(X), os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(cores)})
        assert np.array_equal(model.margin_many(X), several)
    finally:
        os.sched_setaffinity(0, cores)


def test_threads_score_while_another_learns_and_each_sees_a_whole_model() -> None:
    X, y = arrays()
    model = hw.FLLS()
    states = {}
    for step in range(4):
        states[step] = model.margin_many(X[:2_000]).tobytes()
        model.learn_many(X[step * 50 : step * 50 + 50], y[step * 50 : step * 50 + 50])
    states[4] = model.margin_many(X[:2_000]).tobytes()
    model, found = hw.FLLS(), list[bytes]()

    def score() -> None:
        found.extend(model.margin_many(X[:2_000]).tobytes() for _ in range(20))

    threads = [threading.Thread(target=score) for _ in range(3)]
    for thread in threads:
        thread.start()
    for step in range(4):
        model.learn_many(X[step * 50 : step * 50 + 50], y[step * 50 : step * 50 + 50])
    for thread in threads:
        thread.join()
    assert len(found) == 60
    assert set(found) <= set(states.values())


def test_kept_names_give_the_bytes_of_listed_ones_in_chunks() -> None:
    X, y = arrays(400)
    names = hw.FeatureNames(NAMES)
    for make in (hw.FLLS, hw.Spring, lambda: hw.FLLS(max_features=7), hw.MPAA):
        listed, kept = make(), make()
        for start in range(0, 400, 50):
            chunk = slice(start, start + 50)
            listed.simulate(X[chunk], y[chunk], names=NAMES)
            kept.simulate(X[chunk], y[chunk], names=names)
            for model in (listed, kept):
                model.learn_one({"c29": 1.0, f"between {start}": 2.0}, True)
        assert kept.to_bytes() == listed.to_bytes()
        assert np.array_equal(kept.margin_many(X, names=names), listed.margin_many(X, names=NAMES))


def test_kept_names_are_a_sequence_and_say_what_is_wrong() -> None:
    names = hw.FeatureNames(["rain", 3])
    assert (list(names), len(names), names[-1], repr(names)) == (
        *(["rain", 3], 2, 3),
        "FeatureNames(2 names)",
    )
    assert list(pickle.loads(pickle.dumps(names))) == ["rain", 3]
    with pytest.raises(IndexError, match="no column 2; there are 2"):
        names[2]
    with pytest.raises(EventError, match="'rain' is given twice"):
        hw.FeatureNames(["rain", "rain"])
    with pytest.raises(EventError, match="must be a str or an int, got 1"):
        hw.FeatureNames([1.5])  # type: ignore[list-item]
    with pytest.raises(EventError, match="expected one per column, 3 in all, got 2"):
        hw.PAA().predict_many([[1.0, 2.0, 3.0]], names=names)
    with pytest.raises(EventError, match="learner's own"):
        hw.Linear().predict_many([[1.0]], names=hw.FeatureNames(["(intercept)"]))


class Columns:
    """CSR with any number of columns."""

    def __init__(self, indices: list[int], columns: int) -> None:
        self.indptr, self.indices = [0, len(indices)], np.array(indices)
        self.data, self.shape = np.ones(len(indices)), (1, columns)


def test_columns_of_any_number_are_named_by_it() -> None:
    model = hw.PAA()
    model.learn_many(Columns([1, 5_000_000, 2_000_000], 2**31), [True])
    model.learn_many(Columns([7, 2**40], 2**41), [True])
    assert set(model.weights()) == {1, 2_000_000, 5_000_000, 7, 2**40}
    with pytest.raises(EventError, match="feature 3000000 appears twice"):
        model.learn_many(Columns([3_000_000, 1, 3_000_000], 2**31), [True])
    with pytest.raises(EventError, match="column 9 does not exist"):
        model.learn_many(Columns([1, 9], 9), [True])
