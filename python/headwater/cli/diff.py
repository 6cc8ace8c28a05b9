"""`headwater diff`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headwater.cli.help import Command
from headwater.cli.model_tables import print_line, print_names, spelled
from headwater.cli.outputs import echo_json
from headwater.cli.printing import drawn
from headwater.cli.sources import read_model, top_option
from headwater.learners.base import Learner
from headwater.learners.feature_history import moves, weights_of
from headwater.types import Feature, Name, TextTable

if TYPE_CHECKING:
    from rich.console import Console


@click.command(cls=Command, example="headwater diff monday.hw tuesday.hw")
@click.argument("before", type=click.Path(path_type=Path))
@click.argument("after", type=click.Path(path_type=Path))
@top_option
@click.option("--json", "as_json", is_flag=True, help="The same as JSON.")
def diff(before: Path, after: Path, top: int, as_json: bool) -> None:
    """Compare two models: weights, features gained and lost."""
    told = _difference(read_model(before), read_model(after), top)
    if as_json:
        echo_json(told)
        return
    from rich.console import Console

    _print(Console(), str(before), str(after), told)


def _difference(a: Learner, b: Learner, top: int) -> dict[str, Any]:
    old, new = a.features(), b.features()
    moved = moves(old, new)
    held_before, held_after = _held(old), _held(new)
    counters = ("seen", "asked", "learned")
    return {
        "same": a.to_bytes() == b.to_bytes(),
        "before": {"learner": repr(a)} | {name: getattr(a, name) for name in counters},
        "after": {"learner": repr(b)} | {name: getattr(b, name) for name in counters},
        "moved": {
            "count": len(moved),
            "weights": [
                {**move._asdict(), "change": move.after - move.before} for move in moved[:top]
            ],
        },
        "gained": _missing(held_after, held_before, top),
        "lost": _missing(held_before, held_after, top),
    }


def _held(features: Sequence[Feature]) -> list[Name]:
    """The features that have a weight."""
    return list(dict.fromkeys(weight.name for weight in weights_of(features)))


def _missing(names: list[Name], others: list[Name], top: int) -> dict[str, Any]:
    known = set(others)
    only = [name for name in names if name not in known]
    return {"count": len(only), "names": only[:top]}


def _print(console: "Console", before: str, after: str, told: dict[str, Any]) -> None:
    old, new = told["before"], told["after"]
    if told["same"]:
        console.print("The two models are the same, bit for bit.")
        return
    print_line(console, f"{before}: {old['learner']}")
    print_line(console, f"{after}: {new['learner']}")
    rows = tuple(
        (what, f"{old[name]:,}", f"{new[name]:,}", f"{new[name] - old[name]:+,}")
        for what, name in (
            ("events decided on", "seen"),
            ("labels asked for", "asked"),
            ("events learned", "learned"),
        )
    )
    console.print(drawn(TextTable(("", "before", "after", "change"), rows)))
    several = any(move["label"] is not None for move in told["moved"]["weights"])
    moved = tuple(
        (
            spelled(move["name"]),
            *([spelled(move["label"])] if several else []),
            *(f"{move[when]:+.4g}" for when in ("before", "after", "change")),
        )
        for move in told["moved"]["weights"]
    )
    if moved:
        head = ("feature", *(["label"] if several else []), "before", "after", "change")
        print_line(
            console, f"The weights that moved most, of {told['moved']['count']:,} that moved"
        )
        console.print(drawn(TextTable(head, moved)))
    print_names(console, "Gained, with a weight in the second only", told["gained"])
    print_names(console, "Lost, with a weight in the first only", told["lost"])
