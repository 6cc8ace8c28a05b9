"""SEL-2nd: a second-order perceptron that asks if it is unsure.

v sums y x over the mistakes learned, A = a·I + Σxxᵀ over the same events. With u = A⁻¹x and r = x·u
the margin is p = v·u/(1 + r), which is v·(A + xxᵀ)⁻¹x. Cesa-Bianchi, Gentile and Zaniboni,
*Worst-Case Analysis of Selective Sampling for Linear Classification*, JMLR 7 (2006).
"""

from typing import Annotated

from headwater.learners.base import Classifier
from headwater.learners.parts import Parts
from headwater.learners.shared_parameters import learner
from headwater.parameters import ABOVE_ZERO, number
from headwater.rules.query import Margin

PRIOR_WEIGHT = number("a number from 1e-100 to 1e100", lambda v: 1e-100 <= v <= 1e100)


@learner
class SEL2(Classifier):
    """Second-order perceptron: it takes smaller steps in directions learned from often.

    It keeps a matrix of all pairs of names: O(d²) time per event, O(d²) memory, and at most 4,096
    names; an event with more is refused. `weights()` gives A⁻¹v; the margin is that times x,
    divided by 1 + r.

    Parameters
    ----------
    query_width
        The larger, the more labels are asked for: P(ask) = width/(width + |p|). Paper: ρ, δ, or b.
    prior_weight
        Weight of the initial matrix A = a·I beside the events: the smaller, the larger the first
        steps. Paper: a.

    Examples
    --------
    >>> import headwater as hw
    >>> model = hw.SEL2()
    >>> model.learn_one({"rain": 1.0}, True)
    >>> model.learn_one({"rain": 0.0, "wind": 1.0}, False)
    >>> {name: round(weight, 3) for name, weight in model.weights().items()}
    {'rain': 0.5, 'wind': -0.5}
    >>> round(model.margin_one({"rain": 1.0}), 3)  # 0.5/(1 + 0.5)
    0.333
    """

    query_width: Annotated[float, ABOVE_ZERO] = 1.0
    prior_weight: Annotated[float, PRIOR_WEIGHT] = 1.0

    def _parts(self) -> Parts:
        return self._parts_of("text")

    def _parts_of(self, query_form: str) -> Parts:
        model = {
            "kind": "second_order",
            "prior_weight": self.prior_weight,
            "query_form": query_form,
        }
        return Parts(model, Margin(self.query_width))
