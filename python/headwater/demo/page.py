"""The demo as one HTML page that needs nothing else: tables, and plots as inline SVG."""

import io
import re
from html import escape
from string import Template
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from headwater.demo.five_learners import HELD_OUT_EVENTS, Demo
from headwater.demo.tables import learner_table, sensor_table, verdict
from headwater.types import TextTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = (
    "#767676",
    "#d55e00",
    "#0072b2",
    "#a0307a",
    "#00664b",
)  # dark on white, safe for the colour-blind
POINTS = 400  # of a curve; more cannot be seen
WINDOWS = 25  # the error rate is that of the last 1/25 of the stream

PAGE = Template("""\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Headwater: one label in fifty</title>
<style>
body { font: 1rem/1.55 system-ui, sans-serif; color: #1a1a1a; background: #fff;
       max-width: 52rem; margin: 0 auto; padding: 1rem 1.1rem 3rem; }
h1 { font-size: 1.7rem; line-height: 1.25; }
h2 { font-size: 1.15rem; margin-top: 2.2rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .4rem .5rem; border-bottom: 1px solid #ddd; text-align: right; }
th { font-size: .85rem; vertical-align: bottom; color: #555; }
th:first-child, td:first-child { text-align: left; }
td { white-space: nowrap; }
.learners tbody tr:last-child { font-weight: 600; }
svg { width: 100%; max-width: 40rem; height: auto; display: block; }
code { background: #f3f3f3; padding: .1rem .35rem; border-radius: .2rem; }
footer { margin-top: 2.5rem; color: #555; font-size: .9rem; }
@media (max-width: 44rem) {
  .learners thead { display: none; }
  .learners tr { display: block; padding: .5rem 0; border-bottom: 1px solid #ddd; }
  .learners td { display: flex; justify-content: space-between; border: 0; padding: .1rem 0; }
  .learners td::before { content: attr(data-head); color: #555; font-weight: 400; }
  .learners td:first-child { font-weight: 600; }
  .learners td:first-child::before { content: none; }
}
@media (prefers-color-scheme: dark) {
  body { color: #e6e6e6; background: #15181c; }
  th, footer, .learners td::before { color: #a5adb5; }
  th, td, .learners tr { border-color: #3a4048; }
  code { background: #262b31; }
  svg { background: #fff; border-radius: .4rem; padding: .4rem; box-sizing: border-box; }
}
</style>
</head>
<body>
<h1>One label in fifty, from sensors that come and go</h1>
<p>A network monitors the air for incidents. Its sensors are installed while it is running, some
fail, readings are missing, and only a person can say whether an event really was an incident.
Headwater learns from such streams: every event may carry any features, and the learner decides
which events are worth a person's time. Here five learners run on the same $events events of a
simulated network: one gets every label, three choose which tenth to ask for, and one uses only one
label in fifty.</p>
<p>$verdict</p>
<h2>Cost and result of each learner</h2>
<div class="learners">$learners</div>
<p>Balanced accuracy and ROC AUC are measured on $held_out events that no learner has learned, with
every sensor running; incidents missed and false alarms are counted on the stream, before the label
is known. Spring is the learner that Headwater recommends; it weights both classes equally, so that
rare incidents count as much as the many events without one. Linear is made of components that you
choose, here with two query rules: every label, and a budget. FLLS-I is a published algorithm:
passive-aggressive steps, half of the weights kept, questions where it is unsure; its query width
was set on another network so that it asks for a tenth of the labels. All other parameters have
their defaults.</p>
<h2>Errors and labels along the stream</h2>
$plots
<h2>The running sensors that matter most to the recommended learner</h2>
$sensors
<p>These sensors were not announced to the learner: a new feature is used as soon as the first label
is learned from it.</p>
<footer>Made by <code>$command</code>; the same seed gives the same page, except for the
events per second.</footer>
</body>
</html>
""")


def page(demo: Demo, command: str) -> str:
    """The page of a finished demo. It needs matplotlib.

    Parameters
    ----------
    demo
        The run to show.
    command
        The command that made it, printed at the foot.
    """
    return PAGE.substitute(
        events=f"{demo.events:,}",
        held_out=f"{HELD_OUT_EVENTS:,}",
        verdict=escape(verdict(demo)),
        learners=_table(learner_table(demo)),
        sensors=_table(sensor_table(demo)),
        plots=_plots(demo),
        command=escape(command),
    )


