"""Replicas in plain Python: what they are shown, and how their owner's scaler counts it.

A replica keeps every value; the owner counts them by their number, mean and squares. Only where a
feature forgets half, or begins again, is this not what one scaler would do with the same events.
"""

from copy import deepcopy
from dataclasses import dataclass, field
from math import fsum

from reference.bound import in_order
from reference.scaler import (
    GROSS,
    MOST_COUNTED,
    WARM,
    Moments,
    Name,
    Scaler,
    Seen,
    Statistics,
    clip,
)

Event = dict[Name, float]


@dataclass
class ShownFeature:
    """The values that were counted of a feature, and the first and last event that carried it."""

    first: int
    last: int
    again: bool
    values: list[float]
    pulls: list[float]  # u z: where its loading is drawn to


@dataclass
class Replica:
    """A copy of the owner's scaler, and what it was shown since."""

    scaler: Scaler
    features: dict[Name, ShownFeature] = field(default_factory=dict)
    rounds: int = 0
    factors: list[float] = field(default_factory=list)
    energies: list[float] = field(default_factory=list)

    @staticmethod
    def of(owner: Scaler) -> "Replica":
        return Replica(deepcopy(owner))

    def show(self, event: Event) -> Seen:
        before = deepcopy(self.scaler)
        seen = self.scaler.show(event)
        for name, x in event.items():
            old, new = before.features.get(name), self.scaler.features[name]
            again = old is not None and old.n > 1 and new.n == 1
            if old is not None and not again and old.n >= WARM and old.squares > 0:
                reach = GROSS * (old.squares / old.n) ** 0.5
                x = clip(x, old.mean - reach, old.mean + reach)
            if again or name not in self.features:
                self.features[name] = ShownFeature(self.rounds, self.rounds, again, [], [])
            one, loading = self.features[name], 0.0 if old is None else old.loading
            one.last = self.rounds
            one.values.append(x)
            # Statistics are halved before the loading moves.
            one.pulls.append(loading + (new.loading - loading) / min(1.0, 3 / (new.n + 2)))
        for scores, slowest, old_moments, moments in (
            (self.factors, 0.005, before.factor, self.scaler.factor),
            (self.energies, 1 / 4_000, before.energy, self.scaler.energy),
        ):
            if moments.n > old_moments.n:
                step = max(slowest, 1 / moments.n)
                scores.append(old_moments.mean + (moments.mean - old_moments.mean) / step)
        self.rounds += 1
        return seen


def absorb(owner: Scaler, replicas: list[Replica]) -> None:
    """Count what replicas were shown, one after the other."""
    pooled: dict[Name, ShownFeature] = {}
    start = 0
    for replica in replicas:
        for name, one in replica.features.items():
            moved = ShownFeature(
                one.first + start, one.last + start, one.again, one.values, one.pulls
            )
            other = pooled.get(name)
            if other is None or (moved.again and not other.again):
                pooled[name] = moved
            elif moved.again or not other.again:
                pooled[name] = ShownFeature(
                    min(other.first, moved.first),
                    max(other.last, moved.last),
                    other.again,
                    other.values + moved.values,
                    other.pulls + moved.pulls,
                )
        start += replica.rounds
    for name in in_order(pooled.keys() - owner.features.keys()):
        owner.features[name] = Statistics(first=0)
    for name, one in pooled.items():
        count(owner, name, one)
    for moments, scores, slowest in (
        (owner.factor, [x for one in replicas for x in one.factors], 0.005),
        (owner.energy, [x for one in replicas for x in one.energies], 1 / 4_000),
    ):
        count_scores(moments, scores, slowest)
    owner.rounds += start


def spread(values: list[float]) -> tuple[float, float]:
    """Mean, and mean squared deviation."""
    mean = fsum(values) / len(values)
    return mean, fsum((x - mean) ** 2 for x in values) / len(values)


def count(owner: Scaler, name: Name, shown: ShownFeature) -> None:
    stats, begin = owner.features[name], owner.rounds + shown.first
    mean, variance = spread(shown.values)
    if stats.n == 0:
        stats.first = begin
    elif shown.again:
        stats.first = begin + 1 - (begin + 1 - stats.first) / stats.n
        stats.n, stats.mean, stats.squares = 0, mean, 0.0
        stats.far_off, stats.anchor, stats.close = 0, mean, 0
    pull = fsum(shown.pulls) / len(shown.pulls)
    left = len(shown.values)
    while left > 0:
        n = int(min(left, MOST_COUNTED - stats.n))
        left -= n
        for i in range(n):
            stats.loading += (pull - stats.loading) * min(1.0, 3 / (stats.n + 1 + i + 2))
        total = stats.n + n
        both = (stats.n * stats.mean + n * mean) / total
        stats.squares += stats.n * (stats.mean - both) ** 2 + n * (variance + (mean - both) ** 2)
        stats.n, stats.mean = total, both
        if stats.n >= MOST_COUNTED:
            length = shown.last + 1 - shown.first
            now = begin + length * (1 - left / len(shown.values))
            stats.n, stats.squares = stats.n / 2, stats.squares / 2
            stats.first = (stats.first + now) / 2
    stats.last = owner.rounds + shown.last


def count_scores(moments: Moments, scores: list[float], slowest: float) -> None:
    if not scores:
        return
    mean, variance = spread(scores)
    kept = 1.0
    for i in range(len(scores)):
        kept *= 1 - max(slowest, 1 / (moments.n + 1 + i))
    off = mean - moments.mean
    moments.mean += (1 - kept) * off
    moments.variance = kept * moments.variance + (1 - kept) * (variance + kept * off**2)
    moments.n += len(scores)
