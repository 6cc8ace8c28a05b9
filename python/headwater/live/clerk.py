"""The desk as the writer's thread keeps it: who gets which card, and what becomes of their answers.

What must survive is a fact: an answer, a vote, a skip, an undo, a deadline that has passed. Leases
are in memory.
"""

import json
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection

from headwater.errors import AnswerError
from headwater.live import database as db
from headwater.live.cards import Card, Dispute, event_id, reason
from headwater.live.journal import ANSWERED, SETTLED, Journal
from headwater.live.leases import Leases
from headwater.live.open_questions import OpenQuestion, Vote
from headwater.live.past import Past
from headwater.live.replay import Kind, label_text
from headwater.live.results import Answered
from headwater.live.writer import Call, Refused
from headwater.types import Label

ACTS = (Kind.ANSWER, Kind.VOTE, Kind.SKIP, Kind.UNSURE, Kind.REMOVAL)
"""What people do."""
MANY = 1_000_000


class Clerk:
    """Hands out the open questions of a stream, and takes what people say."""

    def __init__(self, journal: Journal, past: Past) -> None:
        self.journal = journal
        self.past = past
        self.leases = Leases()
        self._coin = random.Random()  # which cards are known ones; it moves no model

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
        self._read_queue(connection)
        self.leases.sweep()
        mine = [one for one in self.leases.of(by) if self._is_here(connection, one, by)][:n]
        n = min(n, self._may_have(connection, by))
        free = self._free(by)
        while len(mine) < n:
            number = self._draw_known(connection, by, mine)
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
        acts = sa.select(sa.func.count()).where(
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
        is_here = number in queue or self._open_known(connection, number, by) is not None
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
        self._read_queue(connection)
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

    def _read_queue(self, connection: Connection) -> None:
        journal = self.journal
        journal.flush(connection)
        journal.queue.read(connection, journal.stream, journal.history)

    # What people say

    def answer(
        self, connection: Connection, target: int, label: Label, by: str | None, key: str
    ) -> Answered:
        """A label; of questions about the same features too."""
        journal = self.journal
        if by is not None:
            known = self._open_known(connection, target, by)
            if known is not None or self._known_before(connection, target, by):
                return self._answer_known(connection, target, label, by, known)
        self.expire(connection)
        state, _ = journal.question(connection, target)
        if state not in ("open", "reopening"):
            return self._answer_again(connection, target, label, by, key, state)
        self._check_free(target, by)
        self._read_queue(connection)
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
        said = f" by {who}" if who is not None and state in ANSWERED else ""
        cure = "; correct puts another label in its place" if state in ANSWERED else ""
        raise Refused(AnswerError(f"answer: question {target} is {state}{said}{cure}."))

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
        self._read_queue(connection)
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

    def disputes(self, connection: Connection) -> list[Dispute]:
        """The questions on which those asked do not agree, oldest first."""
        journal, f, q = self.journal, db.facts.c, db.questions.c
        journal.flush(connection)
        names = {number: name for name, number in journal.people.items()}
        found = sa.select(q.number).where(q.stream == journal.stream, q.state == "disputed")
        disputes = []
        for number in connection.scalars(found.order_by(q.number)).all():
            labels: dict[int, dict[str, Label]] = {}
            acts = sa.select(f.number, f.kind, f.answer, f.person, f.label).where(
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

    # Cards whose answer is known

    def _draw_known(self, connection: Connection, by: str, taken: list[int]) -> int | None:
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
        theirs = sa.select(f.target).where(
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

    def _known_facts(
        self, connection: Connection, target: int, by: str
    ) -> tuple[list[int], list[int]]:
        """The known cards of a question that a person got, and those that were answered."""
        journal, f = self.journal, db.facts.c
        person = journal.people.get(by)
        if person is None:
            return [], []
        journal.flush(connection)
        found = sa.select(f.number, f.kind, f.answer).where(
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

    def _open_known(self, connection: Connection, target: int, by: str) -> int | None:
        """The fact of a known card that a person has not answered yet."""
        if target in self.journal.queue:
            return None
        given, answered = self._known_facts(connection, target, by)
        return next((one for one in given if one not in answered), None)

    def _known_before(self, connection: Connection, target: int, by: str) -> bool:
        return target not in self.journal.queue and bool(
            self._known_facts(connection, target, by)[0]
        )

    def _answer_known(
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

    # Undo

    def undo(
        self, connection: Connection, by: str, since: float, question: int | None = None
    ) -> Answered:
        """Take a person's last act since a moment back; the card is this person's again."""
        journal, f = self.journal, db.facts.c
        journal.flush(connection)
        person = journal.people.get(by)
        acts = sa.select(f.number, f.kind, f.target, f.answer).where(
            f.stream == journal.stream,
            f.person == person,
            f.time >= since,
            f.kind.in_(ACTS),
            f.data.is_(None),  # what settles a dispute is not undone
            sa.or_(f.answer.is_(None), f.kind == Kind.VOTE),
        )
        if question is not None:
            acts = acts.where(f.target == question)
        found = False
        for row in connection.execute(acts.order_by(f.number.desc()).limit(10_000)):
            found = True
            if person is not None and not self._is_undone(connection, row.target, row.number):
                undo = self._undo(connection, Kind(row.kind), row, by, person)
                if undo is not None:
                    self.leases.give(undo.question, by, journal.settings.desk.lease_seconds)
                    return undo
        if question is not None and found:
            state, _ = journal.question(connection, question)
            return Answered(question, question, state, True)
        raise Refused(AnswerError(f"undo: there is nothing of {by} today that can be undone."))

    def _is_undone(self, connection: Connection, target: int, number: int) -> bool:
        f = db.facts.c
        found = sa.select(f.number).where(
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
        if state in ("bad", "expired"):
            return None
        columns = {"target": row.target, "answer": row.number, "person": person}
        number = journal.note(Kind.UNDONE, None, **columns)
        if kind is Kind.VOTE and row.answer is not None:
            return Answered(number, row.target, state, False)
        if kind is Kind.VOTE and state in ANSWERED:
            return self._reopen(connection, row, by, answer)
        if kind is Kind.VOTE and state == "disputed":
            self._reopen_dispute(connection, row.target)
        self._read_queue(connection)
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
        found = sa.select(f.number, f.target).where(
            f.stream == journal.stream, f.kind == kind, f.number > number, f.answer == number
        )
        following = []
        for fact, target in connection.execute(found.order_by(f.number)).all():
            question = journal.find_question(connection, target)
            if question is not None and (kind is Kind.REMOVAL or question[1] == fact):
                following.append((fact, target))
        return following
