"""The loop that runs for months: one learner, its journal, and everybody who uses them."""

import json
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, Self, TypeVar

import sqlalchemy as sa
from sqlalchemy import Connection

from headwater._core import ARITHMETIC
from headwater.errors import (
    EventError,
    HeldError,
    JournalError,
    NoSuchError,
    ParameterError,
)
from headwater.learners.base import Learner, check_learner
from headwater.live import database as db
from headwater.live import reading
from headwater.live.allowance import Allowance, AllowanceStatus
from headwater.live.cards import DeskSettings
from headwater.live.checks import (
    checked_event,
    checked_group,
    checked_id,
    checked_label,
    checked_question,
    fact_of,
)
from headwater.live.database import Database, Synchronous
from headwater.live.deletion import delete_marked, mark_deleted
from headwater.live.desk import Desk
from headwater.live.event_record import EventRecord, find_event, question_of
from headwater.live.live_stream import LiveStream
from headwater.live.quality import Quality, QualityWindow, quality, quality_curve
from headwater.live.reading import StreamStatus
from headwater.live.replay import Kind, header_of, learner_of, takes_rate
from headwater.live.results import Answered, Receipt
from headwater.live.settings import ClockKind, Labels, Settings
from headwater.live.weights import WeightsAt, read_weights
from headwater.live.writer import Job, Refused, Writer
from headwater.register import FeatureFinding, Register
from headwater.types import Event, Id, Label

PAUSE = 0.2
T = TypeVar("T")

_writers: dict[str, Writer] = {}
_opening = threading.Lock()


def open(
    url: str | os.PathLike[str],
    *,
    learner: Learner | None = None,
    stream: str = "main",
    apply_after: float | None = None,
    snapshot_facts: int | None = None,
    snapshot_seconds: float | None = None,
    keep_events: float | None = None,
    answer_within: float | None = None,
    desk: DeskSettings | None = None,
    allowance: Allowance | None = None,
    clock: ClockKind | None = None,
    labels: Labels | None = None,
    synchronous: Synchronous = "full",
) -> "Loop":
    """Open a stream of a live database: it is created, or continues where it stopped.

    Everything that moves the model is a fact in the database, and a reply comes after the commit
    that holds its fact. Whatever happens to the process, the next opening finds the same model, bit
    for bit. One process writes to a database; it may open several streams of it.

    Parameters
    ----------
    url
        A path (SQLite), or `postgresql://...`.
    learner
        The learner of a new stream; it may have been trained. Of a stream that is there it may be
        left out, and must be the same if it is given.
    stream
        The name of the stream.
    apply_after
        Seconds for which an answer that names a person waits for an undo before it is learned; the
        person's next answer ends the wait.
    snapshot_facts, snapshot_seconds
        A snapshot is made after so many facts or so many seconds, whichever comes first.
    keep_events
        Seconds for which the content of events is kept. Corrections reach back that far.
    answer_within
        Seconds within which a label may come for an event that was not asked about. 0: none may.
    desk
        How questions are handed out: leases, deadlines, how many people per question.
    allowance
        How many questions people can answer; then each event's label rate follows from what is
        left, for learners whose query rule takes a rate.
    clock
        `"events"`: the time is that of the last event, which `receive` is given, as for a file of
        the past; an event without a time came now. `"system"` (the default of a new stream): it is
        the computer's.
    labels
        `"all"`: the labels of all events come by and by, asked for or not, so a label that comes
        later and unasked counts in quality, calibration, class odds and trust. `"asked"` (the
        default of a new stream): it is learned, but not counted there, because who sends it may
        have chosen which.
    synchronous
        SQLite only. `"full"` survives a power cut. `"normal"` survives the death of the process; a
        power cut may lose the last commits.

    Examples
    --------
    >>> import headwater as hw, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = f"{folder.name}/plant.db"
    >>> with hw.live.open(path, learner=hw.PAA()) as plant:
    ...     receipt = plant.receive({"ozone-01": 2.0}, id="10:00:03/line-4")
    ...     answered = plant.answer(receipt.question, True)
    >>> with hw.live.open(path) as plant:  # another day, perhaps after a crash
    ...     plant.learner.weights(), plant.receive({"ozone-01": 2.0}, id="10:00:03/line-4").repeated
    ({'ozone-01': 0.5}, True)
    >>> folder.cleanup()
    """
    given = {
        "apply_after": apply_after,
        "snapshot_facts": snapshot_facts,
        "snapshot_seconds": snapshot_seconds,
        "keep_events": keep_events,
        "answer_within": answer_within,
    }
    chosen: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    for name, value in chosen.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or value < 0:
            raise ParameterError(f"live.open: {name} must be a number, 0 or above, got {value!r}.")
    if desk is not None:
        if not isinstance(desk, DeskSettings):
            raise ParameterError(f"live.open: desk must be DeskSettings, got {desk!r}.")
        chosen["desk"] = desk
    if allowance is not None and not isinstance(allowance, Allowance):
        raise ParameterError(f"live.open: allowance must be an Allowance, got {allowance!r}.")
    if clock not in (None, "system", "events"):
        raise ParameterError(f'live.open: clock must be "system" or "events", got {clock!r}.')
    if clock is not None:
        chosen["clock"] = clock
    if labels not in (None, "asked", "all"):
        raise ParameterError(f'live.open: labels must be "asked" or "all", got {labels!r}.')
    if labels is not None:
        chosen["labels"] = labels
    if not isinstance(stream, str) or not stream:
        raise ParameterError(f"live.open: stream must be a name, got {stream!r}.")
    with _opening:
        database = Database(url, synchronous)
        shared = _writers.get(database.url)
        writer = shared or Writer(database)
        try:
            loop = Loop(writer, stream, learner, chosen, allowance)
        except BaseException:
            if shared is None:
                writer.close()
            raise
        _writers[database.url] = writer
        return loop


