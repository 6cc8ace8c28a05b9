"""How raw values are scaled.

The papers compute z-scores from the whole data set, which is impossible for a live stream. A scaler
keeps running statistics of every event, labelled or not.
"""

from dataclasses import dataclass

from headwater.rules.component import Component


class Scale(Component):
    """A scaler."""

    kind = "scale"


@dataclass(frozen=True, repr=False)
class Running(Scale):
    """The running scaler: sensors become z-scores, words keep their size, events get length 1.

    A regular feature, present in round after round, is centred and divided by its own standard
    deviation. An irregular feature is not centred, shares one scale with other irregular features,
    and counts more the rarer it is. The scaler finds out by itself which of the two a feature is.
    A constant feature counts as 0, and gross errors are clipped. An event is counted once, when it
    is decided on or learned.

    Examples
    --------
    >>> Running()
    scale.Running()
    """

    word = "running"
