"""Spring on streams that change, whose values come and go, or whose positive class is rare.

    python studies/spring_streams.py                       # five seeds, 5 % of the labels
    python studies/spring_streams.py --rate 0.1 --figures docs/learners

Four tables on generated streams. *Changes*: errors after a change half-way through 40,000 events of
30 sensors, beside a learner that starts at the change. *Presence*: balanced accuracy if each value
is there with some probability, the focus being the second half of 20,000 events of 60 sensors.
*Rare*: balanced accuracy and average precision, without the first quarter of 40,000 events.
*Reliability*: probabilities beside what happened. `Linear` asks for as many labels; River's scaler
with logistic regression learns every label, if River is installed. One seed a repeat: 0, 1, ...
`--figures` draws the first two tables, which needs matplotlib.
"""

import io
import re
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from numpy.typing import NDArray
from rich import box
from rich.console import Console
from rich.table import Table

import headwater as hw
from headwater.studies.figures import COLOURS

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

EVENTS, SENSORS = 40_000, 30
CHANGES = ("none", "sudden", "half", "permuted", "scale", "recurring", "reversed")
PRESENCE = (1.0, 0.5, 0.25, 0.1, 0.05, 0.02)
RARE = (0.05, 0.01, 0.005)
BLOCK = 500
"""Events of a point of the picture of a change."""
BINS = 10
SPRING, LINEAR, RIVER = "Spring", "Linear", "River, every label"


class Stream(NamedTuple):
    """Raw values, NaN where there is none, and labels."""

    X: Floats
    y: Bools


class Run(NamedTuple):
    """What a learner said of each event before its label."""

    predicted: Bools
    score: Floats


def changing(kind: str, seed: int) -> Stream:
    """A linear concept with noise that changes half-way; `recurring` changes three times."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(EVENTS, SENSORS))
    a, b = rng.normal(size=(2, SENSORS))
    after = (np.arange(EVENTS) >= EVENTS // 2)[:, None]
    weights, seen = np.broadcast_to(a, X.shape), X
    match kind:
        case "sudden":
            weights = np.where(after, b, a)
        case "half":
            weights = np.where(after, np.where(np.arange(SENSORS) < SENSORS // 2, -a, a), a)
        case "reversed":
            weights = np.where(after, -a, a)
        case "recurring":
            weights = np.where((np.arange(EVENTS) // (EVENTS // 4) % 2 == 0)[:, None], a, b)
        case "permuted":
            seen = np.where(after, X[:, rng.permutation(SENSORS)], X)
        case "scale":
            units, places = 10 ** rng.uniform(-2, 2, SENSORS), 3 * rng.normal(size=SENSORS)
            seen = np.where(after, X * units + places, X)
    return Stream(seen, (X * weights).sum(axis=1) + rng.normal(size=EVENTS) > 0)


def coming_and_going(share: float, seed: int, events: int = 20_000, sensors: int = 60) -> Stream:
    """Correlated sensors in units of their own, each value there with probability `share`."""
    rng = np.random.default_rng(seed)
    state = rng.normal(size=(events, 1))  # what all sensors see, each in its way
    X = state * rng.normal(size=sensors) + rng.normal(size=(events, sensors))
    y = X @ rng.normal(size=sensors) + 5 * rng.normal(size=events) > 0
    X = (X + 5 * rng.normal(size=sensors)) * 10 ** rng.uniform(-3, 3, sensors)
    return Stream(np.where(rng.random(X.shape) < share, X, np.nan), y)


def rare(share: float, seed: int, sensors: int = 40) -> Stream:
    """A positive class with this share of the events."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(EVENTS, sensors))
    weights = rng.normal(size=sensors) * (rng.random(sensors) < 0.4)
    score = X @ weights + 1.5 * rng.normal(size=EVENTS)
    return Stream(X, score > np.quantile(score, 1 - share))


def learn(name: str, stream: Stream, rate: float, seed: int) -> Run:
    """A learner along a stream."""
    if name == RIVER:
        return _river(stream)
    model: Any = hw.Spring(label_rate=rate, seed=seed)
    if name == LINEAR:
        model = hw.Linear(query=hw.query.Budget(rate), seed=seed)
    trace = model.simulate(stream.X, stream.y)
    return Run(trace.prediction.astype(bool), trace.margin)


def _river(stream: Stream) -> Run:
    from river import linear_model, preprocessing

    model = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    score = np.zeros(len(stream.y))
    there = ~np.isnan(stream.X)
    for t, (row, known, label) in enumerate(zip(stream.X, there, stream.y, strict=True)):
        event = {int(j): float(row[j]) for j in np.flatnonzero(known)}
        score[t] = model.predict_proba_one(event).get(True, 0.5)
        model.learn_one(event, bool(label))
    return Run(score > 0.5, score)


