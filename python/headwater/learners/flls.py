"""FLLS: new features keep arriving, and labels are scarce."""

from typing import Annotated

from headwater.learners.base import Bounded, Classifier
from headwater.learners.parts import Parts, linear_model
from headwater.learners.shared_parameters import learner
from headwater.parameters import ABOVE_ZERO, SHARE
from headwater.rules.query import Margin
from headwater.rules.sparsify import KeepLargest
from headwater.rules.update import PassiveAggressive, by_word


@learner
class FLLS(Bounded, Classifier):
    """Linear classifier that asks for few labels and accepts new features at any time.

    It asks if its margin is small, takes a passive-aggressive step when the label comes, and
    keeps only its largest weights. Gu, Qian and Hou, *Incremental Feature Spaces Learning
    with Label Scarcity*.

    Parameters
    ----------
    update
        How a label moves the weights: `"pa"`, `"pa1"` (FLLS-I) or `"pa2"` (FLLS-II).
    C
        Longest step of `"pa1"`, damping of `"pa2"`, unused by `"pa"`.
    query_width
        The larger, the more labels are asked for: P(ask) = width/(width + |margin|). Paper: ρ.
    l1_radius
        The weights are scaled down to this L1 norm if theirs is larger. Paper: λ.
    kept_share
        Share of the weights kept after each update; 1 keeps all. Paper: B.

    Examples
    --------
    >>> import headwater as hw
    >>> model = hw.FLLS(kept_share=1.0)
    >>> model.learn_one({"rain": 1.0}, True)
    >>> model.learn_one({"rain": 0.5, "wind": 1.0}, False)  # "wind" is new
    >>> model.predict_one({"wind": 1.0})
    False
    """

    update: PassiveAggressive = "pa1"
    C: Annotated[float, ABOVE_ZERO] = 1.0
    query_width: Annotated[float, ABOVE_ZERO] = 1.0
    l1_radius: Annotated[float, ABOVE_ZERO] = 30.0
    kept_share: Annotated[float, SHARE] = 0.5

    def _parts(self) -> Parts:
        update = by_word(self.update, self.C)
        kept = KeepLargest(self.kept_share, self.l1_radius)
        return Parts(linear_model(update, kept), Margin(self.query_width))
