"""The limits of every parameter, declared once.

A parameter's name means the same thing everywhere, so its limits are looked up by name.
"""

import math
import numbers
from collections.abc import Callable, Sequence
from typing import Any

from headwater.errors import ParameterError


def _is_number(value: object) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool) and not math.isnan(value)


def _is_whole(value: object) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def _positive(value: Any) -> bool:
    return _is_number(value) and value > 0


def _count(value: Any) -> bool:
    return _is_whole(value) and value > 0


def _share(value: Any) -> bool:
    return _is_number(value) and 0 < value <= 1


def _inside(value: Any) -> bool:
    return _is_number(value) and 0 < value < 1


def _truth(value: object) -> bool:
    return isinstance(value, bool)


def _one_of(*words: str) -> tuple[Callable[[Any], bool], str]:
    quoted = [f'"{word}"' for word in words]
    return lambda v: isinstance(v, str) and v in words, f"{', '.join(quoted[:-1])} or {quoted[-1]}"


def _schedule(value: Any) -> bool:
    if not isinstance(value, Sequence) or len(value) != 3 or not all(map(_count, value)):
        return False
    return bool(value[0] > value[1] <= 1000)


# name: (test, what the value must be)
LIMITS: dict[str, tuple[Callable[[Any], bool], str]] = {
    # learners
    "C": (lambda v: v is None or _positive(v), "a number above 0, or None"),
    "positive_margin": (
        lambda v: _positive(v) or v == "balanced" or hasattr(v, "sensitivity_weight"),
        'a number above 0 or "balanced"',
    ),
    "sensitivity_weight": (_inside, "in (0, 1)"),
    "confidence": (lambda v: _is_number(v) and 0.5 < v < 1, "in (0.5, 1)"),
    "form": _one_of("variance", "stdev"),
    "step": (lambda v: _positive(v) and v < math.inf, "a finite number above 0"),
    "decay": (lambda v: _is_number(v) and 0 <= v < math.inf, "a finite number, 0 or above"),
    "rate": (lambda v: _is_number(v) and 0 <= v <= 1, "in [0, 1]"),
    "total": (lambda v: v is None or _count(v), "a whole number above 0, or None"),
    "width": (_positive, "a number above 0"),
    "query_width": (_positive, "a number above 0"),
    "by_norm": (_truth, "True or False"),
    "share": (_share, "in (0, 1]"),
    "kept_share": (_share, "in (0, 1]"),
    "count": (lambda v: _count(v) and v < 2**32, "a whole number from 1 to 2**32 - 1"),
    "l1_radius": (_positive, "a number above 0"),
    "l2_radius": (_positive, "a number above 0"),
    "plus_one": (_truth, "True or False"),
    "intercept": (_truth, "True or False"),
    "multiclass": (_truth, "True or False"),
    "legacy": (_truth, "True or False"),
    "classes": (
        lambda v: v is None or (isinstance(v, Sequence) and not isinstance(v, (str, bytes))),
        "a tuple of labels, or None",
    ),
    "growth": _one_of("open", "restart", "closed"),
    "keep": _one_of("largest", "random", "all"),
    "combine": _one_of("weights", "draw", "best", "new", "old", "frozen"),
    "loss": _one_of("logistic", "square"),
    "ridge": (
        lambda v: v is None or (_positive(v) and v < math.inf),
        "a finite number above 0, or None",
    ),
    "overlap": (lambda v: _count(v) and v <= 1000, "a whole number from 1 to 1000"),
    "horizon": (lambda v: v is None or _count(v), "a whole number above 0, or None"),
    "clip_losses": (_truth, "True or False"),
    "schedule": (
        lambda v: v is None or _schedule(v),
        "(T1, B, T2), whole numbers with T1 > B > 0, B <= 1000 and T2 > 0, or None",
    ),
    "seed": (lambda v: _is_whole(v) and 0 <= v < 2**64, "a whole number from 0 to 2**64 - 1"),
    # streams
    "chunks": (_count, "a whole number above 0"),
    "start": (lambda v: v is None or _share(v), "in (0, 1], or None"),
    "permute_columns": (_truth, "True or False"),
    "shuffle": (_truth, "True or False"),
    "events": (_count, "a whole number above 0"),
    "ratio": (lambda v: _positive(v) and v < math.inf, "a finite number above 0"),
    "n": (_count, "a whole number above 0"),
    "incident_share": (_inside, "in (0, 1)"),
    "missing_share": (lambda v: _is_number(v) and 0 <= v <= 0.5, "in [0, 0.5]"),
}


def check(owner: str, **parameters: object) -> None:
    """Raise a `ParameterError` unless each value lies within the limits of its parameter."""
    for name, value in parameters.items():
        test, expected = LIMITS[name]
        if not test(value):
            raise ParameterError(f"{owner}: {name} must be {expected}, got {value!r}.")
