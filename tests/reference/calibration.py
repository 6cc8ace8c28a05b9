"""How sure a margin is: the slope of the probabilities.

P(k) ∝ exp(a f_k / m) for scores f_k, 0 and q if there are two classes. ln a takes a step of natural
gradient on the log loss of each label, by the scores of before it was learned; m is the running
mean of the lead of the first over the second. A label counts w = 1/P(asked), at most 10. The last
labels are kept, and the steps are taken over them: when there are 256 labels, the older half is
forgotten.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log

FADING = 0.99
MOST_LABELS = 256


@dataclass(frozen=True)
class PastLabel:
    """The scores of an event before its label was learned, the label's index and its weight."""

    scores: tuple[float, ...]
    y: int
    weight: float


@dataclass(frozen=True)
class Slope:
    """a, the information about ln a, the mean lead and the weight of the labels in it."""

    slope: float = 1.0
    information: float = 0.0
    mean_lead: float = 0.0
    weight: float = 0.0


def weight_of(asked: bool, query_probability: float) -> float:
    """w: what an answer counts; 1 if nobody asked."""
    return min(1 / query_probability, 10.0) if asked else 1.0


def probabilities(now: Slope, scores: Sequence[float]) -> list[float]:
    """P(k)."""
    per_unit = now.slope / now.mean_lead if now.mean_lead > 0 else 1.0
    parts = [exp(per_unit * (score - max(scores))) for score in scores]
    return [part / sum(parts) for part in parts]


def remembered(
    past: list[PastLabel], scores: Sequence[float], y: int | None, weight: float
) -> list[PastLabel]:
    """The labels after that of index y; None: a class that was not known yet."""
    if y is None or len(scores) < 2:
        return past
    kept = past[MOST_LABELS // 2 :] if len(past) == MOST_LABELS else past
    return [*kept, PastLabel(tuple(scores), y, weight)]


def fitted(past: list[PastLabel]) -> Slope:
    """The slope after one step for each label."""
    now = Slope()
    for label in past:
        now = learned(now, label)
    return now


def learned(now: Slope, label: PastLabel) -> Slope:
    """After one label."""
    second, first = sorted(label.scores)[-2:]
    total = FADING * now.weight + label.weight
    mean_lead = now.mean_lead + label.weight / total * (first - second - now.mean_lead)
    information = FADING * now.information
    if mean_lead == 0:
        return Slope(now.slope, information, mean_lead, total)
    shares = probabilities(Slope(now.slope, mean_lead=mean_lead), label.scores)
    t = [max(-30.0, now.slope / mean_lead * (score - first)) for score in label.scores]
    mean = sum(p * t_k for p, t_k in zip(shares, t, strict=True))
    spread = sum(p * (t_k - mean) ** 2 for p, t_k in zip(shares, t, strict=True))
    information += label.weight * spread
    step = min(0.5, max(-0.5, label.weight * (t[label.y] - mean) / (1 + information)))
    slope = min(1e3, max(1e-3, exp(log(now.slope) + step)))
    return Slope(slope, information, mean_lead, total)
