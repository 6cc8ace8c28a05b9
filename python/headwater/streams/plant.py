"""A simulated plant: sensors of different rhythm that are installed, fail, return and are replaced.

What a plant measures are a few processes, which follow the hour, the season, the weather and the
incidents. A sensor reads one of them with a gain, a part of its own and a little noise. What
happens to a sensor is listed in `happenings`, so that whoever watches the stream can be judged.
"""

import math
from collections.abc import Iterator
from typing import Annotated, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from headwater.parameters import COUNT, INSIDE, SEED, checked, whole
from headwater.streams.base import Stream, rows_of
from headwater.streams.plant_sensors import (
    MEASUREMENTS,
    PROCESSES,
    QUIET_DAYS,
    SHARES,
    UNITS,
    Measurement,
    PlantSensor,
    SensorPlan,
)
from headwater.types import Rows

DAY = 86_400
FIRST = 1_767_225_600  # 2026-01-01, a Thursday, in seconds since 1970
INTERVALS = (300, 600, 900, 1_200)  # seconds between two events; one is drawn per plant
DIVIDES_A_DAY = whole(
    "a whole number of seconds, at most an hour, that divides a day",
    lambda seconds: 0 < seconds <= 3_600 and DAY % seconds == 0,
).or_none()


class Happening(NamedTuple):
    """Something that happened to a sensor.

    `event` is the first event, counted from 0, of which it is true, and `time` the time of that
    event. `installed`: the sensor is new. `died`: it reports no more. `failed` and `returned`: the
    beginning and the end of an outage. `changed unit`: its values are on another scale, `detail`
    says on which. `stuck` and `freed`: it repeats one value. `replaced`: it died, and the sensor in
    `detail` measures the same.

    Examples
    --------
    >>> import headwater as hw
    >>> plant = hw.streams.Plant(60, seed=3)
    >>> next(one for one in plant.happenings if one.kind == "changed unit").detail
    'x1000'
    """

    event: int
    time: float
    kind: Literal[
        "installed", "died", "failed", "returned", "changed unit", "stuck", "freed", "replaced"
    ]
    sensor: str
    detail: str = ""


