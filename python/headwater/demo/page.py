"""The demo as one HTML page that needs nothing else: a picture as inline SVG, tables, one event."""

import io
import re
from html import escape
from string import Template
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headwater.demo.five_learners import (
    CHOSEN,
    DEAF,
    EVERY,
    HELD_OUT_EVENTS,
    NAMES,
    PUBLISHED,
    RANDOM,
    Demo,
)
from headwater.demo.tables import learner_table, sensor_table, verdict
from headwater.display import html
from headwater.types import TextTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = {
    EVERY: "#010101",
    PUBLISHED: "#010102",
    DEAF: "#010103",
    RANDOM: "#010104",
    CHOSEN: "#010105",
    "running": "#010106",
    "ended": "#010107",
    "ink": "#010108",
    "faint": "#010109",
}
"""Stand-ins for the colours of the page's style, which has others in the dark."""
POINTS = 400
"""Of a curve; more cannot be seen."""
WINDOWS = 25
"""The error rate is that of the last 1/25 of the stream."""
SENSORS_DRAWN = 48

PAGE = Template("""\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Headwater: one label in fifty</title>
<style>
:root { --ink: #1d2329; --faint: #626b75; --line: #d9dee3; --card: #f4f6f8; --page: #fff;
        --every: #737b84; --published: #a0307a; --deaf: #b85c00; --random: #0a7c66;
        --chosen: #0b6bb8; --running: #4f9ad6; --ended: #a3abb3; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ec; --faint: #9aa5b0; --line: #363e47; --card: #1d2329; --page: #14181c;
          --every: #9aa5b0; --published: #e07dc0; --deaf: #f0964a; --random: #45c8a8;
          --chosen: #5db2f2; --running: #3b86c4; --ended: #5d6771; }
}
body { font: 1rem/1.55 system-ui, sans-serif; color: var(--ink); background: var(--page);
       max-width: 54rem; margin: 0 auto; padding: 1rem 1.1rem 3rem; }
h1 { font-size: 1.7rem; line-height: 1.25; margin-bottom: .4rem; }
h2 { font-size: 1.2rem; margin: 2.4rem 0 .6rem; }
.lead { font-size: 1.08rem; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(10.5rem, 1fr)); gap: .7rem;
         padding: 0; margin: 1.4rem 0; list-style: none; }
.cards li { background: var(--card); border-radius: .5rem; padding: .7rem .9rem;
            border-left: .3rem solid var(--of); }
.cards b { display: block; font-size: 1.7rem; line-height: 1.2; }
.cards span { color: var(--faint); font-size: .9rem; display: block; line-height: 1.35; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .4rem .5rem; border-bottom: 1px solid var(--line); text-align: right; }
th { font-size: .85rem; vertical-align: bottom; color: var(--faint); font-weight: 600; }
th:first-child, td:first-child { text-align: left; }
.learners tbody tr:last-child { font-weight: 600; }
.event { background: var(--card); border-radius: .5rem; padding: .8rem 1rem; overflow-x: auto; }
.event table { width: auto; }
svg { width: 100%; height: auto; display: block; }
.narrow { display: none; }
code { background: var(--card); padding: .1rem .35rem; border-radius: .2rem; }
footer { margin-top: 2.5rem; color: var(--faint); font-size: .9rem; }
@media (max-width: 44rem) {
  .wide { display: none; }
  .narrow { display: block; }
  .learners thead { display: none; }
  .learners tr { display: block; padding: .5rem 0; border-bottom: 1px solid var(--line); }
  .learners td { display: flex; justify-content: space-between; border: 0; padding: .1rem 0; }
  .learners td::before { content: attr(data-head); color: var(--faint); font-weight: 400; }
  .learners td:first-child { font-weight: 600; }
  .learners td:first-child::before { content: none; }
}
</style>
</head>
<body>
<h1>One label in fifty, from sensors that come and go</h1>
<p class="lead">A network of sensors watches the air for incidents. Sensors are installed while it
runs, some fail, readings are missing, and only a person can say whether an event really was an
incident. Five learners run on the same $events events of a simulated network.</p>
<ul class="cards">
$cards
</ul>
<p>$verdict</p>
<h2>The sensors, and the error under them</h2>
$pictures
<p>Above: one line per sensor ($drawn of $sensors), from the event before which it is installed to
the last one that has it. Below: the mean of the error rates on incidents and on other events, over
the last $window events. Dashed lines: new sensors are installed.</p>
<h2>What each learner cost and achieved</h2>
<div class="learners">$learners</div>
<p>Balanced accuracy is the mean of the shares of incidents and of other events that are recognised.
It and the ROC AUC are measured on $held_out further events, with every sensor running. Missed
incidents and false alarms are counted on the stream, where each event is predicted before its label
is known. Linear learns every label. FLLS-I is a published algorithm; its query width was set on
another network, so that it asks for a tenth of the labels. The other three are Spring, the learner
that Headwater recommends: with labels that it chooses, with labels drawn at random, and without the
sensors that were installed later.</p>
<h2>One event explained</h2>
<p>Event $number was $truth. This is what each reading adds to the prediction of the recommended
learner, at the end of the stream: to the right for an incident, to the left against one. Names in
brackets are features that the learner adds to every event.</p>
<div class="event">$explained</div>
<h2>The running sensors that matter most to the recommended learner</h2>
$top
<p>Nobody announced these sensors to the learner. It uses a new one as soon as it has learned the
label of an event with it.</p>
<footer>Made by <code>$command</code>; the same seed gives the same page.</footer>
</body>
</html>
""")
SHOWN_AS = {
    CHOSEN: ("chosen", "with one label in fifty, chosen by the learner"),
    RANDOM: ("random", "with one label in fifty, drawn at random"),
    DEAF: ("deaf", "with labels as few, but deaf to sensors that were installed later"),
    EVERY: ("every", "with every label (Linear)"),
}
"""The learners that have a card: their colour and what the card says."""


