"""The error rate over all events, estimated from those asked about.

A learner that asks where it is unsure sees a higher error rate in the answers than over all events.
But every decision carries the probability p with which it asked, so an answer represents 1/p
events. For answers with errors e ∈ {0, 1} and weights w = 1/p,

    Σwe/Σw  (Hájek)   and   Σwe/n  (Horvitz–Thompson)

estimate the share of wrong predictions over all n events. Only the questions are random, so the
interval narrows to a point as p goes to 1.

The interval is the Agresti–Coull interval with weights. z²/2 wrong and z²/2 right answers are
added, each with the weight v = mean(1/p − 1) over all events, asked about or not; with the rate c
of all of these, it is c ± z·√(Σ(1 − p)w²(e − c)² + z²v²((1 − c)² + c²)/2)/(Σw + z²v).
So its width is not 0 if no error has been seen, and it is wider if some events are hardly ever
asked about.

Nothing is inferred about events with p below a floor, 0 included: they may all be right or all be
wrong, and the interval allows for both.
"""

import math
from statistics import NormalDist
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headwater.errors import EventError
from headwater.parameters import INSIDE, RATE, SEED, checked
from headwater.types import Trace

FLOOR = 0.001
"""The estimate says nothing about events with a smaller probability of being asked about."""


class Interval(NamedTuple):
    """A lower and an upper end.

    Examples
    --------
    >>> low, high = Interval(0.05, 0.12)
    """

    low: float
    high: float


