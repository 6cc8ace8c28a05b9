"""The model as a function of the journal: facts are replayed in their order, with logged outcomes.

Corrections, retractions, removed and forgotten events and a change of learner change the past. They
are facts too; `History` says what they make of the others. The model of a journal is the run over
its events and applied answers with the labels that count now, and with the outcomes, probabilities
and rates that were logged.
"""

import json
from collections.abc import Iterator
from enum import IntEnum
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy import Connection

from headwater._core import Decision, EventNames
from headwater.errors import AnswerError, LabelError, ParameterError, StepError, TooOldError
from headwater.learners import replication  # noqa: F401, its learners are known by name too
from headwater.learners.base import Learner, learner_classes
from headwater.learners.model_file import read_header, write_header
from headwater.live import database as db
from headwater.live.reported import Chances
from headwater.types import Label

CHUNK = 5_000
"""Facts that are read at once."""


class Kind(IntEnum):
    """What a fact says; the numbers are those of the column `kind`."""

    EVENT = 1
    ANSWER = 2  # somebody has said the label of `target`
    APPLIED = 3  # the model has learned answer `answer` to the event `target`
    CORRECTION = 4  # `answer` should have been `label`
    RETRACTION = 5  # `answer` should not have been
    REMOVAL = 6  # the event `target` should not have come
    FORGOTTEN = 7  # the same, and nothing is left of it
    LEARNER = 8  # `data` is the new learner
    SWAPPED = 9  # the model now contains all changes of the past up to fact `target`
    UPGRADED = 10  # `data`: the arithmetic before and after
    SETTINGS = 11  # `data`: new settings
    SKIP = 12  # `person` does not want the question `target`
    UNSURE = 13  # `person` does not know the answer
    VOTE = 14  # one of several people has said the label; with `answer`, of a card that was known
    UNDONE = 15  # `person` takes the fact `answer` back
    EXPIRED = 16  # the answer to `target` is worth nothing any more; `data`: cards returned
    DISPUTED = 17  # those asked about `target` do not agree
    KNOWN = 18  # `person` gets a card whose answer is known
    RENAMED = 19  # the label `label` is called `data` in everything before
    REPORT = 20  # a replica's report was absorbed: its body; `data` says of which messages


CHANGES = (
    *(Kind.CORRECTION, Kind.RETRACTION, Kind.REMOVAL, Kind.FORGOTTEN, Kind.LEARNER),
    *(Kind.UNDONE, Kind.RENAMED),
)
"""They change the past from the fact `since` on, if they have one."""


class Change(NamedTuple):
    """A fact that changes the past."""

    number: int
    kind: Kind
    target: int | None
    answer: int | None
    since: int
    label: Label | None
    data: str | None


class History:
    """What the changes of the past make of the other facts."""

    def __init__(self, learner: str, changes: list[Change]) -> None:
        self.learner = learner
        self.changes = changes
        self.labels: dict[int, Label] = {}
        self.retracted: set[int] = set()
        self.removed: set[int] = set()
        self._renamed = [one for one in changes if one.kind is Kind.RENAMED]
        for change in changes:
            if change.kind is Kind.CORRECTION and change.answer is not None:
                if change.label is not None:  # none if its event was forgotten
                    self.labels[change.answer] = self.named(change.number, change.label)
            elif change.kind is Kind.UNDONE:
                assert change.target is not None
                self.removed.discard(change.target)
            elif change.kind is Kind.RENAMED:
                pass
            elif change.kind is Kind.RETRACTION and change.answer is not None:
                self.retracted.add(change.answer)
            elif change.kind is Kind.LEARNER:
                assert change.data is not None
                self.learner = change.data
            elif change.target is not None:
                self.removed.add(change.target)

    def named(self, fact: int, label: Label) -> Label:
        """What a label of a fact is called now."""
        for change in self._renamed:
            if change.number > fact and change.label == label and _same_kind(change.label, label):
                renamed = label_of(change.data)
                assert renamed is not None
                label = renamed
        return label

    def label(self, fact: int, answer: int, text: str | None) -> Label | None:
        """The label that counts of an answer that fact `fact` gives as `text`."""
        if answer in self.labels:
            return self.labels[answer]
        return None if text is None else self.named(fact, json.loads(text))

    @property
    def newest(self) -> int:
        """The number of the last change; 0 if there is none."""
        return self.changes[-1].number if self.changes else 0

    def is_contained(self, fact: int, through: int) -> bool:
        """Whether a model of the first `fact` facts with the changes up to `through` is right."""
        return all(change.number <= through or change.since > fact for change in self.changes)

    @classmethod
    def read(cls, connection: Connection, stream: int) -> "History":
        c = db.facts.c
        first = sa.select(db.streams.c.learner).where(db.streams.c.stream == stream)
        columns = (c.number, c.kind, c.target, c.answer, c.since, c.label, c.data)
        found = db.by_index(sa.select(*columns), "kind").where(
            c.stream == stream, c.kind.in_(CHANGES), c.since.is_not(None)
        )
        changes = [
            Change(row[0], Kind(row[1]), *row[2:5], label_of(row[5]), row[6])
            for row in connection.execute(found.order_by(c.number))
        ]
        return cls(connection.scalars(first).one(), changes)


