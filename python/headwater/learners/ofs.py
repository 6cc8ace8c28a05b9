"""OFS_P: online feature selection when only a few features of an event may be looked at.

Wang, Zhao, Hoi and Jin, *Online Feature Selection and Its Applications*, TKDE 26 (2014). OFS, which
looks at all, is `headwater.named("OFS")`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from headwater.learners.base import Learner, Parts
from headwater.rules.query import All
from headwater.types import Label


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class OFSP(Learner):
    """Linear classifier that looks at `count` features an event and keeps as many weights.

    Mostly it looks at the features that have a weight, now and then at some drawn at random; a
    value counts the more the less likely it was to be seen. While all weights are 0 it always looks
    at random. A prediction looks at what learning the same event next will look at, and draws
    nothing of its own. Every label is asked for.

    Parameters
    ----------
    count
        How many features may be looked at, and how many weights are kept. Paper: B.
    exploration
        With this probability it looks at random. Paper: ε.
    step
        Length of a step. Paper: η.
    l2_radius
        The weights are scaled back to this L2 norm when they outgrow it. Paper: R.
    classes
        (negative, positive); None: bool, 0/1 or −1/+1.
    seed
        Same seed and same events: same looks, same weights.

    Examples
    --------
    >>> import headwater as hw
    >>> model = hw.OFSP(count=1)
    >>> model.learn_one({"rain": 1.0, "wind": 1.0, "sun": -1.0}, True)
    >>> len(model.weights())
    1
    """

    count: int = 10
    exploration: float = 0.2
    step: float = 0.2
    l2_radius: float = 10.0
    classes: Sequence[Label] | None = None
    seed: int = 0

    def _parts(self) -> Parts:
        model = {
            "kind": "partial",
            "count": self.count,
            "exploration": self.exploration,
            "step": self.step,
            "l2_radius": self.l2_radius,
        }
        return Parts(model, All())
