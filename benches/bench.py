"""How fast: nanoseconds a value, by dict and by CSR, with River's PAClassifier beside it.

    python benches/bench.py [--quick] [--json FILE]

Two made-up streams. *sensor*: 50 sensors, all of them in every event. *text*: 75 different words an
event out of 47,236, drawn by Zipf's law. Both sides get the same events and learn every one
(`Linear()` and `Spring()` alone keep to their budgets of 10 and 5 %); dicts are made shortly before
they are used, and making them is not timed. Times are processor time on one core, the best of three
passes over the stream, each with a fresh model; the sides take turns.
"""

import json
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from machine import draw, machine, open_console, pin, versions
from numpy.typing import NDArray

import headwater as hw
from headwater.types import Name

PASSES = 3
BLOCK = 50  # dicts made at a time: few, so that an event is still in the caches in its turn
SENSORS = 50
WORDS, WORDS_AN_EVENT = 47_236, 75


class Csr(NamedTuple):
    """The three arrays of CSR, and nothing else: columns are named by their numbers."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    data: NDArray[np.float64]


@dataclass(frozen=True)
class Stream:
    """Labelled events, as CSR and as dicts with names."""

    title: str
    csr: Csr
    labels: NDArray[np.bool_]
    names: list[str]

    def blocks(self) -> Iterator[tuple[list[dict[Name, float]], list[bool]]]:
        """Fresh dicts, some at a time, with their labels."""
        for begin in range(0, len(self.labels), BLOCK):
            end = min(begin + BLOCK, len(self.labels))
            yield (
                [self._event(place) for place in range(begin, end)],
                self.labels[begin:end].tolist(),
            )

    def _event(self, place: int) -> dict[Name, float]:
        inside = slice(self.csr.indptr[place], self.csr.indptr[place + 1])
        columns, values = self.csr.indices[inside].tolist(), self.csr.data[inside].tolist()
        return {self.names[column]: value for column, value in zip(columns, values, strict=True)}


def sensor_stream(events: int, seed: int = 0) -> Stream:
    """Every sensor in every event; the label is a noisy linear rule."""
    generator = np.random.default_rng(seed)
    values = generator.normal(size=(events, SENSORS))
    noise = generator.normal(size=events)
    labels = values @ generator.normal(size=SENSORS) / math.sqrt(SENSORS) + 0.5 * noise > 0
    csr = Csr(
        indptr=np.arange(0, values.size + 1, SENSORS),
        indices=np.tile(np.arange(SENSORS, dtype=np.int32), events),
        data=values.ravel(),
    )
    return Stream("sensor", csr, labels, [f"sensor-{column}" for column in range(SENSORS)])


def text_stream(events: int, seed: int = 0) -> Stream:
    """Words by Zipf's law, weighted and scaled to unit length; the label is a noisy linear rule."""
    generator = np.random.default_rng(seed)
    cumulated = np.cumsum(1.0 / np.arange(1, WORDS + 1))
    cumulated /= cumulated[-1]
    indices = np.stack([_different_words(generator, cumulated) for _ in range(events)])
    values = generator.exponential(size=indices.shape)
    values /= np.linalg.norm(values, axis=1, keepdims=True)
    rule = generator.normal(size=WORDS)
    noise = generator.normal(size=events)
    labels = np.einsum("ij,ij->i", rule[indices], values) + 0.3 * noise > 0
    csr = Csr(
        indptr=np.arange(0, values.size + 1, WORDS_AN_EVENT),
        indices=indices.ravel(),
        data=values.ravel(),
    )
    return Stream("text", csr, labels, [f"word-{column}" for column in range(WORDS)])


def _different_words(
    generator: np.random.Generator, cumulated: NDArray[np.float64]
) -> NDArray[np.int32]:
    """The columns of one event's words, in order."""
    drawn: NDArray[np.int64] = np.empty(0, np.int64)
    while len(drawn) < WORDS_AN_EVENT:
        more = np.searchsorted(cumulated, generator.random(2 * WORDS_AN_EVENT))
        drawn = np.unique(np.concatenate([drawn, more]))
    return np.sort(generator.choice(drawn, WORDS_AN_EVENT, replace=False)).astype(np.int32)


class Pass(NamedTuple):
    """One pass over a stream."""

    seconds: float
    learned: float  # share of the events


Runner = Callable[[Stream], Pass]


def by_batch(make: Callable[[], hw.Learner]) -> Runner:
    """`simulate` on CSR."""

    def run(stream: Stream) -> Pass:
        learner = make()
        start = time.process_time()
        learner.simulate(stream.csr, stream.labels)
        return Pass(time.process_time() - start, learner.learned / len(stream.labels))

    return run


