"""The running scaler in plain Python: on what scale a raw value counts.

Per feature: n times seen, mean m, sum of squared deviations S, c times seen right after another
time, first and last round. Pool: weight H and mean log size G of the values of irregular features.
"""

from dataclasses import dataclass, replace
from math import exp, log, sqrt
from typing import Any

Name = str | int


@dataclass(frozen=True)
class Statistics:
    n: int
    mean: float
    squares: float
    runs: int
    first: int
    last: int


@dataclass(frozen=True)
class ScalerState:
    features: dict[Name, Statistics]
    pool_weight: float
    pool_log_size: float
    rounds: int


def read_scaler(saved: dict[str, Any]) -> ScalerState:
    """The scaler in the state of a model file."""
    scaler = saved["scaler"]
    columns = ("seen", "means", "squares", "runs", "first", "last")
    rows = zip(*(scaler[column] for column in columns), strict=True)
    features = {name: Statistics(*row) for name, row in zip(scaler["names"], rows, strict=True)}
    shared = scaler["shared_scale"]
    return ScalerState(features, shared["weight"], shared["log_size"], scaler["rounds"])


def regularity(one: Statistics) -> float:
    """a = min(1, 2c/(n − 1))⁴; 0 of a feature seen once."""
    return 0.0 if one.n == 1 else min(1.0, 2 * one.runs / (one.n - 1)) ** 4


def counted(one: Statistics | None, value: float, t: int) -> tuple[Statistics, float]:
    """Welford's step with the value cut to ten deviations; the statistics and what was counted."""
    if one is None:
        one = Statistics(0, 0.0, 0.0, 0, t, -1)
    runs = one.runs + (1 if one.n > 0 and one.last == t - 1 else 0)
    if one.n >= 10 and one.squares > 0:
        reach = 10 * sqrt(one.squares / one.n)
        value = min(max(value, one.mean - reach), one.mean + reach)
    delta = value - one.mean
    n = one.n + 1
    mean = one.mean + delta / n
    squares = one.squares + delta * (value - mean)
    return Statistics(n, mean, squares, runs, one.first, t), value


def scaled(one: Statistics, value: float, state: ScalerState) -> float:
    """z before the event is brought to length 1."""
    a = regularity(one)
    centre = a * one.mean
    variance = one.squares / one.n + (one.mean - centre) ** 2
    if variance <= 1e-24 * one.mean**2:
        return 0.0
    if a < 1 and state.pool_weight > 0:
        s = sqrt(variance)
        shared = min(10 * s, max(s / 10, exp(state.pool_log_size)))
        variance += (1 - a) ** 2 * (shared**2 - variance)
    if variance == 0:  # of the smallest numbers there are, nothing is left
        return 0.0
    rarity = log(1 + max(1.0, (state.rounds + 1 - one.first) / one.n))
    return min(max((value - centre) / sqrt(variance), -3.0), 3.0) * rarity


def to_unit_length(z: dict[Name, float]) -> dict[Name, float]:
    total = sum(value**2 for value in z.values())
    return {name: value / sqrt(total) if total else 0.0 for name, value in z.items()}


def look(state: ScalerState, event: dict[Name, float]) -> dict[Name, float]:
    """An event outside the stream, scaled: names never shown count as 0."""
    known = state.features
    return to_unit_length(
        {name: scaled(known[name], x, state) if name in known else 0.0 for name, x in event.items()}
    )


def show(state: ScalerState, event: dict[Name, float]) -> tuple[dict[Name, float], ScalerState]:
    """The stream's next event, scaled and counted; and the statistics after it."""
    features = dict(state.features)
    weight, size = state.pool_weight, state.pool_log_size
    for name, value in event.items():
        features[name], used = counted(features.get(name), value, state.rounds)
        k = (1 - regularity(features[name])) ** 2
        if used != 0 and k > 0:
            weight += k
            size += (log(abs(used)) - size) * k / weight
    now = replace(state, features=features, pool_weight=weight, pool_log_size=size)
    z = to_unit_length({name: scaled(features[name], x, now) for name, x in event.items()})
    return z, replace(now, rounds=state.rounds + 1)
