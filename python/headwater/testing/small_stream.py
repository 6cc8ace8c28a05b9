"""The short stream that checks run on, in every form, and the event loop that they compare with."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headwater._core import Decision
from headwater.learners.base import Learner
from headwater.types import Label, Name, Rows, Task, Trace

Make = Callable[..., Learner]
"""Makes a fresh learner; `seed` and, unless it predicts numbers, `classes` may be given."""
Event = dict[Name, Any]
Step = tuple[Label | None, float, float, bool]
"""Prediction, margin, query probability, asked."""

KEYS: tuple[Name, ...] = tuple(f"k{column}" for column in range(8))
LENGTH = 70


@dataclass(frozen=True)
class SmallStream:
    """A few events whose names are the columns 0 to 7, and labels that fit a task.

    Attributes
    ----------
    task
        What the labels are for: `"binary"`, `"multiclass"` or `"regression"`.
    events
        The events.
    labels
        One label per event.
    columns
        How many names there are.

    Examples
    --------
    >>> stream = small_stream("binary")
    >>> len(stream.events), stream.labels[:3]
    (70, [True, True, True])
    """

    task: Task
    events: list[Event]
    labels: list[Label]
    columns: int = len(KEYS)

    @property
    def half(self) -> int:
        """The event in the middle."""
        return len(self.events) // 2

    def rest(self) -> tuple[list[Event], list[Label]]:
        """The events from the middle on, and their labels."""
        return self.events[self.half :], self.labels[self.half :]


@cache
def small_stream(task: Task) -> SmallStream:
    """Features 0 to 7 emerge one by one, 1 is away for a while; zeros and an empty event occur."""
    rng = np.random.default_rng(20)
    values = rng.normal(size=(LENGTH, len(KEYS)))
    values[::11, 0] = 0.0
    truth = values @ rng.normal(size=(len(KEYS), 3)) + 0.3 * rng.normal(size=(LENGTH, 3))
    events: list[Event] = []
    for t, row in enumerate(values.tolist()):
        here = [c for c in range(len(KEYS)) if t >= 5 * c and not (c == 1 and 15 <= t < 40)]
        events.append({} if t == 30 else {column: row[column] for column in here})
    labels: list[Label]
    if task == "multiclass":
        labels = [("ham", "egg", "tea")[best] for best in truth.argmax(axis=1)]
    elif task == "regression":
        labels = (truth[:, 0] + 2).tolist()
    else:
        labels = (truth[:, 0] > 0).tolist()
    return SmallStream(task, events, labels)


def csr(events: Sequence[Event], names: Sequence[Name] | None = None) -> Rows:
    """The events as the arrays of a sparse matrix; what an event does not carry is not stored."""
    indptr = np.cumsum([0, *(len(event) for event in events)])
    indices = np.array([column for event in events for column in event], dtype=np.int32)
    data = np.array([value for event in events for value in event.values()], dtype=np.float64)
    return Rows(indptr, indices, data, list(range(len(KEYS))) if names is None else names)


def dense(events: Sequence[Event]) -> NDArray[np.float64]:
    """The events as an array; what an event does not carry is NaN."""
    array = np.full((len(events), len(KEYS)), np.nan)
    for row, event in enumerate(events):
        for column, value in event.items():
            array[row, int(column)] = value
    return array


def keyed(events: Iterable[Event]) -> list[Event]:
    """The events with text for names in place of columns."""
    return [{KEYS[int(column)]: value for column, value in event.items()} for event in events]


def follow(model: Learner, events: Iterable[Event], labels: Iterable[Label | None]) -> list[Step]:
    """The event loop: decide on each event, answer what was asked and has a label."""
    steps: list[Step] = []
    for event, label in zip(events, labels, strict=True):
        decision = model.decide_one(event)
        if decision.asked and label is not None:
            model.answer(decision, label)
        steps.append(step_of(decision))
    return steps


def step_of(decision: Decision) -> Step:
    """What was decided."""
    return decision.prediction, decision.margin, decision.query_probability, decision.asked


def steps_of(trace: Trace) -> list[Step]:
    """The decisions of a batch, as `follow` lists them."""
    columns = (trace.prediction, trace.margin, trace.query_probability, trace.asked)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def halfway(make: Make, stream: SmallStream) -> Learner:
    """A learner that has followed the first half of the stream and learned both ends of it."""
    model = make()
    follow(model, stream.events[: stream.half], stream.labels[: stream.half])
    for position in (0, stream.half, -1):
        model.learn_one(stream.events[position], stream.labels[position])
    return model


def known_names(model: Learner) -> list[Name]:
    """The names learned, in the order of their ids."""
    return [feature.name for feature in model.features()]


def knowledge(model: Learner, stream: SmallStream) -> list[Any]:
    """All that public verbs tell of what was learned: predictions, margins, weights, features."""
    told = [(model.predict_one(event), model.margin_one(event)) for event in stream.events]
    return [model.learned, model.labels, model.weights(), model.features(), told]
