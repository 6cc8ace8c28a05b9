"""The limits of every parameter, declared once, and the values that fill a learner's slots.

A parameter's name means the same thing everywhere, so its limits are looked up by name.
"""

import dataclasses
import math
import numbers
from collections.abc import Callable
from typing import Any, ClassVar, Self

from headwater.errors import ParameterError


def _is_number(value: object) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool) and not math.isnan(value)


def _is_count(value: object) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def _positive(value: Any) -> bool:
    return _is_number(value) and value > 0


def _share(value: Any) -> bool:
    return _is_number(value) and 0 < value <= 1


def _rate(value: Any) -> bool:
    return _is_number(value) and 0 <= value <= 1


def _inside(value: Any) -> bool:
    return _is_number(value) and 0 < value < 1


def _truth(value: Any) -> bool:
    return isinstance(value, bool)


# name: (test, what the value must be)
LIMITS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "C": (lambda v: v is None or _positive(v), "a number above 0, or None"),
    "positive_margin": (
        lambda v: _positive(v) or v == "balanced" or isinstance(v, Slot),
        'a number above 0 or "balanced"',
    ),
    "sensitivity_weight": (_inside, "in (0, 1)"),
    "confidence": (lambda v: _is_number(v) and 0.5 < v < 1, "in (0.5, 1)"),
    "form": (lambda v: v in ("variance", "stdev"), '"variance" or "stdev"'),
    "step": (lambda v: _positive(v) and v < math.inf, "a finite number above 0"),
    "decay": (lambda v: _is_number(v) and 0 <= v < math.inf, "a finite number, 0 or above"),
    "rate": (_rate, "in [0, 1]"),
    "total": (lambda v: v is None or (_is_count(v) and v > 0), "a whole number above 0, or None"),
    "width": (_positive, "a number above 0"),
    "query_width": (_positive, "a number above 0"),
    "by_norm": (_truth, "True or False"),
    "share": (_share, "in (0, 1]"),
    "kept_share": (_share, "in (0, 1]"),
    "count": (lambda v: _is_count(v) and 0 < v < 2**32, "a whole number above 0"),
    "l1_radius": (_positive, "a number above 0"),
    "l2_radius": (_positive, "a number above 0"),
    "plus_one": (_truth, "True or False"),
    "intercept": (_truth, "True or False"),
    "multiclass": (_truth, "True or False"),
    "legacy": (_truth, "True or False"),
    "growth": (lambda v: v in ("open", "restart", "closed"), '"open", "restart" or "closed"'),
    "keep": (lambda v: v in ("largest", "random", "all"), '"largest", "random" or "all"'),
    "seed": (lambda v: _is_count(v) and 0 <= v < 2**64, "a whole number from 0 to 2**64 - 1"),
}


def check(owner: str, name: str, value: object) -> None:
    """Raise a `ParameterError` unless `value` lies within the limits of the parameter `name`."""
    test, expected = LIMITS[name]
    if not test(value):
        raise ParameterError(f"{owner}: {name} must be {expected}, got {value!r}.")


def shown(value: object) -> str:
    """`repr`, but such that it can be evaluated: infinity as a call."""
    return "float('inf')" if value == math.inf else repr(value)


class Slot:
    """A value that fills a slot: a small frozen dataclass with a word for its defaults."""

    word: ClassVar[str]
    kind: ClassVar[str]

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            check(type(self).__name__, field.name, getattr(self, field.name))

    def __repr__(self) -> str:
        given = ", ".join(f"{key}={shown(value)}" for key, value in self.parameters().items())
        return f"{self.kind}.{type(self).__name__}({given})"

    def parameters(self) -> dict[str, Any]:
        """The parameters that the value was made with, by name."""
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}  # type: ignore[arg-type]

    @classmethod
    def of(cls, owner: str, value: object) -> Self:
        """`value` as a slot value: itself, or what its word stands for."""
        if isinstance(value, cls):
            return value
        words = {sub.word: sub for sub in cls.__subclasses__()}
        if isinstance(value, str) and value in words:
            return words[value]()
        raise ParameterError(
            f"{owner}: {cls.kind} must be one of {', '.join(map(repr, words))}"
            f" or a value of headwater.{cls.kind}, got {value!r}."
        )
