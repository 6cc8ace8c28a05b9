"""Spring: as good with half the labels."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from headwater.learners.base import Learner, Parts, WhenFull, linear_model
from headwater.rules.query import Quantile
from headwater.rules.scale import Running
from headwater.rules.update import DualLogistic
from headwater.types import Label


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Spring(Learner):
    """Linear classifier for few labels: raw values in, one parameter to choose.

    Logistic regression on the running view of an event (`scale.Running`), learned by exact dual
    steps that are repeated on the last labelled events (`update.DualLogistic`). It asks for the
    labels it is least sure of (`query.Quantile`) and learns from all events, asked or not, what
    they have in common: every event gets a feature `(factor)`, where it lies along the direction
    in which the regular features move together, and a feature `(energy)`, how unusual it is.
    Classes count the same however rare they are; `predict_proba_one` takes that back, so that it
    gives probabilities on the stream as it comes. `docs/spring.md` has the formulas.

    Parameters
    ----------
    label_rate
        Share of the labels to ask for. Of t events it never asks for more than
        rate·t + 2√(rate·t) + 4.
    C
        The larger, the further a label moves the weights; for clean, separable data 10.
    balance
        False: every label counts the same, and so rare classes little. For plain accuracy.
    multiclass
        More than two classes; new ones are met as they come.
    max_features
        The most names that it keeps, its own not counted; None: all. `docs/memory.md` says more.
    when_full
        What becomes of a new name beyond: `"smallest"` lets go of the smallest weights,
        `"oldest"` of what was learned longest ago, `"refuse"` leaves the new name out.
    classes
        (negative, positive), or with `multiclass` the classes known from the start.
    seed
        Same seed and same events: same questions, same weights.

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

    label_rate: float = 0.05
    C: float = 1.0
    balance: bool = True
    multiclass: bool = False
    max_features: int | None = None
    when_full: WhenFull = "smallest"
    classes: Sequence[Label] | None = None
    seed: int = 0

    def _parts(self) -> Parts:
        task: Literal["binary", "multiclass"] = "multiclass" if self.multiclass else "binary"
        return Parts(
            model=linear_model(DualLogistic(self.C, balance=self.balance), task=task),
            query=Quantile(self.label_rate),
            scale=Running(),
            whole=True,
            task=task,
        )
