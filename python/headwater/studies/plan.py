"""A study as a TOML file: data sets × streams × learners × label rates × delays × repeats.

title = "Two learners, two label rates"
data = ["spambase", "splice"]
preprocess = "unit"
held_out = 0.2
label_rates = [0.05, 0.1]
repeats = 10

[streams.trapezoid]
kind = "Trapezoid"
chunks = 10

[learners."FLLS-II"]
C = [0.1, 1, 10]          # a list is a grid: the best is chosen without looking at the test

[learners.AROW]
algorithm = "Linear"
scale = "none"            # None, which TOML does not have
"""

import difflib
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from headwater.errors import ParameterError

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
    """A name of `headwater.datasets`, a file, or `module:function` that gives X and y."""
    classes: tuple[int, ...] = ()
    """Only the rows of these labels; the second of two becomes the positive one."""
    parameters: Parameters = field(default_factory=dict)
    """For every learner that has them."""


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
    compare: str = ""
    """The learner that all others are tested against, pair by pair."""
    reach: float = 0.0
    """The label rate at which `compare` sets the level: how few labels do others need for it?"""

    def cells(self) -> Iterator[Cell]:
        """Every cell, in the order of the report."""
        for data, learner in product(self.data, self.learners):
            streams = learner.streams or tuple(stream.name for stream in self.streams)
            for stream, rate, labels in product(streams, self.label_rates, self.labels):
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


