"""What turns the w·x of two classes into log-odds, and how often each class comes."""

from math import exp, log
from typing import NamedTuple


class ClassOdds(NamedTuple):
    """κ, its curvature h, and the events of each class, the latest counting most."""

    slope: float = 3.0
    curve: float = 1.0
    negatives: float = 1.0
    positives: float = 1.0


def prior(odds: ClassOdds) -> float:
    """ln(a₊/a₋)."""
    return log(odds.positives / odds.negatives)


def learn(odds: ClassOdds, product: float, positive: bool) -> ClassOdds:
    """p = σ(−y κ q), h = 0.998 h + q² p(1 − p), κ += y q p/(h + 1), kept in 0.5 … 20.

    a_± = 0.995 a_± + σ(±κ q), with κ as it was.
    """
    signed = product if positive else -product
    wrong = sigmoid(-odds.slope * signed)
    curve = 0.998 * odds.curve + product * product * wrong * (1 - wrong)
    slope = min(max(odds.slope + signed * wrong / (curve + 1), 0.5), 20.0)
    negatives = 0.995 * odds.negatives + sigmoid(-odds.slope * product)
    positives = 0.995 * odds.positives + sigmoid(odds.slope * product)
    return ClassOdds(slope, curve, negatives, positives)


def sigmoid(z: float) -> float:
    """1/(1 + e^−z)."""
    return 1 / (1 + exp(-z)) if z > -700 else 0.0


def balanced(odds: ClassOdds) -> float:
    """What makes the classes equally frequent."""
    return -prior(odds)


def of_costs(negative: float, positive: float) -> float:
    """ln(w₊/w₋)."""
    return log(positive / negative)


def of_threshold(threshold: float) -> float:
    """−ln(t/(1 − t))."""
    return -log(threshold / (1 - threshold))
