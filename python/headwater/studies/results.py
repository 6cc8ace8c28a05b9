"""Results on disk: one line per choice and one per run, written as they finish.

`choices.jsonl` and `runs.jsonl` grow while a study runs; a line cut off by a crash is removed.
When the study is done both are written again in the order of the plan, so that the same study
gives the same bytes. `times.jsonl` holds the seconds, which differ from run to run.
"""

import hashlib
import json
import math
import os
import statistics
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from headwater._core import __version__
from headwater.learners.atomic_file import write_file
from headwater.studies.plan import Cell, Study
from headwater.studies.trial import Chosen, TrialResult

Choices = dict[Cell, Chosen]
Runs = dict[tuple[Cell, int], TrialResult]


class Summary(NamedTuple):
    """A score over the repeats of a cell."""

    mean: float
    std: float
    values: tuple[float, ...]


class ResultStore:
    """The results of one study, in a folder of its own.

    Examples
    --------
    >>> import tempfile
    >>> from headwater.studies.plan import Study
    >>> empty = Study("empty", "Nothing", data=(), streams=(), learners=())
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = ResultStore(Path(folder), empty)
    >>> len(store.runs)
    0
    """

    def __init__(self, folder: Path, study: Study, contents: dict[str, str] | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.study = folder, study
        self._prints = {cell: fingerprint(study, cell, contents or {}) for cell in study.cells()}
        by_print = {text: cell for cell, text in self._prints.items()}
        self.choices: Choices = {}
        self.runs: Runs = {}
        for line in self._lines("choices.jsonl"):
            if line["cell"] in by_print:
                chosen = Chosen(line["parameters"], line["width"])
                self.choices[by_print[line["cell"]]] = chosen
        for line in self._lines("runs.jsonl"):
            if line["cell"] in by_print:
                scores = {key: _number(value) for key, value in line["scores"].items()}
                key = (by_print[line["cell"]], line["seed"])
                self.runs[key] = TrialResult(scores, line["curve"], math.nan)

    def add_choices(self, found: Choices) -> None:
        """Keep what was chosen."""
        self.choices |= found
        self._append("choices.jsonl", (self._choice_line(cell) for cell in found))

    def add_runs(self, found: Runs) -> None:
        """Keep what was run, and apart from it how long it took."""
        self.runs |= found
        self._append("runs.jsonl", (self._run_line(*key) for key in found))
        self._append(
            "times.jsonl",
            (
                {"run": cell.key, "seed": seed, "seconds": round(outcome.seconds, 6)}
                for (cell, seed), outcome in found.items()
            ),
        )

    def finish(self) -> None:
        """Write the results again in the order of the plan."""
        cells = list(self.study.cells())
        _write(
            self.folder / "choices.jsonl",
            (self._choice_line(cell) for cell in cells if cell in self.choices),
        )
        _write(
            self.folder / "runs.jsonl",
            (
                self._run_line(cell, seed)
                for cell in cells
                for seed in range(self.study.repeats)
                if (cell, seed) in self.runs
            ),
        )

    def summary(self, cell: Cell, score: str) -> Summary | None:
        """A score's mean and sample deviation; None if the cell has not been run."""
        values = tuple(
            self.runs[cell, seed].scores[score]
            for seed in range(self.study.repeats)
            if (cell, seed) in self.runs
        )
        if not values:
            return None
        known = len(values) > 1 and all(map(math.isfinite, values))
        spread = statistics.stdev(values) if known else math.nan
        return Summary(statistics.fmean(values), spread, values)

    def error(self, cell: Cell, score: str) -> float:
        """The standard error of a score's mean; NaN if it is not known.

        It comes from the repeats. A real stream is the same in all of them, so that the error by
        its blocks is added.
        """
        found = self.summary(cell, score)
        if found is None:
            return math.nan
        by_blocks = [
            self.runs[cell, seed].scores.get(f"{score}_error", math.nan)
            for seed in range(self.study.repeats)
            if (cell, seed) in self.runs
        ]
        by_repeats = found.std / math.sqrt(len(found.values))
        if math.isnan(by_blocks[0]):
            return by_repeats
        known = 0.0 if math.isnan(by_repeats) else by_repeats
        return math.hypot(statistics.fmean(by_blocks), known)

    def curve(self, cell: Cell) -> list[float]:
        """The mean curve over the repeats."""
        curves = [
            self.runs[cell, seed].curve
            for seed in range(self.study.repeats)
            if (cell, seed) in self.runs
        ]
        return [statistics.fmean(values) for values in zip(*curves, strict=True)]

    def _choice_line(self, cell: Cell) -> dict[str, Any]:
        chosen = self.choices[cell]
        return {
            "cell": self._prints[cell],
            "of": cell.key,
            "parameters": chosen.parameters,
            "width": chosen.width,
        }

    def _run_line(self, cell: Cell, seed: int) -> dict[str, Any]:
        outcome = self.runs[cell, seed]
        scores = {key: None if math.isnan(v) else v for key, v in outcome.scores.items()}
        return {
            "cell": self._prints[cell],
            "of": cell.key,
            "seed": seed,
            "scores": scores,
            "curve": outcome.curve,
        }

    def _append(self, name: str, lines: Iterable[dict[str, Any]]) -> None:
        path = self.folder / name
        try:
            with path.open("a", encoding="utf-8") as file:
                file.writelines(json.dumps(line) + "\n" for line in lines)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise type(error)(error.errno, error.strerror, str(path)) from None

    def _lines(self, name: str) -> Iterator[dict[str, Any]]:
        """The whole lines of a file; one that a crash cut off is taken away."""
        path = self.folder / name
        if not path.exists():
            return
        text = path.read_bytes()
        whole = text[: text.rfind(b"\n") + 1]
        if len(whole) < len(text):
            write_file(path, whole)
        for line in whole.splitlines():
            yield json.loads(line)


def fingerprint(study: Study, cell: Cell, contents: dict[str, str]) -> str:
    """A checksum of everything that a cell's runs depend on, its seed apart."""
    learner = asdict(study.learner_plan(cell.learner))
    data, labels = asdict(study.data_plan(cell.data)), asdict(cell.labels)
    for key in ("printed", "setting", "preprocess", "choice_repeats", "needs"):
        del learner[key]  # they say where a cell stands, or stand under "protocol"
    del learner["streams"], learner["label_rates"], data["streams"], labels["label_rates"]
    preprocess, repeats = study.preprocess_for(cell.learner), study.choice_repeats_for(cell.learner)
    said = {
        "version": __version__,
        "contents": contents.get(cell.data, ""),
        "data": data,
        "stream": asdict(study.stream_plan(cell.stream)),
        "learner": learner,
        "rate": cell.rate,
        "labels": labels,
        "protocol": (preprocess, study.held_out, study.score, study.choose, repeats),
        "width": study.one_width,
        "curve": study.figure in ("time", "loss"),
        "after": study.after,
    }
    text = json.dumps(said, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)


def _write(path: Path, lines: Iterable[dict[str, Any]]) -> None:
    """Write a file whole or not at all."""
    write_file(path, "".join(json.dumps(line) + "\n" for line in lines).encode())