class Replayer:
    """A learner on its way through the facts of a stream.

    Parameters
    ----------
    learner
        The learner as it was after fact `position`.
    """

    def __init__(
        self,
        stream: int,
        learner: Learner,
        position: int,
        history: History,
    ) -> None:
        self.stream = stream
        self.learner = learner
        self.start = self.position = position
        self.history = history
        self.open: dict[int, Decision] = {}
        self.refused: dict[int, str] = {}  # events whose answer the learner could not take
        self.applied: set[int] = set()  # events whose answer it learned
        self._names = EventNames()
        self._connection: Connection
        self._takes_rate = takes_rate(learner)
        self._labelled: set[int] = set()

    def catch_up(
        self, connection: Connection, to: int | None = None, names: EventNames | None = None
    ) -> int:
        """Replay the facts that are there by now, up to `to`; return how many.

        `names` is a newer table of names, if there is one.
        """
        before = self.position
        self._connection = connection
        self._names = names or read_names(connection, self.stream)
        c = db.facts.c
        applied = db.by_index(sa.select(c.target), "kind").where(
            c.stream == self.stream, c.kind == Kind.APPLIED, c.number > self.position
        )
        self._labelled = set(connection.scalars(applied))
        for row in read_facts(connection, self.stream, self.position, to):
            self._replay(*row)
        return self.position - before

    def _replay(
        self,
        number: int,
        kind: int,
        target: int | None,
        answer: int | None,
        label: str | None,
        asked: bool | None,
        probability: float | None,
        rate: float | None,
        time: float,
        data: str | None,
        body: bytes | None,
    ) -> None:
        self.position = number
        if kind == Kind.REPORT:
            if body is None:
                raise TooOldError(
                    f"live: the report of fact {number} is no longer kept, so the model cannot be"
                    " replayed from before it; keep_events says how long it is."
                )
            self.learner.absorb([bytes(body)])
        elif kind == Kind.EVENT:
            if number in self.history.removed or report_of(data) is not None:
                return  # a replica decided on it: its frozen inputs are in its row
            if body is None:
                raise TooOldError(
                    f"live: the event of fact {number} is no longer kept, so the model cannot be"
                    " replayed from before it; keep_events says how long events are kept."
                )
            event = self._names.decode(bytes(body))
            outcome = (bool(asked), probability or 0.0)
            rate = rate if self._takes_rate else None
            if self.learner.track:
                self.learner.tell_time(time)
            decision = self.learner.decide_one(event, rate=rate, outcome=outcome)
            if label is not None:
                told = self.history.label(number, number, label)
                if number not in self.history.retracted and told is not None:
                    self._learn(number, decision, told)
            elif asked or number in self._labelled:
                self.open[number] = decision
        elif kind == Kind.APPLIED:
            assert target is not None
            assert answer is not None
            if answer in self.history.retracted or target in self.history.removed:
                return
            if target in self.open:
                decided = self.open.pop(target)
            else:
                decided = fetch_decision(self._connection, self.stream, target, self._names)
            given = self.history.label(number, answer, label)
            assert given is not None
            self._learn(target, decided, given, weight_of(data))

    def _learn(
        self, number: int, decision: Decision, label: Label, weight: float | None = None
    ) -> None:
        try:
            self.learner.answer(decision, label, weight=weight)
            self.applied.add(number)
        except (AnswerError, LabelError, StepError) as error:
            self.refused[number] = str(error)


