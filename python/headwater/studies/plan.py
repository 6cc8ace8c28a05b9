"""A study: data sets × streams × learners × label rates × delays × repeats."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any, Literal, NamedTuple

Preprocessing = Literal["raw", "z-score", "unit", "rows", "min-max", "rescaled", "gross-errors"]
ChoiceMethod = Literal["folds", "orders"]
Parameters = Mapping[str, Any]

WHOLE = "whole"
"""The stream that shows every column from the first event on; always there."""


@dataclass(frozen=True)
class DataPlan:
    """A data set: its name, or where else it comes from, and parameters for it alone."""

    name: str
    source: str
    """A name of `headwater.datasets`, a file, or `module:function` that gives X and y, or a stream.
    A function that takes `seed` is called for each repeat, and its order is kept."""
    classes: tuple[int, ...] = ()
    """Only the rows of these labels; the second of two becomes the positive one."""
    parameters: Parameters = field(default_factory=dict)
    """For every learner that has them."""
    positive: str | int | None = None
    """This label is the positive one, all others are the negative one; None: as they are."""
    options: Parameters = field(default_factory=dict)
    """Arguments of the function that it comes from."""
    streams: tuple[str, ...] = ()
    """The streams that it is shown as; empty: all."""
    limit: int = 0
    """Only the first events of the stream; 0: all."""
    unscored: float = 0.0
    """The share of the stream, at its beginning, that does not count."""


@dataclass(frozen=True)
class StreamPlan:
    """A class of `headwater.streams`, and its parameters."""

    name: str
    kind: str
    parameters: Parameters = field(default_factory=dict)


@dataclass(frozen=True)
class LearnerPlan:
    """An algorithm, its parameters, and those among which the best is chosen."""

    name: str
    algorithm: str
    """A name of `headwater.names()`, a class of the package, or `module:callable`."""
    parameters: Parameters = field(default_factory=dict)
    grid: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    streams: tuple[str, ...] = ()
    """The streams it runs on; empty: all."""
    printed: str = ""
    """What the paper calls it, if not by its name here."""
    setting: str | None = None
    """Which of the paper's settings it stands for, if not the study's."""
    preprocess: Preprocessing | None = None
    """How the values it is shown are prepared, if not as the study says."""
    choice_repeats: int | None = None
    """How many streams its parameters are chosen by, if not as many as the study says."""
    label_rates: tuple[float, ...] = ()
    """The label rates it runs at; empty: those of the study."""
    needs: str = ""
    """A module that it cannot run without; if it is not installed, the learner is left out."""

    def choices(self) -> list[dict[str, Any]]:
        """Every point of the grid, the first parameter changing slowest."""
        return [
            dict(zip(self.grid, values, strict=True)) for values in product(*self.grid.values())
        ]


@dataclass(frozen=True)
class LabelDelivery:
    """How labels come when they are asked for."""

    delay: int = 0
    wrong: float = 0.0
    never: float = 0.0
    label_rates: tuple[float, ...] = ()
    """The label rates for which labels come so; empty: all."""

    def __str__(self) -> str:
        said = [f"{self.delay} events late" if self.delay else "at once"]
        said += [f"{100 * self.wrong:g} % wrong"] * (self.wrong > 0)
        said += [f"{100 * self.never:g} % never"] * (self.never > 0)
        return ", ".join(said)


class Cell(NamedTuple):
    """What is repeated: one learner on one stream of one data set."""

    data: str
    stream: str
    learner: str
    rate: float | None
    labels: LabelDelivery

    @property
    def key(self) -> str:
        """The cell in a line of text, for files."""
        rate = "" if self.rate is None else f"{self.rate:g}"
        return "|".join((self.data, self.stream, self.learner, rate, str(self.labels)))


@dataclass(frozen=True)
class Paper:
    """The printed tables that a study stands beside."""

    name: str
    tables: tuple[int, ...]
    metrics: tuple[str, ...]
    setting: str | None = None
    """The printed setting of a cell, `{rate}` and `{stream}` filled in; None: any."""
    tolerance: float = 0.0
    """Two numbers this near agree, whatever their spreads."""
    data: tuple[str, ...] = ()
    """Only the printed cells of these data sets, by our names; empty: all."""


@dataclass(frozen=True)
class Study:
    """Everything that a study file says."""

    name: str
    title: str
    data: tuple[DataPlan, ...]
    streams: tuple[StreamPlan, ...]
    learners: tuple[LearnerPlan, ...]
    note: str = ""
    preprocess: Preprocessing = "raw"
    held_out: float = 0.0
    score: str = "accuracy"
    label_rates: tuple[float | None, ...] = (None,)
    labels: tuple[LabelDelivery, ...] = (LabelDelivery(),)
    repeats: int = 10
    choose: ChoiceMethod = "folds"
    choice_repeats: int = 2
    one_width: int = 0
    """Search the query width once, on this many repeats, for all repeats; 0: for each its own."""
    paper: Paper | None = None
    figure: str = ""
    """What is drawn: "rates", "delays", "time", or a parameter of the learners; "": nothing."""
    also: tuple[str, ...] = ()
    """Further scores that the table shows."""
    baseline: str = ""
    """The learner beside which all others are shown, at its own label rates."""
    published: str = ""
    """The published numbers of other methods that the learners are shown beside."""
    after: int = 0
    """Count errors in this many events before and after the change, and those of a fresh learner
    that begins with the change; 0: do not."""
    compare: str = ""
    """The learner that all others are tested against, pair by pair."""
    reach: float = 0.0
    """The label rate at which `compare` sets the level: how few labels do others need for it?"""

    def cells(self) -> Iterator[Cell]:
        """Every cell, in the order of the report."""
        for data, learner in product(self.data, self.learners):
            streams = learner.streams or tuple(stream.name for stream in self.streams)
            streams = tuple(name for name in streams if name in data.streams or not data.streams)
            rates = learner.label_rates or self.label_rates
            for stream, rate, labels in product(streams, rates, self.labels):
                if not labels.label_rates or rate in labels.label_rates:
                    yield Cell(data.name, stream, learner.name, rate, labels)

    def data_plan(self, name: str) -> DataPlan:
        """The data set of this name."""
        return next(plan for plan in self.data if plan.name == name)

    def stream_plan(self, name: str) -> StreamPlan:
        """The stream of this name."""
        return next(plan for plan in self.streams if plan.name == name)

    def learner_plan(self, name: str) -> LearnerPlan:
        """The learner of this name."""
        return next(plan for plan in self.learners if plan.name == name)

    def preprocess_for(self, learner: str) -> Preprocessing:
        """How the values that this learner is shown are prepared."""
        return self.learner_plan(learner).preprocess or self.preprocess

    def choice_repeats_for(self, learner: str) -> int:
        """How many streams the parameters of this learner are chosen by."""
        return self.learner_plan(learner).choice_repeats or self.choice_repeats
