"""One run, and the choice of parameters before it. All random numbers come from the seed.

Scores of the stream count predictions made before their labels: `errors` (y q ≤ 0), `accuracy`,
`f_measure`, `sensitivity`, `specificity`, `balanced_accuracy`, `roc_auc`; those that begin with
`test_` are of the final model on the held-out rows with every column that is there at the end.
With `after` there are the error rates `error_before` and `error_after` the change, `error_fresh` of
a learner that begins with the change, and `error_ratio` of the last two.
"""

import math
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from headwater.errors import ParameterError
from headwater.evaluation import metrics
from headwater.evaluation.scores import Scores
from headwater.labels import Oracle
from headwater.session import Session
from headwater.studies.learners import build
from headwater.studies.plan import Cell, LearnerPlan, Study
from headwater.studies.protocol import Data, Split, cut, held_out, load, split
from headwater.types import Rows, Trace

OF_THE_STREAM = (
    *("errors", "accuracy", "f_measure", "sensitivity", "specificity", "balanced_accuracy"),
)
BLOCKS = 50
"""Into how many blocks a real stream is cut for the standard error of its score."""
DRAWS = 1_000
"""How many times that many blocks are drawn."""
FOLDS = 5
POINTS = 50
"""How many points a curve over time has."""
CHOICE_SEEDS = 1_000_000
"""Where the seeds of the orders begin that serve only to choose parameters."""


class Chosen(NamedTuple):
    """What was chosen for a cell before its repeats."""

    parameters: dict[str, Any]
    width: float | None


class TrialResult(NamedTuple):
    """The result of one run."""

    scores: dict[str, float]
    curve: list[float]
    """Along the stream, at `POINTS` places: the mean loss so far (errors, or FESL's loss)."""
    seconds: float


def choose(study: Study, cell: Cell, folder: Path | None) -> Chosen:
    """The point of the grid with the best mean score, the first of equals, and the query width.

    By folds: each training stream loses a fifth of its rows, five times, and the score is that of
    those rows. By orders: the score of whole streams in orders that no repeat has.
    """
    plan = study.learner_plan(cell.learner)
    points = plan.choices()
    best = points[0]
    if len(points) > 1:
        sign = -1.0 if study.score == "errors" else 1.0
        best = points[int(np.argmax(sign * _mean_scores(study, cell, folder, points)))]
    if not study.one_width or cell.rate is None:
        return Chosen(best, None)
    splits = [_split(study, cell, folder, seed) for seed in range(study.one_width)]
    data_plan = study.data_plan(cell.data)
    return Chosen(best, build(plan, data_plan, splits, cell.rate, best, seed=0).width)


def _data(study: Study, cell: Cell, folder: Path | None, seed: int) -> Data:
    return load(study.data_plan(cell.data), study.preprocess_for(cell.learner), folder, seed)


def _split(study: Study, cell: Cell, folder: Path | None, seed: int) -> Split:
    data = _data(study, cell, folder, seed)
    return split(study, data, study.stream_plan(cell.stream), seed)


def _mean_scores(
    study: Study, cell: Cell, folder: Path | None, points: list[dict[str, Any]]
) -> NDArray[np.float64]:
    """The mean score of each point of the grid; its first stream gives its query width."""
    scores: list[list[float]] = [[] for _ in points]
    widths: list[float | None] = [None for _ in points]
    for seed in range(study.choice_repeats_for(cell.learner)):
        for one in _trials(study, cell, folder, seed):
            for place, point in enumerate(points):
                outcome, widths[place] = _follow(study, cell, one, point, seed, widths[place])
                scores[place].append(outcome.scores[study.score])
    return np.asarray(np.mean(scores, axis=1), dtype=np.float64)


def _trials(study: Study, cell: Cell, folder: Path | None, seed: int) -> Iterator[Split]:
    """Streams to choose by, none of which shows what a repeat is scored on."""
    if study.choose == "orders":
        yield _split(study, cell, folder, CHOICE_SEEDS + seed)
        return
    stream, data = study.stream_plan(cell.stream), _data(study, cell, folder, seed)
    order = np.random.default_rng(seed).permutation(len(data.labels))
    training = order[: len(order) - held_out(study, len(order))]
    fold = np.arange(len(training)) % FOLDS
    for left in range(FOLDS):  # each in an order of its own: by one alone chance would choose
        kept = np.random.default_rng([seed, left]).permutation(training[fold != left])
        yield cut(data, stream, kept, training[fold == left], seed)


def run(study: Study, cell: Cell, chosen: Chosen, one: Split, seed: int) -> TrialResult:
    """One repeat of a cell, on its stream."""
    return _follow(study, cell, one, chosen.parameters, seed, chosen.width)[0]


def _follow(
    study: Study,
    cell: Cell,
    one: Split,
    parameters: dict[str, Any],
    seed: int,
    width: float | None,
) -> tuple[TrialResult, float | None]:
    plan, data_plan = study.learner_plan(cell.learner), study.data_plan(cell.data)
    learner, width = build(plan, data_plan, [one], cell.rate, parameters, seed, width)
    begin = perf_counter()
    trace = _traced(learner, cell, one, seed)
    seconds = perf_counter() - begin
    scores = {**stream_scores(trace, one), "label_rate": float(trace.asked.mean())}
    if study.after and one.first_scored:
        fresh = _from_the_change(one, study.after)
        again, _ = build(plan, data_plan, [fresh], cell.rate, parameters, seed, width)
        scores |= change_scores(trace, _traced(again, cell, fresh, seed), one, study.after)
    if len(one.test_y):
        scores |= test_scores(learner, one)
    if study.score not in scores:
        raise ParameterError(
            f"score must be one of {', '.join(sorted(scores))}, got {study.score!r}."
        )
    curve = curve_of(trace, one, study, plan)
    return TrialResult(scores, curve, seconds), width


