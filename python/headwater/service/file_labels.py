"""What came of labelling a file: a label for every row, and how good the predicted ones are."""

import json
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
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
"""Rows, drawn at random, that the models are compared on."""
HARDLY = 0.005
"""A gain of so few right labels is hardly one."""
MOST_QUESTIONS = 2**31
MOST_POINTS = 8
"""Models of the past that a curve is drawn through."""
POWERS = (0.25, 0.5, 1.0, 2.0)
"""How fast errors may fall with the number of answers: as its power."""


class Given(NamedTuple):
    """What somebody said about a row; without a label it is a bad event."""

    label: Label | None
    who: str | None


class Effect(NamedTuple):
    """What the last hundred answers did, and what another hundred would do."""

    changed: float
    """The share of rows whose prediction the last hundred answers changed."""
    gain: float
    """The share of rows whose label another hundred would correct, by the curve so far."""

    @property
    def is_small(self) -> bool:
        """Whether another hundred would hardly help."""
        return self.gain <= HARDLY


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

    @property
    def is_labelled(self) -> bool:
        """Whether the file had all its labels already."""
        return self.seen == self.rows and not self.answers and not self.open


def given_labels(loop: Loop) -> dict[Id, Given]:
    """Every row that somebody has said something about, by the id of its event."""
    rows = loop.desk.questions(None, MOST_QUESTIONS)
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
    effect = None
    if len(given) >= 2 * HUNDRED:
        # The end of the order: of these rows the fewest were learned.
        rows = RandomOrder(events, file.rows, file.seed).rows(max(0, file.rows - PROBE))
        effect = effect_of_answers(loop.learner, url, [one.x for one in islice(rows, PROBE)])
    return Outcome(
        file.rows,
        status.events,
        len(given),
        people,
        loop.desk.waiting(),
        loop.quality(),
        effect,
    )


def effect_of_answers(learner: Learner, url: str, probe: list[dict[Any, float]]) -> Effect | None:
    """What answers did to the predictions of these rows, and will do.

    Models of the past are replayed from the journal. The probabilities of the model of now say how
    many errors each of them made: one point of a curve per model.
    """
    now = np.asarray(learner.predict_many(probe))
    chances, labels = learner.predict_proba_many(probe), list(learner.labels)
    place = {label: at for at, label in enumerate(labels)}
    points: list[tuple[int, float]] = []
    changed = 0.0
    with live.read(url, STREAM) as reader:
        facts = _learned_facts(reader)
        for answers in curve_points(len(facts)):
            then = learner if answers == len(facts) else reader.learner(facts[answers - 1])
            said = np.asarray(then.predict_many(probe))
            columns = [place[_plain(one)] for one in said]
            points.append((answers, float(1 - chances[np.arange(len(probe)), columns].mean())))
            if answers == len(facts) - HUNDRED:
                changed = float(np.mean(said != now))
    return Effect(changed, expected_gain(points)) if len(points) > 1 else None


def curve_points(answers: int) -> list[int]:
    """Numbers of answers at which the curve is drawn: now, a hundred before, and on by halves.

    Examples
    --------
    >>> curve_points(1_000)
    [105, 158, 237, 355, 533, 800, 900, 1000]
    """
    points = [answers, answers - HUNDRED]
    step = answers - 2.0 * HUNDRED
    while step >= HUNDRED and len(points) < MOST_POINTS:
        points.append(int(step))
        step /= 1.5
    return sorted(one for one in points if one >= HUNDRED)


def expected_gain(points: Sequence[tuple[int, float]], more: int = HUNDRED) -> float:
    """By how much errors fall with so many more answers, from errors after numbers of answers.

    The curve is error = a + b·answers^(-c), by least squares: of the powers c the best one, or 1
    while there are fewer than four points.

    Examples
    --------
    >>> curve = [(n, 0.1 + 2 / n**0.5) for n in (100, 200, 400, 800)]
    >>> round(expected_gain(curve), 4), round(2 / 800**0.5 - 2 / 900**0.5, 4)
    (0.004, 0.004)
    """
    answers, errors = np.array(points, dtype=float).T
    best = (np.inf, 0.0)
    for power in POWERS if len(points) >= 4 else (1.0,):
        falls = np.stack([np.ones_like(answers), answers**-power], axis=1)
        fit = np.linalg.lstsq(falls, errors, rcond=None)[0]
        left = float(((falls @ fit - errors) ** 2).sum())
        gain = fit[1] * (answers[-1] ** -power - (answers[-1] + more) ** -power)
        best = min(best, (left, float(gain)))
    return max(0.0, best[1])


def _learned_facts(reader: Reader) -> list[int]:
    """The facts at which answers were learned, in order."""
    f = db.facts.c
    applied = sa.select(f.number).where(f.stream == reader.number, f.kind == Kind.APPLIED)
    with reader.database.reading() as connection:
        return list(connection.scalars(applied.order_by(f.number)))


def counted(number: int, noun: str) -> str:
    """A number of things.

    Examples
    --------
    >>> counted(1, "row"), counted(1_200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def sentences(found: Outcome) -> list[str]:
    """What came of it, in words."""
    if found.is_labelled:
        return [
            "Every row has a label in the file, so nobody was asked; --ignore with the name of"
            " its column leaves these labels out."
        ]
    lines = [
        f"{counted(found.answers, 'answer')} about {found.seen:,} of"
        f" {counted(found.rows, 'row')}; {counted(found.open, 'question')}"
        f" {'is' if found.open == 1 else 'are'} open."
    ]
    if len(found.people) > 1:
        people = sorted(found.people.items(), key=lambda one: (-one[1], one[0]))
        lines.append("By " + ", ".join(f"{who} {count:,}" for who, count in people) + ".")
    error, (low, high) = found.quality.error, found.quality.interval
    if error is None:
        lines.append("How good the predictions are is not known yet.")
    else:
        lines.append(
            f"Predictions were wrong in {error:.1%} of the rows ({low:.1%} to {high:.1%} with 95 %"
            " confidence), each predicted before its answer."
        )
    if found.effect is None:
        lines.append("From 200 answers on, this says whether more of them help.")
    else:
        effect = found.effect
        lines.append(
            f"The last 100 answers changed {effect.changed:.1%} of the predictions. Another hundred"
            f" would correct about {effect.gain:.1%} of the labels"
            f"{': they would hardly help' if effect.is_small else ''}."
        )
    return lines


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
