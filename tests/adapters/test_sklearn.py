"""The learners in scikit-learn: its own checks, pipelines, searches, and columns that change."""

import os
import pickle
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pytest
import scipy.sparse  # type: ignore[import-untyped]
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, make_regression
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import (
    check_dataframe_column_names_consistency,
    estimator_checks_generator,
    parametrize_with_checks,
)

import headwater as hw
from headwater.adapters.sklearn import HeadwaterClassifier, HeadwaterRegressor

FIXED = [
    HeadwaterClassifier(),
    HeadwaterRegressor(),
    *map(HeadwaterClassifier, ["Linear", "PA-I", "FLLS-II", "OLSF-I", "MPAA-I", "OLVF", "FESL-c"]),
]
OPEN = [HeadwaterClassifier(feature_space="open"), HeadwaterRegressor(feature_space="open")]


IN_ORDER = dict.fromkeys(
    [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")],
    "rows are learned one after the other: shuffled rows give another model",
)


@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [*FIXED, *OPEN], expected_failed_checks=lambda _: IN_ORDER
)
def test_a_check_of_scikit_learn_passes(
    estimator: Any,
    check: Callable[[Any], None],
    record_property: Callable[[str, object], None],
) -> None:
    record_property("suite", f"scikit-learn: {estimator}")
    check(estimator)


@pytest.mark.parametrize("estimator", FIXED, ids=str)
def test_a_fixed_feature_space_refuses_other_names(
    estimator: Any, record_property: Callable[[str, object], None]
) -> None:
    record_property("suite", f"scikit-learn: {estimator}")
    check_dataframe_column_names_consistency(str(estimator), estimator)


@pytest.mark.parametrize("estimator", OPEN, ids=str)
@pytest.mark.xfail(strict=True, reason="other names than before are what an open space is for")
def test_an_open_feature_space_refuses_other_names(
    estimator: Any, record_property: Callable[[str, object], None]
) -> None:
    record_property("suite", f"scikit-learn: {estimator}")
    check_dataframe_column_names_consistency(str(estimator), estimator)


def test_the_check_of_the_array_api_is_not_skipped() -> None:
    assert os.environ["SCIPY_ARRAY_API"] == "1"


# The same learner

CANCER = load_breast_cancer(return_X_y=True)
IRIS = load_iris(return_X_y=True)


def test_partial_fit_learns_what_the_learner_learns() -> None:
    X, y = CANCER
    model = HeadwaterClassifier("PA-I", C=0.5).partial_fit(X[:300], y[:300], classes=[0, 1])
    model.partial_fit(X[300:], y[300:])
    plain = hw.named("PA-I", C=0.5, classes=(0, 1))
    plain.learn_many(X, y)
    assert model.learner_.weights() == plain.weights()
    assert model.learner_.asked == 0
    assert model.decision_function(X).tolist() == plain.margin_many(X).tolist()
    assert model.predict(X).tolist() == plain.predict_many(X).tolist()
    assert model.predict_proba(X).tolist() == plain.predict_proba_many(X).tolist()


def test_fit_goes_over_the_rows_in_orders_of_its_own() -> None:
    X, y = CANCER
    in_order = HeadwaterClassifier(epochs=2, shuffle=False, random_state=0).fit(X, y)
    twice = HeadwaterClassifier(random_state=0).partial_fit(X, y, classes=[0, 1]).partial_fit(X, y)
    assert in_order.learner_.weights() == twice.learner_.weights()
    shuffled = [HeadwaterClassifier(epochs=2, random_state=seed).fit(X, y) for seed in (0, 0, 1)]
    weights = [model.learner_.weights() for model in shuffled]
    assert weights[0] == weights[1]
    assert weights[0] != weights[2]
    assert weights[0] != in_order.learner_.weights()
    assert shuffled[0].learner_.learned == 2 * len(y)


def test_the_scores_of_several_classes_are_those_of_the_weights() -> None:
    X, y = IRIS
    model = HeadwaterClassifier("MPA-I", random_state=0).fit(X, y)
    weights = model.learner_.weights()
    by_hand = [[sum(w * x[n] for n, w in weights[k].items()) for k in (0, 1, 2)] for x in X]
    scores = model.decision_function(X)
    assert scores.shape == (150, 3)
    np.testing.assert_allclose(scores, by_hand, rtol=1e-12, atol=1e-12)
    assert model.predict(X).tolist() == model.learner_.predict_many(X).tolist()


def test_two_classes_of_a_learner_for_several_have_one_margin() -> None:
    X, y = CANCER
    model = HeadwaterClassifier("MPA-I", random_state=0).fit(X, y)
    assert model.decision_function(X).shape == (len(y),)
    assert model.predict(X).tolist() == model.learner_.predict_many(X).tolist()


