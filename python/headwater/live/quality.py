"""Honest quality: the share of wrong predictions over all events, from the labels asked for.

Events that came with their label are known for certain. Labels that came later without a question
are left out: who sends them may have chosen which. Nothing is inferred about events that were
hardly ever asked about: those whose probability is below a twentieth of their rate, or below half
of the reserve's if that is less.

A question that nobody has answered yet says nothing: if a share r of the questions of a window is
answered, the label of an event is known with the probability p·r, and so the interval is wide while
many are open.

In a stream whose labels all come by and by (`labels="all"`) they count. If a share q of the events
that were not asked about has its label by now, that of an event is known with the probability
k = p·r + q(1 − p·r), and k takes the place of p: the interval is a point once all have come.
"""

import json
from typing import Literal, NamedTuple

import sqlalchemy as sa
from sqlalchemy import Connection

from headwater.evaluation.error_estimate import FLOOR, ErrorEstimate, Interval
from headwater.live import database as db
from headwater.live.replay import History, Kind, first_fact, read_chances
from headwater.live.reported import SHARE
from headwater.types import Label

QualityWindow = Literal["day", "week", "reset"]
SECONDS = {"day": 86_400.0, "week": 7 * 86_400.0}
TRAILING = 6
"""Points of a curve whose events each point takes together."""


class Quality(NamedTuple):
    """How often predictions are wrong, over all events of a window.

    Examples
    --------
    >>> quality = Quality(0.08, Interval(0.06, 0.11), 10_000, 200, 0.0)
    >>> quality.is_above(0.05), quality.is_above(0.1)
    (True, False)
    """

    error: float | None
    """The estimated share of wrong predictions; None if no label is known."""
    interval: Interval
    """It contains the true share with 95 % confidence; 0 to 1 if nothing is known."""
    events: int
    labels: int
    """The labels that it is estimated from."""
    since: float
    """The beginning of the window, in seconds since 1970."""

    def is_above(self, line: float) -> bool:
        """Whether the error is above a line for all that is known: the interval is above it."""
        return self.interval.low > line


def quality(
    connection: Connection,
    stream: int,
    window: QualityWindow | None,
    now: float,
) -> Quality:
    """The quality of a window that ends now."""
    history = History.read(connection, stream)
    first = _first(connection, stream, window, now)
    estimate = _Reading(connection, stream, history, first).estimate(first, None)
    return _told(estimate, _time(connection, stream, first))


def quality_curve(connection: Connection, stream: int, points: int) -> list[Quality]:
    """The quality over time: points at equal distances, each of a tenth of the time before it."""
    f = db.facts.c
    history = History.read(connection, stream)
    ends = sa.select(sa.func.min(f.time), sa.func.max(f.time)).where(f.stream == stream)
    begin, end = connection.execute(ends).one()
    if begin is None or end <= begin:
        return []
    times = [begin + (end - begin) * step / points for step in range(points)]
    firsts = [first_fact(connection, stream, time) for time in times]
    lasts = [*firsts[1:], None]
    reading = _Reading(connection, stream, history, firsts[0])
    parts = [reading.estimate(*edges) for edges in zip(firsts, lasts, strict=True)]
    curve = []
    for point in range(points):
        since = max(0, point + 1 - TRAILING)
        taken = ErrorEstimate(floor=0.0)
        for part in parts[since : point + 1]:
            taken.add(part)
        curve.append(_told(taken, times[since]))
    return curve


def whole_estimate(connection: Connection, stream: int, history: History) -> ErrorEstimate:
    """The estimate over all events."""
    return _Reading(connection, stream, history, 1).estimate(1, None)


def _told(estimate: ErrorEstimate, since: float) -> Quality:
    known = estimate.answers > 0 and estimate.value == estimate.value
    error = float(estimate.value) if known else None
    return Quality(error, estimate.interval, estimate.events, estimate.answers, since)


def _first(connection: Connection, stream: int, window: QualityWindow | None, now: float) -> int:
    """The first fact of a window."""
    if window is None:
        return 1
    if window == "reset":
        f = db.facts.c
        resets = db.by_index(sa.select(sa.func.max(f.number)), "kind").where(
            f.stream == stream,
            sa.or_(f.kind == Kind.LEARNER, (f.kind == Kind.SETTINGS) & (f.data == RESET)),
        )
        return 1 + (connection.scalar(resets) or 0)
    return first_fact(connection, stream, now - SECONDS[window])


RESET = json.dumps({"quality": "reset"})
"""The data of the fact from which on `"reset"` counts."""


def _time(connection: Connection, stream: int, first: int) -> float:
    f = db.facts.c
    found = sa.select(f.time).where(f.stream == stream, f.number == first)
    return float(connection.scalar(found) or 0.0)


