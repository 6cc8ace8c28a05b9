"""Our numbers beside the papers': PAA (Tables 2 and 3) and FLLS (Table 3) at 10 % labels.

    python studies/paper_numbers.py --data FOLDER

Every column is z-scored over the whole data set and every row scaled to unit length; there is no
intercept. A repeat permutes the rows; its seed, 0, 1, ..., is that of the permutation and of the
learner's coins. The query width is searched in every repeat; C is the best of its grid on average
over the repeats, which flatters ours and the reference alike.

Two numbers agree when they differ by at most three standard errors of their difference, beyond
what the rounding of the printed reference explains.
"""

import csv
import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from protocol import (
    ROUNDING,
    TOLERATED_ERRORS,
    Data,
    check_data,
    check_reader,
    file_of,
    in_order,
    load,
    study,
)
from rich import box
from rich.console import Console
from rich.table import Table

import headwater as hw
from headwater.evaluation.metrics import balanced_accuracy, f_measure
from headwater.evaluation.widths import width_for_rate

REFERENCES = Path(__file__).with_name("reference_numbers.csv")
LABEL_SHARE = 0.1
STREAM_SHARE = 0.8  # of the rows, in the held-out protocol
C_GRID = tuple(2.0**power for power in range(-5, 6))
REFERENCE_REPEATS = 20

SPARSITY = {"kept_share": 0.5, "l1_radius": 30.0}
WITHOUT_C = {"PAA", "PEA"}
AT_RANDOM = {"RPA-I", "RFLLS-I"}  # these ask by a rate, the others by a width


class Cell(NamedTuple):
    """A number of a table: what was learned by which algorithm, and how it was scored."""

    protocol: Literal["stream", "held_out"]
    data: str
    algorithm: str


class Reference(NamedTuple):
    """What a number is compared with."""

    mean: float
    paper_mean: float
    paper_std: float
    paper_table: str


class Split(NamedTuple):
    """One repeat's order of the rows: the stream, and what is kept for the test."""

    X: Any
    y: NDArray[Any]
    test_rows: NDArray[np.float64]
    test_labels: NDArray[np.int64]


class Score(NamedTuple):
    """What one run achieved, and which share of the labels it asked for."""

    value: float
    label_rate: float


@dataclass(frozen=True)
class Outcome:
    """A cell's scores over the repeats, with the best C."""

    C: float | None
    scores: tuple[float, ...]
    label_rate: float

    @property
    def mean(self) -> float:
        """Mean over the repeats."""
        return float(np.mean(self.scores))

    @property
    def std(self) -> float:
        """Sample standard deviation over the repeats."""
        return float(np.std(self.scores, ddof=1))


@dataclass(frozen=True)
class Comparison:
    """A difference from the reference, and its standard error.

    The reference's own standard deviation is not known; the paper's stands for it.
    """

    difference: float
    standard_error: float

    @classmethod
    def of(cls, outcome: Outcome, reference: Reference) -> "Comparison":
        """Compare the means of independent repeats."""
        ours = outcome.std**2 / len(outcome.scores)
        theirs = reference.paper_std**2 / REFERENCE_REPEATS
        return cls(outcome.mean - reference.mean, math.sqrt(ours + theirs))

    @property
    def agrees(self) -> bool:
        """Whether chance and rounding explain the difference."""
        return abs(self.difference) <= TOLERATED_ERRORS * self.standard_error + ROUNDING


def read_references(path: Path = REFERENCES) -> dict[Cell, Reference]:
    """The numbers to compare with, in the order of the tables."""
    with path.open(newline="", encoding="utf-8") as file:
        return {
            Cell(row["protocol"], row["data"], row["algorithm"]): Reference(  # type: ignore[arg-type]
                float(row["reference"]),
                float(row["paper_mean"]),
                float(row["paper_std"]),
                row["paper_table"],
            )
            for row in csv.DictReader(file)
        }


def split(data: Data, protocol: str, seed: int) -> Split:
    """The rows in a random order: all of them the stream, or the last fifth kept for the test."""
    order = np.random.default_rng(seed).permutation(len(data.labels))
    X, y = data.values[order], data.labels[order]
    if protocol == "stream":
        return Split(X, y, X[:0], y[:0])
    end = math.floor(STREAM_SHARE * len(y) + 1e-9)
    rows, labels = hw.streams.Trapezoid(X[:end], y[:end], chunks=10, shuffle=False).batch()
    return Split(rows, labels, X[end:], y[end:])


def learn(cell: Cell, stream: Split, C: float | None, seed: int) -> Score:
    """Run one learner along the stream, its label rate brought to the target, and score it."""
    fixed: dict[str, Any] = {"seed": seed} | ({} if C is None else {"C": C})
    if cell.protocol == "held_out":
        fixed |= SPARSITY
    if cell.algorithm in AT_RANDOM:
        exact = {"total": len(stream.y)} if cell.protocol == "held_out" else {}
        learner = hw.named(cell.algorithm, rate=LABEL_SHARE, **exact, **fixed)
    else:

        def make(width: float) -> hw.Learner:
            return hw.named(cell.algorithm, query_width=width, **fixed)

        learner = make(width_for_rate(make, stream.X, stream.y, LABEL_SHARE))
    trace = learner.simulate(stream.X, stream.y)
    if cell.protocol == "stream":
        value = f_measure(trace.margin, stream.y)
    else:
        value = balanced_accuracy(learner.margin_many(stream.test_rows), stream.test_labels)
    return Score(value, float(trace.asked.mean()))


