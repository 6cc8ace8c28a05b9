"""The desk: the questions of a live stream, and those who answer them."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy import Connection

from headwater.errors import ParameterError
from headwater.live import database as db
from headwater.live.cards import Card, Dispute, PersonStatus, QuestionRow, event_id, reason
from headwater.live.checks import checked_label, checked_person, checked_question
from headwater.live.journal import ANSWERED
from headwater.live.live_stream import LiveStream
from headwater.live.people import people_status
from headwater.live.results import Answered
from headwater.types import Label

T = TypeVar("T")
Do = Callable[[Callable[[Connection], Any]], Any]
"""Lets the writer carry out a call, and waits until it is committed."""


class Desk:
    """The questions of a live stream, handed out to people: `plant.desk`.

    People are named by a text. Its verbs may be called from any thread.

    Examples
    --------
    >>> import headwater as hw, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> with hw.live.open(f"{folder.name}/plant.db", learner=hw.PAA()) as plant:
    ...     receipt = plant.receive({"rain": 2.0}, id="monday")
    ...     (card,) = plant.desk.lease("ada")
    ...     print(plant.desk.lease("bob"))  # ada has the only card
    ...     print(plant.desk.answer(card, True, by="ada").state)
    ...     print(plant.desk.undo(by="ada").state, plant.desk.waiting())
    []
    answered
    open 1
    >>> folder.cleanup()
    """

    def __init__(self, live: LiveStream, do: Do) -> None:
        self._live = live
        self._clerk = live.clerk
        self._do = do

    def lease(self, by: str, n: int = 1) -> list[Card]:
        """Up to `n` cards for a person, those that the person holds already first.

        Least sure first, then the freshest; cards of a group that the person has in hand before
        others. No other person gets them until the lease ends (with overlap, as many people as
        that says). An empty list: nothing is open to this person now.
        """
        if isinstance(n, bool) or not isinstance(n, int) or n < 1:
            raise ParameterError(f"desk: n must be a whole number from 1, got {n!r}.")
        name = checked_person(by)
        cards: list[Card] = self._do(lambda c: self._clerk.lease(c, name, n))
        return cards

    def answer(
        self, question: Card | int, label: Label, *, by: str | None, key: str = ""
    ) -> Answered:
        """Say the label of a question, and of open ones about the same features.

        It is learned when the same person goes on, or after `apply_after` seconds. The same
        question, person and key is the same answer sent again; with another key the person who
        answered corrects it. An answer to a question that somebody else has answered, or whose card
        somebody else holds, is an AnswerError.
        """
        target, given = checked_question(question), checked_label(label)
        name = None if by is None else checked_person(by)
        return self._act(lambda c: self._clerk.answer(c, target, given, name, str(key)))

    def skip(self, question: Card | int, *, by: str) -> Answered:
        """Not for me: the question stays open for others."""
        target, name = checked_question(question), checked_person(by)
        return self._act(lambda c: self._clerk.skip(c, target, name))

    def unsure(self, question: Card | int, *, by: str) -> Answered:
        """I do not know: the question stays open for others."""
        target, name = checked_question(question), checked_person(by)
        return self._act(lambda c: self._clerk.unsure(c, target, name))

    def bad(self, question: Card | int, *, by: str) -> Answered:
        """The event should not have come: the model is replayed without it."""
        target, name = checked_question(question), checked_person(by)
        return self._act(lambda c: self._clerk.bad(c, target, name))

    def release(self, question: Card | int, *, by: str) -> Answered:
        """Give a card back, for others or for later; this is no fact."""
        target, name = checked_question(question), checked_person(by)
        return self._act(lambda c: self._clerk.release(c, target, name))

    def undo(self, *, by: str, question: Card | int | None = None) -> Answered:
        """Take this person's last act back: an answer, a skip, an unsure or a bad event.

        Called again it takes back the one before, down to the first of the day. The card is this
        person's again. An AnswerError if there is nothing. With a `question` it takes back the last
        act about that one; sent again it is `repeated` and changes nothing.
        """
        name = checked_person(by)
        target = None if question is None else checked_question(question)
        return self._act(lambda c: self._clerk.undo.last(c, name, self._day_start(), target))

    def settle(self, question: int, label: Label, *, by: str) -> Answered:
        """Say which label counts of a question on which those asked do not agree."""
        target, given, name = checked_question(question), checked_label(label), checked_person(by)
        return self._act(lambda c: self._clerk.disputes.settle(c, target, given, name))

    def disputes(self) -> list[Dispute]:
        """The questions on which those asked do not agree, oldest first."""
        disputes: list[Dispute] = self._do(self._clerk.disputes.listed)
        return disputes

    def rename_class(self, old: Label, new: Label, *, by: str | None = None) -> int:
        """Call a class otherwise in everything so far, or make it one with another.

        For learners with several classes. The model is replayed with the new name; see
        `Loop.wait`. Returns the number of the fact.
        """
        one, other = checked_label(old), checked_label(new)
        number: int = self._do(lambda c: self._live.past.rename(c, one, other, by))
        return number

    def waiting(self, by: str | None = None) -> int:
        """How many cards are open, to anybody or to one person."""
        name = None if by is None else checked_person(by)
        count: int = self._do(lambda c: self._clerk.waiting(c, name))
        return count

    def oldest(self) -> float | None:
        """When the event came whose question waits longest, in seconds since 1970."""
        queue = self._live.journal.queue

        def read(connection: Connection) -> float | None:
            oldest = queue.oldest()
            return None if oldest is None else oldest.time

        time: float | None = self._do(read)
        return time

    def questions(self, state: str | None = "open", limit: int = 100) -> list[QuestionRow]:
        """Questions in a state, or in any (None), the newest first.

        Those that are handed out (`leased`) are among the open ones.
        """
        rows: list[QuestionRow] = self._do(lambda c: self._rows(c, state, limit))
        return rows

    def people(self) -> list[PersonStatus]:
        """Everybody who has answered: pace, agreement with others, cards that were known."""
        journal = self._live.journal
        with self._live.writer.database.reading() as connection:
            return people_status(connection, journal.stream)

    # Parts

    def _act(self, call: Callable[[Connection], Answered]) -> Answered:
        answered: Answered = self._do(call)
        return answered

    def _day_start(self) -> float:
        """When the day began, where the allowance is."""
        journal = self._live.journal
        allowance = journal.settings.allowance
        zone = UTC if allowance is None else allowance.zone
        today = datetime.fromtimestamp(journal.now, zone)
        return datetime(today.year, today.month, today.day, tzinfo=zone).timestamp()

    def _rows(self, connection: Connection, state: str | None, limit: int) -> list[QuestionRow]:
        journal, leases = self._live.journal, self._clerk.leases
        journal.flush(connection)
        q, f = db.questions.c, db.facts.c
        a = db.facts.alias("answers")
        joined = db.questions.join(
            db.facts, (q.stream == f.stream) & (q.number == f.number)
        ).outerjoin(a, (q.stream == a.c.stream) & (q.answer == a.c.number))
        columns = (f.number, f.key, f.time, q.state, f.prediction, f.probability, f.data)
        said = (a.c.number.label("fact"), a.c.label.label("label"), a.c.person.label("person"))
        found = sa.select(*columns, *said).select_from(joined).where(q.stream == journal.stream)
        if state == "leased":
            found = found.where(q.number.in_(self._leased()))
        elif state == "open":
            found = found.where(q.state.in_(("open", "reopening")))
        elif state is not None:
            found = found.where(q.state == state)
        names = {number: name for name, number in journal.people.items()}
        rows = []
        for row in connection.execute(found.order_by(q.number.desc()).limit(limit)):
            holders = leases.holders(row.number)
            data = json.loads(row.data) if row.data else {}
            guess = row.prediction
            label = None
            if row.label is not None and row.state in ANSWERED:
                label = journal.history.label(row.fact, row.fact, row.label)
            rows.append(
                QuestionRow(
                    question=row.number,
                    event=event_id(row.number, row.key),
                    time=row.time,
                    state="leased" if row.state == "open" and holders else row.state,
                    prediction=None
                    if guess is None
                    else journal.history.named(row.number, json.loads(guess)),
                    probability=data.get("probability"),
                    reason=reason(row.probability, bool(data.get("reserve"))),
                    label=label,
                    person=names.get(row.person) if label is not None else (*holders, None)[0],
                )
            )
        return rows

    def _leased(self) -> list[int]:
        leases = self._clerk.leases
        return [one for person in leases.people() for one in leases.of(person)]
