"""On what scale a raw value counts.

The papers' z-scores of the whole data do not exist on a live stream; a normalizer keeps running
statistics of every event shown, labelled or not.
"""

from dataclasses import dataclass

from headwater.learners.slots import Slot


class Normalize(Slot):
    """A normalizer."""

    kind = "normalize"


@dataclass(frozen=True, repr=False)
class View(Normalize):
    """The running view: sensors become z-scores, words keep their size, events get length 1.

    A feature that reports round after round is centred and scaled to its own deviation; one that
    comes now and then keeps its zero, shares one scale with its like and weighs more the rarer
    it is. Which of the two a feature is, it finds out by itself. Constants count as nothing,
    gross errors are cut. An event is counted once, when it is decided on or learned.

    Examples
    --------
    >>> View()
    normalize.View()
    """

    word = "view"
