"""The page and the picture of a run. Every number in them was measured by it."""

import io
import math
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from goals import Goal, Numbers, goals
from turns import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HEAD = (
    *("who", "what", "door", "events", "events a second", "ns a value", "peak MB"),
    *("× floor", "× River", "learned"),
)
TEXTS = 3  # columns of HEAD that are texts
GOALS_HEAD = ("path", "stream", "goal", "measured", "")
COLOURS = {
    "Headwater": "#0072b2",
    "C, same work": "#767676",
    "C, bare loop": "#b0b0b0",
    "C, selection over all": "#b0b0b0",
    "River": "#d55e00",
    "scikit-learn": "#e69f00",
    "scikit-activeml": "#8c564b",
    "Vowpal Wabbit": "#00664b",
    "plain Python": "#cc79a7",
    "NumPy": "#9467bd",
}  # safe for the colour-blind, as far as so many can be


@dataclass(frozen=True)
class About:
    """Where and how a run was made."""

    date: str
    machine: str
    core: int | None
    compiler: str
    versions: dict[str, str]
    passes: int
    quick: bool
    shapes: dict[str, str]  # of the streams
    seconds: float


def row(result: Result) -> tuple[str, ...]:
    """A line of a stream's table."""
    texts = (result.who, result.name, result.door)
    if result.ns_per_value is None or result.events_per_second is None:
        return (*texts, f"missing: {result.missing}", *("",) * (len(HEAD) - TEXTS - 1))
    return (
        *texts,
        f"{result.events:,}",
        _shown(result.events_per_second),
        _shown(result.ns_per_value),
        "" if result.memory is None else f"{result.memory:,.0f}",
        _shown(result.times_floor),
        _shown(result.times_river),
        f"{100 * (result.learned or 0):.0f} %",
    )


def _shown(number: float | None) -> str:
    """Three digits, or whole."""
    if number is None:
        return ""
    if number >= 100:
        return f"{number:,.0f}"
    return f"{number:.1f}" if number >= 10 else f"{number:.2g}" if number < 0.1 else f"{number:.2f}"


def goal_row(goal: Goal) -> tuple[str, ...]:
    """A line of the table of goals."""
    return (goal.path, goal.stream, goal.wanted, goal.measured, goal.verdict)


TRUNCATION_HEAD = (
    *("stream", "features", "kept", "ours: event, µs", "truncation alone, µs"),
    *("selection: event, µs", "truncation alone, µs", "times cheaper"),
)


def truncation_rows(numbers: Numbers) -> list[tuple[str, ...]]:
    """The lines of the table of truncation."""
    return [
        (
            one.stream,
            f"{one.features:,}",
            f"{one.kept_share:g}",
            *(
                (f"missing: {one.missing}", "", "", "", "")
                if one.missing
                else (
                    f"{one.ours:.2f}",
                    f"{one.ours_alone:.2f}",
                    f"{one.selection:,.1f}",
                    f"{one.selection_alone:,.1f}",
                    "" if one.ratio is None else f"{one.ratio:,.0f}",
                )
            ),
        )
        for one in numbers.truncations
    ]


def streams_of(numbers: Numbers) -> dict[str, list[Result]]:
    """The results, a table a stream."""
    tables: dict[str, list[Result]] = {}
    for result in numbers.results:
        tables.setdefault(result.stream, []).append(result)
    return tables


def as_json(about: About, numbers: Numbers) -> dict[str, Any]:
    """The run as data."""
    return {
        **asdict(about),
        "goals": [{**asdict(goal), "verdict": goal.verdict} for goal in goals(numbers)],
        "results": [asdict(result) for result in numbers.results],
        "truncation": [
            {name: _number(value) for name, value in asdict(one).items()} | {"ratio": one.ratio}
            for one in numbers.truncations
        ],
        "start": asdict(numbers.start) if numbers.start else None,
    }


def _number(value: Any) -> Any:
    """JSON has no NaN."""
    return None if isinstance(value, float) and math.isnan(value) else value


def page(about: About, numbers: Numbers, picture: str) -> str:
    """The run as Markdown; `picture` is the name of the file that the picture stands in."""
    reached = goals(numbers)
    judged = [goal for goal in reached if goal.met is not None]
    met = sum(goal.met is True for goal in judged)
    used = ", ".join(f"{name} {number}" for name, number in about.versions.items())
    command = "python benches/bench.py --quick --docs ..." if about.quick else "make bench"
    how_long = "A short run: the streams are cut and the numbers rough. " if about.quick else ""
    parts = [
        "# Benchmarks",
        f"Written by `{command}` on {about.date}, in one run of "
        f"{about.seconds:.0f} s. {how_long}{about.machine}; core {about.core}. {used}. "
        f"C by {about.compiler}.",
        f"![Nanoseconds a value]({picture})",
        "## How it is measured",
        METHOD.format(passes=about.passes),
        "## Goals",
        f"{met} of {len(judged)} met.",
        _table(GOALS_HEAD, [goal_row(goal) for goal in reached], texts=5),
    ]
    for stream, results in streams_of(numbers).items():
        parts += [
            f"## {stream}",
            f"{about.shapes.get(stream, '')}",
            _table(HEAD, [row(result) for result in results], texts=TEXTS),
        ]
    parts += [
        "## Truncation alone",
        "Processor time of an event when every column is known, and how much of it goes when all "
        "weights are kept instead: ours by `simulate`, a selection over all weights in C.",
        _table(TRUNCATION_HEAD, truncation_rows(numbers), texts=1),
    ]
    if numbers.start:
        parts += [
            "## Start",
            f"Wall time, the best of several: an interpreter that does nothing "
            f"{numbers.start.interpreter:.0f} ms, `import headwater` {numbers.start.importing:.0f} "
            f"ms more, the help of the command {numbers.start.help:.0f} ms in all.",
        ]
    missing = sorted({f"{one.who} ({one.missing})" for one in numbers.results if one.missing})
    parts += ["## Missing", "; ".join(missing) + "." if missing else "Nothing."]
    return "\n\n".join(part for part in parts if part) + "\n"


