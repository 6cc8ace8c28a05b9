"""Draws the pictures of docs/how-to/notebooks.md.

python studies/notebook_pictures.py docs/how-to
"""

import sys
from pathlib import Path
from typing import Any

import headwater as hw


def pictures() -> dict[str, Any]:
    """The figures by name, as the page's programs draw them."""
    network = hw.streams.SensorNetwork(5_000, seed=7)
    X, y = network.batch()
    trace = hw.Spring(label_rate=0.05).simulate(X, y)
    run = hw.evaluation.learning_curve(hw.Spring(), network, *network.held_out(1_000), points=10)
    plant = hw.streams.Plant(60, seed=3)
    register = hw.Register()
    for (event, _), time in zip(plant, plant.times, strict=True):
        register.observe_one(event, time)
    drawn = {"trace": trace.plot(y), "curve": run.plot(), "register": register.plot(limit=25)}
    return {name: axes.get_figure() for name, axes in drawn.items()}


if __name__ == "__main__":
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "headwater"
    for name, figure in pictures().items():
        nothing: Any = {"Date": None, "Creator": None}
        figure.savefig(Path(sys.argv[1]) / f"notebook-{name}.svg", metadata=nothing)
