"""A plant at which something happens to a sensor all the time, for those who watch it for minutes.

At a real plant a sensor fails or is replaced every other week. Here, from a moment on, sensors
come, go silent, return, change their unit and are replaced within every `EPISODE`.
"""

import random
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from typing import NamedTuple

from headwater.streams import Plant
from headwater.streams.plant_sensors import MEASUREMENTS
from headwater.types import Event

MINUTE = 60.0
EPISODE = 150 * MINUTE
"""Time in which each thing happens once; at sixty times real time, two and a half minutes."""
MOST_BUSY = 9
"""To how many sensors of the plant something happens, in turn."""
LEVELS = {one.name: one for one in MEASUREMENTS if one.shape == "level"}
OTHER_UNITS = {"temperature": (1.8, 32.0), "pressure": (14.504, 0.0), "flow": (16.667, 0.0)}
"""Factor and offset from °C to °F, bar to psi and m³/h to l/min; others change by 1,000."""


class Done(NamedTuple):
    """Something that was done to a sensor."""

    time: float
    kind: str
    sensor: str
    other: str = ""


@dataclass
class Reading:
    """A sensor as the events name it: what it reads of a sensor of the plant."""

    name: str
    factor: float = 1.0
    offset: float = 0.0
    silent: bool = False
    noise: float = 0.0

    def of(self, value: float, coin: random.Random) -> float:
        noise = coin.gauss(0.0, self.noise) if self.noise else 0.0
        return float(f"{value * self.factor + self.offset + noise:.4g}")


class BusyPlant:
    """The events of a plant; from event `first` on much happens to sensors that always report.

    Parameters
    ----------
    plant
        The plant.
    first
        The event from which on it is busy.
    seed
        Which sensor is next follows from it.
    """

    def __init__(self, plant: Plant, first: int, seed: int = 0) -> None:
        self.plant = plant
        self.first = first
        self.times = plant.times
        self.done: list[Done] = []
        """What was done to sensors so far, in order."""
        self._coin = random.Random(seed)
        self._numbers = count(len(plant.sensors) + 1)
        self._plans: list[tuple[float, int, Callable[[float], None]]] = []
        self._order = count()
        steady = self._steady()
        self._coin.shuffle(steady)
        self._next = deque(steady)
        """Sensors of the plant to which something may be done: whose turn it is comes first."""
        self._readings = {one: [Reading(one)] for one in steady}

    def _steady(self) -> list[str]:
        """The sensors that report most often, of those to which nothing else happens."""
        changing = {one.sensor for one in self.plant.happenings}
        free = [
            one for one in self.plant.sensors if one.kind in LEVELS and one.name not in changing
        ]
        free.sort(key=lambda one: (one.rhythm != "steady", one.interval))
        return [one.name for one in free[:MOST_BUSY]]

    def __len__(self) -> int:
        return len(self.times)

    def __iter__(self) -> Iterator[tuple[Event, bool]]:
        for i, (event, incident) in enumerate(self.plant):
            now = float(self.times[i])
            if i == self.first:
                self._begin_episode(now)
            while self._plans and self._plans[0][0] <= now:
                heappop(self._plans)[2](now)
            yield self._read(event), bool(incident)

    def _read(self, event: Event) -> Event:
        return {
            reading.name: reading.of(value, self._coin) if name in self._readings else value
            for name, value in event.items()
            for reading in self._readings.get(name, (Reading(str(name)),))
            if not reading.silent
        }

    # What happens

    def _begin_episode(self, now: float) -> None:
        """Plan what happens until the next one begins."""
        silent, changed, replaced, copied = (self._turn() for _ in range(4))
        self._after(now, 4, lambda at: self._install(at, copied))
        self._after(now, 10, lambda at: self._begin_overlap(at, replaced))
        self._after(now, 25, lambda at: self._silence(at, silent))
        self._after(now, 55, lambda at: self._change_unit(at, changed))
        self._after(now, 95, lambda at: self._bring_back(at, silent))
        self._after(now, 120, lambda at: self._end_overlap(at, replaced))
        self._after(now, EPISODE / MINUTE, self._begin_episode)

    def _turn(self) -> str:
        name = self._next.popleft()
        self._next.append(name)
        return name

    def _after(self, now: float, minutes: float, act: Callable[[float], None]) -> None:
        heappush(self._plans, (now + minutes * MINUTE, next(self._order), act))

    def _new_name(self, source: str) -> str:
        return f"{source.rpartition('-')[0]}-{next(self._numbers):02d}"

    def _install(self, now: float, source: str) -> None:
        """A sensor comes that measures something like another one, and goes after two episodes."""
        noise = LEVELS[source.rpartition("-")[0]].spread
        new = Reading(self._new_name(source), self._coin.uniform(0.6, 0.8), noise=noise)
        self._readings[source].append(new)
        self.done.append(Done(now, "installed", new.name))

        def remove(at: float) -> None:
            self._readings[source].remove(new)
            self.done.append(Done(at, "died", new.name))

        self._after(now, 2 * EPISODE / MINUTE, remove)

    def _silence(self, now: float, source: str) -> None:
        self._readings[source][0].silent = True
        self.done.append(Done(now, "failed", self._readings[source][0].name))

    def _bring_back(self, now: float, source: str) -> None:
        self._readings[source][0].silent = False
        self.done.append(Done(now, "returned", self._readings[source][0].name))

    def _change_unit(self, now: float, source: str) -> None:
        reading = self._readings[source][0]
        if (reading.factor, reading.offset) == (1.0, 0.0):
            other = OTHER_UNITS.get(source.rpartition("-")[0], (1_000.0, 0.0))
            reading.factor, reading.offset = other
        else:
            reading.factor, reading.offset = 1.0, 0.0
        self.done.append(Done(now, "changed unit", reading.name))

    def _begin_overlap(self, now: float, source: str) -> None:
        """The successor of a sensor comes while that one still reports."""
        old = self._readings[source][0]
        factor = old.factor * self._coin.uniform(0.9, 1.1)
        self._readings[source].insert(1, Reading(self._new_name(source), factor, old.offset))
        self.done.append(Done(now, "installed", self._readings[source][1].name))

    def _end_overlap(self, now: float, source: str) -> None:
        old = self._readings[source].pop(0)
        self.done.append(Done(now, "replaced", old.name, self._readings[source][0].name))
