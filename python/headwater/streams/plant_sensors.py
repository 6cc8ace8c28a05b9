"""The sensors of a simulated plant: what they measure, how they report, and for how long."""

from typing import Literal, NamedTuple, TypeAlias

import numpy as np

PROCESSES = 12
QUIET = 24  # readings without a happening before and after each, so that each can be seen
QUIET_DAYS = 3.0

Shape: TypeAlias = Literal["level", "light", "switch", "meter"]
Rhythm: TypeAlias = Literal["steady", "daytime", "weekdays", "irregular"]


class Measurement(NamedTuple):
    """What a kind of sensor measures: its usual level and spread, and in which steps it reads."""

    name: str
    level: float
    spread: float
    step: float
    shape: Shape = "level"


MEASUREMENTS = (
    Measurement("temperature", 65.0, 8.0, 0.1),
    Measurement("pressure", 4.2, 0.6, 0.01),
    Measurement("flow", 120.0, 25.0, 0.5),
    Measurement("vibration", 2.8, 0.7, 0.01),
    Measurement("current", 14.0, 3.0, 0.05),
    Measurement("humidity", 55.0, 12.0, 1.0),
    Measurement("acidity", 7.1, 0.3, 0.02),
    Measurement("turbidity", 3.0, 0.9, 0.05),
    Measurement("light", 0.0, 400.0, 1.0, "light"),
    Measurement("valve", 0.0, 1.0, 1.0, "switch"),
    Measurement("energy", 0.0, 5.0, 0.1, "meter"),
)
UNITS = (
    (1.8, 32.0),
    (1_000.0, 0.0),
    (0.001, 0.0),
    (100.0, 0.0),
    (0.01, 0.0),
    (14.504, 0.0),
    (3.6, 0.0),
    (60.0, 0.0),
    (2.2046, 0.0),
    (3.2808, 0.0),
    (0.3048, 0.0),
    (0.06895, 0.0),
)
"""Factor and offset between units: °C and °F, bar and psi, m/s and km/h, kg and lb, m and ft."""
SHARES = np.array([5, 4, 4, 4, 4, 3, 3, 3, 1.5, 1.5, 1.5]) / 34.5
"""How often each measurement is drawn."""


class PlantSensor(NamedTuple):
    """A sensor of the plant.

    It reports in the events from `installed` up to, not including, `died` (None: to the end of the
    stream): `steady`, once per `interval` seconds; `daytime`, the same from 6 to 18 o'clock;
    `weekdays`, the same from Monday to Friday; `irregular`, on average once per `interval`.
    `overlap` counts the seconds for which the sensor that it `replaces` was still there.

    Examples
    --------
    >>> import headwater as hw
    >>> hw.streams.Plant(30, seed=0).sensors[0].rhythm
    'irregular'
    """

    name: str
    kind: str
    rhythm: Rhythm
    interval: float
    installed: int
    died: int | None
    replaces: str | None
    overlap: float


class SensorPlan:
    """How a sensor is to live: how it reports, what it reads, what will happen to it."""

    def __init__(self, name: str, measured: Measurement, world: np.random.Generator) -> None:
        self.name, self.measured, self.twin = name, measured, -1
        self.process = int(world.integers(PROCESSES))
        self.gain = float(world.uniform(0.3, 0.9) * world.choice([-1, 1]))
        self.level = measured.level * float(world.uniform(0.7, 1.4))
        self.spread = measured.spread * float(world.uniform(0.6, 1.7))
        self.noise = float(world.uniform(0.05, 0.25))
        self.lost = float(world.uniform(0.0, 0.15))
        self.rhythm: Rhythm = "steady"
        self.every, self.phase = 1, 0
        self.begin, self.end = 0, -1  # ticks
        self.outage = self.stuck = (-1, -1)
        self.unit, self.factor, self.offset = -1, 1.0, 0.0
        self.replaces: str | None = None
        self.overlap = 0

    def draw_rhythm(self, per_day: int, world: np.random.Generator) -> None:
        kind = world.choice(6, p=[0.42, 0.2, 0.08, 0.1, 0.08, 0.12])
        hour = max(1, per_day // 24)
        if kind == 0:
            self.every = int(world.choice([1, 1, 2, 3]))
        elif kind == 1:
            self.every = hour * int(world.choice([1, 2, 4, 6]))
        elif kind == 2:
            self.every = per_day
        elif kind == 3:
            self.rhythm, self.every = "daytime", int(world.choice([1, 2, hour]))
        elif kind == 4:
            self.rhythm, self.every = "weekdays", int(world.choice([hour, 2 * hour]))
        else:
            self.rhythm, self.every = "irregular", int(world.integers(3, 4 * hour + 4))
        self.phase = int(world.integers(self.every))

    def longest_gap(self, per_day: int) -> int:
        """The longest usual pause between two readings, in ticks."""
        pause = {"steady": 0.0, "daytime": 0.5, "weekdays": 2.0, "irregular": 0.0}[self.rhythm]
        usual = self.every * (5 if self.rhythm == "irregular" else 1)
        return int(pause * per_day) + usual

    def quiet(self, per_day: int) -> int:
        """The ticks without a happening that it needs before and after each."""
        share = {"steady": 1.0, "daytime": 2.0, "weekdays": 1.5, "irregular": 1.2}[self.rhythm]
        return int(max(QUIET_DAYS * per_day, QUIET * self.every * share)) + self.longest_gap(
            per_day
        )
