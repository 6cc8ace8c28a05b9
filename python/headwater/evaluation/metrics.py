"""Scores of binary margins against labels.

A margin above 0 predicts the positive class. A margin of exactly 0 is a mistake for either label
(a model that knows nothing gets no credit); where a class is needed, it is the negative class.
Labels are bool, 0/1 or −1/+1.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headwater.errors import EventError, LabelError
from headwater.types import Label


def mistakes(margin: ArrayLike, labels: ArrayLike) -> NDArray[np.bool_]:
    """Which events were predicted wrongly: y q ≤ 0.

    Examples
    --------
    >>> mistakes([0.5, 0.5, 0.0], [True, False, False]).tolist()
    [False, True, True]
    """
    q, positive = _aligned("mistakes", margin, labels)
    return np.where(positive, q <= 0, q >= 0)


def errors(margin: ArrayLike, labels: ArrayLike) -> int:
    """How many events were predicted wrongly.

    Examples
    --------
    >>> errors([0.5, 0.5, 0.0], [True, False, False])
    2
    """
    return int(mistakes(margin, labels).sum())


def balanced_accuracy(margin: ArrayLike, labels: ArrayLike) -> float:
    """Mean of sensitivity and specificity; NaN when a class is absent.

    The FLLS paper prints it as AUC.

    Examples
    --------
    >>> balanced_accuracy([0.5, -0.5, -0.5, 0.5], [1, 1, -1, -1])
    0.5
    """
    q, positive = _aligned("balanced_accuracy", margin, labels)
    if positive.all() or not positive.any():
        return math.nan
    sensitivity, specificity = (q[positive] > 0).mean(), (q[~positive] <= 0).mean()
    return float(sensitivity + specificity) / 2


def roc_auc(margin: ArrayLike, labels: ArrayLike) -> float:
    """Probability that a positive event's margin exceeds a negative one's; a tie counts half.

    NaN when a class is absent.

    Examples
    --------
    >>> roc_auc([0.9, 0.4, 0.4, 0.1], [True, True, False, False])
    0.875
    """
    q, positive = _aligned("roc_auc", margin, labels)
    positives = int(positive.sum())
    pairs = positives * (len(q) - positives)
    if pairs == 0:
        return math.nan
    # With mean ranks for ties, the positives' ranks add up to their wins over the negatives plus
    # the ranks 1 + ... + P that they hold among themselves.
    _, place, count = np.unique(q, return_inverse=True, return_counts=True)
    mean_rank = np.cumsum(count) - (count - 1) / 2
    wins = mean_rank[place][positive].sum() - positives * (positives + 1) / 2
    return float(wins / pairs)


def f_measure(margin: ArrayLike, labels: ArrayLike) -> float:
    """2TP/(2TP + FP + FN) of the positive class; 0 if that is 0/0.

    Examples
    --------
    >>> f_measure([0.5, 0.5, -0.5], [True, False, False])
    0.6666666666666666
    """
    q, positive = _aligned("f_measure", margin, labels)
    predicted = q > 0
    hits, named = int((predicted & positive).sum()), int(predicted.sum() + positive.sum())
    return 2 * hits / named if named else 0.0


def _aligned(
    owner: str, margin: ArrayLike, labels: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The margins, and which events are positive."""
    q = margins_of(owner, margin)
    y: NDArray[Any] = np.asarray(labels)
    if q.shape != y.shape:
        raise LabelError(
            f"{owner}: labels must be one per margin, got shapes {y.shape} and {q.shape}."
        )
    return q, positives(owner, y)


def margins_of(owner: str, margin: ArrayLike) -> NDArray[np.float64]:
    """The margins as an array, once it is known that they are numbers."""
    q = np.asarray(margin, dtype=np.float64)
    if q.ndim != 1:
        raise EventError(f"{owner}: margins must have one dimension, got {q.ndim}.")
    if np.isnan(q).any():
        raise EventError(f"{owner}: margins must be numbers, got NaN at {np.isnan(q).argmax()}.")
    return q


def positives(owner: str, labels: Any, classes: Sequence[Label] | None = None) -> NDArray[np.bool_]:
    """Which labels are those of the positive class; a label of neither class is refused."""
    if classes is not None:
        negative, positive = classes
        strange = [label for label in labels if label not in (negative, positive)]
        if strange:
            raise LabelError(
                f"{owner}: labels must be {negative!r} or {positive!r}, got {strange[0]!r}."
            )
        return np.array([label == positive for label in labels], dtype=np.bool_)
    y = np.asarray(labels)
    if y.dtype == np.bool_:
        return y
    known = np.isin(y, (-1, 0, 1))
    if not known.all():
        strange = y[~known].tolist()[0]
        cure = "; leave out events without a label" if strange is None or strange != strange else ""
        raise LabelError(f"{owner}: labels must be bool, 0/1 or -1/+1, got {strange!r}{cure}.")
    if -1 in y and 0 in y:
        raise LabelError(f"{owner}: labels must be 0/1 or -1/+1, got both -1 and 0.")
    return np.asarray(y == 1, dtype=np.bool_)
