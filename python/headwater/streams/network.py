"""A simulated network of environment sensors, which grows in waves and ages.

Sensors are installed while the network is running, some fail, readings are noisy and sometimes
missing, and a person must say whether an event was an incident.

An incident (label True) shifts some of the processes that the sensors measure. Process k has the
level p_k = shift_k·(y − P(y)) + N(0, 1), and a sensor of gain g and offset o reads
g·p_k + √(1 − g²)·N(0, 1) + o: about standardised, as an instrument would do it.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from headwater.parameters import COUNT, INSIDE, SEED, checked, number
from headwater.streams.base import Stream, rows_of
from headwater.types import Rows


class Kind(NamedTuple):
    """What a sensor measures."""

    name: str
    shift: float
    """How far an incident shifts it, in its own standard deviations; 0: not at all."""
    wave: int
    """The wave in which it first appears."""


KINDS = (
    Kind("ozone", 1.7, 0),
    Kind("wind", -1.2, 0),
    Kind("temperature", 0.5, 0),
    Kind("humidity", 0.0, 0),
    Kind("noise", 0.0, 0),
    Kind("rain", -1.0, 1),
    Kind("pressure", 0.0, 1),
    Kind("nitrogen", 1.2, 2),
    Kind("light", 0.0, 2),
    Kind("dust", 1.2, 3),
    Kind("carbon", 1.0, 4),
    Kind("soil", 0.0, 4),
    Kind("traffic", 1.0, 5),
)
WAVES = (0.0, 0.12, 0.28, 0.44, 0.6, 0.76)  # when each wave begins, as a share of the stream
SENSORS_A_WAVE = 40
NEWEST_A_WAVE = 16  # of these, how many are of the kinds that the wave brings
DEAF_SHARE = 0.2  # sensors that measure nothing but their own noise
DYING_SHARE = 0.25  # sensors that die before the stream ends
SLICE = 1_000  # events made at a time
MISSING = number("in [0, 0.5]", lambda v: 0 <= v <= 0.5)


class Sensor(NamedTuple):
    """A sensor of the network.

    Events are counted from 0: its readings are in the events from `installed` up to, not
    including, `died`; None: it works to the end of the stream.

    Examples
    --------
    >>> import headwater as hw
    >>> hw.streams.SensorNetwork(1_000).sensors[-1].installed
    760
    """

    name: str
    kind: str
    installed: int
    died: int | None


class SensorNetwork(Stream):
    """Events of a sensor network that grows while it runs; an incident has the label True.

    240 sensors are added in six waves, each with new kinds of measurements: a learner that uses
    only the first sensors misses most of the information. A quarter of the sensors fail. About
    half of them give information about an incident; none of them gives much.

    Parameters
    ----------
    events
        Length of the stream. Times of waves and failures are relative to it.
    incident_share
        Probability that an event is an incident.
    missing_share
        Share of the readings that are missing, averaged over the sensors.
    seed
        The same seed gives the same sensors, waves and events.

    Examples
    --------
    >>> import headwater as hw
    >>> network = hw.streams.SensorNetwork(1_000)
    >>> network.waves
    (0, 120, 280, 440, 600, 760)
    >>> network.sensors[0]
    Sensor(name='ozone-01', kind='ozone', installed=0, died=None)
    >>> event, incident = next(iter(network))
    >>> event["ozone-01"], incident
    (-1.21, False)
    """

    waves: tuple[int, ...]
    """The events before which the waves are installed, counted from 0."""
    sensors: tuple[Sensor, ...]
    """Every sensor there will be, in order of installation."""

    @checked
    def __init__(
        self,
        events: Annotated[int, COUNT] = 50_000,
        *,
        incident_share: Annotated[float, INSIDE] = 0.27,
        missing_share: Annotated[float, MISSING] = 0.1,
        seed: Annotated[int, SEED] = 0,
    ) -> None:
        self._events, self._incident_share, self._seed = events, incident_share, seed
        self.waves = tuple(int(share * events + 1e-9) for share in WAVES)
        world = self._generator(0)
        kinds = np.concatenate([_kinds_of_wave(wave, world) for wave in range(len(WAVES))])
        self._kind = kinds
        self._gain = np.where(
            world.random(len(kinds)) < DEAF_SHARE, 0.0, world.uniform(0.2, 0.8, len(kinds))
        )
        self._offset = world.normal(0.0, 0.2, len(kinds))
        self._missing = missing_share * world.uniform(0.0, 2.0, len(kinds))
        dying, life = world.random(len(kinds)) < DYING_SHARE, world.random(len(kinds))
        self._installed = np.repeat(self.waves, SENSORS_A_WAVE)
        age = np.ceil(life * (events - self._installed)).astype(np.int64)
        self._died = np.where(dying, self._installed + age, events)
        self.sensors = self._named()
        self.names = tuple(sensor.name for sensor in self.sensors)

    def __len__(self) -> int:
        return self._events

    def slices(self) -> Iterator[tuple[Rows, NDArray[np.bool_]]]:
        """The stream by a thousand events; no more than that is in memory at once."""
        for begin in range(0, self._events, SLICE):
            generator = self._generator(1, begin)
            readings, incidents = self._measure(generator)
            event = np.arange(begin, begin + SLICE)[:, np.newaxis]
            running = (self._installed <= event) & (event < self._died)
            lost = generator.random(readings.shape) < self._missing
            readings[~running | lost] = np.nan
            size = min(SLICE, self._events - begin)
            yield rows_of(readings[:size], self.names), incidents[:size]

    @checked
    def held_out(self, n: Annotated[int, COUNT]) -> tuple[Rows, NDArray[np.bool_]]:
        """`n` other events of the same network, with every sensor present and working.

        Examples
        --------
        >>> import headwater as hw
        >>> rows, incidents = hw.streams.SensorNetwork(1_000).held_out(50)
        >>> len(rows), len(rows.data), len(incidents)
        (50, 12000, 50)
        """
        slices = [self._measure(self._generator(2, begin)) for begin in range(0, n, SLICE)]
        rows = rows_of(np.concatenate([readings for readings, _ in slices])[:n], self.names)
        return rows, np.concatenate([incidents for _, incidents in slices])[:n]

    def _generator(self, *purpose: int) -> np.random.Generator:
        return np.random.default_rng(np.random.SeedSequence(self._seed, spawn_key=purpose))

    def _measure(
        self, generator: np.random.Generator
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """A slice of events: what every sensor would read, and whether it was an incident."""
        incidents = generator.random(SLICE) < self._incident_share
        shifts = np.array([kind.shift for kind in KINDS])
        levels = generator.normal(size=(SLICE, len(KINDS)))
        levels += np.outer(incidents - self._incident_share, shifts)
        noise = generator.normal(size=(SLICE, len(self._kind)))
        readings = self._gain * levels[:, self._kind] + np.sqrt(1 - self._gain**2) * noise
        return np.round(readings + self._offset, 2), incidents

    def _named(self) -> tuple[Sensor, ...]:
        installed_of_kind: Counter[str] = Counter()
        sensors = []
        for index, installed, died in zip(self._kind, self._installed, self._died, strict=True):
            kind = KINDS[index].name
            installed_of_kind[kind] += 1
            name = f"{kind}-{installed_of_kind[kind]:02d}"
            death = int(died) if died < self._events else None
            sensors.append(Sensor(name, kind, int(installed), death))
        return tuple(sensors)


def _kinds_of_wave(wave: int, world: np.random.Generator) -> NDArray[np.int64]:
    """What the sensors of a wave measure, as places in `KINDS`: the newest kinds above all."""
    newest = [place for place, kind in enumerate(KINDS) if kind.wave == wave]
    known = [place for place, kind in enumerate(KINDS) if kind.wave <= wave]
    others = world.choice(known, SENSORS_A_WAVE - NEWEST_A_WAVE)
    return np.sort(np.concatenate([np.resize(newest, NEWEST_A_WAVE), others]))