def read_study(path: Path) -> Study:
    """The study that a file describes.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "small.toml")
    ...     _ = file.write_text('title = "Small"\\ndata = ["vote"]\\n[learners.PA]')
    ...     study = read_study(file)
    >>> study.name, [cell.key for cell in study.cells()]
    ('small', ['vote|whole|PA||at once'])
    """
    try:
        said = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ParameterError(f"{path}: cannot be read: {error.strerror}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ParameterError(f"{path}: is not TOML: {error}.") from error
    return _PlanReader(path.name).study(path.stem, said)


class _PlanReader:
    """Reads a study's tables; what does not fit is an error that names the file and the place."""

    def __init__(self, file: str) -> None:
        self.file = file

    def refuse(self, sentence: str) -> ParameterError:
        return ParameterError(f"{self.file}: {sentence}")

    def study(self, name: str, said: dict[str, Any]) -> Study:
        own = {
            *("title", "note", "data", "streams", "learners", "preprocess", "held_out", "score"),
            *("label_rates", "labels", "repeats", "choose", "choice_repeats", "one_width"),
            *("paper", "figure", "compare", "reach"),
        }
        self.only(said, own, "a study")
        for needed in ("title", "data", "learners"):
            if not said.get(needed) and not (needed == "data" and "paper" in said):
                raise self.refuse(f"a study needs {needed}.")
        streams = tuple(self.stream(key, table) for key, table in self.table(said, "streams"))
        learners = tuple(self.learner(key, table) for key, table in self.table(said, "learners"))
        data = tuple(self.data(said.get("data", [])))
        streams = self.with_whole(streams, learners)
        study = Study(
            name=name,
            title=self.of(said, "title", str, ""),
            note=self.of(said, "note", str, ""),
            data=data,
            streams=streams,
            learners=learners,
            preprocess=self.word(said, "preprocess", get_args(Preprocessing), "raw"),
            held_out=self.share(said, "held_out"),
            score=self.of(said, "score", str, "accuracy"),
            label_rates=tuple(self.rates(said)),
            labels=tuple(self.labels(said)),
            repeats=self.count(said, "repeats", 10, least=1),
            choose=self.word(said, "choose", get_args(ChoiceMethod), "folds"),
            choice_repeats=self.count(said, "choice_repeats", 2, least=1),
            one_width=self.count(said, "one_width", 0, least=0),
            paper=self.paper(said.get("paper")),
            figure=self.of(said, "figure", str, ""),
            compare=self.of(said, "compare", str, ""),
            reach=self.share(said, "reach"),
        )
        self.check(study)
        return study

    def check(self, study: Study) -> None:
        names = [learner.name for learner in study.learners]
        if study.compare and study.compare not in names:
            raise self.refuse(f"compare must be one of {', '.join(names)}, got {study.compare!r}.")
        if study.reach and not (study.compare and study.reach in study.label_rates):
            raise self.refuse("reach must be one of label_rates, and compare a learner.")
        held_out = study.score.startswith("test_")
        if held_out and not study.held_out:
            raise self.refuse(f"the score {study.score} needs held_out, a share of the rows.")
        if study.choose == "folds" and not study.held_out and any(map(_has_grid, study.learners)):
            raise self.refuse('choose = "folds" needs held_out; on whole streams say "orders".')
        for learner in study.learners:
            for stream in learner.streams:
                if stream not in {plan.name for plan in study.streams}:
                    raise self.refuse(f"{learner.name}: there is no stream {stream!r}.")

    def only(self, said: Mapping[str, Any], known: set[str], owner: str) -> None:
        for key in said:
            if key not in known:
                near = difflib.get_close_matches(key, known, n=1)
                cure = f"did you mean {near[0]}?" if near else f"it has {', '.join(sorted(known))}."
                raise self.refuse(f"{owner} has no {key!r}; {cure}")

    def table(self, said: Mapping[str, Any], key: str) -> list[tuple[str, dict[str, Any]]]:
        found = self.of(said, key, dict, {})
        for name, value in found.items():
            if not isinstance(value, dict):
                raise self.refuse(f"{key}.{name} must be a table, got {value!r}.")
        return list(found.items())

    def of(self, said: Mapping[str, Any], key: str, kind: type, default: Any) -> Any:
        value = said.get(key, default)
        if not isinstance(value, kind):
            raise self.refuse(f"{key} must be {_WORDS[kind]}, got {value!r}.")
        return value

    def word(self, said: Mapping[str, Any], key: str, words: tuple[str, ...], default: str) -> Any:
        value = said.get(key, default)
        if value not in words:
            raise self.refuse(f"{key} must be one of {', '.join(words)}, got {value!r}.")
        return value

    def count(self, said: Mapping[str, Any], key: str, default: int, least: int) -> int:
        value = said.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise self.refuse(f"{key} must be a whole number, {least} or above, got {value!r}.")
        return value

    def share(self, said: Mapping[str, Any], key: str) -> float:
        value = said.get(key, 0.0)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1:
            raise self.refuse(f"{key} must be in [0, 1), got {value!r}.")
        return float(value)

    def rates(self, said: Mapping[str, Any]) -> Iterator[float | None]:
        if "label_rates" not in said:
            yield None
        for rate in self.of(said, "label_rates", list, []):
            if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 < rate <= 1:
                raise self.refuse(f"label_rates must be in (0, 1], got {rate!r}.")
            yield float(rate)

    def labels(self, said: Mapping[str, Any]) -> Iterator[LabelDelivery]:
        if "labels" not in said:
            yield LabelDelivery()
        for table in self.of(said, "labels", list, []):
            if not isinstance(table, dict):
                raise self.refuse(f"labels must be tables of delay, wrong and never, got {table!r}")
            self.only(table, {"delay", "wrong", "never"}, "labels")
            yield LabelDelivery(
                self.count(table, "delay", 0, least=0),
                self.share(table, "wrong"),
                self.share(table, "never"),
            )

    def data(self, said: Any) -> Iterator[DataPlan]:
        if isinstance(said, list):
            said = {name: {} for name in said}
        if not isinstance(said, dict) or not all(isinstance(name, str) for name in said):
            raise self.refuse(f"data must be names or tables, got {said!r}.")
        for name, table in said.items():
            if isinstance(table, str):
                table = {"source": table}
            if not isinstance(table, dict):
                raise self.refuse(f"data.{name} must be a table or a source, got {table!r}.")
            table = dict(table)
            source, classes = table.pop("source", name), table.pop("classes", [])
            if not isinstance(source, str) or not isinstance(classes, list):
                raise self.refuse(f"data.{name}: source must be text, classes a list.")
            yield DataPlan(name, source, tuple(classes), table)

    def stream(self, name: str, table: dict[str, Any]) -> StreamPlan:
        table = dict(table)
        kind = table.pop("kind", None)
        if not isinstance(kind, str):
            raise self.refuse(f"streams.{name} needs a kind, a class of headwater.streams.")
        return StreamPlan(name, kind, {key: _plain(value) for key, value in table.items()})

    def with_whole(
        self, streams: tuple[StreamPlan, ...], learners: tuple[LearnerPlan, ...]
    ) -> tuple[StreamPlan, ...]:
        named = {stream for learner in learners for stream in learner.streams}
        if not streams or (WHOLE in named and WHOLE not in {plan.name for plan in streams}):
            return (*streams, StreamPlan(WHOLE, "Trapezoid", {"chunks": 1}))
        return streams

    def learner(self, name: str, table: dict[str, Any]) -> LearnerPlan:
        table = dict(table)
        algorithm = table.pop("algorithm", name)
        streams = table.pop("streams", [])
        printed, setting = table.pop("printed", name), table.pop("setting", None)
        preprocess = repeats = None
        if "preprocess" in table:
            preprocess = self.word(table, "preprocess", get_args(Preprocessing), "raw")
        if "choice_repeats" in table:
            repeats = self.count(table, "choice_repeats", 1, 1)
        if not all(isinstance(word, str) for word in (algorithm, printed, *streams)):
            raise self.refuse(f"learners.{name}: algorithm, printed and streams must be text.")
        own = ("preprocess", "choice_repeats")
        table = {key: said for key, said in table.items() if key not in own}
        grid = {key: tuple(value) for key, value in table.items() if isinstance(value, list)}
        for key, values in grid.items():
            if not values:
                raise self.refuse(f"learners.{name}: the grid of {key} is empty.")
        fixed = {key: _plain(value) for key, value in table.items() if key not in grid}
        return LearnerPlan(
            name, algorithm, fixed, grid, tuple(streams), printed, setting, preprocess, repeats
        )

    def paper(self, table: Any) -> Paper | None:
        if table is None:
            return None
        if not isinstance(table, dict):
            raise self.refuse(f"paper must be a table, got {table!r}.")
        self.only(table, {"name", "tables", "metrics", "setting", "tolerance"}, "paper")
        try:
            return Paper(
                table["name"],
                tuple(table["tables"]),
                tuple(table["metrics"]),
                table.get("setting"),
                float(table.get("tolerance", 0.0)),
            )
        except KeyError as missing:
            raise self.refuse(f"paper needs {missing}.") from missing


_WORDS: dict[type, str] = {str: "text", dict: "a table", list: "a list"}


def _has_grid(learner: LearnerPlan) -> bool:
    return bool(learner.grid)


def _plain(value: Any) -> Any:
    """A parameter as Python has it: TOML has no None, `"none"` stands for it; lists are tuples."""
    if value == "none":
        return None
    return tuple(value) if isinstance(value, list) else value
