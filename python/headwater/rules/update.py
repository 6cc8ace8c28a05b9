"""How far a label moves the weights.

With margin q = w·x, label y = ±1 and loss = max(0, m − y q), every rule but the last three adds
τ y x to the weights; m is 1, or `positive_margin` for the positive class. Sources: Crammer et al.,
*Online Passive-Aggressive Algorithms*, JMLR 7 (2006); Crammer et al., *Adaptive Regularization of
Weight Vectors* (2009); Dredze et al., *Confidence-Weighted Linear Classification* (2008).
"""

from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Annotated, Any, Literal

from headwater.parameters import (
    ABOVE_ZERO,
    FINITE,
    INSIDE,
    NOT_NEGATIVE,
    Limit,
    no_such_name,
    number,
    read_number,
    whole_from,
)
from headwater.rules.component import Component


@dataclass(frozen=True, repr=False)
class Balanced(Component):
    """A margin computed from the labels learned so far: the rarer the positives, the larger.

    ϱ = s/(1−s) · (negatives + 1)/(positives + 1), including the label that is being learned.

    Parameters
    ----------
    sensitivity_weight
        s: weight of sensitivity, 1 − s being that of specificity. Paper (PAA, section 4.2): η_p.

    Examples
    --------
    >>> Balanced(sensitivity_weight=0.8)
    update.Balanced(sensitivity_weight=0.8)
    """

    kind = "update"
    word = "balanced"
    sensitivity_weight: Annotated[float, INSIDE] = 0.5


def _read_margin(value: Any) -> Any:
    """A number, the word, or the component that computes the margin from the labels."""
    is_balanced = isinstance(value, Balanced) or (isinstance(value, str) and value == "balanced")
    return value if is_balanced else read_number(value)


PositiveMargin = Annotated[
    float | Literal["balanced"] | Balanced,
    Limit(
        _read_margin,
        lambda v: not isinstance(v, float) or v > 0,
        'a number above 0 or "balanced"',
    ),
]
DualCost = Annotated[float, number("a number from 1e-9 to 1e9", lambda v: 1e-9 <= v <= 1e9)]
"""C of dual steps, which must neither underflow nor overflow."""


class Update(Component):
    """An update rule."""

    kind = "update"

    def for_core(self) -> tuple[str, dict[str, Any]]:
        """As every component's, with the odds of a balanced margin."""
        parameters = self.parameters()
        margin = parameters.get("positive_margin")
        if margin == "balanced":
            margin = Balanced()
        if isinstance(margin, Balanced):
            weight = margin.sensitivity_weight
            parameters["balanced_odds"] = weight / (1 - weight)
        return self.word, parameters


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
    """The step after which the loss is 0: τ = loss/‖x‖². For labels that can be trusted.

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
    """As PA, with steps of at most C: τ = min(C, loss/‖x‖²).

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
    C: Annotated[float, ABOVE_ZERO] | None = 1.0
    positive_margin: PositiveMargin = 1.0


