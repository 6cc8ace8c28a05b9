"""Five learners on one sensor network: what chosen labels and new sensors are worth."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from headwater.evaluation.metrics import balanced_accuracy, mistakes, roc_auc
from headwater.evaluation.width_search import width_for_rate
from headwater.inputs.batches import events_of, read_rows
from headwater.learners.base import Learner
from headwater.learners.flls import FLLS
from headwater.learners.linear import Linear
from headwater.learners.spring import Spring
from headwater.rules.query import All
from headwater.streams.network import Sensor, SensorNetwork
from headwater.types import Event, Explanation, Name, Rows

FEW_LABELS = 0.02
"""What three of the learners may ask for."""
MORE_LABELS = 0.1
"""What FLLS-I may ask for."""
PILOT_EVENTS = 50_000
"""The most that is spent on tuning FLLS-I's width."""
HELD_OUT_EVENTS = 10_000
TOP = 10
"""Sensors that are listed."""
EVERY, PUBLISHED = "every label, Linear", "chosen 10 %, FLLS-I"
DEAF = "chosen 2 %, Spring, deaf to new sensors"
RANDOM, CHOSEN = "random 2 %, Spring", "chosen 2 %, Spring"
NAMES = (EVERY, PUBLISHED, DEAF, RANDOM, CHOSEN)


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


@dataclass(frozen=True)
class TopSensor:
    """A running sensor with a large weight, and the number of labels it was learned from."""

    sensor: Sensor
    weight: float
    labels: int


@dataclass(frozen=True)
class ExplainedEvent:
    """The number of an event, whether it was an incident, and why the learner predicts so."""

    number: int
    incident: bool
    explanation: Explanation


@dataclass(frozen=True, eq=False)
class Demo:
    """A finished run; the last of the outcomes is the recommended learner's.

    `incidents` says of each event whether it was one.
    """

    events: int
    seed: int
    waves: tuple[int, ...]
    sensors: tuple[Sensor, ...]
    incidents: NDArray[np.bool_]
    outcomes: tuple[LearnerResult, ...]
    top_sensors: tuple[TopSensor, ...]
    explained: ExplainedEvent

    def outcome(self, name: str) -> LearnerResult:
        """The outcome of the learner of this name."""
        return self.outcomes[NAMES.index(name)]


Report = Callable[[str, int, int, int], None]
"""Called after each slice with a learner's name, and its events, errors and labels so far."""


def run(events: int = 50_000, seed: int = 0, report: Report | None = None) -> Demo:
    """Stream a network once, slice by slice, through five learners side by side.

    Parameters
    ----------
    events
        Length of the stream.
    seed
        The same seed gives the same network and the same results.
    report
        Called for each learner after each slice.

    Examples
    --------
    >>> demo = run(events=2_000, seed=1)
    >>> for outcome in demo.outcomes:
    ...     print(outcome.name)
    every label, Linear
    chosen 10 %, FLLS-I
    chosen 2 %, Spring, deaf to new sensors
    random 2 %, Spring
    chosen 2 %, Spring
    """
    network = SensorNetwork(events, seed=seed)
    runs = _runs(network, _tuned_width(events, seed), seed)
    told, number = [], 0
    last: tuple[int, bool, Event] = (0, False, {})
    for rows, labels in network.slices():
        told.append(labels)
        for one in runs:
            one.follow(rows, labels)
            if report is not None:
                report(one.name, one.learner.seen, one.errors, one.learner.asked)
        if labels.any():
            place = int(np.flatnonzero(labels)[-1])
            last = (number + place, True, _events(rows)[place])
        number += len(labels)
    incidents, (rows, labels) = np.concatenate(told), network.held_out(HELD_OUT_EVENTS)
    recommended = runs[-1].learner
    return Demo(
        events=events,
        seed=seed,
        waves=network.waves,
        sensors=network.sensors,
        incidents=incidents,
        outcomes=tuple(one.outcome(incidents, rows, labels) for one in runs),
        top_sensors=_top_sensors(recommended, network),
        explained=ExplainedEvent(*last[:2], recommended.explain_one(last[2])),
    )


