"""What a stream is told when it is made: its learner, and how long things are kept."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from headwater.catalogue import algorithm, known, with_rate
from headwater.errors import ParameterError
from headwater.inputs.config import Config
from headwater.learners.base import Learner
from headwater.live import Allowance

UNITS = {"second": 1.0, "minute": 60.0, "hour": 3_600.0, "day": 86_400.0, "week": 604_800.0}


@dataclass(frozen=True)
class StreamSettings:
    """A stream as `[streams.NAME]` or the API describes it."""

    learner: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    label_rate: float | None = None
    keep_events: float | None = None
    answer_within: float | None = None
    allowance: Allowance | None = None
    labels: str | None = None

    @classmethod
    def from_config(
        cls, name: str, told: Mapping[str, Any], allowance: Allowance | None
    ) -> "StreamSettings":
        """Those of `[streams.NAME]` of `headwater.toml`."""
        place = f"[streams.{name}]"
        labels = told.get("labels")
        if labels not in (None, "asked", "all"):
            raise ParameterError(f"{place}: labels must be 'asked' or 'all', got {labels!r}.")
        spans = {
            key: seconds_of(f"{place}: {key}", told[key])
            for key in ("keep_events", "answer_within")
            if key in told
        }
        rate = told.get("label_rate")
        return cls(told.get("learner"), {}, rate, **spans, allowance=allowance, labels=labels)

    def build(self) -> Learner:
        """The learner, Spring unless another one is named."""
        return learner_named(self.learner or "Spring", self.parameters, self.label_rate)

    def options(self) -> dict[str, Any]:
        """The options of `live.open`."""
        given = {
            "keep_events": self.keep_events,
            "answer_within": self.answer_within,
            "allowance": self.allowance,
            "labels": self.labels,
        }
        return {name: value for name, value in given.items() if value is not None}


def learner_named(
    name: str, parameters: Mapping[str, Any] | None = None, label_rate: float | None = None
) -> Learner:
    """A learner of the package by its name; never code of somebody else's.

    Examples
    --------
    >>> learner_named("Spring", {"seed": 3}, label_rate=0.1)
    Spring(label_rate=0.1, seed=3)
    """
    if name not in known():
        raise ParameterError(f"learner: there is no {name!r}; there are {', '.join(known())}.")
    make, takes = algorithm(name)
    given = {key: tuple(v) if isinstance(v, list) else v for key, v in (parameters or {}).items()}
    for key in given:
        if key not in takes:
            raise ParameterError(f"{name} has no parameter {key!r}; it has {_list(takes)}.")
    if label_rate is not None:
        rated = with_rate(takes, given, label_rate)
        if rated is None:
            raise ParameterError(f"label_rate: {name} does not keep to a rate; Spring does.")
        given = rated
    learner: Learner = make(**given)
    return learner


def seconds_of(place: str, text: str) -> float:
    """A span of time in words, as seconds.

    Examples
    --------
    >>> seconds_of("keep_events", "90 days"), seconds_of("keep_events", "1.5 hours")
    (7776000.0, 5400.0)
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+?)s?\s*", text)
    if found is None or found[2] not in UNITS:
        raise ParameterError(f"{place} must be a span of time such as '90 days', got {text!r}.")
    return float(found[1]) * UNITS[found[2]]


def allowance_of(config: Config) -> Allowance | None:
    """What `[allowance]` of `headwater.toml` allows each stream."""
    told = config.sections.get("allowance")
    try:
        return Allowance(**told) if told else None
    except ParameterError as error:
        raise ParameterError(f"[allowance]: {error}") from None


def _list(names: frozenset[str]) -> str:
    return ", ".join(sorted(names))
