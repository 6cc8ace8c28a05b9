"""The learners in River: its own checks, its pipelines, its evaluators."""

import inspect
import itertools
import pickle
import random
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from river import checks, compose, datasets, evaluate, feature_extraction, metrics, preprocessing

import headwater as hw
from headwater.adapters import river as adapter

CLASSIFIERS = ["FLLS", "OLSF", "PAA", "MPAA", "CSPAA", "OLVF", "Linear", "Spring", "FESL"]
BINARY = [name for name in CLASSIFIERS if name != "MPAA"]
NAMES = [*CLASSIFIERS, "PARegressor"]

MODELS: dict[str, Any] = {name: getattr(adapter, name)() for name in NAMES}
MODELS["Linear(multiclass=True)"] = adapter.Linear(multiclass=True)
MODELS["Spring(multiclass=True)"] = adapter.Spring(multiclass=True)
MODELS["Active(MPAA())"] = adapter.Active(adapter.MPAA())
MODELS["Active(scaler | MPAA())"] = adapter.Active(preprocessing.StandardScaler() | adapter.MPAA())


def suite() -> Iterator[Any]:
    """Every check that River has for each model."""
    for name, model in MODELS.items():
        for number, check in enumerate(checks.yield_checks(model)):
            yield pytest.param(name, check, id=f"{name}-{number}-{check.__name__}")


@pytest.mark.parametrize(("name", "check"), list(suite()))
def test_a_check_of_river_passes(
    name: str, check: Callable[[Any], None], record_property: Callable[[str, object], None]
) -> None:
    record_property("suite", f"River: {name}")
    random.seed(1)  # River's checks shuffle without a seed
    check(MODELS[name].clone())


@pytest.mark.parametrize("name", MODELS)
def test_no_check_is_skipped_and_those_of_batches_are_among_them(name: str) -> None:
    model = MODELS[name]
    assert model._unit_test_skips() == set()
    run = {check.__name__ for check in checks.yield_checks(model)}
    batches = {"check_predict_many_matches_predict_one", "check_learn_many_matches_learn_one"}
    if name in CLASSIFIERS:
        batches.add("check_predict_proba_many_matches_predict_proba_one")
    assert batches <= run or name.startswith("Active")


# The same learner


