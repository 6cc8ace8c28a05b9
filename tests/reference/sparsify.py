"""Which weights are set to 0 after an update: naive forms over all weights, in slot order.

Sources: Zhang et al. (OLSF), TKDE (2016); Wang et al. (OFS), TKDE (2014).
"""

from math import floor, sqrt

from reference.random import Generator, uniform


def scale_l1(weights: list[float], radius: float) -> list[float]:
    """w·min(1, λ/‖w‖₁)."""
    norm = sum(abs(weight) for weight in weights)
    return weights if norm <= radius else [weight * (radius / norm) for weight in weights]


def scale_l2(weights: list[float], radius: float) -> list[float]:
    """w·min(1, R/‖w‖₂)."""
    norm = sqrt(sum(weight * weight for weight in weights))
    return weights if norm <= radius else [weight * (radius / norm) for weight in weights]


def kept_of(share: float, features: int) -> int:
    """k = max(1, floor(B d))."""
    return max(1, floor(share * features + 1e-9))


def legacy_kept_of(share: float, features: int) -> int:
    """k = B d rounded, halves up; it may be 0."""
    return floor(share * features + 0.5)


def keep_largest(weights: list[float], kept: int) -> list[float]:
    """The `kept` weights of largest |w|, the older slot first among equals; the others 0."""
    by_size = sorted(range(len(weights)), key=lambda slot: (-abs(weights[slot]), slot))
    largest = set(by_size[:kept])
    return [weight if slot in largest else 0.0 for slot, weight in enumerate(weights)]


def keep_random(weights: list[float], kept: int, draws: Generator) -> tuple[list[float], Generator]:
    """A uniformly random subset of `kept` slots, by selection sampling; the others 0."""
    remaining = []
    for slot, weight in enumerate(weights):
        number, draws = uniform(draws)
        chosen = number * (len(weights) - slot) < kept
        kept -= chosen
        remaining.append(weight if chosen else 0.0)
    return remaining, draws