def by_dict(make: Callable[[], hw.Learner]) -> Runner:
    """`decide_one`, and `answer` if asked, on dicts."""

    def run(stream: Stream) -> Pass:
        learner, seconds = make(), 0.0
        for events, labels in stream.blocks():
            start = time.process_time()
            for event, label in zip(events, labels, strict=True):
                decision = learner.decide_one(event)
                if decision.asked:
                    learner.answer(decision, label)
            seconds += time.process_time() - start
        return Pass(seconds, learner.learned / len(stream.labels))

    return run


def by_river(stream: Stream) -> Pass:
    """`predict_one` and `learn_one` of River's PA-I on dicts."""
    linear_model: Any = import_module("river.linear_model")
    model, seconds = linear_model.PAClassifier(C=1.0, mode=1), 0.0
    for events, labels in stream.blocks():
        start = time.process_time()
        for event, label in zip(events, labels, strict=True):
            model.predict_one(event)
            model.learn_one(event, label)
        seconds += time.process_time() - start
    return Pass(seconds, 1.0)


LEARNERS: dict[str, Callable[[], hw.Learner]] = {
    "PA-I": lambda: hw.named("PA-I"),
    "FLLS-I, half kept": lambda: hw.FLLS(query_width=math.inf, kept_share=0.5),
    "FLLS-I, 1 % kept": lambda: hw.FLLS(query_width=math.inf, kept_share=0.01),
    "AROW": lambda: hw.Linear(update="arow", query="all", normalize=None),
    "Linear()": hw.Linear,
    "Spring()": hw.Spring,
}
RIVER = "River PAClassifier"


def contestants(river: bool) -> dict[tuple[str, str], Runner]:
    """Who runs, by door and name."""
    runners: dict[tuple[str, str], Runner] = {("dict", RIVER): by_river} if river else {}
    runners |= {("dict", name): by_dict(make) for name, make in LEARNERS.items()}
    return runners | {("CSR", name): by_batch(make) for name, make in LEARNERS.items()}


@dataclass(frozen=True)
class Result:
    """What a contestant needs on a stream; None where it could not run."""

    stream: str
    door: str
    learner: str
    events_per_second: float | None = None
    ns_per_value: float | None = None
    times_river: float | None = None
    learned: float | None = None


def measure(stream: Stream, river: bool) -> list[Result]:
    """The best pass of every contestant; they take turns."""
    runners = contestants(river)
    best: dict[tuple[str, str], Pass] = {}
    for _ in range(PASSES):
        for who, run in runners.items():
            best[who] = min(run(stream), best.get(who, Pass(math.inf, 0.0)))
    events, values = len(stream.labels), len(stream.csr.data)
    base = best.get(("dict", RIVER))
    results = [] if river else [Result(stream.title, "dict", RIVER)]
    for (door, learner), (seconds, learned) in best.items():
        results.append(
            Result(
                stream=stream.title,
                door=door,
                learner=learner,
                events_per_second=events / seconds,
                ns_per_value=1e9 * seconds / values,
                times_river=base.seconds / seconds if base else None,
                learned=learned,
            )
        )
    return results


HEAD = ("learner", "door", "events a second", "ns a value", "× River", "learned")


def row(result: Result) -> tuple[str, ...]:
    """A line of the table."""
    if result.ns_per_value is None:
        return (result.learner, result.door, "missing", "missing", "missing", "missing")
    return (
        result.learner,
        result.door,
        f"{result.events_per_second:,.0f}",
        f"{result.ns_per_value:.1f}",
        f"{result.times_river:.1f}" if result.times_river else "missing",
        f"{100 * (result.learned or 0):.0f} %",
    )


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--quick", is_flag=True, help="A third of the events: some 20 seconds.")
@click.option(
    "--json", "path", type=click.Path(path_type=Path), help="Write the numbers to this file."
)
def main(quick: bool, path: Path | None) -> None:
    """Measure the speed of the learners, beside River's if it is installed."""
    console, core, river = open_console(), pin(), find_spec("river") is not None
    share = 3 if quick else 1
    results: list[Result] = []
    for stream in (sensor_stream(45_000 // share), text_stream(24_000 // share)):
        measured = measure(stream, river)
        title = f"{stream.title}: {len(stream.labels):,} events, {len(stream.csr.data):,} values"
        draw(console, title, HEAD, [row(result) for result in measured])
        results += measured
    about: dict[str, Any] = {
        "versions": versions("headwater", "river", "numpy"),
        "machine": machine(),
        "core": core,
        "passes": PASSES,
        "quick": quick,
    }
    named = ", ".join(f"{name} {number}" for name, number in about["versions"].items())
    console.print(f"Processor time on core {core}, best of {PASSES}. {named}. {machine()}.")
    if path:
        about["results"] = [asdict(result) for result in results]
        path.write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
    if not river:
        click.echo("River is missing: pip install river.", err=True)


if __name__ == "__main__":
    main()
