"""What durability costs: a live stream beside a floor that stores the events and learns nothing.

    python benches/durability.py [--events 20000] [--facts 200000] [--features 1000000]

Floor and loop take turns in one run, on new SQLite files in the same folder, with the same rows,
commits and group commit; the floor's journal encodes an event and stores it. Events have 20
features. Then: bytes per event, seconds to recover and to rebuild a million facts, memory over the
events, and the longest that an event waits while a snapshot of a large learner is made.
"""

import asyncio
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from machine import resident

import headwater as hw
from headwater.live.journal import Journal
from headwater.live.replay import Kind
from headwater.live.results import Receipt

CLIENTS = 64
BATCH = 100


def event(numbers: random.Random) -> dict[str, float]:
    return {f"sensor-{n:03d}": numbers.gauss(0, 1) for n in range(20)}


def store_only(journal: Journal, x: Any, id: Any, *ignored: Any) -> Receipt:
    """The floor: an event and its key become rows, and nothing is decided."""
    body, digest = journal.names.encode(x)
    number = journal.note(Kind.EVENT, None, key=f'"{id}"', asked=False, digest=digest)
    journal._bodies.append((journal.stream, number, body))
    return Receipt(number, id, None, 0.0, 0.0, False, False)


def open_loop(path: str, floor: bool, learner: hw.Learner | None = None) -> hw.live.Loop:
    loop = hw.live.open(path, learner=learner or hw.Spring(label_rate=0.02))
    if floor:
        journal = loop._journal
        journal.receive = lambda *args: store_only(journal, *args)  # type: ignore[method-assign]
    return loop


async def single(loop: hw.live.Loop, events: list[Any]) -> None:
    """Clients that each send one event and wait for the reply."""
    waiting = iter(enumerate(events))

    async def client() -> None:
        for number, x in waiting:
            await loop.receive_async(x, id=f"e{number}")

    await asyncio.gather(*(client() for _ in range(CLIENTS)))


async def batches(loop: hw.live.Loop, events: list[Any]) -> None:
    """One client that sends a hundred events and waits."""
    for start in range(0, len(events), BATCH):
        ids = [f"e{number}" for number in range(start, start + BATCH)]
        await loop.receive_many_async(events[start : start + BATCH], ids=ids)


def rate(work: Callable[..., Any], events: list[Any], floor: bool) -> float:
    with tempfile.TemporaryDirectory() as folder:
        loop = open_loop(f"{folder}/plant.db", floor)
        began = time.perf_counter()
        asyncio.run(work(loop, events))
        taken = time.perf_counter() - began
        loop.close()
    return len(events) / taken


def throughput(events: list[Any], rounds: int) -> None:
    for name, work in (("single events, 64 clients", single), ("batches of 100", batches)):
        pairs = [(rate(work, events, True), rate(work, events, False)) for _ in range(rounds)]
        floor, ours = (statistics.median(column) for column in zip(*pairs, strict=True))
        share = statistics.median(one / other for other, one in pairs)
        print(f"{name}: floor {floor:,.0f}/s, loop {ours:,.0f}/s, share of the floor {share:.2f}")


def long_run(count: int) -> None:
    """Bytes, memory and seconds over many facts."""
    numbers = random.Random(2)
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/plant.db"
        with open_loop(path, False) as loop:
            grown = []
            for start in range(0, count, 1_000):
                page = [event(numbers) for _ in range(1_000)]
                done = loop.receive_many(page, ids=range(start, start + 1_000))
                for x, receipt in zip(page, done, strict=True):
                    if isinstance(receipt, Receipt) and receipt.question is not None:
                        loop.answer(receipt.question, x["sensor-000"] > 0)
                if start % max(1_000, count // 10) == 0:
                    grown.append(resident())
            facts, answered = loop.status().facts, loop.status().questions.get("applied", 0)
        size = os.path.getsize(path)
        print(f"{facts:,} facts, {answered:,} labels: {size / count:.0f} bytes per event on disk")
        print("memory (MB) along the way:", *(f"{mb:.0f}" for mb in grown))
        began = time.perf_counter()
        hw.live.open(path).close()
        print(f"opening with a snapshot: {time.perf_counter() - began:.2f} s")
        for file in Path(f"{path}.snapshots").iterdir():
            file.unlink()
        began = time.perf_counter()
        with hw.live.open(path) as loop:
            taken = time.perf_counter() - began
            print(f"recovery by replay alone: {taken / facts * 1e6:.1f} s per million facts")
            began = time.perf_counter()
            loop.change_learner(hw.Spring(label_rate=0.03))
            loop.wait()
            taken = time.perf_counter() - began
            print(f"rebuild with another learner: {taken / facts * 1e6:.1f} s per million facts")


def longest_stop(features: int) -> None:
    """How long single events wait while a snapshot of a large learner is made."""
    learner = hw.Linear()
    for start in range(0, features, 100):
        learner.learn_one({f"name-{n}": 1.0 for n in range(start, start + 100)}, start % 200 == 0)
    with (
        tempfile.TemporaryDirectory() as folder,
        open_loop(f"{folder}/p.db", False, learner) as loop,
    ):
        numbers = random.Random(3)

        def waits(seconds: float, until: Callable[[], bool]) -> list[float]:
            found, end = [], time.perf_counter() + seconds
            while time.perf_counter() < end and not until():
                x = {f"name-{numbers.randrange(features)}": 1.0 for _ in range(20)}
                began = time.perf_counter()
                loop.receive(x)
                found.append(time.perf_counter() - began)
            return found

        before = waits(3.0, lambda: False)
        began = time.perf_counter()
        loop._do(lambda connection: loop._live.maker.begin())
        during = waits(120.0, lambda: not loop._live.maker.is_at_work)
        taken = time.perf_counter() - began
        size = loop.status().snapshots[0][1]
        print(f"{features:,} features: a snapshot of {size / 2**20:.0f} MB in {taken:.1f} s")
        for name, found in (("meanwhile", during), ("before", before)):
            longest = max(found) * 1e3
            print(f"longest wait of an event {name}: {longest:.0f} ms, 99 %: {_high(found):.1f} ms")


def _high(waits: list[float]) -> float:
    return sorted(waits)[int(0.99 * (len(waits) - 1))] * 1e3


@click.command()
@click.option("--events", default=20_000, show_default=True, help="Events of each measurement.")
@click.option("--rounds", default=5, show_default=True, help="How often floor and loop take turns.")
@click.option("--facts", default=200_000, show_default=True, help="Events of the long run.")
@click.option("--features", default=1_000_000, show_default=True, help="Of the large learner.")
def main(events: int, rounds: int, facts: int, features: int) -> None:
    """What durability costs."""
    numbers = random.Random(1)
    throughput([event(numbers) for _ in range(events)], rounds)
    long_run(facts)
    longest_stop(features)


if __name__ == "__main__":
    main()
