"""Prequential evaluation: every event is predicted first, and its label learned if asked for.

For late labels pass a `Session`; a learner alone gets its labels at once, by `simulate`, which
gives the same result as a session with an oracle that answers at once.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from numpy.typing import NDArray

from headwater.display import html, plots
from headwater.errors import EventError, ParameterError
from headwater.evaluation.held_out import held_out, learner_of, scores_for, sparsity
from headwater.evaluation.rows import as_rows, stretch
from headwater.evaluation.scores import ClassScores, Scores
from headwater.learners.base import Learner
from headwater.parameters import COUNT, brief, checked, did_you_mean
from headwater.session import Session
from headwater.streams.base import Stream, events_of
from headwater.streams.table import labels_of
from headwater.types import Rows, Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class Prequential:
    """The scores of a learner along a stream; each event is predicted before its label is known.

    Attributes
    ----------
    scores
        Scores of the whole stream.
    seconds
        Time spent deciding and learning; making the events is not counted.
    sparsity
        Share of the weights that are 0 at the end.
    ends
        Number of events up to the end of each window.
    windows
        By name, an array with one value per window: the scores of the window's events alone, its
        `seconds`, and the `sparsity` at its end.
    tested
        By name, an array with one value per window: the scores of the model on the test data at the
        window's end. Empty without test data.

    Examples
    --------
    >>> import headwater as hw
    >>> stream = hw.streams.SensorNetwork(2_500)
    >>> run = hw.evaluation.prequential(hw.Linear(), stream, window=1_000)
    >>> run.ends.tolist()
    [1000, 2000, 2500]
    >>> run.scores.errors == sum(run.windows["errors"].tolist())
    True
    """

    scores: Scores | ClassScores
    seconds: float
    sparsity: float
    ends: NDArray[np.int64]
    windows: dict[str, NDArray[np.float64]]
    tested: dict[str, NDArray[np.float64]]

    def plot(self, score: str = "balanced_accuracy", *, ax: Any = None) -> "Axes":
        """Draw a score along the stream: of each window and, if there is any, on test data.

        Parameters
        ----------
        score
            A name in `windows`.
        ax
            Axes of matplotlib to draw on; None: a new figure.

        Examples
        --------
        >>> import headwater as hw
        >>> run = hw.evaluation.prequential(hw.Spring(), hw.streams.SensorNetwork(500), window=100)
        >>> run.plot("accuracy").get_ylabel()
        'accuracy'
        """
        if score not in self.windows:
            raise ParameterError(
                f"Prequential.plot: score must be one of {', '.join(self.windows)},"
                f" got {score!r}{did_you_mean(score, self.windows)}."
            )
        return plots.curve(ax, self.ends, self.windows, self.tested, score)

    def _repr_html_(self) -> str:
        names = ("errors", "accuracy", "balanced_accuracy", "asked")
        head = ("up to event", *(name.replace("_", " ") for name in names))
        columns = [self.windows[name] for name in names]
        rows = [
            (html.text(end), *map(html.text, cells))
            for end, *cells in list(zip(self.ends, *columns, strict=True))[-html.MOST :]
        ]
        note = "" if len(self.ends) <= html.MOST else f"The last {html.MOST} windows."
        return html.table(repr(self.scores), head, rows, note)


@checked
def prequential(
    model: Learner | Session,
    stream: Stream | tuple[Any, Any],
    *,
    window: Annotated[int, COUNT] = 1_000,
    costs: tuple[float, float] | None = None,
    sensitivity_weight: float = 0.5,
) -> Prequential:
    """Run a learner along a stream and score its predictions.

    Parameters
    ----------
    model
        A learner, whose questions are answered at once from the stream's labels, or a session,
        whose own label source answers, now or later.
    stream
        A stream, or its events and labels as `simulate` takes them: `(X, y)`.
    window
        Length of the windows that are scored separately, in events; the last may be shorter.
    costs, sensitivity_weight
        As in `Scores`; for two classes only.

    Examples
    --------
    >>> import headwater as hw
    >>> X, y = hw.streams.SensorNetwork(2_000).batch()
    >>> session = hw.Session(hw.Linear(), hw.labels.Oracle(y, delay=100))
    >>> at_once, late = prequential(hw.Linear(), (X, y)), prequential(session, (X, y))
    >>> at_once.scores.errors < late.scores.errors
    True
    """
    length = _length("prequential", stream)
    ends = [*range(window, length, window), length]
    return _run(
        "prequential",
        model,
        stream,
        ends,
        None,
        costs=costs,
        sensitivity_weight=sensitivity_weight,
    )


@checked
def learning_curve(
    model: Learner | Session,
    stream: Stream | tuple[Any, Any],
    X: Any,
    y: Any,
    *,
    points: Annotated[int, COUNT] = 10,
    costs: tuple[float, float] | None = None,
    sensitivity_weight: float = 0.5,
) -> Prequential:
    """Run a learner along a stream and test it at equally spaced points.

    Parameters
    ----------
    model, stream, costs, sensitivity_weight
        As in `prequential`.
    X, y
        Test data; nothing is learned from it.
    points
        The number of tests; the last is at the end of the stream.

    Examples
    --------
    >>> import headwater as hw
    >>> network = hw.streams.SensorNetwork(2_000)
    >>> curve = learning_curve(hw.Linear(), network, *network.held_out(500), points=4)
    >>> curve.ends.tolist(), curve.windows["asked"].cumsum().tolist()
    ([500, 1000, 1500, 2000], [51.0, 100.0, 150.0, 202.0])
    >>> accuracy = curve.tested["balanced_accuracy"]
    >>> bool(accuracy[0] < accuracy[-1])
    True
    """
    length = _length("learning_curve", stream)
    ends = sorted({-(-length * point // points) for point in range(1, points + 1)})
    return _run(
        "learning_curve",
        model,
        stream,
        ends,
        (X, y),
        costs=costs,
        sensitivity_weight=sensitivity_weight,
    )


def _run(
    owner: str,
    model: Learner | Session,
    stream: Stream | tuple[Any, Any],
    ends: list[int],
    test: tuple[Any, Any] | None,
    **counting: Any,
) -> Prequential:
    """The run, window by window; `counting` is how `Scores` are to count."""
    learner = learner_of(owner, model)
    whole, of_window = (scores_for(owner, learner, **counting) for _ in range(2))
    follow = _follow_with_session if isinstance(model, Session) else _follow
    columns: dict[str, list[float]] = {}
    tested: dict[str, list[float]] = {}
    spent = 0.0
    for rows, labels, is_last in _cut(_pieces(owner, stream), ends):
        started = time.perf_counter()
        trace = follow(model, rows, labels)
        spent += time.perf_counter() - started
        several = isinstance(of_window, ClassScores)
        of_window.update_many(trace.prediction if several else trace.margin, labels, trace.asked)
        if is_last:  # of its window
            whole.add(of_window)  # type: ignore[arg-type]
            _note(columns, {**of_window.numbers(), "seconds": spent, "sparsity": sparsity(model)})
            if test is not None:
                _note(tested, held_out(model, *test, **counting).numbers())
            of_window, spent = scores_for(owner, learner, **counting), 0.0
    windows = {name: np.array(values) for name, values in columns.items()}
    return Prequential(
        scores=whole,
        seconds=float(windows["seconds"].sum()),
        sparsity=float(windows["sparsity"][-1]),
        ends=np.array(ends, dtype=np.int64),
        windows=windows,
        tested={name: np.array(values) for name, values in tested.items()},
    )


def _follow(model: Any, rows: Rows, labels: NDArray[Any]) -> Trace:
    trace: Trace = model.simulate(rows, labels)
    return trace


def _follow_with_session(model: Any, rows: Rows, labels: NDArray[Any]) -> Trace:
    decisions = []
    for event in events_of(rows):
        decisions.append(model.receive(event))
        model.settle()
    prediction = np.empty(len(decisions), dtype=object)
    prediction[:] = [decision.prediction for decision in decisions]
    return Trace(
        prediction,
        np.array([decision.margin for decision in decisions], dtype=np.float64),
        np.array([decision.query_probability for decision in decisions], dtype=np.float64),
        np.array([decision.asked for decision in decisions], dtype=np.bool_),
    )


def _length(owner: str, stream: Any) -> int:
    """How many events a stream has; it must be one, and have some."""
    if isinstance(stream, tuple) and len(stream) == 2:
        length = len(stream[1])
    elif isinstance(stream, Stream):
        length = len(stream)
    else:
        raise ParameterError(f"{owner}: stream must be a stream or (X, y), got {brief(stream)}.")
    if length == 0:
        raise EventError(f"{owner}: the stream must have at least one event, got none.")
    return length


def _pieces(owner: str, stream: Any) -> Iterator[tuple[Rows, NDArray[Any]]]:
    if isinstance(stream, Stream):
        yield from stream.slices()
        return
    rows = as_rows(owner, stream[0])
    yield rows, labels_of(owner, stream[1], len(rows))


def _cut(
    pieces: Iterator[tuple[Rows, NDArray[Any]]], ends: list[int]
) -> Iterator[tuple[Rows, NDArray[Any], bool]]:
    """The pieces cut where windows end, each with whether one does."""
    met, window = 0, 0
    for rows, labels in pieces:
        begin = 0
        while begin < len(labels):
            end = min(len(labels), begin + ends[window] - met)
            met += end - begin
            is_last = met == ends[window]
            yield stretch(rows, begin, end), labels[begin:end], is_last
            begin, window = end, window + is_last


def _note(columns: dict[str, list[float]], numbers: dict[str, float]) -> None:
    for name, value in numbers.items():
        columns.setdefault(name, []).append(value)
