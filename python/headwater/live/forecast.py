"""How many events are to be expected: as many as in the same hour a week ago.

In the first week it is the mean of yesterday's hour and of all so far, on the first day the mean so
far. What the last day brought, beside what was expected of it, corrects the rest.
"""

from collections import deque
from itertools import pairwise

import sqlalchemy as sa
from sqlalchemy import Connection

from headwater.live import database as db
from headwater.live.replay import first_fact

HOUR = 3600.0
WEEK = 168
KEPT = 2 * WEEK
"""Hours that are remembered."""
START = 600.0
"""Seconds that count as seen before the first event, so that a first burst is not taken for all."""
MOST = 3.0
"""The largest correction of what is expected, up or down."""


class Forecast:
    """The number of events of each hour of the last weeks, and what follows for the next."""

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}  # clock hour since 1970
        self._first = 0.0
        self._all = 0
        self._hour = -1
        self._level = 1.0
        self._expected: deque[tuple[float, int]] = deque(maxlen=24)  # of past hours, and events
        self._ahead: dict[tuple[int, float], tuple[float, float]] = {}

    def note(self, now: float) -> None:
        """An event has come."""
        if not self._all:
            self._first = now
        self._all += 1
        hour = int(now // HOUR)
        self._counts[hour] = self._counts.get(hour, 0) + 1
        if hour != self._hour:
            self._turn(hour)

    def _turn(self, hour: int) -> None:
        """An hour is over, or several."""
        last, self._hour = self._hour, hour
        for past in range(max(last, hour - 24), hour) if last >= 0 else ():
            known = self._week_ago(past)
            if known is not None:
                self._expected.append((known, self._counts.get(past, 0)))
        self._ahead.clear()
        self._counts = {h: n for h, n in self._counts.items() if h > hour - KEPT}
        hoped = sum(one for one, _ in self._expected)
        came = sum(n for _, n in self._expected)
        self._level = min(MOST, max(1 / MOST, (came + 1) / (hoped + 1)))

    def _week_ago(self, hour: int) -> float | None:
        return self._past(hour - WEEK)

    def _past(self, hour: int) -> float | None:
        """The events of an hour that is over, and of which all is known."""
        if int(self._first // HOUR) < hour < self._hour:
            return float(self._counts.get(hour, 0))
        return None

    def _known(self, hour: int) -> tuple[float, float]:
        """Events to be expected in an hour, and how many hours of the mean so far beside them."""
        known = self._week_ago(hour)
        if known is not None:
            return self._level * known, 0.0
        yesterday = self._past(hour - 24)  # it may have been a Sunday
        return (0.0, 1.0) if yesterday is None else (yesterday / 2, 0.5)

    def until(self, now: float, end: float) -> float:
        """The number of events to be expected from now until then."""
        hour = int(now // HOUR)
        if (hour, end) not in self._ahead:
            self._ahead[hour, end] = self._after(hour, end)
        later, unknown = self._ahead[hour, end]
        left = max(0.0, min(end, (hour + 1) * HOUR) - now) / HOUR
        known, beside = self._known(hour)
        usual = HOUR * (self._all + 1) / (now - self._first + START)
        return left * known + later + (left * beside + unknown) * usual

    def _after(self, hour: int, end: float) -> tuple[float, float]:
        """Of the hours after this one until then: events known of, and hours of the mean."""
        events = hours = 0.0
        for one in range(hour + 1, int((end - 1e-6) // HOUR) + 1):
            span = (min(end, (one + 1) * HOUR) - one * HOUR) / HOUR
            known, unknown = self._known(one)
            events += span * known
            hours += span * unknown
        return events, hours

    @classmethod
    def recover(cls, connection: Connection, stream: int, now: float) -> "Forecast":
        """Count the facts of the last weeks, by their times; most of them are events."""
        self = cls()
        hour = int(now // HOUR)
        f = db.facts.c
        first = sa.select(f.time).where(f.stream == stream, f.number == 1)
        begins = connection.scalar(first)
        oldest = hour if begins is None else max(hour - KEPT, int(begins // HOUR))
        edges = [first_fact(connection, stream, h * HOUR) for h in range(oldest, hour + 2)]
        counts = [after - before for before, after in pairwise(edges)]
        for at, count in enumerate(counts, start=oldest):
            if count:
                if not self._all:
                    self._first = at * HOUR
                self._counts[at] = count
                self._all += count
        self._hour = hour
        return self