def page(demo: Demo, command: str) -> str:
    """The page of a finished demo. It needs matplotlib.

    Parameters
    ----------
    demo
        The run to show.
    command
        The command that made it, printed at the foot.
    """
    event = demo.explained
    return PAGE.substitute(
        events=f"{demo.events:,}",
        held_out=f"{HELD_OUT_EVENTS:,}",
        cards=_cards(demo),
        verdict=escape(verdict(demo)),
        pictures=_pictures(demo),
        drawn=f"{len(_drawn(demo)):,}",
        sensors=f"{len(demo.sensors):,}",
        window=f"{_window(demo):,}",
        learners=_table(learner_table(demo)),
        number=f"{event.number + 1:,}",
        truth="an incident" if event.incident else "no incident",
        explained=html.explanation(event.explanation),
        top=_table(sensor_table(demo)),
        command=escape(command),
    )


def _cards(demo: Demo) -> str:
    """The balanced accuracy of four learners, in large figures."""
    parts = []
    for name, (colour, said) in SHOWN_AS.items():
        one = demo.outcome(name)
        parts.append(
            f'<li style="--of: var(--{colour})"><b>{100 * one.balanced_accuracy:.1f} %</b>'
            f"<span>balanced accuracy {said}: {one.labels:,} labels</span></li>"
        )
    return "\n".join(parts)


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


def _pictures(demo: Demo) -> str:
    """The picture twice: for a wide page, and for a phone, where letters would be too small."""
    wide = f'<div class="wide">{_picture(demo, (8.6, 5.6))}</div>'
    return f'{wide}\n<div class="narrow">{_picture(demo, (4.4, 5.6))}</div>'


