"""OFS_P, straight from the formulas; d counts all names, those of the event included.

With probability ε look at B random features, otherwise at those with w ≠ 0 (w = 0: always at
random); predict w·x̃; if y w·x̃ ≤ 1: x̂_i = x̃_i/((B/d)ε + [w_i ≠ 0](1 − ε)), w += ηyx̂,
w *= min(1, R/‖w‖₂), keep the B largest. Wang et al., TKDE (2014). The random features are drawn by
Floyd's method.
"""

from math import floor

from reference.random import Generator, uniform
from reference.sparsify import keep_largest, scale_l2


def looked_at(
    weights: list[float], count: int, exploration: float, draws: Generator
) -> tuple[set[int], Generator]:
    """The slots looked at, and the generator after the draws."""
    d = len(weights)
    coin, draws = uniform(draws)
    if coin >= exploration and any(weights):
        return {slot for slot, weight in enumerate(weights) if weight != 0}, draws
    if count >= d:
        return set(range(d)), draws
    slots: set[int] = set()
    for last in range(d - count, d):
        number, draws = uniform(draws)
        slot = floor(number * (last + 1))
        slots.add(last if slot in slots else slot)
    return slots, draws


def margin(weights: list[float], x: list[float], slots: set[int]) -> float:
    """w·x̃."""
    return sum(weights[slot] * x[slot] for slot in slots)


def learned(
    weights: list[float],
    x: list[float],
    y: int,
    slots: set[int],
    count: int,
    exploration: float,
    step: float,
    radius: float,
) -> list[float]:
    """The weights after a label; `x` has a 0 where the event has no value."""
    if y * margin(weights, x, slots) > 1:
        return weights
    d = len(weights)
    moved = list(weights)
    for slot in slots:
        chance = min(count, d) / d * exploration + (weights[slot] != 0) * (1 - exploration)
        moved[slot] += step * y * x[slot] / chance
    return keep_largest(scale_l2(moved, radius), count)
