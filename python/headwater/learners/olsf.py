"""OLSF: new features keep arriving, and every label is learned."""

from typing import Annotated, Any, Literal

from headwater.learners.base import Bounded, Classifier
from headwater.learners.parts import Parts, linear_model
from headwater.learners.shared_parameters import learner
from headwater.parameters import ABOVE_ZERO, SHARE
from headwater.rules.query import All
from headwater.rules.sparsify import KeepLargest, RandomShare, Sparsify
from headwater.rules.update import by_word

RADIUS = 30.0


@learner
class OLSF(Bounded, Classifier):
    """Linear classifier that learns every label and accepts new features at any time.

    Zhang et al., *Online Learning from Trapezoidal Data Streams*, TKDE 2016.

    Parameters
    ----------
    update
        How a label moves the weights: `"pa"`, `"pa1"` (OLSF-I), `"pa2"` (OLSF-II) or
        `"perceptron"` (OLSF-I-per).
    C
        Longest step of `"pa1"`, damping of `"pa2"`, otherwise unused.
    keep
        Which weights are kept after an update: the `"largest"`, a `"random"` share (OLSF-I-rand)
        or `"all"` (OLSF-I-all).
    kept_share
        Share of the weights kept; 1 keeps all. Paper: B.
    l1_radius
        With `keep="largest"` the weights are scaled down to this L1 norm if theirs is larger;
        otherwise unused. Paper: λ.

    Examples
    --------
    >>> import headwater as hw
    >>> model = hw.OLSF(kept_share=1.0)
    >>> model.learn_one({"rain": 1.0}, True)
    >>> model.learn_one({"wind": 1.0}, False)
    >>> model.weights()
    {'rain': 1.0, 'wind': -1.0}
    """

    update: Literal["pa", "pa1", "pa2", "perceptron"] = "pa1"
    C: Annotated[float, ABOVE_ZERO] = 1.0
    keep: Literal["largest", "random", "all"] = "largest"
    kept_share: Annotated[float, SHARE] = 0.5
    l1_radius: Annotated[float, ABOVE_ZERO] = RADIUS

    def _parts(self) -> Parts:
        update = by_word(self.update, self.C)
        return Parts(linear_model(update, self._sparsify(self.l1_radius)), All())

    def _sparsify(self, l1_radius: float) -> Sparsify | None:
        if self.keep == "largest":
            return KeepLargest(self.kept_share, l1_radius)
        return RandomShare(self.kept_share) if self.keep == "random" else None


NAMES: dict[str, dict[str, Any]] = {
    "OLSF": {"update": "pa", "keep": "largest"},
    "OLSF-I": {"update": "pa1", "keep": "largest"},
    "OLSF-II": {"update": "pa2", "keep": "largest"},
    "OLSF-I-all": {"update": "pa1", "keep": "all", "kept_share": 1.0, "l1_radius": RADIUS},
    "OLSF-I-rand": {"update": "pa1", "keep": "random", "l1_radius": RADIUS},
    "OLSF-I-per": {"update": "perceptron", "C": 1.0, "keep": "largest"},
}
"""The paper's names, and the parameters that each of them fixes."""
