"""OLVF's errors beside the paper's: events that lose a share of their features, and trapezoids.

    python studies/olvf.py --data FOLDER

Every column is z-scored over the whole data set; there is no intercept, every label is learned. A
repeat permutes the rows and removes features by its seed, 0, 1, ...; all learners of a repeat see
the same events. C and C_space are the best of their grid on average over the repeats, which
flatters all learners. An error is a margin on the wrong side of 0, or 0 itself.
"""

import csv
import math
from collections.abc import Iterable
from functools import lru_cache
from itertools import islice, pairwise, product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from protocol import (
    TOLERATED_ERRORS,
    Data,
    check_data,
    check_reader,
    file_of,
    in_order,
    read,
    study,
)
from rich import box
from rich.console import Console
from rich.table import Table

import headwater as hw
from headwater.studies.protocol import z_scores
from headwater.types import Rows

REFERENCES = Path(__file__).with_name("olvf_reference.csv")
REMOVED = {f"removed {share}": share for share in (0.25, 0.5, 0.75)}
GRID = tuple(10.0**power for power in range(-5, 1))
WIDTH = 160  # of the table, wherever it goes: numbers are never cut
ALGORITHMS = ("multiply", "divide", "PA-I", "default")
DEFAULT = hw.OLVF()


class Cell(NamedTuple):
    """A kind of stream, made of a data set."""

    stream: str
    data: str


class Reference(NamedTuple):
    """What a cell is compared with: the paper, and our notes where they have a number."""

    paper_mean: float
    paper_std: float
    notes: float | None


class Choice(NamedTuple):
    """A learner of the grid, or OLVF as it is by default; PA-I has no C_space."""

    algorithm: str
    C: float
    C_space: float | None


class Outcome(NamedTuple):
    """The errors of an algorithm's best choice, a repeat each."""

    choice: Choice
    errors: tuple[int, ...]

    @property
    def mean(self) -> float:
        """Mean over the repeats."""
        return float(np.mean(self.errors))

    @property
    def std(self) -> float:
        """Sample standard deviation over the repeats."""
        return float(np.std(self.errors, ddof=1))


CHOICES = [
    *(Choice(word, C, space) for word in ALGORITHMS[:2] for C, space in product(GRID, GRID)),
    *(Choice("PA-I", C, None) for C in GRID),
    Choice("default", DEFAULT.C, DEFAULT.C_space),
]


def read_references(path: Path = REFERENCES) -> dict[Cell, Reference]:
    """The numbers to compare with, in the order of the tables."""
    with path.open(newline="", encoding="utf-8") as file:
        return {
            Cell(row["stream"], row["data"]): Reference(
                float(row["paper_mean"]),
                float(row["paper_std"]),
                float(row["notes"]) if row["notes"] else None,
            )
            for row in csv.DictReader(file)
        }


@lru_cache(maxsize=2)
def load(path: Path) -> Data:
    """Read a data set: z-scores, the larger label +1, the other −1."""
    raw = read(path)
    return Data(z_scores(raw.values), np.where(raw.labels == raw.labels.max(), 1, -1))


def stream_of(kind: str, data: Data, seed: int) -> tuple[Rows, NDArray[Any]]:
    """One repeat's events and labels."""
    if kind in REMOVED:
        stream = hw.streams.Varying(data.values, data.labels, removed=REMOVED[kind], seed=seed)
        return stream.batch()
    if kind == "trapezoid":
        return hw.streams.Trapezoid(data.values, data.labels, seed=seed).batch()
    return hw.streams.Trapezoid(data.values, data.labels, widening="olvf", seed=seed).batch()


def learner(choice: Choice) -> hw.Learner:
    """The learner that a choice stands for."""
    if choice.C_space is None:
        return hw.named("PA-I", C=choice.C)
    word = "divide" if choice.algorithm == "divide" else "multiply"
    return hw.named("OLVF", C=choice.C, C_space=choice.C_space, confidence=word)


class Repeat(NamedTuple):
    """A unit of work: one repeat of one cell, every choice."""

    path: Path
    cell: Cell
    seed: int


def run_repeat(repeat: Repeat) -> list[int]:
    """The errors in the order of `CHOICES`."""
    X, y = stream_of(repeat.cell.stream, load(repeat.path), repeat.seed)
    return [int((learner(choice).simulate(X, y).margin * y <= 0).sum()) for choice in CHOICES]


