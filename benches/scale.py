"""Does an event cost more when more features are known? A million events, three million names.

    python benches/scale.py

Sparse FLLS-I (1 % of the weights kept) learns every event: 100 features with names of their own.
At each size new names are learned until so many are known; then events are measured whose names
are drawn evenly from all that are known, which is the worst case for the processor's caches.

Names enter by two doors. A dict is looked up name by name. A batch (`Rows`) brings the list of its
columns' names, each looked up once, and to read that list costs time and memory for every column;
so a batch lists the names of its own thousand events, not all that there are. How many that are for
each of its values is printed beside its cost: it grows with the number of names known.

Most of what more features cost is the wait for memory, so Python's own dict from name to weight is
measured too: what it takes to look up the names of an event and add up weight times value.

Making the events is not timed. Memory is what the process has grown by since before the learner
was made, measured while no events are alive; the generator's own arrays were there before.
"""

import gc
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import click
import numpy as np
from machine import draw, machine, open_console, peak, pin, resident, versions
from numpy.typing import NDArray

import headwater as hw
from headwater.types import Name

SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000)
FEATURES = 100  # of an event
BATCH = 1_000  # events handed over at a time
DICTS = 50  # made at a time: few, so that an event is still in the caches when its turn comes
DICT_SHARE = 0.1  # of the measured events, those that come as dicts


class World:
    """Events and their labels, which a hidden linear rule over all features gives."""

    def __init__(self, features: int, seed: int = 0) -> None:
        self._generator = np.random.default_rng(seed)
        self._rule = self._generator.standard_normal(features, dtype=np.float32)

    def new(self, first: int, events: int) -> tuple[hw.Rows, NDArray[np.bool_]]:
        """Events of features that nobody has met: `first`, `first` + 1, ..."""
        return self._labelled(first + np.arange(events * FEATURES).reshape(events, FEATURES))

    def known(self, features: int, events: int) -> tuple[hw.Rows, NDArray[np.bool_]]:
        """Events whose features are drawn from the first `features`, one from each hundredth."""
        part = features // FEATURES
        drawn = self._generator.integers(0, part, size=(events, FEATURES))
        return self._labelled(drawn + part * np.arange(FEATURES))

    def _labelled(self, features: NDArray[np.int64]) -> tuple[hw.Rows, NDArray[np.bool_]]:
        values = self._generator.standard_normal(features.shape) / math.sqrt(FEATURES)
        labels = np.einsum("ij,ij->i", self._rule[features], values) > 0
        columns, indices = np.unique(features.ravel(), return_inverse=True)
        rows = hw.Rows(
            indptr=np.arange(0, features.size + 1, FEATURES),
            indices=indices.astype(np.int32),
            data=values.ravel(),
            names=[f"feature-{column}" for column in columns.tolist()],
        )
        return rows, labels


def events_of(rows: hw.Rows) -> list[dict[Name, float]]:
    """The rows as dicts."""
    columns, values = rows.indices.tolist(), rows.data.tolist()
    return [
        {rows.names[column]: value for column, value in zip(columns[i:j], values[i:j], strict=True)}
        for i, j in zip(rows.indptr[:-1].tolist(), rows.indptr[1:].tolist(), strict=True)
    ]


@dataclass
class Clock:
    """Processor time spent, and on how many values."""

    seconds: float = 0.0
    values: int = 0
    names: int = 0

    def batch(self, learner: hw.Learner, rows: hw.Rows, labels: NDArray[np.bool_]) -> None:
        """Time a batch through `simulate`."""
        start = time.process_time()
        learner.simulate(rows, labels)
        self._add(time.process_time() - start, rows)

    def loop(self, learner: hw.Learner, rows: hw.Rows, labels: NDArray[np.bool_]) -> None:
        """Time the same events as dicts through `decide_one` and `answer`."""
        events, truths = events_of(rows), labels.tolist()
        start = time.process_time()
        for event, label in zip(events, truths, strict=True):
            decision = learner.decide_one(event)
            if decision.asked:
                learner.answer(decision, label)
        self._add(time.process_time() - start, rows)

    def look_up(self, weights: dict[Name, float], rows: hw.Rows) -> None:
        """Time the margins of the same events with a plain dict."""
        events = events_of(rows)
        start = time.process_time()
        for event in events:
            sum(weights[name] * value for name, value in event.items())
        self._add(time.process_time() - start, rows)

    def _add(self, seconds: float, rows: hw.Rows) -> None:
        self.seconds += seconds
        self.values += len(rows.data)
        self.names += len(rows.names)

    @property
    def cost(self) -> float:
        """Nanoseconds a value."""
        return 1e9 * self.seconds / self.values if self.values else math.nan


