"""FLLS: learning while features still arrive and labels are scarce."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from headwater.learners.base import Learner, Parts, WhenFull, linear_model
from headwater.rules.query import Margin
from headwater.rules.sparsify import KeepLargest
from headwater.rules.update import by_word
from headwater.types import Label


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class FLLS(Learner):
    """Linear classifier that asks for few labels and accepts new features at any time.

    It asks when its margin is small, takes a passive-aggressive step when the label comes, and
    keeps only its largest weights. Gu, Qian and Hou, *Incremental Feature Spaces Learning
    with Label Scarcity*.

    Parameters
    ----------
    update
        How a label moves the weights: `"pa"`, `"pa1"` (FLLS-I) or `"pa2"` (FLLS-II).
    C
        Longest step of `"pa1"`, damping of `"pa2"`, unused by `"pa"`.
    query_width
        The wider, the more is asked: P(ask) = width/(width + |margin|). Paper: ρ.
    l1_radius
        The weights are scaled back to this L1 norm when they outgrow it. Paper: λ.
    kept_share
        Share of the weights kept after each update; 1 keeps all. Paper: B.
    max_features
        The most names that it keeps, its own not counted; None: all. `docs/memory.md` says more.
    when_full
        What becomes of a new name beyond: `"smallest"` lets go of the smallest weights,
        `"oldest"` of what was learned longest ago, `"refuse"` leaves the new name out.
    classes
        (negative, positive); None: bool, 0/1 or −1/+1.
    seed
        Same seed and same events: same questions, same weights.

    Examples
    --------
    >>> import headwater as hw
    >>> model = hw.FLLS(kept_share=1.0)
    >>> model.learn_one({"rain": 1.0}, True)
    >>> model.learn_one({"rain": 0.5, "wind": 1.0}, False)  # "wind" is new
    >>> model.predict_one({"wind": 1.0})
    False
    """

    update: Literal["pa", "pa1", "pa2"] = "pa1"
    C: float = 1.0
    query_width: float = 1.0
    l1_radius: float = 30.0
    kept_share: float = 0.5
    max_features: int | None = None
    when_full: WhenFull = "smallest"
    classes: Sequence[Label] | None = None
    seed: int = 0

    def _parts(self) -> Parts:
        update = by_word("FLLS", self.update, self.C)
        kept = KeepLargest(self.kept_share, self.l1_radius)
        return Parts(linear_model(update, kept), Margin(self.query_width))