class _Reading:
    """The events of a stream from a fact on, and the labels that are known of them."""

    def __init__(self, connection: Connection, stream: int, history: History, first: int) -> None:
        self.connection = connection
        self.stream = stream
        self.history = history
        f, s = db.facts.c, db.streams.c
        found = sa.select(s.settings).where(s.stream == stream)
        settings = json.loads(connection.scalars(found).one())
        reserve = (settings.get("allowance") or {}).get("reserve")
        self.all_come = settings.get("labels") == "all"
        self.here = (f.stream == stream) & (f.kind == Kind.EVENT)
        share = SHARE if not reserve else min(SHARE, reserve / 2)
        counts = sa.select(sa.func.count(), sa.func.count().filter(f.asked)).select_from(db.facts)
        events, asked = connection.execute(counts.where(self.here, f.number >= first)).one()
        floor = min(FLOOR, SHARE * asked / max(1, events))
        lowest = sa.case((f.rate.is_(None), sa.literal(floor)), else_=share * f.rate)
        self.is_reached = (f.probability > 0) & (f.probability >= lowest)
        self.labels: dict[int, Label | None] = {}
        applied = db.by_index(sa.select(f.number, f.target, f.answer, f.label), "kind").where(
            f.stream == stream, f.kind == Kind.APPLIED, f.target >= first
        )
        for number, target, answer, label in connection.execute(applied):
            if answer not in history.retracted:
                self.labels[target] = history.label(number, answer, label)

    def estimate(self, first: int, end: int | None) -> ErrorEstimate:
        """The estimate over the events from one fact to before another."""
        f, connection = db.facts.c, self.connection
        some = self.here & (f.number >= first)
        if end is not None:
            some &= f.number < end
        estimate = ErrorEstimate(floor=0.0)
        factor = self._known_share(some)
        p, is_reached = self._known_with(some, factor)
        reached = sa.and_(is_reached, f.label.is_(None))
        sums = sa.select(
            sa.func.count().filter(f.label.is_(None)),
            sa.func.count().filter(reached),
            sa.func.sum(sa.case((reached, 1 / p), else_=0.0)),
            sa.func.min(p).filter(f.label.is_(None)),
        ).select_from(db.facts)
        events, count, inverse, lowest = connection.execute(sums.where(some)).one()
        told = read_chances(connection, self.stream, first, end)
        if (
            told is not None
        ):  # deciders told of all their events, and sent on those they asked about
            events, count = told.events, told.reached
            inverse, lowest = told.inverse / factor, told.lowest * factor
        estimate.count(events, count, float(inverse or 0.0), 1.0 if lowest is None else lowest)
        columns = (f.number, f.asked, p, f.prediction, f.label, is_reached)
        known = sa.select(*columns).where(some)
        if not self.all_come:
            known = known.where(sa.or_(f.asked, f.label.is_not(None)))
        for number, asked, chance, prediction, label, may_count in connection.execute(known):
            if number in self.history.removed:
                continue
            guess = None
            if prediction is not None:
                guess = self.history.named(number, json.loads(prediction))
            if label is not None:
                if number not in self.history.retracted:
                    estimate.update(1.0, True, guess != self.history.label(number, number, label))
            elif (asked or self.all_come) and may_count and number in self.labels:
                estimate.answer(chance, guess != self.labels[number])
        self._without_removed(estimate, some, p, is_reached)
        return estimate

    def _known_share(self, some: sa.ColumnElement[bool]) -> float:
        """The share of the questions that is answered."""
        answered, asked = self._known_of(some, db.facts.c.asked.is_(True))
        return (answered + 1) / (asked + 1) if answered < asked else 1.0

    def _known_with(
        self, some: sa.ColumnElement[bool], factor: float
    ) -> tuple[sa.ColumnElement[float], sa.ColumnElement[bool]]:
        """The probability with which the label of an event is known, and whether that is enough."""
        f = db.facts.c
        p: sa.ColumnElement[float] = f.probability
        if factor < 1:
            p = p * factor
        if not self.all_come:
            return p, self.is_reached
        known, unasked = self._known_of(some, f.asked.is_(False))
        p = p + known / max(1, unasked) * (1 - p)
        return p, p > 0

    def _known_of(
        self, some: sa.ColumnElement[bool], which: sa.ColumnElement[bool]
    ) -> tuple[int, int]:
        """Of how many events that came without a label it is known by now, and of how many."""
        f = db.facts.c
        found = self.connection.scalars(sa.select(f.number).where(some, which, f.label.is_(None)))
        numbers = set(found) - self.history.removed
        return sum(number in self.labels for number in numbers), len(numbers)

    def _without_removed(
        self,
        estimate: ErrorEstimate,
        some: sa.ColumnElement[bool],
        p: sa.ColumnElement[float],
        is_reached: sa.ColumnElement[bool],
    ) -> None:
        """Events that should not have come do not count."""
        f = db.facts.c
        removed = sorted(self.history.removed)
        for start in range(0, len(removed), 500):
            found = sa.select(p, is_reached).where(
                some, f.label.is_(None), f.number.in_(removed[start : start + 500])
            )
            for chance, counted in self.connection.execute(found):
                estimate.count(-1, -int(counted), -1 / chance if counted else 0.0)