def test_classes_may_be_texts() -> None:
    X, y = IRIS
    names = np.array(["setosa", "versicolor", "virginica"])
    model = HeadwaterClassifier(random_state=0).fit(X, names[y])
    assert model.classes_.tolist() == names.tolist()
    assert set(model.learner_.weights()) == set(names)
    assert model.score(X, names[y]) > 0.8


def test_nan_and_what_is_not_stored_are_absent() -> None:
    X = np.array([[1.0, np.nan], [np.nan, 2.0], [-1.0, np.nan]])
    sparse = scipy.sparse.csr_matrix(np.nan_to_num(X))
    y = [True, False, False]
    options: Any = {"algorithm": "PA", "shuffle": False, "epochs": 1}
    dense, stored = HeadwaterClassifier(**options).fit(X, y), HeadwaterClassifier(**options)
    stored.fit(sparse, y)
    assert dense.learner_.features() == stored.learner_.features()
    assert [feature.times_learned for feature in dense.learner_.features()] == [2, 1]


def test_every_kind_of_regression_learns() -> None:
    X, y = make_regression(300, 5, noise=1.0, random_state=0)
    X, y = StandardScaler().fit_transform(X), y / y.std()
    for model in (
        HeadwaterRegressor(random_state=0),
        HeadwaterRegressor(C=0.1, params={"update": "pa2", "epsilon": 0.0}, random_state=0),
        HeadwaterRegressor("FESL-c", params={"step": 0.1}, random_state=0),
    ):
        assert cross_val_score(model, X, y, cv=3).min() > 0.9


@pytest.mark.parametrize("algorithm", ["Spring", "Linear", "PA-I", "MPA-I"])
def test_a_row_of_weight_three_is_learned_three_times(algorithm: str) -> None:
    X, y = CANCER
    weights = np.arange(len(y)) % 4
    options: Any = {"shuffle": False, "epochs": 1, "random_state": 0}
    weighted = HeadwaterClassifier(algorithm, **options).fit(X, y, sample_weight=weights)
    repeated = HeadwaterClassifier(algorithm, **options)
    repeated.fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert weighted.learner_.to_bytes() == repeated.learner_.to_bytes()


def test_fractions_of_weights_are_rounded_by_chance() -> None:
    X, y = CANCER
    model = HeadwaterClassifier("PA-I", epochs=4, random_state=0)
    model.fit(X, y, sample_weight=np.full(len(y), 0.25))
    assert 0.8 * len(y) < model.learner_.learned < 1.2 * len(y)


def test_a_weight_moves_predictions_to_its_class_and_leaves_probabilities() -> None:
    X, y = CANCER
    plain = HeadwaterClassifier(random_state=0).fit(X, y)
    heavy = HeadwaterClassifier(class_weight={0: 50.0}, random_state=0).fit(X, y)
    assert heavy.predict_proba(X).tolist() == plain.predict_proba(X).tolist()
    likely = plain.predict_proba(X)
    assert heavy.predict(X).tolist() == (likely[:, 1] > 50 * likely[:, 0]).astype(int).tolist()
    assert (heavy.predict(X) == 0).sum() > (plain.predict(X) == 0).sum()


@pytest.mark.parametrize("algorithm", ["PA-I", "MPA-I"])
def test_the_coefficients_are_the_weights_in_the_order_of_the_columns(algorithm: str) -> None:
    X, y = CANCER
    model = HeadwaterClassifier(algorithm, random_state=0).fit(X, y)
    assert model.coef_.shape == (1, X.shape[1])
    np.testing.assert_allclose(X @ model.coef_[0], model.decision_function(X), atol=1e-9)
    named = HeadwaterClassifier(algorithm, feature_space="open", random_state=0)
    named.fit(pd.DataFrame(X[:, :3], columns=list("cab")), y)
    assert named.feature_names_in_.tolist() == ["c", "a", "b"]
    assert named.coef_.shape == (1, 3)
    several = HeadwaterClassifier("MPA-I", random_state=0).fit(*IRIS)
    assert several.coef_.shape == (3, 4)
    with pytest.raises(AttributeError, match="before it is fitted"):
        _ = HeadwaterClassifier().coef_


# In company


def test_a_grid_search_finds_algorithm_and_parameters() -> None:
    X, y = CANCER
    grid = [
        {"model__algorithm": ["Linear"], "model__params": [{"update": "arow"}, {"update": "pa1"}]},
        {"model__algorithm": ["PA-I", "FLLS-II"], "model__C": [1e-6, 0.1]},
    ]
    pipeline = make_pipeline(StandardScaler(), HeadwaterClassifier(random_state=0))
    pipeline.steps[-1] = ("model", pipeline.steps[-1][1])
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, y)
    assert len(search.cv_results_["params"]) == 6
    assert search.best_score_ > 0.95
    scores = search.cv_results_["mean_test_score"]
    assert search.cv_results_["params"][scores.argmin()]["model__C"] == 1e-6


