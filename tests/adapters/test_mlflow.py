"""Learners as MLflow models, in a folder and in a store of files."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mlflow
import numpy as np
import pandas as pd
import pytest
from mlflow.models import Model
from mlflow.types import DataType

import headwater as hw
from headwater.adapters.mlflow import load_model, log_model, save_model, signature_of


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A tracking store of files."""
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    yield mlflow.get_tracking_uri()
    mlflow.set_tracking_uri(before)


def taught() -> hw.Learner:
    learner = hw.Linear(classes=("dry", "wet"), seed=3)
    draw = np.random.default_rng(0)
    for _ in range(50):
        rain, site = draw.normal(), str(draw.choice(["roof", "cellar"]))
        learner.learn_one({"rain": rain, "site": site}, "wet" if rain > 0 else "dry")
    return learner


def test_a_saved_learner_goes_on_where_it_stopped(tmp_path: Path) -> None:
    learner = taught()
    save_model(learner, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert loaded.to_bytes() == learner.to_bytes()
    for each in (learner, loaded):
        each.learn_one({"rain": 1.0, "wind": 2.0}, "wet")
    assert loaded.to_bytes() == learner.to_bytes()


def test_a_logged_learner_is_served_and_loaded(store: str) -> None:
    learner = taught()
    with mlflow.start_run():
        info = log_model(learner, "weather", registered_model_name="weather")
    assert load_model(info.model_uri).to_bytes() == learner.to_bytes()
    assert load_model("models:/weather/1").to_bytes() == learner.to_bytes()
    served = mlflow.pyfunc.load_model(info.model_uri)
    assert served.predict(pd.DataFrame({"rain": [2.0, -2.0]})).tolist() == ["wet", "dry"]


def served(learner: hw.Learner, tmp_path: Path) -> Any:
    save_model(learner, tmp_path / "model")
    return mlflow.pyfunc.load_model(str(tmp_path / "model"))


def test_columns_may_come_and_go_from_request_to_request(tmp_path: Path) -> None:
    learner = taught()
    model = served(learner, tmp_path)
    rows = {"rain": [2.0, None, -1.5], "site": ["roof", None, "cellar"], "wind": [None, 1.0, 3.0]}
    for columns in (["rain"], ["rain", "site"], ["site", "rain", "wind"], ["wind"], ["moon"]):
        X = pd.DataFrame({c: rows.get(c, [1.0, 2.0, 3.0]) for c in columns}, index=list("abc"))
        events = [{c: v for c, v in row.items() if not pd.isna(v)} for row in X.to_dict("records")]
        predicted = model.predict(X)
        assert predicted.index.tolist() == ["a", "b", "c"]
        assert predicted.tolist() == [learner.predict_one(x) for x in events]
        margin = model.predict(X, params={"output": "margin"})
        assert margin.tolist() == [learner.margin_one(x) for x in events]
        assert model.predict(events).tolist() == predicted.tolist()


def test_new_columns_matter_to_the_prediction(tmp_path: Path) -> None:
    learner = hw.PAA()
    learner.learn_one({"rain": 1.0}, True)
    learner.learn_one({"wind": 1.0, "moon": 1.0}, False)
    model = served(learner, tmp_path)
    X = pd.DataFrame({"rain": [1.0]})
    assert model.predict(X).tolist() == [True]
    assert model.predict(X.assign(wind=5.0)).tolist() == [False]


def test_probabilities_come_by_label(tmp_path: Path) -> None:
    learner = taught()
    model = served(learner, tmp_path)
    table = model.predict(pd.DataFrame({"rain": [1.0, -1.0]}), params={"output": "probability"})
    assert table.columns.tolist() == ["dry", "wet"]
    assert table.to_dict("records") == [learner.predict_proba_one({"rain": r}) for r in (1.0, -1.0)]
    with pytest.raises(hw.errors.ParameterError, match=r"one of .*, got 'colour'"):
        model.predict(pd.DataFrame({"rain": [1.0]}), params={"output": "colour"})


def test_predicting_teaches_nothing(tmp_path: Path) -> None:
    model = served(taught(), tmp_path)
    learner = model._model_impl.learner
    before = learner.to_bytes()
    model.predict(pd.DataFrame({"snow": [1.0]}))
    assert learner.to_bytes() == before


KINDS: list[tuple[hw.Learner, DataType]] = [
    (hw.PAA(), DataType.boolean),
    (hw.PAA(classes=(0, 1)), DataType.long),
    (hw.PAA(classes=("ham", "spam")), DataType.string),
    (hw.MPAA(), DataType.string),
    (hw.MPAA(classes=(1, 2, 3)), DataType.long),
    (hw.PARegressor(), DataType.double),
]


@pytest.mark.parametrize(("learner", "kind"), KINDS, ids=lambda value: repr(value))
def test_the_signature_lets_everything_in_and_says_what_comes_out(
    learner: hw.Learner, kind: DataType, tmp_path: Path
) -> None:
    signature = signature_of(learner)
    assert signature.inputs is None
    assert [column.type for column in signature.outputs] == [kind]
    save_model(learner, tmp_path / "model", metadata={"owner": "us"})
    kept = Model.load(str(tmp_path / "model"))
    assert kept.signature == signature
    assert kept.metadata == {"owner": "us"}
    assert load_model(tmp_path / "model").parameters() == learner.parameters()


def test_the_model_says_what_a_server_must_install(tmp_path: Path) -> None:
    save_model(hw.PAA(), tmp_path / "plain")
    needed = (tmp_path / "plain/requirements.txt").read_text().split()
    assert f"headwater=={hw.__version__}" in needed
    save_model(hw.PAA(), tmp_path / "own", pip_requirements=["headwater>=0.1"])
    assert "headwater>=0.1" in (tmp_path / "own/requirements.txt").read_text()
    assert {"headwater", "python_function"} <= set(Model.load(str(tmp_path / "own")).flavors)


def test_what_is_no_learner_and_no_model_of_ours_is_refused(tmp_path: Path) -> None:
    with pytest.raises(hw.errors.ParameterError, match="expected a learner of Headwater, got dict"):
        save_model({}, tmp_path / "model")  # type: ignore[arg-type]
    (tmp_path / "foreign").mkdir()
    Model(flavors={"foreign": {}}).save(str(tmp_path / "foreign/MLmodel"))
    with pytest.raises(hw.errors.ParameterError, match="expected a model of Headwater"):
        load_model(tmp_path / "foreign")
    model = served(hw.PAA(), tmp_path)
    with pytest.raises(hw.errors.EventError, match="a DataFrame or a list of events, got str"):
        model.predict("rain")
