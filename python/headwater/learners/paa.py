"""PAA: passive-aggressive active learning, for two classes, for several and by cost.

Lu, Zhao and Hoi, *Online Passive-Aggressive Active Learning*, Machine Learning 103 (2016).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from headwater.learners.base import Learner, Parts, WhenFull, linear_model
from headwater.rules.query import Margin, MarginPlusOne
from headwater.rules.update import PA1, PositiveMargin, by_word
from headwater.types import Label


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PAA(Learner):
    """Linear classifier that asks when its margin is small and steps passive-aggressively.

    Parameters
    ----------
    update
        How a label moves the weights: `"pa"`, `"pa1"` (PAA-I) or `"pa2"` (PAA-II).
    C
        Longest step of `"pa1"`, damping of `"pa2"`, unused by `"pa"`.
    query_width
        The wider, the more is asked: P(ask) = width/(width + |margin|). Paper: δ.
    plus_one
        P(ask) = width/(width + 1 + |margin|) instead: a guarantee for every width (Theorem 4).
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
    >>> model = hw.PAA(query_width=0.5)
    >>> decision = model.decide_one({"rain": 1.0})
    >>> decision.asked
    True
    >>> model.answer(decision, True)
    >>> model.decide_one({"rain": 2.0}).query_probability
    0.2
    """

    update: Literal["pa", "pa1", "pa2"] = "pa1"
    C: float = 1.0
    query_width: float = 1.0
    plus_one: bool = False
    max_features: int | None = None
    when_full: WhenFull = "smallest"
    classes: Sequence[Label] | None = None
    seed: int = 0

    def _parts(self) -> Parts:
        update = by_word("PAA", self.update, self.C)
        width = self.query_width
        query = MarginPlusOne(width) if self.plus_one else Margin(width)
        return Parts(linear_model(update), query)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class MPAA(Learner):
    """PAA for several classes, which it meets as they come.

    Parameters
    ----------
    update
        How a label moves the weights: `"pa"`, `"pa1"` (MPAA-I) or `"pa2"` (MPAA-II).
    C
        Longest step of `"pa1"`, damping of `"pa2"`, unused by `"pa"`.
    query_width
        The wider, the more is asked: P(ask) = width/(width + lead of the first class). Paper: δ.
    max_features
        The most names that it keeps, its own not counted; None: all. `docs/memory.md` says more.
    when_full
        What becomes of a new name beyond: `"smallest"` lets go of the smallest weights,
        `"oldest"` of what was learned longest ago, `"refuse"` leaves the new name out.
    classes
        Classes known from the start.
    seed
        Same seed and same events: same questions, same weights.

    Examples
    --------
    >>> import headwater as hw
    >>> model = hw.MPAA()
    >>> for fruit in ("apple", "lemon", "plum"):
    ...     model.learn_one({f"smells of {fruit}": 1.0}, fruit)
    >>> model.predict_one({"smells of plum": 1.0})
    'plum'
    """

    update: Literal["pa", "pa1", "pa2"] = "pa1"
    C: float = 1.0
    query_width: float = 1.0
    max_features: int | None = None
    when_full: WhenFull = "smallest"
    classes: Sequence[Label] | None = None
    seed: int = 0

    def _parts(self) -> Parts:
        update = by_word("MPAA", self.update, self.C)
        model = linear_model(update, task="multiclass")
        return Parts(model, Margin(self.query_width), task="multiclass")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CSPAA(Learner):
    """PAA where the rare class counts more: a wider margin for the positive class.

    Parameters
    ----------
    C
        Longest step; None: as `positive_margin`, as in the paper.
    query_width
        The wider, the more is asked: P(ask) = width/(width + |margin|). Paper: δ.
    positive_margin
        Margin of the positive class, 1 for the negative. `"balanced"` follows the labels learned
        so far; the paper takes η_p T_n/(η_n T_p) of the whole data. Paper: ϱ.
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
    >>> model = hw.CSPAA(positive_margin=9.0)
    >>> model.learn_one({"fever": 1.0}, True)
    >>> model.margin_one({"fever": 1.0})
    9.0
    """

    C: float | None = None
    query_width: float = 1.0
    positive_margin: PositiveMargin = "balanced"
    max_features: int | None = None
    when_full: WhenFull = "smallest"
    classes: Sequence[Label] | None = None
    seed: int = 0

    def _parts(self) -> Parts:
        return Parts(linear_model(PA1(self.C, self.positive_margin)), Margin(self.query_width))