def _picture(demo: Demo, size: tuple[float, float]) -> str:
    """The sensors' lives and the balanced error rate along the stream, as one SVG."""
    import matplotlib
    from matplotlib.figure import Figure

    ink, faint = COLOURS["ink"], COLOURS["faint"]
    style: Any = {
        "svg.fonttype": "none",
        "svg.hashsalt": f"headwater {size[0]}",  # so that no id occurs in both pictures
        "text.parse_math": False,
        "text.color": ink,
        "axes.labelcolor": ink,
        "axes.edgecolor": faint,
        "xtick.color": faint,
        "ytick.color": faint,
        "font.family": "sans-serif",
        "legend.frameon": False,
    }
    with matplotlib.rc_context(style):
        figure = Figure(figsize=size, layout="constrained")
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=(1, 1.25))
        _draw_lives(above, demo)
        _draw_error_rates(below, demo)
        columns = 2 if size[0] > 6 else 1
        figure.legend(*below.get_legend_handles_labels(), loc="outside lower center", ncols=columns)
        drawn = io.StringIO()
        figure.savefig(drawn, format="svg", metadata={"Date": None}, transparent=True)
    svg = drawn.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    for name, stand_in in COLOURS.items():
        svg = svg.replace(stand_in, f"var(--{SHOWN_AS.get(name, (_colour(name),))[0]})")
    ids = set(re.findall(r'\bid="([^"]*)"', svg))
    mark = "w" if size[0] > 6 else "n"
    svg = re.sub(
        r'(\bid="|href="#|url\(#)([^")]*)',
        lambda found: f"{found[1]}{mark}-{found[2]}" if found[2] in ids else found[0],
        svg,
    )
    title = "The sensors' lives as lines, and under them the error rate of each learner"
    label = f'role="img" aria-label="{escape(title)}"'
    return re.sub(r'width="[^"]*" height="[^"]*"', lambda _: label, svg, count=1)


def _colour(name: str) -> str:
    """The name in the style of a colour that has no card."""
    return "published" if name == PUBLISHED else name


def _drawn(demo: Demo) -> list[int]:
    """The sensors that are drawn, by number: spread evenly over those there are."""
    count = len(demo.sensors)
    places = np.linspace(0, count - 1, min(count, SENSORS_DRAWN)).astype(int)
    return [int(place) for place in np.unique(places)]


def _draw_lives(axes: "Axes", demo: Demo) -> None:
    order = sorted(demo.sensors, key=lambda one: (one.installed, str(one.name)))
    for row, place in enumerate(_drawn(demo)):
        one = order[place]
        end = demo.events if one.died is None else one.died
        colour = COLOURS["running" if one.died is None else "ended"]
        axes.plot(
            [one.installed, end],
            [row, row],
            color=colour,
            linewidth=2,
            solid_capstyle="butt",
            clip_on=False,
        )
    axes.set_yticks([])
    axes.set_ylabel("sensors")
    axes.spines[["top", "right", "bottom"]].set_visible(False)
    axes.tick_params(bottom=False)


def _window(demo: Demo) -> int:
    return max(1, demo.events // WINDOWS)


def _draw_error_rates(axes: "Axes", demo: Demo) -> None:
    window = _window(demo)
    at = _points(demo.events, first=window // 4)  # before that a rate is mostly chance
    for outcome in demo.outcomes:
        rate = 100 * trailing_balanced(outcome.mistakes, demo.incidents, window)[at]
        width = 2.4 if outcome.name == NAMES[-1] else 1.5
        axes.plot(at + 1, rate, color=COLOURS[outcome.name], label=outcome.name, linewidth=width)
    for wave in demo.waves[1:]:
        axes.axvline(wave, color=COLOURS["faint"], linewidth=0.7, linestyle="--", zorder=0)
    axes.set_ylim(bottom=0)
    axes.set_ylabel("balanced error rate, %")
    axes.set_xlabel("events")
    axes.set_xlim(0, demo.events)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.locator_params(axis="x", nbins=5)
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
