"""When one machine is not enough: what breaks first, by events per second and by features.

    python benches/outgrow.py

First the costs are measured on one core: parsing an event of 25 values by Python's json, deciding
it with `Spring`, learning a label, and for models of growing numbers of features what they hold in
memory, how long a snapshot takes, what of it other threads wait for (the copy), and how long it
takes to load. Then a table follows by arithmetic alone: cores for each part, and which limit is the
first to break. Features beyond the largest model measured are extrapolated in proportion, and
marked by ~.
"""

import copy
import gc
import json
import time
from dataclasses import dataclass

import click
import numpy as np
from machine import draw, machine, open_console, pin, resident, trim, versions

import headwater as hw

VALUES = 25
RATES = (10_000, 100_000, 1_000_000)
FEATURES = (1_000_000, 10_000_000, 100_000_000)
LABEL_RATE = 0.05
PAUSE = 1.0
"""Seconds that a stream may stand still for a snapshot's copy."""
RELOAD = 60.0
"""Seconds that a restart may take to load the model."""
MEMORY = 64e9
"""Bytes of a machine."""


@dataclass
class Costs:
    """Seconds of processor time per event."""

    parse: float
    decide: float
    learn: float
    line: float
    """Bytes of an event as JSON."""

    @property
    def model(self) -> float:
        """Of the learner alone, per event, with the labels that it asks for."""
        return self.decide + LABEL_RATE * self.learn


@dataclass
class Size:
    """A model of so many features."""

    features: int
    memory: float
    file: float
    copy: float
    save: float
    load: float


def per_event(events: int) -> Costs:
    """Measure one event at a time, as a loop in Python does."""
    values = np.random.default_rng(0).normal(size=(events, VALUES)).tolist()
    lines = [json.dumps({f"s{i}": value for i, value in enumerate(row)}) for row in values]
    start = time.process_time()
    parsed = [json.loads(line) for line in lines]
    parse = time.process_time() - start
    model = hw.Spring(label_rate=LABEL_RATE)
    decide = learn = 0.0
    learned = 0
    for event in parsed:
        start = time.process_time()
        decision = model.decide_one(event)
        decide += time.process_time() - start
        if decision.asked:
            start = time.process_time()
            model.answer(decision, event["s0"] > 0)
            learn += time.process_time() - start
            learned += 1
    empty = time.process_time()
    for _ in range(events):
        time.process_time()
    clock = (time.process_time() - empty) / events  # what looking at the clock costs
    return Costs(
        parse / events,
        decide / events - clock,
        learn / max(1, learned) - clock,
        sum(map(len, lines)) / events,
    )


def of_features(features: int) -> Size:
    """Measure a model of `Spring` that has met so many names."""
    gc.collect()
    trim()
    before = resident()
    model = hw.Spring(label_rate=LABEL_RATE)
    block = 100_000
    for first in range(0, features, block):
        names = [f"feature-{i}" for i in range(first, min(features, first + block))]
        indptr = np.arange(0, len(names) + 1, 100)
        rows = hw.Rows(
            indptr=indptr,
            indices=np.arange(len(names), dtype=np.int32),
            data=np.ones(len(names)),
            names=names,
        )
        model.learn_many(rows, np.arange(len(indptr) - 1) % 2 == 0)
        del rows, names
    gc.collect()
    trim()
    memory = 1e6 * (resident() - before)
    times = [time.process_time()]
    copied = copy.copy(model)
    times.append(time.process_time())
    del copied
    gc.collect()
    times.append(time.process_time())
    data = model.to_bytes()
    times.append(time.process_time())
    hw.from_bytes(data)
    times.append(time.process_time())
    return Size(
        features,
        memory,
        len(data),
        times[1] - times[0],
        times[3] - times[2],
        times[4] - times[3],
    )


def scaled(size: Size, features: int) -> Size:
    """In proportion."""
    by = features / size.features
    rest = (size.memory, size.file, size.copy, size.save, size.load)
    return Size(features, *(by * value for value in rest))


def breaks_first(rate: int, costs: Costs, size: Size) -> str:
    """The limit that is exceeded by the largest factor; what holds if none is."""
    limits = {
        "memory": size.memory / MEMORY,
        "snapshot pause": size.copy / PAUSE,
        "reload": size.load / RELOAD,
        "JSON in Python": rate * (costs.parse + costs.model),
        "one core": rate * costs.model,
    }
    worst, factor = max(limits.items(), key=lambda item: item[1])
    return f"{worst} ({factor:.1f} ×)" if factor > 1 else f"nothing ({factor:.2f} of {worst})"


HEAD = (
    "events/s",
    "features",
    "JSON in, MB/s",
    "model, MB",
    "file, MB",
    "cores: JSON",
    "cores: learner",
    "snapshot pause, s",
    "reload, s",
    "what breaks first",
)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--largest", type=click.IntRange(min=100_000), default=1_000_000, show_default=True)
@click.option("--events", type=click.IntRange(min=1_000), default=20_000, show_default=True)
def main(largest: int, events: int) -> None:
    """Measure the costs and print what breaks first."""
    pin()
    console = open_console()
    costs = per_event(events)
    size = of_features(largest)
    console.print(f"{machine()}; {versions('numpy')}")
    console.print(
        f"an event of {VALUES} values: json.loads {1e6 * costs.parse:.1f} µs, decide"
        f" {1e6 * costs.decide:.1f} µs, learn a label {1e6 * costs.learn:.1f} µs"
    )
    console.print(
        f"a model of {size.features:,} features: {size.memory / size.features:.0f} bytes per"
        f" feature in memory, {size.file / size.features:.0f} in its file; copied in"
        f" {size.copy:.2f} s, saved in {size.save:.2f} s, loaded in {size.load:.2f} s"
    )
    rows: list[tuple[str, ...]] = []
    for rate in RATES:
        for features in FEATURES:
            here = scaled(size, features)
            mark = "" if features <= largest else "~"
            rows.append(
                (
                    f"{rate:,}",
                    f"{features:,}",
                    f"{rate * costs.line / 1e6:.0f}",
                    f"{mark}{here.memory / 1e6:,.0f}",
                    f"{mark}{here.file / 1e6:,.0f}",
                    f"{rate * costs.parse:.1f}",
                    f"{rate * costs.model:.1f}",
                    f"{mark}{here.copy:.1f}",
                    f"{mark}{here.load:.0f}",
                    breaks_first(rate, costs, here),
                )
            )
    draw(console, "One learner on one machine", HEAD, rows)


if __name__ == "__main__":
    main()
