"""A study's figure: one panel per data set, one line per learner. It needs matplotlib."""

import io
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from headwater.studies.plan import Cell, Study
from headwater.studies.results import ResultStore

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = (
    *("#0072b2", "#d55e00", "#00664b", "#cc79a7", "#56b4e9", "#767676"),
    *("#e69f00", "#000000", "#8c564b", "#9467bd"),
)  # safe for the colour-blind, as far as ten can be
MARKERS = "os^vDPX*<>"
COLUMNS = 3

Point = tuple[float, float, float]
"""Where it stands, a mean, and the standard error of the mean."""


STYLE: Any = {
    "svg.hashsalt": "headwater",
    "svg.fonttype": "none",
    "pdf.fonttype": 42,  # fonts as they are, not as outlines of type 3, which journals refuse
    "text.parse_math": False,  # a $ in a name is a $
    "font.family": "sans-serif",
    "font.size": 8,
}


@contextmanager
def drawing() -> Iterator[None]:
    """Draw in the style of all figures of studies."""
    from matplotlib import rc_context

    with rc_context(STYLE):
        yield


def figures(study: Study, store: ResultStore) -> dict[str, str]:
    """The study's figures by name, as SVG."""
    return {name: as_svg(one, study.title) for name, one in drawings(study, store).items()}


def figure(study: Study, store: ResultStore) -> str:
    """The figure as SVG; empty if the study draws none or has nothing to draw yet."""
    drawn = draw(study, store)
    return "" if drawn is None else as_svg(drawn, study.title)


def drawings(study: Study, store: ResultStore) -> dict[str, "Figure"]:
    """The study's figures by name; of label rates, also of delays if there are some."""
    kinds = [study.figure]
    if study.figure == "rates" and any(labels.delay for labels in study.labels):
        kinds.append("delays")
    drawn = {kind: draw(replace(study, figure=kind), store) for kind in kinds}
    return {kind: one for kind, one in drawn.items() if one is not None}