METHOD = """\
Every contestant predicts each event, then learns it, with a fresh model and the same seeded stream;
one that is slow gets fewer events, evenly spaced, and the column *events* says so. Every pass runs
in a process of its own, pinned to one core. The sides take turns, {passes} passes each, and the
best counts. Times are processor time of all threads.

- *door*: dicts are made shortly before they are used, fifty at a time, and making them is not
  timed; their names are the same text objects again and again, or, as *new texts*, objects never
  met before. CSR is handed over whole: `simulate`, `partial_fit`. A file is parsed too.
- *ns a value*: nanoseconds for each value stored in an event, all work included.
- *peak MB*: by how much the process outgrew what it was when its pass began (VmHWM over VmRSS): the
  model and what it works with, not the stream.
- *× floor*: the cost of C doing the same work is 1: PA-I or sparse FLLS-I in doubles, with a table
  of names or columns, a register and an indexed heap, compiled in the same run; it computes the
  same margins. The bare loop has no table and no register, and neither has Spring by its equations,
  which asks the same questions. What does something else is held against PA-I, or as a dict of
  another library against FLLS-I with half of the weights kept.
- *× River*: how many times as fast as River's `PAClassifier`, a value.
- *learned*: the share of the events whose label was asked for and learned."""


def _table(head: Iterable[str], rows: Iterable[tuple[str, ...]], texts: int) -> str:
    head = tuple(head)
    rule = ("---" if place < texts else "---:" for place in range(len(head)))
    lines = [head, tuple(rule), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines)


def picture(numbers: Numbers) -> str:
    """A bar a contestant, nanoseconds a value, as SVG: a row a stream, dicts to the left."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    style: Any = {
        "svg.hashsalt": "headwater",
        "svg.fonttype": "none",
        "font.family": "sans-serif",
        "font.size": 7,
    }
    tables = list(streams_of(numbers).items()) or [("nothing", [])]
    parts = [[_bars(results, dicts=True), _bars(results, dicts=False)] for _, results in tables]
    heights = [max(1, *(len(bars) for bars in row)) for row in parts]
    with rc_context(style):
        size = (11.0, 0.17 * sum(heights) + 0.6 * len(tables))
        drawn = Figure(figsize=size, layout="constrained")
        panels = drawn.subplots(len(tables), 2, squeeze=False, sharex="col", height_ratios=heights)
        for (stream, _), row, axes in zip(tables, parts, panels, strict=True):
            _panel(axes[0], f"{stream}, dict by dict", row[0])
            _panel(axes[1], f"{stream}, by batch or file", row[1])
        for place, axes in enumerate(panels[-1]):
            axes.set_xlabel("nanoseconds a value; shorter is faster")
            slowest = max((cost for row in parts for _, cost in row[place]), default=1.0)
            axes.set_xlim(1, 6 * slowest)  # of all panels above it
        text = io.StringIO()
        drawn.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    svg = text.getvalue()
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    label = 'role="img" aria-label="Nanoseconds a value, by stream and contestant"'
    return re.sub(r'width="[^"]*" height="[^"]*"', label, svg, count=1)


def _bars(results: list[Result], dicts: bool) -> list[tuple[Result, float]]:
    """Who is drawn in a panel, the slowest first."""
    found = [
        (one, one.ns_per_value)
        for one in results
        if one.ns_per_value is not None and one.door.startswith("dict") == dicts
    ]
    return sorted(found, key=lambda bar: -bar[1])


def _panel(axes: "Axes", title: str, bars: list[tuple[Result, float]]) -> None:
    places, costs = range(len(bars)), [cost for _, cost in bars]
    colours = [COLOURS.get(one.who, "#56b4e9") for one, _ in bars]
    axes.barh(places, costs, color=colours, height=0.75)
    axes.set_yticks(places, [f"{one.who}: {one.name}{_door(one)}" for one, _ in bars])
    axes.set_xscale("log")
    axes.minorticks_off()
    for place, cost in zip(places, costs, strict=True):
        axes.text(cost * 1.1, place, _shown(cost), va="center", fontsize=6)
    axes.set_ylim(-0.7, max(1, len(bars)) - 0.3)
    axes.set_title(title, fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)


def _door(result: Result) -> str:
    """The door, where the panel's title does not say it."""
    return "" if result.door in ("dict", "CSR") else f", {result.door.removeprefix('dict, ')}"
