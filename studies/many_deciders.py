"""Many deciders and one learner, beside one learner that decides and learns alone.

    python studies/many_deciders.py --data FOLDER
    python studies/many_deciders.py --data FOLDER --sizes
    python studies/many_deciders.py --throughput

Spring asks for 5 % of the labels. Events come in the random order of a seed, at most 20,000. The
owner decides on the first 1,000 alone and gets its answers at once. From then on k replicas decide
in turn; after every 1,000 or 5,000 events the owner absorbs them, gets the answers to all their
questions, in the order of the events, and refreshes them. Balanced accuracy of the predictions made
after the first 1,000 events: of one learner whose answers come at once, and by how much that of the
replicas differs from it on the same order of events, with the standard deviation over seeds. k = 1
shows what late answers alone change. Where a data set ends before the first refresh, its replicas
predict with the model of the first 1,000 events to the end.

With --sizes: how long a refresh is, as the whole and as a delta: one learner decides on half of the
events, and then on as many more as lie between two refreshes. Sensors that are always there stand
beside the data sets.

With --throughput: events per second of deciders in processes of their own, which report to their
owner, get their questions answered and are refreshed every 5,000 events, beside one learner; and
how much processor time decider and owner take, which depends less on what else the machine does.
"""

import multiprocessing
from collections.abc import Sequence
from functools import lru_cache
from multiprocessing.connection import Connection, wait
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, NamedTuple

import click
import numpy as np
from protocol import check_data, check_reader, file_of, in_order, study
from rich import box
from rich.console import Console
from rich.table import Table

import headwater as hw
from headwater.evaluation.metrics import balanced_accuracy

DATA = ("spambase", "magic04", "a8a", "w8a", "imdb")
REPLICAS = (1, 4, 16)
REFRESHES = (1_000, 5_000)
MOST = 20_000
ALONE = 1_000
LABEL_RATE = 0.05
LABEL_RATES = (0.05, 0.01)
"""Of the deciders whose speed is measured."""

SENSORS = 25
CHUNK = 5_000


class Case(NamedTuple):
    """One data set in one order of its rows."""

    folder: Path
    data: str
    seed: int


class Labelled(NamedTuple):
    """Events and their labels."""

    events: list[dict[Any, float]]
    labels: list[bool]


@lru_cache(maxsize=1)
def table(path: Path) -> Any:
    """A data set as it lies in its file."""
    from sklearn.datasets import load_svmlight_file  # type: ignore[import-untyped, unused-ignore]

    return load_svmlight_file(str(path), zero_based=False)


def stream(case: Case) -> Labelled:
    """Rows of a data set in random order; what is not stored is absent."""
    X, y = table(file_of(case.folder, case.data))
    order = np.random.default_rng(case.seed).permutation(len(y))[:MOST]
    events = []
    for row in order:
        place = slice(X.indptr[row], X.indptr[row + 1])
        events.append(dict(zip(X.indices[place].tolist(), X.data[place].tolist(), strict=True)))
    return Labelled(events, (y[order] > 0).tolist())


def alone(model: hw.Learner, rows: Labelled, start: int, end: int) -> list[float]:
    """The margins of these events; answers come at once."""
    margins = []
    for event, label in zip(rows.events[start:end], rows.labels[start:end], strict=True):
        decision = model.decide_one(event)
        margins.append(decision.margin)
        if decision.asked:
            model.answer(decision, label)
    return margins


def replicated(owner: hw.Learner, rows: Labelled, k: int, refresh: int) -> list[float]:
    """The margins of all events but the first, decided by k replicas in turn."""
    deciders = [owner.replica(seed=owner.seed + 1 + i) for i in range(k)]
    margins = []
    for start in range(ALONE, len(rows.events), refresh):
        asked = []
        for i in range(start, min(start + refresh, len(rows.events))):
            decision = deciders[i % k].decide_one(rows.events[i])
            margins.append(decision.margin)
            if decision.asked:
                asked.append((decision, rows.labels[i]))
        owner.absorb(deciders)
        for decision, label in asked:
            owner.answer(decision, label)
        for decider in deciders:
            decider.refresh(owner)
    return margins


