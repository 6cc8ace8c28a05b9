"""Which weights are dropped after an update. d is the number of features learned from so far.

A dropped weight is set to 0; its feature stays known, and a later update may change its weight.
"""

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Annotated

from headwater.parameters import ABOVE_ZERO, SHARE, no_such_name, whole_from
from headwater.rules.component import Component


class Sparsify(Component):
    """A sparsifier."""

    kind = "sparsify"


@dataclass(frozen=True, repr=False)
class KeepLargest(Sparsify):
    """Scale the weights down to an L1 radius, then keep a share of them, the largest.

    Parameters
    ----------
    share
        Share of the d weights kept (at least one); 1 keeps all. Paper: B.
    l1_radius
        The weights are scaled down to this L1 norm if theirs is larger. Paper: λ.

    Examples
    --------
    >>> KeepLargest(share=0.1)
    sparsify.KeepLargest(share=0.1, l1_radius=30.0)
    """

    word = "keep_largest"
    share: Annotated[float, SHARE] = 0.5
    l1_radius: Annotated[float, ABOVE_ZERO] = 30.0


@dataclass(frozen=True, repr=False)
class RandomShare(Sparsify):
    """Keep a new random share of the weights after each update: a baseline, O(d) per update.

    Parameters
    ----------
    share
        Share of the d weights kept (at least one).

    Examples
    --------
    >>> RandomShare(0.1)
    sparsify.RandomShare(share=0.1)
    """

    word = "random_share"
    share: Annotated[float, SHARE] = 0.5


@dataclass(frozen=True, repr=False)
class KeepCount(Sparsify):
    """Scale the weights down to an L2 radius, then keep a number of them, the largest.

    Parameters
    ----------
    count
        How many weights are kept. Paper (OFS): B.
    l2_radius
        The weights are scaled down to this L2 norm if theirs is larger. Paper (OFS): 1/√λ.

    Examples
    --------
    >>> KeepCount(count=20)
    sparsify.KeepCount(count=20, l2_radius=float('inf'))
    """

    word = "keep_count"
    count: Annotated[int, whole_from(1, bits=32)] = 10
    l2_radius: Annotated[float, ABOVE_ZERO] = inf


if not TYPE_CHECKING:
    __getattr__ = no_such_name(
        "headwater.sparsify", [rule.__name__ for rule in Sparsify.__subclasses__()]
    )