def c_grid(algorithm: str) -> tuple[float | None, ...]:
    """The values of C to try; None where there is no C."""
    return (None,) if algorithm in WITHOUT_C else C_GRID


class Repeat(NamedTuple):
    """A unit of work: one repeat of one cell, every C."""

    path: Path
    cell: Cell
    seed: int


def run_repeat(repeat: Repeat) -> list[Score]:
    """The scores of one repeat, in the order of the grid of C."""
    _, cell, seed = repeat
    stream = split(load(repeat.path), cell.protocol, seed)
    return [learn(cell, stream, C, seed) for C in c_grid(cell.algorithm)]


def summarise(algorithm: str, repeats: list[list[Score]]) -> Outcome:
    """The outcome with the C whose mean is best, the smaller one on a tie."""
    values = np.array([[score.value for score in repeat] for repeat in repeats])
    rates = np.array([[score.label_rate for score in repeat] for repeat in repeats])
    best = int(values.mean(axis=0).argmax())
    scores = tuple(values[:, best].tolist())
    return Outcome(c_grid(algorithm)[best], scores, float(rates[:, best].mean()))


def run(folder: Path, cells: Iterable[Cell], repeats: int, jobs: int) -> dict[Cell, Outcome]:
    """Every cell's outcome, the same for every number of jobs."""
    cells = list(cells)
    work = [Repeat(file_of(folder, c.data), c, seed) for c in cells for seed in range(repeats)]
    results = iter(list(in_order(run_repeat, work, jobs)))
    return {cell: summarise(cell.algorithm, list(islice(results, repeats))) for cell in cells}


TITLES = {
    "stream": "PAA at 10 % labels: F-measure of the predictions made along the stream",
    "held_out": "FLLS at 10 % labels: balanced accuracy on the held-out fifth, all features",
}
WIDTH = 132  # of the tables, wherever they go: numbers are never cut
HEAD = (
    *("data", "algorithm", "C", "mean", "std", "label rate"),
    *("reference", "paper", "difference", "standard error", "verdict"),
)


def row(cell: Cell, outcome: Outcome, reference: Reference) -> tuple[str, ...]:
    """A line of the table."""
    comparison = Comparison.of(outcome, reference)
    return (
        cell.data,
        cell.algorithm,
        "-" if outcome.C is None else f"2^{math.log2(outcome.C):.0f}",
        f"{outcome.mean:.4f}",
        f"{outcome.std:.4f}",
        f"{100 * outcome.label_rate:.2f} %",
        f"{reference.mean:.3f}",
        f"{reference.paper_mean:.3f} ({reference.paper_std:.3f})",
        f"{comparison.difference:+.4f}",
        f"{comparison.standard_error:.4f}",
        "agrees" if comparison.agrees else "differs",
    )


def table(
    protocol: str, outcomes: dict[Cell, Outcome], references: dict[Cell, Reference], style: box.Box
) -> Table:
    """One protocol's cells, ours beside the reference and the paper."""
    drawn = Table(title=TITLES[protocol], title_justify="left", box=style)
    for place, head in enumerate(HEAD):
        drawn.add_column(head, justify="left" if place < 2 else "right", no_wrap=True)
    for cell, outcome in outcomes.items():
        if cell.protocol == protocol:
            drawn.add_row(*row(cell, outcome, references[cell]))
    return drawn


def report(
    outcomes: dict[Cell, Outcome], references: dict[Cell, Reference], console: Console
) -> None:
    """Print both tables and what they come to."""
    style = box.SIMPLE_HEAD if console.is_terminal else box.MARKDOWN
    for protocol in TITLES:
        console.print(table(protocol, outcomes, references, style))
    differing = [
        f"{cell.algorithm} on {cell.data}"
        for cell, outcome in outcomes.items()
        if not Comparison.of(outcome, references[cell]).agrees
    ]
    console.print(
        f"{len(outcomes) - len(differing)} of {len(outcomes)} agree with the reference within"
        f" {TOLERATED_ERRORS:.0f} standard errors of the difference and its rounding"
        f" ({ROUNDING}). Differing: {', '.join(differing) or 'none'}."
    )


@study(repeats=20)
def main(data: Path | None, repeats: int, jobs: int) -> None:
    """Print our numbers beside the papers': PAA Tables 2 and 3, FLLS Table 3, 10 % labels."""
    references = read_references()
    folder = check_data(data, (cell.data for cell in references))
    check_reader()
    console = Console(width=max(WIDTH, Console().width))
    report(run(folder, references, repeats, jobs), references, console)


if __name__ == "__main__":
    main()
