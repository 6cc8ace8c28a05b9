"""The query rules in scikit-activeml's stream loop.

scikit-activeml uses utilities, the rules use margins: u = 1/(1 + e^|q|), so that a margin of 0 has
the utility ½. For two classes u is one minus the larger probability, as in scikit-activeml's own
uncertainty strategies. `query` changes nothing; `update` changes the state and needs the same
utilities: `update(candidates, indices, budget_manager_param_dict={"utilities": u})`.
"""

from collections.abc import Mapping
from copy import copy, deepcopy
from dataclasses import replace
from typing import Any, Self

try:
    from skactiveml.base import (
        BudgetManager,
        SingleAnnotatorStreamQueryStrategy,
        SkactivemlClassifier,
    )
    from skactiveml.utils import call_func, check_budget_manager, check_scalar, check_type
    from sklearn.base import clone
    from sklearn.utils import check_random_state
except ImportError as error:
    raise ImportError(
        "headwater.adapters.activeml needs scikit-activeml: pip install 'headwater[activeml]'."
    ) from error

import numpy as np
from numpy.typing import NDArray

from headwater.errors import EventError, ParameterError
from headwater.learners.base import Learner
from headwater.learners.linear import Linear
from headwater.rules.query import Query, SelAda

__all__ = ["HeadwaterBudgetManager", "HeadwaterStrategy"]

SMALLEST = np.finfo(float).tiny  # a utility of 0 stands for a margin of some 700


class HeadwaterBudgetManager(BudgetManager):
    """A budget manager that asks by a query rule of Headwater.

    Parameters
    ----------
    rule
        A word or a value of `headwater.query`, except `SelAda`, which depends on a learner's
        mistakes.
    budget
        The rule's `rate`; None: that of the rule. A rule based on the margin alone has none.
    random_state
        Seed or generator of the rule's random numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from headwater.adapters.activeml import HeadwaterBudgetManager
    >>> manager = HeadwaterBudgetManager(budget=0.5, random_state=0)
    >>> utilities = np.array([0.5, 0.001, 0.4])
    >>> indices = manager.query_by_utility(utilities)
    >>> _ = manager.update(np.zeros((3, 1)), indices, utilities)
    >>> indices.tolist()
    [0, 2]
    """

    def __init__(
        self, rule: str | Query = "budget", budget: float | None = None, random_state: Any = None
    ) -> None:
        super().__init__(budget)
        self.rule = rule
        self.random_state = random_state

    def query_by_utility(self, utilities: NDArray[np.float64]) -> NDArray[np.int64]:
        """The indices of the utilities worth asking for. Changes nothing.

        Parameters
        ----------
        utilities
            One utility per candidate.
        """
        return self._ask(utilities)[0]

    def update(self, candidates: Any, queried_indices: Any, utilities: NDArray[np.float64]) -> Self:
        """Update the state after these candidates.

        Parameters
        ----------
        candidates
            The candidates that were passed to `query_by_utility`.
        queried_indices
            The indices that it returned.
        utilities
            The utilities that it was given.
        """
        indices, asker = self._ask(utilities)
        if np.shape(candidates)[0] != len(utilities):
            raise EventError(
                f"utilities: expected one per candidate, {np.shape(candidates)[0]} in all, got"
                f" {len(utilities)}."
            )
        if indices.tolist() != sorted(np.asarray(queried_indices).tolist()):
            raise ParameterError(
                "queried_indices: expected what the query gave for these utilities,"
                f" {indices.tolist()}, got {np.asarray(queried_indices).tolist()}; a rule counts"
                " its own questions."
            )
        self.asker_ = asker
        return self

    def _ask(self, utilities: Any) -> tuple[NDArray[np.int64], Learner]:
        """What the rule asks for, and what it is then."""
        utilities = self._validate_data(utilities)
        asker = copy(self.asker_)
        trace = asker.simulate(margins(utilities)[:, None], [None] * len(utilities))
        return np.flatnonzero(trace.asked), asker

    def _validate_data(self, utilities: Any) -> NDArray[np.float64]:
        utilities = super()._validate_data(utilities)
        if utilities.ndim != 1 or not np.isfinite(utilities).all():
            raise EventError("utilities: expected one finite number per candidate.")
        if not hasattr(self, "asker_"):
            self.asker_ = _asker(self._rule(), self.random_state)
        return utilities

    def _rule(self) -> Query:
        rule = Query.of("HeadwaterBudgetManager", self.rule)
        if isinstance(rule, SelAda):
            raise ParameterError(
                "HeadwaterBudgetManager: rule must be one that needs no learner, got SelAda, which"
                " follows the mistakes of one."
            )
        if self.budget is None:
            return rule
        if not hasattr(rule, "rate"):
            raise ParameterError(
                f"HeadwaterBudgetManager: {rule!r} asks by margin and keeps no budget; leave budget"
                " out."
            )
        return replace(rule, rate=self.budget)  # type: ignore[type-var]