def draw(study: Study, store: ResultStore) -> "Figure | None":
    """The figure; None if the study draws none or has nothing to draw yet."""
    if not study.figure:
        return None
    panels = {data.name: _lines(study, store, data.name) for data in study.data}
    lines = {name: found for name, found in panels.items() if any(found.values())}
    if not lines:
        return None
    height = -(-len(lines) // COLUMNS)
    with drawing():
        from matplotlib.figure import Figure

        drawn = Figure(figsize=(9.5, 2.5 * height + 0.9), layout="constrained")
        places = np.atleast_1d(drawn.subplots(height, COLUMNS, squeeze=False)).ravel()
        for axes, (name, found) in zip(places, lines.items(), strict=False):
            _panel(axes, study, name, found)
        for axes in places[len(lines) :]:
            axes.set_axis_off()
        handles: dict[str, Any] = {}
        for axes in places:
            for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
                handles.setdefault(label, handle)
        drawn.legend(
            list(handles.values()),
            list(handles),
            loc="outside upper center",
            ncols=min(6, len(handles)),
        )
    return drawn


def as_svg(drawn: "Figure", title: str) -> str:
    """A figure as SVG that can be a part of a page, the same bytes every time."""
    text = io.StringIO()
    with drawing():
        drawn.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    svg = text.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    label = f'role="img" aria-label="{escape(title)}"'
    return re.sub(r'width="[^"]*" height="[^"]*"', lambda _: label, svg, count=1)


def as_pdf(drawn: "Figure") -> bytes:
    """A figure as PDF, the same bytes every time."""
    content = io.BytesIO()
    none: Any = {"CreationDate": None, "Creator": None, "Producer": None}
    with drawing():
        drawn.savefig(content, format="pdf", metadata=none)
    return content.getvalue()


def _lines(study: Study, store: ResultStore, data: str) -> dict[str, list[Point]]:
    """What is drawn of a data set: the points of each line."""
    lines: dict[str, list[Point]] = {}
    several = len({cell.stream for cell in study.cells() if cell.data == data}) > 1
    for cell in study.cells():
        if cell.data != data or not _is_drawn(study, cell):
            continue
        plan = study.learner_plan(cell.learner)
        name = cell.learner if _along(study) is not _parameter else plan.printed
        if several:
            name = f"{name}, {cell.stream}"
        if study.figure == "delays" and (cell.labels.wrong or cell.labels.never):
            name = f"{name}, bad answers"
        lines.setdefault(name, []).extend(_along(study)(study, store, cell))
    return lines


def _is_drawn(study: Study, cell: Cell) -> bool:
    """Rates are drawn for labels as they come first, delays for the rates that have several."""
    if study.figure == "rates":
        return cell.labels == study.labels[0]
    limited = {rate for labels in study.labels for rate in labels.label_rates}
    is_baseline = cell.learner == study.baseline
    return study.figure != "delays" or not limited or is_baseline or cell.rate in limited


def _along(study: Study) -> Callable[[Study, ResultStore, Cell], list[Point]]:
    kinds: dict[str, Any] = {"rates": _rate, "delays": _delay, "time": _time, "loss": _time}
    return kinds.get(study.figure, _parameter)  # type: ignore[no-any-return]


def _rate(study: Study, store: ResultStore, cell: Cell) -> list[Point]:
    rate = store.summary(cell, "label_rate")
    return [] if rate is None else _point(study, store, cell, 100 * rate.mean)


def _delay(study: Study, store: ResultStore, cell: Cell) -> list[Point]:
    return _point(study, store, cell, float(cell.labels.delay))


def _parameter(study: Study, store: ResultStore, cell: Cell) -> list[Point]:
    value = study.learner_plan(cell.learner).parameters.get(study.figure)
    return [] if value is None else _point(study, store, cell, float(value))


def _point(study: Study, store: ResultStore, cell: Cell, place: float) -> list[Point]:
    found = store.summary(cell, study.score)
    if found is None:
        return []
    error = store.error(cell, study.score)
    return [(place, found.mean, 0.0 if error != error else error)]


def _time(study: Study, store: ResultStore, cell: Cell) -> list[Point]:
    curve = store.curve(cell)
    return [((place + 1) / len(curve), value, 0.0) for place, value in enumerate(curve)]


def _panel(axes: "Axes", study: Study, name: str, lines: dict[str, list[Point]]) -> None:
    for place, (label, points) in enumerate(lines.items()):
        if not points:
            continue
        x, y, error = np.array(sorted(points)).T
        colour = COLOURS[place % len(COLOURS)]
        marker = "" if study.figure in ("time", "loss") else MARKERS[place % len(MARKERS)]
        if label == study.baseline and len(points) == 1:
            axes.axhline(y[0], color=colour, linewidth=1.0, linestyle="--", label=label)
            continue
        axes.plot(x, y, color=colour, marker=marker, markersize=3, linewidth=1.1, label=label)
        if error.any():
            axes.fill_between(x, y - error, y + error, color=colour, alpha=0.15, linewidth=0)
    axes.set_title(name, fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xlabel(_x_label(study))
    axes.set_ylabel(_y_label(study))
    if study.figure == "delays":
        axes.set_xscale("symlog", linthresh=10)
    elif study.figure == "C" or (study.figure == "rates" and study.baseline):
        axes.set_xscale("log")
    if axes.get_xscale() != "linear":
        axes.xaxis.set_major_formatter("{x:g}")  # that of matplotlib is a formula


def _x_label(study: Study) -> str:
    words = {
        "rates": "labels asked for, %",
        "delays": "delay, events",
        "time": "share of the stream",
        "loss": "share of the second phase",
    }
    return words.get(study.figure, study.figure)


def _y_label(study: Study) -> str:
    words = {"time": "error rate so far", "loss": "mean loss so far"}
    return words.get(study.figure, study.score.replace("_", " "))
