"""Undo: a person's last act is taken back, and the card is this person's again."""

from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection

from headwater.errors import AnswerError
from headwater.live import database as db
from headwater.live.journal import ANSWERED, Journal
from headwater.live.leases import Leases
from headwater.live.past import Past
from headwater.live.replay import Kind
from headwater.live.results import Answered
from headwater.live.writer import Refused

ACTS = (Kind.ANSWER, Kind.VOTE, Kind.SKIP, Kind.UNSURE, Kind.REMOVAL)
"""What people do."""
OF_KNOWN = (Kind.VOTE, Kind.SKIP, Kind.UNSURE)
"""What they do with a card whose answer is known: then the fact names the card's."""


class Undo:
    """Takes back what people did, on the writer's thread."""

    def __init__(self, journal: Journal, past: Past, leases: Leases) -> None:
        self.journal = journal
        self.past = past
        self.leases = leases

    def last(
        self, connection: Connection, by: str, since: float, question: int | None = None
    ) -> Answered:
        """Take a person's last act since a moment back; the card is this person's again."""
        journal, f = self.journal, db.facts.c
        journal.flush(connection)
        person = journal.people.get(by)
        nothing = AnswerError(f"undo: there is nothing of {by} today that can be undone.")
        if person is None:
            raise Refused(nothing)
        acts = db.by_index(sa.select(f.number, f.kind, f.target, f.answer), "person").where(
            f.stream == journal.stream,
            f.person == person,
            f.time >= since,
            f.kind.in_(ACTS),
            f.data.is_(None),  # what settles a dispute is not undone
            sa.or_(f.answer.is_(None), f.kind.in_(OF_KNOWN)),
        )
        if question is not None:
            acts = acts.where(f.target == question)
        found = False
        for row in connection.execute(acts.order_by(f.number.desc()).limit(10_000)):
            found = True
            if not self._is_undone(connection, row.target, row.number):
                undo = self._undo(connection, Kind(row.kind), row, by, person)
                if undo is not None:
                    known = row.kind in OF_KNOWN and row.answer is not None
                    if known or self._is_free(connection, undo.question, by):
                        self.leases.give(undo.question, by, journal.settings.desk.lease_seconds)
                    return undo
        if question is not None and found:
            state, _ = journal.question(connection, question)
            return Answered(question, question, state, True)
        raise Refused(nothing)

    def _is_free(self, connection: Connection, number: int, by: str) -> bool:
        """Whether a card can be this person's again, or others have answered or hold it."""
        journal = self.journal
        journal.read_queue(connection)
        if number not in journal.queue:
            return False
        votes = len(journal.queue[number].votes)
        others = sum(holder != by for holder in self.leases.holders(number))
        return others + votes < journal.settings.desk.overlap

    def _is_undone(self, connection: Connection, target: int, number: int) -> bool:
        f = db.facts.c
        found = db.by_index(sa.select(f.number), "target").where(
            f.stream == self.journal.stream,
            f.target == target,
            f.answer == number,
            f.kind.in_((Kind.RETRACTION, Kind.UNDONE)),
        )
        return connection.execute(found).first() is not None

    def _undo(
        self, connection: Connection, kind: Kind, row: Any, by: str, person: int
    ) -> Answered | None:
        journal, past = self.journal, self.past
        question = journal.find_question(connection, row.target)
        if question is None:
            return None
        state, answer = question
        if kind is Kind.ANSWER:
            if answer != row.number:
                return None
            undone = past.retract(connection, row.target, by)
            for copy in self._follow(connection, Kind.ANSWER, row.number):
                past.retract(connection, copy, by)
            return undone
        if kind is Kind.REMOVAL:
            if state != "bad":
                return None
            back = past.bring_back(connection, row.target, row.number, by)
            for number, copy in self._following(connection, Kind.REMOVAL, row.number):
                past.bring_back(connection, copy, number, by)
            return back
        if state in ("bad", "expired", "settled"):
            return None
        f = db.facts.c
        vote = (f.stream == journal.stream) & (f.number == row.number)
        connection.execute(sa.update(db.facts).where(vote).values(key=None))  # it may come again
        columns = {"target": row.target, "answer": row.number, "person": person}
        number = journal.note(Kind.UNDONE, None, **columns)
        if row.answer is not None:  # the card was known
            return Answered(number, row.target, state, False)
        if kind is Kind.VOTE and state in ANSWERED:
            return self._reopen(connection, row, by, answer)
        if kind is Kind.VOTE and state == "disputed":
            self._reopen_dispute(connection, row.target)
        journal.read_queue(connection)
        if row.target in journal.queue:
            waiting = journal.queue[row.target]
            waiting.votes.pop(person, None)
            waiting.acted.discard(person)
        state, _ = journal.question(connection, row.target)
        return Answered(number, row.target, state, False)

    def _reopen(self, connection: Connection, row: Any, by: str, answer: int | None) -> Answered:
        """A vote that was counted is taken back: so is what was learned from it."""
        undone = self.past.retract(connection, row.target, by)
        if answer is not None:
            for copy in self._follow(connection, Kind.ANSWER, answer):
                self.past.retract(connection, copy, by)
        return undone

    def _reopen_dispute(self, connection: Connection, target: int) -> None:
        journal, f, q = self.journal, db.facts.c, db.questions.c
        here = f.stream == journal.stream
        digest = connection.scalar(sa.select(f.digest).where(here, f.number == target))
        joined = db.questions.join(db.facts, (q.stream == f.stream) & (q.number == f.number))
        same = sa.select(q.number).select_from(joined)
        for one in connection.scalars(
            same.where(here, q.state == "disputed", f.digest == digest)
        ).all():
            journal.set_question(one, "open", None)

    def _follow(self, connection: Connection, kind: Kind, number: int) -> list[int]:
        """The questions whose answer followed from this fact."""
        return [target for _, target in self._following(connection, kind, number)]

    def _following(self, connection: Connection, kind: Kind, number: int) -> list[tuple[int, int]]:
        f, journal = db.facts.c, self.journal
        found = db.by_index(sa.select(f.number, f.target), "kind").where(
            f.stream == journal.stream, f.kind == kind, f.number > number, f.answer == number
        )
        following = []
        for fact, target in connection.execute(found.order_by(f.number)).all():
            question = journal.find_question(connection, target)
            if question is not None and (kind is Kind.REMOVAL or question[1] == fact):
                following.append((fact, target))
        return following
