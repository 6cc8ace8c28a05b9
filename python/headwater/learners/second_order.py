"""SEL-2nd: the second-order perceptron that asks when unsure.

v sums y x over the mistakes learned, A = a·I + Σxxᵀ over the same events. With u = A⁻¹x and r = x·u
the margin is p = v·u/(1 + r), which is v·(A + xxᵀ)⁻¹x. Cesa-Bianchi, Gentile and Zaniboni,
*Worst-Case Analysis of Selective Sampling for Linear Classification*, JMLR 7 (2006).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from headwater.learners.base import Learner, Parts
from headwater.rules.query import Margin
from headwater.types import Label


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SEL2(Learner):
    """Second-order perceptron: mistakes move it, in directions met before less than in new ones.

    It keeps a matrix of all pairs of names: O(d²) time and memory, and at most 4,096 names; an
    event with more is refused. `weights()` gives A⁻¹v; the margin is that times x, over 1 + r.

    Parameters
    ----------
    query_width
        The wider, the more is asked: P(ask) = width/(width + certainty). Paper: ρ, δ, or b.
    query_form
        What the certainty is: `"text"`: |p|, as the PAA paper says; `"original"`:
        |p| + p²(1 + r)/2, as Cesa-Bianchi et al. do.
    prior_weight
        What the start, A = a·I, weighs beside the events: the smaller, the bolder. Paper: a.
    classes
        (negative, positive); None: bool, 0/1 or −1/+1.
    seed
        Same seed and same events: same questions, same weights.

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

    query_width: float = 1.0
    query_form: Literal["text", "original"] = "text"
    prior_weight: float = 1.0
    classes: Sequence[Label] | None = None
    seed: int = 0

    def _parts(self) -> Parts:
        model = {
            "kind": "second_order",
            "prior_weight": self.prior_weight,
            "query_form": self.query_form,
        }
        return Parts(model, Margin(self.query_width))