@dataclass(frozen=True, repr=False)
class PA2(Update):
    """As PA, with every step shortened: τ = loss/(‖x‖² + 1/(2C)).

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
    C: Annotated[float, ABOVE_ZERO] | None = 1.0
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
    C: Annotated[float, ABOVE_ZERO] | None = 1.0
    positive_margin: PositiveMargin = "balanced"


@dataclass(frozen=True, repr=False)
class AROW(Update):
    """Steps that shrink for features learned often (diagonal AROW), and grow again by forgetting.

    v = Σσ_i x_i², β = 1/(v + 1/C); w_i += loss·β·y·σ_i x_i, σ_i −= β(σ_i x_i)²; σ_i starts at 1.
    The paper's AROW ends there: it becomes a mean over all time. With forgetting, each label then
    brings the variances of its event's features back towards 1, 1/σ_i = λ/σ_i + 1 − λ, so that the
    weights follow a stream that changes.

    Parameters
    ----------
    C
        The smaller, the shorter the steps; None: as the positive margin. Paper: 1/r.
    positive_margin
        m of the positive class; of the negative class it is 1.
    forgetting
        λ: how much of a precision a label leaves; None: all of it, as in the paper.

    Examples
    --------
    >>> AROW(C=0.1, forgetting=None)  # as in the paper
    update.AROW(C=0.1, positive_margin=1.0, forgetting=None)
    """

    word = "arow"
    C: Annotated[float, ABOVE_ZERO] | None = 1.0
    positive_margin: PositiveMargin = 1.0
    forgetting: Annotated[float, INSIDE] | None = 0.998


@dataclass(frozen=True, repr=False)
class CW(Update):
    """Confidence-weighted: the least change after which an event is predicted correctly with a
    given probability (diagonal CW).

    Parameters
    ----------
    confidence
        Probability with which a learned event must be predicted correctly. Paper: η.
    form
        `"variance"` asks for a margin of φ·v (Dredze et al. 2008), `"stdev"` for φ·√v (Crammer et
        al. 2008), φ being the normal quantile of `confidence`.

    Examples
    --------
    >>> CW(form="stdev")
    update.CW(confidence=0.9, form='stdev')
    """

    word = "cw"
    confidence: Annotated[float, number("in (0.5, 1)", lambda v: 0.5 < v < 1)] = 0.9
    form: Literal["variance", "stdev"] = "variance"

    def for_core(self) -> tuple[str, dict[str, Any]]:
        """As every component's, with the normal quantile of the confidence."""
        word, parameters = super().for_core()
        return word, {**parameters, "phi": NormalDist().inv_cdf(self.confidence)}


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
    step: Annotated[float, FINITE] = 0.2
    decay: Annotated[float, NOT_NEGATIVE] = 0.01


@dataclass(frozen=True, repr=False)
class DualLogistic(Update):
    """Exact coordinate steps of logistic regression, repeated on stored labelled events.

    The problem is min ½‖w‖² + ΣC_y ln(1 + e^(−y q)), and w = Σα y x. A step sets the α of one event
    to its best value, while the others stay: α = C_y σ(u), u + ‖x‖²C_y σ(u) + y q − ‖x‖²α_old = 0.
    For each label there is one step on its event and some on stored events.
    C_y = C·½(N + 2)/(N_y + 1), where N labels have been learned and N_y of them are y: a rare class
    counts as much as a frequent one. With several classes each has one weight vector, which
    separates it from the rest.

    Parameters
    ----------
    C
        The larger, the further a label moves the weights.
    replay
        Number of steps on stored events per label, in turn; 0: none.
    memory
        Number of labelled events stored; the oldest is removed first, what was learned from it
        stays in the weights.
    balance
        False: every label counts the same, C_y = C. For plain accuracy; probabilities then need no
        correction.

    Examples
    --------
    >>> DualLogistic()
    update.DualLogistic(C=1.0, replay=20, memory=200, balance=True)
    """

    word = "dual_logistic"
    C: DualCost = 1.0
    replay: Annotated[int, whole_from(0, bits=32)] = 20
    memory: Annotated[int, whole_from(1, bits=32)] = 200
    balance: bool = True


PassiveAggressive = Literal["pa", "pa1", "pa2"]
"""The words of the passive-aggressive rules, for learners with flat parameters."""


def by_word(word: PassiveAggressive | Literal["perceptron"], C: float) -> Update:
    """The passive-aggressive rule or the perceptron of this word."""
    match word:
        case "pa":
            return PA()
        case "pa1":
            return PA1(C)
        case "pa2":
            return PA2(C)
        case "perceptron":
            return Perceptron()


if not TYPE_CHECKING:
    __getattr__ = no_such_name(
        "headwater.update", [rule.__name__ for rule in Update.__subclasses__()]
    )
