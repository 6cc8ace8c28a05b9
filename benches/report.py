"""The page and the picture of a run. Every number in them was measured by it."""

import io
import math
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from goals import Goal, Numbers, goals
from sizes import HEAD as SIZES_HEAD
from turns import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HEAD = (
    *("who", "what", "input", "events", "events per second", "ns per value", "peak MB"),
    *("× floor", "× River", "learned"),
)
TEXTS = 3  # columns of HEAD that are texts
GOALS_HEAD = ("path", "stream", "goal", "measured", "")
COMPARISONS_HEAD = ("path", "stream", "measured", "compared with")
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


def comparison_row(goal: Goal) -> tuple[str, ...]:
    """A line of the page's table of comparisons."""
    return (goal.path, goal.stream, goal.measured.removesuffix(" as fast"), goal.beside)


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


def size_rows(numbers: Numbers) -> list[tuple[str, ...]]:
    """The lines of the table of sizes."""
    return [(one.what, _shown(one.measured), one.unit) for one in numbers.sizes]


def streams_of(numbers: Numbers) -> dict[str, list[Result]]:
    """The results, one table per stream."""
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
        "sizes": [one._asdict() for one in numbers.sizes],
        "start": asdict(numbers.start) if numbers.start else None,
    }


def _number(value: Any) -> Any:
    """JSON has no NaN."""
    return None if isinstance(value, float) and math.isnan(value) else value


def page(about: About, numbers: Numbers, picture: str) -> str:
    """The run as Markdown; `picture` is the name of the file that the picture stands in."""
    compared = [comparison_row(goal) for goal in goals(numbers) if goal.beside]
    used = ", ".join(f"{name} {number}" for name, number in about.versions.items())
    command = "python benches/bench.py --quick --docs ..." if about.quick else "make bench"
    how_long = "A short run: the streams are cut and the numbers rough. " if about.quick else ""
    parts = [
        "# Benchmarks",
        f"Written by `{command}` on {about.date}, in one run of "
        f"{about.seconds:.0f} s. {how_long}{about.machine}; core {about.core}. {used}. "
        f"C by {about.compiler}.",
        f"![Nanoseconds per value]({picture})",
        "## How it is measured",
        METHOD.format(passes=about.passes),
        "## Comparisons",
        _table(COMPARISONS_HEAD, compared, texts=4),
    ]
    for stream, results in streams_of(numbers).items():
        parts += [
            f"## {stream}",
            f"{about.shapes.get(stream, '')}",
            _table(HEAD, [row(result) for result in results], texts=TEXTS),
        ]
    parts += [
        "## Truncation alone",
        "Processor time per event when every column is known, and the part of it that is saved if "
        "all weights are kept: ours by `simulate`, a selection over all weights in C.",
        _table(TRUNCATION_HEAD, truncation_rows(numbers), texts=1),
    ]
    if numbers.sizes:
        parts += [
            "## Sizes",
            "Wall time: events of some lengths with all names known, numbers of classes, a whole "
            "model, two cores. What an event costs before its first value follows from events of 1 "
            "and of 200 values.",
            _table(SIZES_HEAD, size_rows(numbers), texts=1),
        ]
    if numbers.start:
        parts += [
            "## Start-up time",
            f"Wall time, the best of several runs: an interpreter that does nothing takes "
            f"{numbers.start.interpreter:.0f} ms, `import headwater` {numbers.start.importing:.0f} "
            f"ms more, the help of the command {numbers.start.help:.0f} ms in total.",
        ]
    missing = sorted({f"{one.who} ({one.missing})" for one in numbers.results if one.missing})
    parts += ["## Missing programs", "; ".join(missing) + "." if missing else "None."]
    return "\n\n".join(part for part in parts if part) + "\n"


METHOD = """\
Every program predicts each event and then learns it, with a new model and the same seeded stream. A
slow program gets fewer events, evenly spaced; the column *events* shows how many. Every pass runs
in a process of its own, pinned to one core. The programs take turns, {passes} passes each, and the
best pass counts. Times are processor time of all threads.

- *input*: dicts are made shortly before they are used, fifty at a time, and making them is not
  timed. Their names are the same string objects each time, or, as *new texts*, objects that never
  occurred before. CSR is passed as a whole to `simulate` or `partial_fit`. For a file, parsing is
  included.
- *ns per value*: nanoseconds for each value stored in an event, all work included.
- *peak MB*: how much the process grew beyond its size when the pass began (VmHWM over VmRSS): the
  model and its working memory, not the stream.
- *× floor*: the cost divided by that of a C program doing the same work: PA-I or sparse FLLS-I in
  doubles, with a table of names or columns, a feature history and an indexed heap. It is compiled
  in the same run and computes the same margins. The bare loop has no table and no feature history.
  Learners without a C program of their own are compared with PA-I in C; other libraries that take
  dicts are compared with FLLS-I in C, half of the weights kept.
- *× River*: how many times as fast as River's `PAClassifier`, per value.
- *learned*: the share of the events whose label was asked for and learned."""


def _table(head: Iterable[str], rows: Iterable[tuple[str, ...]], texts: int) -> str:
    head = tuple(head)
    rule = ("---" if place < texts else "---:" for place in range(len(head)))
    lines = [head, tuple(rule), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines)


def picture(numbers: Numbers) -> str:
    """One bar per program, nanoseconds per value, as SVG: one row per stream, dicts on the left."""
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
            axes.set_xlabel("nanoseconds per value; shorter is faster")
            slowest = max((cost for row in parts for _, cost in row[place]), default=1.0)
            axes.set_xlim(1, 6 * slowest)  # of all panels above it
        text = io.StringIO()
        drawn.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    svg = text.getvalue()
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    label = 'role="img" aria-label="Nanoseconds per value, by stream and program"'
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
    axes.xaxis.set_major_formatter("{x:g}")  # that of matplotlib is a formula
    axes.minorticks_off()
    for place, cost in zip(places, costs, strict=True):
        axes.text(cost * 1.1, place, _shown(cost), va="center", fontsize=6)
    axes.set_ylim(-0.7, max(1, len(bars)) - 0.3)
    axes.set_title(title, fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)


def _door(result: Result) -> str:
    """The door, where the panel's title does not say it."""
    return "" if result.door in ("dict", "CSR") else f", {result.door.removeprefix('dict, ')}"
