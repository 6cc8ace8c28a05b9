"""Our numbers beside the papers': SEL-2nd (PAA Tables 2 and 3), OFS and OFS_P (OLSF Table 5).

    python studies/second_order.py --data FOLDER

The data is scaled as in `paper_numbers.py`; a repeat permutes the rows, its seed is that of the
permutation and of the learner. SEL-2nd: the F-measure of the predictions along the stream at 10 %
labels on average, one query width for all repeats, as in the paper; it agrees within 0.01 of the
reference. OFS and OFS_P: the errors (y·margin ≤ 0) over the stream, every label given, all features
shown, B = a tenth of the columns; they agree within three standard errors of the difference, the
paper's deviation standing for the reference's.
"""

import csv
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from paper_numbers import LABEL_SHARE, Comparison, Outcome, Reference, Split, split
from protocol import check_data, check_reader, file_of, in_order, load, study
from rich import box
from rich.console import Console
from rich.table import Table

import headwater as hw
from headwater.evaluation.metrics import f_measure
from headwater.evaluation.widths import width_for_rate

REFERENCES = Path(__file__).with_name("second_order_numbers.csv")
TOLERANCE = 0.01  # of an F-measure
WIDTH = 120


class Cell(NamedTuple):
    """A number of a table."""

    data: str
    algorithm: str
    metric: Literal["f_measure", "errors"]


class Work(NamedTuple):
    """A unit of work: all repeats of one cell."""

    path: Path
    cell: Cell
    repeats: int


def read_references(path: Path = REFERENCES) -> dict[Cell, Reference]:
    """The numbers to compare with, in the order of the table."""
    with path.open(newline="", encoding="utf-8") as file:
        return {
            Cell(row["data"], row["algorithm"], row["metric"]): Reference(  # type: ignore[arg-type]
                float(row["reference"]),
                float(row["paper_mean"]),
                float(row["paper_std"]),
                row["paper_table"],
            )
            for row in csv.DictReader(file)
        }


def kept(columns: int) -> int:
    """How many features OFS and OFS_P keep: B = max(1, round(0.1 d))."""
    return max(1, math.floor(0.1 * columns + 0.5))


class Everywhere:
    """A query width tried on all repeats at once."""

    def __init__(self, algorithm: str, width: float) -> None:
        self.algorithm, self.width = algorithm, width

    def simulate(self, X: list[Split], y: Any) -> hw.Trace:
        """The repeats' traces end to end."""
        traces = [
            hw.named(self.algorithm, query_width=self.width, seed=seed).simulate(stream.X, stream.y)
            for seed, stream in enumerate(X)
        ]
        fields = ("prediction", "margin", "query_probability", "asked")
        return hw.Trace(*(np.concatenate([getattr(t, field) for t in traces]) for field in fields))


def run_cell(work: Work) -> Outcome:
    """All repeats of a cell."""
    path, cell, repeats = work
    data = load(path)
    streams = [split(data, "stream", seed) for seed in range(repeats)]
    if cell.metric == "errors":
        count = kept(data.values.shape[1])
        errors = []
        for seed, stream in enumerate(streams):
            trace = hw.named(cell.algorithm, count=count, seed=seed).simulate(stream.X, stream.y)
            errors.append(float((stream.y * trace.margin <= 0).sum()))
        return Outcome(None, tuple(errors), 1.0)

    def make(width: float) -> Everywhere:
        return Everywhere(cell.algorithm, width)

    labels = np.concatenate([stream.y for stream in streams])
    trace = make(width_for_rate(make, streams, labels, LABEL_SHARE)).simulate(streams, labels)
    margins = np.split(trace.margin, repeats)
    scores = tuple(
        f_measure(margin, stream.y) for margin, stream in zip(margins, streams, strict=True)
    )
    return Outcome(None, scores, float(trace.asked.mean()))


def run(folder: Path, cells: Iterable[Cell], repeats: int, jobs: int) -> dict[Cell, Outcome]:
    """Every cell's outcome, the same for every number of jobs."""
    work = [Work(file_of(folder, cell.data), cell, repeats) for cell in cells]
    outcomes = in_order(run_cell, work, jobs)
    return {unit.cell: outcome for unit, outcome in zip(work, outcomes, strict=True)}


def agrees(cell: Cell, outcome: Outcome, reference: Reference) -> bool:
    """Whether a number is as near to its reference as this study asks."""
    if cell.metric == "f_measure":
        return abs(outcome.mean - reference.mean) <= TOLERANCE
    return Comparison.of(outcome, reference).agrees


def table(
    outcomes: dict[Cell, Outcome], references: dict[Cell, Reference], style: box.Box
) -> Table:
    """Ours beside the reference and the paper."""
    drawn = Table(title="SEL-2nd: F-measure; OFS, OFS_P: errors", title_justify="left", box=style)
    for place, head in enumerate(
        ("data", "algorithm", "mean", "std", "label rate", "reference", "paper", "verdict")
    ):
        drawn.add_column(head, justify="left" if place < 2 else "right", no_wrap=True)
    for cell, outcome in outcomes.items():
        reference = references[cell]
        digits = 4 if cell.metric == "f_measure" else 1
        paper_digits = 3 if cell.metric == "f_measure" else 1
        drawn.add_row(
            cell.data,
            cell.algorithm,
            f"{outcome.mean:.{digits}f}",
            f"{outcome.std:.{digits}f}",
            f"{100 * outcome.label_rate:.2f} %",
            f"{reference.mean:g}",
            f"{reference.paper_mean:.{paper_digits}f} ({reference.paper_std:.{paper_digits}f})",
            "agrees" if agrees(cell, outcome, reference) else "differs",
        )
    return drawn


@study(repeats=20)
def main(data: Path | None, repeats: int, jobs: int) -> None:
    """Print our numbers beside the papers': SEL-2nd at 10 % labels, OFS and OFS_P."""
    references = read_references()
    folder = check_data(data, (cell.data for cell in references))
    check_reader()
    console = Console(width=max(WIDTH, Console().width))
    outcomes = run(folder, references, repeats, jobs)
    style = box.SIMPLE_HEAD if console.is_terminal else box.MARKDOWN
    console.print(table(outcomes, references, style))
    good = sum(agrees(cell, outcome, references[cell]) for cell, outcome in outcomes.items())
    console.print(f"{good} of {len(outcomes)} agree with the reference.")


if __name__ == "__main__":
    main()
