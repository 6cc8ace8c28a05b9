"""Draws the picture of the README: sensors that come and go, and the error under them.

The same learner asks for one label in fifty: chosen by itself, chosen at random, and chosen by
itself but deaf to every sensor that was not there in the beginning. The network is the one of
`headwater demo`, with its own share of incidents; `--incidents` sets another.

    python studies/readme_picture.py --out docs  # also writes docs/readme.svg and readme.png
    python studies/readme_picture.py            # prints the errors
"""

from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from numpy.typing import NDArray

import headwater as hw

RATE = 0.02
SHOWN = 6
"""Every so many-th sensor is drawn."""
GREY, BLUE, ORANGE = "#808890", "#2f8fd8", "#d9752b"
"""Colours that can be read on white and on black."""


KINDS = ("chosen by the learner", "chosen at random", "deaf to new sensors")


def mistakes(network: Any, seed: int, kind: str) -> tuple[NDArray[np.bool_], int]:
    """Whether each event is predicted wrongly, and how many labels were asked for."""
    model = hw.Spring(label_rate=RATE, seed=seed)
    coins = np.random.default_rng(seed).random(len(network)) < RATE
    heard = {one.name for one in network.sensors if one.installed == 0}
    wrong = []
    for (event, incident), coin in zip(network, coins.tolist(), strict=True):
        if kind == "deaf to new sensors":
            event = {name: value for name, value in event.items() if name in heard}
        outcome = (coin, RATE) if kind == "chosen at random" else None
        decision = model.decide_one(event, outcome=outcome)
        wrong.append(decision.prediction != incident)
        if decision.asked:
            model.answer(decision, incident)
    return np.array(wrong), model.asked


def balanced(wrong: Any, incidents: Any, window: int) -> Any:
    """The mean error rate of both classes in the latest `window` events, at each event."""

    def trailing(values: Any) -> Any:
        sums = np.concatenate([[0.0], np.cumsum(values, dtype=float)])
        ends = np.arange(1, len(sums))
        return sums[ends] - sums[np.maximum(ends - window, 0)]

    rates = [
        trailing(wrong & kind) / np.maximum(trailing(kind), 1.0) for kind in (incidents, ~incidents)
    ]
    return (rates[0] + rates[1]) / 2


class Compared(NamedTuple):
    """Of one kind: the error curve over all repeats, and the mean number of labels."""

    curve: Any
    labels: int


def compare(events: int, repeats: int, incidents: float) -> dict[str, Compared]:
    """Every kind on the same networks."""
    curves: dict[str, list[Any]] = {kind: [] for kind in KINDS}
    labels: dict[str, list[int]] = {kind: [] for kind in KINDS}
    for seed in range(repeats):
        network = hw.streams.SensorNetwork(events, incident_share=incidents, seed=seed)
        happened = np.array([incident for _, incident in network])
        for kind in KINDS:
            wrong, asked = mistakes(network, seed, kind)
            curves[kind].append(balanced(wrong, happened, events // 10))
            labels[kind].append(asked)
    return {
        kind: Compared(np.mean(curves[kind], axis=0), round(float(np.mean(labels[kind]))))
        for kind in KINDS
    }


def draw(events: int, found: dict[str, Compared], out: Path) -> None:
    """Write the picture as SVG and PNG."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    network = hw.streams.SensorNetwork(events, seed=0)
    style: Any = {
        "svg.hashsalt": "headwater",
        "text.color": GREY,
        "axes.edgecolor": GREY,
        "axes.labelcolor": GREY,
        "xtick.color": GREY,
        "ytick.color": GREY,
        "font.size": 10,
    }
    with rc_context(style):
        figure = Figure(figsize=(8.2, 4.4), layout="constrained")
        figure.patch.set_alpha(0)
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=(1.1, 1))
        for axes in (above, below):
            axes.patch.set_alpha(0)
            axes.spines[["top", "right"]].set_visible(False)
        every = sorted(network.sensors, key=lambda one: (one.installed, str(one.name)))
        sensors = every[::SHOWN]
        for row, one in enumerate(sensors):
            end = events if one.died is None else one.died
            colour = BLUE if one.died is None else GREY
            above.plot(
                [one.installed, end], [row, row], color=colour, linewidth=2.2, solid_capstyle="butt"
            )
        above.set_yticks([])
        above.set_ylabel(f"{len(sensors)} of {len(every)} sensors")
        above.set_title("Sensors come and go (blue: still running)", fontsize=10, loc="left")
        start = events // 20
        at = np.unique(np.linspace(start, events - 1, 300).astype(int))
        for kind, colour in zip(KINDS, (BLUE, ORANGE, GREY), strict=True):
            curve = 100 * found[kind].curve[at]
            below.plot(at, curve, color=colour, linewidth=2, label=kind)
        below.set_ylim(bottom=0)
        below.set_xlim(0, events)
        below.set_xlabel("events")
        below.set_ylabel("balanced error, %")
        below.xaxis.set_major_formatter("{x:,.0f}")
        below.legend(frameon=False, title=f"one label in {round(1 / RATE)}", loc="lower left")
        nothing: Any = {"Date": None, "Creator": None}
        out.mkdir(parents=True, exist_ok=True)
        figure.savefig(out / "readme.svg", metadata=nothing)
        figure.savefig(out / "readme.png", dpi=150, metadata={"Software": None})


@click.command()
@click.option("--events", default=20_000, show_default=True, help="Length of each stream.")
@click.option(
    "--repeats", default=5, show_default=True, help="Networks over which errors are averaged."
)
@click.option("--incidents", default=0.27, show_default=True, help="Share of incidents.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder; by default nothing is drawn.")
def main(events: int, repeats: int, incidents: float, out: Path | None) -> None:
    """Compare the three, and draw the picture of the README."""
    found = compare(events, repeats, incidents)
    click.echo(
        f"balanced error over the last {events // 10:,} of {events:,} events, mean of {repeats}"
        f" networks, {incidents:.0%} incidents:"
    )
    for kind, one in found.items():
        click.echo(f"  {kind:22} {one.curve[-1]:6.1%}  {one.labels:,} labels")
    if out is not None:
        draw(events, found, out)


if __name__ == "__main__":
    main()
