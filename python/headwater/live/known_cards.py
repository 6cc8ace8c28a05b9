"""Cards whose answer is known: they measure those who answer, and no model learns from them."""

import random

import sqlalchemy as sa
from sqlalchemy import Connection

from headwater.live import database as db
from headwater.live.journal import Journal
from headwater.live.leases import Leases
from headwater.live.replay import Kind, label_text
from headwater.live.results import Answered
from headwater.types import Label


class KnownCards:
    """Draws cards that somebody else has answered, on the writer's thread."""

    def __init__(self, journal: Journal, leases: Leases) -> None:
        self.journal = journal
        self.leases = leases
        self._coin = random.Random()  # it moves no model

    def draw(self, connection: Connection, by: str, taken: list[int]) -> int | None:
        """Perhaps a card that somebody else has answered, for this person to answer too."""
        journal = self.journal
        share = journal.settings.desk.known_share
        spending = journal.spending
        if share <= 0 or self._coin.random() >= share:
            return None
        if spending is not None and spending.left(journal.now) == 0:
            return None
        person = journal.person(connection, by)
        assert person is not None
        q, f, b = db.questions.c, db.facts.c, db.bodies.c
        journal.flush(connection)
        theirs = db.by_index(sa.select(f.target), "person").where(
            f.stream == journal.stream,
            f.person == person,
            f.kind.in_((Kind.ANSWER, Kind.VOTE, Kind.KNOWN)),
        )
        joined = db.questions.join(db.bodies, (q.stream == b.stream) & (q.number == b.number))
        found = (
            sa.select(q.number)
            .select_from(joined)
            .where(
                q.stream == journal.stream,
                q.state.in_(("applied", "settled")),
                q.number.not_in(theirs),
            )
            .order_by(q.number.desc())
            .limit(1_000)
        )
        numbers = [one for one in connection.scalars(found) if one not in taken]
        if not numbers:
            return None
        number: int = self._coin.choice(numbers)
        journal.note(Kind.KNOWN, None, target=number, person=person)
        if spending is not None:
            spending.opened(journal.time, 1)
        return number

    def _facts(self, connection: Connection, target: int, by: str) -> tuple[list[int], list[int]]:
        """The known cards of a question that a person got, and those that were answered."""
        journal, f = self.journal, db.facts.c
        person = journal.people.get(by)
        if person is None:
            return [], []
        journal.flush(connection)
        found = db.by_index(sa.select(f.number, f.kind, f.answer), "target").where(
            f.stream == journal.stream,
            f.target == target,
            f.person == person,
            f.kind.in_((Kind.KNOWN, Kind.VOTE, Kind.UNDONE)),
        )
        given: list[int] = []
        votes: dict[int, int] = {}
        for number, kind, answer in connection.execute(found.order_by(f.number)):
            if kind == Kind.KNOWN:
                given.append(number)
            elif kind == Kind.VOTE and answer is not None:
                votes[number] = answer
            elif kind == Kind.UNDONE:
                votes.pop(answer, None)
        return given, list(votes.values())

    def waiting(self, connection: Connection, target: int, by: str) -> int | None:
        """The fact of a known card that a person has not answered yet."""
        if target in self.journal.queue:
            return None
        given, answered = self._facts(connection, target, by)
        return next((one for one in given if one not in answered), None)

    def was_given(self, connection: Connection, target: int, by: str) -> bool:
        return target not in self.journal.queue and bool(self._facts(connection, target, by)[0])

    def set_aside(
        self, connection: Connection, kind: Kind, target: int, by: str, state: str
    ) -> Answered | None:
        """Somebody skips a known card, like any other; None if it is none."""
        known = self.waiting(connection, target, by)
        if known is None:
            return None
        person = self.journal.person(connection, by)
        number = self.journal.note(kind, None, target=target, person=person, answer=known)
        self.leases.end(target, by)
        return Answered(number, target, state, False)

    def answer(
        self, connection: Connection, target: int, label: Label, by: str, known: int | None
    ) -> Answered:
        """It tells about the person, and the model does not learn it."""
        journal = self.journal
        state, _ = journal.question(connection, target)
        if known is None:
            return Answered(0, target, state, True)
        journal.check_label(label)
        person = journal.person(connection, by)
        journal.apply_held_of(connection, person)
        said = {"target": target, "person": person, "label": label_text(label)}
        number = journal.note(Kind.VOTE, None, answer=known, **said)
        self.leases.end(target, by)
        return Answered(number, target, state, False)
