"""Scores of a finished model on events that it has not learned."""

from typing import Any

from headwater.errors import ParameterError
from headwater.evaluation.scores import ClassScores, Scores
from headwater.learners.base import Learner
from headwater.learners.python_learner import PythonLearner


def held_out(
    model: Any,
    X: Any,
    y: Any,
    *,
    costs: tuple[float, float] | None = None,
    sensitivity_weight: float = 0.5,
) -> Scores | ClassScores:
    """The scores of a model on test data. Nothing is learned, nothing asked for.

    Parameters
    ----------
    model
        A learner, or an object with one: a `Session`, an `AtRate`.
    X
        Events, as `margin_many` takes them.
    y
        One label per row.
    costs, sensitivity_weight
        As in `Scores`; for two classes only.

    Examples
    --------
    >>> import headwater as hw
    >>> network = hw.streams.SensorNetwork(3_000)
    >>> model = hw.Linear()
    >>> trace = model.simulate(*network.batch())
    >>> hw.evaluation.held_out(model, *network.held_out(1_000)).balanced_accuracy > 0.7
    True
    """
    learner = learner_of("held_out", model)
    scores = scores_for("held_out", learner, costs, sensitivity_weight)
    several = isinstance(scores, ClassScores)
    scores.update_many(learner.predict_many(X) if several else learner.margin_many(X), y)
    return scores


def learner_of(owner: str, model: Any) -> Learner:
    """The learner itself, or the one that a session or an `AtRate` holds."""
    learner = model if isinstance(model, Learner) else getattr(model, "learner", None)
    if not isinstance(learner, Learner):
        raise ParameterError(f"{owner}: model must be a learner or hold one, got {model!r}.")
    return learner


def scores_for(
    owner: str,
    learner: Learner,
    costs: tuple[float, float] | None = None,
    sensitivity_weight: float = 0.5,
) -> Scores | ClassScores:
    """Empty scores of the kind that fits the learner."""
    if learner.task == "regression":
        raise ParameterError(f"{owner}: model must predict classes, got {learner!r}.")
    if learner.task == "multiclass":
        if costs is not None:
            raise ParameterError(f"{owner}: costs are for two classes, and the model has several.")
        return ClassScores()
    classes = learner.parameters().get("classes")
    return Scores(classes=classes, costs=costs, sensitivity_weight=sensitivity_weight)


def sparsity(model: Any) -> float:
    """The share of the learned features whose weights are 0; NaN before the first.

    NaN also for a learner written in Python that does not tell its weights.

    Parameters
    ----------
    model
        A learner, or an object with one.

    Examples
    --------
    >>> import headwater as hw
    >>> model = hw.FLLS(kept_share=0.5)
    >>> model.learn_one({"rain": 1.0, "wind": 0.5, "sun": 0.1, "snow": 0.2}, True)
    >>> hw.evaluation.sparsity(model)
    0.5
    """
    learner = learner_of("sparsity", model)
    if isinstance(learner, PythonLearner) and type(learner).weights is PythonLearner.weights:
        return float("nan")
    known, weights = len(learner.features()), learner.weights()
    if learner.task == "multiclass":
        known *= len(learner.labels)
        kept = sum(map(len, weights.values()))
    else:
        kept = len(weights)
    return 1 - kept / known if known else float("nan")
