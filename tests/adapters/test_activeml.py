"""The query rules in scikit-activeml: the contract of its stream parts, and its loop."""

import pickle
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from skactiveml.base import BudgetManager, SingleAnnotatorStreamQueryStrategy
from skactiveml.classifier import ParzenWindowClassifier, SklearnClassifier
from skactiveml.stream import StreamProbabilisticAL, VariableUncertainty
from skactiveml.utils import call_func
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification

import headwater as hw
from headwater.adapters.activeml import HeadwaterBudgetManager, HeadwaterStrategy, margins
from headwater.adapters.sklearn import HeadwaterClassifier

RULES: list[str | hw.query.Query] = [
    *("all", "random", "quota", "margin", "margin_plus_one", "decaying", "budget"),
    hw.query.Margin(0.2),
    hw.query.Quota(0.3, total=50),
]


def state(part: Any) -> dict[str, Any]:
    """What a part has learned: its fitted attributes."""
    return {
        name: pickle.dumps(value)
        for name, value in vars(part).items()
        if name.endswith("_") and not name.startswith("_")
    }


def some_utilities(count: int = 50) -> NDArray[np.float64]:
    return np.random.default_rng(0).uniform(0, 0.5, count)


# The budget manager


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_a_query_changes_nothing_and_an_update_does(rule: Any) -> None:
    manager, utilities = HeadwaterBudgetManager(rule, random_state=1), some_utilities()
    manager.query_by_utility(utilities)  # sets up what was not there
    before = state(manager)
    asked = [manager.query_by_utility(utilities).tolist() for _ in range(3)]
    assert asked[0] == asked[1] == asked[2]
    assert state(manager) == before
    assert manager.update(np.zeros((50, 2)), asked[0], utilities) is manager
    assert state(manager) != before


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_chunks_of_any_size_ask_the_same(rule: Any) -> None:
    utilities, asked = some_utilities(60), []
    for size in (1, 7, 60):
        manager, found = HeadwaterBudgetManager(rule, random_state=2), []
        for start in range(0, 60, size):
            chunk = utilities[start : start + size]
            indices = manager.query_by_utility(chunk)
            manager.update(np.zeros((len(chunk), 1)), indices, chunk)
            found += [start + index for index in indices]
        asked.append(found)
    assert asked[0] == asked[1] == asked[2]


@pytest.mark.parametrize("rule", [hw.query.Margin(0.3), hw.query.Budget(0.2)], ids=str)
def test_it_asks_what_a_learner_with_these_margins_asks(rule: Any) -> None:
    generator = np.random.RandomState(4)
    manager = HeadwaterBudgetManager(rule, random_state=np.random.RandomState(4))
    learner = hw.Linear(
        update="pa", query=rule, scale=None, intercept=False,
        seed=int(generator.randint(2**31 - 1)),
    )  # fmt: skip
    learner.learn_one({"q": 1.0}, True)
    magnitudes = np.random.default_rng(3).exponential(size=200)
    expected = [learner.query_one({"q": q}) for q in magnitudes]
    utilities = 1 / (1 + np.exp(magnitudes))
    assert manager.query_by_utility(utilities).tolist() == np.flatnonzero(expected).tolist()


def test_the_seed_decides() -> None:
    utilities = some_utilities(200)
    asked = [
        HeadwaterBudgetManager(random_state=seed).query_by_utility(utilities).tolist()
        for seed in (0, 0, 1)
    ]
    assert asked[0] == asked[1] != asked[2]
    generator = np.random.RandomState(0)
    HeadwaterBudgetManager(random_state=generator).query_by_utility(utilities)
    assert generator.randint(10**9) == np.random.RandomState(0).randint(10**9)  # left as it was


@pytest.mark.parametrize("rule", ["budget", "random", "quota"])
def test_the_budget_is_kept(rule: str) -> None:
    manager = HeadwaterBudgetManager(rule, budget=0.2, random_state=0)
    assert 0.15 < len(manager.query_by_utility(some_utilities(2000))) / 2000 < 0.25
    by_default = HeadwaterBudgetManager(random_state=0).query_by_utility(some_utilities(2000))
    assert 0.08 < len(by_default) / 2000 < 0.12


def test_what_is_surer_is_asked_for_less() -> None:
    manager = HeadwaterBudgetManager(hw.query.Margin(1.0), random_state=0)
    unsure, sure = np.full(2000, 0.4), np.full(2000, 0.01)
    assert len(manager.query_by_utility(unsure)) > 2 * len(manager.query_by_utility(sure))
    assert manager.query_by_utility(np.array([0.5, 0.9])).tolist() == [0, 1]


