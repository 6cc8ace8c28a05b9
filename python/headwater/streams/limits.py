"""The limits of every stream's parameters, declared once and looked up by name."""

import math
import numbers
from collections.abc import Callable
from typing import Any

from headwater.errors import ParameterError


def _is_number(value: object) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool) and not math.isnan(value)


def _is_whole(value: object) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def _count(value: Any) -> bool:
    return _is_whole(value) and value >= 1


def _truth(value: object) -> bool:
    return isinstance(value, bool)


# name: (test, what the value must be)
LIMITS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "chunks": (_count, "a whole number above 0"),
    "start": (lambda v: v is None or (_is_number(v) and 0 < v <= 1), "in (0, 1], or None"),
    "permute_columns": (_truth, "True or False"),
    "shuffle": (_truth, "True or False"),
    "events": (_count, "a whole number above 0"),
    "n": (_count, "a whole number above 0"),
    "incident_share": (lambda v: _is_number(v) and 0 < v < 1, "in (0, 1)"),
    "missing_share": (lambda v: _is_number(v) and 0 <= v <= 0.5, "in [0, 0.5]"),
    "seed": (lambda v: _is_whole(v) and v >= 0, "a whole number, 0 or above"),
}


def check(owner: str, **parameters: object) -> None:
    """Raise a `ParameterError` unless each value lies within the limits of its parameter."""
    for name, value in parameters.items():
        test, expected = LIMITS[name]
        if not test(value):
            raise ParameterError(f"{owner}: {name} must be {expected}, got {value!r}.")
