"""OFS_P: online feature selection when only a few features of an event may be read.

Wang, Zhao, Hoi and Jin, *Online Feature Selection and Its Applications*, TKDE 26 (2014). OFS, which
reads all features, is `headwater.named("OFS")`.
"""

from typing import Annotated

from headwater.learners.base import Classifier
from headwater.learners.parts import Parts
from headwater.learners.shared_parameters import learner
from headwater.parameters import ABOVE_ZERO, FINITE, SHARE, whole_from
from headwater.rules.query import All


@learner
class OFSP(Classifier):
    """Linear classifier that reads `count` features per event and keeps as many weights.

    Usually it reads the features that have a weight, and sometimes features drawn at random; a
    value counts more if it was less likely to be read. While all weights are 0 it always reads at
    random. A prediction reads the features that learning the same event next will read, and does
    not advance the generator. Every label is asked for.

    Parameters
    ----------
    count
        How many features are read per event, and how many weights are kept. Paper: B.
    exploration
        Probability of reading features at random. Paper: ε.
    step
        Length of a step. Paper: η.
    l2_radius
        The weights are scaled down to this L2 norm if theirs is larger. Paper: R.

    Examples
    --------
    >>> import headwater as hw
    >>> model = hw.OFSP(count=1)
    >>> model.learn_one({"rain": 1.0, "wind": 1.0, "sun": -1.0}, True)
    >>> len(model.weights())
    1
    """

    count: Annotated[int, whole_from(1, bits=32)] = 10
    exploration: Annotated[float, SHARE] = 0.2
    step: Annotated[float, FINITE] = 0.2
    l2_radius: Annotated[float, ABOVE_ZERO] = 10.0

    def _parts(self) -> Parts:
        model = {
            "kind": "ofs_partial",
            "count": self.count,
            "exploration": self.exploration,
            "step": self.step,
            "l2_radius": self.l2_radius,
        }
        return Parts(model, All())
