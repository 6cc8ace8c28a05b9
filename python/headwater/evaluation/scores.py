"""Scores that are counted while a stream runs; the stream itself is not kept in memory.

Every score is a function of a few counts, so that events may come one by one or in batches, and
the counts of parts of a stream can be added. TP, FN, FP and TN count positive events predicted
positive, positive events predicted negative, and so on. There a margin of exactly 0 predicts the
negative class; it is an error for either label.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headwater.display import html
from headwater.errors import EventError, LabelError, ParameterError
from headwater.evaluation.metrics import margins_of, positives
from headwater.parameters import CLASSES, INSIDE, Limit, checked, read_number, tuple_of
from headwater.types import Label

# The ROC AUC is computed from margins sorted into bins: 128 bins per factor of 2, from 2^-30 to
# 2^20, on both sides of 0, which has its own bin.
STEPS = 128
LOWEST, HIGHEST = -30, 20
BINS = STEPS * (HIGHEST - LOWEST)  # on each side


COSTS = Limit(
    tuple_of(read_number),
    lambda v: len(v) == 2 and all(0 <= cost < math.inf for cost in v),
    "(of a missed positive, of a false alarm), finite numbers, 0 or above",
)


class Scores:
    """Running scores of margins against the labels of two classes.

    Parameters
    ----------
    classes
        (negative, positive); None: labels are bool, 0/1 or −1/+1.
    costs
        Costs of a missed positive and of a false alarm: (c₊, c₋). None: the share of the other
        class among the events scored, T₋/T and T₊/T, as in the PAA paper.
    sensitivity_weight
        Weight of sensitivity in `sum`; specificity has the rest. Paper: η_p.

    Examples
    --------
    >>> scores = Scores()
    >>> scores.update(0.8, True, asked=True)
    >>> scores.update_many([-0.3, 0.5, 0.0], [False, False, True], [True, False, False])
    >>> scores.events, scores.errors, scores.asked
    (4, 2, 2)
    >>> scores.sensitivity, scores.specificity, scores.f_measure
    (0.5, 0.5, 0.5)
    >>> scores
    <Scores: 4 events, 2 errors, accuracy 0.5, balanced accuracy 0.5, 2 labels asked for>
    """

    @checked
    def __init__(
        self,
        *,
        classes: Annotated[Sequence[Label], CLASSES] | None = None,
        costs: Annotated[tuple[float, float], COSTS] | None = None,
        sensitivity_weight: Annotated[float, INSIDE] = 0.5,
    ) -> None:
        self.classes = classes
        if self.classes is not None and len(self.classes) != 2:
            raise ParameterError(
                f"Scores: classes must be (negative, positive), got {self.classes!r}."
            )
        self.costs = costs
        self.sensitivity_weight = sensitivity_weight
        self.errors = 0
        self.asked = 0
        self.true_positives = 0
        self.false_negatives = 0
        self.false_positives = 0
        self.true_negatives = 0
        self._bins = np.zeros((2, 2 * BINS + 1), dtype=np.int64)  # of the negatives, the positives

    def update(self, margin: float, label: Label, asked: bool = False) -> None:
        """Count one event: its margin before learning, its label, whether it was asked for.

        Examples
        --------
        >>> scores = Scores(classes=("ham", "spam"))
        >>> scores.update(1.5, "ham")
        >>> scores.errors, scores.false_positives
        (1, 1)
        """
        q = float(margin)
        known = (-1, 0, 1) if self.classes is None else self.classes
        if q != q or label not in known or not isinstance(asked, (bool, np.bool_)):
            self.update_many((margin,), (label,), (asked,))  # which says what is wrong
            return
        positive = label == known[-1]
        self.errors += q <= 0 if positive else q >= 0
        self.asked += bool(asked)
        if positive:
            self.true_positives += q > 0
            self.false_negatives += q <= 0
        else:
            self.false_positives += q > 0
            self.true_negatives += q <= 0
        self._bins[int(positive), _bin_of_one(q)] += 1

    def update_many(
        self, margin: ArrayLike, labels: Iterable[Any], asked: ArrayLike | None = None
    ) -> None:
        """Count many events: `update` of each. `asked` None: no label was asked for.

        Examples
        --------
        >>> scores = Scores()
        >>> scores.update_many([2.0, -1.0], [1, -1])
        >>> scores.accuracy
        1.0
        """
        q = margins_of("Scores", margin)
        bought = _bought(asked, len(q))
        positive = positives("Scores", _listed("labels", labels, len(q)), self.classes)
        predicted = q > 0
        self.errors += int(np.where(positive, q <= 0, q >= 0).sum())
        self.asked += bought
        self.true_positives += int((positive & predicted).sum())
        self.false_negatives += int((positive & ~predicted).sum())
        self.false_positives += int((~positive & predicted).sum())
        self.true_negatives += int((~positive & ~predicted).sum())
        places = _bin_of(q)
        for one_class, of_class in zip(
            self._bins, (places[~positive], places[positive]), strict=True
        ):
            np.add.at(one_class, of_class, 1)

    def add(self, other: "Scores") -> None:
        """Count what another has counted, as if it had come here.

        Examples
        --------
        >>> morning, day = Scores(), Scores()
        >>> morning.update(1.0, True)
        >>> day.add(morning)
        >>> day.events
        1
        """
        self.errors += other.errors
        self.asked += other.asked
        self.true_positives += other.true_positives
        self.false_negatives += other.false_negatives
        self.false_positives += other.false_positives
        self.true_negatives += other.true_negatives
        self._bins += other._bins

    @property
    def events(self) -> int:
        """How many events were scored."""
        return self._positive + self._negative

    @property
    def accuracy(self) -> float:
        """1 − errors/events; NaN of no events."""
        return 1 - self.errors / self.events if self.events else math.nan

    @property
    def sensitivity(self) -> float:
        """TP/(TP + FN); NaN when there is no positive event."""
        return _share(self.true_positives, self._positive)

    @property
    def specificity(self) -> float:
        """TN/(TN + FP); NaN when there is no negative event."""
        return _share(self.true_negatives, self._negative)

    @property
    def balanced_accuracy(self) -> float:
        """Mean of sensitivity and specificity. The FLLS paper prints it as AUC."""
        return (self.sensitivity + self.specificity) / 2

    @property
    def sum(self) -> float:
        """η_p·sensitivity + η_n·specificity."""
        weight = self.sensitivity_weight
        return weight * self.sensitivity + (1 - weight) * self.specificity

    @property
    def cost(self) -> float:
        """c₊·FN + c₋·FP; NaN of no events."""
        if not self.events:
            return math.nan
        missed, alarm = self.costs or (
            self._negative / self.events,
            self._positive / self.events,
        )
        return missed * self.false_negatives + alarm * self.false_positives

    @property
    def f_measure(self) -> float:
        """2TP/(2TP + FP + FN) of the positive class; 0 if that is 0/0."""
        return _f(self.true_positives, self.false_positives, self.false_negatives)

    @property
    def roc_auc(self) -> float:
        """Probability that a positive event's margin exceeds a negative one's.

        Margins in one bin count as equal, which is half a win: the exact value lies within
        `roc_auc_slack` of this one. NaN when a class is absent.
        """
        negative, positive = self._bins
        below = np.cumsum(negative) - negative
        return self._share_of_pairs(float(positive @ (below + negative / 2)))

    @property
    def roc_auc_slack(self) -> float:
        """How far `roc_auc` may be from the exact value: half the share of pairs in one bin."""
        negative, positive = self._bins
        zero = BINS  # its margins are equal indeed
        shared = float(positive @ negative) - float(positive[zero] * negative[zero])
        return self._share_of_pairs(shared / 2)

    def numbers(self) -> dict[str, float]:
        """Every score by its name.

        Examples
        --------
        >>> sorted(Scores().numbers())[:3]
        ['accuracy', 'asked', 'balanced_accuracy']
        """
        return {name: float(getattr(self, name)) for name in NUMBERS}

    def __repr__(self) -> str:
        return _said(self)

    def _repr_html_(self) -> str:
        return _shown(self)

    @property
    def _positive(self) -> int:
        return self.true_positives + self.false_negatives

    @property
    def _negative(self) -> int:
        return self.true_negatives + self.false_positives

    def _share_of_pairs(self, pairs: float) -> float:
        every = self._positive * self._negative
        return pairs / every if every else math.nan


NUMBERS = (
    *("errors", "accuracy", "balanced_accuracy", "f_measure", "sensitivity", "specificity"),
    *("sum", "cost", "roc_auc", "asked"),
)
"""The names of the scores of two classes."""


class ClassScores:
    """Running scores of predictions against the labels of several classes.

    Examples
    --------
    >>> scores = ClassScores()
    >>> scores.update("plum", "plum", asked=True)
    >>> scores.update_many(["plum", "lemon"], ["lemon", "lemon"])
    >>> scores.errors, scores.balanced_accuracy
    (1, 0.75)
    """

    def __init__(self) -> None:
        self.events = 0
        self.errors = 0
        self.asked = 0
        self._there: Counter[Any] = Counter()
        self._predicted: Counter[Any] = Counter()
        self._right: Counter[Any] = Counter()

    def update(self, prediction: Label | None, label: Label, asked: bool = False) -> None:
        """Count one event; no prediction, None, is a mistake.

        Examples
        --------
        >>> scores = ClassScores()
        >>> scores.update(None, "plum")
        >>> scores.accuracy
        0.0
        """
        self.update_many((prediction,), (label,), (asked,))

    def update_many(
        self, prediction: Iterable[Any], labels: Iterable[Any], asked: ArrayLike | None = None
    ) -> None:
        """Count many events: `update` of each. `asked` None: no label was asked for.

        Examples
        --------
        >>> scores = ClassScores()
        >>> scores.update_many([1, 2, 3], [1, 2, 1])
        >>> scores.errors
        1
        """
        y = _listed("labels", labels)
        predicted = _listed("predictions", prediction, len(y))
        bought = _bought(asked, len(y))
        missing = [label for label in y if label is None or label != label]
        if missing:
            raise LabelError(f"ClassScores: every label must be known, got {missing[0]!r}.")
        right = [label for label, said in zip(y, predicted, strict=True) if label == said]
        self.events += len(y)
        self.errors += len(y) - len(right)
        self.asked += bought
        self._there.update(y)
        self._predicted.update(predicted)
        self._right.update(right)

    def add(self, other: "ClassScores") -> None:
        """Count what another has counted, as if it had come here.

        Examples
        --------
        >>> morning, day = ClassScores(), ClassScores()
        >>> morning.update("plum", "plum")
        >>> day.add(morning)
        >>> day.events
        1
        """
        self.events += other.events
        self.errors += other.errors
        self.asked += other.asked
        self._there.update(other._there)
        self._predicted.update(other._predicted)
        self._right.update(other._right)

    @property
    def accuracy(self) -> float:
        """1 − errors/events; NaN of no events."""
        return 1 - self.errors / self.events if self.events else math.nan

    @property
    def balanced_accuracy(self) -> float:
        """Mean recall of the classes that occurred."""
        met = sorted(self._there, key=repr)  # sums in one order give the same bits
        recalls = [self._right[label] / self._there[label] for label in met]
        return sum(recalls) / len(recalls) if recalls else math.nan

    @property
    def f_measure(self) -> float:
        """Mean of the F-measures of the classes that occurred or were predicted."""
        labels = (self._there.keys() | self._predicted.keys()) - {None}
        measures = [
            _f(
                self._right[label],
                self._predicted[label] - self._right[label],
                self._there[label] - self._right[label],
            )
            for label in sorted(labels, key=repr)  # sums in one order give the same bits
        ]
        return sum(measures) / len(measures) if measures else math.nan

    def numbers(self) -> dict[str, float]:
        """Every score by its name.

        Examples
        --------
        >>> list(ClassScores().numbers())
        ['errors', 'accuracy', 'balanced_accuracy', 'f_measure', 'asked']
        """
        names = ("errors", "accuracy", "balanced_accuracy", "f_measure", "asked")
        return {name: float(getattr(self, name)) for name in names}

    def __repr__(self) -> str:
        return _said(self)

    def _repr_html_(self) -> str:
        return _shown(self)


def _said(scores: Scores | ClassScores) -> str:
    """The most important numbers in a line."""
    return (
        f"<{type(scores).__name__}: {scores.events:,} events, {scores.errors:,} errors, accuracy"
        f" {scores.accuracy:.4g}, balanced accuracy {scores.balanced_accuracy:.4g},"
        f" {scores.asked:,} labels asked for>"
    )


def _shown(scores: Scores | ClassScores) -> str:
    """Every number, as a table for notebooks."""
    whole = {"errors", "asked"}
    numbers = {
        name.replace("_", " "): int(value) if name in whole else value
        for name, value in scores.numbers().items()
    }
    return html.pairs(f"{type(scores).__name__} of {scores.events:,} events", numbers)


def _share(part: int, whole: int) -> float:
    return part / whole if whole else math.nan


def _f(hits: int, false_alarms: int, missed: int) -> float:
    named = 2 * hits + false_alarms + missed
    return 2 * hits / named if named else 0.0


def _listed(what: str, labels: Any, length: int | None = None) -> list[Any]:
    """Labels as a list; an array of NumPy's would make text of them all if one is a text."""
    if isinstance(labels, (str, bytes)) or not hasattr(labels, "__iter__"):
        raise LabelError(f"{what}: expected one an event, got {labels!r}.")
    listed = labels.tolist() if hasattr(labels, "tolist") else list(labels)
    if length is not None and len(listed) != length:
        raise LabelError(f"{what}: expected one an event, {length}, got {len(listed)}.")
    return listed


