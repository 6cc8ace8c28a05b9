"""The base class of all learners.

The methods for one event are those of the core; this module adds batches, state and explanations.
"""

import dataclasses
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from headwater import _core
from headwater.errors import ModelFileError, ParameterError
from headwater.inputs import batches, frames
from headwater.inputs.files import EventFile, Format, OnError
from headwater.inputs.files import open as open_file
from headwater.learners.model_file import read_header, write_header
from headwater.learners.parts import Parts
from headwater.learners.shared_parameters import shares
from headwater.learners.whole_file import write_file
from headwater.parameters import CLASSES, SEED, check_fields, whole_from
from headwater.rules.component import shown
from headwater.types import Event, Explanation, Feature, FileRun, Label, Name, Task, Trace


@shares
class Learner(_core.Learner):
    """The methods that every learner has; a subclass adds and describes its parameters.

    Parameters are fixed after construction, and `repr` rebuilds the learner.

    Parameters
    ----------
    seed
        The same seed and the same events give the same questions and the same weights.

    Examples
    --------
    >>> import headwater as hw
    >>> isinstance(hw.FLLS(), hw.Learner)
    True
    """

    seed: Annotated[int, SEED] = 0
    _owner: ClassVar[str] = ""  # the name in error messages, if not that of the class itself

    def __init_subclass__(cls, *, abstract: bool = False) -> None:
        if not abstract:
            _CLASSES.setdefault(cls.__name__, cls)

    def __init__(self) -> None:
        raise ParameterError(
            "Learner: it is what all learners have in common; make a Linear, or another of them."
        )

    def __post_init__(self) -> None:
        check_fields(self, self._owner)
        self._assemble(None)

    def _parts(self) -> Parts:
        raise NotImplementedError

    def _assemble(self, state: bytes | None) -> None:
        parts, given = self._parts(), self.parameters()
        most = given.get("max_features")
        self._build(
            model=parts.model,
            query=parts.query.for_core(),
            scaled=parts.scale is not None,
            closed=parts.closed,
            capacity=None if most is None else (most, given["when_full"]),
            own=parts.own,
            task=parts.task,
            classes=given.get("classes"),
            seed=self.seed,
            state=state,
        )

    @property
    def task(self) -> Task:
        """What it predicts: "binary" (two classes), "multiclass" (several), "regression" (numbers).

        Examples
        --------
        >>> import headwater as hw
        >>> hw.PAA().task, hw.MPAA().task, hw.PARegressor().task
        ('binary', 'multiclass', 'regression')
        """
        return self._parts().task

    def parameters(self) -> dict[str, Any]:
        """The parameters that the learner was created with, by name.

        Examples
        --------
        >>> import headwater as hw
        >>> hw.PAA(C=0.5).parameters()["C"]
        0.5
        """
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}

    def __repr__(self) -> str:
        changed = (
            f"{f.name}={shown(getattr(self, f.name))}"
            for f in dataclasses.fields(self)
            if getattr(self, f.name) != f.default
        )
        return f"{type(self).__name__}({', '.join(changed)})"

    def explain_one(self, x: Event) -> Explanation:
        """What each feature adds to the margin, and why the learner would ask. Changes nothing.

        Examples
        --------
        >>> import headwater as hw
        >>> model = hw.PAA()
        >>> model.learn_one({"rain": 1.0, "wind": 0.5}, True)
        >>> explanation = model.explain_one({"rain": 2.0, "sun": 1.0})
        >>> explanation.contributions
        {'rain': 1.6, 'sun': 0.0}
        >>> print(explanation.reason)
        query.Margin(width=1.0): |margin| is 1.6, so it would ask with probability 0.385.
        """
        prediction, margin, contributions, probability, details = self._explain(x)
        contributions.sort(key=lambda item: -abs(item[1]))
        rule = repr(self._parts().query)
        reason = (
            f"{rule}: |margin| is {abs(margin):.3g}, so it would ask with probability"
            f" {probability:.3g}."
        )
        return Explanation(
            prediction, margin, dict(contributions), probability, reason, dict(details)
        )

    def features(self) -> list[Feature]:
        """The features learned so far, in the order in which their names first appeared.

        Examples
        --------
        >>> import headwater as hw
        >>> model = hw.PAA()
        >>> model.learn_one({"rain": 2.0}, True)
        >>> model.learn_one({"rain": 2.0, "wind": 0.0}, True)
        >>> for feature in model.features():
        ...     print(feature)
        Feature(name='rain', first_learned=1, last_learned=2, times_learned=2, weight=0.5)
        Feature(name='wind', first_learned=2, last_learned=2, times_learned=1, weight=0.0)
        """
        return [Feature(*row) for row in self._features()]

    def simulate(self, X: Any, y: Any, *, names: Sequence[Name] | None = None) -> Trace:
        """Run the whole loop over a batch: decide on each event, learn those asked for.

        A label is used only if it was asked for; a missing one (None, NaN) counts as asked and not
        answered. The result is exactly that of `decide_one` and `answer` in turn, only faster.

        Parameters
        ----------
        X
            Events: anything with `indptr`, `indices` and `data` (values not stored are absent, a
            stored 0 is a 0), a dense array (NaN is absent), or a frame: a table of pandas, polars,
            pyarrow or any library that exports Arrow (null is absent, text is an indicator).
        y
            One label per row: a list, an array, or a column of one of these libraries.
        names
            One name per column; by default the names of `X`, if it has any, else column numbers.

        Examples
        --------
        >>> import headwater as hw
        >>> model = hw.OLSF()
        >>> trace = model.simulate([[1.0, float("nan")], [1.0, 2.0]], [True, False])
        >>> trace.margin.tolist(), trace.asked.tolist()
        ([0.0, 1.0], [True, True])
        """
        rows, columns = batches.read_rows(X, names)
        result = self._simulate(rows, columns, batches.read_labels(y))
        classes, margin, query_probability, asked = result
        fields = (self._predictions(classes, margin), margin, query_probability, asked)
        return Trace(*(frames.like(X, field) for field in fields))

    def simulate_file(
        self,
        file: EventFile | str | os.PathLike[str],
        *,
        format: Format | None = None,
        label: str | None = "y",
        id: str | None = None,
        on_error: OnError = "raise",
        decisions: str | os.PathLike[str] | None = None,
        progress: Callable[[FileRun], object] | None = None,
    ) -> FileRun:
        """Run the whole loop over a file; memory does not grow with the length of the file.

        The result is exactly that of `decide_one` and `answer` in turn, without Python objects for
        the events. A line that cannot be used raises an error with its number, and the events
        before it stay learned. Ctrl-C stops after a whole event.

        Parameters
        ----------
        file
            A path, or the result of `headwater.open`; the next four parameters are those of
            `headwater.open` and are used with a path.
        format
            As in `headwater.open`.
        label
            As in `headwater.open`.
        id
            As in `headwater.open`.
        on_error
            As in `headwater.open`; labels that do not fit and refused learning steps are skipped
            too.
        decisions
            A file to write each decision to: CSV if its name ends in `.csv`, else JSON lines, with
            `id` (the event's number from 0 if it has none), `prediction`, `margin`,
            `query_probability` and `asked`.
        progress
            A function that is called a few times per second with the `FileRun` so far.

        Examples
        --------
        >>> import headwater as hw, pathlib, tempfile
        >>> model = hw.OLSF()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "days.jsonl")
        ...     _ = path.write_text('{"rain": 2.0, "wet": true}\\n{"rain": 1.0, "wet": true}\\n')
        ...     run = model.simulate_file(path, label="wet")
        >>> run.events, run.mistakes, model.weights()
        (2, 1, {'rain': 1.0})
        """
        if not isinstance(file, EventFile):
            file = open_file(file, format=format, label=label, id=id, on_error=on_error)
        report = None if progress is None else lambda *told: progress(_file_run(*told))
        written = None if decisions is None else os.fspath(decisions)
        if file.is_columnar:
            from headwater.inputs.columnar_run import simulate_columnar

            return simulate_columnar(self, self.task, file, written, progress)
        return _file_run(*self._simulate_file(file.source(), written, report))

    def _predictions(
        self, classes: NDArray[np.int64], margins: NDArray[np.float64]
    ) -> NDArray[Any]:
        return batches.predictions(self.task, classes, margins, self.labels)

    def learn_many(self, X: Any, y: Any, *, names: Sequence[Name] | None = None) -> None:
        """Learn a batch of events: `learn_one` on each row. Arguments as in `simulate`.

        Examples
        --------
        >>> import headwater as hw
        >>> model = hw.OLSF()
        >>> model.learn_many([[2.0], [2.0]], [True, True], names=["rain"])
        >>> model.weights()
        {'rain': 0.5}
        """
        rows, columns = batches.read_rows(X, names)
        self._learn_many(rows, columns, batches.read_labels(y))

    def predict_many(self, X: Any, *, names: Sequence[Name] | None = None) -> Any:
        """`predict_one` for each row, as an array. A frame gives a column of its own library.

        Arguments as in `simulate`. Changes nothing.

        Examples
        --------
        >>> import headwater as hw
        >>> model = hw.OLSF()
        >>> model.learn_one({0: 1.0}, True)
        >>> model.predict_many([[1.0], [-1.0]]).tolist()
        [True, False]
        """
        rows, columns = batches.read_rows(X, names)
        return frames.like(X, self._predictions(*self._predict_many(rows, columns)))

    def predict_proba_many(self, X: Any, *, names: Sequence[Name] | None = None) -> Any:
        """`predict_proba_one` for each row: one column per label, in the order of `labels`.

        An array, or for a frame a frame of its library. Arguments as in `simulate`. Changes
        nothing.

        Examples
        --------
        >>> import headwater as hw
        >>> hw.OLSF().predict_proba_many([[1.0], [2.0]]).tolist()
        [[0.5, 0.5], [0.5, 0.5]]
        """
        rows, columns = batches.read_rows(X, names)
        return frames.like_table(X, self._predict_proba_many(rows, columns), self.labels)

    def margin_many(self, X: Any, *, names: Sequence[Name] | None = None) -> Any:
        """`margin_one` for each row, as an array. A frame gives a column of its own library.

        Arguments as in `simulate`. Changes nothing.

        Examples
        --------
        >>> import headwater as hw
        >>> model = hw.OLSF()
        >>> model.learn_one({0: 1.0}, True)
        >>> model.margin_many([[0.5], [-2.0]]).tolist()
        [0.5, -2.0]
        """
        rows, columns = batches.read_rows(X, names)
        return frames.like(X, self._predict_many(rows, columns)[1])

    def to_bytes(self) -> bytes:
        """The whole state, as `save` writes it. Equal parameters, seed and events: equal bytes.

        Examples
        --------
        >>> import headwater as hw
        >>> hw.PAA(seed=1).to_bytes() == hw.PAA(seed=1).to_bytes()
        True
        """
        return self._write(write_header(type(self).__name__, self.parameters()))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the whole state to a file; a learner loaded from it continues bit for bit.

        The file is there whole or not at all: whoever reads it, and whatever happens meanwhile,
        finds the old model or the new one. A symbolic link is followed, rights stay as they were,
        a read-only file and what is no regular file are refused with an OSError. The format is
        described in `docs/model-file.md`.

        Examples
        --------
        >>> import headwater as hw, tempfile
        >>> model = hw.PAA()
        >>> model.learn_one({"rain": 2.0}, True)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(f"{folder}/rain.hw")
        ...     hw.load(f"{folder}/rain.hw").weights()
        {'rain': 0.5}
        """
        write_file(path, self.to_bytes())

    def __copy__(self) -> Self:
        return from_bytes(self.to_bytes())  # type: ignore[return-value]

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.__copy__()

    def __reduce__(self) -> tuple[Any, ...]:
        return from_bytes, (self.to_bytes(),)


_CLASSES: dict[str, type[Learner]] = {}
"""All learner classes by name; model files contain these names."""


@shares
class Bounded(Learner, abstract=True):
    """A learner whose number of features can be limited.

    Parameters
    ----------
    max_features
        Capacity: the largest number of names it keeps, its own features not counted; None: no
        limit. See `docs/memory.md`.
    when_full
        What happens if the capacity is exceeded: `"smallest"` evicts the features with the smallest
        weights, `"oldest"` those not learned for the longest time, `"refuse"` leaves new names out.
    """

    max_features: Annotated[int, whole_from(1, bits=32)] | None = None
    when_full: Literal["refuse", "oldest", "smallest"] = "smallest"


@shares
class Classifier(Learner, abstract=True):
    """A learner that predicts classes.

    Parameters
    ----------
    classes
        Two classes: (negative, positive); None: bool, 0/1 or −1/+1. Several classes: those known
        from the start; None: none. Other classes are added as they appear.
    """

    classes: Annotated[Sequence[Label], CLASSES] | None = None


def _file_run(*told: Any) -> FileRun:
    """The core's result of a run over a file; its last part is a list."""
    run = FileRun(*told)
    return dataclasses.replace(run, problems=tuple(run.problems))


