"""What a database says, for whoever only reads: its streams, their models, how good they are."""

import json
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple, Self

import sqlalchemy as sa
from sqlalchemy import Connection

from headwater._core import EventNames
from headwater.errors import JournalError, ModelFileError, NoSuchError
from headwater.evaluation.error_estimate import Interval
from headwater.learners.base import Learner, from_bytes
from headwater.live import database as db
from headwater.live.allowance import AllowanceStatus, Spending
from headwater.live.database import Database
from headwater.live.open_questions import PAGE, OpenEvent, read_open
from headwater.live.quality import Quality, QualityWindow, quality, whole_estimate
from headwater.live.replay import (
    History,
    Kind,
    Replayer,
    learner_of,
    read_chances,
    read_names,
)
from headwater.live.settings import Settings, read_settings
from headwater.live.snapshots import SnapshotStore
from headwater.live.weights import WeightsAt, read_weights


class StreamStatus(NamedTuple):
    """What is known of a stream.

    Examples
    --------
    >>> import headwater as hw, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> with hw.live.open(f"{folder.name}/plant.db", learner=hw.OLSF()) as plant:
    ...     receipts = [plant.receive({"rain": 1.0}, id=day) for day in ("mon", "tue")]
    ...     answered = plant.answer(receipts[0].question, True)
    ...     plant.status().events, plant.status().questions
    (2, {'applied': 1, 'open': 1})
    >>> folder.cleanup()
    """

    stream: str
    learner: str
    events: int
    facts: int
    asked: int
    questions: dict[str, int]
    """How many questions are in each state."""
    labels: int
    """Labels that the model has learned."""
    error: float | None
    """The estimated share of wrong predictions over all events."""
    interval: Interval | None
    last: list[tuple[int, str, float]]
    """Number, kind and time of the last facts."""
    snapshots: list[tuple[int, int, float]]
    """Fact, bytes and seconds of each snapshot, newest first."""


class Reader:
    """A stream that is open for reading, beside the process that writes: see `read`.

    Examples
    --------
    >>> import headwater as hw, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> hw.live.open(f"{folder.name}/plant.db", learner=hw.PAA()).close()
    >>> with hw.live.read(f"{folder.name}/plant.db") as reader:
    ...     reader.learner(), list(reader.facts())
    (PAA(), [])
    >>> folder.cleanup()
    """

    def __init__(self, url: str | os.PathLike[str], stream: str) -> None:
        self.database = Database(url)
        self.database.check()
        with self.database.reading() as connection:
            self.number = stream_number(connection, self.database, stream)

    def status(self, last: int = 5) -> StreamStatus:
        """Counts, quality with its interval, and the last facts."""
        with self.database.reading() as connection:
            return status(self.database, connection, self.number, last)

    def quality(self, window: QualityWindow | None = None) -> Quality:
        """How often predictions are wrong, as `Loop.quality`; a window ends at the last fact."""
        f = db.facts.c
        with self.database.reading() as connection:
            last = sa.select(sa.func.max(f.time)).where(f.stream == self.number)
            now = connection.scalar(last) or 0.0
            return quality(connection, self.number, window, now)

    def settings(self) -> Settings:
        """How the stream is kept."""
        with self.database.reading() as connection:
            return read_settings(connection, self.number)

    def allowance(self) -> AllowanceStatus | None:
        """What is left of the allowance, as `Loop.allowance`."""
        f = db.facts.c
        with self.database.reading() as connection:
            settings = read_settings(connection, self.number)
            if settings.allowance is None:
                return None
            last = sa.select(sa.func.max(f.time)).where(f.stream == self.number)
            now = connection.scalar(last) or 0.0
            if settings.clock == "system":
                now = max(now, time.time())
            spending = Spending(settings.allowance, settings.desk.overlap)
            spending.recover(connection, self.number, now)
            return spending.status(now)

    def open_questions(self, most: int) -> list[OpenEvent]:
        """The open questions, in the order in which the desk hands them out."""
        with self.database.reading() as connection:
            return read_open(connection, self.number, most)

    def learner(self, fact: int | None = None) -> Learner:
        """The model after all facts, or after the first `fact` facts."""
        with self.database.reading() as connection:
            history = History.read(connection, self.number)
            replayer = begin_replay(self.database, connection, self.number, history, fact)
            replayer.catch_up(connection, fact)
        return replayer.learner

    def weights(self) -> list[WeightsAt]:
        """The heaviest weights at the moments of snapshots, the oldest first."""
        with self.database.reading() as connection:
            return read_weights(connection, self.number)

    def facts(self) -> Iterator[dict[str, Any]]:
        """Every fact in order, as a dict of what it holds; an event with its features."""
        with self.database.reading() as connection:
            names = read_names(connection, self.number)
            for row in fact_rows(connection, self.number):
                yield plain_fact(row, names)

    def close(self) -> None:
        """Close the database."""
        self.database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def read(url: str | os.PathLike[str], stream: str = "main") -> Reader:
    """Open a stream of a live database for reading, also while another process writes to it.

    Parameters
    ----------
    url
        A path (SQLite), or `postgresql://...`.
    stream
        The name of the stream.

    Examples
    --------
    >>> import headwater as hw, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> with hw.live.open(f"{folder.name}/plant.db", learner=hw.PAA()) as plant:
    ...     receipt = plant.receive({"rain": 2.0}, id="monday", label=True)
    ...     with hw.live.read(f"{folder.name}/plant.db") as reader:
    ...         print(reader.status().events, reader.learner().weights())
    1 {'rain': 0.5}
    >>> folder.cleanup()
    """
    return Reader(url, stream)


