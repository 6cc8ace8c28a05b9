"""Who answers, how fast, and how often as it came to count."""

import json
from collections import defaultdict
from itertools import pairwise

import sqlalchemy as sa
from sqlalchemy import Connection

from headwater.live import database as db
from headwater.live.cards import PersonStatus
from headwater.live.journal import ANSWERED
from headwater.live.replay import History, Kind, label_text
from headwater.types import Label

PAUSE = 600.0
"""Seconds; a longer time between two answers is no work."""


def people_status(connection: Connection, stream: int) -> list[PersonStatus]:
    """Everybody who has answered questions of a stream, by name."""
    history = History.read(connection, stream)
    f, p = db.facts.c, db.people.c
    here = f.stream == stream
    undone = set(
        connection.scalars(
            db.by_index(sa.select(f.answer), "kind").where(
                here, f.kind.in_((Kind.UNDONE, Kind.RETRACTION))
            )
        )
    )
    columns = (f.number, f.kind, f.time, f.target, f.answer, f.person, f.label)
    given = db.by_index(sa.select(*columns), "kind").where(
        here,
        f.kind.in_((Kind.ANSWER, Kind.VOTE)),
        f.person.is_not(None),
        sa.or_(sa.and_(f.kind == Kind.ANSWER, f.answer.is_(None)), f.kind == Kind.VOTE),
    )
    counting = _labels(connection, stream, history)
    times: dict[int, list[float]] = defaultdict(list)
    known: dict[int, list[int]] = defaultdict(lambda: [0, 0])
    agreement: dict[int, dict[Label, list[int]]] = defaultdict(dict)
    for number, kind, when, target, answer, person, text in connection.execute(
        given.order_by(f.number)
    ):
        if number in undone or text is None:
            continue
        times[person].append(when)
        if kind != Kind.VOTE or target not in counting:
            continue
        right = counting[target]
        agreed = label_text(history.named(number, json.loads(text))) == label_text(right)
        counts = known[person] if answer else agreement[person].setdefault(right, [0, 0])
        counts[0] += agreed
        counts[1] += 1
    names = dict(tuple(row) for row in connection.execute(sa.select(p.person, p.name)))
    found = [
        PersonStatus(
            name=names.get(person) or f"person {person}",
            answers=len(moments),
            per_hour=_per_hour(moments),
            first=moments[0],
            last=moments[-1],
            agreement={label: (a, n) for label, (a, n) in agreement[person].items()},
            known=(known[person][0], known[person][1]),
        )
        for person, moments in times.items()
    ]
    return sorted(found, key=lambda one: one.name)


def _per_hour(moments: list[float]) -> float:
    gaps = [b - a for a, b in pairwise(moments) if b - a <= PAUSE]
    seconds = sum(gaps)
    return 3600 * len(gaps) / seconds if seconds > 0 else 0.0


def _labels(connection: Connection, stream: int, history: History) -> dict[int, Label]:
    """The label that counts of every question that has an answer."""
    f, q = db.facts.c, db.questions.c
    joined = db.questions.join(db.facts, (q.stream == f.stream) & (q.answer == f.number))
    found = sa.select(q.number, f.number, f.label).select_from(joined)
    labels: dict[int, Label] = {}
    for target, answer, text in connection.execute(
        found.where(q.stream == stream, q.state.in_(ANSWERED))
    ):
        label = history.label(answer, answer, text)
        if label is not None:
            labels[target] = label
    return labels
