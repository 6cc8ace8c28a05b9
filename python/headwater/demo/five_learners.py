"""Five learners on one sensor network: what few labels, chosen by the learner, are worth."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from headwater.evaluation.metrics import balanced_accuracy, mistakes, roc_auc
from headwater.evaluation.width_search import width_for_rate
from headwater.learners.base import Learner
from headwater.learners.flls import FLLS
from headwater.learners.linear import Linear
from headwater.learners.spring import Spring
from headwater.rules.query import All, Budget
from headwater.streams.network import Sensor, SensorNetwork
from headwater.types import Name, Rows

LABEL_RATE = 0.1  # what three of the learners may ask for
FEW_LABELS = 0.02  # what the recommended learner may
PILOT_EVENTS = 50_000  # the most that is spent on tuning FLLS-I's width
HELD_OUT_EVENTS = 10_000
TOP = 10  # sensors listed
NAMES = (
    "every label, Linear",
    "chosen 10 %, FLLS-I",
    "chosen 10 %, Linear",
    "chosen 10 %, Spring",
    "chosen 2 %, Spring",
)


@dataclass(frozen=True, eq=False)
class LearnerResult:
    """The result of one learner.

    `mistakes` and `asked` have one entry per event. `missed` counts the incidents that it did not
    predict, `false_alarms` the others that it predicted. The two scores are those on held-out
    events, with every sensor running.
    """

    name: str
    mistakes: NDArray[np.bool_]
    asked: NDArray[np.bool_]
    seconds: float
    missed: int
    false_alarms: int
    balanced_accuracy: float
    roc_auc: float

    @property
    def errors(self) -> int:
        """How many events of the stream it predicted wrongly."""
        return int(self.mistakes.sum())

    @property
    def labels(self) -> int:
        """How many labels it asked for."""
        return int(self.asked.sum())

    @property
    def events_per_second(self) -> float:
        """Its speed; making the events is not counted."""
        return len(self.asked) / self.seconds


@dataclass(frozen=True)
class TopSensor:
    """A running sensor with a large weight, and the number of labels it was learned from."""

    sensor: Sensor
    weight: float
    labels: int


@dataclass(frozen=True, eq=False)
class Demo:
    """A finished run; the last of the outcomes is the recommended learner's.

    `incidents` says of each event whether it was one.
    """

    events: int
    seed: int
    waves: tuple[int, ...]
    incidents: NDArray[np.bool_]
    outcomes: tuple[LearnerResult, ...]
    top_sensors: tuple[TopSensor, ...]


Report = Callable[[str, int, int, int], None]
"""Called after each slice with a learner's name, and its events, errors and labels so far."""


def run(events: int = 50_000, seed: int = 0, report: Report | None = None) -> Demo:
    """Stream a network once, slice by slice, through five learners side by side.

    Parameters
    ----------
    events
        Length of the stream.
    seed
        The same seed gives the same network and the same results, except for the seconds.
    report
        Called for each learner after each slice.

    Examples
    --------
    >>> demo = run(events=2_000, seed=1)
    >>> for outcome in demo.outcomes:
    ...     print(outcome.name)
    every label, Linear
    chosen 10 %, FLLS-I
    chosen 10 %, Linear
    chosen 10 %, Spring
    chosen 2 %, Spring
    """
    network = SensorNetwork(events, seed=seed)
    learners = _learners(_tuned_width(events, seed), seed)
    runs = [_Run(name, learner) for name, learner in zip(NAMES, learners, strict=True)]
    told = []
    for rows, labels in network.slices():
        told.append(labels)
        for one in runs:
            one.follow(rows, labels)
            if report is not None:
                report(one.name, one.learner.seen, one.errors, one.learner.asked)
    incidents, (rows, labels) = np.concatenate(told), network.held_out(HELD_OUT_EVENTS)
    return Demo(
        events=events,
        seed=seed,
        waves=network.waves,
        incidents=incidents,
        outcomes=tuple(one.outcome(incidents, rows, labels) for one in runs),
        top_sensors=_top_sensors(runs[-1].learner, network),
    )


def _tuned_width(events: int, seed: int) -> float:
    """The width at which FLLS-I asks for a tenth of the labels, found on another network."""
    X, y = SensorNetwork(min(events, PILOT_EVENTS), seed=seed + 1).batch()
    return width_for_rate(lambda width: FLLS(query_width=width), X, y, LABEL_RATE)


def _learners(width: float, seed: int) -> tuple[Learner, ...]:
    """The five, in the order of `NAMES`."""
    return (
        Linear(query=All(), seed=seed),
        FLLS(query_width=width, seed=seed),
        Linear(query=Budget(LABEL_RATE), seed=seed),
        Spring(label_rate=LABEL_RATE, seed=seed),
        Spring(label_rate=FEW_LABELS, seed=seed),
    )


@dataclass
class _Run:
    """A learner on its way along the stream."""

    name: str
    learner: Learner
    mistakes: list[NDArray[np.bool_]] = field(default_factory=list)
    asked: list[NDArray[np.bool_]] = field(default_factory=list)
    errors: int = 0
    seconds: float = 0.0

    def follow(self, rows: Rows, labels: NDArray[np.bool_]) -> None:
        started = time.perf_counter()
        trace = self.learner.simulate(rows, labels)
        self.seconds += time.perf_counter() - started
        self.mistakes.append(mistakes(trace.margin, labels))
        self.asked.append(trace.asked)
        self.errors += int(self.mistakes[-1].sum())

    def outcome(
        self, incidents: NDArray[np.bool_], rows: Rows, labels: NDArray[np.bool_]
    ) -> LearnerResult:
        margin = self.learner.margin_many(rows)
        wrong = np.concatenate(self.mistakes)
        return LearnerResult(
            name=self.name,
            mistakes=wrong,
            asked=np.concatenate(self.asked),
            seconds=self.seconds,
            missed=int((wrong & incidents).sum()),
            false_alarms=int((wrong & ~incidents).sum()),
            balanced_accuracy=balanced_accuracy(margin, labels),
            roc_auc=roc_auc(margin, labels),
        )


def _top_sensors(learner: Learner, network: SensorNetwork) -> tuple[TopSensor, ...]:
    running: dict[Name, Sensor] = {s.name: s for s in network.sensors if s.died is None}
    known = [
        TopSensor(running[feature.name], feature.weight, feature.times_learned)
        for feature in learner.features()
        if feature.name in running and isinstance(feature.weight, float)  # not the intercept
    ]
    return tuple(sorted(known, key=lambda top: -abs(top.weight))[:TOP])
