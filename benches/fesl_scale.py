"""FESL at width: 50,000 sparse columns replaced by 50,000 others, an overlap of 50.

    python benches/fesl_scale.py

A hidden linear rule over `TOPICS` topics gives the labels. An event carries 100 names of the old
space, later 100 of the new one, in the overlap both; every topic has names of its own in both. The
learner finds the replacement itself. Timed are `decide_one` and `answer` for each event, given as a
dict; making the events is not. Memory is what the process has grown by since before the learner was
made; beside it stands its peak, which holds Python, NumPy and the events too.
"""

import gc
import statistics
import time

import click
import numpy as np
from machine import draw, machine, open_console, peak, pin, resident, versions

import headwater as hw
from headwater.types import Name

TOPICS = 200
FEATURES = 100  # of an event, in each space it shows


class World:
    """Events of two spaces, and their labels."""

    def __init__(self, columns: int, seed: int = 0) -> None:
        self._generator = np.random.default_rng(seed)
        self._rule = self._generator.standard_normal(TOPICS)
        self._columns = columns

    def event(self, *spaces: str) -> tuple[dict[Name, float], bool]:
        """An event that shows these spaces."""
        topics = self._generator.integers(0, TOPICS, size=5)
        event: dict[Name, float] = {}
        for space in spaces:
            of = self._generator.choice(topics, size=FEATURES)
            columns = of + TOPICS * self._generator.integers(0, self._columns // TOPICS, FEATURES)
            event |= {f"{space}{column}": 0.1 for column in columns.tolist()}
        return event, bool(self._rule[topics].sum() > 0)


def follow(
    model: hw.Learner, world: World, spaces: tuple[str, ...], events: int
) -> tuple[list[float], list[float], float]:
    """Microseconds of each decision and of each answer, and the accuracy."""
    decided, answered, right = [], [], 0
    for _ in range(events):
        event, label = world.event(*spaces)
        start = time.perf_counter()
        decision = model.decide_one(event)
        middle = time.perf_counter()
        model.answer(decision, label)
        end = time.perf_counter()
        decided.append((middle - start) * 1e6)
        answered.append((end - middle) * 1e6)
        right += decision.prediction == label
    return decided, answered, right / events


@click.command()
@click.option("--columns", default=50_000, show_default=True, help="Of each space.")
@click.option("--overlap", default=50, show_default=True)
@click.option("--events", default=20_000, show_default=True, help="In each phase.")
def main(columns: int, overlap: int, events: int) -> None:
    """Print the time and the memory of FESL at width."""
    pin()
    console = open_console()
    console.print(f"{machine()}; {versions('numpy')}")
    world = World(columns)
    gc.collect()
    before = resident()
    model = hw.FESL(overlap=overlap, step=0.5)
    rows: list[tuple[str, ...]] = []
    phases = (
        ("old space", ("old",), events),
        ("both", ("old", "new"), overlap),
        ("the switch", ("new",), 1),
        ("new space", ("new",), events),
    )
    for name, spaces, count in phases:
        decided, answered, accuracy = follow(model, world, spaces, count)
        both = [a + b for a, b in zip(decided, answered, strict=True)]
        rows.append(
            (
                name,
                f"{count:,}",
                f"{statistics.median(decided):.0f}",
                f"{statistics.median(answered):.0f}",
                f"{statistics.median(both):.0f}",
                f"{statistics.fmean(both):.0f}",
                f"{accuracy:.3f}",
                f"{len(model.features()):,}",
            )
        )
    head = ("phase", "events", "decide", "answer", "both", "mean", "accuracy", "names known")
    draw(console, "FESL-c, microseconds per event (medians, and the mean of both)", head, rows)
    gc.collect()
    console.print(
        f"Memory of the learner: {resident() - before:.0f} MB;"
        f" peak of the process: {peak():.0f} MB."
    )
    console.print(model.explain_one({}).reason)


if __name__ == "__main__":
    main()
