"""What `max_features` costs and saves where names never end.

    python benches/endless.py

First ten million distinct names: an event carries five sensors, which say everything about its
label, and a hundred names that nobody has met and nobody will meet again. `Linear()` learns every
event, one dict at a time, each row in a process of its own. Memory is what the process has grown by
since before the learner was made, while no event is alive; accuracy is that of the second half of
the stream, each event predicted before it is learned.

Then words by Zipf's law, 75 per event, of 47,236 in all; the label is a noisy linear rule of all of
them. In the second stream every word is in use for a while only and then replaced by one that
nobody has met. PA-I on the values as they are, and `Linear()` with its scaler, learn every event.
"""

import gc
import json
import subprocess
import sys
import time
from typing import Any, NamedTuple

import click
import numpy as np
from machine import machine, resident, versions
from numpy.typing import NDArray

import headwater as hw

POLICIES = ("refuse", "oldest", "smallest")
SENSORS, NAMES_AN_EVENT, BOUND = 5, 100, 100_000
WORDS, WORDS_AN_EVENT = 47_236, 75
BOUNDS = (20_000, 5_000, 1_000)
LIVES = 4  # words that one place in the Zipf list sees in the second stream


class Csr(NamedTuple):
    """Rows of a sparse matrix whose columns are named by their numbers."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    data: NDArray[np.float64]


# Ten million names


def distinct(names: int, bound: dict[str, Any]) -> dict[str, Any]:
    """Feed one learner so many names; what came of it."""
    rng = np.random.default_rng(0)
    rule = rng.normal(size=SENSORS)
    events = names // NAMES_AN_EVENT
    gc.collect()
    before = resident()
    model = hw.Linear(query="all", **bound)
    right, memory, spent = 0, {}, 0.0
    for t in range(events):
        values = rng.normal(size=SENSORS)
        first = t * NAMES_AN_EVENT
        event = {f"sensor {i}": float(value) for i, value in enumerate(values)}
        event |= {f"visitor {first + i}": 1.0 for i in range(NAMES_AN_EVENT)}
        label = bool(values @ rule > 0)
        start = time.process_time()
        decision = model.decide_one(event)
        model.answer(decision, label)
        spent += time.process_time() - start
        right += t >= events // 2 and decision.prediction == label
        if t + 1 in (events // 10, events):
            del event, decision
            gc.collect()
            memory[(t + 1) * NAMES_AN_EVENT] = resident() - before
    return {
        "memory": list(memory.values()),
        "known": events * NAMES_AN_EVENT + SENSORS - model.evicted - model.refused,
        "file": len(model.to_bytes()) / 1e6,
        "accuracy": right / (events - events // 2),
        "micros": spent / events * 1e6,
    }


def distinct_table(names: int) -> None:
    """A row a learner, each measured in a fresh process."""
    click.echo(
        f"| `max_features` | `when_full` | names known | MB after {names // 10:,} names "
        f"| MB after {names:,} | MB of its file | µs per event | accuracy |"
    )
    click.echo("|---:|:---|---:|---:|---:|---:|---:|---:|")
    rows: list[dict[str, Any]] = [{}]
    rows += [{"max_features": BOUND, "when_full": policy} for policy in POLICIES]
    for bound in rows:
        command = [sys.executable, __file__, "--names", str(names), "--row", json.dumps(bound)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        told = json.loads(done.stdout)
        early, late = told["memory"]
        most = f"{bound['max_features']:,}" if bound else "none"
        click.echo(
            f"| {most} | {bound.get('when_full', '')} | {told['known']:,} | {early:,.0f} "
            f"| {late:,.0f} | {told['file']:,.1f} | {told['micros']:,.0f} "
            f"| {100 * told['accuracy']:.1f} % |"
        )


# Words


def words(events: int, lives: int, seed: int = 0) -> tuple[Csr, NDArray[np.bool_]]:
    """Events of words and their labels; each place in the Zipf list sees `lives` words."""
    rng = np.random.default_rng(seed)
    cumulated = np.cumsum(1.0 / np.arange(1, WORDS + 1))
    cumulated /= cumulated[-1]
    rule = rng.normal(size=WORDS * (lives + 1))
    turns = rng.random(WORDS)  # where in its life the first word of a place is met
    indices, values, labels = [], [], []
    for t in range(events):
        drawn = np.unique(np.searchsorted(cumulated, rng.random(WORDS_AN_EVENT)))
        if lives > 1:
            drawn = drawn + WORDS * np.floor(turns[drawn] + lives * t / events).astype(np.int64)
        size = rng.exponential(size=len(drawn))
        size /= np.linalg.norm(size)
        indices.append(drawn.astype(np.int32))
        values.append(size)
        labels.append(rule[drawn] @ size + 0.3 * rng.normal() > 0)
    indptr = np.cumsum([0, *map(len, indices)])
    return Csr(indptr, np.concatenate(indices), np.concatenate(values)), np.array(labels)


def accuracy(model: hw.Learner, rows: Csr, labels: NDArray[np.bool_]) -> float:
    """That of the second half of the stream."""
    half = len(labels) // 2
    trace = model.simulate(rows, labels.tolist())
    return float(np.mean(trace.prediction[half:] == labels[half:]))


def learners(**bound: Any) -> list[hw.Learner]:
    """PA-I on the values as they are, and the one that we recommend."""
    plain = hw.Linear(update="pa1", query="all", scale=None, intercept=False, **bound)
    return [plain, hw.Linear(query="all", **bound)]


def words_table(events: int) -> None:
    """A row a bound and policy."""
    streams = [words(events, lives) for lives in (1, LIVES)]
    click.echo(
        "| `max_features` | `when_full` | PA-I, same words | PA-I, words change "
        "| `Linear()`, same words | `Linear()`, words change |"
    )
    click.echo("|---:|:---|---:|---:|---:|---:|")
    rows: list[dict[str, Any]] = [{}]
    rows += [{"max_features": most, "when_full": p} for most in BOUNDS for p in POLICIES]
    for bound in rows:
        scores = []
        for which in (0, 1):
            for rows_of_words, labels in streams:
                scores.append(accuracy(learners(**bound)[which], rows_of_words, labels))
        most = f"{bound['max_features']:,}" if bound else "none"
        cells = " | ".join(f"{100 * score:.1f} %" for score in scores)
        click.echo(f"| {most} | {bound.get('when_full', '')} | {cells} |")


@click.command(help=__doc__.partition("\n\n")[0])
@click.option("--names", default=10_000_000, show_default=True, help="Distinct names.")
@click.option("--events", default=100_000, show_default=True, help="Events of words.")
@click.option("--row", help="One learner of the first table, as JSON; for a process of its own.")
def main(names: int, events: int, row: str | None) -> None:
    """Print both tables."""
    if row is not None:
        click.echo(json.dumps(distinct(names, json.loads(row))))
        return
    click.echo(f"{machine()}; {', '.join(' '.join(pair) for pair in versions('numpy').items())}\n")
    distinct_table(names)
    click.echo("")
    words_table(events)


if __name__ == "__main__":
    main()