def fetch_decision(connection: Connection, stream: int, number: int, names: EventNames) -> Decision:
    """The decision about an event, from its row."""
    d, b = db.decisions.c, db.bodies.c
    joined = db.decisions.join(db.bodies, (d.stream == b.stream) & (d.number == b.number))
    found = sa.select(d.decision, b.body).select_from(joined)
    row = connection.execute(found.where(d.stream == stream, d.number == number)).first()
    if row is None:
        raise TooOldError(
            f"live: what an answer to the event of fact {number} needs is no longer kept;"
            " answer_within and keep_events say how long it is."
        )
    return Decision.from_bytes(bytes(row.decision), names.decode(bytes(row.body)))


def read_names(connection: Connection, stream: int) -> EventNames:
    """The names of a stream's events."""
    n = db.names.c
    rows = connection.execute(sa.select(n.number, n.name).where(n.stream == stream))
    return EventNames([(number, json.loads(name)) for number, name in rows])


def read_facts(
    connection: Connection, stream: int, after: int, to: int | None = None
) -> Iterator[Any]:
    """The events, reports and applied answers after a fact, in their order, with their bodies."""
    f, b = db.facts.c, db.bodies.c
    joined = db.facts.outerjoin(db.bodies, (f.stream == b.stream) & (f.number == b.number))
    columns = (
        f.number,
        f.kind,
        f.target,
        f.answer,
        f.label,
        f.asked,
        f.probability,
        f.rate,
        f.time,
        f.data,
    )
    # A plain text: rows come as tuples, without SQLAlchemy's own rows, which cost more than replay.
    text = sa.select(*columns, b.body).select_from(joined)
    text = text.where(f.stream == stream, f.kind.in_((Kind.EVENT, Kind.APPLIED, Kind.REPORT)))
    while True:
        page = text.where(f.number > after).order_by(f.number).limit(CHUNK)
        if to is not None:
            page = page.where(f.number <= to)
        rows = connection.execute(page).fetchall()
        yield from rows
        if len(rows) < CHUNK:
            return
        after = rows[-1][0]


def _same_kind(one: Label, other: Label) -> bool:
    """True and 1 are two labels."""
    return isinstance(one, bool) == isinstance(other, bool)


def first_fact(connection: Connection, stream: int, time: float) -> int:
    """The number of the first fact at a time or later; one more than the last if there is none.

    The times of facts never run backwards, so it is found by bisection.
    """
    c = db.facts.c
    here = c.stream == stream
    low, high = 1, 1 + (connection.scalar(sa.select(sa.func.max(c.number)).where(here)) or 0)
    when = sa.select(c.time).where(here, c.number == sa.bindparam("middle"))
    while low < high:
        middle = (low + high) // 2
        if connection.scalars(when, {"middle": middle}).one() >= time:
            high = middle
        else:
            low = middle + 1
    return low


def weight_of(data: str | None) -> float | None:
    """The weight that the fact of an applied answer gives it; None: that of its decision."""
    return None if data is None else json.loads(data)["weight"]


def read_chances(
    connection: Connection, stream: int, first: int = 1, end: int | None = None
) -> Chances | None:
    """What deciders told of all their events, in reports from one fact to before another.

    None where the learner itself decides.
    """
    f = db.facts.c
    found = db.by_index(sa.select(f.data), "kind").where(
        f.stream == stream, f.kind == Kind.REPORT, f.number >= first
    )
    if end is not None:
        found = found.where(f.number < end)
    told = [json.loads(data) for data in connection.scalars(found)]
    if not told:
        return None
    sums = [sum(one[name] for one in told) for name in ("events", "reached", "inverse")]
    return Chances(sums[0], told[-1]["rate"], sums[1], sums[2], min(one["lowest"] for one in told))


def report_of(data: str | None) -> int | None:
    """The fact of the report that an event came with; None if the learner itself decided on it."""
    return None if data is None else json.loads(data).get("report")


def label_of(text: str | None) -> Label | None:
    return None if text is None else json.loads(text)


def label_text(label: Label) -> str:
    return json.dumps(label, ensure_ascii=False)


def header_of(learner: Learner) -> str:
    """A learner's class and parameters, as a journal keeps them."""
    return write_header(type(learner).__name__, learner.parameters())


def learner_of(header: str) -> Learner:
    """A fresh learner of this class and these parameters."""
    name, parameters, _ = read_header(header)
    try:
        return learner_classes()[name](**parameters)
    except KeyError:
        raise ParameterError(f"live: there is no learner {name!r} here; import it first.") from None


def takes_rate(learner: Learner) -> bool:
    """Whether its query rule can be given a rate for each event."""
    try:
        learner_of(header_of(learner)).decide_one({}, rate=0.0)
    except ParameterError:
        return False
    return True