def load(path: str | os.PathLike[str]) -> Learner:
    """The learner that was saved to this file; it continues where it stopped.

    Loading runs no code; a file that is truncated, altered or of another kind is refused.

    Examples
    --------
    >>> import headwater as hw, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     hw.FLLS(C=0.5).save(f"{folder}/model.hw")
    ...     hw.load(f"{folder}/model.hw")
    FLLS(C=0.5)
    """
    try:
        return from_bytes(Path(path).read_bytes())
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)}: {error}") from None


def from_bytes(data: bytes) -> Learner:
    """The learner whose `to_bytes` returned these bytes.

    Examples
    --------
    >>> import headwater as hw
    >>> hw.from_bytes(hw.PAA(C=0.5).to_bytes())
    PAA(C=0.5)
    """
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise ModelFileError(f"model file: expected bytes, got {type(data).__name__}.")
    header, state = _core.split_model(bytes(data))
    try:
        name, parameters = read_header(header)
        learner = _class_named(name, parameters)(**parameters)
    except ParameterError as error:
        raise ModelFileError(f"model file: its header cannot be read: {error}") from None
    learner._assemble(state)
    return learner


def learner_classes() -> dict[str, type[Learner]]:
    """Every learner class by its name: those of the package and those of users."""
    return dict(_CLASSES)


def _class_named(name: str, parameters: dict[str, Any]) -> type[Learner]:
    """The learner class of a header, if it has all of these parameters."""
    if name not in _CLASSES:
        raise ParameterError(f"there is no learner {name!r}.")
    cls = _CLASSES[name]
    known = {field.name for field in dataclasses.fields(cls)}
    for parameter in parameters:
        if parameter not in known:
            raise ParameterError(f"{name} has no parameter {parameter!r}.")
    return cls