class ErrorEstimate:
    """A running estimate of the error rate over all events, from those asked about.

    It keeps a few sums, not the events.

    Parameters
    ----------
    level
        Confidence level: how often the interval contains the true error rate.
    floor
        Nothing is inferred about events with a smaller probability of being asked about.

    Examples
    --------
    Half of the events are hard and asked about with probability 0.5, half easy, asked about with
    0.1; a fifth of the hard ones is predicted wrongly. The error rate of the answers is too high:

    >>> import random
    >>> coin, estimate = random.Random(0).random, ErrorEstimate()
    >>> for hard in [True, False] * 2_000:
    ...     probability = 0.5 if hard else 0.1
    ...     asked = coin() < probability
    ...     wrong = hard and coin() < 0.2
    ...     estimate.update(probability, asked, wrong if asked else None)
    >>> round(estimate.value, 3), round(estimate.rate_of_answers, 3)
    (0.106, 0.176)
    >>> low, high = estimate.interval
    >>> bool(low < 0.1 < high)
    True
    """

    @checked
    def __init__(
        self,
        *,
        level: Annotated[float, INSIDE] = 0.95,
        floor: Annotated[float, RATE] = FLOOR,
    ) -> None:
        self.level = level
        self.floor = floor
        self.events = 0
        self.answers = 0
        self.lowest_probability = 1.0
        self._wrong = 0
        self._reached = 0  # events at or above the floor; what follows is of these alone
        # Sums over all of them: 1/p. Over the answers: w, we, (1 − p)w², (1 − p)w²e.
        self._sums = [0.0] * 5

    def update(self, query_probability: float, asked: bool, wrong: bool | None = None) -> None:
        """Count an event: the probability of a question, whether it was asked, and the answer.

        Parameters
        ----------
        query_probability
            The `query_probability` of the decision.
        asked
            Whether the label was asked for.
        wrong
            Whether the answer shows that the prediction was wrong; None: no answer, or none yet
            (call `answer` when it comes). Ignored if the label was not asked for.

        Examples
        --------
        >>> estimate = ErrorEstimate()
        >>> estimate.update(0.5, asked=True, wrong=False)
        >>> estimate.update(0.5, asked=False)
        >>> estimate.events, estimate.answers, estimate.value
        (2, 1, 0.0)
        """
        p = float(query_probability)
        known = asked and wrong is not None and wrong == wrong
        if not 0 < p <= 1 or not isinstance(asked, (bool, np.bool_)):
            self.update_many((query_probability,), (asked,), (wrong,))  # the rare cases
            return
        self.events += 1
        self.lowest_probability = min(p, self.lowest_probability)
        if p >= self.floor:
            self._reached += 1
            self._sums[0] += 1 / p
        if known:
            self.answer(p, bool(wrong))

    def update_many(self, query_probability: ArrayLike, asked: ArrayLike, wrong: Any) -> None:
        """Count many events; the result is identical to calling `update` for each.

        Examples
        --------
        >>> estimate = ErrorEstimate()
        >>> estimate.update_many([1.0, 0.5, 0.5], [True, True, False], [True, False, None])
        >>> round(estimate.value, 3)
        0.333
        """
        p = _probabilities(query_probability)
        known, e = _answered(asked, wrong, len(p))
        if (known & (p == 0)).any():
            raise EventError(
                "ErrorEstimate: the probability of a question must be in (0, 1], got 0.0."
            )
        self.events += len(p)
        self.lowest_probability = float(p.min(initial=self.lowest_probability))
        reached = p[(p >= self.floor) & (p > 0)]
        self._reached += len(reached)
        self._add(0, 1 / reached)
        self.answers += int(known.sum())
        self._wrong += int(e[known].sum())
        near = known & (p >= self.floor)
        weight, e = 1 / p[near], e[near]
        spread = (1 - p[near]) * (weight * weight)
        for place, terms in enumerate((weight, weight * e, spread, spread * e), start=1):
            self._add(place, terms)

    def answer(self, query_probability: float, wrong: bool) -> None:
        """Count the late answer to an event that `update` has counted without one.

        Examples
        --------
        >>> estimate = ErrorEstimate()
        >>> estimate.update(0.25, asked=True)
        >>> estimate.answer(0.25, wrong=True)
        >>> estimate.events, estimate.answers, estimate.value
        (1, 1, 1.0)
        """
        p = float(query_probability)
        if not 0 < p <= 1:
            raise EventError(
                f"ErrorEstimate: the probability of a question must be in (0, 1], got {p}."
            )
        self.answers += 1
        self._wrong += bool(wrong)
        if p >= self.floor:
            weight = 1 / p
            spread = (1 - p) * (weight * weight)
            self._sums[1] += weight
            self._sums[3] += spread
            if wrong:
                self._sums[2] += weight
                self._sums[4] += spread

    def count(
        self, events: int, reached: int, inverse: float, lowest_probability: float = 1.0
    ) -> None:
        """Count events of which only sums are known; their answers come by `answer`.

        Parameters
        ----------
        events
            How many.
        reached
            How many of them have a probability at or above the floor.
        inverse
            The sum of 1/p over those.
        lowest_probability
            The lowest of all.

        Examples
        --------
        >>> estimate = ErrorEstimate()
        >>> estimate.count(events=100, reached=100, inverse=1000.0, lowest_probability=0.1)
        >>> estimate.answer(0.1, wrong=False)
        >>> estimate.events, estimate.answers
        (100, 1)
        """
        self.events += events
        self._reached += reached
        self._sums[0] += inverse
        self.lowest_probability = min(lowest_probability, self.lowest_probability)

    def add(self, other: "ErrorEstimate") -> None:
        """Count the events of another estimate too.

        Examples
        --------
        >>> monday, tuesday = ErrorEstimate(), ErrorEstimate()
        >>> monday.update(0.5, asked=True, wrong=True)
        >>> tuesday.update(0.5, asked=True, wrong=False)
        >>> monday.add(tuesday)
        >>> monday.events, monday.value
        (2, 0.5)
        """
        self.count(other.events, other._reached, 0.0, other.lowest_probability)
        self.answers += other.answers
        self._wrong += other._wrong
        self._sums = [a + b for a, b in zip(self._sums, other._sums, strict=True)]

    @property
    def value(self) -> float:
        """The error rate over all events (Hájek); NaN without an answer."""
        _, weight, weight_wrong, *_ = self._sums
        return weight_wrong / weight if weight else math.nan

    @property
    def horvitz_thompson(self) -> float:
        """The Horvitz–Thompson estimate: unbiased, with more variance; needs every answer."""
        return self._sums[2] / self._reached if self._reached else math.nan

    @property
    def rate_of_answers(self) -> float:
        """The share of the answers that showed an error; not an estimate for all events."""
        return self._wrong / self.answers if self.answers else math.nan

    @property
    def out_of_reach(self) -> float:
        """The share of events whose probability was below the floor."""
        return 1 - self._reached / self.events if self.events else 0.0

    @property
    def interval(self) -> Interval:
        """The confidence interval of the error rate over all events."""
        inverse, weight, weight_wrong, spread, spread_wrong = self._sums
        if not weight:
            return Interval(0.0, 1.0)
        z = NormalDist().inv_cdf((1 + self.level) / 2)
        added = inverse / self._reached - 1 if self._reached else 0.0
        total = weight + z**2 * added
        centre = (weight_wrong + z**2 * added / 2) / total
        around = spread_wrong * (1 - centre) ** 2 + (spread - spread_wrong) * centre**2
        around += z**2 * added**2 * ((1 - centre) ** 2 + centre**2) / 2
        half = z * math.sqrt(max(0.0, around)) / total
        dark = self.out_of_reach
        low, high = max(0.0, centre - half), min(1.0, centre + half)
        return Interval((1 - dark) * low, (1 - dark) * high + dark)

    def _add(self, place: int, terms: NDArray[np.float64]) -> None:
        """Add one term after the other, as the event loop does."""
        self._sums[place] = float(np.cumsum(np.concatenate([[self._sums[place]], terms]))[-1])