def stream(events: int = 200) -> list[tuple[dict[str, float], bool]]:
    """Events whose features come and go."""
    draw = np.random.default_rng(5)
    listed = []
    for i in range(events):
        carried = [n for n in range(1 + i // 10) if draw.random() < 0.6]
        x = {f"f{n}": float(draw.normal()) for n in carried}
        listed.append((x, sum(x.values()) > 0))
    return listed


@pytest.mark.parametrize("name", NAMES)
def test_the_parameters_are_those_of_the_learner_and_described(name: str) -> None:
    own = inspect.signature(getattr(adapter, name)).parameters
    plain = dict(inspect.signature(getattr(hw, name)).parameters)
    if name == "FESL":
        del plain["loss"]  # it is a classifier here
    assert dict(own) == plain
    text = inspect.cleandoc(getattr(adapter, name).__doc__)
    assert [p for p in own if f"\n{p}\n    " not in text] == []
    assert "\nloss\n" not in text


@pytest.mark.parametrize("name", NAMES)
def test_it_learns_and_predicts_what_the_learner_does(name: str) -> None:
    model, plain = getattr(adapter, name)(seed=3), getattr(hw, name)(seed=3)
    for x, y in stream():
        assert model.predict_one(x) == plain.predict_one(x)
        if name != "PARegressor":
            assert model.predict_proba_one(x) == plain.predict_proba_one(x)
        model.learn_one(x, y)
        plain.learn_one(x, y)
    assert model.learner.to_bytes() == plain.to_bytes()


@pytest.mark.parametrize("name", NAMES)
def test_batches_are_the_event_loop(name: str) -> None:
    one, many = getattr(adapter, name)(), getattr(adapter, name)()
    events = stream(60)
    for start in range(0, 60, 20):
        chunk = events[start : start + 20]
        X = pd.DataFrame([x for x, _ in chunk], index=[f"row {i}" for i in range(20)])
        predicted = many.predict_many(X)
        assert predicted.index.equals(X.index)
        in_the_order_of_columns = [({c: x[c] for c in X.columns if c in x}, y) for x, y in chunk]
        assert predicted.tolist() == [one.predict_one(x) for x, _ in in_the_order_of_columns]
        for x, y in in_the_order_of_columns:
            one.learn_one(x, y)
        many.learn_many(X, pd.Series([y for _, y in chunk]))
    assert one.learner.to_bytes() == many.learner.to_bytes()


def test_a_clone_starts_afresh_and_a_pickle_goes_on() -> None:
    model = adapter.Linear(update=hw.update.PA1(C=0.5), seed=4)
    for x, y in stream(50):
        model.learn_one(x, "yes" if y else "no")
    fresh, copied = model.clone(), pickle.loads(pickle.dumps(model))
    assert fresh.learner.learned == 0
    assert fresh.update == hw.update.PA1(C=0.5)
    assert fresh.predict_one({}) is False
    for x, y in stream(100)[50:]:
        assert model.predict_one(x) == copied.predict_one(x)
        for each in (model, copied):
            each.learn_one(x, "yes" if y else "no")
    assert model.learner.to_bytes() == copied.learner.to_bytes()


def test_the_memory_that_river_shows_grows_with_the_features() -> None:
    model = adapter.PAA()
    empty = model._raw_memory_usage
    model.learn_one({f"feature {i}": 1.0 for i in range(1000)}, True)
    assert model._raw_memory_usage > empty + 1000 * len("feature 000")


# Labels


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("forms", [(0, 1), (-1, 1), (False, True), ("ham", "spam"), (1, 2), (2, 1)])
@pytest.mark.parametrize("first", [False, True])
def test_any_two_labels_are_learned_as_they_come(
    name: str, forms: tuple[Any, Any], first: bool
) -> None:
    events = [({"f0": -1.0}, False), ({"f0": 1.0}, True)]
    events = (events[::-1] if first else events) + stream(50)
    model, plain = getattr(adapter, name)(), getattr(hw, name)()
    # 1 is positive, otherwise what comes second
    flipped = forms[0] == 1 or (forms[1] != 1 and first)
    for count, (x, y) in enumerate(events):
        if count >= 2:
            assert model.predict_one(x) == forms[plain.predict_one(x) ^ flipped]
            assert set(model.predict_proba_one(x)) == set(forms)
        model.learn_one(x, forms[y])
        plain.learn_one(x, y ^ flipped)
    assert model.learner.weights() == plain.weights()


def test_before_the_second_label_there_is_only_the_first() -> None:
    model = adapter.PAA()
    X = pd.DataFrame({"rain": [1.0, -1.0]})
    model.learn_one({"rain": 1.0}, "wet")
    assert model.predict_one({"rain": -1.0}) == "wet"
    assert model.predict_proba_one({"rain": -1.0}) == {"wet": 1.0}
    assert model.predict_many(X).tolist() == ["wet", "wet"]
    assert model.predict_proba_many(X).to_dict("list") == {"wet": [1.0, 1.0]}
    model.learn_many(X, pd.Series(["wet", "dry"]))
    assert model.predict_many(X).tolist() == ["wet", "dry"]


def test_numbers_that_are_usual_labels_have_their_usual_opposite() -> None:
    for label, other in [(0, 1), (1, 0), (-1, 1)]:
        model = adapter.PAA()
        model.learn_one({"rain": 1.0}, label)
        assert model.predict_one({"rain": -1.0}) == other
        assert set(model.predict_proba_one({"rain": 1.0})) == {label, other}


@pytest.mark.parametrize("name", BINARY)
def test_a_third_label_is_refused_and_nothing_has_changed(name: str) -> None:
    model = getattr(adapter, name)()
    model.learn_one({"f": 1.0}, "ham")
    model.learn_one({"f": -1.0}, "spam")
    before = pickle.dumps(model)
    refused = pytest.raises(hw.errors.LabelError, match=r"'ham' and 'spam', got 'eggs'; MPAA")
    with refused:
        model.learn_one({"f": 2.0}, "eggs")
    with refused:
        model.learn_many(pd.DataFrame({"f": [1.0, 2.0]}), pd.Series(["ham", "eggs"]))
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("label", [None, 0.5, float("nan"), ("a", "b"), b"ham", [1]])
def test_what_is_no_label_is_refused(label: Any) -> None:
    model = adapter.PAA()
    with pytest.raises(hw.errors.LabelError, match="expected a str, an int or a bool"):
        model.learn_one({"f": 1.0}, label)
    assert model.learner.learned == 0


def test_a_label_of_an_event_that_cannot_be_read_is_not_remembered() -> None:
    model = adapter.PAA()
    with pytest.raises(hw.errors.EventError):
        model.learn_one({"f": float("inf")}, "ham")
    model.learn_one({"f": 1.0}, "eggs")
    model.learn_one({"f": -1.0}, "spam")
    assert model.predict_one({"f": 1.0}) == "eggs"


def test_given_classes_are_the_learners_own() -> None:
    model = adapter.PAA(classes=("ham", "spam"))
    model.learn_one({"f": 1.0}, "spam")
    assert model.learner.labels == ("ham", "spam")
    assert model.predict_one({"f": -1.0}) == "ham"
    with pytest.raises(hw.errors.LabelError):
        model.learn_one({"f": 1.0}, "eggs")


# Pipelines and evaluators

MAILS = [
    ("cheap pills buy now", "spam"),
    ("see you at the meeting tomorrow", "ham"),
    ("buy cheap watches now", "spam"),
    ("the meeting is moved to monday", "ham"),
]


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_words_that_nobody_knew_come_through_a_pipeline(name: str) -> None:
    words = feature_extraction.BagOfWords(ngram_range=(1, 2))
    model = words | getattr(adapter, name)()
    for text, label in MAILS * 5:
        model.learn_one(text, label)
    assert model.predict_one("cheap pills") == "spam"
    assert model.predict_one("meeting tomorrow") == "ham"
    names = {feature.name for feature in model[-1].learner.features()}
    assert {"cheap", "cheap pills"} <= names


def test_transformers_that_make_features_of_text_values_work() -> None:
    model = compose.SelectType(str) | preprocessing.OneHotEncoder()
    model += compose.SelectType(float) | preprocessing.StandardScaler()
    model |= adapter.PAA()
    for site, heat in [("roof", 30.0), ("cellar", 10.0)] * 10:
        model.learn_one({"site": site, "heat": heat}, site == "roof")
    assert model.predict_one({"site": "roof", "heat": 30.0}) is True
    assert model.predict_one({"site": "cellar", "heat": 10.0}) is False


def test_progressive_validation_is_the_loop() -> None:
    metric = evaluate.progressive_val_score(
        datasets.Phishing(), preprocessing.StandardScaler() | adapter.PAA(), metrics.Accuracy()
    )
    scaler, model, right = preprocessing.StandardScaler(), hw.PAA(), 0
    for x, y in datasets.Phishing():
        right += model.predict_one(scaler.transform_one(x)) == y
        scaler.learn_one(x)
        model.learn_one(scaler.transform_one(x), y)
    assert metric.get() == right / 1250
    assert metric.get() > 0.8


def test_batches_run_through_a_pipeline_with_columns_that_change() -> None:
    model = preprocessing.StandardScaler() | adapter.Linear()
    draw = np.random.default_rng(1)
    for columns in (["a"], ["a", "b"], ["b", "c"]):
        X = pd.DataFrame(draw.normal(size=(50, len(columns))), columns=columns)
        model.learn_many(X, X["a" if "a" in X else "b"] > 0)
        assert len(model.predict_many(X)) == 50
    assert {"a", "b", "c"} <= set(model[-1].learner.weights())


def test_batches_may_hold_words_and_categories() -> None:
    batches = [
        {"heat": [3.0, None], "site": ["roof", "yard"]},
        {"site": pd.Categorical([None, "cellar"]), "wind": [True, False]},
    ]
    one, many = adapter.PAA(), adapter.PAA()
    for columns in batches:
        X, y = pd.DataFrame(columns), pd.Series(["hot", "cold"])
        many.learn_many(X, y)
        for row, label in zip(X.to_dict("records"), y, strict=True):
            one.learn_one(row, label)
        assert many.predict_many(X).tolist() == list(map(one.predict_one, X.to_dict("records")))
    assert many.learner.to_bytes() == one.learner.to_bytes()
    assert {"heat", "site=roof", "wind"} <= set(many.learner.weights())


# The active form


def test_the_active_form_asks_as_the_learner_does() -> None:
    events = stream()
    plain, model = hw.PAA(query_width=0.2, seed=6), adapter.PAA(query_width=0.2, seed=6)
    active = adapter.Active(model)
    for x, y in events:
        decision = plain.decide_one(x)
        prediction, ask = active.predict_one(x)
        assert (prediction, ask) == (decision.prediction, decision.asked)
        if ask:
            active.learn_one(x, y)
            plain.answer(decision, y)
    assert 0 < model.learner.asked < len(events)
    assert model.learner.weights() == plain.weights()


@pytest.mark.parametrize("metric", [metrics.Accuracy(), metrics.LogLoss()])
def test_the_evaluators_count_the_labels_that_were_asked_for(metric: Any) -> None:
    active = adapter.Active(
        preprocessing.StandardScaler() | adapter.FLLS(query_width=0.05, kept_share=1.0)
    )
    steps = evaluate.iter_progressive_val_score(datasets.Phishing(), active, metric, step=1250)
    (last,) = list(steps)
    learner = active.classifier[-1].learner
    assert last["Samples used"] == learner.asked == learner.learned
    assert 0 < learner.asked < 800
    assert learner.seen == 1250


def test_spring_asks_for_its_share_of_the_labels() -> None:
    active = adapter.Active(adapter.Spring(label_rate=0.1))
    metric = evaluate.progressive_val_score(datasets.Phishing(), active, metrics.Accuracy())
    assert 100 < active.classifier.learner.learned <= 125 + 2 * 125**0.5 + 4
    assert metric.get() > 0.85  # its view is made of all events, asked about or not


def test_late_labels_are_learned_when_they_come() -> None:
    active = adapter.Active(adapter.PAA(query_width=0.1))
    events = itertools.islice(datasets.Phishing(), 300)
    evaluate.progressive_val_score(events, active, metrics.Accuracy(), delay=20)
    assert active.classifier.learner.learned == active.classifier.learner.asked


def test_the_active_form_of_a_foreign_classifier_is_refused() -> None:
    from river import linear_model

    for foreign in (linear_model.LogisticRegression(), adapter.PARegressor(), None):
        with pytest.raises(hw.errors.ParameterError, match=r"headwater\.adapters\.river"):
            adapter.Active(foreign)


def test_the_page_of_adapters_tells_how_many_checks_are_run() -> None:
    text = (Path(__file__).parent.parent.parent / "docs/how-to/adapters.md").read_text()
    assert f"With River {version('river')}," in text
    for name, model in MODELS.items():
        count = len(list(checks.yield_checks(model)))
        spelled = name.replace("|", "\\|")
        assert f"| `{spelled}` | {count} | {count} | 0 |" in text