def run_case(case: Case) -> dict[tuple[int, int], tuple[float, float]]:
    """Balanced accuracy and share of labels by (replicas, refresh); (0, 0) is one learner."""
    rows = stream(case)
    truth = np.array(rows.labels[ALONE:])
    begun = hw.Spring(label_rate=LABEL_RATE, seed=1_000 * case.seed)
    alone(begun, rows, 0, ALONE)
    scores = {}
    for k, refresh in ((0, 0), *((k, refresh) for refresh in REFRESHES for k in REPLICAS)):
        model = hw.from_bytes(begun.to_bytes())
        if k == 0:
            margins = alone(model, rows, ALONE, len(rows.events))
        else:
            margins = replicated(model, rows, k, refresh)
        share = model.asked / model.seen
        scores[k, refresh] = (balanced_accuracy(np.array(margins), truth), share)
    return scores


def show(folder: Path, names: tuple[str, ...], repeats: int, jobs: int) -> None:
    cases = [Case(folder, name, seed) for name in names for seed in range(repeats)]
    results = list(in_order(run_case, cases, jobs))
    ways = [(k, refresh) for refresh in REFRESHES for k in REPLICAS]
    heads = [f"k = {k}, every {refresh:,}" for k, refresh in ways]
    shown = Table("data", "events", "one learner", *heads, box=box.MARKDOWN)
    labels = Table("share of labels", "", "one learner", *heads, box=box.MARKDOWN)
    for i, name in enumerate(names):
        own = results[i * repeats : (i + 1) * repeats]
        one = np.array([scores[0, 0][0] for scores in own])
        cells = []
        for way in ways:
            off = np.array([scores[way][0] for scores in own]) - one
            cells.append(f"{off.mean():+.3f} ({off.std(ddof=1):.3f})")
        events = len(stream(cases[i * repeats]).events)
        single = f"{one.mean():.3f} ({one.std(ddof=1):.3f})"
        shown.add_row(name, f"{events:,}", single, *cells)
        shares = [np.mean([scores[way][1] for scores in own]) for way in ((0, 0), *ways)]
        labels.add_row(name, "", *(f"{share:.3f}" for share in shares))
    console = Console(width=200)
    console.print(shown)
    console.print(labels)


def sensors(count: int, seed: int) -> Labelled:
    """Events of sensors that are always there."""
    values = np.random.default_rng(seed).normal(size=(count, SENSORS))
    names = [f"sensor {i}" for i in range(SENSORS)]
    events = [dict(zip(names, row, strict=True)) for row in values.tolist()]
    return Labelled(events, (values[:, 0] + values[:, 1] > 0).tolist())


def show_sizes(folder: Path, names: Sequence[str]) -> None:
    """Bytes of a refresh."""
    heads = [f"delta after {refresh:,}" for refresh in REFRESHES]
    shown = Table("data", "events before", "features", "whole", *heads, box=box.MARKDOWN)
    for name in ("sensors", *names):
        rows = sensors(MOST, 0) if name == "sensors" else stream(Case(folder, name, 0))
        half = len(rows.events) // 2
        owner = hw.Spring(label_rate=LABEL_RATE)
        alone(owner, rows, 0, half)
        before, deltas = owner.to_bytes(), []
        for refresh in REFRESHES:
            alone(owner, rows, owner.seen, half + refresh)
            delta = len(owner.delta(before))
            left = "" if owner.seen == half + refresh else " (fewer events)"
            deltas.append(f"{delta:,} ({delta / len(owner.to_bytes()):.0%}){left}")
        features = {name for event in rows.events[:half] for name in event}
        shown.add_row(name, f"{half:,}", f"{len(features):,}", f"{len(before):,}", *deltas)
    Console(width=160).print(shown)


