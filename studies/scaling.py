"""What the running scaler is worth: raw values, whole-data z-scores and running ones, side by side.

    python studies/scaling.py --data FOLDER

Balanced accuracy on a held-out fifth of the rows, with all features, after a stream of the others
with a budget of 10 % labels and C = 1. Dense data streams as a trapezoid of ten chunks; text comes
as it is, every event with the words it has. The z-scores know the whole data set beforehand, which
no live stream does; raw values and the running scaler know nothing. One seed per repeat: 0, 1, ...
"""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from protocol import check_data, check_reader, file_of, in_order, scaled, study
from rich import box
from rich.console import Console
from rich.table import Table

import headwater as hw
from headwater.evaluation.metrics import balanced_accuracy

DENSE = ("wdbc", "german", "splice", "kr-vs-kp", "spambase", "magic04")
TEXT = ("pcmac", "basehock")
UPDATES = ("pa1", "pa2", "arow")
SCALES = ("raw", "z-score", "running")
STREAM_SHARE = 0.8
LABEL_RATE = 0.1


class Case(NamedTuple):
    """One data set in one order of its rows."""

    folder: Path
    data: str
    seed: int


def learner(update: str, scale: str, seed: int) -> hw.Linear:
    """The learner under study; only with the running scaler does it scale by itself."""
    own = "running" if scale == "running" else None
    query = hw.query.Budget(LABEL_RATE)
    return hw.Linear(update=update, query=query, scale=own, seed=seed)


def run_case(case: Case) -> dict[tuple[str, str], float]:
    """Balanced accuracy by (update, scale)."""
    from sklearn.datasets import load_svmlight_file  # type: ignore[import-untyped, unused-ignore]

    X, y = load_svmlight_file(str(file_of(case.folder, case.data)), zero_based=False)
    order = np.random.default_rng(case.seed).permutation(len(y))
    cut = int(STREAM_SHARE * len(y))
    scores = {}
    for scale in SCALES:
        values: Any = X
        if scale == "z-score":
            values = scaled(X.toarray())
        elif case.data in DENSE:
            values = X.toarray()
        stream, test = values[order[:cut]], values[order[cut:]]
        labels = y[order] > 0
        rows: Any = stream
        if case.data in DENSE:
            rows, _ = hw.streams.Trapezoid(stream, labels[:cut], shuffle=False).batch()
        for update in UPDATES:
            model = learner(update, scale, case.seed)
            model.simulate(rows, labels[:cut])
            scores[update, scale] = balanced_accuracy(model.margin_many(test), labels[cut:])
    return scores


def cell(values: NDArray[np.float64]) -> str:
    return f"{values.mean():.3f} ({values.std(ddof=1):.3f})"


@study(repeats=10)
def main(data: Path | None, repeats: int, jobs: int) -> None:
    """Compare raw values, whole-data z-scores and the running scaler."""
    folder = check_data(data, DENSE + TEXT)
    check_reader()
    cases = [Case(folder, name, seed) for name in DENSE + TEXT for seed in range(repeats)]
    results = list(in_order(run_case, cases, jobs))
    table = Table(
        "data", "update", *SCALES, "running − raw", "running − z-score", box=box.SIMPLE_HEAD
    )
    for name in DENSE + TEXT:
        of_data = [r for case, r in zip(cases, results, strict=True) if case.data == name]
        for update in UPDATES:
            columns = {s: np.array([r[update, s] for r in of_data]) for s in SCALES}
            differences = (columns["running"] - columns[s] for s in ("raw", "z-score"))
            gains = (f"{d.mean():+.3f} ± {d.std(ddof=1) / repeats**0.5:.3f}" for d in differences)
            table.add_row(name, update, *(cell(columns[s]) for s in SCALES), *gains)
    Console(width=110).print(table)
    for update in UPDATES:
        means = (
            f"{scale} {np.mean([result[update, scale] for result in results]):.3f}"
            for scale in SCALES
        )
        print(f"mean over all data, {update}: {', '.join(means)}")


if __name__ == "__main__":
    main()
