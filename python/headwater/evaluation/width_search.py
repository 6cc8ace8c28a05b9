"""The query width at which a learner asks for a given share of the labels."""

from collections.abc import Callable
from typing import Annotated, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from headwater.errors import EventError, ParameterError
from headwater.learners.base import Learner
from headwater.parameters import RATE, checked
from headwater.types import Trace

GRID: tuple[float, ...] = tuple(2.0 ** (half / 2) for half in range(-40, 41))
"""The widths tried, as in the papers: 2^-20, 2^-19.5, ..., 2^20."""

NEIGHBOURS = 2
"""How many steps of the grid are searched on each side of the place that bisection finds."""


class Simulates(Protocol):
    """An object that can run along a stream and say where it asked."""

    def simulate(self, X: Any, y: Any) -> Trace:
        """Run along the stream."""


class AtRate:
    """A learner that searches its query width on the stream it is given, then runs along it.

    It can be used in place of a learner in `cross_validated`.

    Parameters
    ----------
    make
        Builds a fresh learner for a width.
    rate
        The share of labels wanted, in [0, 1].

    Examples
    --------
    >>> import headwater as hw
    >>> X, y = hw.streams.SensorNetwork(2_000).batch()
    >>> trial = AtRate(lambda width: hw.FLLS(query_width=width), rate=0.1)
    >>> trace = trial.simulate(X, y)
    >>> bool(0.08 < trace.asked.mean() < 0.12)
    True
    >>> trial.learner.seen
    2000
    """

    @checked
    def __init__(self, make: Callable[[float], Learner], rate: Annotated[float, RATE]) -> None:
        self.rate = rate
        self._make = make
        self._learner: Learner | None = None

    @property
    def learner(self) -> Learner:
        """The learner with the width found."""
        if self._learner is None:
            raise ParameterError("AtRate: its width is searched by simulate, which comes first.")
        return self._learner

    def simulate(self, X: Any, y: Any) -> Trace:
        """Search the width on this stream, then run a fresh learner with it along the stream."""
        self._learner = self._make(width_for_rate(self._make, X, y, self.rate))
        return self._learner.simulate(X, y)

    def margin_many(self, X: Any) -> NDArray[np.float64]:
        """The margins of events by the learner found."""
        margins: NDArray[np.float64] = self.learner.margin_many(X)
        return margins


@checked
def width_for_rate(
    make: Callable[[float], Simulates], X: Any, y: Any, rate: Annotated[float, RATE]
) -> float:
    """The width on the grid whose share of labels asked on this stream is nearest to `rate`.

    Apart from chance, the share rises with the width: bisection finds the place, and the best width
    of its neighbourhood is taken, the smaller one on a tie. About ten runs instead of 81.

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