def summarise(repeats: list[list[int]]) -> dict[str, Outcome]:
    """The best choice of each algorithm, the smaller one on a tie."""
    errors = np.array(repeats)
    means = errors.mean(axis=0)
    outcomes = {}
    for algorithm in ALGORITHMS:
        own = [place for place, choice in enumerate(CHOICES) if choice.algorithm == algorithm]
        best = min(own, key=lambda place: means[place])
        outcomes[algorithm] = Outcome(CHOICES[best], tuple(errors[:, best].tolist()))
    return outcomes


def run(
    folder: Path, cells: Iterable[Cell], repeats: int, jobs: int
) -> dict[Cell, dict[str, Outcome]]:
    """Every cell's outcomes, the same for every number of jobs."""
    cells = list(cells)
    work = [Repeat(file_of(folder, c.data), c, seed) for c in cells for seed in range(repeats)]
    results = iter(list(in_order(run_repeat, work, jobs)))
    return {cell: summarise(list(islice(results, repeats))) for cell in cells}


def agrees(outcome: Outcome, notes: float) -> bool:
    """Within 3 standard errors of the difference (spread as ours) and the notes' rounding."""
    error = outcome.std * math.sqrt(2 / len(outcome.errors))
    rounding = 0.5 if notes == round(notes) else 0.05
    return abs(outcome.mean - notes) <= TOLERATED_ERRORS * error + rounding


HEAD = ("stream", "data", *ALGORITHMS, "best C, C_space", "notes", "verdict", "paper")


def row(cell: Cell, outcomes: dict[str, Outcome], reference: Reference) -> tuple[str, ...]:
    """A line of the table; C and C_space are those of `multiply`."""
    ours = outcomes["multiply"]
    verdict = "-"
    if reference.notes is not None:
        verdict = "agrees" if agrees(ours, reference.notes) else "differs"
    return (
        *cell,
        *(f"{outcomes[word].mean:.1f} ({outcomes[word].std:.1f})" for word in ALGORITHMS),
        f"{ours.choice.C:g}, {ours.choice.C_space:g}",
        "-" if reference.notes is None else f"{reference.notes:g}",
        verdict,
        f"{reference.paper_mean:g} ({reference.paper_std:g})",
    )


def falling(outcomes: dict[Cell, dict[str, Outcome]]) -> list[str]:
    """Where the mean error does not rise with the share removed."""
    found = []
    for data, word in product(dict.fromkeys(cell.data for cell in outcomes), ALGORITHMS):
        means = [outcomes[Cell(kind, data)][word].mean for kind in REMOVED]
        if any(more <= less for less, more in pairwise(means)):
            found.append(f"{word} on {data}")
    return found


def report(
    outcomes: dict[Cell, dict[str, Outcome]], references: dict[Cell, Reference], console: Console
) -> None:
    """Print the table and what it comes to."""
    style = box.SIMPLE_HEAD if console.is_terminal else box.MARKDOWN
    table = Table(title="Errors along the stream: mean (std)", title_justify="left", box=style)
    for place, head in enumerate(HEAD):
        table.add_column(head, justify="left" if place < 2 else "right", no_wrap=True)
    for cell, outcome in outcomes.items():
        table.add_row(*row(cell, outcome, references[cell]))
    console.print(table)
    noted = {c: n for c in outcomes if (n := references[c].notes) is not None}
    same = sum(agrees(outcomes[cell]["multiply"], notes) for cell, notes in noted.items())
    console.print(
        f"{same} of {len(noted)} agree with our notes within {TOLERATED_ERRORS:.0f} standard errors"
        " of the difference and their rounding."
    )
    exceptions = falling(outcomes)
    console.print(
        "Errors rise with the share removed, for every data set and learner."
        if not exceptions
        else f"Errors do not rise with the share removed: {', '.join(exceptions)}."
    )
    for word in ALGORITHMS[1:]:
        ratios = [o[word].mean / o["multiply"].mean - 1 for o in outcomes.values()]
        console.print(
            f"{word}: {100 * min(ratios):+.1f} % to {100 * max(ratios):+.1f} % errors beside"
            f" multiply, {100 * float(np.median(ratios)):+.1f} % in the median."
        )


@study(repeats=20)
def main(data: Path | None, repeats: int, jobs: int) -> None:
    """Print OLVF's errors beside the paper's, PA-I's and our notes."""
    references = read_references()
    folder = check_data(data, (cell.data for cell in references))
    check_reader()
    console = Console(width=max(WIDTH, Console().width))
    report(run(folder, references, repeats, jobs), references, console)


if __name__ == "__main__":
    main()