def decide(pipe: Connection, seed: int, chunks: int) -> None:
    """A decider in a process of its own."""
    rows = sensors(CHUNK, seed)
    replica = hw.from_bytes(pipe.recv()).replica(seed=seed)
    pipe.send("ready")
    pipe.recv()
    start = process_time()
    for _ in range(chunks):
        asked = []
        for event, label in zip(rows.events, rows.labels, strict=True):
            decision = replica.decide_one(event)
            if decision.asked:
                asked.append((decision, label))
        pipe.send((replica.report(), asked))
        replica.refresh(pipe.recv())
    pipe.send(process_time() - start)
    pipe.close()


class Speed(NamedTuple):
    """Events per second; microseconds of the processor per event, of deciders and of the owner."""

    rate: float
    decider: float
    owner: float


def throughput(processes: int, chunks: int, label_rate: float) -> Speed:
    """So many deciders and their owner."""
    owner = hw.Spring(label_rate=label_rate)
    alone(owner, sensors(ALONE, 0), 0, ALONE)
    fresh = multiprocessing.get_context("spawn")
    pipes, workers = [], []
    for i in range(processes):
        here, there = fresh.Pipe()
        worker = fresh.Process(target=decide, args=(there, i + 1, chunks))
        worker.start()
        there.close()
        here.send(owner.to_bytes())
        pipes.append(here)
        workers.append(worker)
    for pipe in pipes:
        pipe.recv()
    start, owned = perf_counter(), process_time()
    for pipe in pipes:
        pipe.send("go")
    left = {pipe: chunks for pipe in pipes}
    while left:
        ready = wait(list(left))
        for pipe in [pipe for pipe in left if pipe in ready]:
            report, asked = pipe.recv()
            owner.absorb([report])
            for decision, label in asked:
                owner.answer(decision, label)
            pipe.send(owner.to_bytes())
            left[pipe] -= 1
            if left[pipe] == 0:
                del left[pipe]
    seconds, owned = perf_counter() - start, process_time() - owned
    decided = sum(pipe.recv() for pipe in pipes)
    for worker in workers:
        worker.join()
    assert owner.seen == ALONE + processes * chunks * CHUNK
    events = processes * chunks * CHUNK
    return Speed(events / seconds, 1e6 * decided / events, 1e6 * owned / events)


def show_throughput(chunks: int) -> None:
    rows = sensors(CHUNK, 1)
    heads = ("events/s", "beside one learner", "µs per event: decider", "owner")
    shown = Table("labels", "deciders", *heads, box=box.MARKDOWN)
    for label_rate in LABEL_RATES:
        model = hw.Spring(label_rate=label_rate)
        alone(model, sensors(ALONE, 0), 0, ALONE)
        start, spent = perf_counter(), process_time()
        for _ in range(chunks):
            alone(model, rows, 0, CHUNK)
        single = chunks * CHUNK / (perf_counter() - start)
        spent = 1e6 * (process_time() - spent) / (chunks * CHUNK)
        labels = f"{label_rate:.0%}"
        shown.add_row(labels, "one learner, one process", f"{single:,.0f}", "1", f"{spent:.2f}", "")
        for processes in (1, 2):
            speed = throughput(processes, chunks, label_rate)
            cells = (f"{speed.rate:,.0f}", f"{speed.rate / single:.2f}")
            times = (f"{speed.decider:.2f}", f"{speed.owner:.2f}")
            shown.add_row(labels, f"{processes} in processes of their own", *cells, *times)
    Console(width=120).print(shown)


@click.option("--throughput", "speed", is_flag=True, help="Measure events per second instead.")
@click.option("--sizes", is_flag=True, help="Show how long a refresh is instead.")
@click.option("--chunks", type=click.IntRange(min=1), default=40, show_default=True)
@click.option("--only", multiple=True, type=click.Choice(DATA), help="Only this data set.")
@study(repeats=5)
def main(
    data: Path | None,
    repeats: int,
    jobs: int,
    speed: bool,
    sizes: bool,
    chunks: int,
    only: tuple[str, ...],
) -> None:
    """Compare replicas with one learner."""
    if speed:
        show_throughput(chunks)
        return
    check_reader()
    names = only or DATA
    folder = check_data(data, names)
    if sizes:
        show_sizes(folder, names)
    else:
        show(folder, names, repeats, jobs)


if __name__ == "__main__":
    main()