def balanced(predicted: Bools, y: Bools) -> float:
    """The mean of the shares of both classes that are found."""
    return float(np.mean([np.mean(predicted[y == one] == one) for one in (False, True)]))


def average_precision(score: Floats, y: Bools) -> float:
    """The mean over the positives of the precision at their rank.

    Examples
    --------
    >>> average_precision(np.array([3.0, 2.0, 1.0]), np.array([True, False, True]))
    0.8333333333333333
    """
    hit = y[np.argsort(-score, kind="stable")]
    precision = np.cumsum(hit) / np.arange(1, len(hit) + 1)
    return float(precision[hit].mean())


def learners() -> tuple[str, ...]:
    """Those that can be run here."""
    return (SPRING, LINEAR, RIVER) if find_spec("river") else (SPRING, LINEAR)


def changes_table(repeats: int, rate: float) -> tuple[Table, dict[str, dict[str, Floats]]]:
    """Errors after changes, and what the picture shows: errors by block of events."""
    half = EVENTS // 2
    table = Table("change", "before", "+1,000", "+5,000", "fresh +5,000", "ratio", box=box.MARKDOWN)
    curves: dict[str, dict[str, Floats]] = {}
    for kind in CHANGES:
        errors, fresh = [], []
        for seed in range(repeats):
            stream = changing(kind, seed)
            late = Stream(stream.X[half:], stream.y[half:])
            errors.append(learn(SPRING, stream, rate, seed).predicted != stream.y)
            fresh.append(learn(SPRING, late, rate, seed).predicted != late.y)
        wrong, new = np.mean(errors, axis=0), np.mean(fresh, axis=0)
        five, fresh_five = wrong[half : half + 5_000].mean(), new[:5_000].mean()
        before, one = wrong[half - 2_000 : half].mean(), wrong[half : half + 1_000].mean()
        numbers = (before, one, five, fresh_five)
        ratio = "" if kind == "none" else f"{five / fresh_five:.2f}"
        table.add_row(kind, *(f"{x:.3f}" for x in numbers), ratio)
        shown = wrong[half - 4 * BLOCK : half + 16 * BLOCK].reshape(-1, BLOCK).mean(axis=1)
        curves[kind] = {"Spring": shown, "fresh": new[: 16 * BLOCK].reshape(-1, BLOCK).mean(axis=1)}
    return table, curves


def presence_table(repeats: int, rate: float) -> tuple[Table, dict[str, list[float]]]:
    """Balanced accuracy against the probability that a value is there."""
    names = learners()
    table = Table("present", *names, box=box.MARKDOWN)
    lines: dict[str, list[float]] = {name: [] for name in names}
    for share in PRESENCE:
        for name in names:
            found = []
            for seed in range(repeats):
                stream = coming_and_going(share, seed)
                half = len(stream.y) // 2
                run = learn(name, stream, rate, seed)
                found.append(balanced(run.predicted[half:], stream.y[half:]))
            lines[name].append(float(np.mean(found)))
        table.add_row(f"{share:g}", *(f"{lines[name][-1]:.3f}" for name in names))
    return table, lines


def rare_table(repeats: int, rate: float) -> Table:
    """Balanced accuracy / average precision."""
    names, first = learners(), EVENTS // 4
    table = Table("positives", *names, box=box.MARKDOWN)
    for share in RARE:
        cells = []
        for name in names:
            found = []
            for seed in range(repeats):
                stream = rare(share, seed)
                run = learn(name, stream, rate, seed)
                y = stream.y[first:]
                scores = (
                    balanced(run.predicted[first:], y),
                    average_precision(run.score[first:], y),
                )
                found.append(scores)
            cells.append(" / ".join(f"{x:.3f}" for x in np.mean(found, axis=0)))
        table.add_row(f"{100 * share:g} %", *cells)
    return table