def test_words_come_from_a_vectorizer() -> None:
    texts = ["cheap pills", "see you tomorrow", "buy pills now", "meeting tomorrow"] * 3
    labels = ["spam", "ham"] * 6
    model = make_pipeline(CountVectorizer(), HeadwaterClassifier("PA-I", random_state=0))
    assert model.fit(texts, labels).predict(["pills", "tomorrow"]).tolist() == ["spam", "ham"]


def test_a_clone_starts_afresh_and_a_pickle_goes_on() -> None:
    X, y = CANCER
    model = HeadwaterClassifier("Linear", C=0.3, random_state=0).fit(X[:300], y[:300])
    fresh = clone(model)
    assert fresh.get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        fresh.predict(X)
    copied = pickle.loads(pickle.dumps(model))
    for each in (model, copied):
        each.partial_fit(X[300:], y[300:])
    assert model.learner_.to_bytes() == copied.learner_.to_bytes()


# Open feature spaces


def frame(columns: str, rows: int = 40, seed: int = 0) -> tuple[pd.DataFrame, "pd.Series[Any]"]:
    draw = np.random.default_rng(seed)
    X = pd.DataFrame(draw.normal(size=(rows, len(columns))), columns=list(columns))
    return X, X.sum(axis=1) > 0


@pytest.mark.parametrize("names", ["abc", "cab", "a", "acx", "xyz"])
def test_columns_are_known_by_their_names(names: str) -> None:
    model = HeadwaterClassifier("PA-I", feature_space="open", random_state=0)
    model.fit(*frame("abc"))
    X, _ = frame(names, seed=1)
    weights = model.learner_.weights()
    expected = sum(weights.get(name, 0.0) * X[name] for name in X)
    np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-12)


def test_new_columns_are_learned() -> None:
    model = HeadwaterClassifier(feature_space="open", random_state=0)
    for seed, names in enumerate(["ab", "bc", "cd"]):
        X, y = frame(names, rows=200, seed=seed)
        model.partial_fit(X, y, classes=[False, True])
    assert model.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    assert model.n_features_in_ == 4
    X, y = frame("abcd", rows=200, seed=9)
    assert model.score(X, y) > 0.9
    model.fit(*frame("xy"))
    assert model.feature_names_in_.tolist() == ["x", "y"]


def test_an_open_regressor_learns_new_columns() -> None:
    model = HeadwaterRegressor(feature_space="open", random_state=0)
    for seed, names in enumerate(["ab", "bc"] * 5):
        X, _ = frame(names, rows=100, seed=seed)
        model.partial_fit(X, X.sum(axis=1))
    X, _ = frame("abc", seed=20)
    assert model.score(X, X.sum(axis=1)) > 0.9


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table, pa.record_batch])
def test_columns_of_words_become_indicators_in_an_open_space(library: Any) -> None:
    model = HeadwaterClassifier(
        class_weight="balanced", feature_space="open", shuffle=False, epochs=1, random_state=0
    )
    first = {"heat": [3.0, 0.0, None], "site": ["roof", "yard", "yard"]}
    second = {"site": ["cellar", None], "wind": [0, 7]}
    labels = [True, False, False]
    model.fit(library(first), labels).partial_fit(library(second), [False, True])
    assert model.feature_names_in_.tolist() == ["heat", "site", "wind"]
    plain = hw.Spring(classes=(False, True), seed=model.learner_.seed)
    rows = pl.DataFrame(first).to_dicts() + pl.DataFrame(second).to_dicts()
    for row, label in zip(rows, [*labels, False, True], strict=True):
        plain.learn_one(row, label)
    assert model.learner_.to_bytes() == plain.to_bytes()
    assert model.decision_function(library(second)).tolist() == [
        plain.margin_one(row) for row in rows[3:]
    ]
    assert model.predict_proba(library(second)).shape == (2, 2)


def test_words_are_no_numbers_in_a_fixed_space_and_the_cure_is_named() -> None:
    with pytest.raises(hw.errors.EventError, match="need feature_space='open'"):
        HeadwaterClassifier().fit(pd.DataFrame({"site": ["roof", "yard"]}), [0, 1])


