"""The figures of `.plot()`, drawn by matplotlib, which is imported when one is asked for."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE, ORANGE, GREEN, GREY = "#0072b2", "#d55e00", "#009e73", "#888888"
"""Safe for the colour-blind; they can be read on white and on black."""
STATE_COLOURS = {"new": GREEN, "live": BLUE, "back": GREEN, "silent": "#e69f00", "gone": GREY}
MARKS = {"changed scale": ("D", ORANGE), "stuck": ("s", ORANGE), "replaced": ("^", GREEN)}


def axes_for(owner: str, ax: Any = None, height: float = 3.0) -> "Axes":
    """The axes to draw on: those given, or those of a new figure."""
    if ax is not None:
        return ax  # type: ignore[no-any-return]
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ImportError(f"{owner} needs matplotlib: pip install 'headwater[plots]'.") from None
    _, drawn = pyplot.subplots(figsize=(8.0, height), layout="constrained")
    return drawn


def _plain(axes: "Axes") -> "Axes":
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def curve(
    ax: Any, ends: Any, windows: Mapping[str, Any], tested: Mapping[str, Any], score: str
) -> "Axes":
    """A score of each window, and on test data at the end of each window if there is some."""
    axes = _plain(axes_for("Prequential.plot", ax))
    axes.plot(ends, windows[score], color=BLUE, marker="o", markersize=3, label="this window")
    if score in tested:
        axes.plot(ends, tested[score], color=ORANGE, marker="s", markersize=3, label="test data")
        axes.legend(frameon=False)
    axes.set_xlabel("events")
    axes.set_ylabel(score.replace("_", " "))
    axes.set_xlim(0, max(ends))
    return axes


def trace(ax: Any, asked: Any, wrong: Any, window: int) -> "Axes":
    """Shares of the latest `window` events: labels asked for and, if known, wrong predictions."""
    import numpy as np

    axes = _plain(axes_for("Trace.plot", ax))
    events = np.arange(1, len(asked) + 1)
    if wrong is not None:
        axes.plot(events, 100 * trailing(wrong, window), color=ORANGE, label="wrong predictions")
    axes.plot(events, 100 * trailing(asked, window), color=BLUE, label="labels asked for")
    axes.set_xlabel("events")
    axes.set_ylabel(f"% of the latest {window:,}")
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False)
    return axes


def trailing(values: Any, window: int) -> Any:
    """The mean of the latest `window` values at each place, of fewer at the beginning.

    Examples
    --------
    >>> trailing([1.0, 0.0, 0.0, 1.0], 2).tolist()
    [1.0, 0.5, 0.0, 0.5]
    """
    import numpy as np

    sums = np.concatenate([[0.0], np.cumsum(np.asarray(values, dtype=np.float64))])
    ends = np.arange(1, len(sums))
    starts = np.maximum(ends - window, 0)
    return (sums[ends] - sums[starts]) / (ends - starts)


def lives(ax: Any, rows: Sequence[Any], findings: Sequence[Any], end: float) -> "Axes":
    """One bar per feature, from its first arrival to its last; marks where something happened.

    `rows` are lives of features; positions are events.
    """
    axes = _plain(axes_for("Register.plot", ax, height=1.2 + 0.24 * max(len(rows), 4)))
    place = {life.name: row for row, life in enumerate(rows)}
    used: dict[str, Any] = {}
    for row, life in enumerate(rows):
        width = max(life.last_event - life.first_event, 0.004 * end)
        found = axes.barh(
            row, width, left=life.first_event, height=0.6, color=STATE_COLOURS[life.state]
        )
        used.setdefault(life.state, found)
    for one in findings:
        if one.kind in MARKS and one.feature in place:
            shape, colour = MARKS[one.kind]
            used.setdefault(
                one.kind,
                axes.plot(
                    one.event,
                    place[one.feature],
                    shape,
                    color=colour,
                    markersize=6,
                    markeredgecolor="white",
                    linestyle="none",
                )[0],
            )
    axes.set_yticks(range(len(rows)), [str(life.name) for life in rows])
    axes.invert_yaxis()
    axes.set_xlim(0, end)
    axes.set_xlabel("events")
    if used:
        axes.legend(
            list(used.values()),
            list(used),
            frameon=False,
            ncols=len(used),
            loc="lower left",
            bbox_to_anchor=(0, 1),
        )
    return axes
