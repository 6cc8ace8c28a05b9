"""Changes of the past: corrections, retractions, removed and forgotten events, another learner.

A change is a fact that names the fact from which on it counts. A thread then replays the journal
from a snapshot before that fact, while the old model goes on serving. When it has caught up, the
writer replays the few facts that are left, and the new model takes over; that is a fact too. Until
then a recovery does the same.
"""

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection

from headwater.errors import (
    AnswerError,
    LabelError,
    NoSuchError,
    ParameterError,
    TooOldError,
)
from headwater.live import database as db
from headwater.live.database import Database
from headwater.live.journal import ANSWERED, WAITING, Journal
from headwater.live.reading import begin_replay
from headwater.live.replay import History, Kind, Replayer, label_text, read_chances
from headwater.live.results import Answered
from headwater.live.snapshot_maker import SnapshotMaker
from headwater.live.weights import drop_weights
from headwater.live.writer import Call, Refused
from headwater.types import Label

NEAR = 200
"""Facts that the writer replays itself when a model takes over."""


class Past:
    """The verbs that change the past of a stream, and the replay that follows.

    `carry_out` lets the writer carry out a call, and waits for it.
    """

    def __init__(
        self, journal: Journal, maker: SnapshotMaker, carry_out: Callable[[Call], Any]
    ) -> None:
        self.journal = journal
        self.maker = maker
        self.carry_out = carry_out
        self.failure: Exception | None = None
        self.replays = 0
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._is_replaying = False  # the thread will look once more before it ends
        self._left: Replayer | None = None  # what a recovery replayed and did not write yet
        self._has_changed = False
        self._has_settled = False

    # Verbs, on the writer's thread

    def correct(
        self, connection: Connection, target: int, label: Label, by: str | None, key: str
    ) -> Answered:
        """Put another label in the place of the one that counts."""
        journal = self.journal
        person = journal.person(connection, by)
        full_key = f"c/{target}/{person or 0}/{key}" if key else None
        known = None if full_key is None else journal.find_key(connection, full_key)
        if known is not None:
            state = journal.find_question(connection, target)
            return Answered(known[0], target, "applied" if state is None else state[0], True)
        journal.flush(connection)
        answer, since = self._answer_of(connection, target)
        journal.check_label(label)
        held = journal.held.pop(answer, None)
        if held is not None:  # it was never learned: nothing has to be replayed
            journal.note(Kind.RETRACTION, None, target=target, answer=answer, person=person)
            waiting = held.person if person is None else person
            journal.set_question(target, "open", None)
            number = journal.note_answer(target, label, waiting, full_key)
            journal.hold(number, target, label, waiting)
            return Answered(number, target, "answered", False)
        columns = {"target": target, "answer": answer, "person": person, "key": full_key}
        number = self._change(Kind.CORRECTION, since, label=label_text(label), **columns)
        return Answered(number, target, "correcting", False)

    def retract(self, connection: Connection, target: int, by: str | None) -> Answered:
        """Take back the answer that counts; the question is open again."""
        journal = self.journal
        person = journal.person(connection, by)
        journal.flush(connection)
        answer, since = self._answer_of(connection, target)
        f = db.facts.c
        where = (f.stream == journal.stream) & (f.number == answer)
        if answer != target:  # by the same key it may be given again
            connection.execute(sa.update(db.facts).where(where).values(key=None))
        if journal.held.pop(answer, None) is not None:
            number = journal.note(
                Kind.RETRACTION, None, target=target, answer=answer, person=person
            )
            state = "reopening" if target in journal.reopening else "open"
            journal.set_question(target, state, None)
            return Answered(number, target, state, False)
        columns = {"target": target, "answer": answer, "person": person}
        number = self._change(Kind.RETRACTION, since, **columns)
        if journal.find_question(connection, target) is not None:
            journal.set_question(target, "reopening", None)
            journal.reopening.add(target)
        return Answered(number, target, "reopening", False)

    def remove(
        self, connection: Connection, target: int, by: str | None, answer: int | None = None
    ) -> int:
        """An event that should not have come: the model is replayed without it.

        `answer` is the fact about another event with the same features that it follows from.
        """
        journal = self.journal
        person = journal.person(connection, by)
        self._check_event(connection, target)
        self._withdraw(target)
        if journal.find_question(connection, target) is not None:
            journal.set_question(target, "bad", None)
        return self._change(Kind.REMOVAL, target, target=target, person=person, answer=answer)

    def bring_back(
        self, connection: Connection, target: int, removal: int, by: str | None
    ) -> Answered:
        """Undo a removal: the event counts again, and its question is open again."""
        journal = self.journal
        person = journal.person(connection, by)
        self._check_reach(connection, target)
        columns = {"target": target, "answer": removal, "person": person}
        number = self._change(Kind.UNDONE, target, **columns)
        journal.set_question(target, "reopening", None)
        journal.reopening.add(target)
        return Answered(number, target, "reopening", False)

    def rename(self, connection: Connection, old: Label, new: Label, by: str | None) -> int:
        """A class is called otherwise, or becomes one with another, in all facts so far."""
        journal, f = self.journal, db.facts.c
        if journal.learner.task != "multiclass":
            raise Refused(
                LabelError(f"rename: the classes of {journal.learner!r} cannot be renamed.")
            )
        journal.flush(connection)
        journal.check_label(new)
        first = sa.select(sa.func.min(f.number)).where(
            f.stream == journal.stream, f.label == label_text(old)
        )
        since = connection.scalar(first)
        if since is None or old == new:
            raise Refused(LabelError(f"rename: no answer says {old!r}."))
        self._check_reach(connection, since)
        person = journal.person(connection, by)
        said = {"label": label_text(old), "data": label_text(new), "person": person}
        number = self._change(Kind.RENAMED, since, **said)
        journal.held = {
            fact: held._replace(label=new) if label_text(held.label) == label_text(old) else held
            for fact, held in journal.held.items()
        }
        journal.queue.rename(old, new)
        return number

    def forget(self, connection: Connection, target: int) -> int:
        """Erase an event: its content now, its influence once the model is replayed without it."""
        journal = self.journal
        self._check_event(connection, target)
        self._withdraw(target)
        f = db.facts.c
        here = f.stream == journal.stream
        key = connection.scalar(sa.select(f.key).where(here, f.number == target))
        kept = (db.records.c.kind == db.EVENT_TEXTS) & (db.records.c.key == key)
        connection.execute(sa.delete(db.records).where(kept))
        blank = dict.fromkeys(("key", "label", "margin", "prediction", "digest", "rate", "data"))
        connection.execute(sa.update(db.facts).where(here, f.number == target).values(**blank))
        about = sa.update(db.facts).where(here, f.target == target)
        connection.execute(about.values(label=None, key=None))
        for table in (db.bodies, db.decisions, db.questions):
            where = (table.c.stream == journal.stream) & (table.c.number == target)
            connection.execute(sa.delete(table).where(where))
        journal.drop_names(connection)
        listed = journal.snapshots.listed(connection, journal.stream)
        with_it = [one.fact for one in listed if one.fact >= target]
        journal.snapshots.drop(connection, journal.stream, with_it)
        drop_weights(connection, journal.stream, target)
        return self._change(Kind.FORGOTTEN, target, target=target)

    def change_learner(self, connection: Connection, header: str) -> int:
        """Another learner, to which the whole journal is replayed with the logged outcomes."""
        self.journal.flush(connection)
        if read_chances(connection, self.journal.stream) is not None:
            raise Refused(
                ParameterError(
                    "live: deciders have decided on the events of this stream, and their reports"
                    " are for this learner; begin a new stream with another."
                )
            )
        first = self._first_without_body(connection, 0)
        if first is not None:
            raise Refused(
                TooOldError(
                    f"live: the event of fact {first} is no longer kept, so another learner cannot"
                    " learn the stream from its start; begin a new stream."
                )
            )
        return self._change(Kind.LEARNER, 0, data=header)

    def _change(self, kind: Kind, since: int, **columns: Any) -> int:
        number = self.journal.note(kind, None, since=since, **columns)
        self.journal.is_settled.clear()
        self._has_changed = True
        return number

    def _withdraw(self, target: int) -> None:
        """Nobody waits for an answer to this event any more."""
        journal = self.journal
        journal.open.pop(target, None)
        journal.queue.remove(target)
        journal.held = {n: one for n, one in journal.held.items() if one.target != target}

    # The replay

    def recovered(self, connection: Connection, replayer: Replayer) -> None:
        """A recovery has replayed the journal with every change in it; the rows must say so."""
        f = db.facts.c
        swaps = db.by_index(sa.select(sa.func.max(f.target)), "kind").where(
            f.stream == self.journal.stream, f.kind == Kind.SWAPPED
        )
        contained = connection.scalar(swaps) or 0
        self._has_changed = self._has_settled = False
        self.failure = None
        self._left = replayer if contained < replayer.history.newest else None
        if self._left is None:
            self.journal.is_settled.set()

    def due(self) -> list[Call]:
        return [] if self._left is None else [self._finish_recovery]

    def committed(self) -> None:
        if self._has_settled and not self._has_changed:
            self.journal.is_settled.set()
        self._has_settled = False
        with self._lock:
            if self._has_changed and not self._is_replaying:
                thread = threading.Thread(target=self._replay, daemon=True)
                thread.start()
                self._thread, self._is_replaying = thread, True
        self._has_changed = False

    def join(self) -> None:
        if self._thread is not None:
            self._thread.join()

    def _replay(self) -> None:
        """Beside the writer: replay the changed journal until the new model can take over."""
        journal = self.journal
        try:
            while self._goes_on():
                replayer = self._caught_up(journal.database)
                self.carry_out(partial(self._swap, replayer=replayer))
        except Exception as error:
            self.failure = error  # the next recovery has the change in place
            self._is_replaying = False

    def _goes_on(self) -> bool:
        with self._lock:  # a change that comes now finds a thread that goes on, or none
            self._is_replaying = not self.journal.is_settled.is_set()
            return self._is_replaying

    def _caught_up(self, database: Database) -> Replayer:
        stream = self.journal.stream
        self.replays += 1
        with database.reading() as connection:
            history = History.read(connection, stream)
            replayer = begin_replay(database, connection, stream, history)
        while True:
            with database.reading() as connection:  # a new one sees what has come since
                if replayer.catch_up(connection) < NEAR:
                    return replayer

    def _swap(self, connection: Connection, replayer: Replayer) -> None:
        """The replayed model takes over, unless the past was changed again meanwhile."""
        journal = self.journal
        journal.flush(connection)
        if History.read(connection, journal.stream).newest == replayer.history.newest:
            replayer.catch_up(connection)
            journal.adopt(replayer)
            self._note_swap(connection, replayer)

    def _finish_recovery(self, connection: Connection) -> None:
        if self._left is not None:
            self._note_swap(connection, self._left)
            self._left = None

    def _note_swap(self, connection: Connection, replayer: Replayer) -> None:
        """Frozen inputs of open questions anew, their states, and the fact itself."""
        journal = self.journal
        q = db.questions.c
        found = sa.select(q.number, q.state, q.answer).where(
            q.stream == journal.stream, q.state.in_((*WAITING, *ANSWERED))
        )
        for number, state, answer in connection.execute(found).all():
            if state in WAITING and number in replayer.open:
                journal.keep(number, replayer.open[number])
            if state == "reopening":
                journal.set_question(number, "open", None)
            elif number in replayer.refused:
                journal.set_question(number, "refused", answer)
            elif state == "refused" and number in replayer.applied:
                journal.set_question(number, "applied", answer)
        journal.note(Kind.SWAPPED, None, target=replayer.history.newest)
        self.maker.drop_wrong(connection)
        self._has_settled = True

    # What can be changed

    def _answer_of(self, connection: Connection, target: int) -> tuple[int, int]:
        """The answer of an event that counts, and the fact from which on it was learned."""
        journal, f = self.journal, db.facts.c
        here = f.stream == journal.stream
        found = sa.select(f.kind, f.label, f.asked).where(here, f.number == target)
        row = connection.execute(found).first()
        if row is None or row.kind != Kind.EVENT or target in journal.history.removed:
            raise Refused(AnswerError(f"correct: there is no event of fact {target}."))
        if row.label is not None:  # it came with its event
            self._check_reach(connection, target)
            return target, target
        answers = db.by_index(sa.select(sa.func.max(f.number)), "target").where(
            here, f.target == target, f.kind == Kind.ANSWER, f.key.is_not(None)
        )
        answer = (
            journal.question(connection, target)[1] if row.asked else connection.scalar(answers)
        )
        if answer is None:
            raise Refused(AnswerError(f"correct: the event of fact {target} has no answer yet."))
        if answer in journal.held:
            return answer, 0
        applied = db.by_index(sa.select(f.number), "target").where(
            here, f.target == target, f.kind == Kind.APPLIED, f.answer == answer
        )
        since = connection.scalar(applied)
        assert since is not None  # an answer is held or applied
        self._check_reach(connection, since)
        return answer, since

    def _check_event(self, connection: Connection, target: int) -> None:
        journal, f = self.journal, db.facts.c
        journal.flush(connection)
        found = sa.select(f.kind).where(f.stream == journal.stream, f.number == target)
        if connection.scalar(found) != Kind.EVENT or target in journal.history.removed:
            raise Refused(NoSuchError(f"live: there is no event of fact {target}."))
        self._check_reach(connection, target)

    def _check_reach(self, connection: Connection, since: int) -> None:
        """Refuse to change a past that cannot be replayed any more."""
        journal = self.journal
        history = History.read(connection, journal.stream)
        before = (
            one.fact
            for one in journal.snapshots.listed(connection, journal.stream)
            if one.fact < since and history.is_contained(one.fact, one.through)
        )
        first = self._first_without_body(connection, next(before, 0))
        if first is not None:
            raise Refused(
                TooOldError(
                    f"live: fact {since} is too old to be changed: the event of fact {first} is no"
                    " longer kept, so the model cannot be replayed from before it; keep_events"
                    " says how long events are kept."
                )
            )

    def _first_without_body(self, connection: Connection, after: int) -> int | None:
        """The first event or report after a fact that cannot be replayed.

        The content of old events goes up to a fact, but for questions that wait. So nothing is
        missing after the first event that nobody was asked about, or report, whose content is
        there.
        """
        f, b = db.facts.c, db.bodies.c
        kinds = f.kind.in_((Kind.EVENT, Kind.REPORT))
        here = (f.stream == self.journal.stream) & kinds
        is_old = sa.or_(f.kind == Kind.REPORT, f.asked.is_(False))
        both = (f.stream == b.stream) & (f.number == b.number)
        kept = sa.select(b.number).select_from(db.bodies.join(db.facts, both))
        kept = kept.where(b.stream == self.journal.stream, here, is_old)
        end = connection.scalar(kept.order_by(b.number).limit(1))
        removed = History.read(connection, self.journal.stream).removed
        found = sa.select(f.number).select_from(db.facts.outerjoin(db.bodies, both))
        found = found.where(here, f.number > after, b.number.is_(None))
        if end is not None:
            found = found.where(f.number < end)
        missing = connection.scalars(found.order_by(f.number))
        return next((number for number in missing if number not in removed), None)
