"""Honest intervals at low rates: how often they cover the truth, and how wide they are.

A made stream is predicted by a learner that asks by Spring's rule (`Quantile`), by `Budget`, or at
random, at label rates .05, .01, .001 and .0001, with a reserve (as `headwater.live` has it with an
allowance) or without. Every event's truth is known here, so the error rate over all events is known
too. `python studies/honest_windows.py` prints a table: the share of runs whose interval of 95 %
contains that rate, its mean width, and the width beside that of random asking at equal labels. The
last column is coverage in windows of a tenth of the stream, as of a day.
"""

import argparse
import random
from typing import NamedTuple

import numpy as np

import headwater as hw
from headwater.evaluation.error_estimate import FLOOR, ErrorEstimate
from headwater.live.reported import SHARE

RULES = {"Spring": hw.query.Quantile, "Budget": hw.query.Budget, "random": hw.query.Random}
RATES = (0.05, 0.01, 0.001, 0.0001)
PARTS = 10


class Seen(NamedTuple):
    """What one run knows of its events."""

    p: np.ndarray
    asked: np.ndarray
    wrong: np.ndarray


def run(rule: str, rate: float, reserve: float, events: int, seed: int) -> Seen:
    """A stream of which a tenth is hard, decided on with the reserve's coin, answered at once."""
    numbers, coin = np.random.default_rng(seed), random.Random(seed).random
    X = numbers.normal(size=(events, 4))
    flips = numbers.random(events) < 0.05
    y = (X @ np.array([1.0, 0.6, 0.3, 0.0]) > 0) ^ flips
    learner = hw.Linear(query=RULES[rule](rate), seed=seed)
    for x, label in zip(X[:200].tolist(), y[:200].tolist(), strict=True):  # it is trained before
        learner.learn_one(dict(zip("abcd", x, strict=True)), label)
    a = reserve * rate
    p, asked, wrong = np.empty(events), np.empty(events, bool), np.empty(events, bool)
    for at, (x, label) in enumerate(zip(X.tolist(), y.tolist(), strict=True)):
        told = {"reserve": (coin() < a, a)} if a else {}
        decision = learner.decide_one(dict(zip("abcd", x, strict=True)), rate=rate, **told)
        p[at], asked[at] = decision.query_probability, decision.asked
        wrong[at] = decision.prediction != label
        if decision.asked:
            learner.answer(decision, label)
    return Seen(p, asked, wrong)


def estimate(seen: Seen, part: slice, rate: float) -> ErrorEstimate:
    """The estimate of some events, with a floor relative to the rate."""
    found = ErrorEstimate(floor=min(FLOOR, SHARE * rate))
    asked = seen.asked[part]
    found.update_many(seen.p[part], asked, np.where(asked, seen.wrong[part], False))
    return found


def main(runs: int, labels: int, most: int, reserves: list[float], rates: list[float]) -> None:
    """Print the table."""
    print("rule    rate    reserve  labels  coverage  width   / random  coverage of a tenth")
    for rate in rates:
        events = min(most, int(labels / rate))
        random_width = None
        for rule, reserve in [
            ("random", 0.0),
            *((r, s) for r in ("Spring", "Budget") for s in reserves),
        ]:
            covered, parts, widths, known = 0, [], [], []
            for seed in range(runs):
                seen = run(rule, rate, reserve, events, seed)
                whole = estimate(seen, slice(None), rate)
                low, high = whole.interval
                covered += low <= seen.wrong.mean() <= high
                widths.append(high - low)
                known.append(whole.answers)
                for at in range(PARTS):
                    part = slice(at * events // PARTS, (at + 1) * events // PARTS)
                    low, high = estimate(seen, part, rate).interval
                    parts.append(low <= seen.wrong[part].mean() <= high)
            width = float(np.mean(widths))
            random_width = random_width or width
            equal = width / random_width * (np.mean(known) / (events * rate)) ** 0.5
            print(
                f"{rule:7} {rate:<7} {reserve:<7}  {np.mean(known):6.0f}  {covered / runs:8.2f}"
                f"  {width:.3f}  {equal:8.2f}  {np.mean(parts):8.3f}",
                flush=True,
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--labels", type=int, default=300, help="Labels asked for in a run.")
    parser.add_argument("--most", type=int, default=1_000_000, help="Events of a run at most.")
    parser.add_argument("--reserves", type=float, nargs="+", default=[0.0, 0.1, 0.3])
    parser.add_argument("--rates", type=float, nargs="+", default=RATES)
    given = parser.parse_args()
    main(given.runs, given.labels, given.most, given.reserves, given.rates)
