"""The base class of all learners.

The methods for one event are those of the core; this module adds batches, state and explanations.
"""

import dataclasses
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from headwater import _core
from headwater.display import html
from headwater.errors import ModelFileError, ParameterError
from headwater.inputs import batches, frames
from headwater.inputs.batches import ColumnNames
from headwater.inputs.columns import Columns
from headwater.inputs.files import EventFile, Format, OnError
from headwater.inputs.files import open as open_file
from headwater.learners.atomic_file import write_file
from headwater.learners.model_file import read_header, write_header
from headwater.learners.parts import Parts
from headwater.learners.shared_parameters import shares
from headwater.parameters import (
    CLASSES,
    SEED,
    brief,
    check_fields,
    check_parameters,
    whole_from,
)
from headwater.register import FeatureFinding, Register, findings_of
from headwater.rules.component import shown
from headwater.types import Event, Explanation, Features, FileRun, Label, Task, Trace

_ESTIMATORS = "Estimators for scikit-learn are in headwater.adapters.sklearn."
_ELSEWHERE = {
    "fit": f"learn_many(X, y) learns a batch. {_ESTIMATORS}",
    "partial_fit": f"learn_many(X, y) learns a batch. {_ESTIMATORS}",
    "predict": f"predict_one(event) or predict_many(X) predicts. {_ESTIMATORS}",
    "predict_proba": "predict_proba_one(event) or predict_proba_many(X) gives probabilities."
    f" {_ESTIMATORS}",
    "decision_function": f"margin_one(event) or margin_many(X) gives margins. {_ESTIMATORS}",
    "score": f"headwater.evaluation.held_out(learner, X, y) scores a learner. {_ESTIMATORS}",
    "coef_": f"weights() gives the weights by name. {_ESTIMATORS}",
    **{
        verb: f"did you mean {verb}_one?"
        for verb in ("decide", "explain", "learn", "margin", "query")
    },
}
"""What other libraries' names are called here."""


