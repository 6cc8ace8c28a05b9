"""Learners as MLflow models: save, log and load them, with any input columns.

MLflow drops the columns that a model's input schema does not list. A learner's features come and
go, so its signature lists no input columns, which accepts all; it describes only the output.
"""

import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

try:
    import mlflow
    from mlflow.models import Model, ModelSignature
    from mlflow.models.model import ModelInfo
    from mlflow.types import ColSpec, DataType, ParamSchema, ParamSpec, Schema
except ImportError as error:
    raise ImportError(
        "headwater.adapters.mlflow needs MLflow: pip install 'headwater[mlflow]'."
    ) from error

from headwater import _core
from headwater.errors import EventError, ParameterError
from headwater.inputs.frames import is_frame
from headwater.learners.base import Learner, load

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["load_model", "log_model", "save_model", "signature_of"]

FLAVOR = "headwater"
FILE = "model.hw"
OUTPUTS = ("prediction", "probability", "margin")


def signature_of(learner: Learner) -> ModelSignature:
    """The signature of a learner as a model: any columns in, one prediction per row out.

    Its one parameter, `output`, is what to predict: `"prediction"`, `"probability"` (one column per
    label) or `"margin"`.

    Parameters
    ----------
    learner
        Any learner.

    Examples
    --------
    >>> import headwater as hw
    >>> from headwater.adapters.mlflow import signature_of
    >>> signature = signature_of(hw.PAA(classes=("ham", "spam")))
    >>> signature.inputs is None, signature.outputs
    (True, ['prediction': string (required)])
    """
    kinds = {type(label) for label in learner.labels}
    if learner.task == "regression":
        kind = DataType.double
    elif kinds == {bool}:
        kind = DataType.boolean
    else:
        kind = DataType.long if kinds <= {bool, int} and kinds else DataType.string
    output = ParamSpec("output", DataType.string, "prediction")
    return ModelSignature(
        outputs=Schema([ColSpec(kind, "prediction")]), params=ParamSchema([output])
    )


def save_model(
    learner: Learner,
    path: str | Path,
    *,
    mlflow_model: Model | None = None,
    pip_requirements: Sequence[str] | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> None:
    """Write a learner to a folder as an MLflow model.

    Parameters
    ----------
    learner
        The learner; its whole state is kept, so that it can go on learning.
    path
        The folder, which must not exist yet.
    mlflow_model
        The MLflow model to add to; None: a new one.
    pip_requirements
        What a server must install; None: this version of Headwater and pandas.
    metadata
        Anything to keep beside the model.

    Examples
    --------
    >>> import headwater as hw, tempfile
    >>> from headwater.adapters.mlflow import load_model, save_model
    >>> learner = hw.PAA()
    >>> learner.learn_one({"rain": 2.0}, True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(learner, f"{folder}/model")
    ...     load_model(f"{folder}/model").weights()
    {'rain': 0.5}
    """
    if not isinstance(learner, Learner):
        raise ParameterError(
            f"save_model: expected a learner of Headwater, got {type(learner).__name__}."
        )
    model = Model() if mlflow_model is None else mlflow_model
    model.signature = signature_of(learner)
    model.add_flavor(FLAVOR, data=f"data/{FILE}", headwater_version=_core.__version__)
    requirements = [f"headwater=={_core.__version__}", "pandas"]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, FILE)
        learner.save(file)
        mlflow.pyfunc.save_model(
            path=path,
            loader_module=__name__,
            data_path=str(file),
            mlflow_model=model,
            pip_requirements=requirements if pip_requirements is None else list(pip_requirements),
            metadata=None if metadata is None else dict(metadata),
        )


def log_model(
    learner: Learner,
    name: str,
    *,
    registered_model_name: str | None = None,
    pip_requirements: Sequence[str] | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> ModelInfo:
    """Write a learner to the active MLflow run, or to a new one.

    Parameters
    ----------
    learner
        The learner; its whole state is kept, so that it can go on learning.
    name
        The model's name in the run.
    registered_model_name
        The name in MLflow's registry; None: it is not registered.
    pip_requirements
        What a server must install; None: this version of Headwater and pandas.
    metadata
        Anything to keep beside the model.

    Examples
    --------
    >>> import headwater as hw, mlflow, os, tempfile
    >>> from headwater.adapters.mlflow import load_model, log_model
    >>> os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"  # a folder will do here
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     mlflow.set_tracking_uri(f"file://{folder}/runs")
    ...     info = log_model(hw.PAA(C=0.5), "weather")
    ...     load_model(info.model_uri)
    PAA(C=0.5)
    """
    return Model.log(
        artifact_path=None,
        name=name,
        flavor=sys.modules[__name__],
        registered_model_name=registered_model_name,
        learner=learner,
        pip_requirements=pip_requirements,
        metadata=metadata,
    )


def load_model(model_uri: str | Path) -> Learner:
    """The learner of an MLflow model; it continues where it stopped.

    Parameters
    ----------
    model_uri
        A folder, or an address as MLflow writes them: `runs:/...`, `models:/...`.

    Examples
    --------
    See `save_model`. `mlflow.pyfunc.load_model` gives a model that predicts frames and events:

    >>> import headwater as hw, mlflow.pyfunc, tempfile
    >>> from headwater.adapters.mlflow import save_model
    >>> learner = hw.PAA()
    >>> learner.learn_one({"rain": 2.0}, True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(learner, f"{folder}/model")
    ...     served = mlflow.pyfunc.load_model(f"{folder}/model")
    >>> served.predict([{"rain": 1.0}, {"rain": -1.0, "wind": 5.0}]).tolist()
    [True, False]
    """
    folder = Path(mlflow.artifacts.download_artifacts(artifact_uri=str(model_uri)))
    flavor = Model.load(str(folder)).flavors.get(FLAVOR)
    if flavor is None:
        raise ParameterError(f"load_model: expected a model of Headwater, got that of {model_uri}.")
    return load(folder / flavor["data"])


class _Served:
    """A learner that only predicts: what `mlflow.pyfunc.load_model` finds in it."""

    def __init__(self, learner: Learner) -> None:
        self.learner = learner

    def predict(self, model_input: Any, params: Mapping[str, Any] | None = None) -> Any:
        """What the learner predicts for each row of a frame, or each event of a list."""
        import pandas as pd

        output = (params or {}).get("output", "prediction")
        if output not in OUTPUTS:
            expected = ", ".join(f'"{each}"' for each in OUTPUTS)
            raise ParameterError(f"predict: output must be one of {expected}, got {output!r}.")
        X, index = _batch(model_input)
        if output == "probability":
            shares = np.asarray(self.learner.predict_proba_many(X))
            return pd.DataFrame(shares, index=index, columns=pd.Index(self.learner.labels))
        many = self.learner.predict_many if output == "prediction" else self.learner.margin_many
        return pd.Series(many(X), index=index, name=output)


def _batch(model_input: Any) -> tuple[Any, "pd.Index[Any] | None"]:
    """A frame or a list of events, and the index of a frame."""
    if is_frame(model_input):
        return model_input, getattr(model_input, "index", None)
    if isinstance(model_input, Mapping):
        return [model_input], None
    if isinstance(model_input, Sequence) and not isinstance(model_input, str):
        return list(model_input), None
    raise EventError(
        f"model_input: expected a DataFrame or a list of events, got {type(model_input).__name__}."
    )


def _load_pyfunc(path: str) -> _Served:
    """What MLflow calls to serve a model."""
    return _Served(load(path))