def test_utilities_and_margins_are_the_same_thing() -> None:
    magnitudes = np.array([0.0, 1e-9, 0.5, 3.0, 100.0])
    np.testing.assert_allclose(margins(1 / (1 + np.exp(magnitudes))), magnitudes, atol=1e-15)
    assert np.isfinite(margins(np.array([0.0, -3.0]))).all()


WRONG: list[tuple[Any, Any, str]] = [
    ({"rule": "nobody"}, some_utilities(), "query must be"),
    ({"rule": "sel_ada"}, some_utilities(), "follows the mistakes"),
    ({"rule": "margin", "budget": 0.1}, some_utilities(), "keeps no budget"),
    ({"budget": 1.5}, some_utilities(), "budget"),
    ({"budget": 0.0}, some_utilities(), "budget"),
    ({"budget": "much"}, some_utilities(), "budget"),
    ({"random_state": "dice"}, some_utilities(), "cannot be used to seed"),
    ({}, [0.1, 0.2], "utilities"),
    ({}, np.zeros((2, 2)), "expected one finite number per candidate"),
    ({}, np.array([0.1, np.nan]), "expected one finite number per candidate"),
]


@pytest.mark.parametrize(("parameters", "utilities", "says"), WRONG, ids=lambda v: str(v)[:30])
def test_a_wrong_parameter_is_refused_at_query_and_update(
    parameters: dict[str, Any], utilities: Any, says: str
) -> None:
    manager = HeadwaterBudgetManager(**parameters)  # as in scikit-learn, nothing is checked here
    assert clone(manager).get_params() == manager.get_params()
    with pytest.raises((ValueError, TypeError), match=says):
        manager.query_by_utility(utilities)
    with pytest.raises((ValueError, TypeError), match=says):
        manager.update(np.zeros((len(utilities), 1)), [], utilities)


def test_an_update_that_fits_no_query_is_refused_and_changes_nothing() -> None:
    manager, utilities = HeadwaterBudgetManager(random_state=0), some_utilities(5)
    indices = manager.query_by_utility(utilities).tolist()
    before = state(manager)
    other = [index for index in range(5) if index not in indices]
    with pytest.raises(hw.errors.ParameterError, match="a rule counts its own questions"):
        manager.update(np.zeros((5, 1)), other, utilities)
    with pytest.raises(hw.errors.EventError, match="one per candidate, 4 in all, got 5"):
        manager.update(np.zeros((4, 1)), indices, utilities)
    assert state(manager) == before


# The strategy

X, Y = make_classification(300, 5, random_state=0)


def fitted(rows: int = 20) -> SklearnClassifier:
    model = SklearnClassifier(HeadwaterClassifier(random_state=0), classes=[0, 1])
    return model.fit(X[:rows], Y[:rows])


def test_a_strategy_changes_nothing_when_it_is_asked() -> None:
    strategy, model = HeadwaterStrategy(random_state=0), fitted()
    strategy.query(X[20:40], model)
    before, model_before = state(strategy), pickle.dumps(model)
    answers = [strategy.query(X[20:40], model, return_utilities=True) for _ in range(2)]
    assert answers[0][0].tolist() == answers[1][0].tolist()
    assert answers[0][1].tolist() == answers[1][1].tolist()
    assert state(strategy) == before
    assert pickle.dumps(model) == model_before
    indices, utilities = answers[0]
    told = {"utilities": utilities}
    assert strategy.update(X[20:40], indices, budget_manager_param_dict=told) is strategy
    assert state(strategy) != before


def test_utilities_are_those_of_the_margins_and_repeat_for_the_same_model() -> None:
    model = fitted()
    _, utilities = HeadwaterStrategy(random_state=0).query(X, model, return_utilities=True)
    log_odds = np.diff(np.log(model.predict_proba(X)), axis=1)[:, 0]
    np.testing.assert_allclose(margins(utilities), np.abs(log_odds), rtol=1e-9, atol=1e-12)
    refit = HeadwaterStrategy(random_state=9).query(
        X, clone(model), X[:20], Y[:20], fit_clf=True, return_utilities=True
    )
    assert refit[1].tolist() == utilities.tolist()


