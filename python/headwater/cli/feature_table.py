"""What a register knows, as tables for people and as plain data for programs."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from headwater.cli.model_tables import number, print_line, spelled
from headwater.cli.printing import drawn
from headwater.register import FeatureFinding, FeatureLife, Register
from headwater.types import Name, TextTable

if TYPE_CHECKING:
    from rich.console import Console

BARS = "▁▂▃▄▅▆▇█"
SPARKS = 24
"""Values of a spark line in a table."""
WeightHistory = dict[Name, list[tuple[float, float]]]
"""(time, weight) at each moment at which a feature was among the heaviest, by name."""
UNITS = (("d", 86_400.0), ("h", 3_600.0), ("min", 60.0), ("s", 1.0), ("ms", 0.001))
WIDE = 120
"""Characters of a terminal that has room for every column."""
WIDE_ONLY = {"share", "once per", "", "over time"}
"""Columns that a narrower one goes without; `--json` has them all."""


def spark(values: Sequence[float]) -> str:
    """The values as a line of bars, from the lowest to the highest.

    Examples
    --------
    >>> spark([1.0, 2.0, 3.0, 2.0])
    '▁▄█▄'
    """
    low, high = min(values, default=0.0), max(values, default=0.0)
    if low == high:
        return BARS[3] * len(values)
    width = high / 2 - low / 2  # without overflow
    shares = ((value / 2 - low / 2) / width for value in values)
    return "".join(BARS[min(7, int(share * 7.999))] for share in shares)


def duration(length: float | None, timed: bool) -> str:
    """A length of time, or a number of events, in a few characters.

    Examples
    --------
    >>> duration(5_400.0, True), duration(12.0, False), duration(None, True)
    ('1.5 h', '12 events', '')
    """
    if length is None:
        return ""
    if not timed:
        return f"{length:.3g} events"
    unit, seconds = next((one for one in UNITS if length >= one[1]), UNITS[-1])
    return f"{length / seconds:.3g} {unit}"


def moment(event: int, time: float | None) -> str:
    """When something was: the time if there is one, else the event."""
    if time is None:
        return f"event {event:,}"
    try:
        return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%d %H:%M")
    except (OverflowError, ValueError, OSError):
        return f"{time:g} s"


def sentence(finding: FeatureFinding, timed: bool) -> str:
    """What a finding says."""
    absent, usual = duration(finding.now, timed), duration(finding.before, timed)
    match finding.kind:
        case "born":
            return f"new, once per {absent}"
        case "silent" | "gone":
            return f"absent for {absent}, usually at most {usual}"
        case "back":
            return f"back after {absent}"
        case "changed scale":
            return f"from about {finding.before:.4g} to {finding.now:.4g}"
        case "stuck":
            return f"stuck at {finding.now:.6g}"
        case _:
            return f"replaced by {spelled(finding.other)} (r = {finding.now:.2f})"


def plain_life(life: FeatureLife) -> dict[str, Any]:
    """A feature as JSON has it."""
    told = {
        name: number(value) if isinstance(value, float) else value
        for name, value in life._asdict().items()
    }
    return told | {"values": list(life.values)}


def register_counts(register: Register, top: int) -> dict[str, Any]:
    """How many features are in each state, how many findings there are, and the last ones."""
    last = register.findings(limit=top)
    return {
        "events": register.events,
        "features": len(register),
        "states": register.states(),
        "findings": register.counts(),
        "last": [finding._asdict() for finding in last],
    }


def print_findings(console: "Console", register: Register, top: int) -> None:
    """The states of all features, and the last findings."""
    timed = register.time is not None
    states = ", ".join(f"{count:,} {state}" for state, count in register.states().items() if count)
    print_line(console, f"Features of all {register.events:,} events: {states or 'none'}")
    found = register.findings(limit=top)
    if not found:
        return
    rows = [
        (moment(one.event, one.time), spelled(one.feature), one.kind, sentence(one, timed))
        for one in reversed(found)
    ]
    made = sum(register.counts().values())
    print_line(console, f"The last {len(found):,} of {made:,} findings")
    console.print(drawn(TextTable(("when", "feature", "finding", ""), tuple(rows))))


def print_lives(
    console: "Console", lives: Sequence[FeatureLife], timed: bool, history: WeightHistory
) -> None:
    """One row per feature; a narrow terminal gets fewer columns, and none that wrap."""
    narrow = console.width < WIDE + (SPARKS + 2 if history else 0)
    sparks = SPARKS // 2 if narrow else SPARKS
    columns = {
        "feature": [spelled(life.name) for life in lives],
        "state": [life.state + (", stuck" if life.stuck else "") for life in lives],
        "last seen": [moment(life.last_event, life.last_time) for life in lives],
        "arrivals": [f"{life.arrivals:,}" for life in lives],
        "share": [f"{life.share:.1%}" for life in lives],
        "once per": [duration(life.mean_gap, timed) for life in lives],
        "values": [spark(life.values[-sparks:]) for life in lives],
        "": [f"{life.mean:.4g} ± {life.spread:.2g}" for life in lives],
        "weight": [_weight(life.weight) for life in lives],
    }
    if history:
        weights = ([weight for _, weight in history.get(life.name, [])] for life in lives)
        columns["over time"] = [spark(one[-SPARKS:]) for one in weights]
    if narrow:
        columns = {name: column for name, column in columns.items() if name not in WIDE_ONLY}
    rows = tuple(zip(*columns.values(), strict=True))
    console.print(drawn(TextTable(tuple(columns), rows)))


def _weight(weight: Any) -> str:
    if weight is None:
        return ""
    if isinstance(weight, Mapping):
        weight = max(weight.values(), key=abs, default=0.0)
    return f"{weight:+.3g}"
