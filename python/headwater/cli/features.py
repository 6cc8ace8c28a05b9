"""`headwater features`."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from headwater.cli.feature_table import (
    WeightHistory,
    plain_life,
    print_findings,
    print_lives,
    register_counts,
)
from headwater.cli.help import Command
from headwater.cli.mistakes import Mistake
from headwater.cli.outputs import echo_json
from headwater.cli.sources import read_model, top_option
from headwater.learners.base import Learner
from headwater.register import STATES, FeatureLife

ORDERS = ("seen", "arrivals", "weight")


@click.command(cls=Command, example="headwater features --db plant.db --state silent")
@click.argument("model", type=click.Path(path_type=Path), required=False)
@click.option("--db", metavar="URL", help="A live stream instead: a path, or postgresql://...")
@click.option("--stream", default="main", show_default=True, help="The live stream's name.")
@click.option("--state", type=click.Choice(STATES), help="Only features in this state.")
@click.option(
    "--by",
    "order",
    type=click.Choice(ORDERS),
    default="seen",
    show_default=True,
    help="First those seen last, most often, or with the largest weight.",
)
@top_option
@click.option("--json", "as_json", is_flag=True, help="All of it as JSON.")
def features(
    model: Path | None,
    db: str | None,
    stream: str,
    state: str | None,
    order: str,
    top: int,
    as_json: bool,
) -> None:
    """Show the features of a model or live stream, and their states.

    The learner must keep a register (track=True), as those of `run --db` do. Of a live stream the
    weight is also drawn over time, as it was at each snapshot.
    """
    learner, history = _learner(model, db, stream)
    register = learner.register
    weights: dict[Any, Any] = {}
    with suppress(NotImplementedError):  # a learner written in Python may have none
        weights = {feature.name: feature.weight for feature in learner.features()}
    lives = register.features(state, weights=weights)  # type: ignore[arg-type]
    lives = _ordered(lives, order)
    if as_json:
        told = [plain_life(one) | {"weights": history.get(one.name, [])} for one in lives]
        echo_json(register_counts(register, top) | {"lives": told})
        return
    from rich.console import Console

    console = Console()
    print_lives(console, lives[:top], register.time is not None, history)
    if len(lives) > top:
        console.print(f"{len(lives) - top:,} more: --top {len(lives)}", highlight=False)
    print_findings(console, register, top)


def _learner(model: Path | None, db: str | None, stream: str) -> tuple[Learner, WeightHistory]:
    """The learner, and its features' weights over time."""
    if (model is None) == (db is None):
        raise Mistake("features: expected a model file or --db URL, one of them.")
    if model is not None:
        return read_model(model), {}
    try:
        from headwater import live
    except ImportError as error:
        raise Mistake(f"{error}") from None
    assert db is not None
    with live.read(db, stream) as reader:
        history: WeightHistory = {}
        for moment in reader.weights():
            for name, weight in moment.weights.items():
                history.setdefault(name, []).append((moment.time, weight))
        return reader.learner(), history


def _ordered(lives: list[FeatureLife], order: str) -> list[FeatureLife]:
    if order == "arrivals":
        return sorted(lives, key=lambda life: -life.arrivals)
    if order == "weight":
        return sorted(lives, key=lambda life: -_size(life.weight))
    return sorted(lives, key=lambda life: -life.last_event)


def _size(weight: Any) -> float:
    if isinstance(weight, Mapping):
        return float(max(map(abs, weight.values()), default=0.0))
    return float(abs(weight or 0.0))
