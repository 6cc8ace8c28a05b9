"""Our numbers beside the papers': SEL-2nd (PAA Tables 2 and 3), OFS and OFS_P (OLSF Table 5).

    python studies/second_order.py --data FOLDER

The data is scaled as in `paper_numbers.py`; a repeat permutes the rows, its seed is that of the
permutation and of the learner. SEL-2nd: the F-measure of the predictions along the stream at 10 %
labels, the query width searched in every repeat; it agrees within 0.01 of the reference. OFS and
OFS_P: the errors (y·margin ≤ 0) over the stream, every label given, all features shown, B = a tenth
of the columns; they agree within three standard errors of the difference, the paper's deviation
standing for the reference's.
"""

import csv
import math
import multiprocessing
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Literal, NamedTuple

import click
import numpy as np
from paper_numbers import (
    LABEL_SHARE,
    Comparison,
    Outcome,
    Reference,
    Score,
    check_data,
    check_reader,
    file_of,
    load,
    split,
)
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


class Repeat(NamedTuple):
    """A unit of work: one repeat of one cell."""

    path: Path
    cell: Cell
    seed: int


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


def run_repeat(repeat: Repeat) -> Score:
    """One learner along one order of the rows."""
    path, cell, seed = repeat
    stream = split(load(path), "stream", seed)
    if cell.metric == "errors":
        learner = hw.named(cell.algorithm, count=kept(stream.X.shape[1]), seed=seed)
        trace = learner.simulate(stream.X, stream.y)
        return Score(float((stream.y * trace.margin <= 0).sum()), float(trace.asked.mean()))

    def make(width: float) -> hw.Learner:
        return hw.named(cell.algorithm, query_width=width, seed=seed)

    width = width_for_rate(make, stream.X, stream.y, LABEL_SHARE)
    trace = make(width).simulate(stream.X, stream.y)
    return Score(f_measure(trace.margin, stream.y), float(trace.asked.mean()))


def run(folder: Path, cells: Iterable[Cell], repeats: int, jobs: int) -> dict[Cell, Outcome]:
    """Every cell's outcome, the same for every number of jobs."""
    cells = list(cells)
    work = [Repeat(file_of(folder, c.data), c, seed) for c in cells for seed in range(repeats)]
    if jobs == 1:
        scores = iter([run_repeat(repeat) for repeat in work])
    else:
        with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
            scores = iter(list(pool.map(run_repeat, work)))
    outcomes = {}
    for cell in cells:
        values, rates = zip(*islice(scores, repeats), strict=True)
        outcomes[cell] = Outcome(None, values, float(np.mean(rates)))
    return outcomes


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


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    envvar="HEADWATER_DATA",
    help="Folder with NAME.svm.gz files. Default: the environment variable HEADWATER_DATA.",
)
@click.option("--repeats", type=click.IntRange(min=2), default=20, show_default=True)
@click.option("--jobs", type=click.IntRange(min=1), default=2, show_default=True)
def main(data: Path | None, repeats: int, jobs: int) -> None:
    """Print our numbers beside the papers': SEL-2nd at 10 % labels, OFS and OFS_P."""
    references = read_references()
    folder = check_data(data, references)  # type: ignore[arg-type]
    check_reader()
    console = Console(width=max(WIDTH, Console().width))
    outcomes = run(folder, references, repeats, jobs)
    style = box.SIMPLE_HEAD if console.is_terminal else box.MARKDOWN
    console.print(table(outcomes, references, style))
    good = sum(agrees(cell, outcome, references[cell]) for cell, outcome in outcomes.items())
    console.print(f"{good} of {len(outcomes)} agree with the reference.")


if __name__ == "__main__":
    main()
