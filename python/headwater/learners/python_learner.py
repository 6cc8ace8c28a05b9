"""The base class of a learner that is written in Python: two methods make it a learner.

Its model is computed in Python; everything around a model is the core's, as for every learner:
names, labels, the query rule, open questions, counters, probabilities, the model file.
"""

import threading
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import FrozenInstanceError, fields
from math import isfinite
from os.path import getsize, isfile
from typing import Any, ClassVar, Self, dataclass_transform

import numpy as np
from numpy.typing import NDArray

from headwater import _core
from headwater.errors import EventError, LabelError, ParameterError, StepError
from headwater.inputs.batches import Answers, Arrays, ColumnNames, events_of
from headwater.learners.base import Classifier, own_class, restored
from headwater.learners.model_file import write_header
from headwater.learners.parts import Parts
from headwater.learners.plain_state import read_state, write_state
from headwater.learners.shared_parameters import learner, shares
from headwater.rules.query import Query
from headwater.types import Event, Label, Name, Task

LOCK = "_learner_lock"


@dataclass_transform(eq_default=False, kw_only_default=True, frozen_default=True)
@shares
class PythonLearner(Classifier, abstract=True):
    """A learner whose model is written in Python: `score` and `learn` are enough.

    All verbs of a learner then work: `decide_one` and `answer`, batches, files, saving; and so do
    sessions, evaluation and studies. `headwater.testing` checks a class. Annotated attributes of a
    subclass are its parameters, fixed after construction. All other attributes are what it has
    learned: they begin in `start` and are saved if they are numbers, texts, None, NumPy arrays, or
    lists, tuples, sets and dicts of them.

    `class Mine(PythonLearner, task="multiclass")` predicts one of several classes, `"regression"`
    a number; the default is `"binary"`.

    Parameters
    ----------
    query
        When to ask for a label: a rule of `headwater.query`, or its word.

    Examples
    --------
    >>> import headwater as hw
    >>> class Counting(hw.PythonLearner):
    ...     step: float = 1.0
    ...
    ...     def start(self):
    ...         self.counts = {}
    ...
    ...     def score(self, x):
    ...         return sum(self.counts.get(name, 0.0) for name in x)
    ...
    ...     def learn(self, x, y):
    ...         for name in x:
    ...             self.counts[name] = self.counts.get(name, 0.0) + (1 if y else -1) * self.step
    >>> model = Counting(classes=("ham", "spam"), query="all")
    >>> decision = model.decide_one({"offer": 1.0})
    >>> model.answer(decision, "spam")
    >>> model.predict_one({"offer": 1.0, "hello": 1.0}), model.counts
    ('spam', {'offer': 1.0})
    """

    query: Query | str = "budget"
    _task: ClassVar[Task] = "binary"

    def __init_subclass__(cls, *, task: Task | None = None, abstract: bool = False) -> None:
        if task is not None:
            if task not in ("binary", "multiclass", "regression"):
                raise ParameterError(
                    f'{cls.__name__}: task must be "binary", "multiclass" or "regression", got'
                    f" {task!r}."
                )
            cls._task = task
        if not abstract:
            own_class(cls, PythonLearner)
        learner(cls, frozen=False)

    def start(self) -> None:
        """Set the attributes that hold what is learned, as they are before the first label."""

    def score(self, x: dict[Name, float]) -> float | Mapping[Label, float]:
        """The margin of an event: positive for the second of two classes. Changes nothing.

        In regression it is the prediction. With several classes it is a dict with the score of each
        class; one that is left out scores 0. Absent features are left out of `x`, texts are
        indicators.
        """
        raise NotImplementedError(f"{type(self).__name__}: score must be written.")

    def learn(self, x: dict[Name, float], y: Any) -> None:
        """Learn an event: `y` is True for the second of two classes, else the class or the number.

        An error that it raises is passed on, and the label is not counted as learned; it should
        therefore work out the whole step before it changes anything.
        """
        raise NotImplementedError(f"{type(self).__name__}: learn must be written.")

    def contributions(self, x: dict[Name, float]) -> Mapping[Name, float] | None:
        """What each feature adds to the margin; None, the default: the model does not tell."""
        return None

    def weights(self) -> dict[Any, Any]:
        """The weights that are not 0, by name (with several classes by class first).

        By default there are none; a linear model may return its own.
        """
        return {}

    # What the core does for every learner

    def __post_init__(self) -> None:
        object.__setattr__(self, LOCK, threading.RLock())
        super().__post_init__()

    def _parts(self) -> Parts:
        header = write_header(type(self).__name__, self.parameters())
        model = {
            "kind": "external",
            "task": self._task,
            "epsilon": 0.0,
            "identity": zlib.crc32(header.encode()),
        }
        return Parts(model, Query.of(type(self).__name__, self.query), task=self._task)

    def _assemble(self, state: bytes | None) -> None:
        if self._task == "regression" and self.classes is not None:
            raise ParameterError(f"{type(self).__name__}: classes are for learners of classes.")
        super()._assemble(state)
        for name in self._learned():
            delattr(self, name)
        if state is None:
            self.start()
        else:
            vars(self).update(read_state(type(self).__name__, _core.model_memory(self)))

    def _learned(self) -> dict[str, Any]:
        """What it has learned: every attribute but its parameters."""
        others = {LOCK, "_columns", *(field.name for field in fields(self))}
        return {name: value for name, value in vars(self).items() if name not in others}

    def __setattr__(self, name: str, value: Any) -> None:
        if name in vars(self) and name in {field.name for field in fields(self)}:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        if name in {field.name for field in fields(self)}:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        object.__delattr__(self, name)

    def to_bytes(self) -> bytes:
        """The whole state, as `save` writes it. Equal parameters, seed and events: equal bytes."""
        with self._locked():
            _core.keep_memory(self, write_state(type(self).__name__, self._learned()))
            return super().to_bytes()

    def __copy__(self) -> Self:
        return restored(type(self), self.to_bytes())

    def __reduce__(self) -> tuple[Any, ...]:
        return restored, (type(self), self.to_bytes())

    def _locked(self) -> threading.RLock:
        lock: threading.RLock = getattr(self, LOCK)
        return lock

    def _score_vector(self, x: dict[Name, float]) -> list[float]:
        """The margin, or one score per known label, checked."""
        found = self.score(dict(x))
        owner = f"{type(self).__name__}.score"
        if self._task != "multiclass":
            return [_finite(owner, found)]
        if not isinstance(found, Mapping):
            raise StepError(f"{owner}: must return a dict from class to score, got {found!r}.")
        return [_finite(owner, found.get(label, 0.0)) for label in self.labels]

    def _told(self, x: Event) -> None:
        """Tell the core the scores of an event."""
        _core.tell_scores(self, self._score_vector(_core.read_event(x)))

    # The verbs

    def predict_one(self, x: Event) -> Label | None:
        """The label it would give the event; None while no class is known. Changes nothing."""
        with self._locked():
            self._told(x)
            return super().predict_one(x)

    def predict_proba_one(self, x: Event) -> dict[Label, float]:
        """One probability per label, calibrated by the labels learned so far. Changes nothing."""
        with self._locked():
            self._told(x)
            return super().predict_proba_one(x)

    def margin_one(self, x: Event) -> float:
        """How sure it is: as `score` says, or the lead of the first class over the second."""
        with self._locked():
            self._told(x)
            return super().margin_one(x)

    def query_one(self, x: Event) -> bool:
        """Whether it wants the event's label. Draws one coin and moves the query rule's state."""
        with self._locked():
            self._told(x)
            return super().query_one(x)

    def decide_one(self, x: Event, **how: Any) -> _core.Decision:
        """Predict and query in one pass. The decision keeps the event's features for `answer`."""
        with self._locked():
            self._told(x)
            return super().decide_one(x, **how)

    def learn_one(self, x: Event, y: Label) -> None:
        """Learn an event with its label."""
        with self._locked():
            self._told(x)
            super().margin_one(x)  # refuses what cannot be learned, before anything changes
            self._learn(_core.read_event(x), y, lambda: super(PythonLearner, self).learn_one(x, y))

    def answer(self, decision: _core.Decision, y: Label, *, weight: float | None = None) -> None:
        """Learn a decided event from the features that its decision keeps. A second is an error.

        `weight` is as in `Learner.answer`.
        """
        with self._locked():
            _core.check_question(self, decision)
            x = decision.features
            note = super().answer
            self._learn(x, y, lambda: note(decision, y, weight=weight))

    def _learn(self, x: dict[Name, float], y: Label, note: Callable[[], None]) -> None:
        """Learn, then let the core note it with the scores from before."""
        target = _core.read_target(self, y)
        scores = self._score_vector(x)
        self.learn(x, target)
        _core.tell_scores(self, scores)
        note()

    def _explain(self, x: Event) -> Any:
        with self._locked():
            self._told(x)
            prediction, margin, _, probability, details = super()._explain(x)
        parts = self.contributions(_core.read_event(x))
        return prediction, margin, list((parts or {}).items()), probability, details

    def _heaviest(self, count: int) -> list[tuple[Name, float]]:
        names, _, _, columns = self._features()
        rows = ((name, max(row, key=abs)) for name, *row in zip(names, *columns, strict=True))
        return sorted(((n, float(w)) for n, w in rows if w), key=lambda row: -abs(row[1]))[:count]

    def _features(self) -> Any:
        names, history, labels, _ = super()._features()
        weights = self.weights()
        known = [weights] if labels is None else [weights.get(label, {}) for label in labels]
        columns = [np.array([one.get(name, 0.0) for name in names], float) for one in known]
        return names, history, labels, columns

    # Batches and files: the verbs above in a loop

    def _rows(
        self, rows: Arrays, names: ColumnNames | None, y: Answers | None = None
    ) -> Iterator[dict[Name, float]]:
        """The events of a batch, which is checked whole before the first."""
        _core.check_batch(self, rows, names, y)
        return events_of(rows, names)

    def _simulate(self, rows: Arrays, names: ColumnNames | None, y: Any) -> Any:
        classes, margins, chances, asked = [], [], [], []
        for row, (x, label) in enumerate(zip(self._rows(rows, names, y), list(y), strict=True)):
            with _at_row(row):
                decision = self.decide_one(x)
                classes.append(self._class_of(decision.prediction))
                margins.append(decision.margin)
                chances.append(decision.query_probability)
                asked.append(decision.asked)
                if decision.asked and label is not None and label == label:
                    self.answer(decision, label)
        return (
            np.array(classes, np.int64),
            np.array(margins, np.float64),
            np.array(chances, np.float64),
            np.array(asked, np.bool_),
        )

    def _learn_many(self, rows: Arrays, names: ColumnNames | None, y: Any) -> None:
        labels = list(y)
        if any(label is None or label != label for label in labels):
            raise LabelError("y: learn_many needs a label for every row; simulate does not.")
        for row, (x, label) in enumerate(zip(self._rows(rows, names, y), labels, strict=True)):
            with _at_row(row):
                self.learn_one(x, label)

    def _predict_many(
        self, rows: Arrays, names: ColumnNames | None
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        classes, margins = [], []
        for x in self._rows(rows, names):
            classes.append(self._class_of(self.predict_one(x)))
            margins.append(self.margin_one(x))
        return np.array(classes, np.int64), np.array(margins, np.float64)

    def _predict_proba_many(self, rows: Arrays, names: ColumnNames | None) -> NDArray[np.float64]:
        found = [list(self.predict_proba_one(x).values()) for x in self._rows(rows, names)]
        return np.array(found, np.float64).reshape(len(found), len(self.labels))

    def _scores_many(self, rows: Arrays, names: ColumnNames | None) -> NDArray[np.float64]:
        found = [self._score_vector(x) for x in self._rows(rows, names)]
        several = self._task == "multiclass"
        scores = found if several else [[0.0, margin] for (margin,) in found]
        return np.array(scores, np.float64).reshape(len(found), len(self.labels))

    def _class_of(self, prediction: Label | None) -> int:
        if prediction is None or self._task == "regression":
            return -1
        return self.labels.index(prediction)

    def _predict_file(self, reader: Any, size: int, csv: bool, count: int) -> tuple[str, int]:
        raise ParameterError(
            f"{type(self).__name__}: a learner written in Python writes no file of predictions; use"
            " predict_one on the events of headwater.open."
        )

    def _simulate_file(
        self, source: Any, every_label: bool, decisions: Any, progress: Any
    ) -> tuple[Any, list[str], Any, Any]:
        path, skips = source[0], source[5]
        if decisions is not None:
            raise ParameterError(
                f"{type(self).__name__}: a learner written in Python writes no file of decisions;"
                " use decide_one on the events of headwater.open."
            )
        reader = _core.EventReader(source)
        mistakes = labelled = events = asked = learned = 0
        difference = 0.0
        problems: list[str] = []
        while (found := reader.next()) is not None:
            _, x, y = found
            try:
                target = None if y is None else _core.read_target(self, y)
                learns = every_label and y is not None
                decision = None if learns else self.decide_one(x)
                margin = self.margin_one(x) if decision is None else decision.margin
                said = self.predict_one(x) if decision is None else decision.prediction
                if y is not None and (decision is None or decision.asked):
                    if decision is None:
                        self.learn_one(x, y)
                    else:
                        self.answer(decision, y)
                    learned += 1
                events += 1
                asked += decision is not None and decision.asked
                if y is not None:
                    labelled += 1
                    if self._task == "regression":
                        difference += abs(target - margin)  # type: ignore[operator]
                    else:
                        wanted = self.labels[int(target)] if self._task == "binary" else target  # type: ignore[arg-type]
                        mistakes += said != wanted
            except (EventError, LabelError, StepError) as error:
                sentence = f"{path}, event {events + len(problems)}: {error}"
                if not skips:
                    raise type(error)(sentence) from None
                problems.append(sentence)
            if progress is not None and events % 1_000 == 0:
                skipped = reader.skipped + len(problems)
                counts = (events, labelled, mistakes, difference, asked, learned, skipped, 0)
                progress(counts, problems[:10], [], [])
        size = getsize(path) if isfile(path) else 0
        skipped = reader.skipped + len(problems)
        counts = (events, labelled, mistakes, difference, asked, learned, skipped, size)
        every = [*reader.problems, *problems][:10]
        return counts, every, reader.findings, []


@contextmanager
def _at_row(row: int) -> Iterator[None]:
    """A step that is refused says in which row of a batch."""
    try:
        yield
    except StepError as error:
        raise StepError(f"X, row {row}: {error} The rows before it were done.") from None


def _finite(owner: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise StepError(f"{owner}: must return a number, got {value!r}.") from None
    if not isfinite(number):
        raise StepError(f"{owner}: must return a finite number, got {number}.")
    return number
