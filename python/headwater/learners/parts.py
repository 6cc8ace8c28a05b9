"""The parts of a learner, as the core takes them."""

from dataclasses import dataclass
from typing import Any, Literal

from headwater.rules.query import Query
from headwater.rules.scale import Scale
from headwater.rules.sparsify import Sparsify
from headwater.rules.update import DualLogistic, Update
from headwater.types import Task

NOTHING: tuple[str, dict[str, Any]] = ("none", {})
"""A component that is not there."""


@dataclass(frozen=True)
class Parts:
    """The parts of a learner for the core: a model, and the parts that all models share."""

    model: dict[str, Any]
    query: Query
    scale: Scale | None = None
    closed: bool = False
    own: Literal["none", "intercept", "summary"] = "none"
    """The features that the learner adds to every event: none, a constant, or the factor and the
    energy that the scaler finds in the event and a constant."""
    task: Task = "binary"


def linear_model(
    update: Update,
    sparsify: Sparsify | None = None,
    *,
    task: Task = "binary",
    restarts: bool = False,
    legacy: bool = False,
    epsilon: float = 0.0,
    class_weight: tuple[str, dict[str, Any]] = NOTHING,
) -> dict[str, Any]:
    """The linear model for the core; dual steps have a separate model there."""
    shorten = NOTHING if sparsify is None else sparsify.for_core()
    if isinstance(update, DualLogistic):
        return {
            "kind": "dual_logistic",
            **update.parameters(),
            "sparsify": shorten,
            "task": task,
            "restarts": restarts,
        }
    return {
        "kind": "linear",
        "update": update.for_core(),
        "sparsify": shorten,
        "task": task,
        "restarts": restarts,
        "legacy": legacy,
        "epsilon": epsilon,
        "class_weight": class_weight,
    }
