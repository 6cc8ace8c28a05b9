"""What is known of the features of a stream: their recent values, how usual they are, their state.

It is read from the last events that the journal keeps, at most every other second. A learner with
`track=True` keeps a register; then states and values are the register's.
"""

import math
import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import sqlalchemy as sa

from headwater.live import Loop
from headwater.live import database as db
from headwater.live.reading import Reader
from headwater.live.replay import Kind, read_names
from headwater.register import FeatureFinding
from headwater.service.pages.wording import number

EVENTS = 240
"""How many of the last events are looked at."""
KEPT = 64
"""How many values of a feature are drawn."""
YOUNG = 8
"""Values up to which a feature that began lately is new."""
USUAL = 0.9
"""A feature that is in this share of recent events is missed when it is absent."""
RENEWED = 2.0
"""Seconds for which what was read is good enough."""


class Known(NamedTuple):
    """What is known of a feature."""

    state: str
    recent: Sequence[float]
    mean: float
    spread: float
    share: float
    """In how many of the recent events it is."""
    seen: float
    """When it was last there, in seconds since 1970."""

    @property
    def usual(self) -> str:
        """Mean and spread, as a page writes them."""
        if math.isnan(self.mean):
            return ""
        spread = "" if math.isnan(self.spread) else f" ± {number(float(f'{self.spread:.2g}'))}"
        return f"{number(self.mean)}{spread}"

    def spreads(self, value: Any) -> float:
        """How many spreads a value is from the mean; 0 if that cannot be said."""
        if not isinstance(value, (int, float)) or not self.spread > 0 or not math.isfinite(value):
            return 0.0
        return abs(value - self.mean) / self.spread


class KnownFeatures:
    """The features of a stream's recent events, by name."""

    def __init__(self, known: dict[Any, Known], times: Sequence[float] = ()) -> None:
        self.all = known
        self.last = times[-1] if times else 0.0
        self._times = times
        self._usual = [name for name, one in known.items() if one.share >= USUAL]

    def get(self, name: Any) -> Known | None:
        """What is known of a feature; None if no recent event has it."""
        return self.all.get(name)

    def now(self) -> float:
        """The time that counts: the clock's, or the last event's if that is ahead."""
        return max(time.time(), self.last)

    def rate(self, now: float) -> tuple[str, str]:
        """How many events came, and in which time: from the last ones."""
        times = self._times
        if len(times) < 2 or not times[-1] > times[0]:
            return "0", "second"
        gap = (times[-1] - times[0]) / (len(times) - 1)
        per_second = 0.0 if now - times[-1] > 60 + 20 * gap else 1 / gap
        for seconds, unit in ((1, "second"), (60, "minute"), (3_600, "hour")):
            if per_second * seconds >= 1 or unit == "hour":
                break
        return f"{per_second * seconds:.2g}", unit

    def usual(self) -> list[Any]:
        """The features that nearly every event has."""
        return self._usual


class Recent:
    """The recent events of the streams of a database."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._readers: dict[str, Reader] = {}
        self._read: dict[str, tuple[float, KnownFeatures]] = {}
        self._reading = threading.Lock()

    def features(self, loop: Loop) -> KnownFeatures:
        """What is known of the features of a stream."""
        stream, now = loop.stream, time.monotonic()
        at, known = self._read.get(stream, (-math.inf, KnownFeatures({})))
        if now - at < RENEWED or not self._reading.acquire(blocking=at == -math.inf):
            return known
        try:
            known = known_features(self._events(stream))
            if is_tracked(loop):
                known.all.update(registered(loop))
            self._read[stream] = (now, known)
        finally:
            self._reading.release()
        return known

    def _events(self, stream: str) -> list[tuple[float, dict[Any, Any]]]:
        reader = self._readers.get(stream)
        if reader is None:
            reader = self._readers[stream] = Reader(self._url, stream)
        f, b = db.facts.c, db.bodies.c
        joined = db.facts.join(db.bodies, (f.stream == b.stream) & (f.number == b.number))
        found = (
            sa.select(f.time, b.body)
            .select_from(joined)
            .where(f.stream == reader.number, f.kind == Kind.EVENT)
            .order_by(f.number.desc())
            .limit(EVENTS)
        )
        with reader.database.reading() as connection:
            names = read_names(connection, reader.number)
            rows = connection.execute(found).all()
        return [(when, names.decode(bytes(body))) for when, body in reversed(rows)]

    def close(self) -> None:
        """Close the connections."""
        for reader in self._readers.values():
            reader.close()
        self._readers.clear()


def is_tracked(loop: Loop) -> bool:
    """Whether the learner keeps a register of its features."""
    return loop.learner.track


def registered(loop: Loop) -> dict[Any, Known]:
    """What the register knows of each feature: it looks further back than the last events."""
    return {
        one.name: Known(
            one.state, one.values, one.mean, one.spread, one.share, one.last_time or 0.0
        )
        for one in loop.register.features()
    }


def findings_of(loop: Loop, most: int) -> list[FeatureFinding]:
    """What happened to features, newest first; nothing if there is no register."""
    found = loop.findings(most) if is_tracked(loop) else []
    return sorted(found, key=lambda one: -one.number)


def known_features(events: Sequence[tuple[float, dict[Any, Any]]]) -> KnownFeatures:
    """What the last events say of each of their features.

    Examples
    --------
    >>> known = known_features([(0.0, {"rain": 1.0}), (60.0, {"rain": 3.0, "wind": 0.0})])
    >>> known.get("rain").mean, known.get("wind").share, known.usual()
    (2.0, 0.5, ['rain'])
    """
    places: dict[Any, list[int]] = defaultdict(list)
    values: dict[Any, list[float]] = defaultdict(list)
    for place, (_, event) in enumerate(events):
        for name, value in event.items():
            places[name].append(place)
            if isinstance(value, (int, float)) and math.isfinite(value):
                values[name].append(float(value))
    return KnownFeatures(
        {
            name: _known(here, values[name], len(events), events[here[-1]][0])
            for name, here in places.items()
        },
        [when for when, _ in events],
    )


def _known(places: list[int], values: list[float], events: int, seen: float) -> Known:
    gaps = [b - a for a, b in pairwise(places)]
    longest = max([*gaps, 1])
    silent = len(places) > YOUNG and events - places[-1] > 4 * longest + YOUNG
    began = places[0] > YOUNG + 2 * longest
    state = "silent" if silent else "new" if began and len(places) <= YOUNG else "live"
    n = len(values)
    mean = math.fsum(values) / n if n else math.nan
    spread = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / n) if n > 1 else math.nan
    return Known(state, values[-KEPT:], mean, spread, len(places) / events, seen)
