"""The running scaler in plain Python: on what scale a raw value counts, and that it is there.

Per feature: n values counted, mean m, sum of squared deviations S, the round from which its
presence is counted, the last round that carried it, how often in a row it lay beyond three
deviations, and its loading in the common factor. Everything is changed in place.
"""

from dataclasses import dataclass, field
from math import log, sqrt
from typing import Any

from reference.bound import in_order

Name = str | int

CLIP = 3.0
GROSS = 10.0  # deviations at which a value is cut before it is counted,
WARM = 10  # once so many are counted
KNOWN = 30  # values after which a feature may begin again,
FAR_OFF = 20  # if so many in a row lie beyond the clip,
ALL_CLOSE = 100  # or so many within half a deviation of the first of them, and move
MOST_COUNTED = 8_000


def clip(x: float, low: float, high: float) -> float:
    return min(max(x, low), high)


@dataclass
class Moments:
    """A running mean and variance."""

    n: int = 0
    mean: float = 0.0
    variance: float = 0.0

    def add(self, x: float, slowest: float) -> None:
        self.n += 1
        step = max(1 / self.n, slowest)
        delta = x - self.mean
        self.mean += step * delta
        self.variance += step * (delta * (x - self.mean) - self.variance)

    def standardised(self, x: float, guard: float) -> float:
        return clip((x - self.mean) / sqrt(self.variance + guard), -CLIP, CLIP)


@dataclass
class Statistics:
    first: float
    n: float = 0
    mean: float = 0.0
    squares: float = 0.0
    last: int = 0
    far_off: int = 0
    anchor: float = 0.0
    close: int = 0
    loading: float = 0.0

    def count(self, x: float, t: int) -> None:
        """Count the value of round t."""
        known = self.n >= KNOWN and self.squares > 0
        beyond = known and (x - self.mean) ** 2 * self.n > CLIP**2 * self.squares
        self.far_off = self.far_off + 1 if beyond else 0
        if known and (x - self.anchor) ** 2 * self.n > 0.25 * self.squares:
            self.anchor, self.close = x, 0
        elif known and x != self.anchor:
            self.close += 1
        if self.far_off >= FAR_OFF or self.close >= ALL_CLOSE:  # another unit, another place
            self.first = t + 1 - (t + 1 - self.first) / self.n  # its share of the events stays
            self.n, self.mean, self.squares, self.far_off = 0, x, 0.0, 0
            self.anchor, self.close = x, 0
        if self.n >= WARM and self.squares > 0:
            reach = GROSS * sqrt(self.squares / self.n)
            x = clip(x, self.mean - reach, self.mean + reach)
        self.n += 1
        delta = x - self.mean
        self.mean += delta / self.n
        self.squares += delta * (x - self.mean)
        self.last = t
        if self.n >= MOST_COUNTED:  # let the older half go
            self.n, self.squares = self.n / 2, self.squares / 2
            self.first = (self.first + t + 1) / 2

    def share(self, t: int) -> float:
        """p: of the events since the first one, how many carried it."""
        return min(1.0, self.n / (t + 1 - self.first))

    def regularity(self, t: int) -> float:
        return min(1.0, 2 * self.share(t)) ** 4

    def value(self, x: float) -> float:
        variance = self.squares / self.n
        if variance <= 1e-24 * self.mean**2:
            return 0.0
        return clip((x - self.mean) / sqrt(variance), -CLIP, CLIP)

    def presence(self, t: int) -> float:
        p = self.share(t)
        return -0.5 * log(p) if p < 1 else 0.0


@dataclass(frozen=True)
class Seen:
    """An event as a model sees it: values and presences have length 1 together."""

    values: dict[Name, float]
    presences: dict[Name, float]
    factor: float
    energy: float


@dataclass
class Scaler:
    features: dict[Name, Statistics] = field(default_factory=dict)
    rounds: int = 0
    factor: Moments = field(default_factory=Moments)
    energy: Moments = field(default_factory=Moments)

    def look(self, event: dict[Name, float]) -> Seen:
        """An event outside the stream: unknown names are left out, nothing changes."""
        return self.describe({name: x for name, x in event.items() if name in self.features}, False)

    def show(self, event: dict[Name, float]) -> Seen:
        """The stream's next event, which is counted before it is described."""
        for name in in_order(event.keys() - self.features.keys()):
            self.features[name] = Statistics(first=self.rounds)
        for name, x in event.items():
            self.features[name].count(x, self.rounds)
        seen = self.describe(event, True)
        self.rounds += 1
        return seen

    def describe(self, event: dict[Name, float], learning: bool) -> Seen:
        t, features = self.rounds, {name: self.features[name] for name in event}
        values = {name: features[name].value(x) for name, x in event.items()}
        presences = {name: one.presence(t) for name, one in features.items()}
        a = {name: one.regularity(t) for name, one in features.items()}
        squares = sum(values[name] ** 2 + presences[name] ** 2 for name in event)
        length = sqrt(squares) if squares > 0 else 1.0
        values = {name: x / length for name, x in values.items()}
        presences = {name: x / length for name, x in presences.items()}

        regular = sum(a[name] * values[name] ** 2 for name in event)  # D, if there is enough of it
        D = regular if sum(a.values()) >= 1 and squares > 0 else 0.0
        energy = 0.0
        if D > 0:
            level = log(regular * squares / sum(a.values()))
            if learning:
                self.energy.add(level, 1 / 4_000)
            energy = 0.3 * D * self.energy.standardised(level, 1e-6)

        loadings = {
            name: one.loading * one.n / (one.n + 10) * a[name] for name, one in features.items()
        }
        total = sum(loading**2 for loading in loadings.values())
        u, factor = 1.0, 0.0
        if total > 1e-30:
            u = sum(loadings[name] * values[name] for name in event) / sqrt(total)
            if learning:
                self.factor.add(u, 0.005)
            factor = 0.5 * D * self.factor.standardised(u, 1e-12)
        if learning and squares > 0:
            for name, one in features.items():
                one.loading += (u * values[name] - one.loading) * min(1.0, 3 / (one.n + 2))
        return Seen(values, presences, factor, energy)


def read_scaler(saved: dict[str, Any]) -> Scaler:
    """The scaler in the state of a model file; the learner's own features have no statistics."""
    scaler = saved["scaler"]
    nothing = [0.0] * len(saved["names"])
    columns = ("first", "counts", "means", "squares", "last", "far_off", "anchors", "close")
    rows = zip(
        *(scaler[column] for column in columns), scaler.get("loadings", nothing), strict=True
    )
    pairs = zip(saved["names"], rows, strict=True)
    features = {name: Statistics(*row) for name, row in pairs if row[1] > 0}
    moments = [
        Moments(*(scaler["summary"][word][key] for key in ("n", "mean", "variance")))
        if "summary" in scaler
        else Moments()
        for word in ("factor", "energy")
    ]
    return Scaler(features, scaler["rounds"], *moments)
