"""The limits of every parameter, declared once.

A parameter's name means the same thing everywhere, so its limits are looked up by name.
"""

import math
import numbers
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from headwater.errors import ParameterError


def _number(value: Any) -> float | None:
    """A real number as a float; None if it is none, or too large to be one."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return None if math.isnan(number) else number


def _whole(value: Any) -> int | None:
    is_whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    return int(value) if is_whole else None


def _truth(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


class Limit(NamedTuple):
    """How a parameter is read, which values it may have, and how to say so."""

    read: Callable[[Any], Any]  # None: it is of another kind
    test: Callable[[Any], bool]
    expected: str
    optional: bool = False


def _any(value: Any) -> bool:
    return True


def _positive(value: float) -> bool:
    return value > 0


def _one_of(*words: str) -> Limit:
    quoted = [f'"{word}"' for word in words]
    expected = f"{', '.join(quoted[:-1])} or {quoted[-1]}"
    return Limit(lambda v: v if isinstance(v, str) else None, lambda v: v in words, expected)


def _positive_margin(value: Any) -> Any:
    """A number, the word, or a component that tells how the margin follows the labels."""
    if (isinstance(value, str) and value == "balanced") or hasattr(value, "sensitivity_weight"):
        return value
    return _number(value)


def _classes(value: Any) -> Any:
    """A tuple of plain labels."""
    if not isinstance(value, Sequence) or isinstance(value, (str, bytes)):
        return None
    return tuple(label.item() if hasattr(label, "item") else label for label in value)


def _pair(value: Any) -> Any:
    """Two numbers."""
    if not isinstance(value, Sequence) or isinstance(value, (str, bytes)) or len(value) != 2:
        return None
    numbers = tuple(map(_number, value))
    return None if None in numbers else numbers


def _schedule(value: Any) -> Any:
    """A tuple of whole numbers."""
    if not isinstance(value, Sequence) or isinstance(value, (str, bytes)):
        return None
    rounds = tuple(map(_whole, value))
    return None if None in rounds else rounds


def _numbers(value: Any) -> Any:
    """A tuple of numbers."""
    if not isinstance(value, Sequence) or isinstance(value, (str, bytes)):
        return None
    numbers = tuple(map(_number, value))
    return None if None in numbers else numbers


ABOVE_ZERO = Limit(_number, _positive, "a number above 0")
FINITE = Limit(_number, lambda v: 0 < v < math.inf, "a finite number above 0")
SHARE = Limit(_number, lambda v: 0 < v <= 1, "in (0, 1]")
INSIDE = Limit(_number, lambda v: 0 < v < 1, "in (0, 1)")
TRUTH = Limit(_truth, _any, "True or False")
RATE = Limit(_number, lambda v: 0 <= v <= 1, "in [0, 1]")
COUNT = Limit(_whole, _positive, "a whole number above 0")

LIMITS: dict[str, Limit] = {
    # learners
    "C": Limit(_number, _positive, "a number above 0, or None", optional=True),
    "C_space": ABOVE_ZERO,
    "positive_margin": Limit(
        _positive_margin,
        lambda v: not isinstance(v, float) or v > 0,
        'a number above 0 or "balanced"',
    ),
    "sensitivity_weight": INSIDE,
    "confidence": Limit(_number, lambda v: 0.5 < v < 1, "in (0.5, 1)"),
    "form": _one_of("variance", "stdev"),
    "step": FINITE,
    "decay": Limit(_number, lambda v: 0 <= v < math.inf, "a finite number, 0 or above"),
    "epsilon": Limit(_number, lambda v: 0 <= v < math.inf, "a finite number, 0 or above"),
    "replay": Limit(_whole, lambda v: 0 <= v < 2**32, "a whole number from 0 to 2**32 - 1"),
    "memory": Limit(_whole, lambda v: 0 < v < 2**32, "a whole number from 1 to 2**32 - 1"),
    "balance": TRUTH,
    "prior_weight": Limit(_number, lambda v: 1e-100 <= v <= 1e100, "a number from 1e-100 to 1e100"),
    "query_form": _one_of("text", "original"),
    "exploration": SHARE,
    "rate": RATE,
    "label_rate": SHARE,
    "total": Limit(
        _whole,
        lambda v: 0 < v < 2**64,
        "a whole number from 1 to 2**64 - 1, or None",
        optional=True,
    ),
    "width": ABOVE_ZERO,
    "query_width": ABOVE_ZERO,
    "by_norm": TRUTH,
    "share": SHARE,
    "kept_share": SHARE,
    "count": Limit(_whole, lambda v: 0 < v < 2**32, "a whole number from 1 to 2**32 - 1"),
    "l1_radius": ABOVE_ZERO,
    "l2_radius": ABOVE_ZERO,
    "plus_one": TRUTH,
    "intercept": TRUTH,
    "multiclass": TRUTH,
    "legacy": TRUTH,
    "max_features": Limit(
        _whole,
        lambda v: 0 < v < 2**32,
        "a whole number from 1 to 2**32 - 1, or None",
        optional=True,
    ),
    "when_full": _one_of("refuse", "oldest", "smallest"),
    "classes": Limit(_classes, _any, "a tuple of labels, or None", optional=True),
    "growth": _one_of("open", "restart", "closed"),
    "keep": _one_of("largest", "random", "all"),
    "combine": _one_of("weights", "draw", "best", "new", "old", "frozen"),
    "loss": _one_of("logistic", "square"),
    "ridge": Limit(
        _number, lambda v: 0 < v < math.inf, "a finite number above 0, or None", optional=True
    ),
    "overlap": Limit(_whole, lambda v: 0 < v <= 1000, "a whole number from 1 to 1000"),
    "horizon": Limit(
        _whole,
        lambda v: 0 < v < 2**64,
        "a whole number from 1 to 2**64 - 1, or None",
        optional=True,
    ),
    "clip_losses": TRUTH,
    "schedule": Limit(
        _schedule,
        lambda v: len(v) == 3 and 0 < v[1] < v[0] < 2**63 and v[1] <= 1000 and 0 < v[2] < 2**64,
        "(T1, B, T2), whole numbers with T1 > B > 0, B <= 1000 and T2 > 0, or None",
        optional=True,
    ),
    "seed": Limit(_whole, lambda v: 0 <= v < 2**64, "a whole number from 0 to 2**64 - 1"),
    # labels
    "never": RATE,
    "wrong": RATE,
    "twice": RATE,
    "price": Limit(_number, lambda v: 0 <= v < math.inf, "a finite number, 0 or above"),
    # streams
    "chunks": COUNT,
    "start": Limit(_number, lambda v: 0 < v <= 1, "in (0, 1], or None", optional=True),
    "widening": _one_of("even", "olvf"),
    "fractions": Limit(
        _numbers,
        lambda v: len(v) > 0 and v[0] > 0 and v[-1] <= 1 and list(v) == sorted(v),
        "some numbers in (0, 1], none below the one before, or None",
        optional=True,
    ),
    "permute_columns": TRUTH,
    "shuffle": TRUTH,
    "removed": RATE,
    "ratio": FINITE,
    "copied": RATE,
    "places": Limit(
        _numbers,
        lambda v: not v or (v[0] > 0 and v[-1] < 1 and list(v) == sorted(set(v))),
        "numbers in (0, 1), each above the one before",
    ),
    "lasting": RATE,
    "present": Limit(_number, lambda v: 1 <= v < math.inf, "a finite number, 1 or above"),
    "absent": Limit(
        _number, lambda v: v == 0 or 1 <= v < math.inf, "0, or a finite number, 1 or above"
    ),
    "survivors": RATE,
    "low": RATE,
    "high": RATE,
    "events": COUNT,
    "n": COUNT,
    "incident_share": INSIDE,
    "missing_share": Limit(_number, lambda v: 0 <= v <= 0.5, "in [0, 0.5]"),
    # evaluation
    "window": COUNT,
    "points": COUNT,
    "level": INSIDE,
    "floor": RATE,
    "folds": Limit(_whole, lambda v: v >= 2, "a whole number, 2 or above"),
    "costs": Limit(
        _pair,
        lambda v: all(0 <= cost < math.inf for cost in v),
        "(of a missed positive, of a false alarm), finite numbers, 0 or above, or None",
        optional=True,
    ),
    # adapters
    "epochs": COUNT,
    "feature_space": _one_of("fixed", "open"),
}

_C_OF_DUAL = Limit(_number, lambda v: 1e-9 <= v <= 1e9, "a number from 1e-9 to 1e9")

# Where a learner or a stream means something else by a name.
OWN_LIMITS: dict[tuple[str, str], Limit] = {
    ("DualLogistic", "C"): _C_OF_DUAL,
    ("Spring", "C"): _C_OF_DUAL,
    ("OLVF", "C"): ABOVE_ZERO,
    ("OLVF", "confidence"): _one_of("multiply", "divide"),
    ("Replacement", "overlap"): Limit(_whole, lambda v: v >= 0, "a whole number, 0 or above"),
}


def check(owner: str, **parameters: Any) -> dict[str, Any]:
    """The parameters as plain Python values; a `ParameterError` if one is beyond its limits."""
    plain: dict[str, Any] = {}
    for name, value in parameters.items():
        limit = OWN_LIMITS.get((owner, name), LIMITS[name])
        if value is None and limit.optional:
            plain[name] = None
            continue
        plain[name] = limit.read(value)
        if plain[name] is None or not limit.test(plain[name]):
            raise ParameterError(f"{owner}: {name} must be {limit.expected}, got {value!r}.")
    return plain
