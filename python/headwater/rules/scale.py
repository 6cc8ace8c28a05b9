"""On what scale a raw value counts.

The papers' z-scores of the whole data do not exist on a live stream; a scaler keeps running
statistics of every event shown, labelled or not.
"""

from dataclasses import dataclass

from headwater.rules.component import Component


class Scale(Component):
    """A scaler."""

    kind = "scale"


@dataclass(frozen=True, repr=False)
class Running(Scale):
    """The running scaler: sensors become z-scores, words keep their size, events get length 1.

    A feature that reports round after round is centred and scaled to its own deviation; one that
    comes now and then keeps its zero, shares one scale with others like it and weighs more the
    rarer it is. The scaler finds out by itself which of the two a feature is. Constants count as
    nothing, gross errors are cut. An event is counted once, when it is decided on or learned.

    Examples
    --------
    >>> Running()
    scale.Running()
    """

    word = "running"
