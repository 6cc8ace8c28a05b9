"""FESL's Table 2: accuracy on nine data sets whose features are all replaced half-way.

    python studies/fesl.py --data FOLDER

A repeat permutes the rows and draws the second space (`streams.Evolvable`); its seed, 0, 1, ..., is
that of the stream and of the learner's draws. Both spaces are scaled to [0, 1] by column, weights
start at 0, 10 rounds show both spaces. The learners find the replacement by themselves; they are
told how long the second phase lasts, as in the paper. The score is the accuracy over that phase; a
margin of exactly 0 counts as a mistake.

Beside ours stand the paper's number and the reference, an independent program's for the same
protocol. Two numbers agree when they differ by at most three standard errors of their difference,
beyond what the rounding of the printed reference explains; the reference's own spread is not known,
ours stands for it.
"""

import csv
import math
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from protocol import ROUNDING, TOLERATED_ERRORS, check_data, check_reader, file_of, in_order, study
from rich import box
from rich.console import Console
from rich.table import Table

import headwater as hw

REFERENCES = Path(__file__).with_name("fesl_reference.csv")
REFERENCE_REPEATS = 10
OVERLAP = 10
WIDTH = 120


class Cell(NamedTuple):
    """A number of the table."""

    data: str
    algorithm: str


class Reference(NamedTuple):
    """What a number is compared with, and where it comes from."""

    data: str
    file: str
    algorithm: str
    c: float
    reference: float
    paper_mean: float
    paper_std: float
    source: str


class Work(NamedTuple):
    """One repeat of one cell."""

    path: Path
    algorithm: str
    c: float
    seed: int


class Outcome(NamedTuple):
    """A cell's accuracies over the repeats."""

    scores: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Mean over the repeats."""
        return float(np.mean(self.scores))

    @property
    def std(self) -> float:
        """Sample standard deviation over the repeats."""
        return float(np.std(self.scores, ddof=1))

    def standard_error(self) -> float:
        """Of the difference from a reference with the same spread."""
        return self.std * math.sqrt(1 / len(self.scores) + 1 / REFERENCE_REPEATS)

    def agrees(self, reference: float) -> bool:
        """Whether chance and rounding explain the difference."""
        room = TOLERATED_ERRORS * self.standard_error() + ROUNDING
        return abs(self.mean - reference) <= room


def read_references(path: Path = REFERENCES) -> dict[Cell, Reference]:
    """The numbers to compare with, in the order of the table."""
    with path.open(newline="", encoding="utf-8") as file:
        return {
            Cell(row["data"], row["algorithm"]): Reference(
                row["data"],
                row["file"],
                row["algorithm"],
                float(row["c"]),
                float(row["reference"]),
                float(row["paper_mean"]),
                float(row["paper_std"]),
                row["source"],
            )
            for row in csv.DictReader(file)
        }


@lru_cache(maxsize=1)
def load(path: Path) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Read a data set as it is."""
    from sklearn.datasets import load_svmlight_file  # type: ignore[import-untyped, unused-ignore]

    X, y = load_svmlight_file(path, zero_based=False)
    return X.toarray(), y.astype(np.int64)


def accuracy(work: Work) -> float:
    """The accuracy over the second phase."""
    X, y = load(work.path)
    stream = hw.streams.Evolvable(X, y, overlap=OVERLAP, seed=work.seed)
    last, overlap, horizon = stream.schedule
    model = hw.named(
        work.algorithm, step=1 / work.c, overlap=overlap, horizon=horizon, seed=work.seed
    )
    rows, labels = stream.batch()
    right = model.simulate(rows, labels).margin * labels > 0
    return float(right[last:].mean())


def run(folder: Path, references: dict[Cell, Reference], repeats: int, jobs: int) -> list[Outcome]:
    """Every cell's outcome, the same for every number of jobs."""
    work = [
        Work(file_of(folder, r.file), r.algorithm, r.c, seed)
        for r in references.values()
        for seed in range(repeats)
    ]
    scores = list(in_order(accuracy, work, jobs))
    starts = range(0, len(scores), repeats)
    return [Outcome(tuple(scores[start : start + repeats])) for start in starts]


HEAD = ("data", "algorithm", "mean", "std", "reference", "paper", "difference", "error", "verdict")


def report(references: dict[Cell, Reference], outcomes: list[Outcome], console: Console) -> None:
    """Print the table and what it comes to."""
    style = box.SIMPLE_HEAD if console.is_terminal else box.MARKDOWN
    drawn = Table(title="FESL, Table 2: accuracy over phase 2", title_justify="left", box=style)
    for place, head in enumerate(HEAD):
        drawn.add_column(head, justify="left" if place < 2 else "right", no_wrap=True)
    differing = []
    for (cell, reference), outcome in zip(references.items(), outcomes, strict=True):
        agrees = outcome.agrees(reference.reference)
        if not agrees:
            differing.append(f"{cell.algorithm} on {cell.data}")
        drawn.add_row(
            *cell,
            f"{outcome.mean:.4f}",
            f"{outcome.std:.4f}",
            f"{reference.reference:.3f}",
            f"{reference.paper_mean:.3f} ({reference.paper_std:.3f})",
            f"{outcome.mean - reference.reference:+.4f}",
            f"{outcome.standard_error():.4f}",
            "agrees" if agrees else "differs",
        )
    console.print(drawn)
    means = {cell: outcome.mean for cell, outcome in zip(references, outcomes, strict=True)}
    ours = [outcome.mean for outcome in outcomes]
    paper = [reference.paper_mean for reference in references.values()]
    console.print(
        f"{len(outcomes) - len(differing)} of {len(outcomes)} agree with the reference within"
        f" {TOLERATED_ERRORS:.0f} standard errors of the difference and its rounding ({ROUNDING})."
        f" Differing: {', '.join(differing) or 'none'}.\n"
        f"Mean absolute difference from the paper: {np.mean(np.abs(np.subtract(ours, paper))):.3f}."
    )
    for algorithm in ("FESL-c", "FESL-s"):
        gaps = [
            means[Cell(data, algorithm)]
            - max(means[Cell(data, "NOGD")], means[Cell(data, "ROGD-u")])
            for data in dict.fromkeys(cell.data for cell in references)
        ]
        console.print(
            f"{algorithm} minus the better of NOGD and ROGD-u: mean {np.mean(gaps):+.3f},"
            f" lowest {min(gaps):+.3f}."
        )


@study(repeats=10)
def main(data: Path | None, repeats: int, jobs: int) -> None:
    """Print our numbers beside FESL's Table 2."""
    references = read_references()
    folder = check_data(data, (r.file for r in references.values()))
    check_reader()
    console = Console(width=max(WIDTH, Console().width))
    report(references, run(folder, references, repeats, jobs), console)


if __name__ == "__main__":
    main()