def test_of_several_classes_the_lead_counts() -> None:
    rows, labels = load_iris(return_X_y=True)
    model = SklearnClassifier(
        HeadwaterClassifier(random_state=0), classes=[0, 1, 2], random_state=0
    )
    model.fit(rows, labels)
    _, utilities = HeadwaterStrategy(random_state=0).query(rows, model, return_utilities=True)
    ranked = np.sort(model.predict_proba(rows), axis=1)
    lead = np.log(ranked[:, 2] / ranked[:, 1])
    np.testing.assert_allclose(margins(utilities), lead, rtol=1e-9, atol=1e-12)


def test_wrong_arguments_of_a_strategy_are_refused() -> None:
    model = fitted()
    for parameters in ({"budget": 2.0}, {"budget_manager": "nobody"}, {"random_state": "dice"}):
        with pytest.raises((ValueError, TypeError)):
            HeadwaterStrategy(**parameters).query(X, model)
    strategy: Any = HeadwaterStrategy()
    with pytest.raises(TypeError, match="clf"):
        strategy.query(X, HeadwaterClassifier().fit(X, Y))
    with pytest.raises(ValueError, match="2D array"):
        strategy.query(X[0], model)
    with pytest.raises(TypeError, match="return_utilities"):
        strategy.query(X, model, return_utilities="yes")
    indices = strategy.query(X, model)
    with pytest.raises(hw.errors.ParameterError, match="needs the utilities of the query"):
        strategy.update(X, indices)


def test_both_are_what_scikit_activeml_takes_them_for() -> None:
    assert isinstance(HeadwaterStrategy(), SingleAnnotatorStreamQueryStrategy)
    assert isinstance(HeadwaterBudgetManager(), BudgetManager)
    given = HeadwaterBudgetManager(budget=0.3)
    strategy = clone(HeadwaterStrategy(given, budget=0.3, random_state=1))
    assert strategy.get_params(deep=False)["budget"] == 0.3
    assert strategy.budget_manager is not given


def stream_loop(strategy: Any, model: Any) -> tuple[float, int]:
    """The loop of scikit-activeml's stream tutorial: accuracy, and labels asked for."""
    rows, labels = make_classification(600, 6, n_informative=4, class_sep=1.5, random_state=3)
    known, answers = rows[:4].tolist(), labels[:4].tolist()
    model.fit(known, answers)
    right = asked = 0
    for row, label in zip(rows[4:], labels[4:], strict=True):
        candidate = row.reshape(1, -1)
        right += int(model.predict(candidate)[0] == label)
        indices, utilities = call_func(
            strategy.query, candidates=candidate, clf=model, X=known, y=answers,
            return_utilities=True,
        )  # fmt: skip
        call_func(
            strategy.update, candidates=candidate, queried_indices=indices,
            budget_manager_param_dict={"utilities": utilities},
        )  # fmt: skip
        if len(indices):
            asked += 1
            known.append(row.tolist())
            answers.append(label)
            model.fit(known, answers)
    return right / 596, asked


def test_its_own_loop_runs_with_our_strategy_and_our_classifier() -> None:
    model = SklearnClassifier(HeadwaterClassifier(random_state=0), classes=[0, 1], random_state=0)
    accuracy, asked = stream_loop(HeadwaterStrategy(budget=0.1, random_state=0), model)
    assert 40 < asked < 80
    assert accuracy > 0.75


def test_its_own_loop_runs_with_our_strategy_and_its_classifier() -> None:
    model = ParzenWindowClassifier(classes=[0, 1], random_state=0)
    accuracy, asked = stream_loop(HeadwaterStrategy(budget=0.1, random_state=0), model)
    assert 40 < asked < 80
    assert accuracy > 0.75


@pytest.mark.parametrize("theirs", [VariableUncertainty, StreamProbabilisticAL])
def test_its_own_strategies_take_our_budget_manager(theirs: Any) -> None:
    manager = HeadwaterBudgetManager(budget=0.1, random_state=0)
    model = ParzenWindowClassifier(classes=[0, 1], random_state=0)
    _, asked = stream_loop(theirs(budget_manager=manager, random_state=0), model)
    assert 40 < asked < 80


def test_our_strategy_takes_its_budget_managers() -> None:
    from skactiveml.stream.budgetmanager import VariableUncertaintyBudgetManager

    manager = VariableUncertaintyBudgetManager(budget=0.1)
    strategy = HeadwaterStrategy(budget_manager=manager, random_state=0)
    indices = strategy.query(X, fitted())
    strategy.update(X, indices)
    assert 0 < len(indices) < 100
