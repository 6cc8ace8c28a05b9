"""What a model has learned, as tables for people and as plain data for programs."""

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from headwater.cli.printing import drawn
from headwater.learners.base import Learner
from headwater.learners.feature_history import born, gone, heaviest, weights_of
from headwater.types import Feature, Label, Name, TextTable

if TYPE_CHECKING:
    from rich.console import Console


def number(value: float) -> float | None:
    """A number as JSON has it: NaN and infinities are null."""
    return value if math.isfinite(value) else None


def spelled(name: Name | Label | None) -> str:
    """A name or label for a terminal: as it is, or quoted if it would be invisible."""
    if name is None:
        return ""
    text = str(name)
    return text if text.isprintable() and text.strip() == text != "" else repr(name)


def listed(features: Sequence[Feature], top: int) -> dict[str, Any]:
    """How many features, and the names of the first."""
    return {"count": len(features), "names": [feature.name for feature in features[:top]]}


def knowledge(learner: Learner, top: int, since: int = 0) -> dict[str, Any]:
    """What a model has learned: its features, the largest weights, features born and gone."""
    features, learned = learner.features(), learner.learned
    return {
        "features": len(features),
        "weights": len(weights_of(features)),
        "heaviest": [
            {"name": name, "label": label, "weight": weight}
            for name, label, weight in heaviest(features, top)
        ],
        "born": listed(born(features, learned, since), top),
        "gone": listed(gone(features, learned), top),
    }


def print_pairs(console: "Console", title: str, pairs: Iterable[tuple[str, object]]) -> None:
    """A table of two columns, what and how much."""
    rows = tuple((what, f"{v:,}" if type(v) is int else str(v)) for what, v in pairs)
    print_line(console, title)
    console.print(drawn(TextTable(("", ""), rows)))


def print_knowledge(console: "Console", told: dict[str, Any]) -> None:
    """The largest weights, and the features born and gone."""
    several = any(weight["label"] is not None for weight in told["heaviest"])
    rows = [
        (spelled(w["name"]), *([spelled(w["label"])] if several else []), f"{w['weight']:+.4g}")
        for w in told["heaviest"]
    ]
    if rows:
        head = ("feature", "label", "weight") if several else ("feature", "weight")
        print_line(console, "The largest weights")
        console.print(drawn(TextTable(head, tuple(rows))))
    print_names(console, "Born, first learned from in the last tenth", told["born"])
    print_names(console, "Gone, silent for ten times their usual interval", told["gone"])


def print_names(console: "Console", what: str, names: dict[str, Any]) -> None:
    """How many, and the first of them by name."""
    shown = ", ".join(map(spelled, names["names"]))
    more = ", ..." if shown and names["count"] > len(names["names"]) else ""
    print_line(console, f"{what}: {names['count']:,}" + (f" ({shown}{more})" if shown else ""))


def print_line(console: "Console", line: str) -> None:
    """A line as it is, however long."""
    console.print(line, soft_wrap=True, markup=False, highlight=False)
