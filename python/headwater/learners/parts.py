"""What a learner is made of, in the words of the core."""

from dataclasses import dataclass
from typing import Any

from headwater.rules.query import Query
from headwater.rules.scale import Scale
from headwater.rules.sparsify import Sparsify
from headwater.rules.update import Update
from headwater.types import Task

CORE_TASKS: dict[Task, str] = {
    "binary": "binary",
    "multiclass": "multiclass",
    "regression": "number",
}
"""Tasks in the words of the core."""
NOTHING: tuple[str, dict[str, Any]] = ("none", {})
"""A component that is not there."""


@dataclass(frozen=True)
class Parts:
    """What a learner is made of, for the core: a model in the shell that all share."""

    model: dict[str, Any]
    query: Query
    scale: Scale | None = None
    closed: bool = False
    intercept: bool = False
    whole: bool = False
    task: Task = "binary"


def linear_model(
    update: Update,
    sparsify: Sparsify | None = None,
    *,
    task: Task = "binary",
    restarts: bool = False,
    legacy: bool = False,
    epsilon: float = 0.0,
) -> dict[str, Any]:
    """The linear model, for the core."""
    return {
        "kind": "linear",
        "update": update.for_core(),
        "sparsify": NOTHING if sparsify is None else sparsify.for_core(),
        "task": CORE_TASKS[task],
        "restarts": restarts,
        "legacy": legacy,
        "epsilon": epsilon,
    }
