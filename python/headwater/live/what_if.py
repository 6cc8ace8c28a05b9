"""Another learner on the same journal: how good would it have been, with the labels that there are?

Two forms. *Same questions*: the learner is told the logged outcomes. *Fewer questions*: each logged
question is kept with one probability, which multiplies the logged one. Nobody was asked about other
events, so what the learner would have asked about them is counted, and if that is much, its quality
is not known.
"""

import os
import random
from array import array
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa

from headwater.errors import AnswerError, JournalError, LabelError, ParameterError, StepError
from headwater.evaluation.error_estimate import ErrorEstimate, Interval
from headwater.learners.base import Learner
from headwater.live import database as db
from headwater.live.reading import Reader
from headwater.live.replay import (
    History,
    Kind,
    read_chances,
    read_facts,
    read_names,
    takes_rate,
)

MOST_UNASKED = 0.1
"""Above this share of wishes that nobody was asked about, no quality is given."""


class WhatIf(NamedTuple):
    """What a replay to another learner found: see `what_if`.

    Examples
    --------
    >>> import headwater as hw, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> with hw.live.open(f"{folder.name}/plant.db", learner=hw.OLSF()) as plant:
    ...     for day in range(20):
    ...         receipt = plant.receive({"rain": day % 3 - 1.0}, id=day)
    ...         answered = plant.answer(receipt.question, day % 3 == 2)
    >>> found = hw.live.what_if(f"{folder.name}/plant.db", hw.PAA())
    >>> found.events, found.labels, found.unasked
    (20, 20, 0)
    >>> folder.cleanup()
    """

    learner: Learner
    events: int
    labels: int
    unasked: int
    """Events that it would have asked about for certain, and that nobody was asked about."""
    wished: int
    """Events that it would have asked about for certain."""
    error: float | None
    interval: Interval | None


def what_if(
    url: str | os.PathLike[str],
    learner: Learner,
    *,
    stream: str = "main",
    since: float = 0.0,
    questions: int | None = None,
    seed: int = 0,
) -> WhatIf:
    """Replay a journal to another learner, with the questions that were asked or fewer.

    Parameters
    ----------
    url
        A path (SQLite), or `postgresql://...`.
    learner
        A learner that has learned nothing; it is trained by this.
    stream
        The name of the stream.
    since
        Seconds since 1970: earlier events are learned, and not counted in the error.
    questions
        Keep about so many of the logged questions, at random; None: all. More than were asked is
        an error.
    seed
        Which questions are kept.
    """
    if learner.seen or learner.learned:
        raise ParameterError("replay: the learner must have learned nothing.")
    coin, rated = random.Random(seed).random, takes_rate(learner)
    estimate = ErrorEstimate()
    decisions: dict[int, Any] = {}
    chances = array("d")  # of events that came without a label, and counted
    wrong: dict[int, bool] = {}  # where a question was answered
    questions_asked = 0
    events = labels = unasked = wished = 0
    with Reader(url, stream) as reader, reader.database.reading() as connection:
        number = reader.number
        if read_chances(connection, number) is not None:
            raise JournalError(
                f"replay: deciders have decided on the events of stream {stream!r}, so its journal"
                " does not hold them all, and another learner cannot be given them."
            )
        history = History.read(connection, number)
        names = read_names(connection, number)
        f = db.facts.c
        here = (f.stream == number) & (f.kind == Kind.EVENT)
        asked_in_all = (
            connection.scalar(sa.select(sa.func.count()).select_from(db.facts).where(here, f.asked))
            or 0
        )
        if questions is not None and questions > asked_in_all:
            raise ParameterError(
                f"replay: {asked_in_all:,} questions were asked, so what {questions:,} would have"
                " brought is not known; give at most as many."
            )
        kept = 1.0 if questions is None else questions / max(1, asked_in_all)
        first = connection.scalar(sa.select(sa.func.min(f.number)).where(here, f.time >= since))
        for (
            fact,
            kind,
            target,
            answer,
            label,
            asked,
            probability,
            rate,
            time,
            _,
            body,
        ) in read_facts(connection, number, 0):
            counts = first is not None and fact >= first
            if kind == Kind.EVENT and fact not in history.removed:
                if body is None:
                    raise JournalError(
                        f"replay: the event of fact {fact} is no longer kept, so the journal cannot"
                        " be replayed from its start."
                    )
                x = names.decode(bytes(body))
                would = learner.explain_one(x).query_probability >= 1.0
                wished += would
                unasked += would and not asked and label is None
                p = (probability or 0.0) * kept
                asks = bool(asked) and coin() < kept
                told = {"rate": rate} if rated else {}
                if learner.track:
                    learner.tell_time(time)
                decision = learner.decide_one(x, outcome=(asks, p), **told)
                events += counts
                given = history.label(fact, fact, label) if label is not None else None
                if given is not None:
                    labels += _learn(learner, decision, given)
                    if counts:
                        estimate.update(1.0, True, decision.prediction != given)
                    continue
                if asks:
                    decisions[fact] = (decision, len(chances) if counts else None)
                if counts:
                    chances.append(p)
                    questions_asked += asks
            elif kind == Kind.APPLIED and target in decisions and answer not in history.retracted:
                decision, place = decisions.pop(target)
                given = history.label(fact, answer, label)
                assert given is not None
                labels += _learn(learner, decision, given)
                if place is not None:
                    wrong[place] = decision.prediction != given
    _count(estimate, chances, wrong, questions_asked)
    known = estimate.answers > 0 and unasked <= MOST_UNASKED * max(1, wished)
    error = estimate.value if known else None
    interval = estimate.interval if known else None
    return WhatIf(learner, events, labels, unasked, wished, error, interval)


def _count(
    estimate: ErrorEstimate, chances: Sequence[float], wrong: Mapping[int, bool], asked: int
) -> None:
    """Count events; questions that nobody has answered say nothing, as in `quality`."""
    p = np.asarray(chances)
    if len(wrong) < asked:
        p = p * ((len(wrong) + 1) / (asked + 1))
    known = np.zeros(len(p), dtype=bool)
    e = np.zeros(len(p), dtype=bool)
    known[list(wrong)] = True
    e[list(wrong)] = list(wrong.values())
    estimate.update_many(p, known, e)


def _learn(learner: Learner, decision: Any, label: Any) -> bool:
    try:
        learner.answer(decision, label)
    except (AnswerError, LabelError, StepError):
        return False
    return True
