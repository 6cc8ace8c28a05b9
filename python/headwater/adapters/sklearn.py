"""The learners as scikit-learn estimators.

`fit` and `partial_fit` learn every label they are given: no query rule is consulted. A feature
space is *fixed*, as usual in scikit-learn, or *open*: then the columns of a DataFrame are
identified by their names and may come and go from batch to batch.
"""

import dataclasses
from collections.abc import Mapping
from typing import Annotated, Any, Literal, NamedTuple, Self

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
    from sklearn.utils import assert_all_finite, check_random_state, column_or_1d
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data
except ImportError as error:
    raise ImportError(
        "headwater.adapters.sklearn needs scikit-learn 1.6 or newer:"
        " pip install 'headwater[sklearn]'."
    ) from error

import numpy as np
import scipy.sparse  # type: ignore[import-untyped]
from numpy.typing import NDArray

from headwater.catalogue import named, names
from headwater.errors import EventError, LabelError, ParameterError
from headwater.inputs import batches, frames
from headwater.learners.base import Learner
from headwater.learners.fesl import FESL
from headwater.learners.linear import Linear
from headwater.learners.regression import PARegressor
from headwater.learners.spring import Spring
from headwater.parameters import COUNT, argument_limits, did_you_mean
from headwater.rules.update import Update
from headwater.types import Name

__all__ = ["HeadwaterClassifier", "HeadwaterRegressor"]


class InputRows(NamedTuple):
    """Rows as they were read, and the names of their features."""

    arrays: Any
    names: list[Name] | None
    """None: the numbers of the columns."""
    columns: list[str] | None = None
    """The columns of an open feature space; one of text has one feature per word."""


