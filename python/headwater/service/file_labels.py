"""What came of labelling a file: a label for every row, and how good the predicted ones are."""

import json
from collections.abc import Callable
from itertools import islice
from typing import Any, NamedTuple

import sqlalchemy as sa

from headwater import live
from headwater.inputs.files import EventFile
from headwater.inputs.random_order import BATCH, RandomOrder
from headwater.inputs.records import EventBatch
from headwater.learners.base import Learner
from headwater.live import Loop, Quality, Reader
from headwater.live import database as db
from headwater.live.replay import Kind
from headwater.service.file_feed import STREAM, LabelledFile, event_id
from headwater.types import Id, Label, Rows

HUNDRED = 100
"""Answers whose effect is measured."""
PROBE = 2_000
"""Rows, drawn at random, on which two models are compared."""
HARDLY = 0.01
"""A change of so few predictions is hardly one."""


class Given(NamedTuple):
    """What somebody said about a row; without a label it is a bad event."""

    label: Label | None
    who: str | None


class Effect(NamedTuple):
    """What the last hundred answers did: the share of rows whose prediction they changed."""

    changed: float
    rows: int

    @property
    def is_small(self) -> bool:
        """Whether another hundred would hardly help, if they do as the last hundred did."""
        return self.changed <= HARDLY


class Outcome(NamedTuple):
    """What came of labelling so far."""

    rows: int
    """Rows of the file."""
    seen: int
    """Rows that are in the stream."""
    answers: int
    people: dict[str, int]
    """Answers by person."""
    open: int
    quality: Quality
    effect: Effect | None
    """None before there are two hundred answers."""


def given_labels(loop: Loop) -> dict[Id, Given]:
    """Every row that somebody has said something about, by the id of its event."""
    asked = loop.status().asked
    rows = loop.desk.questions(None, max(1, asked))
    bad = {one.event: Given(None, one.person) for one in rows if one.state == "bad"}
    return bad | {one.event: Given(one.label, one.person) for one in rows if one.label is not None}


def outcome(loop: Loop, url: str, events: EventFile, file: LabelledFile) -> Outcome:
    """What came of labelling so far."""
    status = loop.status()
    people: dict[str, int] = {}
    given = [one for one in given_labels(loop).values() if one.label is not None]
    for one in given:
        who = one.who or "somebody"
        people[who] = people.get(who, 0) + 1
    effect = None if len(given) < 2 * HUNDRED else _effect(loop.learner, url, events, file)
    return Outcome(
        file.rows,
        status.events,
        len(given),
        people,
        loop.desk.waiting(),
        loop.quality(),
        effect,
    )


def _effect(learner: Learner, url: str, events: EventFile, file: LabelledFile) -> Effect | None:
    """How many predictions the last hundred answers changed, among rows drawn at random.

    The model before them is replayed from the journal. If k of n predictions differ, the share of
    right ones over these rows cannot have changed by more than k/n.
    """
    with live.read(url, STREAM) as reader:
        fact = _fact_before(reader, HUNDRED)
        if fact is None:
            return None
        before = reader.learner(fact)
    # The end of the order: of these rows the fewest were learned.
    rows = RandomOrder(events, file.rows, file.seed).rows(max(0, file.rows - PROBE))
    probe = [one.x for one in islice(rows, PROBE)]
    pairs = zip(before.predict_many(probe), learner.predict_many(probe), strict=True)
    return Effect(sum(one != other for one, other in pairs) / len(probe), len(probe))


def _fact_before(reader: Reader, answers: int) -> int | None:
    """The fact before the last so many answers were learned."""
    f = db.facts.c
    applied = sa.select(f.number).where(f.stream == reader.number, f.kind == Kind.APPLIED)
    with reader.reading() as connection:
        last = connection.scalars(applied.order_by(f.number.desc()).limit(answers)).all()
    return last[-1] - 1 if len(last) == answers else None


def write_labels(
    loop: Loop, events: EventFile, write: Callable[[str], object]
) -> tuple[int, int, int]:
    """Write a line of JSON per row: what was given, what the file says, else what is predicted.

    Returns how many there are of each.
    """
    given = given_labels(loop)
    learner = loop.learner
    counts = {"given": 0, "file": 0, "predicted": 0}
    row = 0
    reader = events.reader()
    while (read := reader.batch(BATCH)) is not None:
        batch = EventBatch(*read)
        rows = Rows(batch.indptr, batch.indices, batch.data, batch.names)
        guesses, chances = list(learner.predict_many(rows)), learner.predict_proba_many(rows)
        lines = []
        for at, (id, label) in enumerate(zip(batch.ids, batch.labels, strict=True)):
            told: dict[str, Any] = {"id": event_id(events, row, id), "row": row}
            said = given.get(told["id"])
            if label is not None:
                told |= {"label": label, "source": "file"}
            elif said is not None:
                told |= {"label": said.label, "source": "given", "who": said.who}
            else:
                guess = _plain(guesses[at]) if learner.learned else None
                told |= {"label": guess, "source": "predicted"}
                if guess is not None:
                    told["probability"] = round(float(chances[at].max()), 6)
            counts[told["source"]] += 1
            lines.append(json.dumps(told, ensure_ascii=False) + "\n")
            row += 1
        write("".join(lines))
    return counts["given"], counts["file"], counts["predicted"]


def _plain(label: Any) -> Any:
    return label.item() if hasattr(label, "item") else label
