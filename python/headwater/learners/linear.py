"""Linear: the general form, a learner made of components."""

from typing import Literal

from headwater.learners.base import Bounded, Classifier
from headwater.learners.parts import Parts, linear_model
from headwater.learners.shared_parameters import learner
from headwater.rules.query import Query
from headwater.rules.scale import Scale
from headwater.rules.sparsify import Sparsify
from headwater.rules.update import Update


@learner
class Linear(Bounded, Classifier):
    """Linear classifier made of components; with no arguments the one we recommend.

    It predicts the sign of w·x (several classes: the largest of w_r·x), asks for the labels that
    its query rule finds worth asking for, and moves the weights of an event's features when a
    label comes. Features may appear, vanish and return at any time. Where labels are very few,
    `Spring` gets more out of each of them.

    Parameters
    ----------
    update
        How far a label moves the weights: a word or a value of `headwater.update`.
    query
        Whether a label is worth asking for: a word or a value of `headwater.query`.
    sparsify
        Which weights are dropped: a word or a value of `headwater.sparsify`; None: none.
    scale
        On what scale a value counts: a word or a value of `headwater.scale`; None: as it is,
        as in everything the papers name.
    growth
        What a learned event does that brings a new name: `"open"` learns it, `"restart"` sets all
        weights to 0 first, `"closed"` never uses names that were not in the first one.
    intercept
        Add a feature of value 1, `(intercept)`, to every event.
    multiclass
        More than two classes; new ones are met as they come.

    Examples
    --------
    >>> import headwater as hw
    >>> model = hw.Linear(update="pa1", query=hw.query.Budget(0.2))
    >>> decision = model.decide_one({"temperature": 21.5, "site": "roof"})
    >>> if decision.asked:
    ...     model.answer(decision, True)
    >>> sorted(model.weights())
    ['(intercept)', 'site=roof', 'temperature']
    """

    update: str | Update = "arow"
    query: str | Query = "budget"
    sparsify: str | Sparsify | None = None
    scale: str | Scale | None = "running"
    growth: Literal["open", "restart", "closed"] = "open"
    intercept: bool = True
    multiclass: bool = False

    def _parts(self) -> Parts:
        owner = type(self).__name__
        task: Literal["binary", "multiclass"] = "multiclass" if self.multiclass else "binary"
        return Parts(
            model=linear_model(
                Update.of(owner, self.update),
                None if self.sparsify is None else Sparsify.of(owner, self.sparsify),
                task=task,
                restarts=self.growth == "restart",
            ),
            query=Query.of(owner, self.query),
            scale=None if self.scale is None else Scale.of(owner, self.scale),
            closed=self.growth == "closed",
            own="intercept" if self.intercept else "none",
            task=task,
        )
