"""Choosing a parameter by cross-validation along the stream."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from headwater.errors import EventError, LabelError, ParameterError
from headwater.evaluation.held_out import held_out
from headwater.evaluation.rows import as_rows, picked
from headwater.evaluation.scores import NUMBERS
from headwater.parameters import SEED, checked, whole
from headwater.streams.table import labels_of
from headwater.types import Trace


class Tried(Protocol):
    """A candidate: it runs along a stream and gives margins for other events."""

    def simulate(self, X: Any, y: Any) -> Trace:
        """Run along the stream."""

    def margin_many(self, X: Any) -> NDArray[np.float64]:
        """The margins of events."""


@dataclass(frozen=True)
class Choice:
    """The best value of a grid, and the scores of all values.

    Attributes
    ----------
    value
        The value with the best mean score, the smaller one on a tie.
    scores
        By value, its score on each fold.

    Examples
    --------
    >>> Choice(0.5, {0.5: (0.8, 0.9), 1.0: (0.7, 0.8)}).value
    0.5
    """

    value: float
    scores: dict[float, tuple[float, ...]]


Score = str | Callable[[NDArray[np.float64], NDArray[Any]], float]

LOWER_IS_BETTER = {"errors", "cost", "asked"}


@checked
def cross_validated(
    make: Callable[[float], Tried],
    X: Any,
    y: Any,
    grid: Iterable[float],
    folds: Annotated[int, whole("a whole number, 2 or above", lambda v: v >= 2)] = 5,
    score: Score = "balanced_accuracy",
    *,
    seed: Annotated[int, SEED] = 0,
) -> Choice:
    """Choose the value of a parameter by cross-validation along the stream.

    The rows are divided into folds at random. For every value and fold a new learner runs over the
    other folds in the order of the stream, with its own query rule, and is scored on the fold left
    out. A fold that lacks a class, whose score is NaN, does not count.

    Parameters
    ----------
    make
        Builds a new learner for a value. If its query width is to be searched on each training
        part, it returns an `AtRate`.
    X, y
        The training stream, as `simulate` takes it.
    grid
        The values to try.
    folds
        The number of folds.
    score
        The name of a score of `Scores` (or of `ClassScores`), or a function of the margins and the
        labels; the higher the better.
    seed
        The same seed gives the same folds.

    Examples
    --------
    >>> import headwater as hw
    >>> X, y = hw.streams.SensorNetwork(1_000).batch()
    >>> choice = cross_validated(lambda C: hw.OLSF(update="pa1", C=C), X, y, (0.001, 1.0))
    >>> choice.value
    0.001
    """
    values = sorted(set(grid))
    if not values:
        raise ParameterError("cross_validated: grid must hold at least one value, got none.")
    if isinstance(score, str) and (score not in NUMBERS or score in LOWER_IS_BETTER):
        names = ", ".join(name for name in NUMBERS if name not in LOWER_IS_BETTER)
        raise ParameterError(f"cross_validated: score must be one of {names}, got {score!r}.")
    rows = as_rows("cross_validated", X)
    labels = labels_of("cross_validated", y, len(rows))
    if len(rows) < folds:
        raise EventError(
            f"cross_validated: the stream must have one event per fold, {folds}, got {len(rows)}."
        )
    fold_of = np.random.default_rng(seed).permutation(len(rows)) % folds
    scores: dict[float, list[float]] = {value: [] for value in values}
    for fold in range(folds):
        train, test = np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)
        train_rows, test_rows = picked(rows, train), picked(rows, test)
        for value in values:
            learner = make(value)
            learner.simulate(train_rows, labels[train])
            scores[value].append(_score(learner, test_rows, labels[test], score))
    means = {value: _mean(of_folds) for value, of_folds in scores.items()}
    if all(map(math.isnan, means.values())):
        raise LabelError("cross_validated: no fold has a score; are there two classes?")
    best = min(values, key=lambda value: (math.isnan(means[value]), -means[value], value))
    return Choice(best, {value: tuple(of_folds) for value, of_folds in scores.items()})


def _score(learner: Any, X: Any, y: NDArray[Any], score: Score) -> float:
    if callable(score):
        return float(score(learner.margin_many(X), y))
    return held_out(learner, X, y).numbers()[score]


def _mean(of_folds: list[float]) -> float:
    known = [value for value in of_folds if not math.isnan(value)]
    return sum(known) / len(known) if known else math.nan
