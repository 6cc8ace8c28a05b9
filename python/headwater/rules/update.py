"""How far a label moves the weights.

With margin q = w·x, label y = ±1 and loss = max(0, m − y q), every rule but the last three adds
τ y x to the weights; m is 1, or `positive_margin` for the positive class. Sources: Crammer et al.,
*Online Passive-Aggressive Algorithms*, JMLR 7 (2006); Crammer et al., *Adaptive Regularization of
Weight Vectors* (2009); Dredze et al., *Confidence-Weighted Linear Classification* (2008).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from headwater.errors import ParameterError
from headwater.rules.component import Component


class Update(Component):
    """An update rule."""

    kind = "update"


@dataclass(frozen=True, repr=False)
class Balanced(Component):
    """A margin that follows the labels learned so far: the rarer the positives, the wider.

    ϱ = s/(1−s) · (negatives + 1)/(positives + 1), the label being learned counted.

    Parameters
    ----------
    sensitivity_weight
        s: what sensitivity counts against specificity. Paper (PAA, section 4.2): η_p.

    Examples
    --------
    >>> Balanced(sensitivity_weight=0.8)
    update.Balanced(sensitivity_weight=0.8)
    """

    kind = "update"
    word = "balanced"
    sensitivity_weight: float = 0.5


PositiveMargin = float | Literal["balanced"] | Balanced


@dataclass(frozen=True, repr=False)
class Perceptron(Update):
    """τ = 1 if the sign is wrong (y q ≤ 0), else 0.

    Examples
    --------
    >>> Perceptron()
    update.Perceptron()
    """

    word = "perceptron"


@dataclass(frozen=True, repr=False)
class MarginPerceptron(Update):
    """τ = 1 if y q ≤ m, else 0. With a `positive_margin`: PAUM.

    Parameters
    ----------
    positive_margin
        m of the positive class; of the negative class it is 1.

    Examples
    --------
    >>> MarginPerceptron(positive_margin="balanced")
    update.MarginPerceptron(positive_margin='balanced')
    """

    word = "margin_perceptron"
    positive_margin: PositiveMargin = 1.0


@dataclass(frozen=True, repr=False)
class PA(Update):
    """Meet the margin exactly: τ = loss/‖x‖². For labels that can be trusted.

    Parameters
    ----------
    positive_margin
        m of the positive class; of the negative class it is 1.

    Examples
    --------
    >>> PA()
    update.PA(positive_margin=1.0)
    """

    word = "pa"
    positive_margin: PositiveMargin = 1.0


@dataclass(frozen=True, repr=False)
class PA1(Update):
    """As PA, but never further than C: τ = min(C, loss/‖x‖²).

    Parameters
    ----------
    C
        Longest step; None: as the positive margin.
    positive_margin
        m of the positive class; of the negative class it is 1.

    Examples
    --------
    >>> PA1(C=0.5)
    update.PA1(C=0.5, positive_margin=1.0)
    """

    word = "pa1"
    C: float | None = 1.0
    positive_margin: PositiveMargin = 1.0


@dataclass(frozen=True, repr=False)
class PA2(Update):
    """Every step shortened: τ = loss/(‖x‖² + 1/(2C)).

    Parameters
    ----------
    C
        The smaller, the shorter the steps; None: as the positive margin.
    positive_margin
        m of the positive class; of the negative class it is 1.

    Examples
    --------
    >>> PA2(C=0.5)
    update.PA2(C=0.5, positive_margin=1.0)
    """

    word = "pa2"
    C: float | None = 1.0
    positive_margin: PositiveMargin = 1.0


@dataclass(frozen=True, repr=False)
class CPA(Update):
    """Prediction-based cost-sensitive PA: only if y q ≤ 0, τ = min(C, (√m − y q)/‖x‖²).

    Parameters
    ----------
    C
        Longest step; None: as the positive margin.
    positive_margin
        m of the positive class, its cost; of the negative class it is 1.

    Examples
    --------
    >>> CPA(positive_margin=9.0)
    update.CPA(C=1.0, positive_margin=9.0)
    """

    word = "cpa"
    C: float | None = 1.0
    positive_margin: PositiveMargin = "balanced"


@dataclass(frozen=True, repr=False)
class AROW(Update):
    """Steps that shrink for features learned often (diagonal AROW).

    v = Σσ_i x_i², β = 1/(v + 1/C); w_i += loss·β·y·σ_i x_i, σ_i −= β(σ_i x_i)²; σ_i starts at 1.

    Parameters
    ----------
    C
        The smaller, the shorter the steps; None: as the positive margin. Paper: 1/r.
    positive_margin
        m of the positive class; of the negative class it is 1.

    Examples
    --------
    >>> AROW(C=0.1)
    update.AROW(C=0.1, positive_margin=1.0)
    """

    word = "arow"
    C: float | None = 1.0
    positive_margin: PositiveMargin = 1.0


@dataclass(frozen=True, repr=False)
class CW(Update):
    """Confidence-weighted: be right with this probability, at the least change (diagonal CW).

    Parameters
    ----------
    confidence
        Probability with which a learned event must be right. Paper: η.
    form
        `"variance"` asks for a margin of φ·v (Dredze et al. 2008), `"stdev"` for φ·√v (Crammer et
        al. 2008), φ being the normal quantile of `confidence`.

    Examples
    --------
    >>> CW(form="stdev")
    update.CW(confidence=0.9, form='stdev')
    """

    word = "cw"
    confidence: float = 0.9
    form: Literal["variance", "stdev"] = "variance"


@dataclass(frozen=True, repr=False)
class Gradient(Update):
    """A gradient step on the hinge loss: w *= 1 − step·decay, and τ = step if y q ≤ 1.

    Parameters
    ----------
    step
        Length of a step. Paper (OFS): η.
    decay
        How fast the weights shrink. Paper (OFS): λ.

    Examples
    --------
    >>> Gradient()
    update.Gradient(step=0.2, decay=0.01)
    """

    word = "gradient"
    step: float = 0.2
    decay: float = 0.01


@dataclass(frozen=True, repr=False)
class DualLogistic(Update):
    """Exact steps towards logistic regression, repeated on labelled events it keeps.

    The problem is min ½‖w‖² + ΣC_y ln(1 + e^(−y q)), and w = Σα y x. A step sets the α of one event
    to its best value, the others as they are: α = C_y σ(u), u + ‖x‖²C_y σ(u) + y q − ‖x‖²α_old = 0.
    A label brings a step on its event and some on events kept. C_y = C·½(N + 2)/(N_y + 1), N labels
    learned, N_y of them y: a rare class counts as much as a frequent one. With several classes
    each has a weight vector that tells it from the rest.

    Parameters
    ----------
    C
        The larger, the further a label moves the weights.
    replay
        Steps on events kept that each label brings, in turn; 0: none.
    memory
        Labelled events kept; the oldest goes first, what it has taught stays.
    balance
        False: every label counts the same, C_y = C. For plain accuracy; probabilities then need no
        correction.

    Examples
    --------
    >>> DualLogistic()
    update.DualLogistic(C=1.0, replay=20, memory=200, balance=True)
    """

    word = "dual_logistic"
    C: float = 1.0
    replay: int = 20
    memory: int = 200
    balance: bool = True


def by_word(
    owner: str, word: object, C: float, words: Sequence[str] = ("pa", "pa1", "pa2")
) -> Update:
    """The passive-aggressive rule or perceptron of this word, if it is one of `words`."""
    rules: dict[str, Update] = {
        "pa": PA(),
        "pa1": PA1(C),
        "pa2": PA2(C),
        "perceptron": Perceptron(),
    }
    if not isinstance(word, str) or word not in words:
        listed = [f'"{one}"' for one in words]
        expected = f"{', '.join(listed[:-1])} or {listed[-1]}"
        raise ParameterError(f"{owner}: update must be {expected}, got {word!r}.")
    return rules[word]
