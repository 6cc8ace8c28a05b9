"""Critical-difference diagrams: learners at their mean ranks, those that do not differ joined.

Demšar (2006), figure 1: the best rank is at the left, a bar joins learners whose mean ranks are
closer than the critical difference of Nemenyi's test.
"""

from typing import TYPE_CHECKING, Any

from headwater.studies.figures import drawing
from headwater.studies.significance import Significance

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def cliques(ranks: list[float], apart: float) -> list[tuple[int, int]]:
    """The longest runs of sorted ranks within `apart` of each other: first and last place of each.

    Examples
    --------
    >>> cliques([1.0, 1.5, 2.2, 4.0], 1.0)
    [(0, 1), (1, 2)]
    """
    found: list[tuple[int, int]] = []
    for first, rank in enumerate(ranks):
        last = max(place for place, other in enumerate(ranks) if other - rank < apart)
        if last > first and (not found or last > found[-1][1]):
            found.append((first, last))
    return found


def rank_diagram(found: Significance, title: str) -> "Figure":
    """The diagram of one comparison."""
    order = sorted(zip(found.mean_ranks, found.learners, strict=True))
    ranks = [rank for rank, _ in order]
    count = len(order)
    joined = cliques(ranks, found.critical_difference)
    left = (count + 1) // 2
    step = 0.9
    top = 1.1 + 0.35 * len(joined)
    depth = top + step * left
    with drawing():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(6.5, 0.9 + 0.24 * (depth + 2)), layout="constrained")
        axes = figure.subplots()
        axes.set_axis_off()
        axes.set_xlim(1 - 0.32 * count, count + 0.32 * count)
        axes.set_ylim(depth + 0.3, -2.4)
        line: Any = {"color": "black", "linewidth": 0.9}
        axes.plot([1, count], [0, 0], **line)
        for tick in range(1, count + 1):
            axes.plot([tick, tick], [0, -0.25], **line)
            axes.text(tick, -0.4, str(tick), ha="center", va="bottom")
        width = min(found.critical_difference, count - 1.0)
        axes.plot([1, 1 + width], [-1.7, -1.7], color="black", linewidth=1.6)
        label = f"critical difference {found.critical_difference:.2f}"
        axes.text(1 + width + 0.04 * count, -1.7, label, ha="left", va="center")
        for place, (rank, name) in enumerate(order):
            is_left = place < left
            height = top + step * (place if is_left else count - 1 - place)
            side = 1 - 0.04 * count if is_left else count + 0.04 * count
            axes.plot([rank, rank, side], [0, height, height], **line)
            text = f"{name}  {rank:.2f}" if is_left else f"{rank:.2f}  {name}"
            axes.text(side, height, f" {text} ", ha="right" if is_left else "left", va="center")
        for level, (first, last) in enumerate(joined):
            height = 0.5 + 0.35 * level
            ends = [ranks[first] - 0.03, ranks[last] + 0.03]
            axes.plot(ends, [height, height], color="black", linewidth=3, solid_capstyle="butt")
        axes.set_title(title, fontsize=9, loc="left")
    return figure
