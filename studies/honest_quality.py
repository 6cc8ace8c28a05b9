"""Does the honest interval hold the true error rate? By rule, label rate and data set.

    python studies/honest_quality.py --data FOLDER

A repeat permutes the rows (or makes another sensor network); its seed, 0, 1, ..., is that of the
stream and of the learner's coins. The learner is `Linear` with a query rule whose width, where it
has one, was searched on another order of the rows. Truth is the share of errors over the whole
stream; the estimate sees those alone that were asked about. Covered is the share of repeats whose
95 % interval holds the truth; beside it stands that of the usual interval, value ± 1.96 standard
errors. Width is the interval's mean length, bias the mean of value − truth.

Without a folder of data sets it runs on the sensor network alone.
"""

import math
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from numpy.typing import NDArray
from protocol import check_data, check_reader, file_of, in_order, load, study

import headwater as hw
from headwater.evaluation import audited, estimate_error, width_for_rate
from headwater.evaluation.metrics import mistakes

NETWORK = "network"
SETS = f"{NETWORK},spambase,splice,svmguide3"
RATES = (0.02, 0.05, 0.1, 0.2)
AUDITS = (0.0, 0.005, 0.01, 0.02)
NETWORK_EVENTS = 2_000
PILOT = 1_000_000  # the seed of the order on which widths are searched
AUDIT = 2_000_000  # the first seed of the audits, so that they do not follow the order of the rows


class Case(NamedTuple):
    """One stream."""

    folder: Path | None
    data: str
    seed: int


class Result(NamedTuple):
    """What one estimate came to."""

    covered: bool
    usual_covered: bool
    width: float
    error: float
    lowest: float


BY_RATE: dict[str, Callable[[float], hw.query.Query]] = {
    "random": hw.query.Random,
    "budget": hw.query.Budget,
}
BY_WIDTH: dict[str, Callable[[float], hw.query.Query]] = {
    "margin": hw.query.Margin,
    "decaying": hw.query.Decaying,
}
RULES = (*BY_RATE, *BY_WIDTH)


def stream(case: Case) -> tuple[Any, NDArray[Any]]:
    """The events and labels of a case."""
    if case.folder is None or case.data == NETWORK:
        return hw.streams.SensorNetwork(NETWORK_EVENTS, seed=case.seed).batch()
    data = load(file_of(case.folder, case.data))
    order = np.random.default_rng(case.seed).permutation(len(data.labels))
    return data.values[order], data.labels[order] > 0


@lru_cache(maxsize=64)
def rule(pilot: Case, name: str, rate: float) -> hw.query.Query:
    """The rule that asks for about this share of the labels."""
    if name in BY_RATE:
        return BY_RATE[name](rate)
    X, y = stream(pilot)
    make = BY_WIDTH[name]
    return make(width_for_rate(lambda width: hw.Linear(query=make(width)), X, y, rate))


def usual(trace: hw.Trace, wrong: NDArray[np.bool_]) -> tuple[float, float]:
    """The interval that the sample's own variance gives, as most would write it down."""
    w, e, p = 1 / trace.query_probability[trace.asked], wrong[trace.asked], trace.query_probability
    value = (w * e).sum() / w.sum()
    spread = ((1 - p[trace.asked]) * (w * (e - value)) ** 2).sum()
    half = 1.96 * math.sqrt(spread) / w.sum()
    return value - half, value + half


def run_case(case: Case) -> dict[tuple[str, float, float], Result]:
    """By rule, label rate and audit rate."""
    X, y = stream(case)
    results = {}
    for name in RULES:
        for rate in RATES:
            query = rule(case._replace(seed=PILOT), name, rate)
            trace = hw.Linear(query=query, seed=case.seed).simulate(X, y)
            wrong = mistakes(trace.margin, y)
            truth = float(wrong.mean())
            for audit in AUDITS:
                seen = audited(trace, audit, seed=AUDIT + case.seed)
                estimate = estimate_error(seen, wrong)
                low, high = estimate.interval
                usual_low, usual_high = usual(seen, wrong)
                results[name, rate, audit] = Result(
                    low <= truth <= high,
                    usual_low <= truth <= usual_high,
                    high - low,
                    estimate.value - truth,
                    estimate.lowest_probability,
                )
    return results


def line(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


def report(names: list[str], outcomes: dict[str, list[dict[Any, Result]]]) -> list[str]:
    """Two tables in Markdown."""
    head: tuple[str, ...]
    head = ("rule", "label rate", "data", "covered, %", "usual, %", "width", "bias", "lowest p")
    lines = [line(head), line(("---", "---:", "---", *["---:"] * 5))]
    for name in RULES:
        for rate in RATES:
            for data in names:
                of_cell = [result[name, rate, 0.0] for result in outcomes[data]]
                lines.append(line((name, f"{100 * rate:g} %", data, *cell(of_cell))))
    head = ("rule", "label rate", *(f"audit {100 * audit:g} %" for audit in AUDITS))
    lines += ["", line(head), line(("---", "---:", *["---:"] * len(AUDITS)))]
    for name in RULES:
        for rate in RATES:
            columns = []
            for audit in AUDITS:
                by_data = [[r[name, rate, audit] for r in outcomes[data]] for data in names]
                covered = [100 * np.mean([r.covered for r in cell]) for cell in by_data]
                width = np.mean([r.width for cell in by_data for r in cell])
                columns.append(f"{min(covered):.1f}–{max(covered):.1f}; {width:.3f}")
            lines.append(line((name, f"{100 * rate:g} %", *columns)))
    return lines


def cell(results: list[Result]) -> tuple[str, ...]:
    covered, usual_covered, width, error, lowest = (
        float(np.mean(column)) for column in zip(*results, strict=True)
    )
    shares = (f"{100 * covered:.1f}", f"{100 * usual_covered:.1f}")
    return (*shares, f"{width:.3f}", f"{error:+.4f}", f"{lowest:.4f}")


@study(repeats=200)
@click.option(
    "--sets", default=SETS, show_default=True, help="Data sets; without a folder the network alone."
)
def main(data: Path | None, repeats: int, jobs: int, sets: str) -> None:
    """Measure how often the honest interval holds the true error rate."""
    names = [NETWORK]
    if data is not None:
        names = sets.split(",")
        data = check_data(data, (name for name in names if name != NETWORK))
        check_reader()
    cases = [Case(data, name, seed) for name in names for seed in range(repeats)]
    results = list(in_order(run_case, cases, jobs))
    outcomes = {
        name: [r for case, r in zip(cases, results, strict=True) if case.data == name]
        for name in names
    }
    print("\n".join(report(names, outcomes)))


if __name__ == "__main__":
    main()
