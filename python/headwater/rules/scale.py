"""How raw values are scaled.

The papers compute z-scores from the whole data set, which is impossible for a live stream. A scaler
keeps running statistics of every event, labelled or not.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headwater.parameters import no_such_name
from headwater.rules.component import Component


class Scale(Component):
    """A scaler."""

    kind = "scale"


@dataclass(frozen=True, repr=False)
class Running(Scale):
    """The running scaler: a feature is its value and its presence, events get length 1.

    The value is the number of standard deviations from the mean; 0 while the feature is constant.
    The presence is 0 for a feature that is always there and grows with its rarity. So a sensor is
    its value, a word its presence, and a sensor that comes and goes is both. The model has a weight
    for each; that of the presence has the name with " (present)" behind it. Older values are
    forgotten, gross errors are clipped, and a feature that gets another unit begins again. An event
    is counted once, when it is decided on or learned. `docs/concepts/scaling.md` has the formulas.

    Examples
    --------
    >>> Running()
    scale.Running()
    """

    word = "running"


if not TYPE_CHECKING:
    __getattr__ = no_such_name(
        "headwater.scale", [rule.__name__ for rule in Scale.__subclasses__()]
    )