def _asker(rule: Query, random_state: Any) -> Learner:
    """A learner whose one weight is 1, so that an event's value is its margin."""
    seed = check_random_state(deepcopy(random_state)).randint(2**31 - 1)
    learner = Linear(update="pa", query=rule, scale=None, intercept=False, seed=int(seed))
    learner.learn_one({0: 1.0}, True)
    return learner


def margins(utilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """|q| of utilities 1/(1 + e^|q|); above ½ a margin of 0.

    Examples
    --------
    >>> import numpy as np
    >>> margins(np.array([0.5, 1 / (1 + np.e)])).round(12).tolist()
    [0.0, 1.0]
    """
    small = np.clip(utilities, SMALLEST, 0.5)
    return np.log1p(-small) - np.log(small)


class HeadwaterStrategy(SingleAnnotatorStreamQueryStrategy):
    """A strategy that asks where a classifier is unsure. Its margin is the logarithm of the ratio
    of the two largest probabilities.

    Parameters
    ----------
    budget_manager
        The budget manager; None: a `HeadwaterBudgetManager` with this budget.
    budget
        Share of the labels to ask for; None: 0.1, or what the budget manager has.
    random_state
        Seed or generator of the budget manager that is made if none is given.

    Examples
    --------
    >>> import numpy as np
    >>> from headwater.adapters.activeml import HeadwaterStrategy
    >>> from headwater.adapters.sklearn import HeadwaterClassifier
    >>> from skactiveml.classifier import SklearnClassifier
    >>> model = SklearnClassifier(HeadwaterClassifier("PA"), classes=[0, 1], random_state=0)
    >>> model = model.fit([[1.0], [-1.0]], [1, 0])
    >>> strategy = HeadwaterStrategy(budget=0.5, random_state=0)
    >>> X = np.array([[0.1], [9.0]])
    >>> indices, utilities = strategy.query(X, model, return_utilities=True)
    >>> _ = strategy.update(X, indices, budget_manager_param_dict={"utilities": utilities})
    >>> indices.tolist()
    [0]
    """

    def __init__(
        self,
        budget_manager: BudgetManager | None = None,
        budget: float | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(budget=budget, random_state=random_state)
        self.budget_manager = budget_manager

    def query(
        self,
        candidates: Any,
        clf: SkactivemlClassifier,
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
        fit_clf: bool = False,
        return_utilities: bool = False,
    ) -> Any:
        """The indices of the candidates whose labels are worth asking for. Changes nothing.

        Parameters
        ----------
        candidates
            Rows.
        clf
            The classifier that would learn them.
        X
            Rows to fit the classifier on, if `fit_clf`.
        y
            Their labels.
        sample_weight
            Their weights.
        fit_clf
            Whether to fit a copy of the classifier first.
        return_utilities
            Whether to give the utilities as well, which `update` needs.
        """
        candidates, return_utilities = self._validate_data(candidates, return_utilities)
        check_type(clf, "clf", SkactivemlClassifier)
        check_scalar(fit_clf, "fit_clf", bool)
        if fit_clf:
            weights = {} if sample_weight is None else {"sample_weight": sample_weight}
            clf = clone(clf).fit(X, y, **weights)
        second, first = np.sort(clf.predict_proba(candidates), axis=1)[:, -2:].T
        utilities = second / (first + second)
        indices = self.budget_manager_.query_by_utility(utilities)
        return (indices, utilities) if return_utilities else indices

    def update(
        self,
        candidates: Any,
        queried_indices: Any,
        budget_manager_param_dict: Mapping[str, Any] | None = None,
    ) -> Self:
        """Update the state after these candidates.

        Parameters
        ----------
        candidates
            The rows that were passed to `query`.
        queried_indices
            The indices that it returned.
        budget_manager_param_dict
            Further arguments of the budget manager: `{"utilities": utilities}`.
        """
        candidates, _ = self._validate_data(candidates, False)
        told = dict(budget_manager_param_dict or {})
        if isinstance(self.budget_manager_, HeadwaterBudgetManager) and "utilities" not in told:
            raise ParameterError(
                "HeadwaterStrategy: update needs the utilities of the query, as"
                ' budget_manager_param_dict={"utilities": utilities}.'
            )
        manager = self.budget_manager_
        call_func(manager.update, candidates=candidates, queried_indices=queried_indices, **told)
        return self

    def _validate_data(self, candidates: Any, return_utilities: Any) -> tuple[Any, bool]:
        candidates, return_utilities = super()._validate_data(
            candidates, return_utilities, accept_sparse=True, ensure_all_finite="allow-nan"
        )
        check_type(self.budget_manager, "budget_manager", BudgetManager, type(None))
        if not hasattr(self, "budget_manager_"):
            self.budget_manager_ = check_budget_manager(
                self.budget,
                self.budget_manager,
                HeadwaterBudgetManager,
                {"random_state": deepcopy(self.random_state)},
            )
        return candidates, return_utilities
