"""Regression: the label is a number.

min ½‖w' − w‖² (+ Cξ, + Cξ²) subject to |y − w'·x| ≤ ε (+ ξ). The answer moves w_i by ±τ x_i, with
the steps τ of classification and loss = max(0, |y − w·x| − ε). Crammer et al., *Online
Passive-Aggressive Algorithms*, JMLR 7 (2006), section 5.
"""

from typing import Annotated

from headwater.errors import ParameterError
from headwater.learners.base import Bounded
from headwater.learners.parts import Parts, linear_model
from headwater.learners.shared_parameters import learner
from headwater.parameters import ABOVE_ZERO, NOT_NEGATIVE
from headwater.rules.query import All, Budget, Query, Quota, Random
from headwater.rules.scale import Scale
from headwater.rules.sparsify import Sparsify
from headwater.rules.update import PassiveAggressive, by_word
from headwater.types import Event, Explanation


@learner
class PARegressor(Bounded):
    """Linear regression that learns from few labels and accepts new features at any time.

    It predicts the number w·x; a label is any finite number. An error of up to `epsilon` changes
    nothing. The methods are those of every learner; the margin is the prediction itself, and there
    are no probabilities. Values are scaled as they come, by the scaler that forgets; the steps do
    not shrink, so that a rule that changes is followed.

    Parameters
    ----------
    update
        How a label moves the weights: `"pa"`, `"pa1"` or `"pa2"`.
    C
        Longest step of `"pa1"`, damping of `"pa2"`, unused by `"pa"`.
    epsilon
        Errors up to this value count as 0. Paper: ε.
    query
        Whether a label is worth asking for: `"all"`, `"random"`, `"quota"` or `"budget"`, or such a
        value of `headwater.query`. The budget asks more often if a larger error is expected: the
        mean over the event's features of their running mean |error|.
    sparsify
        Which weights are dropped: a word or a value of `headwater.sparsify`; None: none.
    scale
        How values are scaled: a word or a value of `headwater.scale`; None: not at all, for values
        that have one unit or were scaled before.
    intercept
        Add a feature of value 1, `(intercept)`, to every event.

    Examples
    --------
    >>> import headwater as hw
    >>> model = hw.PARegressor(update="pa", epsilon=0.5, scale=None, intercept=False)
    >>> model.learn_one({"rain": 2.0}, 10.5)
    >>> model.predict_one({"rain": 3.0, "wind": 1.0})
    15.0
    """

    update: PassiveAggressive = "pa1"
    C: Annotated[float, ABOVE_ZERO] = 1.0
    epsilon: Annotated[float, NOT_NEGATIVE] = 0.1
    query: str | Query = "all"
    sparsify: str | Sparsify | None = None
    scale: str | Scale | None = "running"
    intercept: bool = True

    def _parts(self) -> Parts:
        owner = type(self).__name__
        query = Query.of(owner, self.query)
        if not isinstance(query, (All, Random, Quota, Budget)):
            raise ParameterError(
                f"{owner}: query must be all, random, quota or budget; a number has no margin to"
                f" be unsure by, got {query!r}."
            )
        return Parts(
            model=linear_model(
                by_word(self.update, self.C),
                None if self.sparsify is None else Sparsify.of(owner, self.sparsify),
                task="regression",
                epsilon=self.epsilon,
            ),
            query=query,
            scale=None if self.scale is None else Scale.of(owner, self.scale),
            own="intercept" if self.intercept else "none",
            task="regression",
        )

    def explain_one(self, x: Event) -> Explanation:
        """What each feature adds to the prediction, and why the learner would ask. Changes nothing.

        Examples
        --------
        >>> import headwater as hw
        >>> model = hw.PARegressor(
        ...     update="pa", epsilon=0.0, scale=None, query=hw.query.Random(0.2)
        ... )
        >>> model.learn_one({"rain": 1.0}, 4.0)
        >>> explanation = model.explain_one({"rain": 2.0})
        >>> explanation.contributions
        {'rain': 4.0, '(intercept)': 2.0}
        >>> print(explanation.reason)
        query.Random(rate=0.2): it would ask with probability 0.2.
        """
        plain = super().explain_one(x)
        why = f"{self._parts().query!r}: "
        if isinstance(self._parts().query, Budget):
            why += "from the running errors of its features, "
        return plain._replace(
            reason=f"{why}it would ask with probability {plain.query_probability:.3g}."
        )