def _table(table: TextTable) -> str:
    head = "".join(f"<th>{escape(text)}</th>" for text in table.head)
    rows = "\n".join(
        "<tr>"
        + "".join(
            f'<td data-head="{escape(title)}">{escape(text)}</td>'
            for title, text in zip(table.head, row, strict=True)
        )
        + "</tr>"
        for row in table.rows
    )
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>"


def _plots(demo: Demo) -> str:
    """Balanced error rate and labels asked for along the stream, as one SVG."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(
        {"svg.fonttype": "none", "svg.hashsalt": "headwater", "text.parse_math": False}
    ):
        figure = Figure(figsize=(5.4, 6.6), layout="constrained")
        above, below = figure.subplots(2, 1, sharex=True)
        _draw_error_rates(above, demo)
        _draw_labels(below, demo)
        figure.legend(*above.get_legend_handles_labels(), loc="outside upper center", ncols=2)
        drawn = io.StringIO()
        figure.savefig(drawn, format="svg", metadata={"Date": None})
    svg = drawn.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    title = "Balanced error rate and labels asked for along the stream, for each learner"
    label = f'role="img" aria-label="{escape(title)}"'
    return re.sub(r'width="[^"]*" height="[^"]*"', lambda _: label, svg, count=1)


def _draw_error_rates(axes: "Axes", demo: Demo) -> None:
    window = max(1, demo.events // WINDOWS)
    at = _points(demo.events, first=window // 4)  # before that a rate is mostly chance
    for outcome, colour in zip(demo.outcomes, COLOURS, strict=True):
        rate = 100 * trailing_balanced(outcome.mistakes, demo.incidents, window)[at]
        axes.plot(at + 1, rate, color=colour, label=outcome.name, linewidth=1.6)
    axes.set_ylim(bottom=0)
    axes.set_ylabel(f"balanced error rate, last {window:,} events, %")
    _finish(axes, demo)


def _draw_labels(axes: "Axes", demo: Demo) -> None:
    at = _points(demo.events)
    for outcome, colour in zip(demo.outcomes, COLOURS, strict=True):
        axes.plot(at + 1, np.cumsum(outcome.asked)[at], color=colour, linewidth=1.6)
    # To show the others, the learner with every label is cut off at the top of the plot.
    top = 1.5 * max(outcome.labels for outcome in demo.outcomes[1:])
    axes.set_ylim(0, top)
    every = demo.outcomes[0].labels
    axes.annotate(
        f"every label: {every:,} at the end",
        (top, top),
        (6, -14),
        textcoords="offset points",
        color=COLOURS[0],
    )
    axes.set_ylabel("labels asked for so far")
    axes.set_xlabel("events")
    _finish(axes, demo)


def _finish(axes: "Axes", demo: Demo) -> None:
    for count, wave in enumerate(demo.waves[1:]):
        label = None if count else "new sensors installed"  # once in the legend
        axes.axvline(wave, color="#999", linewidth=0.8, linestyle="--", zorder=0, label=label)
    axes.set_xlim(0, demo.events)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.spines[["top", "right"]].set_visible(False)


def _points(events: int, first: int = 0) -> NDArray[np.intp]:
    """The events at which a curve is drawn."""
    return np.unique(np.linspace(first, events - 1, min(events, POINTS)).astype(np.intp))


def trailing_balanced(
    mistakes: NDArray[np.bool_], incidents: NDArray[np.bool_], window: int
) -> NDArray[np.float64]:
    """The mean of the error rates on incidents and on other events, over the last `window` events.

    A class that does not occur there counts as without errors.

    Examples
    --------
    >>> mistakes, incidents = np.array([[True, False, False, True], [True, True, False, False]])
    >>> trailing_balanced(mistakes, incidents, window=4).tolist()
    [0.5, 0.25, 0.25, 0.5]
    """
    shares = [
        (trailing_mean(mistakes & kind, window), trailing_mean(kind, window))
        for kind in (incidents, ~incidents)
    ]
    rates = [wrong / np.where(all_of_it > 0, all_of_it, 1.0) for wrong, all_of_it in shares]
    return np.asarray((rates[0] + rates[1]) / 2, dtype=np.float64)


def trailing_mean(values: NDArray[np.bool_], window: int) -> NDArray[np.float64]:
    """The mean of the last `window` values at each place; of fewer at the beginning.

    Examples
    --------
    >>> trailing_mean(np.array([True, False, False, True]), window=2).tolist()
    [1.0, 0.5, 0.0, 0.5]
    """
    total = np.concatenate([[0], np.cumsum(values)])
    end = np.arange(1, len(total))
    begin = np.maximum(0, end - window)
    return np.asarray((total[end] - total[begin]) / (end - begin), dtype=np.float64)
