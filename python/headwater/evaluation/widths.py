"""The query width at which a learner asks for a given share of the labels."""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from headwater.errors import EventError
from headwater.limits import check
from headwater.types import Trace

GRID: tuple[float, ...] = tuple(2.0 ** (half / 2) for half in range(-40, 41))
"""The widths tried, as in the papers: 2^-20, 2^-19.5, ..., 2^20."""

NEIGHBOURS = 2
"""How far beside the place that bisection finds the grid is searched, steps of it."""


class Simulates(Protocol):
    """What can run along a stream and say where it asked."""

    def simulate(self, X: Any, y: Any) -> Trace:
        """Run along the stream."""


def width_for_rate(make: Callable[[float], Simulates], X: Any, y: Any, rate: float) -> float:
    """The width on the grid whose share of labels asked on this stream is nearest to `rate`.

    The share rises with the width, but for chance: bisection finds the place, and the best of its
    neighbourhood is taken, the smaller width on a tie. Some ten runs instead of 81.

    Parameters
    ----------
    make
        Builds a fresh learner for a width.
    X, y
        The stream, as `simulate` takes it.
    rate
        The share of labels wanted, in [0, 1].

    Examples
    --------
    >>> import headwater as hw
    >>> X, y = hw.streams.SensorNetwork(2_000).batch()
    >>> width = width_for_rate(lambda width: hw.FLLS(query_width=width), X, y, rate=0.1)
    >>> trace = hw.FLLS(query_width=width).simulate(X, y)
    >>> bool(0.08 < trace.asked.mean() < 0.12)
    True
    """
    check("width_for_rate", rate=rate)
    if len(y) == 0:
        raise EventError("width_for_rate: the stream must have at least one event, got none.")
    rates: dict[int, float] = {}

    def rate_at(place: int) -> float:
        if place not in rates:
            rates[place] = float(np.mean(make(GRID[place]).simulate(X, y).asked))
        return rates[place]

    low, high = 0, len(GRID) - 1  # the first place whose rate reaches the target lies in low..high
    while low < high:
        middle = (low + high) // 2
        if rate_at(middle) < rate:
            low = middle + 1
        else:
            high = middle
    around = range(max(0, low - NEIGHBOURS), min(len(GRID), low + NEIGHBOURS + 1))
    return GRID[min(around, key=lambda place: (abs(rate_at(place) - rate), place))]