class _SklearnEstimator(BaseEstimator):
    """The base class of both: parameters, rows, and passes over them."""

    def __init__(
        self,
        algorithm: str,
        C: float | None,
        params: Mapping[str, Any] | None,
        epochs: Annotated[int, COUNT],
        shuffle: bool,
        feature_space: Literal["fixed", "open"],
        random_state: Any,
    ) -> None:
        self.algorithm = algorithm
        self.C = C
        self.params = params
        self.epochs = epochs
        self.shuffle = shuffle
        self.feature_space = feature_space
        self.random_state = random_state

    def _given(self) -> dict[str, Any]:
        """The algorithm's parameters that were given; the others are checked."""
        owner = type(self).__name__
        for name, limit in argument_limits(_SklearnEstimator.__init__).items():
            limit.check(owner, name, getattr(self, name))
        if self.params is not None and not isinstance(self.params, Mapping):
            raise ParameterError(f"{owner}: params must be a dict or None, got {self.params!r}.")
        return dict(self.params or {}) | ({} if self.C is None else {"C": self.C})

    def _seed(self) -> int:
        """A seed for the learner; the generator behind it goes on with the orders."""
        self._generator = check_random_state(self.random_state)
        return int(self._generator.randint(2**31 - 1))

    def _read(self, X: Any, *, first: bool) -> InputRows:
        """The rows of X; those of a later batch must fit the first."""
        columns = _named_columns(X)
        is_named = columns is not None
        is_open = self.feature_space == "open" or batches.is_events(X)  # dicts have names only
        if first:
            self._is_open = is_open
        if is_open or getattr(self, "_is_open", False):
            was_named = hasattr(self, "feature_names_in_")
            if not first and is_named != was_named:
                met, came = ("names" if known else "no names" for known in (was_named, is_named))
                raise EventError(
                    f"X: {type(self).__name__} was fitted on columns with {met}, got"
                    f" {type(X).__name__} with {came}; in an open feature space only a name says"
                    " which column is which."
                )
            if is_named:
                (indptr, indices, data, width), listed = batches.read_named(X, None)
                shape = len(indptr) - 1, width
                arrays = scipy.sparse.csr_array((data, indices, indptr), shape=shape)
                return InputRows(arrays, listed, columns)
        try:
            rows = validate_data(
                self,
                X,
                accept_sparse="csr",
                dtype=np.float64,
                ensure_all_finite="allow-nan",
                reset=first,
            )
        except ValueError as error:
            if "could not convert string to float" not in str(error):
                raise
            cure = "an encoder before this estimator, such as OneHotEncoder"
            if is_named:
                cure = f"feature_space='open', which makes indicators of them, or {cure}"
            else:
                cure = f"names: give a DataFrame and feature_space='open', or put {cure}"
            raise EventError(f"X: {error}. Columns of text or categories need {cure}.") from None
        fitted = getattr(self, "feature_names_in_", None)
        return InputRows(rows, None if fitted is None else fitted.tolist())

    def _forget_names(self) -> None:
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _remember_columns(self, columns: list[str] | None) -> None:
        """The columns of an open feature space are those seen so far."""
        if columns is not None:
            met = dict.fromkeys([*getattr(self, "feature_names_in_", ()), *columns])
            self.feature_names_in_ = np.array(list(met), dtype=object)
            self.n_features_in_ = len(met)

    def _learn_all(self, learner: Learner, rows: InputRows, y: NDArray[Any], weights: Any) -> None:
        """Learn the rows `epochs` times from the beginning."""
        count = rows.arrays.shape[0]
        if count != len(y):
            raise LabelError(f"y: expected one label per row, {count} in all, got {len(y)}.")
        for _ in range(self.epochs):
            order = self._repeated(rows, weights)
            if self.shuffle:
                self._generator.shuffle(order)
            learner.learn_many(rows.arrays[order], y[order], names=rows.names)
        self.learner_ = learner
        self._remember_columns(rows.columns)

    def _learn_more(self, learner: Learner, rows: InputRows, y: NDArray[Any], weights: Any) -> None:
        """Learn the rows once, in their order."""
        if weights is None:
            learner.learn_many(rows.arrays, y, names=rows.names)
        else:
            order = self._repeated(rows, weights)
            learner.learn_many(rows.arrays[order], y[order], names=rows.names)
        self.learner_ = learner
        self._remember_columns(rows.columns)

    def _repeated(self, rows: InputRows, weights: Any) -> NDArray[np.int64]:
        """The numbers of the rows, each as often as its weight says; fractions by chance."""
        order = np.arange(rows.arrays.shape[0])
        if weights is None:
            return order
        given = _check_sample_weight(weights, rows.arrays, ensure_non_negative=True)
        times = np.floor(given)
        rest = given - times
        if rest.any():
            times += self._generator.random_sample(len(given)) < rest
        return np.repeat(order, times.astype(np.int64))

    @property
    def coef_(self) -> NDArray[np.float64]:
        """The weights: one row per class, one row in all of two classes or of regression.

        One column per name of `feature_names_in_`, else per number. They belong to the values as
        the learner sees them: of `"Spring"` and `"Linear"` these are scaled. What the learner adds
        itself, such as an intercept, is in `learner_.weights()`.
        """
        if not hasattr(self, "learner_"):
            raise AttributeError(f"{type(self).__name__} has no coef_ before it is fitted.")
        weights: dict[Any, Any] = self.learner_.weights()
        several = self.learner_.task == "multiclass"
        names = getattr(self, "feature_names_in_", None)
        columns = range(self.n_features_in_) if names is None else names.tolist()
        each = [weights.get(label, {}) for label in self.learner_.labels] if several else [weights]
        rows = np.array([[row.get(name, 0.0) for name in columns] for row in each])
        return rows[1:] - rows[:1] if several and len(rows) == 2 else rows

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags


def _named_columns(X: Any) -> list[str] | None:
    """The columns of a frame, or names of dicts, that are texts; None: there are no such names."""
    if batches.is_events(X):
        return list(dict.fromkeys(str(name) for event in X for name in event))
    if not frames.is_frame(X):
        return None
    is_pyarrow = frames.library_of(X) == "pyarrow"
    listed = list(X.schema.names if is_pyarrow else getattr(X, "columns", [None]))
    return listed if all(isinstance(name, str) for name in listed) else None


