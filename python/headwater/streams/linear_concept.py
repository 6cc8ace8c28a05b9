"""Sensors whose readings give the label by a linear rule, until something changes half-way.

d sensors measure x ~ N(0, 1), independent of each other, and an event is positive if
w·x + noise·N(0, 1) > θ, with θ such that the positive share is as given. Sensor j reports
(x_j + shift_j)·unit_j, in a unit of its own. a and b are two independent rules. Of n events the
change comes before event ⌊n/2⌋, unless it goes on all the time.
"""

import math
from collections.abc import Iterator
from statistics import NormalDist
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from headwater.parameters import COUNT, INSIDE, NOT_NEGATIVE, SEED, SHARE, checked
from headwater.streams.base import Stream, rows_of
from headwater.types import Rows

Change = Literal[
    "none",
    "sudden",
    "half",
    "reversed",
    "gradual",
    "rotating",
    "recurring",
    "permuted",
    "units",
    "rescaled",
    "replaced",
]
SLICE = 1_000  # events made at a time
BOTH = 200  # events in which old and new sensors report, if they are replaced
NEW_NOISE = 0.3  # of a sensor that replaces another one


class LinearConcept(Stream):
    """Events of sensors, labelled by a linear rule; the rule or the sensors change half-way.

    Parameters
    ----------
    events
        Length of the stream.
    change
        What changes half-way, in the rule w:
        `"none"`;
        `"sudden"`: from a to b;
        `"half"`: half of the weights change their sign;
        `"reversed"`: from a to −a;
        `"gradual"`: from a over b to −a, turning slowly from the first event to the last;
        `"rotating"`: two whole turns of this kind;
        `"recurring"`: a, b, a, b, a quarter of the stream each.
        Or in the sensors:
        `"permuted"`: each sensor measures what another one measured;
        `"units"`: a third of the sensors report 1.8·value + 32;
        `"rescaled"`: all sensors report in new units;
        `"replaced"`: half of the sensors are replaced by others that measure the same with some
        noise; for 200 events both report.
    sensors
        How many sensors there are.
    relevant
        Share of the sensors that have to do with the label.
    noise
        Standard deviation of what no sensor measures.
    positive_share
        Probability that an event is positive.
    seed
        The same seed gives the same sensors, rules and events.

    Examples
    --------
    >>> import headwater as hw
    >>> stream = hw.streams.LinearConcept(1_000, change="replaced", sensors=4)
    >>> [list(event) for event, _ in stream][499:701:100]
    [['s0', 's1', 's2', 's3'], ['s0', 's1', 's2', 's3', 'new 0', 'new 1'], ...
    >>> stream.first_scored
    700
    """

    @checked
    def __init__(
        self,
        events: Annotated[int, COUNT] = 30_000,
        *,
        change: Change = "none",
        sensors: Annotated[int, COUNT] = 30,
        relevant: Annotated[float, SHARE] = 1.0,
        noise: Annotated[float, NOT_NEGATIVE] = 1.0,
        positive_share: Annotated[float, INSIDE] = 0.5,
        seed: Annotated[int, SEED] = 0,
    ) -> None:
        self._events, self._change, self._noise, self._seed = events, change, noise, seed
        self._half = events // 2
        self._quantile = NormalDist().inv_cdf(1 - positive_share)
        self.first_scored = self._half if change != "none" else 0
        world = self._generator(0)
        counts = np.arange(sensors) < max(1, round(relevant * sensors))
        self._rules = world.normal(size=(2, sensors)) * world.permutation(counts)
        self._units = 10.0 ** world.uniform(-3, 3, size=(2, sensors))
        self._shifts = 5 * world.normal(size=(2, sensors))
        self._others = world.permutation(sensors)
        self.names = tuple(f"s{sensor}" for sensor in range(sensors))
        if change == "replaced":
            self._gains = world.uniform(0.5, 2.0, size=sensors // 2)
            self.names += tuple(f"new {sensor}" for sensor in range(sensors // 2))
            self.first_scored = min(events, self._half + BOTH)

    def __len__(self) -> int:
        return self._events

    def slices(self) -> Iterator[tuple[Rows, NDArray[np.bool_]]]:
        """The stream by a thousand events; no more than that is in memory at once."""
        for begin in range(0, self._events, SLICE):
            time = np.arange(begin, min(begin + SLICE, self._events))
            generator = self._generator(1, begin)
            x = generator.normal(size=(SLICE, len(self._others)))[: len(time)]
            rest = self._noise * generator.normal(size=SLICE)[: len(time)]
            rule = self._rule(time)
            spread = np.sqrt((rule**2).sum(axis=1) + self._noise**2)
            labels = (x * rule).sum(axis=1) + rest > self._quantile * spread
            yield rows_of(self._readings(x, time, generator), self.names), labels

    def _rule(self, time: NDArray[np.int64]) -> NDArray[np.float64]:
        """The weights at each of some moments, one row per event."""
        a: NDArray[np.float64] = self._rules[0]
        b: NDArray[np.float64] = self._rules[1]
        later = (time >= self._half)[:, np.newaxis]
        share = (time / max(1, self._events - 1))[:, np.newaxis]
        match self._change:
            case "sudden":
                return np.where(later, b, a)
            case "half":
                return np.where(later & (np.arange(len(a)) < len(a) // 2), -a, a)
            case "reversed":
                return np.where(later, -a, a)
            case "gradual" | "rotating":
                angle = (1 if self._change == "gradual" else 4) * math.pi * share
                return np.asarray(np.cos(angle) * a + np.sin(angle) * b)
            case "recurring":
                quarter = 4 * time[:, np.newaxis] // self._events
                return np.where(quarter % 2 == 0, a, b)
            case _:
                return np.tile(a, (len(time), 1))

    def _readings(
        self, x: NDArray[np.float64], time: NDArray[np.int64], generator: np.random.Generator
    ) -> NDArray[np.float64]:
        """What the sensors report of what they measure; NaN: nothing."""
        later = (time >= self._half)[:, np.newaxis]
        unit: NDArray[np.float64] = self._units[0]
        shift: NDArray[np.float64] = self._shifts[0]
        if self._change == "permuted":
            x = np.where(later, x[:, self._others], x)
        reported = x + shift
        if self._change == "units":
            a_third = np.arange(x.shape[1]) < x.shape[1] // 3
            reported = np.where(later & a_third, 1.8 * reported + 32, reported)
        elif self._change == "rescaled":
            anew = (x + self._shifts[1]) * (self._units[1] / unit)
            reported = np.where(later, anew, reported)
        reported = reported * unit
        if self._change != "replaced":
            return reported
        width = len(self._gains)
        noise = NEW_NOISE * generator.normal(size=(SLICE, width))[: len(time)]
        new = np.where(later, x[:, :width] * self._gains + noise, np.nan)
        reported[time >= self.first_scored, :width] = np.nan
        return np.hstack([reported, new])

    def _generator(self, *purpose: int) -> np.random.Generator:
        return np.random.default_rng(np.random.SeedSequence(self._seed, spawn_key=purpose))
