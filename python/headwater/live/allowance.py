"""What people can give: how many questions per hour, day and person, and the rate that keeps to it.

The core has no clock. The allowance turns what is left of it, and the events to be expected until
it is renewed, into a rate for each event. A hard stop stands behind the rate:

    in every window, cards opened − cards returned in it ≤ allowance.

Days are calendar days of a time zone, of 23 to 25 hours. The time that counts is that of the facts,
which never runs backwards.
"""

import json
import re
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from datetime import time as clock_time
from typing import Annotated, Any, NamedTuple
from zoneinfo import ZoneInfo

import sqlalchemy as sa
from sqlalchemy import Connection

from headwater.errors import ParameterError
from headwater.live import database as db
from headwater.live.forecast import Forecast
from headwater.live.replay import Kind, first_fact
from headwater.parameters import COUNT, FINITE, check_fields, number

HOURS = re.compile(r"([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]|24):([0-5]\d)")
RESERVE = number("in [0, 1)", lambda v: 0 <= v < 1)
RESERVED = 0.3
"""The usual reserve: honest intervals are then at most 1.5 times as wide as if all labels had been
drawn at random, because Spring itself draws 0.15 of its questions at random, and 0.45 of the labels
give an interval that is 1/√0.45 = 1.49 times as wide as all of them do."""
MASK = 2**64 - 1


class Window(NamedTuple):
    """A span of time in which so many cards may be opened."""

    name: str
    begins: float
    ends: float
    allowed: int


@dataclass(frozen=True)
class Allowance:
    """How many questions people can answer: see `headwater.live.open`.

    Questions are asked at a rate that spreads them over the day or hour, and never more than are
    allowed. With overlap a question counts once per person asked.

    Parameters
    ----------
    per_hour
        The most cards in a clock hour.
    per_day
        The most cards in a calendar day.
    per_person_per_hour
        The most cards that one person gets in a clock hour.
    money_per_day
        What a day may cost; instead of `per_day`, or beside it.
    price
        What a card costs.
    burst
        The most cards in a minute.
    hours
        When people work, such as `"08:00-17:00"`: cards are handed out then. Events of the night
        are asked about too; they wait.
    tz
        The time zone of days and hours, such as `"Europe/Berlin"`.
    reserve
        The share of the questions that a coin of its own draws from all events, so that the error
        rate is known with a narrow interval.

    Examples
    --------
    >>> Allowance(per_day=200, hours="08:00-17:00", tz="Europe/Berlin").reserve
    0.3
    >>> Allowance(per_day=200)
    Traceback (most recent call last):
    ...
    headwater.errors.ParameterError: Allowance: per_day, money_per_day and hours need tz, such as \
"Europe/Berlin".
    """

    per_hour: Annotated[int, COUNT] | None = None
    per_day: Annotated[int, COUNT] | None = None
    per_person_per_hour: Annotated[int, COUNT] | None = None
    money_per_day: Annotated[float, FINITE] | None = None
    price: Annotated[float, FINITE] | None = None
    burst: Annotated[int, COUNT] | None = None
    hours: str | None = None
    tz: str | None = None
    reserve: Annotated[float, RESERVE] = RESERVED

    def __post_init__(self) -> None:
        check_fields(self)
        limits = (self.per_hour, self.per_day, self.per_person_per_hour, self.money_per_day)
        if all(limit is None for limit in limits) and self.hours is None:
            raise ParameterError(
                "Allowance: give per_day, per_hour, per_person_per_hour, money_per_day or hours."
            )
        if (self.money_per_day is None) != (self.price is None):
            raise ParameterError("Allowance: money_per_day and price go together; give both.")
        if self.tz is None and (self.per_day or self.money_per_day or self.hours):
            raise ParameterError(
                'Allowance: per_day, money_per_day and hours need tz, such as "Europe/Berlin".'
            )
        if self.hours is not None and not HOURS.fullmatch(str(self.hours)):
            raise ParameterError(
                f'Allowance: hours must be a span such as "08:00-17:00", got {self.hours!r}.'
            )
        if self.tz is not None:
            try:
                ZoneInfo(self.tz)
            except (KeyError, ValueError, TypeError, OSError):
                raise ParameterError(
                    f'Allowance: tz must be a time zone such as "Europe/Berlin", got {self.tz!r}.'
                ) from None

    @property
    def zone(self) -> tzinfo:
        """The time zone; UTC if none is given."""
        return UTC if self.tz is None else ZoneInfo(self.tz)

    @property
    def cards_per_day(self) -> int | None:
        """The most cards of a calendar day."""
        limits = [] if self.per_day is None else [self.per_day]
        if self.money_per_day is not None and self.price is not None:
            limits.append(int(self.money_per_day / self.price + 1e-9))
        return min(limits, default=None)

    @property
    def limits_questions(self) -> bool:
        """Whether it says how much may be asked, and not only who gets what when."""
        return bool(self.windows(0.0))

    def windows(self, now: float) -> list[Window]:
        """The windows that a moment is in, the longest first."""
        found = []
        if self.cards_per_day is not None:
            begins, ends = self.day(now)
            found.append(Window("day", begins, ends, self.cards_per_day))
        for name, seconds, allowed in (("hour", 3600, self.per_hour), ("minute", 60, self.burst)):
            if allowed is not None:
                begins = now // seconds * seconds
                found.append(Window(name, begins, begins + seconds, allowed))
        return found

    def day(self, now: float) -> tuple[float, float]:
        """The beginning and the end of a calendar day."""
        today = datetime.fromtimestamp(now, self.zone).date()
        return self._midnight(today), self._midnight(today + timedelta(days=1))

    def _midnight(self, day: date) -> float:
        return datetime.combine(day, clock_time(), self.zone).timestamp()

    def is_open(self, now: float) -> bool:
        """Whether people work."""
        if self.hours is None:
            return True
        a, b, c, d = map(int, self.hours.replace("-", ":").split(":"))
        begins, ends = 60 * a + b, 60 * c + d
        local = datetime.fromtimestamp(now, self.zone)
        minute = 60 * local.hour + local.minute
        if begins < ends:
            return begins <= minute < ends
        return minute >= begins or minute < ends

    def to_dict(self) -> dict[str, Any]:
        """What it says, by name."""
        return {key: value for key, value in asdict(self).items() if value is not None}


