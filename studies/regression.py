"""Regression with and without the running scaler, on streams whose units and rules change.

    python studies/regression.py

Ten sensors, 6,000 events, every tenth label. Printed: the mean absolute error over the second half
divided by that of always saying the mean of the labels, which is 1; the mean over the seeds.
"""

from collections.abc import Callable
from typing import NamedTuple

import click
import numpy as np
from numpy.typing import NDArray
from rich import box
from rich.console import Console
from rich.table import Table

import headwater as hw

EVENTS, SENSORS, RATE = 6_000, 10, 0.1
KINDS = {
    "z-scores": "values of one unit around 0",
    "half present": "the same, each value there with probability 0.5",
    "units": "every sensor has a unit and a zero of its own",
    "sudden": "and the rule is another one half-way",
    "gradual": "and the rule turns all the time",
    "other units": "and half of the sensors change their unit half-way",
    "offset": "and all labels are 50 higher",
}
LEARNERS: dict[str, Callable[[], hw.PARegressor]] = {
    "as it comes": lambda: hw.PARegressor(query=hw.query.Quota(RATE)),
    'update="pa2"': lambda: hw.PARegressor(update="pa2", query=hw.query.Quota(RATE)),
    "scale=None": lambda: hw.PARegressor(scale=None, query=hw.query.Quota(RATE)),
}


class Stream(NamedTuple):
    """Events and their numbers."""

    events: list[dict[str | int, float]]
    labels: NDArray[np.float64]


def stream(kind: str, seed: int) -> Stream:
    """A linear rule with noise; what `kind` names is special."""
    rng = np.random.default_rng(seed)
    X, half = rng.normal(size=(EVENTS, SENSORS)), EVENTS // 2
    a, b = rng.normal(size=(2, SENSORS))
    weights = np.tile(a, (EVENTS, 1))
    if kind == "sudden":
        weights[half:] = b
    elif kind == "gradual":
        angle = np.linspace(0, np.pi, EVENTS)[:, None]
        weights = np.cos(angle) * a + np.sin(angle) * b
    y = (X * weights).sum(axis=1) + 0.3 * rng.normal(size=EVENTS) + 50 * (kind == "offset")
    there = rng.random(X.shape) < (0.5 if kind == "half present" else 1.0)
    if kind not in ("z-scores", "half present"):
        X = (X + 3 * rng.normal(size=SENSORS)) * 10 ** rng.uniform(-3, 3, SENSORS)
    if kind == "other units":
        X[half:, : SENSORS // 2] = 1.8 * X[half:, : SENSORS // 2] + 32
    rows = zip(X, there, strict=True)
    return Stream([{f"s{j}": float(x[j]) for j in np.flatnonzero(t)} for x, t in rows], y)


def error(model: hw.PARegressor, one: Stream) -> float:
    """The error over the second half beside that of the mean."""
    said = np.zeros(len(one.labels))
    for t, (event, label) in enumerate(zip(one.events, one.labels, strict=True)):
        decision = model.decide_one(event)
        said[t] = decision.margin
        if decision.asked:
            model.answer(decision, float(label))
    y = one.labels[len(one.labels) // 2 :]
    return float(np.abs(said[-len(y) :] - y).mean() / np.abs(y - y.mean()).mean())


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--repeats", type=click.IntRange(min=1), default=5, show_default=True)
def main(repeats: int) -> None:
    """Print the errors of regression by stream and learner."""
    table = Table("stream", "", *LEARNERS, box=box.MARKDOWN)
    for kind, words in KINDS.items():
        streams = [stream(kind, seed) for seed in range(repeats)]
        errors = [np.mean([error(make(), one) for one in streams]) for make in LEARNERS.values()]
        table.add_row(kind, words, *(f"{x:.2f}" for x in errors))
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
