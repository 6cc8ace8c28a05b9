"""What a decider tells the owner of its learner: how far it has come, and what it asked."""

from typing import NamedTuple

from headwater.types import Id, Name


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


class Reported(NamedTuple):
    """The messages `begin` to before `end` of a source of events, as a decider decided on them."""

    source: str
    """The partition of events, such as `events/3`."""
    begin: int
    end: int
    time: float
    """When the last of them was sent, in seconds since 1970."""
    events: int
    """How many of the messages were events that could be used."""
    report: bytes
    """What the decider's replica reported (`Learner.report`)."""
    asked: list[Asked]
