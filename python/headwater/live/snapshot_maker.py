"""When snapshots are made, by whom, and which of them and of the events are kept."""

import copy
import threading
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection

from headwater._core import ARITHMETIC
from headwater.errors import HeadwaterError, JournalError
from headwater.learners.base import Learner
from headwater.live import database as db
from headwater.live import follower
from headwater.live.follower import Made
from headwater.live.journal import WAITING, Journal
from headwater.live.replay import History, Kind, first_fact
from headwater.live.snapshots import Snapshot
from headwater.live.weights import Heaviest, add_weights
from headwater.live.writer import Call, ClosedError, Refused

LARGE = 1 << 23
"""Bytes of a snapshot from which on the next one is made by a process of its own."""
NEWEST = 3
"""Snapshots that are kept in any case."""


class SnapshotMaker:
    """Makes the snapshots of a stream, and drops what is no longer needed.

    `carry_out` lets the writer carry out a call, and waits for it.
    """

    def __init__(self, journal: Journal, carry_out: Callable[[Call], Any]) -> None:
        self.journal = journal
        self.carry_out = carry_out
        self.failure: Exception | None = None
        self.large = LARGE
        self.newest = 0  # the fact of the newest snapshot
        self._fact = 0  # of the one at work, or the newest
        self._bytes = 0
        self._time = time.monotonic()
        self._thread: threading.Thread | None = None

    def recovered(self, connection: Connection) -> None:
        journal = self.journal
        newest = journal.snapshots.listed(connection, journal.stream)[:1]
        self._fact = self.newest = newest[0].fact if newest else 0
        self._bytes = newest[0].size if newest else 0
        self._time = time.monotonic()

    @property
    def is_behind(self) -> bool:
        """Whether there are facts without a snapshot, and the model contains every change."""
        return self.journal.head > self._fact and self.journal.is_settled.is_set()

    def committed(self) -> None:
        """After a commit: perhaps it is time for a snapshot."""
        settings = self.journal.settings
        facts = self.journal.head - self._fact
        seconds = time.monotonic() - self._time
        is_time = facts >= settings.snapshot_facts or seconds >= settings.snapshot_seconds
        if is_time and self.is_behind and not self.is_at_work:
            self.begin()

    def begin(self) -> None:
        """Make a snapshot of the facts so far, without holding up the writer."""
        journal, fact = self.journal, self.journal.head
        work: Callable[[], Made]
        if self._bytes < self.large:
            copied = copy.copy(journal.learner)
            work = partial(follower.write_learner, journal.snapshots, journal.stream, fact, copied)
        else:
            work = partial(follower.follow, journal.database, journal.stream, fact)
        self._fact, self._time = fact, time.monotonic()
        thread = threading.Thread(target=self._make, args=(fact, work), daemon=True)
        thread.start()
        self._thread = thread

    def _make(self, fact: int, work: Callable[[], Made]) -> None:
        try:
            made = work()
            snapshot = self._row(fact, made)
            self.carry_out(partial(self._add, snapshot=snapshot, heaviest=made.heaviest))
        except ClosedError:
            pass
        except (HeadwaterError, OSError) as error:
            self.failed(error)  # the next one may succeed

    def failed(self, error: Exception) -> None:
        """The journal is whole without a snapshot, but whoever operates it should know."""
        self.failure = error
        warnings.warn(f"No snapshot was made: {error} No fact is lost.", stacklevel=2)

    def make_now(self, connection: Connection) -> int:
        """Make a snapshot before this transaction ends; return the fact that it stands for."""
        journal = self.journal
        journal.flush(connection)
        fact = journal.head
        try:
            made = follower.write_learner(journal.snapshots, journal.stream, fact, journal.learner)
        except JournalError as error:
            raise Refused(error) from None
        self._add(connection, self._row(fact, made), made.heaviest)
        self._fact, self._time = fact, time.monotonic()
        return fact

    def keep_first(self, connection: Connection, learner: Learner) -> None:
        """The model with which the stream begins, as the snapshot of fact 0."""
        journal = self.journal
        made = follower.write_learner(journal.snapshots, journal.stream, 0, learner)
        journal.database.insert(connection, db.snapshots, [self._row(0, made)])

    @property
    def is_at_work(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def join(self) -> None:
        if self._thread is not None:
            self._thread.join()

    def _row(self, fact: int, made: Made) -> Snapshot:
        about = (ARITHMETIC, made.size, made.sha256, self.journal.clock(), made.seconds)
        return Snapshot(self.journal.stream, fact, fact, *about)

    def _add(self, connection: Connection, snapshot: Snapshot, heaviest: Heaviest) -> None:
        journal = self.journal
        journal.flush(connection)
        history = History.read(connection, journal.stream)
        is_right = history.is_contained(snapshot.fact, snapshot.through)
        if is_right and journal.snapshots.is_there(connection, snapshot):
            journal.database.insert(connection, db.snapshots, [snapshot], replace=True)
            self._bytes, self.newest = snapshot.size, snapshot.fact
            moment = (snapshot.stream, snapshot.fact, journal.now)
            add_weights(journal.database, connection, *moment, heaviest)
        journal.snapshots.sweep(connection, journal.stream)  # of those dropped before this commit
        self._prune(connection)

    def drop_wrong(self, connection: Connection) -> None:
        """Drop the snapshots of a past that was changed."""
        journal = self.journal
        listed = journal.snapshots.listed(connection, journal.stream)
        right = [one for one in listed if journal.history.is_contained(one.fact, one.through)]
        wrong = [one.fact for one in listed if one not in right]
        journal.snapshots.drop(connection, journal.stream, wrong)
        if wrong:
            self._fact = self.newest = right[0].fact if right else 0

    def _prune(self, connection: Connection) -> None:
        """Drop events that are old enough, and snapshots that no change of the past needs.

        Kept are the newest three snapshots, older ones at distances that double, and the one from
        which the oldest kept events can be replayed.
        """
        journal = self.journal
        horizon = journal.now - journal.settings.keep_events
        listed = journal.snapshots.listed(connection, journal.stream)
        facts = [one.fact for one in listed]
        reach = first_fact(connection, journal.stream, horizon)
        base = next((fact for fact in facts if fact < reach), 0)
        kept: list[int] = []
        for fact in facts:
            apart = bool(kept) and journal.head - fact >= 2 * (journal.head - kept[-1])
            if fact == base or (fact > base and (len(kept) < NEWEST or apart)):
                kept.append(fact)
        gone = [fact for fact in facts if fact not in kept]
        journal.snapshots.drop(connection, journal.stream, gone)
        self._drop_events(connection, base)

    def _drop_events(self, connection: Connection, base: int) -> None:
        journal = self.journal
        f, q = db.facts.c, db.questions.c
        waiting = sa.select(q.number).where(q.stream == journal.stream, q.state.in_(WAITING))
        for table in (db.bodies, db.decisions):
            c = table.c
            old = (c.stream == journal.stream) & (c.number <= base) & c.number.not_in(waiting)
            connection.execute(sa.delete(table).where(old))
        if journal.settings.answer_within > 0:
            late = journal.now - journal.settings.answer_within
            unasked = sa.select(f.number).where(
                f.stream == journal.stream,
                f.kind == Kind.EVENT,
                f.asked.is_(False),
                f.time < late,
            )
            d = db.decisions.c
            past = (d.stream == journal.stream) & d.number.in_(unasked)
            connection.execute(sa.delete(db.decisions).where(past))
