"""Spring: a linear classifier for very few labels."""

from typing import Annotated, Literal

from headwater.learners.base import Bounded, Classifier
from headwater.learners.parts import Parts, linear_model
from headwater.learners.shared_parameters import learner
from headwater.parameters import SHARE
from headwater.rules.query import Quantile
from headwater.rules.scale import Running
from headwater.rules.update import DualCost, DualLogistic


@learner
class Spring(Bounded, Classifier):
    """Linear classifier for few labels: it takes raw values and has one parameter to choose.

    It is logistic regression on scaled values (`scale.Running`), learned by exact dual steps that
    are repeated on the last labelled events (`update.DualLogistic`). It asks for the labels it is
    least sure of (`query.Quantile`). From all events, asked about or not, it learns two features
    that every event gets: `(factor)`, the position along the direction in which the regular
    features vary together, and `(energy)`, how unusual the event is. All classes have equal weight,
    also rare ones; `predict_proba_one` reverses this, so that it gives probabilities for the stream
    itself. `docs/spring.md` has the formulas.

    Parameters
    ----------
    label_rate
        Share of the labels to ask for. Of t events it never asks for more than
        rate·t + 2√(rate·t) + 4.
    C
        The larger, the further a label moves the weights; try 10 for clean, separable data.
    balance
        False: every label counts the same, so that rare classes count little. For plain accuracy.
    multiclass
        More than two classes; new classes are added as they appear.

    Examples
    --------
    >>> import headwater as hw
    >>> model = hw.Spring(label_rate=0.1)
    >>> for event, label in hw.streams.SensorNetwork(2_000, seed=1):
    ...     decision = model.decide_one(event)
    ...     if decision.asked:
    ...         model.answer(decision, label)
    >>> model.asked <= 0.1 * 2_000 + 2 * (0.1 * 2_000) ** 0.5 + 4
    True
    >>> {"(factor)", "(energy)", "(intercept)"} <= set(model.explain_one(event).contributions)
    True
    """

    label_rate: Annotated[float, SHARE] = 0.05
    C: DualCost = 1.0
    balance: bool = True
    multiclass: bool = False

    def _parts(self) -> Parts:
        task: Literal["binary", "multiclass"] = "multiclass" if self.multiclass else "binary"
        return Parts(
            model=linear_model(DualLogistic(self.C, balance=self.balance), task=task),
            query=Quantile(self.label_rate),
            scale=Running(),
            own="summary",
            task=task,
        )