@dataclass
class Stage:
    """What was measured at one number of known features."""

    features: int
    growing: Clock = field(default_factory=Clock)
    batches: Clock = field(default_factory=Clock)
    dicts: Clock = field(default_factory=Clock)
    plain: Clock = field(default_factory=Clock)
    memory: float = 0.0
    peak: float = 0.0


def blocks(events: int, longest: int) -> Iterator[int]:
    """`events` cut into blocks: their lengths."""
    for begin in range(0, events, longest):
        yield min(longest, events - begin)


def run(sizes: tuple[int, ...], events: int) -> tuple[list[Stage], hw.Learner]:
    """Grow a learner through the sizes; `events` are learned in all."""
    world = World(sizes[-1])
    events_of(world.known(sizes[-1], BATCH)[0])  # what the generator needs, it has now
    gc.collect()
    before = resident()
    learner = hw.FLLS(kept_share=0.01, query_width=math.inf)
    stages, known = [], 0
    for place, size in enumerate(sizes):
        stage = Stage(size)
        for length in blocks((size - known) // FEATURES, BATCH):
            stage.growing.batch(learner, *world.new(known, length))
            known += length * FEATURES
        still_to_grow = (sizes[-1] - size) // FEATURES
        measured = (events - learner.learned - still_to_grow) // (len(sizes) - place)
        as_dicts = round(DICT_SHARE * measured)
        for length in blocks(as_dicts, DICTS):
            stage.dicts.loop(learner, *world.known(known, length))
        for length in blocks(measured - as_dicts, BATCH):
            stage.batches.batch(learner, *world.known(known, length))
        gc.collect()
        stage.memory, stage.peak = resident() - before, peak() - before
        stages.append(stage)
    return stages, learner


def look_up_plainly(stages: list[Stage], events: int) -> None:
    """Measure Python's dict at the same sizes."""
    world = World(stages[-1].features)
    weights: dict[Name, float] = {}
    for stage in stages:
        for feature in range(len(weights), stage.features):
            weights[f"feature-{feature}"] = float(feature)
        for length in blocks(events, DICTS):
            stage.plain.look_up(weights, world.known(stage.features, length)[0])


HEAD = (
    "features known",
    "new names, ns a value",
    "dicts, ns a value",
    "× at the first size",
    "batches, ns a value",
    "× at the first size",
    "names a value",
    "Python's dict, ns a value",
    "× at the first size",
    "memory, MB",
    "peak, MB",
    "bytes a feature",
)


def row(stage: Stage, first: Stage) -> tuple[str, ...]:
    """A line of the table."""
    return (
        f"{stage.features:,}",
        f"{stage.growing.cost:.0f}",
        f"{stage.dicts.cost:.0f}",
        f"{stage.dicts.cost / first.dicts.cost:.1f}",
        f"{stage.batches.cost:.0f}",
        f"{stage.batches.cost / first.batches.cost:.1f}",
        f"{stage.batches.names / stage.batches.values:.2f}",
        f"{stage.plain.cost:.0f}",
        f"{stage.plain.cost / first.plain.cost:.1f}",
        f"{stage.memory:.0f}",
        f"{stage.peak:.0f}",
        f"{1e6 * stage.memory / stage.features:.0f}",
    )


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--events", type=click.IntRange(min=40_000), default=1_000_000, show_default=True)
@click.option("--largest", type=click.Choice([str(size) for size in SIZES]), default=str(SIZES[-1]))
def main(events: int, largest: str) -> None:
    """Measure the cost of a value and the memory of a learner while its features grow in number."""
    console = open_console()
    core = pin()
    start = time.perf_counter()
    stages, learner = run(tuple(size for size in SIZES if size <= int(largest)), events)
    look_up_plainly(stages, events=5_000)
    title = f"{learner!r}: {learner.learned:,} events of {FEATURES} features learned"
    draw(console, title, HEAD, [row(stage, stages[0]) for stage in stages])
    used = ", ".join(f"{name} {number}" for name, number in versions("headwater", "numpy").items())
    console.print(
        f"{time.perf_counter() - start:.0f} s in all, the making of the events included;"
        f" processor time on core {core}. {used}. {machine()}."
    )


if __name__ == "__main__":
    main()