def _tuned_width(events: int, seed: int) -> float:
    """The width at which FLLS-I asks for a tenth of the labels, found on another network."""
    X, y = SensorNetwork(min(events, PILOT_EVENTS), seed=seed + 1).batch()
    return width_for_rate(lambda width: FLLS(query_width=width), X, y, MORE_LABELS)


def _runs(network: SensorNetwork, width: float, seed: int) -> list["_Run"]:
    """The five, in the order of `NAMES`."""
    first = frozenset(sensor.name for sensor in network.sensors if sensor.installed == 0)
    return [
        _Run(EVERY, Linear(query=All(), seed=seed)),
        _Run(PUBLISHED, FLLS(query_width=width, seed=seed)),
        _Run(DEAF, Spring(label_rate=FEW_LABELS, seed=seed), heard=first),
        _RandomRun(RANDOM, Spring(label_rate=FEW_LABELS, seed=seed), seed=seed),
        _Run(CHOSEN, Spring(label_rate=FEW_LABELS, seed=seed)),
    ]


def _events(rows: Rows) -> list[Event]:
    return list(events_of(*read_rows(rows, None)))


def _only(rows: Rows, names: frozenset[Name]) -> Rows:
    """The values of these names."""
    kept = np.array([name in names for name in rows.names])[rows.indices]
    ends = np.concatenate([[0], np.cumsum(kept)])[rows.indptr]
    return Rows(ends, rows.indices[kept], rows.data[kept], rows.names)


@dataclass
class _Run:
    """A learner on its way along the stream; None: it hears every sensor."""

    name: str
    learner: Learner
    heard: frozenset[Name] | None = None
    mistakes: list[NDArray[np.bool_]] = field(default_factory=list)
    asked: list[NDArray[np.bool_]] = field(default_factory=list)
    errors: int = 0

    def follow(self, rows: Rows, labels: NDArray[np.bool_]) -> None:
        margin, asked = self._simulate(self._hear(rows), labels)
        self.mistakes.append(mistakes(margin, labels))
        self.asked.append(asked)
        self.errors += int(self.mistakes[-1].sum())

    def _hear(self, rows: Rows) -> Rows:
        return rows if self.heard is None else _only(rows, self.heard)

    def _simulate(
        self, rows: Rows, labels: NDArray[np.bool_]
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        trace = self.learner.simulate(rows, labels)
        return trace.margin, trace.asked

    def outcome(
        self, incidents: NDArray[np.bool_], rows: Rows, labels: NDArray[np.bool_]
    ) -> LearnerResult:
        margin = self.learner.margin_many(self._hear(rows))
        wrong = np.concatenate(self.mistakes)
        return LearnerResult(
            name=self.name,
            mistakes=wrong,
            asked=np.concatenate(self.asked),
            missed=int((wrong & incidents).sum()),
            false_alarms=int((wrong & ~incidents).sum()),
            balanced_accuracy=balanced_accuracy(margin, labels),
            roc_auc=roc_auc(margin, labels),
        )


@dataclass
class _RandomRun(_Run):
    """The same with labels drawn at random, instead of those that the learner asks for."""

    seed: int = 0

    def __post_init__(self) -> None:
        self._coins = np.random.default_rng(self.seed)

    def _simulate(
        self, rows: Rows, labels: NDArray[np.bool_]
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        asked = self._coins.random(len(labels)) < FEW_LABELS
        margin = np.empty(len(labels))
        for place, event in enumerate(_events(rows)):
            drawn = bool(asked[place])
            decision = self.learner.decide_one(event, outcome=(drawn, FEW_LABELS))
            margin[place] = decision.margin
            if drawn:
                self.learner.answer(decision, bool(labels[place]))
        return margin, asked


def _top_sensors(learner: Learner, network: SensorNetwork) -> tuple[TopSensor, ...]:
    running: dict[Name, Sensor] = {s.name: s for s in network.sensors if s.died is None}
    known = [
        TopSensor(running[feature.name], feature.weight, feature.times_learned)
        for feature in learner.features()
        if feature.name in running and isinstance(feature.weight, float)  # not the intercept
    ]
    return tuple(sorted(known, key=lambda top: -abs(top.weight))[:TOP])