def _traced(learner: Any, cell: Cell, one: Split, seed: int) -> Trace:
    """What a learner does with a stream whose labels come as the cell says."""
    if cell.labels.delay or cell.labels.wrong or cell.labels.never:
        return _with_late_labels(learner, cell, one, seed)
    trace: Trace = learner.simulate(one.X, one.y)
    return trace


def _from_the_change(one: Split, events: int) -> Split:
    """So many events from the first that counts, as a stream of their own."""
    place = slice(one.first_scored, one.first_scored + events)
    ends = one.X.indptr[place.start : place.stop + 1]
    stored = slice(int(ends[0]), int(ends[-1]))
    X = Rows(ends - ends[0], one.X.indices[stored], one.X.data[stored], one.X.names)
    return one._replace(X=X, y=one.y[place], first_scored=0)


def change_scores(trace: Trace, fresh: Trace, one: Split, events: int) -> dict[str, float]:
    """The error rates before and after a change, and of a learner that knows nothing before it."""
    first, y = one.first_scored, one.y
    wrong = metrics.mistakes(trace.margin, y)
    after = float(wrong[first : first + events].mean())
    anew = float(metrics.mistakes(fresh.margin, y[first : first + events]).mean())
    return {
        "error_before": float(wrong[max(0, first - events) : first].mean()),
        "error_after": after,
        "error_fresh": anew,
        "error_ratio": after / anew if anew else math.nan,
    }


def _with_late_labels(learner: Any, cell: Cell, one: Split, seed: int) -> Trace:
    """The trace of a session whose labels come as the cell says."""
    labels = cell.labels
    oracle = Oracle(one.y, delay=labels.delay, wrong=labels.wrong, never=labels.never, seed=seed)
    session = Session(learner, oracle)
    names = list(one.X.names)
    indices, values = one.X.indices.tolist(), one.X.data.tolist()
    decisions = []
    for start, stop in zip(one.X.indptr[:-1].tolist(), one.X.indptr[1:].tolist(), strict=True):
        event = {names[i]: v for i, v in zip(indices[start:stop], values[start:stop], strict=True)}
        decisions.append(session.receive(event))
        session.settle()
    return Trace(
        np.array([decision.prediction for decision in decisions], dtype=object),
        np.array([decision.margin for decision in decisions]),
        np.array([decision.query_probability for decision in decisions]),
        np.array([decision.asked for decision in decisions]),
    )


def is_binary(labels: NDArray[Any]) -> bool:
    """Whether the labels are −1 and +1."""
    return bool(np.isin(labels, (-1, 1)).all())


def stream_scores(trace: Trace, one: Split) -> dict[str, float]:
    """What the predictions made along the stream come to."""
    y = one.y[one.first_scored :]
    if not is_binary(y):
        wrong = trace.prediction[one.first_scored :] != y
        return {"errors": float(wrong.sum()), "accuracy": float(1 - wrong.mean())}
    margin = trace.margin[one.first_scored :]
    scores = Scores()
    scores.update_many(margin, y)
    found = {name: float(getattr(scores, name)) for name in OF_THE_STREAM}
    found["roc_auc"] = metrics.roc_auc(margin, y)
    if one.is_real:
        found["balanced_accuracy_error"] = block_error(margin, y)
    return found


def block_error(margin: NDArray[np.float64], y: NDArray[Any]) -> float:
    """The standard error of the balanced accuracy, by a block bootstrap.

    Events near each other in time are alike, so that blocks of consecutive events are drawn.
    """
    right, positive = margin > 0, y == 1
    kinds = np.stack([right & positive, positive, ~right & ~positive, ~positive])
    blocks = np.stack([part.sum(axis=1) for part in np.array_split(kinds, BLOCKS, axis=1)])
    drawn = np.random.default_rng(0).integers(len(blocks), size=(DRAWS, len(blocks)))
    hits, positives, rejections, negatives = blocks[drawn].sum(axis=1).T
    both = (positives > 0) & (negatives > 0)
    shares = hits[both] / positives[both] + rejections[both] / negatives[both]
    return float(np.std(shares / 2)) if both.any() else math.nan


def test_scores(learner: Any, one: Split) -> dict[str, float]:
    """What the final model says of the rows that were held out."""
    if not is_binary(one.test_y):
        right = learner.predict_many(one.test_X) == one.test_y
        return {"test_accuracy": float(np.mean(right))}
    margin = learner.margin_many(one.test_X)
    return {
        "test_accuracy": 1 - metrics.errors(margin, one.test_y) / len(one.test_y),
        "test_balanced_accuracy": metrics.balanced_accuracy(margin, one.test_y),
        "test_roc_auc": metrics.roc_auc(margin, one.test_y),
    }


def curve_of(trace: Trace, one: Split, study: Study, plan: LearnerPlan) -> list[float]:
    """The mean loss so far at places along the scored part of the stream; empty if not drawn."""
    if study.figure not in ("time", "loss"):
        return []
    y, margin = one.y[one.first_scored :], trace.margin[one.first_scored :]
    if study.figure == "loss":
        loss = np.logaddexp(0.0, -y * margin) / math.log(2)
    else:
        loss = metrics.mistakes(margin, y).astype(np.float64)
    so_far = np.cumsum(loss) / np.arange(1, len(loss) + 1)
    places = np.linspace(0, len(loss), POINTS + 1)[1:].astype(np.int64) - 1
    return [round(float(value), 6) for value in so_far[places]]