def stream_number(connection: Connection, database: Database, name: str) -> int:
    """The number of a stream."""
    found = sa.select(db.streams.c.stream).where(db.streams.c.name == name)
    number = connection.scalar(found)
    if number is None:
        known = connection.scalars(sa.select(db.streams.c.name)).all()
        raise NoSuchError(
            f"{database.name}: there is no stream {name!r}; it has {', '.join(known) or 'none'}."
        )
    return int(number)


def begin_replay(
    database: Database, connection: Connection, stream: int, history: History, to: int | None = None
) -> Replayer:
    """The newest model on disk that the history allows, on its way to fact `to`."""
    store = SnapshotStore(database)
    for snapshot in store.listed(connection, stream):
        if to is not None and snapshot.fact > to:
            continue
        if not history.is_contained(snapshot.fact, snapshot.through):
            continue
        data = store.read(connection, snapshot)
        if data is None:
            continue
        with suppress(ModelFileError):  # of a format that this program cannot read
            return Replayer(stream, from_bytes(data), snapshot.fact, history)
    settings = connection.scalar(
        sa.select(db.streams.c.settings).where(db.streams.c.stream == stream)
    )
    if json.loads(settings or "{}").get("trained") and not _changed_learner(history):
        raise JournalError(
            f"{database.name}: the model with which the stream began is damaged or missing, and so"
            " is every later snapshot; restore a backup."
        )
    return Replayer(stream, learner_of(history.learner), 0, history)


def _changed_learner(history: History) -> bool:
    return any(change.kind is Kind.LEARNER for change in history.changes)


def status(database: Database, connection: Connection, stream: int, last: int = 5) -> StreamStatus:
    """Counts, quality and the last facts of a stream."""
    f, q = db.facts.c, db.questions.c
    here = f.stream == stream
    is_event = f.kind == Kind.EVENT
    conditions = (
        *(is_event, is_event & f.asked),
        *(is_event & f.label.is_not(None), f.kind == Kind.APPLIED),
    )
    count = sa.func.count()
    counts: Any = sa.select(count, *(count.filter(one) for one in conditions))
    facts, events, asked, told, applied = connection.execute(counts.where(here)).one()
    chances = read_chances(connection, stream)
    history = History.read(connection, stream)
    learner = learner_of(history.learner)
    states = sa.select(q.state, sa.func.count()).where(q.stream == stream).group_by(q.state)
    newest = sa.select(f.number, f.kind, f.time).where(here).order_by(f.number.desc()).limit(last)
    estimate = None if learner.task == "regression" else whole_estimate(connection, stream, history)
    known = estimate is not None and estimate.answers > 0
    return StreamStatus(
        stream=connection.scalars(
            sa.select(db.streams.c.name).where(db.streams.c.stream == stream)
        ).one(),
        learner=repr(learner),
        events=events if chances is None else chances.events,
        facts=facts,
        asked=asked,
        questions={state: number for state, number in connection.execute(states)},
        labels=told + applied - _taken_back(connection, stream, history),
        error=estimate.value if known and estimate is not None else None,
        interval=estimate.interval if known and estimate is not None else None,
        last=[
            (number, Kind(kind).name.lower(), when)
            for number, kind, when in connection.execute(newest)
        ],
        snapshots=[
            (one.fact, one.size, one.seconds)
            for one in SnapshotStore(database).listed(connection, stream)
        ],
    )


def _taken_back(connection: Connection, stream: int, history: History) -> int:
    """Labels that were learned, and are not in the model any more."""
    f = db.facts.c
    here = f.stream == stream
    gone = sorted(history.removed | history.retracted)
    if not gone:
        return 0
    applied = db.by_index(sa.select(f.target, f.answer), "kind")
    rows = connection.execute(applied.where(here, f.kind == Kind.APPLIED))
    count = sum(target in history.removed or answer in history.retracted for target, answer in rows)
    told = sa.select(sa.func.count()).where(here, f.kind == Kind.EVENT, f.label.is_not(None))
    for start in range(0, len(gone), PAGE):
        count += connection.scalar(told.where(f.number.in_(gone[start : start + PAGE]))) or 0
    return count


def news(
    connection: Connection, stream: int, after: int, limit: int
) -> tuple[list[dict[str, Any]], int]:
    """Facts after one of them, without events that nobody was asked about; see `Loop.news`."""
    f = db.facts.c
    here = (f.stream == stream) & (f.number > after)
    head = connection.scalar(sa.select(sa.func.max(f.number)).where(here)) or after
    worth = (f.kind != Kind.EVENT) | f.asked
    found = sa.select(db.facts).where(here, worth).order_by(f.number).limit(limit)
    facts = [plain_fact(row, EventNames()) for row in connection.execute(found)]
    return facts, facts[-1]["number"] if len(facts) == limit else head


def plain_fact(row: Any, names: EventNames) -> dict[str, Any]:
    """A fact as a dict of what it holds."""
    fact = {name: value for name, value in row._mapping.items() if value is not None}
    fact["kind"] = Kind(row.kind).name.lower()
    for name in ("label", "prediction"):
        if name in fact:
            fact[name] = json.loads(fact[name])
    if "key" in fact and row.kind == Kind.EVENT:
        fact["id"] = json.loads(fact.pop("key"))
    if row.kind == Kind.REPORT:
        fact.pop("body", None)
    if "body" in fact:
        fact["event"] = names.decode(bytes(fact.pop("body")))
    del fact["stream"]
    return fact


def fact_rows(connection: Connection, stream: int) -> Iterator[Any]:
    f, b = db.facts.c, db.bodies.c
    joined = db.facts.outerjoin(db.bodies, (f.stream == b.stream) & (f.number == b.number))
    found = sa.select(db.facts, b.body).select_from(joined).where(f.stream == stream)
    yield from connection.execution_options(yield_per=5_000).execute(found.order_by(f.number))
