"""PAA: passive-aggressive active learning, for two classes, several classes and a rare class.

Lu, Zhao and Hoi, *Online Passive-Aggressive Active Learning*, Machine Learning 103 (2016).
"""

from typing import Annotated

from headwater.learners.base import Bounded, Classifier
from headwater.learners.parts import Parts, linear_model
from headwater.learners.shared_parameters import learner
from headwater.parameters import ABOVE_ZERO
from headwater.rules.query import Margin, MarginPlusOne
from headwater.rules.update import PA1, PassiveAggressive, PositiveMargin, by_word


@learner
class PAA(Bounded, Classifier):
    """Linear classifier that asks if its margin is small and takes passive-aggressive steps.

    Parameters
    ----------
    update
        How a label moves the weights: `"pa"`, `"pa1"` (PAA-I) or `"pa2"` (PAA-II).
    C
        Longest step of `"pa1"`, damping of `"pa2"`, unused by `"pa"`.
    query_width
        The larger, the more labels are asked for: P(ask) = width/(width + |margin|). Paper: δ.
    plus_one
        P(ask) = width/(width + 1 + |margin|) instead: a guarantee for every width (Theorem 4).

    Examples
    --------
    >>> import headwater as hw
    >>> model = hw.PAA(query_width=0.5)
    >>> decision = model.decide_one({"rain": 1.0})
    >>> decision.asked
    True
    >>> model.answer(decision, True)
    >>> model.decide_one({"rain": 2.0}).query_probability
    0.2
    """

    update: PassiveAggressive = "pa1"
    C: Annotated[float, ABOVE_ZERO] = 1.0
    query_width: Annotated[float, ABOVE_ZERO] = 1.0
    plus_one: bool = False

    def _parts(self) -> Parts:
        update = by_word(self.update, self.C)
        width = self.query_width
        query = MarginPlusOne(width) if self.plus_one else Margin(width)
        return Parts(linear_model(update), query)


@learner
class MPAA(Bounded, Classifier):
    """PAA for several classes; new classes are added as they appear.

    Parameters
    ----------
    update
        How a label moves the weights: `"pa"`, `"pa1"` (MPAA-I) or `"pa2"` (MPAA-II).
    C
        Longest step of `"pa1"`, damping of `"pa2"`, unused by `"pa"`.
    query_width
        The larger, the more labels are asked for: P(ask) = width/(width + margin). The margin is
        the difference between the largest and the second largest score. Paper: δ.

    Examples
    --------
    >>> import headwater as hw
    >>> model = hw.MPAA()
    >>> for fruit in ("apple", "lemon", "plum"):
    ...     model.learn_one({f"smells of {fruit}": 1.0}, fruit)
    >>> model.predict_one({"smells of plum": 1.0})
    'plum'
    """

    update: PassiveAggressive = "pa1"
    C: Annotated[float, ABOVE_ZERO] = 1.0
    query_width: Annotated[float, ABOVE_ZERO] = 1.0

    def _parts(self) -> Parts:
        update = by_word(self.update, self.C)
        model = linear_model(update, task="multiclass")
        return Parts(model, Margin(self.query_width), task="multiclass")


@learner
class CSPAA(Bounded, Classifier):
    """PAA for a rare class: the positive class counts more, by a larger margin.

    Parameters
    ----------
    C
        Longest step; None: as `positive_margin`, as in the paper.
    query_width
        The larger, the more labels are asked for: P(ask) = width/(width + |margin|). Paper: δ.
    positive_margin
        Margin of the positive class; that of the negative class is 1. `"balanced"` computes it from
        the labels learned so far; the paper uses η_p T_n/(η_n T_p) of the whole data. Paper: ϱ.

    Examples
    --------
    >>> import headwater as hw
    >>> model = hw.CSPAA(positive_margin=9.0)
    >>> model.learn_one({"fever": 1.0}, True)
    >>> model.margin_one({"fever": 1.0})
    9.0
    """

    C: Annotated[float, ABOVE_ZERO] | None = None
    query_width: Annotated[float, ABOVE_ZERO] = 1.0
    positive_margin: PositiveMargin = "balanced"

    def _parts(self) -> Parts:
        return Parts(linear_model(PA1(self.C, self.positive_margin)), Margin(self.query_width))