def _bought(asked: ArrayLike | None, length: int) -> int:
    """How many labels were asked for."""
    if asked is None:
        return 0
    flags = np.asarray(asked)
    if flags.shape != (length,) or flags.dtype != np.bool_:
        raise EventError(
            f"asked: expected True or False an event, {length}, got {flags.dtype} of shape"
            f" {flags.shape}."
        )
    return int(flags.sum())


def _bin_of(q: NDArray[np.float64]) -> NDArray[np.int64]:
    """The bin of each margin; they are in the order of the margins."""
    fraction, exponent = np.frexp(np.clip(np.abs(q), 2.0**LOWEST, 2.0**HIGHEST))
    # |q| = fraction·2^exponent with a fraction in [1/2, 1)
    step = (exponent - LOWEST - 1) * STEPS + np.floor((2 * fraction - 1) * STEPS).astype(np.int64)
    step = np.minimum(step, BINS - 1)
    return np.asarray(BINS + np.sign(q).astype(np.int64) * (1 + step), dtype=np.int64)


def _bin_of_one(q: float) -> int:
    """`_bin_of`, of one margin."""
    if q == 0:
        return BINS
    fraction, exponent = math.frexp(min(max(abs(q), 2.0**LOWEST), 2.0**HIGHEST))
    step = (exponent - LOWEST - 1) * STEPS + int((2 * fraction - 1) * STEPS)
    return BINS + (1 if q > 0 else -1) * (1 + min(step, BINS - 1))
