"""Spark lines, curves and meters as SVG: numbers in attributes, colours in the style sheet."""

import math
from collections.abc import Sequence
from datetime import datetime, tzinfo
from typing import NamedTuple

from markupsafe import Markup, escape

SPARK = (96.0, 24.0)
CURVES = (("large", 1000.0, 240.0), ("small", 360.0, 200.0))
"""The same curve for a desk and for a phone, so that what is written in it is as large in both."""
EDGES = (44.0, 12.0, 12.0, 26.0)
"""Left, right, top and bottom margin of a curve, for its scales."""


class CurvePoint(NamedTuple):
    """A value at a time, and the interval around it if there is one."""

    time: float
    value: float
    low: float | None = None
    high: float | None = None


class Mark(NamedTuple):
    """Something that happened at a time: drawn as a dot of the colour of its kind."""

    time: float
    kind: str
    text: str


def spark(values: Sequence[float], here: float | None = None) -> Markup:
    """A small line of recent values; the dot is the value that it is about.

    Examples
    --------
    >>> str(spark([])).count("class=\\"rest\\"")
    1
    >>> "<circle" in spark([1.0, 2.0], here=3.0)
    True
    """
    width, height = SPARK
    known = [value for value in values if math.isfinite(value)]
    everything = known if here is None or not math.isfinite(here) else [*known, here]
    begin = f'<svg class="spark" viewBox="0 0 {width:g} {height:g}" aria-hidden="true">'
    if not everything:
        middle = height / 2
        return Markup(
            f'{begin}<line class="rest" x1="0" x2="{width:g}" y1="{middle}" y2="{middle}"/></svg>'
        )
    low, high = min(everything), max(everything)

    def y(value: float) -> float:
        height_of_all = high / 2 - low / 2
        share = (value / 2 - low / 2) / height_of_all if height_of_all else 0.5
        return height - 4 - share * (height - 8)

    right = width - 6
    parts = [begin]
    if len(known) > 1:
        step = right / (len(known) - 1)
        points = " ".join(f"{i * step:.1f},{y(value):.1f}" for i, value in enumerate(known))
        parts.append(f'<polyline points="{points}"/>')
    elif known and here is None:
        parts.append(f'<circle class="only" cx="{right:g}" cy="{y(known[0]):.1f}" r="2.5"/>')
    if here is not None and math.isfinite(here):
        parts.append(f'<circle class="here" cx="{right:g}" cy="{y(here):.1f}" r="3"/>')
    parts.append("</svg>")
    return Markup("".join(parts))


def ticks(low: float, high: float, wanted: int = 4) -> list[float]:
    """Round numbers from `low` to `high`, about `wanted` of them.

    Examples
    --------
    >>> ticks(0, 0.35)
    [0.0, 0.1, 0.2, 0.3]
    """
    if not high > low:
        return [low]
    rough = (high - low) / wanted
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(size * factor for factor in (1, 2, 2.5, 5, 10) if size * factor >= rough * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(i * step, 12) for i in range(first, last + 1)]


def clock_times(begin: float, end: float, zone: tzinfo | None) -> list[tuple[float, str]]:
    """Times for the lower edge of a curve, with what to write there."""
    span = end - begin
    forms = ((600, "%H:%M:%S"), (86_400, "%H:%M"), (3 * 86_400, "%d %b %H:%M"))
    form = next((form for most, form in forms if span < most), "%d %b")
    times = [begin + span * share for share in (0.0, 0.25, 0.5, 0.75, 1.0)]
    return [(at, datetime.fromtimestamp(at, zone).strftime(form)) for at in times]


def curve(
    points: Sequence[CurvePoint],
    *,
    title: str,
    percent: bool = False,
    marks: Sequence[Mark] = (),
    zone: tzinfo | None = None,
) -> Markup:
    """A line over time with its interval as a band, and what happened as dots on its lower edge.

    It is drawn for a desk and for a phone; the style sheet shows one of them.
    """
    return Markup().join(
        _curve(points, (width, height), kind, title, percent, marks, zone)
        for kind, width, height in CURVES
    )


def _curve(
    points: Sequence[CurvePoint],
    size: tuple[float, float],
    kind: str,
    title: str,
    percent: bool,
    marks: Sequence[Mark],
    zone: tzinfo | None,
) -> Markup:
    width, height = size
    left, right, top, bottom = EDGES
    begin, end = points[0].time, points[-1].time
    end = end if end > begin else begin + 1.0
    most = max([p.value if p.high is None else p.high for p in points] + [1e-9])
    steps = ticks(0.0, most * 1.02)
    most = max(most, steps[-1])

    def x(time: float) -> str:
        share = min(max((time - begin) / (end - begin), 0.0), 1.0)
        return f"{left + share * (width - left - right):.1f}"

    def y(value: float) -> str:
        return f"{height - bottom - value / most * (height - top - bottom):.1f}"

    def point(time: float, value: float) -> str:
        return f"{x(time)},{y(value)}"

    parts = [
        f'<svg class="curve {kind}" viewBox="0 0 {width:g} {height:g}" role="img"'
        f' aria-label="{escape(title)}">'
    ]
    digits = 0 if most >= 0.04 else 1
    for step in steps:
        written = f"{step * 100:.{digits}f} %" if percent else f"{step:g}"
        parts.append(
            f'<line class="grid" x1="{left:g}" x2="{width - right:g}"'
            f' y1="{y(step)}" y2="{y(step)}"/>'
            f'<text x="{left - 8:g}" y="{y(step)}" dy="4" text-anchor="end">{written}</text>'
        )
    times = clock_times(begin, end, zone)[:: 1 if width > 500 else 2]
    for i, (time, written) in enumerate(times):
        anchor = "start" if i == 0 else "end" if i == len(times) - 1 else "middle"
        parts.append(
            f'<text x="{x(time)}" y="{height - 6:g}" text-anchor="{anchor}">{written}</text>'
        )
    banded = [(p.time, p.low, p.high) for p in points if p.low is not None and p.high is not None]
    if len(banded) > 1:
        edge = [point(time, high) for time, _, high in banded]
        edge += [point(time, low) for time, low, _ in reversed(banded)]
        parts.append(f'<polygon class="band" points="{" ".join(edge)}"/>')
    line = " ".join(point(p.time, p.value) for p in points)
    parts.append(f'<polyline class="line" points="{line}"/>')
    last = points[-1]
    parts.append(f'<circle class="dot" cx="{x(last.time)}" cy="{y(last.value)}" r="4.5"/>')
    parts += [
        f'<circle class="{escape(mark.kind)}" cx="{x(mark.time)}" cy="{height - bottom:g}" r="3.5">'
        f"<title>{escape(mark.text)}</title></circle>"
        for mark in marks
        if begin <= mark.time <= end
    ]
    parts.append("</svg>")
    return Markup("".join(parts))


def meter(part: float, whole: float, *, title: str) -> Markup:
    """How much of a whole is used.

    Examples
    --------
    >>> 'width="50.0"' in meter(1, 2, title="1 of 2")
    True
    """
    share = 0.0 if whole <= 0 else min(max(part / whole, 0.0), 1.0)
    low = " low" if share > 0.9 else ""
    return Markup(
        f'<svg class="meter{low}" viewBox="0 0 100 4" preserveAspectRatio="none" role="img"'
        f' aria-label="{escape(title)}">'
        f'<rect width="{share * 100:.1f}" height="4"/></svg>'
    )
