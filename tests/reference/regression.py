"""Passive-aggressive regression, and the error that is to be expected of an event.

loss = max(0, |y − w·x| − ε); w += sign(y − w·x)·τ·x with τ = loss/‖x‖², min(C, loss/‖x‖²) or
loss/(‖x‖² + 1/(2C)). Crammer et al., JMLR 7 (2006), section 5.
"""

from math import copysign

from reference.update import pa, pa1, pa2

Mean = tuple[float, int]
"""A running mean and how often it was moved."""


def learned(
    weights: list[float], x: list[float], y: float, update: str, C: float, epsilon: float
) -> list[float]:
    """The weights after a label."""
    error = y - sum(weight * value for weight, value in zip(weights, x, strict=True))
    loss = max(0.0, abs(error) - epsilon)
    xx = sum(value * value for value in x)
    if loss == 0 or xx == 0:
        return weights
    step = {"pa": pa(loss, xx), "pa1": pa1(loss, xx, C), "pa2": pa2(loss, xx, C)}[update]
    return [
        weight + copysign(step, error) * value for weight, value in zip(weights, x, strict=True)
    ]


def moved(mean: Mean, error: float) -> Mean:
    """m += (|e| − m)·max(.02, 1/n)."""
    value, count = mean[0], mean[1] + 1
    return value + (error - value) * max(0.02, 1 / count), count


def confidence(overall: float, expected: list[float]) -> float:
    """Overall mean over the mean of what the event's features lead to expect, 100 at most."""
    if overall == 0 or not expected:
        return 1.0
    return 1 / max(sum(error / overall for error in expected) / len(expected), 0.01)
