"""Everything that a journal holds about one event."""

import json
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy import Connection

from headwater._core import EventNames
from headwater.errors import NoSuchError
from headwater.live import database as db
from headwater.live.checks import fact_of
from headwater.live.replay import Kind, label_of
from headwater.types import Id, Label, Name

ACTS = (
    *(Kind.ANSWER, Kind.CORRECTION, Kind.RETRACTION, Kind.REMOVAL, Kind.FORGOTTEN),
    *(Kind.SKIP, Kind.UNSURE, Kind.VOTE, Kind.UNDONE, Kind.EXPIRED, Kind.DISPUTED),
)
"""Facts that tell what became of an event."""


class AnswerRecord(NamedTuple):
    """Something that somebody said about an event: an answer, a correction, a retraction.

    Examples
    --------
    >>> AnswerRecord(18, "answer", 1794989608.0, label=True, person="ada").person
    'ada'
    """

    number: int
    kind: str
    time: float
    label: Label | None
    person: str | None


class EventRecord(NamedTuple):
    """An event, what was decided about it, and what people said.

    Examples
    --------
    >>> import headwater as hw, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> with hw.live.open(f"{folder.name}/plant.db", learner=hw.PAA()) as plant:
    ...     question = plant.receive({"rain": 2.0}, id="monday").question
    ...     answered = plant.answer(question, True)
    ...     record = plant.find("monday")
    ...     record.features, record.state, [one.label for one in record.answers]
    ({'rain': 2.0}, 'applied', [True])
    >>> folder.cleanup()
    """

    number: int
    id: Id
    time: float
    features: dict[Name, float | str] | None
    """None once the content is no longer kept."""
    prediction: Label | None
    margin: float
    query_probability: float
    rate: float | None
    asked: bool
    label: Label | None
    """The label that came with it."""
    state: str | None
    """Of its question, if there is one."""
    answers: list[AnswerRecord]


def find_event(
    connection: Connection, stream: int, names: EventNames, event: Id | list[Id]
) -> EventRecord:
    """The record of an event by its id, or by the first of several; `#17` is that of fact 17."""
    ids = event if isinstance(event, list) else [event]
    f, b, q = db.facts.c, db.bodies.c, db.questions.c
    joined = db.facts.outerjoin(db.bodies, (f.stream == b.stream) & (f.number == b.number))
    joined = joined.outerjoin(db.questions, (f.stream == q.stream) & (f.number == q.number))
    found = sa.select(db.facts, b.body, q.state).select_from(joined)
    here = (f.stream == stream) & (f.kind == Kind.EVENT)
    for id in ids:
        fact = fact_of(id)
        which = f.key == json.dumps(id) if fact is None else f.number == fact
        row = connection.execute(found.where(here, which)).first()
        if row is not None:
            return _record(connection, stream, names, row)
    raise NoSuchError(f"live: there is no event {ids[0]!r}.")


def question_of(connection: Connection, stream: int, answer: int) -> int:
    """The question that an answer or a correction, by its number, is about."""
    f = db.facts.c
    kinds = f.kind.in_((Kind.ANSWER, Kind.CORRECTION))
    found = sa.select(f.target).where(f.stream == stream, f.number == answer, kinds)
    target = connection.scalar(found)
    if target is None:
        raise NoSuchError(f"live: there is no answer {answer}.")
    return int(target)


def _record(connection: Connection, stream: int, names: EventNames, row: Any) -> EventRecord:
    f, p = db.facts.c, db.people.c
    columns = (f.number, f.kind, f.time, f.label, p.name, f.person)
    acts = (
        db.by_index(sa.select(*columns), "target")
        .select_from(db.facts.outerjoin(db.people, f.person == p.person))
        .where(f.stream == stream, f.target == row.number, f.kind.in_(ACTS))
        .order_by(f.number)
    )
    answers = [
        AnswerRecord(
            number,
            Kind(kind).name.lower(),
            time,
            label_of(label),
            name if name is not None or person is None else f"person {person}",
        )
        for number, kind, time, label, name, person in connection.execute(acts)
    ]
    return EventRecord(
        row.number,
        f"#{row.number}" if row.key is None else json.loads(row.key),
        row.time,
        None if row.body is None else names.decode(bytes(row.body)),
        label_of(row.prediction),
        row.margin,
        row.probability,
        row.rate,
        bool(row.asked),
        label_of(row.label),
        row.state,
        answers,
    )
