"""The desk as the writer's thread keeps it: who gets which card, and what becomes of their answers.

What must survive is a fact: an answer, a vote, a skip, an undo, a deadline that has passed. Leases
are in memory.
"""

import json
from collections import Counter
from collections.abc import Iterator

import sqlalchemy as sa
from sqlalchemy import Connection

from headwater.errors import AnswerError
from headwater.live import database as db
from headwater.live.cards import Card, event_id, reason
from headwater.live.disputes import Disputes
from headwater.live.journal import ANSWERED, Journal
from headwater.live.known_cards import KnownCards
from headwater.live.leases import Leases
from headwater.live.open_questions import OpenQuestion, Vote
from headwater.live.past import Past
from headwater.live.replay import Kind, label_text
from headwater.live.results import Answered
from headwater.live.undo import ACTS, Undo
from headwater.live.writer import Call, Refused
from headwater.types import Label

MANY = 1_000_000


class Clerk:
    """Hands out the open questions of a stream, and takes what people say."""

    def __init__(self, journal: Journal, past: Past) -> None:
        self.journal = journal
        self.past = past
        self.leases = Leases()
        self.known = KnownCards(journal, self.leases)
        self.disputes = Disputes(journal)
        self.undo = Undo(journal, past, self.leases)

    # Time

    def due(self) -> list[Call]:
        """To be done: questions whose deadline has passed, or that are too many."""
        return [self.expire] if self._oldest_due() is not None else []

    def expire(self, connection: Connection) -> None:
        while (question := self._oldest_due()) is not None:
            self._expire(question)

    def _oldest_due(self) -> OpenQuestion | None:
        settings, queue = self.journal.settings.desk, self.journal.queue
        oldest = queue.oldest()
        if oldest is None:
            return None
        late = settings.deadline is not None and oldest.time + settings.deadline <= self.journal.now
        return oldest if late or len(queue) > settings.most_open else None

    def _expire(self, question: OpenQuestion) -> None:
        journal, number = self.journal, question.number
        alone = not journal.queue.copies(number)
        returned = max(0, journal.settings.desk.overlap - len(question.votes)) if alone else 0
        journal.note(Kind.EXPIRED, None, target=number, data=json.dumps(returned))
        if journal.spending is not None:
            journal.spending.returned(journal.time, returned)
        journal.set_question(number, "expired", None)
        journal.open.pop(number, None)
        self.leases.end(number)

    # Cards

    def lease(self, connection: Connection, by: str, n: int) -> list[Card]:
        """Cards for a person: first those that the person holds, then the most useful ones."""
        self.expire(connection)
        journal, settings = self.journal, self.journal.settings.desk
        self.journal.read_queue(connection)
        self.leases.sweep()
        mine = [one for one in self.leases.of(by) if self._is_here(connection, one, by)][:n]
        n = min(n, self._may_have(connection, by))
        free = self._free(by)
        while len(mine) < n:
            number = self.known.draw(connection, by, mine)
            if number is None:
                question = next(free, None)
                if question is None:
                    break
                number = question.number
            mine.append(number)
        for number in mine:
            self.leases.give(number, by, settings.lease_seconds)
        journal.flush(connection)
        return self._cards(connection, mine, by)

    def _may_have(self, connection: Connection, by: str) -> int:
        """How many cards a person may hold now, by the hours and the person's allowance."""
        journal = self.journal
        allowance, now = journal.settings.allowance, journal.now
        if allowance is None:
            return MANY
        if not allowance.is_open(now):
            return 0
        person = journal.people.get(by)
        if allowance.per_person_per_hour is None or person is None:
            return allowance.per_person_per_hour or MANY
        f = db.facts.c
        acts = db.by_index(sa.select(sa.func.count()).select_from(db.facts), "person").where(
            f.stream == journal.stream,
            f.person == person,
            f.time >= now // 3600 * 3600,
            f.kind.in_(ACTS),
            sa.or_(f.answer.is_(None), f.kind == Kind.VOTE),
        )
        return max(0, allowance.per_person_per_hour - (connection.scalar(acts) or 0))

    def _is_here(self, connection: Connection, number: int, by: str) -> bool:
        """Whether a card that a person holds can still be answered."""
        queue = self.journal.queue
        is_here = number in queue or self.known.waiting(connection, number, by) is not None
        if not is_here:
            self.leases.end(number, by)
        return is_here

    def _free(self, by: str) -> Iterator[OpenQuestion]:
        """The cards that a person could get, best first: those of the groups in hand before
        others, and those of groups that somebody else has in hand last."""
        queue, leases = self.journal.queue, self.leases
        taken = set(leases.of(by))
        if not queue.grouped:
            for question in queue.cards():
                if question.number not in taken and self._is_open_to(question, by):
                    yield question
            return
        mine = {queue[one].group for one in leases.of(by) if one in queue}
        theirs = {
            queue[one].group
            for person in leases.people()
            if person != by
            for one in leases.of(person)
            if one in queue
        }
        mine, theirs = mine - {None}, theirs - mine - {None}
        open_to = [one for one in queue.cards() if self._is_open_to(one, by)]
        open_to.sort(key=lambda one: (one.group in theirs) - (one.group in mine))
        for question in open_to:
            if question.number not in taken:
                yield question
                if question.group is not None:
                    yield from self._of_group(question, open_to, taken)

    def _of_group(
        self, first: OpenQuestion, cards: list[OpenQuestion], taken: set[int]
    ) -> Iterator[OpenQuestion]:
        taken.add(first.number)
        for question in cards:
            if question.group == first.group and question.number not in taken:
                taken.add(question.number)
                yield question

    def _is_open_to(self, question: OpenQuestion, by: str) -> bool:
        person = self.journal.people.get(by)
        if person is not None and person in question.acted:
            return False
        others = sum(holder != by for holder in self.leases.holders(question.number))
        return others + len(question.votes) < self.journal.settings.desk.overlap

    def waiting(self, connection: Connection, by: str | None) -> int:
        """How many cards are open, to anybody or to one person."""
        self.journal.read_queue(connection)
        queue = self.journal.queue
        if by is None:
            return queue.count
        return sum(self._is_open_to(one, by) for one in queue.cards())

    def _cards(self, connection: Connection, numbers: list[int], by: str) -> list[Card]:
        journal, f, b = self.journal, db.facts.c, db.bodies.c
        joined = db.facts.join(db.bodies, (f.stream == b.stream) & (f.number == b.number))
        columns = (f.number, f.key, f.time, f.prediction, f.probability, f.data, b.body)
        found = sa.select(*columns).select_from(joined)
        rows = {
            row.number: row
            for row in connection.execute(
                found.where(f.stream == journal.stream, f.number.in_(numbers))
            )
        }
        cards = []
        for number in numbers:
            row = rows[number]
            data = json.loads(row.data) if row.data else {}
            cards.append(
                Card(
                    question=number,
                    event=event_id(number, row.key),
                    features=journal.names.decode(bytes(row.body)),
                    time=row.time,
                    group=data.get("group"),
                    classes=list(journal.learner.labels),
                    prediction=self._served(number, row.prediction),
                    probability=data.get("probability"),
                    reason=reason(row.probability, bool(data.get("reserve"))),
                    copies=len(journal.queue.copies(number)) if number in journal.queue else 0,
                    expires=journal.clock() + self.leases.left(number, by),
                )
            )
        return cards

    def _served(self, number: int, prediction: str | None) -> Label | None:
        if prediction is None:
            return None
        return self.journal.history.named(number, json.loads(prediction))

    # What people say

    def answer(
        self, connection: Connection, target: int, label: Label, by: str | None, key: str
    ) -> Answered:
        """A label; of questions about the same features too."""
        journal = self.journal
        if by is not None:
            known = self.known.waiting(connection, target, by)
            if known is not None or self.known.was_given(connection, target, by):
                return self.known.answer(connection, target, label, by, known)
        self.expire(connection)
        state, _ = journal.question(connection, target)
        if state not in ("open", "reopening"):
            return self._answer_again(connection, target, label, by, key, state)
        self._check_free(target, by)
        self.journal.read_queue(connection)
        if journal.settings.desk.overlap > 1:
            return self._vote(connection, target, label, by, key)
        copies = journal.queue.copies(target)
        answered = journal.answer(connection, target, label, by, key)
        assert answered is not None  # it was open
        if not answered.repeated:
            self._answer_copies(connection, answered, copies, label, by)
        return answered

    def _answer_copies(
        self,
        connection: Connection,
        answered: Answered,
        copies: list[int],
        label: Label,
        by: str | None,
    ) -> None:
        journal = self.journal
        person = journal.person(connection, by)
        self.leases.end(answered.question)
        for copy in copies:
            self.leases.end(copy)
            journal.take(connection, copy, label, person, answer=answered.number)

    def _answer_again(
        self,
        connection: Connection,
        target: int,
        label: Label,
        by: str | None,
        key: str,
        state: str,
    ) -> Answered:
        """The same answer once more, or another one by the same person, which corrects it."""
        journal = self.journal
        person = journal.person(connection, by)
        for mark in ("a", "v"):
            known = journal.find_key(connection, f"{mark}/{target}/{person or 0}/{key}")
            if known is not None:
                self._check_same(known, label)
                return Answered(known[0], target, state, True)
        given = self._answered_by(connection, target)
        if state in ANSWERED and person is not None and given == person:
            return self.past.correct(connection, target, label, by, key)
        who = next((name for name, one in journal.people.items() if one == given), None)
        if state not in ANSWERED:
            raise Refused(AnswerError(f"answer: question {target} is {state}, not open."))
        said = "" if who is None else f" by {who}"
        raise Refused(
            AnswerError(
                f"answer: question {target} was answered{said}; correct puts another label in the"
                " place of an answer."
            )
        )

    def _check_same(self, known: tuple[int, str | None], label: Label) -> None:
        if known[1] != label_text(label):
            raise Refused(
                AnswerError(
                    f"answer: fact {known[0]} is an answer by the same person and key with another"
                    " label; use correct, or another key."
                )
            )

    def _answered_by(self, connection: Connection, target: int) -> int | None:
        f, journal = db.facts.c, self.journal
        answer = journal.question(connection, target)[1]
        found = sa.select(f.person).where(f.stream == journal.stream, f.number == answer)
        person: int | None = connection.scalar(found)
        return person

    def _check_free(self, target: int, by: str | None) -> None:
        """Refuse an answer to a card that somebody else holds."""
        holders = self.leases.holders(target)
        if by in holders or len(holders) < self.journal.settings.desk.overlap:
            return
        raise Refused(
            AnswerError(f"answer: question {target} is with {holders[0]}, who holds its card.")
        )

    def skip(self, connection: Connection, target: int, by: str) -> Answered:
        return self._set_aside(connection, Kind.SKIP, target, by, "skipped")

    def unsure(self, connection: Connection, target: int, by: str) -> Answered:
        return self._set_aside(connection, Kind.UNSURE, target, by, "unsure")

    def _set_aside(
        self, connection: Connection, kind: Kind, target: int, by: str, state: str
    ) -> Answered:
        """The question stays open for others."""
        known = self.known.set_aside(connection, kind, target, by, state)
        if known is not None:
            return known
        journal = self.journal
        question, person = self._open_to(connection, target, by)
        if person in question.acted:
            raise Refused(AnswerError(f"{by} has dealt with question {target}; undo that first."))
        number = journal.note(kind, None, target=target, person=person)
        question.acted.add(person)
        self.leases.end(target, by)
        return Answered(number, target, state, False)

    def bad(self, connection: Connection, target: int, by: str) -> Answered:
        """The event should not have come, and neither those with the same features that wait."""
        known = self.known.set_aside(connection, Kind.SKIP, target, by, "bad")
        if known is not None:  # what has been learned stays
            return known
        self._open_to(connection, target, by)
        copies = self.journal.queue.copies(target)
        number = self.past.remove(connection, target, by)
        for copy in copies:
            self.past.remove(connection, copy, by, answer=number)
        for one in (target, *copies):
            self.leases.end(one)
        return Answered(number, target, "bad", False)

    def release(self, connection: Connection, target: int, by: str) -> Answered:
        state, _ = self.journal.question(connection, target)
        self.leases.end(target, by)
        return Answered(0, target, state, False)

    def _open_to(self, connection: Connection, target: int, by: str) -> tuple[OpenQuestion, int]:
        """An open question and the number of a person who may deal with it."""
        self.expire(connection)
        journal = self.journal
        state, _ = journal.question(connection, target)
        if state not in ("open", "reopening"):
            raise Refused(AnswerError(f"answer: question {target} is {state}, not open."))
        self._check_free(target, by)
        self.journal.read_queue(connection)
        person = journal.person(connection, by)
        assert person is not None
        return journal.queue[target], person

    # Several people per question

    def _vote(
        self, connection: Connection, target: int, label: Label, by: str | None, key: str
    ) -> Answered:
        journal = self.journal
        if by is None:
            raise Refused(
                AnswerError("answer: with overlap an answer must say by whom it is: by=...")
            )
        question, person = self._open_to(connection, target, by)
        full_key = f"v/{target}/{person}/{key}"
        known = journal.find_key(connection, full_key)
        if known is not None:
            self._check_same(known, label)
            return Answered(known[0], target, "open", True)
        if person in question.votes:
            raise Refused(AnswerError(f"{by} has answered question {target}; undo that first."))
        journal.check_label(label)
        journal.apply_held_of(connection, person)
        columns = {"target": target, "person": person, "label": label_text(label)}
        number = journal.note(Kind.VOTE, None, key=full_key, **columns)
        question.votes[person] = Vote(number, label)
        question.acted.add(person)
        self.leases.end(target, by)
        return Answered(number, target, self._decide(connection, question, number, person), False)

    def _decide(
        self, connection: Connection, question: OpenQuestion, vote: int, person: int
    ) -> str:
        """Once all have voted: the majority's label counts, or it is a dispute."""
        journal, target = self.journal, question.number
        overlap = journal.settings.desk.overlap
        if len(question.votes) < overlap:
            return "open"
        counts = Counter(label_text(one.label) for one in question.votes.values())
        text, most = counts.most_common(1)[0]
        copies = journal.queue.copies(target)
        if 2 * most <= len(question.votes):
            for one in (target, *copies):
                journal.note(Kind.DISPUTED, None, target=one)
                journal.set_question(one, "disputed", None)
            return "disputed"
        label: Label = json.loads(text)
        taken = journal.take(connection, target, label, person, answer=vote)
        for copy in copies:
            journal.take(connection, copy, label, person, answer=taken.number)
        return taken.state
