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
    """Linear classifier made of components; we recommend its defaults as a start.

    It predicts the sign of w·x (several classes: the largest of w_r·x), asks for the labels that
    its query rule selects, and updates the weights of an event's features when its label comes.
    Features may appear, disappear and return at any time. If labels are very few, `Spring` learns
    more from each of them.

    Parameters
    ----------
    update
        How far a label moves the weights: a word or a value of `headwater.update`.
    query
        Whether a label is worth asking for: a word or a value of `headwater.query`.
    sparsify
        Which weights are dropped: a word or a value of `headwater.sparsify`; None: none.
    scale
        How values are scaled: a word or a value of `headwater.scale`; None: not at all, as for all
        learners named in the papers.
    growth
        What happens when a learned event has a new name: `"open"` learns it, `"restart"` sets all
        weights to 0 first, `"closed"` uses only the names of the first learned event.
    intercept
        Add a feature of value 1, `(intercept)`, to every event.
    multiclass
        More than two classes; new classes are added as they appear.

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
