"""A fresh learner for one run of a study, with the query width that keeps to a label rate."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from headwater.catalogue import algorithm, with_rate
from headwater.errors import ParameterError
from headwater.evaluation.width_search import width_for_rate
from headwater.studies.plan import DataPlan, LearnerPlan
from headwater.studies.protocol import Split
from headwater.types import Trace


class Built(NamedTuple):
    """A learner for one run, and the query width that was searched for it."""

    learner: Any
    width: float | None


def build(
    plan: LearnerPlan,
    data: DataPlan,
    splits: Sequence[Split],
    rate: float | None,
    chosen: dict[str, Any],
    seed: int,
    width: float | None = None,
) -> Built:
    """A fresh learner that asks for `rate` of the labels of a stream.

    A width that is not given is searched on the streams given; a rate is simply set.
    """
    make, takes = algorithm(plan.algorithm)
    given = {key: value for key, value in data.parameters.items() if key in takes}
    given |= {key: value for key, value in splits[0].facts.items() if key in takes}
    given |= {**plan.parameters, **chosen}
    if "seed" in takes:
        given["seed"] = seed
    if rate is None:
        return Built(make(**given), None)
    rated = with_rate(takes, given, rate, len(splits[0].y))
    if rated is not None:
        return Built(make(**rated), None)
    if "query_width" not in takes:
        raise ParameterError(f"learners.{plan.name}: {plan.algorithm} keeps to no label rate.")

    def at(width: float) -> Any:
        return make(**{**given, "query_width": width})

    if width is None:
        if len(splits) == 1:
            width = width_for_rate(at, splits[0].X, splits[0].y, rate)
        else:
            width = width_for_rate(lambda width: _Everywhere(at, width), list(splits), splits, rate)
    return Built(at(width), width)


class _Everywhere:
    """A width tried on several streams, end to end."""

    def __init__(self, at: Callable[[float], Any], width: float) -> None:
        self.at, self.width = at, width

    def simulate(self, X: Sequence[Split], y: Any) -> Trace:
        traces = [self.at(self.width).simulate(split.X, split.y) for split in X]
        kinds = ("prediction", "margin", "query_probability", "asked")
        return Trace(*(np.concatenate([getattr(one, kind) for one in traces]) for kind in kinds))