def _target(owner: _SklearnEstimator, y: Any) -> NDArray[Any]:
    if y is None:
        raise LabelError(
            f"y: {type(owner).__name__} requires y to be passed, but the target y is None."
        )
    plain = column_or_1d(y, warn=True)
    if plain.dtype.kind == "f":
        assert_all_finite(plain, input_name="y")
    return plain


class HeadwaterClassifier(ClassifierMixin, _SklearnEstimator):
    """A classifier of Headwater for scikit-learn.

    NaN, and what a sparse matrix does not store, is an absent feature.

    Parameters
    ----------
    algorithm
        `"Spring"`, `"Linear"`, or a name of `headwater.names()`. More than two classes need
        `"Spring"`, `"Linear"` or one of the names for several classes, which begin with M.
    C
        The algorithm's parameter of that name; None: its default. `"Spring"` has none.
    class_weight
        None: the likelier class is predicted. `"balanced"`: `"Spring"` and `"Linear"` predict as if
        all classes were equally frequent, as they do outside of scikit-learn. A dict from class to
        weight: the class with the largest weight × probability is predicted; classes that it leaves
        out weigh 1.
    params
        Further parameters of the algorithm by name, as in `headwater.named`; None: its defaults.
    epochs
        How many times `fit` goes over the rows.
    shuffle
        Whether `fit` goes over them in random order; `partial_fit` never does.
    feature_space
        `"fixed"`: the same columns every time, as usual in scikit-learn. `"open"`: the columns of a
        DataFrame are identified by their names and may come and go; a new column is learned, a
        missing one is an absent feature. Columns without names remain fixed.
    random_state
        Seed or generator of the orders and of the algorithm.

    Attributes
    ----------
    classes_
        The classes, sorted.
    learner_
        The learner inside: its `weights()`, `features()`, `explain_one(x)`, `save(path)`.
    coef_
        Its weights as an array.
    n_features_in_
        Number of columns; of an open feature space those seen so far.
    feature_names_in_
        Their names, if they have any.

    Examples
    --------
    >>> from headwater.adapters.sklearn import HeadwaterClassifier
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import GridSearchCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> grid = [{"algorithm": ["Spring"]}, {"algorithm": ["PA-I", "Linear"], "C": [0.1, 1.0]}]
    >>> search = GridSearchCV(HeadwaterClassifier(random_state=0), grid, cv=3).fit(X, y)
    >>> search.best_score_ > 0.95
    np.True_
    """

    def __init__(
        self,
        algorithm: str = "Spring",
        *,
        C: float | None = None,
        class_weight: Mapping[Any, float] | Literal["balanced"] | None = None,
        params: Mapping[str, Any] | None = None,
        epochs: int = 5,
        shuffle: bool = True,
        feature_space: Literal["fixed", "open"] = "fixed",
        random_state: Any = None,
    ) -> None:
        super().__init__(algorithm, C, params, epochs, shuffle, feature_space, random_state)
        self.class_weight = class_weight

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn these rows from the beginning, `epochs` times.

        Parameters
        ----------
        X
            Rows: an array, a sparse matrix or a DataFrame.
        y
            One class per row.
        sample_weight
            How often each row is learned per pass; fractions are rounded up or down by chance.
        """
        given = self._given()
        self._forget_names()
        rows, labels = self._read(X, first=True), self._read_labels(y)
        classes = np.unique(labels)
        weights = self._read_class_weight(classes)
        self._learn_all(self._new(classes, given), rows, labels, sample_weight)
        self.classes_, self._weights = classes, weights
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn these rows once, in their order, on top of what was learned.

        Parameters
        ----------
        X
            Rows: an array, a sparse matrix or a DataFrame.
        y
            One class per row.
        classes
            All classes that will come; the first call needs them.
        sample_weight
            As in `fit`.
        """
        given, first = self._given(), not hasattr(self, "learner_")
        rows, labels = self._read(X, first=first), self._read_labels(y)
        if first and classes is None:
            raise LabelError("classes: partial_fit needs all classes at its first call.")
        known = np.unique(classes) if first else self.classes_
        if classes is not None and not np.array_equal(np.unique(classes), known):
            raise LabelError(
                f"classes: expected those of the first call, {known.tolist()}, got"
                f" {np.unique(classes).tolist()}."
            )
        weights = self._read_class_weight(known)
        learner = self._new(known, given) if first else self.learner_
        self._learn_more(learner, rows, labels, sample_weight)
        self.classes_, self._weights = known, weights
        return self

    def _read_class_weight(self, classes: NDArray[Any]) -> NDArray[np.float64] | None:
        """The logarithm of each class's weight; None: the algorithm's own rule."""
        given, owner = self.class_weight, type(self).__name__
        balances = self.algorithm in ("Spring", "Linear")
        if given is None:
            return np.zeros(len(classes)) if balances else None
        if given == "balanced":
            if not balances:
                raise ParameterError(
                    f"{owner}: class_weight='balanced' is for Spring and Linear, got"
                    f" {self.algorithm}; give it a dict of weights."
                )
            return None
        if not isinstance(given, Mapping):
            raise ParameterError(
                f"{owner}: class_weight must be a dict, 'balanced' or None, got {given!r}."
            )
        known = classes.tolist()
        for label, weight in given.items():
            if label not in known:
                raise ParameterError(
                    f"{owner}: class_weight has the class {label!r}; the classes are {known}."
                )
            if not (isinstance(weight, (int, float)) and 0 < weight < np.inf):
                raise ParameterError(
                    f"{owner}: a class weight must be a finite number above 0, got {weight!r} for"
                    f" {label!r}."
                )
        return np.log([given.get(label, 1.0) for label in known])

    def _read_labels(self, y: Any) -> NDArray[Any]:
        labels = _target(self, y)
        check_classification_targets(labels)
        return labels

    def _new(self, classes: NDArray[Any], given: dict[str, Any]) -> Learner:
        """A fresh learner of these classes."""
        if len(classes) < 2:
            raise LabelError(f"y: expected two classes or more, got one class, {classes[0]}.")
        several = len(classes) > 2
        if several and not self._takes_several():
            raise LabelError(
                "y: Only binary classification is supported. The type of the target is multiclass:"
                f" {self.algorithm} takes two classes, got {len(classes)}."
            )
        given |= {"classes": tuple(classes.tolist()), "seed": self._seed()}
        if self.algorithm == "Spring":
            return _made(Spring, given | {"multiclass": several})
        if self.algorithm != "Linear":
            return named(self.algorithm, **given)
        if "C" in given:
            given["update"] = _with_step(given.get("update", "arow"), given.pop("C"))
        return _made(Linear, given | {"multiclass": several})

    def _takes_several(self) -> bool:
        """Whether the algorithm is made for more than two classes."""
        if self.algorithm not in names():
            return True  # Linear, Spring, or a name that `fit` will refuse
        return named(self.algorithm).task == "multiclass"

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The margin of each row; of more than two classes one score per class.

        Unless the algorithm's own rule predicts, these are log-odds, or logarithms of weight ×
        probability.

        Parameters
        ----------
        X
            Rows, as in `fit`.
        """
        check_is_fitted(self)
        rows = self._read(X, first=False)
        if self._weights is not None:
            likely = self.learner_.predict_proba_many(rows.arrays, names=rows.names)
            scores = np.log(np.clip(likely, 1e-300, None)) + self._weights
            return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores
        scores = self.learner_._scores_many(*batches.read_rows(rows.arrays, rows.names))
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row.

        Parameters
        ----------
        X
            Rows, as in `fit`.
        """
        scores = self.decision_function(X)
        best = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[best]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """One probability per class, in the order of `classes_`.

        Parameters
        ----------
        X
            Rows, as in `fit`.
        """
        check_is_fitted(self)
        rows = self._read(X, first=False)
        return self.learner_.predict_proba_many(rows.arrays, names=rows.names)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self._takes_several()
        return tags