class Loop:
    """A stream that is open for writing: see `headwater.live.open`.

    Its verbs may be called from any thread; each returns when its fact is committed.

    Examples
    --------
    >>> import headwater as hw, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> with hw.live.open(f"{folder.name}/plant.db", learner=hw.PAA()) as plant:
    ...     question = plant.receive({"rain": 2.0}, id="monday").question
    ...     state = plant.answer(question, True).state
    ...     correction = plant.correct(question, False)  # it was wrong
    ...     _ = plant.wait()
    ...     state, plant.learner.weights()
    ('applied', {'rain': -0.5})
    >>> folder.cleanup()
    """

    def __init__(
        self,
        writer: Writer,
        stream: str,
        learner: Learner | None,
        chosen: Mapping[str, Any],
        allowance: Allowance | None = None,
    ) -> None:
        if learner is not None:
            check_learner("live.open", learner)
        self._writer = writer
        self.stream = stream
        if any(one.name == stream for one in writer.streams):
            raise JournalError(f"{writer.database.name}: stream {stream!r} is open already.")
        number, settings = self._find_or_create(learner, dict(chosen), allowance)
        self._live = LiveStream(writer, number, stream, settings)
        self._live.recover()
        self._journal = self._live.journal
        if learner is not None and header_of(learner) != self._journal.history.learner:
            kept = learner_of(self._journal.history.learner)
            raise ParameterError(
                f"{writer.database.name}: stream {stream!r} has the learner {kept!r}, got"
                f" {learner!r}; leave learner out, or use change_learner."
            )
        self._closed = False
        self.desk = Desk(self._live, self._do)
        writer.streams.append(self._live)
        if self._journal.arithmetic != ARITHMETIC:
            self._do(self._live.upgrade)
        if allowance is not None and allowance != self._journal.settings.allowance:
            try:
                self.change_allowance(allowance)
            except BaseException:
                writer.streams.remove(self._live)
                raise

    def _find_or_create(
        self, learner: Learner | None, chosen: dict[str, Any], allowance: Allowance | None
    ) -> tuple[int, Settings]:
        database = self._writer.database
        table = db.streams
        with database.said(), database.engine.begin() as connection:
            row = connection.execute(sa.select(table).where(table.c.name == self.stream)).first()
            if row is not None:
                kept = Settings.from_json(row.settings)
                if chosen:
                    kept = replace(kept, **chosen)
                    changed = sa.update(table).where(table.c.stream == row.stream)
                    connection.execute(changed.values(settings=kept.to_json()))
                return row.stream, kept
            if learner is None:
                raise ParameterError(
                    f"{database.name}: stream {self.stream!r} is new, so it needs a learner:"
                    " open(..., learner=...)."
                )
            database.serialise(connection, table)
            number = 1 + (connection.scalar(sa.select(sa.func.max(table.c.stream))) or 0)
            _check_rate(learner, allowance)
            trained = learner.seen + learner.learned > 0
            settings = Settings(trained=trained, allowance=allowance, **chosen)
            values = (self.stream, header_of(learner), settings.to_json(), ARITHMETIC, time.time())
            database.insert(connection, table, [(number, *values)])
            if settings.trained:
                new = LiveStream(self._writer, number, self.stream, settings)
                new.maker.keep_first(connection, learner)
        return number, settings

    # Verbs

    def receive(
        self,
        x: Event,
        *,
        id: Id | None = None,
        label: Label | None = None,
        rate: float | None = None,
        time: float | None = None,
        group: str | None = None,
    ) -> Receipt:
        """Predict an event, and ask for its label if the query rule says so.

        Parameters
        ----------
        x
            The event: name to value.
        id
            The event's own id. The same event sent again by the same id gets the first decision;
            another event by the same id is an IdReusedError. Without an id an event that is sent
            again counts twice.
        label
            The label, if it is known with the event: it is learned at once, and nothing is asked.
        rate
            This event's label rate, for query rules that have one.
        time
            Seconds since 1970; by default the clock's. Time never runs backwards.
        group
            What the event belongs to, so that one person gets related questions.
        """
        return self._do(*self._receiving(x, id, label, rate, time, group))

    async def receive_async(
        self,
        x: Event,
        *,
        id: Id | None = None,
        label: Label | None = None,
        rate: float | None = None,
        time: float | None = None,
        group: str | None = None,
    ) -> Receipt:
        """`receive` for a program of coroutines."""
        call, keys = self._receiving(x, id, label, rate, time, group)
        receipt: Receipt = await self._writer.carry_out_async(Job(self._live, call, keys))
        return receipt

    def receive_many(
        self,
        events: Iterable[Event],
        *,
        ids: Sequence[Id | None] | None = None,
        labels: Sequence[Label | None] | None = None,
        times: Sequence[float | None] | None = None,
        groups: Sequence[str | None] | None = None,
    ) -> list[Receipt | Exception]:
        """`receive` for many events with one commit; one that is refused gives its error."""
        return self._do(*self._receiving_many(events, ids, labels, times, groups))

    async def receive_many_async(
        self,
        events: Iterable[Event],
        *,
        ids: Sequence[Id | None] | None = None,
        labels: Sequence[Label | None] | None = None,
        times: Sequence[float | None] | None = None,
        groups: Sequence[str | None] | None = None,
    ) -> list[Receipt | Exception]:
        """`receive_many` for a program of coroutines."""
        call, keys = self._receiving_many(events, ids, labels, times, groups)
        done: list[Receipt | Exception] = await self._writer.carry_out_async(
            Job(self._live, call, keys)
        )
        return done

    def answer(
        self, question: int, label: Label, *, by: str | None = None, key: str = ""
    ) -> Answered:
        """Say the label of a question.

        Without `by` it is learned at once. With a person's name it is learned when this person
        answers the next question or after `apply_after` seconds: until then `retract` costs
        nothing. `key` tells attempts apart: the same question, person and key is the same answer
        sent again, another key corrects it.
        """
        target, given = checked_question(question), checked_label(label)
        return self._do(lambda c: self._live.answer(c, target, given, by, str(key)))

    def label(self, event: Id, label: Label) -> Answered:
        """A label that came later, for an event by its id (`"#17"` is the event of fact 17).

        Of an event that was not asked about it can be learned within `answer_within` seconds.
        """
        given = checked_label(label)
        return self._do(lambda c: self._live.label(c, self._event(c, event), given))

    def label_many(self, labels: Iterable[tuple[Id, Label]]) -> list[Answered | Exception]:
        """`label` for many events with one commit; one that is refused gives its error."""
        given = [(event, checked_label(label)) for event, label in labels]

        def take(connection: Connection) -> list[Answered | Exception]:
            done: list[Answered | Exception] = []
            for event, label in given:
                try:
                    target = self._event(connection, event)
                    done.append(self._live.label(connection, target, label))
                except Refused as refused:
                    done.append(refused.args[0])
            return done

        return self._do(take)

    def question_of(self, event: Id) -> int:
        """The number of the question about an event, by its id (`"#17"` is that of fact 17)."""
        return self._do(lambda c: self._event(c, event))

    def apply(self) -> int:
        """Learn every answer that waits for an undo, now; return how many."""
        return self._do(self._journal.apply_all_held)

    def correct(
        self, question: int, label: Label, *, by: str | None = None, key: str = ""
    ) -> Answered:
        """Put another label in the place of an answer.

        The model is replayed from before the answer, with the right label and with the questions as
        they were asked, while the old one goes on serving; `wait` waits for it. What was predicted
        and asked stays in the journal as it was.
        """
        target, given = checked_question(question), checked_label(label)
        return self._do(lambda c: self._live.past.correct(c, target, given, by, str(key)))

    def retract(self, question: int, *, by: str | None = None) -> Answered:
        """Take an answer back: the question is open again, and the model as if it had not come."""
        target = checked_question(question)
        return self._do(lambda c: self._live.past.retract(c, target, by))

    def remove(self, event: Id, *, by: str | None = None) -> int:
        """An event that should not have come: the model is replayed without it.

        `event` is its id; `"#17"` is the event of fact 17.
        """
        return self._do(lambda c: self._live.past.remove(c, self._event(c, event), by))

    def forget(self, event: Id) -> int:
        """Erase an event from the database and from the model; return the number of its fact.

        Its content goes at once, from the tables, the snapshots and the write-ahead log. The model
        is replayed without it before this returns. Backups must expire by themselves.
        """
        self.wait()
        number: int = self._do(lambda c: self._live.past.forget(c, self._event(c, event)))
        self.wait()
        self._erase()
        return number

    def forget_person(self, name: str) -> int:
        """Erase a person's name; the answers stay, under a number, which is returned."""
        person: int = self._do(lambda c: self._journal.forget_person(c, name))
        self._erase()
        return person

    def change_learner(self, learner: Learner) -> int:
        """Replay the whole journal to another learner, which then takes over; see `wait`."""
        if not isinstance(learner, Learner) or learner.seen or learner.learned:
            raise ParameterError(
                "change_learner: learner must be a learner that has learned nothing, got"
                f" {learner!r}."
            )
        _check_rate(learner, self._journal.settings.allowance)
        header = header_of(learner)
        return self._do(lambda c: self._live.past.change_learner(c, header))

    def change_allowance(self, allowance: Allowance | None) -> int:
        """Another allowance, or none, from now on; what was used today counts. Returns the fact."""
        if allowance is not None and not isinstance(allowance, Allowance):
            raise ParameterError(f"live: allowance must be an Allowance, got {allowance!r}.")
        _check_rate(self.learner, allowance)
        return self._do(lambda c: self._journal.change_allowance(c, allowance))

    def reset_quality(self) -> int:
        """Let `quality("reset")` begin here. Returns the number of the fact."""
        return self._do(self._journal.reset_quality)

    def quality(self, window: QualityWindow | None = None) -> Quality:
        """How often predictions are wrong, over all events, with its interval.

        Parameters
        ----------
        window
            `"day"` and `"week"`: the last 24 hours, the last seven days. `"reset"`: since the last
            `reset_quality` or `change_learner`. None: since the beginning.
        """
        if window not in (None, "day", "week", "reset"):
            raise ParameterError(
                f'quality: window must be "day", "week", "reset" or None, got {window!r}.'
            )
        journal = self._journal
        with self._writer.database.reading() as connection:
            return quality(connection, journal.stream, window, journal.now)

    def quality_curve(self, points: int = 60) -> list[Quality]:
        """The quality over time: points at equal distances, each over the six distances before."""
        if isinstance(points, bool) or not isinstance(points, int) or points < 1:
            raise ParameterError(f"quality_curve: points must be from 1, got {points!r}.")
        with self._writer.database.reading() as connection:
            return quality_curve(connection, self._journal.stream, points)

    @property
    def allowance(self) -> AllowanceStatus | None:
        """What is left of the allowance; None if there is none, or none that limits questions."""
        journal = self._journal

        def status(connection: Connection) -> AllowanceStatus | None:
            return None if journal.spending is None else journal.spending.status(journal.now)

        return self._do(status)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the model contains every correction; whether it does."""
        limit = None if timeout is None else time.monotonic() + timeout
        settled = self._journal.is_settled
        while not settled.wait(PAUSE):
            if limit is not None and time.monotonic() > limit:
                return False
            if self._live.past.failure is not None:
                raise self._live.past.failure
        return True

    def snapshot(self) -> int:
        """Make a snapshot now; return the number of the last fact that it contains."""
        self.wait()
        return self._do(self._live.maker.make_now)

    def status(self) -> StreamStatus:
        """Counts, quality with its interval, and the last facts."""
        with self._writer.database.reading() as connection:
            return reading.status(self._writer.database, connection, self._journal.stream)

    def weights(self) -> list[WeightsAt]:
        """The heaviest weights at the moments of snapshots, the oldest first."""
        with self._writer.database.reading() as connection:
            return read_weights(connection, self._journal.stream)

    def find(self, event: Id | list[Id]) -> EventRecord:
        """Everything about an event, by its id or by the first of several that there is."""
        journal = self._journal
        with self._writer.database.reading() as connection:
            return find_event(connection, journal.stream, journal.names, event)

    def question_answered_by(self, answer: int) -> int:
        """The question that an answer, by the number of its fact, is about."""
        with self._writer.database.reading() as connection:
            return question_of(connection, self._journal.stream, checked_question(answer))

    def news(self, after: int, limit: int = 500) -> tuple[list[dict[str, Any]], int]:
        """The facts after fact `after` but for events that were not asked about.

        At most `limit`, oldest first, without the content of events; and the number of the fact
        after which to ask again.
        """
        with self._writer.database.reading() as connection:
            return reading.news(connection, self._journal.stream, after, limit)

    # State

    @property
    def head(self) -> int:
        """The number of the last fact."""
        return self._journal.head

    @property
    def behind(self) -> int:
        """The facts since the newest snapshot, which the next opening replays."""
        return self.head - self._live.maker.newest

    @property
    def failure(self) -> Exception | None:
        """Why nothing can be written now; None if all is well."""
        return self._writer.failure

    @property
    def learner(self) -> Learner:
        """The model as it is now, to predict and to look at; what it learns comes by the verbs."""
        return self._journal.learner

    @property
    def register(self) -> Register:
        """The register of all features, as it is now; the learner must have `track=True`.

        It is part of the model: it is replayed and corrected with it.
        """
        return self._journal.learner.register

    def findings(self, limit: int | None = None, *, since: int = 0) -> list[FeatureFinding]:
        """What happened to features after finding `since`: see `Register.findings`."""
        return self._journal.learner.findings(limit, since=since)

    def on_finding(self, call: Callable[[FeatureFinding], object]) -> None:
        """Have a function called with each finding from now on, after the commit of its event.

        It is called by the thread that writes, so it should only pass the finding on. What a
        correction of the past finds anew is not told again.
        """
        latest = self.findings(limit=1)
        self._live.listen(call, latest[-1].number if latest else 0)

    def close(self) -> None:
        """Make a snapshot if there is something new, and stop."""
        with _opening:
            if self._closed:
                return
            self._closed = True
            live, writer = self._live, self._writer
            try:
                live.past.join()
                live.maker.join()
                if live.maker.is_behind:
                    writer.carry_out(Job(live, live.maker.make_now))
            except HeldError:
                raise
            except JournalError as error:
                live.maker.failed(error)
            finally:
                writer.streams.remove(live)
                if not writer.streams:
                    _writers.pop(writer.database.url, None)
                    writer.close()

    def delete(self) -> None:
        """Close the stream and delete everything about it; other streams go on."""
        self.close()
        database = Database(self._writer.database.url)
        try:
            mark_deleted(database, self.stream)
            delete_marked(database)
        finally:
            database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # Parts

    def _do(self, call: Callable[[Connection], T], keys: Sequence[str] = ()) -> T:
        done: T = self._writer.carry_out(Job(self._live, call, keys))
        return done

    def _receiving(
        self,
        x: Event,
        id: Id | None,
        label: Label | None,
        rate: float | None,
        when: float | None,
        group: str | None,
    ) -> tuple[Callable[[Connection], Receipt], list[str]]:
        event = checked_event(x)
        key = checked_id(id)
        given = None if label is None else checked_label(label)
        named = checked_group(group)
        receive = self._journal.receive
        keys = [] if key is None else [json.dumps(key)]
        return lambda _: receive(event, key, given, rate, when, named), keys

    def _receiving_many(
        self,
        events: Iterable[Event],
        ids: Sequence[Id | None] | None,
        labels: Sequence[Label | None] | None,
        times: Sequence[float | None] | None,
        groups: Sequence[str | None] | None,
    ) -> tuple[Callable[[Connection], list[Receipt | Exception]], list[str]]:
        read = [checked_event(x) for x in events]
        keys = [None] * len(read) if ids is None else [checked_id(id) for id in ids]
        given = (
            [None] * len(read)
            if labels is None
            else [None if label is None else checked_label(label) for label in labels]
        )
        whens = [None] * len(read) if times is None else list(times)
        named = [None] * len(read) if groups is None else [checked_group(group) for group in groups]
        if not len(read) == len(keys) == len(given) == len(whens) == len(named):
            raise EventError(
                f"receive_many: expected an id, a label, a time and a group for {len(read)} events,"
                f" got {len(keys)} ids, {len(given)} labels, {len(whens)} times and"
                f" {len(named)} groups."
            )

        def receive(connection: Connection) -> list[Receipt | Exception]:
            done: list[Receipt | Exception] = []
            for x, key, label, when, group in zip(read, keys, given, whens, named, strict=True):
                try:
                    done.append(self._journal.receive(x, key, label, None, when, group))
                except Refused as refused:
                    done.append(refused.args[0])
            return done

        return receive, [json.dumps(key) for key in keys if key is not None]

    def _event(self, connection: Connection, event: Id) -> int:
        """The number of an event's fact."""
        self._journal.flush(connection)
        f = db.facts.c
        fact = fact_of(event)
        which = f.key == json.dumps(event) if fact is None else f.number == fact
        here = f.stream == self._journal.stream
        number = connection.scalar(sa.select(f.number).where(here, which, f.kind == Kind.EVENT))
        if number is None:
            raise Refused(NoSuchError(f"live: there is no event {event!r}."))
        return int(number)

    def _erase(self) -> None:
        """Make what was deleted disappear from the files of the database too."""
        database = self._writer.database
        self._live.maker.join()
        journal = self._journal
        self._do(lambda c: journal.snapshots.sweep(c, journal.stream))
        with database.said(), database.engine.connect() as connection:
            driver: Any = connection.connection.driver_connection
            if database.is_sqlite:
                busy = driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
                if busy:
                    raise JournalError(
                        f"{database.name}: it is erased from the tables, but a reader holds the"
                        " write-ahead log; close it and forget it again."
                    )
            else:
                driver.autocommit = True
                tables = ("facts", "bodies", "names", "questions", "decisions", "people", "chunks")
                driver.execute(f"VACUUM (FULL) {', '.join(tables)}")


def _check_rate(learner: Learner, allowance: Allowance | None) -> None:
    """An allowance gives each event a rate."""
    if allowance is not None and allowance.limits_questions and not takes_rate(learner):
        raise ParameterError(
            "live: an allowance needs a learner whose query rule takes a rate; that of"
            f" {learner!r} does not. Take Spring, or Linear with query.Budget."
        )