class AllowanceStatus(NamedTuple):
    """What is left of an allowance.

    Examples
    --------
    >>> AllowanceStatus(200, 30, 2, 172, "day", 1.8e9, 0.01).left
    172
    """

    allowed: int
    used: int
    """Cards opened in this window."""
    returned: int
    """Cards that came back in it because nobody answered in time."""
    left: int
    window: str
    """`day`, `hour` or `minute`."""
    ends: float
    """When it is renewed, in seconds since 1970."""
    rate: float
    """The share of events that is asked about now."""


class Spending:
    """The cards opened and returned in the windows of an allowance, and the rate that follows."""

    def __init__(self, allowance: Allowance, overlap: int = 1) -> None:
        self.allowance = allowance
        self.overlap = overlap
        self.forecast = Forecast()
        self._windows: list[Window] = []
        self._next = -1.0  # when the first of them ends
        self._counts: dict[str, list[int]] = {}  # opened, returned

    def _roll(self, now: float) -> list[Window]:
        """The windows of this moment; those that are over are renewed, once."""
        if now >= self._next:
            before = {one.name: one for one in self._windows}
            self._windows = self.allowance.windows(now)
            for window in self._windows:
                old = before.get(window.name)
                if old is None or old.begins < window.begins:
                    self._counts[window.name] = [0, 0]
            self._next = min((one.ends for one in self._windows), default=float("inf"))
        return self._windows

    def opened(self, now: float, cards: int) -> None:
        for window in self._roll(now):
            self._counts[window.name][0] += cards

    def returned(self, now: float, cards: int) -> None:
        for window in self._roll(now):
            self._counts[window.name][1] += cards

    def _left(self, window: Window) -> int:
        opened, returned = self._counts[window.name]
        return window.allowed - opened + returned

    def left(self, now: float) -> int | None:
        """How many cards may be opened now; None: as many as one likes."""
        return min((max(0, self._left(one)) for one in self._roll(now)), default=None)

    def rate(self, now: float) -> float | None:
        """The share of events to ask about; 0 if the allowance is used up, None without limit."""
        rates = []
        for window in self._roll(now):
            left = self._left(window)
            if left < self.overlap:
                return 0.0
            expected = self.forecast.until(now, window.ends)
            rates.append(min(1.0, left / self.overlap / max(1.0, expected)))
        return min(rates, default=None)

    def status(self, now: float) -> AllowanceStatus | None:
        windows = self._roll(now)
        if not windows:
            return None
        window = min(windows[:2], key=self._left) if len(windows) > 1 else windows[0]
        opened, returned = self._counts[window.name]
        left = self.left(now) or 0
        rate = self.rate(now) or 0.0
        return AllowanceStatus(
            window.allowed, opened, returned, left, window.name, window.ends, rate
        )

    def recover(self, connection: Connection, stream: int, now: float) -> None:
        """Count what the journal says of the windows that go on, and of the weeks before."""
        f = db.facts.c
        self._counts.clear()
        self._windows, self._next = [], -1.0
        windows = self._roll(now)
        begins = min((one.begins for one in windows), default=now)
        first = first_fact(connection, stream, begins)
        found = sa.select(f.kind, f.time, f.data).where(
            f.stream == stream,
            f.number >= first,
            sa.or_(sa.and_(f.kind == Kind.EVENT, f.asked), f.kind.in_((Kind.KNOWN, Kind.EXPIRED))),
        )
        for kind, when, data in connection.execute(found.order_by(f.number)):
            opened, returned = cards_of(Kind(kind), data, self.overlap)
            for window in windows:
                if when >= window.begins:
                    self._counts[window.name][0] += opened
                    self._counts[window.name][1] += returned
        self.forecast = Forecast.recover(connection, stream, now)


def cards_of(kind: Kind, data: str | None, overlap: int) -> tuple[int, int]:
    """How many cards a fact has opened, and how many it has returned."""
    if kind is Kind.KNOWN:
        return 1, 0
    if kind is Kind.EXPIRED:
        return 0, json.loads(data or "0")
    beside = json.loads(data) if data else {}
    return (0 if beside.get("copy") else beside.get("cards", overlap)), 0


def coin(stream: int, event: int) -> float:
    """A number in [0, 1) for an event that has nothing to do with what any rule draws.

    It is SplitMix64's for this state.
    """
    z = (event * 0x9E3779B97F4A7C15 + stream * 0xD1B54A32D192ED03 + 0x5851F42D4C957F2D) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return ((z ^ (z >> 31)) >> 11) / 2**53
