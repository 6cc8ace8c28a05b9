"""Learners for runs: an algorithm by its name, its parameters, and a label rate to keep to."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from headwater.errors import ParameterError
from headwater.evaluation.widths import width_for_rate
from headwater.experiments.plan import DataPlan, LearnerPlan
from headwater.experiments.protocol import Split, attribute
from headwater.learners import query
from headwater.learners.base import Learner
from headwater.learners.names import named, names, parameters_of
from headwater.types import Trace


class Algorithm(NamedTuple):
    """What makes a learner, and the parameters that it takes."""

    make: Callable[..., Any]
    parameters: frozenset[str]


def algorithm(name: str) -> Algorithm:
    """The algorithm that its paper calls so, a class of this package, or `module:callable`.

    Examples
    --------
    >>> algorithm("FLLS-II").make(C=0.5)
    FLLS(update='pa2', C=0.5)
    >>> "query" in algorithm("Linear").parameters
    True
    """
    if name in names():
        return Algorithm(lambda **given: named(name, **given), frozenset(parameters_of(name)))
    found: Any = attribute(name) if ":" in name else _classes(Learner).get(name)
    if found is None or not callable(found):
        raise ParameterError(
            f"there is no algorithm {name!r}: it must be one of headwater.names(), a learner of"
            " the package, or module:callable."
        )
    return Algorithm(found, frozenset(inspect.signature(found).parameters))


def known() -> tuple[str, ...]:
    """The names of all algorithms of the package: its learners', then the papers'.

    Examples
    --------
    >>> {"Spring", "FLLS-II"} <= set(known())
    True
    """
    return tuple(dict.fromkeys([*sorted(_classes(Learner)), *names()]))


def _classes(base: type[Learner]) -> dict[str, type[Learner]]:
    """Every learner of the package by the name of its class."""
    found = {one.__name__: one for one in base.__subclasses__()}
    return found | {
        name: one for kind in list(found.values()) for name, one in _classes(kind).items()
    }


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


def with_rate(
    takes: frozenset[str], given: dict[str, Any], rate: float, total: int | None = None
) -> dict[str, Any] | None:
    """The parameters with a label rate among them, as the algorithm takes one; None: it takes none.

    `total` is the length of the stream, for those that can keep to the rate exactly.

    Examples
    --------
    >>> with_rate(algorithm("Spring").parameters, {"C": 0.5}, 0.1)
    {'C': 0.5, 'label_rate': 0.1}
    >>> with_rate(algorithm("Linear").parameters, {}, 0.1)
    {'query': query.Budget(rate=0.1)}
    >>> with_rate(algorithm("FLLS").parameters, {}, 0.1)
    """
    if "label_rate" in takes:
        return {**given, "label_rate": rate}
    if "rate" in takes:
        exact = {"total": total} if total is not None and "total" in takes else {}
        return {**given, "rate": rate, **exact}
    if "query" in takes:
        return {**given, "query": query_rule(given.get("query", "budget"), rate)}
    return None


def query_rule(word: str, rate: float) -> Any:
    """The query rule of this word that asks for `rate` of the labels.

    Examples
    --------
    >>> query_rule("budget", 0.1)
    query.Budget(rate=0.1)
    """
    rule = getattr(query, word.capitalize(), None)
    if rule is None or "rate" not in inspect.signature(rule).parameters:
        raise ParameterError(f"query must be a rule that has a rate, got {word!r}.")
    return rule(rate)
