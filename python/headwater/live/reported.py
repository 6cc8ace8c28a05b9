"""What a decider tells the owner of its learner: how far it has come, and what it asked."""

from collections.abc import Iterable
from typing import NamedTuple, Self

from headwater.types import Id, Name

SHARE = 0.05
"""Quality infers nothing about events with a smaller share of the rate as their probability."""


class Asked(NamedTuple):
    """An event that a decider asked about."""

    id: Id
    key: str | None
    time: float
    group: str | None
    x: dict[Name, float]
    decision: bytes
    """The decision with its frozen inputs (`Decision.to_bytes`)."""
    sure: float | None
    """The probability of the prediction that was sent, if the learner gives one."""


class Chances(NamedTuple):
    """With which probabilities some events were asked about, for quality.

    Examples
    --------
    >>> Chances.of([0.5, 0.25, 0.001], rate=0.3)
    Chances(events=3, rate=0.3, reached=2, inverse=6.0, lowest=0.001)
    """

    events: int
    rate: float
    """The share of all events so far that was asked about."""
    reached: int
    """How many have at least a `SHARE` of the rate."""
    inverse: float
    """The sum of 1/p over these."""
    lowest: float

    @classmethod
    def of(cls, probabilities: Iterable[float], rate: float) -> Self:
        """Of these events."""
        every = list(probabilities)
        reached = [p for p in every if p > 0 and p >= SHARE * rate]
        inverse = sum(1 / p for p in reached)
        return cls(len(every), rate, len(reached), inverse, min(every, default=1.0))


class Reported(NamedTuple):
    """The messages `begin` to before `end` of a source of events, as a decider decided on them."""

    source: str
    """The partition of events, such as `events/3`."""
    begin: int
    end: int
    time: float
    """When the last of them was sent, in seconds since 1970."""
    chances: Chances
    """Of the messages that were events and could be used."""
    report: bytes
    """What the decider's replica reported (`Learner.report`)."""
    asked: list[Asked]
