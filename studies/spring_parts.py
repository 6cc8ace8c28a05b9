"""What each part of Spring is worth: it is left out, and nothing else is changed.

    python studies/spring_parts.py
    python studies/spring_parts.py --repeats 5 --events 20000
    python studies/spring_parts.py --data FOLDER

The plain form of the learner (`tests/reference/spring.py`) runs with one part missing on nine
generated streams of twelve sensors, or of words, with a tenth of the labels. With --data it runs on
data sets instead, some of them with values missing or devices that report in turn. Printed: the
balanced accuracy of the whole learner over the second half, in which the change lies if there is
one, and for each part the difference that its absence makes. One seed a repeat: 0, 1, ...
"""

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import click
import numpy as np
import rich.table
from numpy.typing import NDArray
from rich import box
from rich.console import Console

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import headwater as hw
import reference.query as query
import reference.scaler as scaler
import reference.spring as spring
from reference.dual import dual_alpha

Event = dict[Any, float]
SENSORS, RATE = 12, 0.1


class Stream(NamedTuple):
    """Events and labels."""

    events: list[Event]
    labels: NDArray[np.bool_]


def sensors(kind: str, events: int, seed: int) -> Stream:
    """A linear concept on sensors with units of their own; what `kind` names is special."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(events, SENSORS))
    a, b = rng.normal(size=(2, SENSORS))
    time = np.arange(events)
    weights = np.tile(a, (events, 1))
    if kind == "sudden":
        weights[events // 2 :] = b
    elif kind == "reversed":
        weights[events // 2 :] = -a
    elif kind == "gradual":
        angle = np.linspace(0, np.pi, events)[:, None]
        weights = np.cos(angle) * a + np.sin(angle) * b
    elif kind == "recurring":
        weights[(time // (events // 4)) % 2 == 1] = b
    score = (X * weights).sum(axis=1) + rng.normal(size=events)
    y = score > (np.quantile(score, 0.95) if kind == "rare" else 0.0)
    X = (X + 3 * rng.normal(size=SENSORS)) * 10 ** rng.uniform(-3, 3, SENSORS)
    if kind == "unit":
        X[events // 2 :, : SENSORS // 2] = (
            1.8 * X[events // 2 :, : SENSORS // 2] + 32 * X.std(axis=0)[: SENSORS // 2]
        )
    there = rng.random(X.shape) < (0.25 if kind == "presence" else 1.0)
    rows = zip(X, there, strict=True)
    return Stream([{f"s{j}": float(x[j]) for j in np.flatnonzero(t)} for x, t in rows], y)


def words(events: int, seed: int) -> Stream:
    """Texts of some ten of two hundred words, which are rarer the further down the list."""
    rng = np.random.default_rng(seed)
    often = 1 / np.arange(1, 201)
    weights = rng.normal(size=200)
    there = rng.random((events, 200)) < np.minimum(0.5, 2 * often)
    y = there @ weights + 0.5 * rng.normal(size=events) > np.median(there @ weights)
    return Stream([{f"w{j}": 1.0 for j in np.flatnonzero(t)} for t in there], y)


STREAMS: dict[str, Callable[[int, int], Stream]] = {
    kind: partial(sensors, kind)
    for kind in (
        *("calm", "sudden", "reversed", "gradual", "recurring"),
        *("unit", "presence", "rare"),
    )
} | {"words": words}


class Table(NamedTuple):
    """A data set, and what of it is missing."""

    name: str | hw.datasets.Entry
    removed: float = 0.0
    """The share of the values that are missing at random."""
    devices: int = 1
    """The columns belong to so many devices that report in turn."""

    def stream(self, folder: Path, events: int, seed: int) -> Stream:
        """So many events, in the order of the seed."""
        data = hw.datasets.load(self.name, folder)
        found: hw.streams.Stream
        if data.entry.timed:
            found = data
        elif self.devices > 1:
            found = hw.streams.InTurn(data.X, data.y, devices=self.devices, seed=seed)
        else:
            found = hw.streams.Varying(data.X, data.y, removed=self.removed, seed=seed)
        rows = [(event, label == 1) for event, label in islice(found, events)]
        return Stream([event for event, _ in rows], np.array([y for _, y in rows]))


TABLES = {
    "wdbc, quarter": Table("wdbc", removed=0.75),
    "wbc, in turn": Table("wbc", devices=2),
    "spambase, half": Table("spambase", removed=0.5),
    "kr-vs-kp": Table("kr-vs-kp"),
    "german": Table("german"),
    "magic04": Table("magic04"),
    "pcmac": Table("pcmac"),
    "elec2": Table("elec2"),
}


class Without(spring.Spring):
    """Spring with some columns never trusted, some inputs left out."""

    distrusted: tuple[int, ...] = ()
    spares = True

    def wanted(self, one: spring.Input) -> bool:
        """Whether an input is kept."""
        return True

    def observe(self, event: Event) -> spring.Inputs:
        return {one: z for one, z in super().observe(event).items() if self.wanted(one)}

    def judge(self, columns: list[float], y: int) -> None:
        super().judge(columns, y)
        left_out = (*self.distrusted, *(() if self.spares else (self.spare,)))
        if left_out:
            trust = [0.0 if c in left_out else one for c, one in enumerate(self.trust)]
            self.trust = [one / sum(trust) for one in trust]


class WithoutMid(Without):
    distrusted = (spring.MID,)


class WithoutShort(Without):
    distrusted = (spring.SHORT,)


class WithoutCalm(Without):
    distrusted = (spring.CALM,)


class WithoutFading(Without):
    distrusted = (spring.FADING,)


class WithoutSpare(Without):
    spares = False


class WithoutWindows(Without):
    """One column that learns from every label, and AROW."""

    distrusted = (spring.MID, spring.SHORT)


class WithoutPresence(Without):
    def wanted(self, one: spring.Input) -> bool:
        return one[1] == spring.VALUE


class WithoutSummary(Without):
    def wanted(self, one: spring.Input) -> bool:
        return one[0] not in spring.OWN[:2]


class WithoutRelevance(Without):
    def rho(self, one: spring.Input) -> float:
        return 1.0


class WithoutBalance(Without):
    def step_in(self, event: spring.Stored, column: int, margins: spring.Margins) -> None:
        if margins.Q > 0:
            old = event.alphas[column]
            alpha = dual_alpha(old, event.y * margins.dual[column], margins.Q, spring.C)
            self.move(event, column, alpha - old)


class WithoutLength(Without):
    """Asks by the margin alone, not by the margin over what matters in the event."""

    def confidence(self, inputs: spring.Inputs) -> float:
        return abs(self.balanced(inputs))


NOTHING: list[tuple[Any, str, Any]] = []
PARTS: dict[str, tuple[type[Without], list[tuple[Any, str, Any]]]] = {
    "nothing": (Without, NOTHING),
    "presence inputs": (WithoutPresence, NOTHING),
    "relevance": (WithoutRelevance, NOTHING),
    "factor and energy": (WithoutSummary, NOTHING),
    "mid": (WithoutMid, NOTHING),
    "short": (WithoutShort, NOTHING),
    "mid and short": (WithoutWindows, NOTHING),
    "spare": (WithoutSpare, NOTHING),
    "calm": (WithoutCalm, NOTHING),
    "fading": (WithoutFading, NOTHING),
    "class balance": (WithoutBalance, NOTHING),
    "replay": (Without, [(spring, "REPEATED", 0), (spring, "REPEATED_NEWEST", 0)]),
    "questions by length": (WithoutLength, NOTHING),
    "questions by chance": (
        Without,
        [(query, "quantile_chance", lambda rate, mean: rate if mean == 0 else 0.0)],
    ),
    "forgetting of the scaler": (
        Without,
        [(scaler, name, math.inf) for name in ("FAR_OFF", "ALL_CLOSE", "MOST_COUNTED")],
    ),
}


@contextmanager
def left_out(part: str) -> Iterator[type[Without]]:
    """The learner without a part."""
    learner, changes = PARTS[part]
    with ExitStack() as stack:
        for module, name, value in changes:
            stack.enter_context(patch.object(module, name, value))
        yield learner


def score(part: str, stream: Stream, seed: int) -> float:
    """Balanced accuracy over the second half of the stream."""
    with left_out(part) as learner:
        model, predicted = learner(RATE, seed), np.zeros(len(stream.labels), bool)
        for t, (event, label) in enumerate(zip(stream.events, stream.labels, strict=True)):
            decided = model.decide(event)
            predicted[t] = decided.margin > 0
            if decided.asked:
                model.answer(decided, 1 if label else -1)
    half = len(predicted) // 2
    found, y = predicted[half:], stream.labels[half:]
    return float(np.mean([np.mean(found[y == one] == one) for one in (False, True)]))


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--repeats", type=click.IntRange(min=1), default=3, show_default=True)
@click.option("--events", type=click.IntRange(min=200), default=4_000, show_default=True)
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    help="Data sets of this folder, and no other streams.",
)
def main(repeats: int, events: int, data: Path | None) -> None:
    """Leave out one part of Spring at a time."""
    makers = STREAMS
    if data is not None:
        makers = {name: partial(table.stream, data) for name, table in TABLES.items()}
    table = rich.table.Table("left out", *makers, "mean", box=box.MARKDOWN)
    whole = np.zeros(len(makers))
    streams = [[make(events, seed) for seed in range(repeats)] for make in makers.values()]
    for part in PARTS:
        found = np.array(
            [np.mean([score(part, one, seed) for seed, one in enumerate(of)]) for of in streams]
        )
        if part == "nothing":
            whole = found
            cells = [f"{x:.3f}" for x in (*found, found.mean())]
        else:
            gaps = found - whole
            cells = [f"{x:+.3f}" for x in (*gaps, gaps.mean())]
        table.add_row(part, *cells)
        print(f"without {part}", file=sys.stderr, flush=True)
    click.echo(
        f"Means over {repeats} seeds of at most {events} events, {100 * RATE:g} % of the labels."
    )
    Console(width=160).print(table)


if __name__ == "__main__":
    main()
