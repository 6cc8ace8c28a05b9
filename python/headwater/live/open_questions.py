"""The questions that wait for an answer, in the order in which they are handed out.

Least sure first, then the freshest. Questions about the same features are one card: the oldest of
them is handed out, the others are its copies.
"""

import heapq
import json
from bisect import bisect_left, insort
from collections.abc import Iterator
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy import Connection

from headwater.live import database as db
from headwater.live.cards import event_id, reason
from headwater.live.replay import History, Kind, label_text, read_names
from headwater.types import Id, Label

PAGE = 500


class Vote(NamedTuple):
    """What one of several people said, and the fact that holds it."""

    fact: int
    label: Label


class OpenEvent(NamedTuple):
    """An event that waits for an answer, as a list for colleagues shows it."""

    question: int
    event: Id
    features: dict[Any, Any]
    time: float
    prediction: Label | None
    probability: float | None
    reason: str


class OpenQuestion:
    """A question that waits, and who has dealt with it already."""

    __slots__ = ("acted", "digest", "group", "number", "sure", "time", "votes")

    def __init__(
        self, number: int, time: float, sure: float, digest: int | None, group: str | None
    ) -> None:
        self.number = number
        self.time = time
        self.sure = sure
        self.digest = number if digest is None else digest
        self.group = group
        self.acted: set[int] = set()  # people who skipped it, were unsure or voted
        self.votes: dict[int, Vote] = {}

    @property
    def place(self) -> tuple[float, int]:
        return self.sure, -self.number


class OpenQuestions:
    """All open questions of a stream, as the writer's thread keeps them."""

    def __init__(self) -> None:
        self._all: dict[int, OpenQuestion] = {}
        self._same: dict[int, list[int]] = {}  # questions about the same features, oldest first
        self._order: list[tuple[float, int]] = []  # of those that are handed out
        self._ages: list[int] = []  # a heap, which may hold some that are gone
        self.grouped = 0  # how many name a group
        self._unread: set[int] = set()  # open again; what is known of them is on disk

    def __len__(self) -> int:
        return len(self._all) + len(self._unread)

    def __contains__(self, number: int) -> bool:
        return number in self._all or number in self._unread

    def __getitem__(self, number: int) -> OpenQuestion:
        return self._all[number]

    def cards(self) -> Iterator[OpenQuestion]:
        """What is handed out, in order."""
        return (self._all[-negative] for _, negative in self._order)

    @property
    def count(self) -> int:
        """How many cards there are."""
        return len(self._order)

    def add(self, question: OpenQuestion) -> None:
        self._unread.discard(question.number)
        self._all[question.number] = question
        self.grouped += question.group is not None
        heapq.heappush(self._ages, question.number)
        same = self._same.setdefault(question.digest, [])
        if same and question.number < same[0]:
            self._take_out(self._all[same[0]])
        insort(same, question.number)
        if same[0] == question.number:
            insort(self._order, question.place)

    def reopen(self, number: int) -> None:
        """A question is open again; `read` finds what is known of it."""
        if number not in self._all:
            self._unread.add(number)

    def remove(self, number: int) -> None:
        self._unread.discard(number)
        question = self._all.pop(number, None)
        if question is None:
            return
        self.grouped -= question.group is not None
        same = self._same[question.digest]
        is_first = same[0] == number
        same.remove(number)
        if is_first:
            self._take_out(question)
            if same:
                insort(self._order, self._all[same[0]].place)
        if not same:
            del self._same[question.digest]

    def _take_out(self, question: OpenQuestion) -> None:
        del self._order[bisect_left(self._order, question.place)]

    def same(self, digest: int) -> bool:
        """Whether a question about the same features is open."""
        return digest in self._same

    def copies(self, number: int) -> list[int]:
        """The other open questions about the same features."""
        return [one for one in self._same[self._all[number].digest] if one != number]

    def oldest(self) -> OpenQuestion | None:
        while self._ages and self._ages[0] not in self._all:
            heapq.heappop(self._ages)
        return self._all[self._ages[0]] if self._ages else None

    def rename(self, old: Label, new: Label) -> None:
        """A label is called otherwise."""
        for question in self._all.values():
            for person, (fact, said) in question.votes.items():
                if label_text(said) == label_text(old):
                    question.votes[person] = Vote(fact, new)

    def read(self, connection: Connection, stream: int, history: History) -> None:
        """Read what is known of questions that were opened again."""
        numbers = sorted(self._unread)
        for start in range(0, len(numbers), PAGE):
            self._read(connection, stream, history, numbers[start : start + PAGE])

    @classmethod
    def recover(cls, connection: Connection, stream: int, history: History) -> "OpenQuestions":
        """All open questions of a stream, from its tables."""
        found = cls()
        q = db.questions.c
        waiting = sa.select(q.number).where(q.stream == stream, q.state.in_(("open", "reopening")))
        found._unread = set(connection.scalars(waiting))
        found.read(connection, stream, history)
        return found

    def _read(
        self, connection: Connection, stream: int, history: History, numbers: list[int]
    ) -> None:
        f = db.facts.c
        about = (f.number, f.time, f.margin, f.digest, f.data)
        for number, time, margin, digest, data in connection.execute(
            sa.select(*about).where(f.stream == stream, f.number.in_(numbers))
        ).all():
            group = json.loads(data).get("group") if data else None
            self.add(OpenQuestion(number, time, abs(margin or 0.0), digest, group))
        columns = (f.number, f.kind, f.target, f.answer, f.person, f.label)
        acts = db.by_index(sa.select(*columns), "target").where(
            f.stream == stream,
            f.target.in_(numbers),
            f.kind.in_((Kind.SKIP, Kind.UNSURE, Kind.VOTE, Kind.UNDONE)),
        )
        noted: dict[int, tuple[int, int, Label | None]] = {}
        for number, kind, target, answer, person, label in connection.execute(
            acts.order_by(f.number)
        ):
            if kind == Kind.UNDONE:
                noted.pop(answer, None)
            elif answer is None:  # else the answer was known, and counts for nothing
                said = None if label is None else history.named(number, json.loads(label))
                noted[number] = (target, person, said)
        for number, (target, person, said) in noted.items():
            question = self._all.get(target)
            if question is not None:
                question.acted.add(person)
                if said is not None:
                    question.votes[person] = Vote(number, said)


def read_open(connection: Connection, stream: int, most: int) -> list[OpenEvent]:
    """The open questions in order, those about the same features once."""
    f, b = db.facts.c, db.bodies.c
    history = History.read(connection, stream)
    queue = OpenQuestions.recover(connection, stream, history)
    numbers = [one.number for one in queue.cards()][:most]
    names = read_names(connection, stream)
    joined = db.facts.join(db.bodies, (f.stream == b.stream) & (f.number == b.number))
    columns = (f.number, f.key, f.time, f.prediction, f.probability, f.data, b.body)
    found: dict[int, OpenEvent] = {}
    for start in range(0, len(numbers), PAGE):
        some = f.number.in_(numbers[start : start + PAGE])
        rows = sa.select(*columns).select_from(joined).where(f.stream == stream, some)
        for number, key, time, prediction, p, data, body in connection.execute(rows):
            beside = json.loads(data) if data else {}
            guess = None if prediction is None else json.loads(prediction)
            found[number] = OpenEvent(
                number,
                event_id(number, key),
                names.decode(bytes(body)),
                time,
                None if guess is None else history.named(number, guess),
                beside.get("probability"),
                reason(p, bool(beside.get("reserve"))),
            )
    return [found[number] for number in numbers]