class _Elsewhere:
    """An attribute that learners have not: who asks for it is told what they have.

    A `__getattr__` would say it of every name, and slow down every call of every method.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, learner: object, kind: type) -> Any:
        raise AttributeError(f"{kind.__name__}: there is no {self.name!r}; {_ELSEWHERE[self.name]}")


@shares
class Learner(_core.Learner):
    """The methods that every learner has; a subclass adds and describes its parameters.

    Parameters are fixed after construction, and `repr` rebuilds the learner.

    Parameters
    ----------
    seed
        The same seed and the same events give the same questions and the same weights.
    track
        Keep a register of all features of all events: see `register`.

    Examples
    --------
    >>> import headwater as hw
    >>> isinstance(hw.FLLS(), hw.Learner)
    True
    """

    seed: Annotated[int, SEED] = 0
    track: bool = False
    _owner: ClassVar[str] = ""  # the name in error messages, if not that of the class itself

    def __init_subclass__(cls, *, abstract: bool = False) -> None:
        if not abstract:
            _CLASSES.setdefault(cls.__name__, cls)

    def __new__(cls, *args: Any, **given: Any) -> Self:
        check_parameters(cls, given, cls._owner)
        fields = list(getattr(cls, "__dataclass_fields__", ()))
        if args and fields and "__dataclass_fields__" in vars(cls):
            kind = cls._owner or cls.__name__
            raise TypeError(f"{kind}: parameters are given by name, such as {fields[0]}=...")
        return super().__new__(cls)

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if name not in _ELSEWHERE]

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
            track=self.track,
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
        return self._predicts()

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

    def features(self) -> Features:
        """The features learned so far, in the order in which their names first appeared.

        The result is a sequence of `Feature` that is kept as columns; `to_frame()` makes a
        DataFrame of it.

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
        return Features(*self._features())

    def _repr_html_(self) -> str:
        return html.learner(self)

    @property
    def register(self) -> Register:
        """A copy of the register of all features, as it is now, of a learner with `track=True`.

        Examples
        --------
        >>> import headwater as hw
        >>> model = hw.Spring(track=True)
        >>> decision = model.decide_one({"rain": 2.0})
        >>> model.register.feature("rain").values
        (2.0,)
        """
        kept = self._register()
        if kept is None:
            raise ParameterError(
                f"register: {self!r} keeps none; make the learner with track=True."
            )
        return Register.of(kept)

    def findings(self, limit: int | None = None, *, since: int = 0) -> list[FeatureFinding]:
        """What the register has found after number `since`: see `Register.findings`.

        Examples
        --------
        >>> import headwater as hw
        >>> model = hw.Spring(track=True)
        >>> for day in range(60):
        ...     decision = model.decide_one({"rain": day % 7} if day < 40 else {"wind": day % 5})
        >>> [(one.event, one.kind, one.feature) for one in model.findings(limit=2)]
        [(48, 'born', 'wind'), (57, 'gone', 'rain')]
        """
        found = self._findings(since)
        if found is None:
            raise ParameterError(
                f"findings: {self!r} keeps no register; make the learner with track=True."
            )
        return findings_of(found, limit)

    def simulate(self, X: Any, y: Any, *, names: ColumnNames | None = None) -> Trace:
        """Run the whole loop over a batch: decide on each event, learn those asked for.

        A label is used only if it was asked for; a missing one (None, NaN) counts as asked and not
        answered. The result is exactly that of `decide_one` and `answer` in turn, only faster.

        Parameters
        ----------
        X
            Events: anything with `indptr`, `indices` and `data` (values not stored are absent, a
            stored 0 is a 0), a dense array (NaN is absent), a list of dicts as `decide_one` takes
            them, or a frame: a table of pandas, polars, pyarrow or any library that exports Arrow
            (null is absent, text is an indicator).
        y
            One label per row: a list, an array, or a column of one of these libraries.
        names
            One name per column, as a list or as `headwater.FeatureNames`, which are read once for
            many batches; by default the names of `X`, if it has any, else column numbers.

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
        columns: Columns | None = None,
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
            A path, or the result of `headwater.open`; the next five parameters are those of
            `headwater.open` and are used with a path.
        format
            As in `headwater.open`.
        label
            As in `headwater.open`.
        id
            As in `headwater.open`.
        columns
            As in `headwater.open`; the model keeps them (`columns`).
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
        events = opened(file, format, label, id, columns, on_error)
        return self._run_file(events, columns, False, decisions, progress)

    def learn_file(
        self,
        file: EventFile | str | os.PathLike[str],
        *,
        format: Format | None = None,
        label: str | None = "y",
        id: str | None = None,
        columns: Columns | None = None,
        on_error: OnError = "raise",
        decisions: str | os.PathLike[str] | None = None,
        progress: Callable[[FileRun], object] | None = None,
    ) -> FileRun:
        """Learn every label that is in a file, and decide on the events without one.

        The result is exactly that of `learn_one` for each event with a label and of `decide_one`
        for each other. Each event is predicted before it is learned, so that errors are counted.
        Parameters as in `simulate_file`; a decision about an event with a label asks for nothing.

        Examples
        --------
        >>> import headwater as hw, pathlib, tempfile
        >>> model = hw.FLLS()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "days.jsonl")
        ...     _ = path.write_text('{"rain": 2.0, "wet": true}\\n{"rain": 1.0}\\n')
        ...     run = model.learn_file(path, label="wet")
        >>> run.events, run.labelled, run.learned
        (2, 1, 1)
        """
        events = opened(file, format, label, id, columns, on_error)
        return self._run_file(events, columns, True, decisions, progress)

    def _run_file(
        self,
        file: EventFile,
        columns: Columns | None,
        every_label: bool,
        decisions: str | os.PathLike[str] | None,
        progress: Callable[[FileRun], object] | None,
    ) -> FileRun:
        report = None if progress is None else lambda *told: progress(file_run(*told))
        written = None if decisions is None else os.fspath(decisions)
        run = file_run(*self._simulate_file(file.source(), every_label, written, report))
        if columns is not None:
            self._keep_columns(dataclasses.replace(columns, units=dict(run.units)))
        return run

    @property
    def columns(self) -> Columns | None:
        """The roles of the columns that it was trained on; None if it was not told any.

        It is saved with the model. It changes nothing about how the learner learns.

        Examples
        --------
        >>> import headwater as hw, pathlib, tempfile
        >>> model = hw.Linear()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "days.csv")
        ...     _ = path.write_text("rain,note,wet\\n2 mm,a,1\\n0 mm,b,0\\n")
        ...     columns = hw.Columns(label="wet", ignore=["note"], number=["rain"])
        ...     run = model.learn_file(path, columns=columns)
        >>> hw.from_bytes(model.to_bytes()).columns
        Columns(label='wet', ignore=('note',), number=('rain',), units={'rain': 'mm'})
        """
        columns: Columns | None = self.__dict__.get("_columns")
        return columns

    def _keep_columns(self, columns: Columns | None) -> None:
        self.__dict__["_columns"] = columns

    def _predictions(
        self, classes: NDArray[np.int64], margins: NDArray[np.float64]
    ) -> NDArray[Any]:
        return batches.predictions(self.task, classes, margins, self.labels)

    def learn_many(self, X: Any, y: Any, *, names: ColumnNames | None = None) -> None:
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

    def predict_many(self, X: Any, *, names: ColumnNames | None = None) -> Any:
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

    def predict_proba_many(self, X: Any, *, names: ColumnNames | None = None) -> Any:
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

    def margin_many(self, X: Any, *, names: ColumnNames | None = None) -> Any:
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

    def replica(self, *, seed: int) -> Self:
        """A decider for some of the events: a copy that decides and does not learn.

        It decides with what this learner, its owner, knew at its last `refresh`, draws its own
        coins and asks its own share of the events that it is given. Its decisions are answered in
        the owner, once the owner has absorbed it: see `absorb`. `docs/operate/replicas.md` says
        what can be relied on.

        Parameters
        ----------
        seed
            Of its coins: another than the owner's and than those of other replicas.

        Examples
        --------
        >>> import headwater as hw
        >>> owner = hw.PAA()
        >>> replica = owner.replica(seed=1)
        >>> decision = replica.decide_one({"rain": 2.0})
        >>> owner.absorb([replica])
        >>> owner.answer(decision, True)
        >>> replica.refresh(owner)
        >>> replica.predict_one({"rain": 1.0}), owner.seen, owner.weights()
        (True, 1, {'rain': 0.5})
        """
        copied = type(self)(**{**self.parameters(), "seed": seed})
        _core.become_replica(copied, self)
        copied._keep_columns(self.columns)
        return copied

    def refresh(self, owner: "Learner | bytes") -> None:
        """Let a replica take what its owner knows now: the learner, or the bytes of its `to_bytes`.

        What the replica has not reported yet is kept. An error changes nothing.

        Examples
        --------
        >>> import headwater as hw
        >>> owner = hw.PAA()
        >>> replica = owner.replica(seed=1)
        >>> owner.learn_one({"rain": 2.0}, True)
        >>> replica.refresh(owner.to_bytes())
        >>> replica.weights()
        {'rain': 0.5}
        """
        if not isinstance(owner, Learner):
            owner = from_bytes(owner)
        _core.refresh_replica(self, owner)

    def report(self) -> bytes:
        """What a replica did since its last report, for an owner in another process.

        The report is handed out once: keep it until the owner has absorbed it.

        Examples
        --------
        >>> import headwater as hw
        >>> owner = hw.PAA()
        >>> replica = owner.replica(seed=1)
        >>> decision = replica.decide_one({"rain": 2.0})
        >>> owner.absorb([replica.report()])
        >>> owner.seen, owner.asked
        (1, 1)
        """
        return _core.report_of(self)

    def absorb(self, replicas: "Iterable[Learner | bytes]") -> None:
        """Count what replicas decided since they were last absorbed, and open their questions here.

        The events count as if this learner had decided on them, one replica after the other, and
        its scaler has counted their values. From then on `answer` learns the replicas' decisions.
        An error changes nothing, neither here nor in the replicas.

        Parameters
        ----------
        replicas
            Replicas of this learner, or reports of them (`report`); each report counts once.

        Examples
        --------
        >>> import headwater as hw
        >>> owner = hw.Spring()
        >>> deciders = [owner.replica(seed=1), owner.replica(seed=2)]
        >>> for day in range(20):
        ...     decision = deciders[day % 2].decide_one({"rain": day % 7})
        >>> owner.absorb(deciders)
        >>> owner.seen, owner.asked
        (20, 2)
        """
        if isinstance(replicas, (Learner, bytes)):
            raise ParameterError(
                "absorb: expected a list of replicas or reports, got a single one; use [replica]."
            )
        if not isinstance(replicas, Iterable):
            raise ParameterError(
                f"absorb: expected a list of replicas or reports, got {shown(replicas)}."
            )
        reports: list[bytes] = []
        reported: list[tuple[Learner, bytes]] = []
        try:
            for one in replicas:
                if isinstance(one, Learner):
                    reports.append(one.report())
                    reported.append((one, reports[-1]))
                elif isinstance(one, bytes):
                    reports.append(one)
                else:
                    raise ParameterError(
                        "absorb: expected replicas of this learner, or reports of them, got"
                        f" {shown(one)} ({type(one).__name__})."
                    )
            _core.absorb_reports(self, reports)
        except BaseException:
            for replica, report in reversed(reported):
                _core.take_back(replica, report)
            raise

    def to_bytes(self) -> bytes:
        """The whole state, as `save` writes it. Equal parameters, seed and events: equal bytes.

        Examples
        --------
        >>> import headwater as hw
        >>> hw.PAA(seed=1).to_bytes() == hw.PAA(seed=1).to_bytes()
        True
        """
        return self._write(write_header(type(self).__name__, self.parameters(), self.columns))

    def delta(self, before: bytes) -> bytes:
        """What turns `before`, bytes of an earlier state of this learner, into its `to_bytes()`.

        It is short where little has changed, for a replica in another process. With `b""` it is
        the whole, for one whose state is not known. `apply_delta` is its opposite.

        Examples
        --------
        >>> import headwater as hw
        >>> owner = hw.PAA()
        >>> before = owner.to_bytes()
        >>> owner.learn_one({"rain": 2.0}, True)
        >>> hw.apply_delta(before, owner.delta(before)) == owner.to_bytes()
        True
        """
        if not isinstance(before, bytes):
            raise ModelFileError(f"delta: expected bytes, got {type(before).__name__}.")
        return _core.write_delta(before, self.to_bytes())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the whole state to a file; a learner loaded from it continues bit for bit.

        The file is there whole or not at all: whoever reads it, and whatever happens meanwhile,
        finds the old model or the new one. A symbolic link is followed, rights stay as they were,
        a read-only file and what is no regular file are refused with an OSError. The format is
        described in `docs/internals/model-file.md`.

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
        copied = type(self)(**self.parameters())
        copied._copy(self)
        copied._keep_columns(self.columns)
        return copied

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.__copy__()

    def __reduce__(self) -> tuple[Any, ...]:
        return from_bytes, (self.to_bytes(),)


for _name in _ELSEWHERE:
    setattr(Learner, _name, _Elsewhere(_name))

_CLASSES: dict[str, type[Learner]] = {}
"""All learner classes by name; model files contain these names."""


@shares
class Bounded(Learner, abstract=True):
    """A learner whose number of features can be limited.

    Parameters
    ----------
    max_features
        Capacity: the largest number of names it keeps, its own features not counted; None: no
        limit. See `docs/how-to/memory.md`.
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