@pytest.mark.parametrize("make", [HeadwaterClassifier, HeadwaterRegressor])
def test_arrays_without_names_of_another_width_are_refused(make: Any) -> None:
    X, y = frame("abc")
    model = make(feature_space="open").fit(X.to_numpy(), y)
    for call in (model.predict, lambda narrow: model.partial_fit(narrow, y)):
        before = pickle.dumps(model)
        with pytest.raises(ValueError, match=r"X has 2 features, but .* is expecting 3"):
            call(X.to_numpy()[:, :2])
        assert pickle.dumps(model) == before


def test_named_and_nameless_columns_do_not_mix_in_an_open_space() -> None:
    X, y = frame("abc")
    named = HeadwaterClassifier(feature_space="open").fit(X, y)
    with pytest.raises(hw.errors.EventError, match="with names, got ndarray with no names; "):
        named.predict(X.to_numpy())
    nameless = HeadwaterClassifier(feature_space="open").fit(X.to_numpy(), y)
    with pytest.raises(hw.errors.EventError, match="with no names, got DataFrame with names; "):
        nameless.predict(X)


# Wrong parameters and labels

Refused = tuple[Any, Any, str]
WRONG: list[Refused] = [
    (HeadwaterClassifier("FLLS-IV"), [0, 1, 1], "there is no algorithm 'FLLS-IV'"),
    (HeadwaterClassifier("Linear", C=-1.0), [0, 1, 1], "C must be a number above 0"),
    (HeadwaterClassifier("Linear", params={"update": "cw"}, C=1.0), [0, 1, 1], "has no C"),
    (
        HeadwaterClassifier(params={"colour": 1}),
        [0, 1, 1],
        "Spring: there is no parameter 'colour'",
    ),
    (HeadwaterClassifier(C=0.1), [0, 1, 1], "Spring: there is no parameter 'C'"),
    (HeadwaterClassifier("PA-I", class_weight="balanced"), [0, 1, 1], "give it a dict of weights"),
    (HeadwaterClassifier(class_weight={7: 2.0}), [0, 1, 1], "has the class 7; the classes are"),
    (HeadwaterClassifier(class_weight={1: 0.0}), [0, 1, 1], "must be a finite number above 0"),
    (HeadwaterClassifier(class_weight=cast(Any, 3)), [0, 1, 1], "must be a dict, 'balanced' or"),
    (HeadwaterClassifier("PA-I", params={"colour": 1}), [0, 1, 1], "PA-I has no parameter"),
    (HeadwaterClassifier(params=cast(Any, ["C"])), [0, 1, 1], "params must be a dict or None"),
    (HeadwaterClassifier("PA-I"), [0, 1, 2], "PA-I takes two classes, got 3"),
    (HeadwaterClassifier(), [1, 1, 1], "got one class, 1"),
    (HeadwaterClassifier(), [0, 1], "expected one label per row, 3 in all, got 2"),
    (HeadwaterRegressor("FLLS-I"), [0.0, 1.0, 2.0], "FLLS-I, which is a classifier"),
    (HeadwaterRegressor("nobody"), [0.0, 1.0, 2.0], "there is no algorithm"),
    (
        HeadwaterRegressor(params={"colour": 1}),
        [0.0, 1.0, 2.0],
        "PARegressor: there is no parameter",
    ),
]


@pytest.mark.parametrize(("estimator", "y", "says"), WRONG, ids=lambda value: str(value)[:40])
def test_what_is_wrong_is_refused_with_a_sentence(estimator: Any, y: Any, says: str) -> None:
    with pytest.raises(hw.errors.HeadwaterError, match=says):
        estimator.fit([[1.0], [2.0], [3.0]], y)
    assert not hasattr(estimator, "learner_")


def test_partial_fit_wants_its_classes_first_and_the_same_ever_after() -> None:
    X, y = CANCER
    with pytest.raises(hw.errors.LabelError, match="needs all classes at its first call"):
        HeadwaterClassifier().partial_fit(X, y)
    model = HeadwaterClassifier().partial_fit(X, y, classes=[0, 1])
    with pytest.raises(hw.errors.LabelError, match=r"the first call, \[0, 1\], got \[0, 1, 2\]"):
        model.partial_fit(X, y, classes=[0, 1, 2])
    before = model.learner_.to_bytes()
    with pytest.raises(hw.errors.LabelError, match="expected 0 or 1, got 2"):
        model.partial_fit(X[:1], [2])
    assert model.learner_.to_bytes() == before


def test_the_page_of_adapters_tells_how_many_checks_are_run() -> None:
    text = (Path(__file__).parent.parent.parent / "docs/how-to/adapters.md").read_text()
    assert f"With scikit-learn {version('scikit-learn')}," in text
    counts = [len(list(estimator_checks_generator(each))) for each in FIXED]
    assert f": {min(counts)} to {max(counts)} checks each." in text
