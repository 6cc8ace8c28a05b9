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
from pathlib import Path
from typing import Any, get_args

from headwater.errors import ParameterError
from headwater.studies.plan import (
    WHOLE,
    ChoiceMethod,
    DataPlan,
    LabelDelivery,
    LearnerPlan,
    Paper,
    Preprocessing,
    StreamPlan,
    Study,
)


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
            *("paper", "figure", "compare", "reach", "also", "baseline", "published", "after"),
        }
        self.only(said, own, "a study")
        for needed in ("title", "data", "learners"):
            if not said.get(needed) and not (needed == "data" and "paper" in said):
                raise self.refuse(f"a study needs {needed}.")
        streams = tuple(self.stream(key, table) for key, table in self.table(said, "streams"))
        learners = tuple(self.learner(key, table) for key, table in self.table(said, "learners"))
        data = tuple(self.data(said.get("data", [])))
        streams = self.with_whole(streams, (*learners, *data))
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
            also=self.texts(said, "also", "a study"),
            baseline=self.of(said, "baseline", str, ""),
            published=self.of(said, "published", str, ""),
            after=self.count(said, "after", 0, least=0),
        )
        self.check(study)
        return study

    def check(self, study: Study) -> None:
        names = [learner.name for learner in study.learners]
        for key, named in (("compare", study.compare), ("baseline", study.baseline)):
            if named and named not in names:
                raise self.refuse(f"{key} must be one of {', '.join(names)}, got {named!r}.")
        if study.reach and not (study.compare and study.reach in study.label_rates):
            raise self.refuse("reach must be one of label_rates, and compare a learner.")
        held_out = study.score.startswith("test_")
        if held_out and not study.held_out:
            raise self.refuse(f"the score {study.score} needs held_out, a share of the rows.")
        if study.choose == "folds" and not study.held_out and any(map(_has_grid, study.learners)):
            raise self.refuse('choose = "folds" needs held_out; on whole streams say "orders".')
        known = {plan.name for plan in study.streams}
        limited: list[LearnerPlan | DataPlan] = [*study.learners, *study.data]
        for one in limited:
            for stream in one.streams:
                if stream not in known:
                    raise self.refuse(f"{one.name}: there is no stream {stream!r}.")

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

    def texts(self, said: Mapping[str, Any], key: str, owner: str) -> tuple[str, ...]:
        found = self.of(said, key, list, [])
        if not all(isinstance(one, str) for one in found):
            raise self.refuse(f"{owner}: {key} must be a list of texts, got {found!r}.")
        return tuple(found)

    def rates(self, said: Mapping[str, Any]) -> Iterator[float | None]:
        if "label_rates" not in said:
            yield None
        yield from self.own_rates(said)

    def own_rates(self, said: Mapping[str, Any]) -> Iterator[float]:
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
            self.only(table, {"delay", "wrong", "never", "label_rates"}, "labels")
            yield LabelDelivery(
                self.count(table, "delay", 0, least=0),
                self.share(table, "wrong"),
                self.share(table, "never"),
                tuple(self.own_rates(table)),
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
            options = self.of(table, "options", dict, {})
            positive = table.get("positive")
            if not isinstance(positive, str | int | None):
                raise self.refuse(f"data.{name}: positive must be a label, got {positive!r}.")
            own: dict[str, Any] = {
                "positive": positive,
                "options": {key: _plain(value) for key, value in options.items()},
                "streams": self.texts(table, "streams", f"data.{name}"),
                "limit": self.count(table, "limit", 0, least=0),
                "unscored": self.share(table, "unscored"),
            }
            parameters = {key: value for key, value in table.items() if key not in own}
            yield DataPlan(name, source, tuple(classes), parameters, **own)

    def stream(self, name: str, table: dict[str, Any]) -> StreamPlan:
        table = dict(table)
        kind = table.pop("kind", None)
        if not isinstance(kind, str):
            raise self.refuse(f"streams.{name} needs a kind, a class of headwater.streams.")
        return StreamPlan(name, kind, {key: _plain(value) for key, value in table.items()})

    def with_whole(
        self, streams: tuple[StreamPlan, ...], plans: tuple[LearnerPlan | DataPlan, ...]
    ) -> tuple[StreamPlan, ...]:
        named = {stream for plan in plans for stream in plan.streams}
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
        rates, needs = tuple(self.own_rates(table)), self.of(table, "needs", str, "")
        own = ("preprocess", "choice_repeats", "label_rates", "needs")
        table = {key: said for key, said in table.items() if key not in own}
        grid = {key: tuple(value) for key, value in table.items() if isinstance(value, list)}
        for key, values in grid.items():
            if not values:
                raise self.refuse(f"learners.{name}: the grid of {key} is empty.")
        fixed = {key: _plain(value) for key, value in table.items() if key not in grid}
        return LearnerPlan(
            *(name, algorithm, fixed, grid, tuple(streams), printed, setting, preprocess, repeats),
            label_rates=rates,
            needs=needs,
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