def opened(
    file: EventFile | str | os.PathLike[str],
    format: Format | None,
    label: str | None,
    id: str | None,
    columns: Columns | None,
    on_error: OnError,
) -> EventFile:
    if not isinstance(file, EventFile):
        return open_file(
            file, format=format, label=label, id=id, columns=columns, on_error=on_error
        )
    if columns not in (None, file.columns):
        raise ParameterError("columns: the file was opened with others; give them to hw.open only.")
    return file


def file_run(
    counts: tuple[Any, ...],
    problems: list[str],
    findings: list[tuple[str, str, int, int, str]],
    units: list[tuple[str, str]],
) -> FileRun:
    """The core's result of a run over a file."""
    told = {"problems": tuple(problems), "findings": tuple(findings), "units": tuple(units)}
    return FileRun(*counts, **told)  # type: ignore[arg-type]


def check_learner(owner: str, value: object) -> None:
    """Refuse what is no learner."""
    if not isinstance(value, Learner):
        called = isinstance(value, type) and issubclass(value, Learner)
        cure = f"; write {value.__name__}()" if called else ""  # type: ignore[attr-defined]
        raise ParameterError(f"{owner}: learner must be a learner, got {brief(value)}{cure}.")


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
    return _from_file(None, bytes(data))


def apply_delta(before: bytes, delta: bytes) -> bytes:
    """The bytes of a learner's later state, of those of an earlier one and of `Learner.delta`.

    Examples
    --------
    >>> import headwater as hw
    >>> owner = hw.PAA()
    >>> state = hw.apply_delta(b"", owner.delta(b""))
    >>> owner.learn_one({"rain": 2.0}, True)
    >>> hw.from_bytes(hw.apply_delta(state, owner.delta(state))).weights()
    {'rain': 0.5}
    """
    for given in (before, delta):
        if not isinstance(given, bytes):
            raise ModelFileError(f"delta: expected bytes, got {type(given).__name__}.")
    return _core.apply_delta(before, delta)


