"""Questions on which those asked do not agree."""

import json
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection

from headwater.errors import AnswerError
from headwater.live import database as db
from headwater.live.cards import Dispute, event_id
from headwater.live.journal import SETTLED, Journal
from headwater.live.replay import Kind
from headwater.live.results import Answered
from headwater.live.writer import Refused
from headwater.types import Label


class Disputes:
    """Lists and settles disputes, on the writer's thread."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal

    def settle(self, connection: Connection, target: int, label: Label, by: str) -> Answered:
        """Say what counts in a dispute, of questions about the same features too."""
        journal, f, q = self.journal, db.facts.c, db.questions.c
        state, _ = journal.question(connection, target)
        if state != "disputed":
            raise Refused(AnswerError(f"settle: question {target} is {state}, not disputed."))
        journal.check_label(label)
        person = journal.person(connection, by)
        journal.flush(connection)
        here = f.stream == journal.stream
        digest = connection.scalar(sa.select(f.digest).where(here, f.number == target))
        joined = db.questions.join(db.facts, (q.stream == f.stream) & (q.number == f.number))
        same = sa.select(q.number).select_from(joined)
        copies = connection.scalars(
            same.where(here, q.state == "disputed", f.digest == digest, q.number != target)
        ).all()
        key = f"a/{target}/{person}/{SETTLED}"
        if journal.find_key(connection, key) is not None:
            key = f"{key}/{journal.head}"  # it was settled, reopened and disputed again
        taken = journal.take(connection, target, label, person, key=key, settled=True)
        for copy in copies:
            journal.take(connection, copy, label, person, answer=taken.number, settled=True)
        return taken

    def listed(self, connection: Connection) -> list[Dispute]:
        """The questions on which those asked do not agree, oldest first."""
        journal, f, q = self.journal, db.facts.c, db.questions.c
        journal.flush(connection)
        names = {number: name for name, number in journal.people.items()}
        found = sa.select(q.number).where(q.stream == journal.stream, q.state == "disputed")
        disputes = []
        for number in connection.scalars(found.order_by(q.number)).all():
            labels: dict[int, dict[str, Label]] = {}
            columns = (f.number, f.kind, f.answer, f.person, f.label)
            acts = db.by_index(sa.select(*columns), "target").where(
                f.stream == journal.stream,
                f.target == number,
                f.kind.in_((Kind.VOTE, Kind.UNDONE)),
            )
            for fact, kind, answer, person, text in connection.execute(acts.order_by(f.number)):
                if kind == Kind.UNDONE:
                    labels.pop(answer, None)
                elif answer is None:
                    who = names.get(person) or f"person {person}"
                    labels[fact] = {who: journal.history.named(fact, json.loads(text))}
            if labels:  # none if it is a copy
                body, key = self._event(connection, number)
                votes = {who: said for one in labels.values() for who, said in one.items()}
                disputes.append(Dispute(number, event_id(number, key), body, votes))
        return disputes

    def _event(self, connection: Connection, number: int) -> tuple[dict[Any, Any], str | None]:
        journal, f, b = self.journal, db.facts.c, db.bodies.c
        joined = db.facts.join(db.bodies, (f.stream == b.stream) & (f.number == b.number))
        found = sa.select(f.key, b.body).select_from(joined)
        row = connection.execute(found.where(f.stream == journal.stream, f.number == number)).one()
        return journal.names.decode(bytes(row.body)), row.key
