"""What the learned slope of the probabilities is worth, beside a slope of 1.

    python studies/calibration.py --data FOLDER

Four fifths of the events are a stream with a tenth of the labels; on the last fifth, from which
nothing is learned, probabilities are held against what happened. Expected calibration error: the
mean distance between them in ten bins of equal width, weighted by the events in a bin. `Linear`
takes raw values, FLLS-II z-scores by column and rows of length 1 (of the sensor network raw ones),
its query width set to a tenth of the labels. One seed a repeat: 0, 1, ... Without a folder of data
sets: the sensor network alone.
"""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from protocol import check_data, check_reader, file_of, in_order, read, scaled, study
from rich import box
from rich.console import Console
from rich.table import Table

import headwater as hw
from headwater.evaluation.width_search import width_for_rate
from headwater.types import Rows

DATA = ("spambase", "magic04")
NETWORK = "SensorNetwork"
LEARNERS = ("Linear()", "FLLS-II")
STREAM_SHARE = 0.8
LABEL_RATE = 0.1
EVENTS = 10_000
BINS = 10

Floats = NDArray[np.float64]


class Case(NamedTuple):
    """One stream and one learner."""

    folder: Path | None
    data: str
    learner: str
    seed: int


class Outcome(NamedTuple):
    """Probabilities of held-out events, by the learned slope and by a slope of 1, and labels."""

    learned: Floats
    fixed: Floats
    happened: NDArray[np.bool_]


def rows_of(case: Case) -> tuple[Any, Any, NDArray[np.bool_], NDArray[np.bool_]]:
    """The events of the stream, those held out, and the labels of both."""
    if case.folder is None or case.data == NETWORK:
        network = hw.streams.SensorNetwork(EVENTS, seed=case.seed)
        rows, labels = network.batch()
        cut = int(STREAM_SHARE * EVENTS)
        return part(rows, 0, cut), part(rows, cut, EVENTS), labels[:cut], labels[cut:]
    values, classes = read(file_of(case.folder, case.data))
    if case.learner == "FLLS-II":
        values = scaled(values)
    order = np.random.default_rng(case.seed).permutation(len(classes))
    values, labels = values[order], classes[order] > 0
    cut = int(STREAM_SHARE * len(labels))
    return values[:cut], values[cut:], labels[:cut], labels[cut:]


def part(rows: Any, start: int, end: int) -> Rows:
    """Some of the rows."""
    first, last = rows.indptr[start], rows.indptr[end]
    indptr = rows.indptr[start : end + 1] - first
    return Rows(indptr, rows.indices[first:last], rows.data[first:last], rows.names)


def run_case(case: Case) -> Outcome:
    """Learn the stream, then predict the rest."""
    stream, rest, labels, happened = rows_of(case)
    model: hw.Learner = hw.Linear(query=hw.query.Budget(LABEL_RATE), seed=case.seed)
    if case.learner == "FLLS-II":

        def make(width: float) -> hw.Learner:
            return hw.named("FLLS-II", query_width=width, seed=case.seed)

        model = make(width_for_rate(make, stream, labels, LABEL_RATE))
    model.simulate(stream, labels)
    fixed = 1 / (1 + np.exp(-np.clip(model.margin_many(rest), -30, 30)))
    return Outcome(model.predict_proba_many(rest)[:, 1], fixed, happened)


def bins(p: Floats) -> NDArray[np.int64]:
    """The bin of each probability."""
    return np.minimum((p * BINS).astype(np.int64), BINS - 1)


def calibration_error(p: Floats, happened: NDArray[np.bool_]) -> float:
    """Expected calibration error."""
    places = bins(p)
    apart = np.bincount(places, weights=p - happened, minlength=BINS)
    return float(np.abs(apart).sum() / len(p))


def log_loss(p: Floats, happened: NDArray[np.bool_]) -> float:
    """Mean −ln of the probability of what happened."""
    return float(-np.log(np.clip(np.where(happened, p, 1 - p), 1e-15, 1)).mean())


def cell(values: list[float]) -> str:
    return f"{np.mean(values):.3f} ({np.std(values, ddof=1):.3f})"


def share(p: Floats, happened: NDArray[np.bool_], place: int) -> str:
    """What was said and what happened in a bin."""
    here = bins(p) == place
    if not here.any():
        return "-"
    return f"{p[here].mean():.2f} → {happened[here].mean():.2f} ({here.sum()})"


@study(repeats=10)
def main(data: Path | None, repeats: int, jobs: int) -> None:
    """Hold probabilities against what happened."""
    names: tuple[str, ...] = (NETWORK,)
    if data is not None:
        data = check_data(data, DATA)
        check_reader()
        names = (*DATA, NETWORK)
    kinds = [(name, learner) for name in names for learner in LEARNERS]
    cases = [Case(data, *kind, seed) for kind in kinds for seed in range(repeats)]
    results = list(in_order(run_case, cases, jobs))
    errors = Table(
        *("data", "learner", "error, slope 1", "error, learned"),
        *("log loss, slope 1", "log loss, learned"),
        box=box.SIMPLE_HEAD,
    )
    said = Table(
        "P(positive)", *(f"{name}, {learner}" for name, learner in kinds), box=box.SIMPLE_HEAD
    )
    pooled = []
    for kind in kinds:
        of_kind = [r for case, r in zip(cases, results, strict=True) if case[1:3] == kind]
        columns = [
            cell([measure(p, happened) for *both, happened in of_kind for p in [both[which]]])
            for measure in (calibration_error, log_loss)
            for which in (1, 0)
        ]
        errors.add_row(*kind, *columns)
        pooled.append([np.concatenate(parts) for parts in zip(*of_kind, strict=True)])
    for place in range(BINS):
        cells = (share(learned, happened, place) for learned, _, happened in pooled)
        said.add_row(f"{place / BINS:.1f} to {(place + 1) / BINS:.1f}", *cells)
    console = Console(width=160)
    console.print(errors)
    console.print("Said → happened (events), by the learned slope, all repeats together:")
    console.print(said)


if __name__ == "__main__":
    main()