L = TypeVar("L", bound=Learner)


def restored(cls: type[L], data: bytes) -> L:
    """The learner of this class whose `to_bytes` returned these bytes."""
    return _from_file(cls, data)  # type: ignore[return-value]


def _from_file(cls: type[Learner] | None, data: bytes) -> Learner:
    """The learner in a model file; None: the header says of which class."""
    header, state = _core.split_model(data)
    try:
        name, parameters, columns = read_header(header)
        learner = (cls or _class_named(name, parameters))(**parameters)
    except ParameterError as error:
        raise ModelFileError(f"model file: its header cannot be read: {error}") from None
    learner._assemble(state)
    learner._keep_columns(columns)
    return learner


def own_class(cls: type[Learner], base: type[Learner]) -> None:
    """Make a user's learner, a subclass of `base`, known by its name; the last of a name counts."""
    if not issubclass(_CLASSES.get(cls.__name__, base), base):
        raise ParameterError(
            f"{cls.__name__}: a learner of the package has this name; give yours another."
        )
    _CLASSES[cls.__name__] = cls


def learner_classes() -> dict[str, type[Learner]]:
    """Every learner class by its name: those of the package and those of users."""
    return dict(_CLASSES)


def _class_named(name: str, parameters: dict[str, Any]) -> type[Learner]:
    """The learner class of a header, if it has all of these parameters."""
    if name not in _CLASSES:
        raise ParameterError(
            f"there is no learner {name!r}; if it is written in Python, import its module first."
        )
    cls = _CLASSES[name]
    known = {field.name for field in dataclasses.fields(cls)}
    for parameter in parameters:
        if parameter not in known:
            raise ParameterError(f"{name} has no parameter {parameter!r}.")
    return cls