class Plant(Stream):
    """Timed events of a simulated plant, with everything that happens to its sensors.

    Each seed draws another plant: the seconds between events, 40 to 80 sensors, their rhythms (each
    event, hourly, daily, by day, on weekdays, irregular), what they measure, how many readings are
    lost, and what happens to them: some are installed after the third day, and some die, fail and
    return, change their unit, get stuck or are replaced, with and without an overlap. Values follow
    day and night, the season and the weather. Once or twice the whole plant pauses. Between its
    installation, a happening and the end of the stream a sensor has 3 days and 24 readings.

    An event's label says whether there was an incident at that time.

    Parameters
    ----------
    days
        Length of the stream.
    incident_share
        Share of the time in which there is an incident.
    interval
        Seconds between two events, about; a divisor of a day. None: one is drawn.
    seed
        The same seed gives the same plant, happenings and events.

    Examples
    --------
    >>> import headwater as hw
    >>> plant = hw.streams.Plant(30, seed=1)
    >>> len(plant), len(plant.sensors), len(plant.happenings)
    (8427, 57, 60)
    >>> plant.happenings[0]
    Happening(event=864, time=1767484841.0, kind='installed', sensor='current-02', detail='')
    >>> event, incident = next(iter(plant))
    >>> len(event), incident, float(plant.times[0])
    (7, False, 1767225643.0)
    """

    sensors: tuple[PlantSensor, ...]
    """Every sensor there will be."""
    happenings: tuple[Happening, ...]
    """What happens to the sensors, in order."""
    times: NDArray[np.float64]
    """The time of each event, in seconds since 1970, growing."""
    pauses: tuple[tuple[float, float], ...]
    """Begin and end, in seconds since 1970, of the times without any event."""
    interval: int
    """Seconds between two events, about."""

    @checked
    def __init__(
        self,
        days: Annotated[int, COUNT] = 90,
        *,
        incident_share: Annotated[float, INSIDE] = 0.08,
        interval: Annotated[int | None, DIVIDES_A_DAY] = None,
        seed: Annotated[int, SEED] = 0,
    ) -> None:
        self._seed, self._days = seed, days
        world = self._generator(0)
        drawn = int(world.choice(INTERVALS))
        self.interval = drawn if interval is None else interval
        self._per_day = DAY // self.interval
        self._running = np.ones(days * self._per_day, np.bool_)
        self.pauses = tuple(self._pause(world) for _ in range(int(world.integers(1, 3))))
        ticks = np.flatnonzero(self._running)
        late = self._generator(1).uniform(0.0, 0.3, len(self._running))[ticks]
        self.times = np.round(FIRST + (ticks + late) * self.interval)
        self._number: NDArray[np.int64] = np.cumsum(self._running) - self._running
        """The next event of each tick."""
        self._incident_share = incident_share
        self._shift = world.uniform(1.0, 3.0, PROCESSES) * world.choice([-1, 1], PROCESSES)
        self._shift[world.random(PROCESSES) < 0.5] = 0.0
        self._daily = world.uniform(0.0, 0.8, PROCESSES)
        self._season = world.uniform(0.0, 1.0, PROCESSES)
        self._phases = world.uniform(0.0, 2 * math.pi, (2, PROCESSES))
        self._lives = self._build(world)
        self.names = tuple(life.name for life in self._lives)
        self.sensors = tuple(self._sensor(life) for life in self._lives)
        told = [one for life in self._lives for one in self._told(life)]
        self.happenings = tuple(sorted(told, key=lambda one: (one.event, one.sensor)))

    def __len__(self) -> int:
        return len(self.times)

    def slices(self) -> Iterator[tuple[Rows, NDArray[np.bool_]]]:
        """The stream by days; no more than that is in memory at once."""
        memory = _Memory(len(self._lives), self._generator(2))
        for day in range(self._days):
            ticks = np.arange(day * self._per_day, (day + 1) * self._per_day)
            generator = self._generator(3, day)
            readings, incidents = self._measure(ticks, memory, generator)
            readings[~self._due(ticks, generator)] = np.nan
            running = self._running[ticks]
            yield rows_of(readings[running], self.names), incidents[running]

    def _generator(self, *purpose: int) -> np.random.Generator:
        return np.random.default_rng(np.random.SeedSequence(self._seed, spawn_key=purpose))

    # The plan of the plant

    def _pause(self, world: np.random.Generator) -> tuple[float, float]:
        length = int(world.uniform(1 / 6, 1) * self._per_day)
        begin = int(world.uniform(0.05, 0.9) * len(self._running))
        self._running[begin : begin + length] = False
        return FIRST + begin * self.interval, FIRST + (begin + length) * self.interval

    def _build(self, world: np.random.Generator) -> list[SensorPlan]:
        counts = dict.fromkeys((kind.name for kind in MEASUREMENTS), 0)
        lives: list[SensorPlan] = []

        def named(measured: Measurement) -> str:
            counts[measured.name] += 1
            return f"{measured.name}-{counts[measured.name]:02d}"

        for _ in range(int(world.integers(36, 66))):
            measured = MEASUREMENTS[int(world.choice(len(MEASUREMENTS), p=SHARES))]
            life = SensorPlan(named(measured), measured, world)
            life.draw_rhythm(self._per_day, world)
            life.end = len(self._running)
            days = world.uniform(0.0, 0.6) * self._days
            if world.random() < 0.3 and self._days >= 2 * QUIET_DAYS:
                life.begin = int(max(QUIET_DAYS, days) * self._per_day)
            lives.append(life)
        for life in tuple(lives):
            successor = self._happen(life, world)
            if successor is not None:
                successor.name, successor.twin = named(life.measured), lives.index(life)
                lives.append(successor)
        return lives

    def _happen(self, life: SensorPlan, world: np.random.Generator) -> SensorPlan | None:
        """Draw what happens to a sensor; the sensor that replaces it, if one does."""
        quiet = life.quiet(self._per_day)
        first, last = life.begin + quiet, life.end - quiet
        kind = world.choice(7, p=[0.42, 0.13, 0.13, 0.12, 0.1, 0.05, 0.05])
        place, length = world.random(), world.uniform(1.0, 4.0)
        unit = UNITS[int(world.integers(len(UNITS)))]
        shape = life.measured.shape
        if kind == 0 or last <= first:
            return None
        at = int(first + place * (last - first))
        if kind == 1:
            life.end = at
        elif kind == 2:
            shortest = max(1.5 * self._per_day, 4.0 * life.longest_gap(self._per_day))
            back = at + int(length * max(shortest, 12.0 * life.every))
            if back < last:
                life.outage = (at, back)
        elif kind == 3 and shape != "switch":
            life.unit, (life.factor, life.offset) = at, unit
        elif kind == 4 and shape == "level":
            life.stuck = (at, min(life.end, at + int(length * quiet)))
        elif kind >= 5 and shape == "level" and life.rhythm != "irregular":
            life.end = at
            return self._successor(life, world, at, overlaps=kind == 5)
        return None

    def _successor(
        self, life: SensorPlan, world: np.random.Generator, at: int, *, overlaps: bool
    ) -> SensorPlan:
        other = SensorPlan("", life.measured, world)
        other.process, other.gain = life.process, life.gain
        other.spread *= float(world.choice([-1, 1]) if world.random() < 0.2 else 1.0)
        other.rhythm, other.every, other.phase = life.rhythm, life.every, life.phase
        other.end, other.replaces = len(self._running), life.name
        other.overlap = min(int(world.integers(40, 200)) * life.every, (at - life.begin) // 2)
        other.overlap = other.overlap if overlaps else 0
        gap = 0 if overlaps else int(world.uniform(0.0, 1.0) * self._per_day)
        other.begin = at - other.overlap + gap
        return other

    def _sensor(self, life: SensorPlan) -> PlantSensor:
        died = self._event(life.end) if life.end < len(self._running) else None
        return PlantSensor(
            life.name,
            life.measured.name,
            life.rhythm,
            float(life.every * self.interval),
            self._event(life.begin),
            died,
            life.replaces,
            float(life.overlap * self.interval),
        )

    def _event(self, tick: int) -> int:
        return int(min(self._number[min(tick, len(self._number) - 1)], len(self.times) - 1))

    def _told(self, life: SensorPlan) -> Iterator[Happening]:
        def at(tick: int, kind: object, detail: str = "", sensor: str = life.name) -> Happening:
            event = self._event(tick)
            return Happening(event, float(self.times[event]), kind, sensor, detail)  # type: ignore[arg-type]

        if life.begin > 0:
            yield at(life.begin, "installed")
        if life.end < len(self._running):
            yield at(life.end, "died")
        if life.outage[0] >= 0:
            yield at(life.outage[0], "failed")
            yield at(life.outage[1], "returned")
        if life.unit >= 0:
            offset = f" + {life.offset:g}" if life.offset else ""
            yield at(life.unit, "changed unit", f"x{life.factor:g}{offset}")
        if life.stuck[0] >= 0:
            yield at(life.stuck[0], "stuck")
            if life.stuck[1] < life.end:
                yield at(life.stuck[1], "freed")
        if life.replaces is not None:
            old = next(one for one in self._lives if one.name == life.replaces)
            yield at(old.end, "replaced", life.name, old.name)

    # The events of a day

    def _due(self, ticks: NDArray[np.int64], generator: np.random.Generator) -> NDArray[np.bool_]:
        """Which sensors report at these ticks."""
        hour = ticks % self._per_day * 24 / self._per_day
        weekday = (ticks // self._per_day + 3) % 7  # the first day is a Thursday
        chance = generator.random((len(ticks), len(self._lives)))
        due = np.empty(chance.shape, np.bool_)
        for column, life in enumerate(self._lives):
            kept = chance[:, column] >= life.lost
            regular = (ticks + life.phase) % life.every == 0
            if life.rhythm == "irregular":
                here = chance[:, column] < 1 / life.every
            elif life.rhythm == "daytime":
                here = regular & kept & (hour >= 6) & (hour < 18)
            elif life.rhythm == "weekdays":
                here = regular & kept & (weekday < 5)
            else:
                here = regular & kept
            alive = (ticks >= life.begin) & (ticks < life.end)
            out = (ticks >= life.outage[0]) & (ticks < life.outage[1])
            due[:, column] = here & alive & ~out
        return due

    def _measure(
        self, ticks: NDArray[np.int64], memory: "_Memory", generator: np.random.Generator
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """What every sensor would read at these ticks, and whether there was an incident."""
        day = ticks[:, np.newaxis] / self._per_day
        slow, fast = math.exp(-4 / self._per_day), math.exp(-12 / self._per_day)
        weather = memory.drift("weather", slow, generator.normal(size=(len(ticks), PROCESSES)))
        own = memory.drift("own", fast, generator.normal(size=(len(ticks), len(self._lives))))
        incidents = memory.incidents(self._incident_share, self._per_day, len(ticks), generator)
        levels = weather + incidents[:, np.newaxis] * self._shift
        levels += self._daily * np.sin(2 * math.pi * day + self._phases[0])
        levels += self._season * np.sin(2 * math.pi * day / 365 + self._phases[1])
        noise = generator.normal(size=own.shape)
        chance = generator.random(own.shape)
        readings = np.empty(own.shape)
        sun = np.maximum(0.0, -np.cos(2 * math.pi * day[:, 0]))
        for column, life in enumerate(self._lives):
            part = own[:, column if life.twin < 0 else life.twin]
            signal = life.gain * levels[:, life.process] + math.sqrt(1 - life.gain**2) * part
            if life.measured.shape == "level":
                value = life.level + life.spread * (signal + life.noise * noise[:, column])
            elif life.measured.shape == "light":
                value = life.spread * sun * (1.5 + np.tanh(signal))
            elif life.measured.shape == "switch":
                value = memory.switch(column, chance[:, column] < 4 / self._per_day)
            else:
                value = memory.meter(column, life.spread * np.exp(0.4 * signal) / 10)
            step = life.measured.step
            readings[:, column] = np.round(np.round(value / step) * step, 4)
            changed = ticks >= life.unit
            if life.unit >= 0 and changed.any():
                readings[changed, column] = _told_to_6_digits(
                    readings[changed, column] * life.factor + life.offset
                )
            held = (ticks >= life.stuck[0]) & (ticks < life.stuck[1])
            if held.any():
                readings[held, column] = memory.hold(column, readings[held, column][0])
        return readings, incidents


def _told_to_6_digits(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.array([float(f"{value:.6g}") for value in values.tolist()])


class _Memory:
    """What a day of the plant leaves to the next."""

    def __init__(self, sensors: int, generator: np.random.Generator) -> None:
        sizes = {"weather": PROCESSES, "own": sensors}
        self._drifts = {name: generator.normal(size=size) for name, size in sizes.items()}
        self._switches = np.zeros(sensors)
        self._meters = np.zeros(sensors)
        self._held: dict[int, float] = {}
        self._incident_ticks = 0

    def drift(self, name: str, keep: float, steps: NDArray[np.float64]) -> NDArray[np.float64]:
        """A level that wanders around 0 with the spread 1."""
        level = self._drifts[name]
        for row in steps:
            level = keep * level + math.sqrt(1 - keep**2) * row
            row[:] = level
        self._drifts[name] = level
        return steps

    def incidents(
        self, share: float, per_day: int, ticks: int, generator: np.random.Generator
    ) -> NDArray[np.bool_]:
        """Incidents of a sixth of a day on average."""
        mean = max(1.0, per_day / 6)
        there = np.zeros(ticks, np.bool_)
        chances, lengths = generator.random(ticks), generator.uniform(0.2, 1.8, ticks)
        for tick in range(ticks):
            if self._incident_ticks == 0 and chances[tick] < share / (1 - share) / mean:
                self._incident_ticks = max(1, round(mean * lengths[tick]))
            if self._incident_ticks > 0:
                there[tick] = True
                self._incident_ticks -= 1
        return there

    def switch(self, column: int, turns: NDArray[np.bool_]) -> NDArray[np.float64]:
        states: NDArray[np.float64] = (self._switches[column] + np.cumsum(turns)) % 2
        self._switches[column] = states[-1]
        return states

    def meter(self, column: int, steps: NDArray[np.float64]) -> NDArray[np.float64]:
        counted: NDArray[np.float64] = self._meters[column] + np.cumsum(steps)
        self._meters[column] = counted[-1]
        return counted

    def hold(self, column: int, value: float) -> float:
        return self._held.setdefault(column, value)