class HeadwaterRegressor(RegressorMixin, _SklearnEstimator):
    """A regressor of Headwater for scikit-learn.

    NaN, and what a sparse matrix does not store, is an absent feature.

    Parameters
    ----------
    algorithm
        `"PARegressor"`, or one of FESL's names in `headwater.names()`, with its square loss.
        PARegressor takes the columns as they are: scale them before, as is usual here, or pass
        `params={"scale": "running"}`.
    C
        The algorithm's parameter of that name; None: its default.
    params
        Further parameters of the algorithm by name; None: its defaults.
    epochs
        How many times `fit` goes over the rows.
    shuffle
        Whether `fit` goes over them in random order; `partial_fit` never does.
    feature_space
        `"fixed"` or `"open"`, as in `HeadwaterClassifier`.
    random_state
        Seed or generator of the orders and of the algorithm.

    Attributes
    ----------
    learner_
        The learner inside: its `weights()`, `features()`, `explain_one(x)`, `save(path)`.
    coef_
        Its weights as an array.
    n_features_in_
        Number of columns; of an open feature space those seen so far.
    feature_names_in_
        Their names, if they have any.

    Examples
    --------
    >>> from headwater.adapters.sklearn import HeadwaterRegressor
    >>> model = HeadwaterRegressor(params={"epsilon": 0.0}, epochs=50, random_state=0)
    >>> model.fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0]).predict([[3.0]]).round(3).tolist()
    [7.0]
    """

    def __init__(
        self,
        algorithm: str = "PARegressor",
        *,
        C: float | None = None,
        params: Mapping[str, Any] | None = None,
        epochs: int = 5,
        shuffle: bool = True,
        feature_space: Literal["fixed", "open"] = "fixed",
        random_state: Any = None,
    ) -> None:
        super().__init__(algorithm, C, params, epochs, shuffle, feature_space, random_state)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn these rows from the beginning, `epochs` times.

        Parameters
        ----------
        X
            Rows: an array, a sparse matrix or a DataFrame.
        y
            One number per row.
        sample_weight
            How often each row is learned per pass; fractions are rounded up or down by chance.
        """
        given = self._given()
        self._forget_names()
        rows, numbers = self._read(X, first=True), _target(self, y)
        self._learn_all(self._new(given), rows, numbers, sample_weight)
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn these rows once, in their order, on top of what was learned.

        Parameters
        ----------
        X
            Rows: an array, a sparse matrix or a DataFrame.
        y
            One number per row.
        sample_weight
            As in `fit`.
        """
        given, first = self._given(), not hasattr(self, "learner_")
        rows, numbers = self._read(X, first=first), _target(self, y)
        learner = self._new(given) if first else self.learner_
        self._learn_more(learner, rows, numbers, sample_weight)
        return self

    def _new(self, given: dict[str, Any]) -> Learner:
        """A fresh learner."""
        given |= {"seed": self._seed()}
        if self.algorithm == "PARegressor":
            return _made(PARegressor, {"scale": None} | given)
        learner = named(self.algorithm, **given)
        if not isinstance(learner, FESL):
            raise ParameterError(
                "HeadwaterRegressor: algorithm must be PARegressor or one of FESL's, got"
                f" {self.algorithm}, which is a classifier."
            )
        return dataclasses.replace(learner, loss="square")

    def predict(self, X: Any) -> NDArray[np.float64]:
        """The number of each row.

        Parameters
        ----------
        X
            Rows, as in `fit`.
        """
        check_is_fitted(self)
        rows = self._read(X, first=False)
        return self.learner_.predict_many(rows.arrays, names=rows.names)


def _with_step(update: Any, C: float) -> Update:
    """An update rule, or the word for one, with this C."""
    rule = Update.of("Linear", update)
    if not hasattr(rule, "C"):
        raise ParameterError(f"Linear: {rule!r} has no C; leave it out.")
    return dataclasses.replace(rule, C=C)  # type: ignore[type-var]


def _made(kind: type[Learner], given: dict[str, Any]) -> Learner:
    """A learner of these parameters, if it has them all."""
    known = [field.name for field in dataclasses.fields(kind)]
    for name in given:
        if name not in known:
            raise ParameterError(
                f"{kind.__name__}: there is no parameter {name!r}"
                + did_you_mean(name, known, f"; it has {', '.join(known)}.")
            )
    return kind(**given)
