"""Spark lines, curves and meters as SVG: numbers in attributes, colours in the style sheet."""

import math
from collections.abc import Mapping, Sequence
from datetime import datetime, tzinfo
from typing import NamedTuple

from markupsafe import Markup, escape

SPARK = (96.0, 24.0)
CURVES = (("large", 1000.0, 240.0), ("small", 360.0, 200.0))
"""The same curve for a desk and for a phone, so that what is written in it is as large in both."""
EDGES = (44.0, 12.0, 12.0, 26.0)
"""Left, right, top and bottom margin of a curve, for its scales."""
LANE = 22.0
"""The height of a lane for marks."""
LETTER = 6.4
"""About the width of a letter in a drawing."""
SHAPES = {
    "born": '<path class="born" d="M0-4.6 4.6 3.8h-9.2z"/>',
    "silent": '<circle class="silent" r="3.8"/>',
    "changed": '<path class="changed" d="M0-4.8 4.8 0 0 4.8-4.8 0z"/>',
    "gone": '<path class="gone" d="M-3.4-3.4 3.4 3.4M3.4-3.4-3.4 3.4"/>',
}
"""What is drawn for a mark of a kind: told apart by form, not by colour alone."""


class CurvePoint(NamedTuple):
    """A value at a time, and the interval around it if there is one."""

    time: float
    value: float
    low: float | None = None
    high: float | None = None


class Mark(NamedTuple):
    """Something that happened at a time: drawn with the shape and colour of its kind."""

    time: float
    kind: str
    text: str
    name: str = ""


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


def clock_times(begin: float, end: float) -> tuple[str, list[float]]:
    """Times for the lower edge of a curve, and the form in which to write them."""
    span = end - begin
    forms = ((600, "%H:%M:%S"), (86_400, "%H:%M"), (3 * 86_400, "%d %b %H:%M"))
    form = next((form for most, form in forms if span < most), "%d %b")
    return form, [begin + span * share for share in (0.0, 0.25, 0.5, 0.75, 1.0)]


def _clock(begin: float, end: float, size: tuple[float, float], zone: tzinfo | None) -> str:
    """The times below a drawing; a script writes them in the viewer's zone."""
    width, height = size
    left, right, *_ = EDGES
    form, times = clock_times(begin, end)
    times = times[:: 1 if width > 500 else 2]
    parts = []
    for i, time in enumerate(times):
        anchor = "start" if i == 0 else "end" if i == len(times) - 1 else "middle"
        x = left + (time - begin) / (end - begin) * (width - left - right)
        text = datetime.fromtimestamp(time, zone).strftime(form)
        parts.append(
            f'<text x="{x:.1f}" y="{height - 6:g}" text-anchor="{anchor}"'
            f' data-at="{time:.0f}" data-form="{form}">{text}</text>'
        )
    return "".join(parts)


def shape(kind: str) -> Markup:
    """The shape of a kind of mark, for a legend."""
    return Markup(
        f'<svg class="shape" viewBox="-6 -6 12 12" aria-hidden="true">{SHAPES[kind]}</svg>'
    )


def _placed(mark: Mark, x: str | float, y: float) -> str:
    return (
        f'<g transform="translate({x} {y:g})">{SHAPES[mark.kind]}'
        f"<title>{escape(mark.text)}</title></g>"
    )


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
    parts.append(_clock(begin, end, size, zone))
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
        _placed(mark, x(mark.time), height - bottom) for mark in marks if begin <= mark.time <= end
    ]
    parts.append("</svg>")
    return Markup("".join(parts))


def strip(
    marks: Sequence[Mark],
    *,
    begin: float,
    end: float,
    lanes: Mapping[str, str],
    title: str,
    zone: tzinfo | None = None,
) -> Markup:
    """What happened lately: a lane per kind, marks at their times, names where there is room.

    Examples
    --------
    >>> drawn = strip([Mark(5.0, "born", "born: a", "a")], begin=0, end=9, lanes={"born": "came"},
    ...     title="Lately")
    >>> drawn.count("</svg>"), ">a</text>" in drawn  # for wide screens and for phones
    (2, True)
    """
    return Markup().join(
        _strip(marks, begin, max(end, begin + 1.0), lanes, title, (kind, width), zone)
        for kind, width, _ in CURVES
    )


def _strip(
    marks: Sequence[Mark],
    begin: float,
    end: float,
    lanes: Mapping[str, str],
    title: str,
    form: tuple[str, float],
    zone: tzinfo | None,
) -> Markup:
    kind, width = form
    left, right, top, bottom = EDGES
    left += 24
    height = top + LANE * len(lanes) + bottom
    parts = [
        f'<svg class="curve {kind}" viewBox="0 0 {width:g} {height:g}" role="img"'
        f' aria-label="{escape(title)}">'
    ]
    for i, (lane, name) in enumerate(lanes.items()):
        y = top + LANE * (i + 0.5)
        parts.append(
            f'<line class="grid" x1="{left:g}" x2="{width - right:g}" y1="{y:g}" y2="{y:g}"/>'
            f'<text x="{left - 10:g}" y="{y:g}" dy="4" text-anchor="end">{escape(name)}</text>'
        )
        here = sorted((one for one in marks if one.kind == lane), key=lambda one: one.time)
        places = [
            left + (one.time - begin) / (end - begin) * (width - left - right) for one in here
        ]
        free = left
        for j, (mark, x) in enumerate(zip(here, places, strict=True)):
            parts.append(_placed(mark, f"{x:.1f}", y))
            following = places[j + 1] if j + 1 < len(places) else width
            needed = LETTER * len(mark.name) + 12
            if x + needed <= following - 6 and x + needed <= width:
                parts.append(_name(mark, x + 8, y, "start"))
                free = x + needed
            elif free + needed <= x:
                parts.append(_name(mark, x - 8, y, "end"))
                free = x + 8
            else:
                free = x + 8
    shifted = (width - 24, height)
    parts.append(f'<g transform="translate(24 0)">{_clock(begin, end, shifted, zone)}</g></svg>')
    return Markup("".join(parts))


def _name(mark: Mark, x: float, y: float, anchor: str) -> str:
    return (
        f'<text class="name" x="{x:.1f}" y="{y:g}" dy="4" text-anchor="{anchor}">'
        f"{escape(mark.name)}</text>"
    )


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