def reliability_table(repeats: int, rate: float) -> Table:
    """What was said and what happened, over held-out events, in ten bins of equal size."""
    kinds: dict[str, Callable[[int], Stream]] = {
        "calm": lambda seed: changing("none", seed),
        "after a reversal": lambda seed: changing("reversed", seed),
        "1 % positives": lambda seed: rare(0.01, seed),
    }
    said: list[list[str]] = []
    for make in kinds.values():
        p, y = [], []
        for seed in range(repeats):
            stream = make(seed)
            cut = int(0.75 * EVENTS)  # a quarter of the stream after a change
            model = hw.Spring(label_rate=rate, seed=seed)
            model.simulate(stream.X[:cut], stream.y[:cut])
            p.append(model.predict_proba_many(stream.X[cut:])[:, 1])
            y.append(stream.y[cut:])
        said.append(list(_bins(np.concatenate(p), np.concatenate(y))))
    table = Table("tenth", *kinds, box=box.MARKDOWN)
    for place, cells in enumerate(zip(*said, strict=True)):
        table.add_row(str(place + 1), *cells)
    return table


def _bins(p: Floats, y: Bools) -> Iterator[str]:
    for part in np.array_split(np.argsort(p, kind="stable"), BINS):
        yield f"{p[part].mean():.3f} → {y[part].mean():.3f}"


def change_picture(curves: dict[str, dict[str, Floats]]) -> str:
    """One panel a change: errors by block of events, and those of a fresh learner."""
    shown = [kind for kind in CHANGES if kind != "none"]

    def draw(figure: Any) -> None:
        panels = figure.subplots(2, 3, sharey=True).ravel()
        for axes, kind in zip(panels, shown, strict=True):
            for colour, (name, values) in zip(COLOURS, curves[kind].items(), strict=False):
                first = -4 * BLOCK if name == "Spring" else 0
                x = first + BLOCK * (np.arange(len(values)) + 0.5)
                axes.plot(x, values, color=colour, linewidth=1.1, label=name)
            axes.axvline(0, color="#767676", linewidth=0.6)
            axes.set_title(kind, fontsize=9)
            axes.set_xlabel("events after the change")
            axes.set_ylabel("errors")
            axes.spines[["top", "right"]].set_visible(False)
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=2)

    return _svg(draw, (9.5, 5.4), "Errors after six kinds of change, beside a fresh learner")


def presence_picture(lines: dict[str, list[float]]) -> str:
    """Balanced accuracy against presence."""

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for colour, marker, (name, values) in zip(COLOURS, "os^", lines.items(), strict=False):
            axes.plot(PRESENCE, values, color=colour, marker=marker, markersize=3, label=name)
        axes.set_xscale("log")
        axes.set_xticks(PRESENCE, [f"{share:g}" for share in PRESENCE])
        axes.minorticks_off()
        axes.invert_xaxis()
        axes.set_xlabel("probability that a value is there")
        axes.set_ylabel("balanced accuracy")
        axes.spines[["top", "right"]].set_visible(False)
        figure.legend(loc="outside upper center", ncols=3)

    return _svg(draw, (5.5, 3.4), "Balanced accuracy against the presence of values")


def _svg(draw: Any, size: tuple[float, float], label: str) -> str:
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    style: Any = {"svg.hashsalt": "headwater", "svg.fonttype": "none", "font.size": 8}
    with rc_context(style):
        figure = Figure(figsize=size, layout="constrained")
        draw(figure)
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    svg = text.getvalue()
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    said = f'role="img" aria-label="{label}"'
    return re.sub(r'width="[^"]*" height="[^"]*"', said, svg, count=1)


TABLES = ("changes", "presence", "rare", "reliability")


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--repeats", type=click.IntRange(min=1), default=5, show_default=True)
@click.option("--rate", type=click.FloatRange(0, 1, min_open=True), default=0.05, show_default=True)
@click.option("--only", type=click.Choice(TABLES), help="One of the tables. Default: all.")
@click.option(
    "--figures",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="Where spring-change.svg and spring-presence.svg are written. Default: nowhere.",
)
def main(repeats: int, rate: float, only: str | None, figures: Path | None) -> None:
    """Spring on streams as they are."""
    console = Console(width=120)
    if only in (None, "changes"):
        changes, curves = changes_table(repeats, rate)
        console.print(f"Changes, {100 * rate:g} % of the labels", changes)
        if figures is not None:
            (figures / "spring-change.svg").write_text(change_picture(curves), encoding="utf-8")
    if only in (None, "presence"):
        presence, lines = presence_table(repeats, rate)
        console.print("Presence: balanced accuracy", presence)
        if figures is not None:
            picture = presence_picture(lines)
            (figures / "spring-presence.svg").write_text(picture, encoding="utf-8")
    if only in (None, "rare"):
        console.print("Rare: balanced accuracy / average precision", rare_table(repeats, rate))
    if only in (None, "reliability"):
        console.print("Reliability: said → happened", reliability_table(repeats, rate))


if __name__ == "__main__":
    main()
