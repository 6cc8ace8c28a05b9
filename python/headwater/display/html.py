"""What notebooks show of learners, decisions, explanations, traces and scores: small HTML tables.

The colours of text and background are the notebook's own, so that the tables suit light and dark.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

MOST = 12
"""Rows of a table that are shown; the rest is counted."""
FOR, AGAINST = "#3b8fd4", "#d97a34"
"""The colours of bars above and below 0; both can be read on white and on black."""

_TABLE = "border-collapse:collapse;font-size:.9em;font-variant-numeric:tabular-nums"
_CELL = "padding:.15em .8em .15em 0;border:0"


def table(title: str, head: Sequence[str], rows: Iterable[Sequence[str]], note: str = "") -> str:
    """A table: the first column to the left, the others to the right. Cells are HTML already.

    Examples
    --------
    >>> table("T", ("a", "b"), [("x", "1")]).count("<td")
    2
    """

    def line(tag: str, cells: Sequence[str]) -> str:
        sides = ["left", *["right"] * (len(cells) - 1)]
        return "".join(
            f'<{tag} style="{_CELL};text-align:{side}">{cell}</{tag}>'
            for side, cell in zip(sides, cells, strict=True)
        )

    parts = ['<div class="headwater" style="overflow-x:auto">']
    if title:
        parts.append(f'<div style="font-weight:600">{escape(title)}</div>')
    parts.append(f'<table style="{_TABLE}">')
    if any(head):
        parts.append(f"<thead><tr>{line('th', head)}</tr></thead>")
    parts.append("<tbody>" + "".join(f"<tr>{line('td', row)}</tr>" for row in rows) + "</tbody>")
    parts.append("</table>")
    if note:
        parts.append(f'<div style="opacity:.75;font-size:.9em">{escape(note)}</div>')
    return "".join(parts) + "</div>"


def pairs(title: str, values: Mapping[str, Any], note: str = "") -> str:
    """A table of names and values.

    Examples
    --------
    >>> "0.5" in pairs("T", {"margin": 0.5})
    True
    """
    rows = [(escape(name), text(value)) for name, value in values.items()]
    return table(title, ("", ""), rows, note)


def text(value: Any) -> str:
    """A value as a cell.

    Examples
    --------
    >>> text(0.123456), text(12_000), text(True), text("<b>"), text(float("nan"))
    ('0.1235', '12,000', 'True', '&lt;b&gt;', '–')
    """
    if hasattr(value, "item"):
        value = value.item()
    if value is None:
        return "–"
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return "–" if math.isnan(value) else f"{value:,.4g}"
    return escape(str(value))


def bar(value: float, largest: float) -> str:
    """A bar from the middle, to the right above 0 and to the left below."""
    share = 50 * abs(value) / largest if largest > 0 and math.isfinite(value) else 0.0
    left = 50 - share if value < 0 else 50.0
    colour = AGAINST if value < 0 else FOR
    return (
        '<div style="position:relative;width:9em;height:.8em">'
        f'<div style="position:absolute;left:{left:.4g}%;width:{share:.4g}%;height:100%;'
        f'background:{colour};border-radius:2px"></div></div>'
    )


def weighed(
    title: str,
    head: tuple[str, str],
    values: Mapping[Any, float],
    note: str = "",
    total: int | None = None,
) -> str:
    """Names with a number and its bar each, in the order given; beyond some, only their number.

    `total` is how many there are, if `values` are only the first of them.
    """
    shown = list(values.items())[:MOST]
    more = (len(values) if total is None else total) - len(shown)
    largest = max((abs(value) for _, value in shown), default=0.0)
    rows = [(escape(str(name)), text(value), bar(value, largest)) for name, value in shown]
    if more:
        rows.append((f"… and {more:,} more", "", ""))
    return table(title, (*head, ""), rows, note)


def decision(one: Any) -> str:
    """A decision: what is predicted, and whether a person is asked."""
    asked = "yes" if one.asked else "no"
    if one.asked and one.answered:
        asked += ", and answered"
    values = {
        "prediction": one.prediction,
        "margin": one.margin,
        "ask for the label": asked,
        "probability of asking": one.query_probability,
        "features": len(one.features),
    }
    return pairs("Decision", values)


def explanation(one: Any) -> str:
    """An explanation: what each feature adds to the margin."""
    title = f"Predicts {one.prediction!r}, margin {text(one.margin)}"
    if not one.contributions:
        return table(title, ("",), [], one.reason)
    return weighed(title, ("feature", "adds"), one.contributions, one.reason)


def learner(one: Any) -> str:
    """A learner: its counters and its largest weights."""
    counters = {
        "task": one.task,
        "events seen": one.seen,
        "labels asked for": one.asked,
        "labels learned": one.learned,
    }
    features = one.features()
    counters["features"] = len(features)
    shown = pairs(repr(one), counters)
    if not len(features):
        return shown
    return shown + str(features.html())


def trace(one: Any) -> str:
    """A trace: how many events, how many labels, the first rows."""
    asked = sum(map(bool, one.asked))
    title = f"Trace: {len(one):,} events, {asked:,} labels asked for"
    columns = (one.prediction, one.margin, one.query_probability, one.asked)
    lists = [listed(column[:MOST]) for column in columns]
    rows = [(f"{row}", *map(text, cells)) for row, cells in enumerate(zip(*lists, strict=True))]
    if len(one) > MOST:
        rows.append((f"… and {len(one) - MOST:,} more", "", "", "", ""))
    return table(title, ("", "prediction", "margin", "P(ask)", "asked"), rows)


def listed(column: Any) -> list[Any]:
    """A column of NumPy, pandas, polars or pyarrow as a list."""
    for verb in ("tolist", "to_list", "to_pylist"):
        if hasattr(column, verb):
            found: list[Any] = getattr(column, verb)()
            return found
    return list(column)