def estimate_error(
    trace: Trace, wrong: Any, *, level: float = 0.95, floor: float = FLOOR
) -> ErrorEstimate:
    """The error rate over all events of a trace, from those asked about alone.

    Parameters
    ----------
    trace
        The decisions on the events.
    wrong
        Whether each event was predicted wrongly, such as `metrics.mistakes(trace.margin, y)`, or
        `trace.prediction != y` for several classes. Used only if the label was asked for;
        None or NaN if no answer came.
    level, floor
        As in `ErrorEstimate`.

    Examples
    --------
    >>> import headwater as hw
    >>> from headwater.evaluation.metrics import mistakes
    >>> X, y = hw.streams.SensorNetwork(5_000).batch()
    >>> trace = hw.Linear().simulate(X, y)  # asks for a tenth of the labels
    >>> wrong = mistakes(trace.margin, y)
    >>> estimate = estimate_error(trace, wrong)
    >>> low, high = estimate.interval
    >>> bool(low < wrong.mean() < high), bool(estimate.rate_of_answers > high)
    (True, True)
    """
    estimate = ErrorEstimate(level=level, floor=floor)
    estimate.update_many(trace.query_probability, trace.asked, wrong)
    return estimate


@checked
def audited(trace: Trace, rate: Annotated[float, RATE], *, seed: Annotated[int, SEED] = 0) -> Trace:
    """The trace as it would be if each event had also been asked about with a fixed probability.

    Such an audit ensures a smallest probability: an event is asked about with probability
    p + rate·(1 − p). The learner's decisions do not change: it does not learn from the audit.

    Parameters
    ----------
    trace
        The decisions on the events.
    rate
        The probability with which every event is audited.
    seed
        The same seed gives the same events audited.

    Examples
    --------
    >>> import headwater as hw
    >>> trace = hw.PAA(query_width=0.01).simulate(*hw.streams.SensorNetwork(1_000).batch())
    >>> bool(audited(trace, 0.02).query_probability.min() >= 0.02 > trace.query_probability.min())
    True
    """
    coins = np.random.default_rng(seed).random(len(trace))
    p = trace.query_probability
    return Trace(
        trace.prediction,
        trace.margin,
        p + rate * (1 - p),
        trace.asked | (coins < rate),
    )


def _probabilities(query_probability: ArrayLike) -> NDArray[np.float64]:
    p = np.asarray(query_probability, dtype=np.float64)
    if p.ndim != 1 or not ((p >= 0) & (p <= 1)).all():
        wrong = p[~((p >= 0) & (p <= 1))].tolist()
        came = wrong[0] if wrong else f"{p.ndim} dimensions"
        raise EventError(f"ErrorEstimate: probabilities must be in [0, 1], got {came}.")
    return p


def _answered(
    asked: ArrayLike, wrong: Any, length: int
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which events were asked about and answered, and which of those answers show an error."""
    flags, shown = np.asarray(asked), np.asarray(wrong)
    if flags.shape != (length,) or flags.dtype != np.bool_ or shown.shape != (length,):
        raise EventError(
            "ErrorEstimate: asked must be True or False and wrong True, False or None, one per"
            f" event, {length}, got shapes {flags.shape} and {shown.shape}."
        )
    if shown.dtype == np.bool_:
        return flags, shown
    there = np.array([one is not None and one == one for one in shown.tolist()], dtype=np.bool_)
    known = flags & there
    e = np.zeros(length, dtype=np.bool_)
    e[known] = [bool(one) for one in shown[known].tolist()]
    return known, e
