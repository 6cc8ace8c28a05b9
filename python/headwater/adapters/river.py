"""The learners as River estimators, under their own names.

They work in River's pipelines, after its transformers, and in its evaluators; features may come and
go from event to event and from batch to batch. `learn_one` and `learn_many` learn every label they
are given; `Active` asks for labels by the learner's query rule.
"""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

try:
    from river import active, base, compose
except ImportError as error:
    raise ImportError(
        "headwater.adapters.river needs River: pip install 'headwater[river]'."
    ) from error

import numpy as np

from headwater.errors import LabelError, ParameterError
from headwater.learners import fesl, flls, linear, olsf, olvf, paa, regression, spring
from headwater.learners.base import Learner
from headwater.parameters import described_parameters, with_parameters
from headwater.types import Event, Label

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "CSPAA",
    "FESL",
    "FLLS",
    "MPAA",
    "OLSF",
    "OLVF",
    "PAA",
    "Active",
    "Linear",
    "PARegressor",
    "Spring",
]

Pair: TypeAlias = tuple[Label | None, Label | None]
"""The labels (negative, positive) of two classes; None: not known yet."""


class _RiverEstimator(base.Estimator):
    """The base class: it holds a learner that is created with the same parameters."""

    _kind: ClassVar[type[Learner]]
    _fixed: ClassVar[Mapping[str, Any]]

    def __init_subclass__(
        cls, kind: type[Learner] | None = None, fixed: Mapping[str, Any] | None = None
    ) -> None:
        if kind is not None:
            cls._kind, cls._fixed = kind, fixed or {}
            cls.__init__ = _constructor(kind, cls._fixed)  # type: ignore[method-assign]
            free = [name for name in inspect.signature(kind).parameters if name not in cls._fixed]
            described = described_parameters(kind.__doc__)
            cls.__doc__ = with_parameters(cls.__doc__, described, free)

    @property
    def learner(self) -> Learner:
        """The learner inside: its `weights()`, `features()`, `explain_one(x)`, `save(path)`.

        For two classes its labels are False and True, unless `classes` names them.
        """
        return self._learner

    def debug_one(self, x: Event) -> str:
        """What each feature adds to the prediction of an event, as a table. Changes nothing.

        A pipeline's `debug_one(x)` shows it below its transformers.

        Examples
        --------
        >>> from headwater.adapters import river as hw_river
        >>> model = hw_river.PAA()
        >>> model.learn_one({"rain": 1.0, "wind": 0.5}, True)
        >>> print(model.debug_one({"rain": 2.0, "sun": 1.0}))
        feature  value  contribution
        rain         2           1.6
        sun          1             0
        margin                   1.6
        prediction: True
        """
        event = _read(x)
        found = self._learner.explain_one(event)
        rows = [("feature", "value", "contribution")]
        for name, added in found.contributions.items():
            value = event.get(name, "")
            shown = f"{value:.4g}" if isinstance(value, (int, float)) else str(value)
            rows.append((str(name), shown, f"{added:.4g}"))
        rows.append(("margin", "", f"{found.margin:.4g}"))
        first, second, third = (max(map(len, column)) for column in zip(*rows, strict=True))
        lines = [f"{a:{first}}  {b:>{second}}  {c:>{third}}" for a, b, c in rows]
        return "\n".join([*lines, f"prediction: {self.predict_one(x)!r}"])

    def predict_one(self, x: Event) -> Any:
        """The prediction."""
        raise NotImplementedError

    @property
    def _raw_memory_usage(self) -> int:
        return int(super()._raw_memory_usage) + len(self._learner.to_bytes())


def _constructor(kind: type[Learner], fixed: Mapping[str, Any]) -> Callable[..., None]:
    """An `__init__` with the parameters of a learner, as River looks them up."""

    def __init__(self: Any, **parameters: Any) -> None:  # noqa: N807
        self._learner = kind(**fixed, **parameters)
        for name, value in self._learner.parameters().items():
            if name not in fixed:
                setattr(self, name, value)

    plain = inspect.signature(kind.__init__)
    free = [one for name, one in plain.parameters.items() if name not in fixed]
    __init__.__signature__ = plain.replace(parameters=free)  # type: ignore[attr-defined]
    return __init__


def _read(x: Any) -> Event:
    """An event with n-grams, which River names by tuples, named by their words."""
    if tuple not in map(type, x):
        return x
    return {" ".join(map(str, n)) if isinstance(n, tuple) else n: v for n, v in x.items()}


class _Classifier(_RiverEstimator, base.MiniBatchClassifier):
    """A classifier that keeps the labels as the user writes them."""

    classes: Any
    _pair: Pair = (None, None)

    @property
    def _multiclass(self) -> bool:
        return self._learner.task == "multiclass"

    @property
    def _spells(self) -> bool:
        """Whether the labels of two classes are found here, as they come."""
        return self.classes is None and not self._multiclass

    def learn_one(self, x: Event, y: Label) -> None:
        """Learn the label of an event; the query rule is not consulted."""
        if not self._spells:
            return self._learner.learn_one(_read(x), y)
        (side,), pair = _sides(self._pair, [y])
        self._learner.learn_one(_read(x), side)
        self._pair = pair

    def learn_many(self, X: "pd.DataFrame", y: "pd.Series[Any]") -> None:
        """`learn_one` of each row; columns may differ from batch to batch, null is absent."""
        if not self._spells:
            return self._learner.learn_many(X, y)
        sides, pair = _sides(self._pair, y)
        self._learner.learn_many(X, sides)
        self._pair = pair

    def predict_one(self, x: Event) -> Any:
        """The label that it predicts; None from several classes before any is known."""
        prediction = self._learner.predict_one(_read(x))
        return _spelled(self._pair)[bool(prediction)] if self._spells else prediction

    def predict_proba_one(self, x: Event) -> dict[Any, float]:
        """One probability per label."""
        probabilities = self._learner.predict_proba_one(_read(x))
        if not self._spells:
            return probabilities
        negative, positive = _spelled(self._pair)
        if negative == positive:
            return {negative: 1.0}
        return {negative: probabilities[False], positive: probabilities[True]}

    def predict_many(self, X: "pd.DataFrame") -> "pd.Series[Any]":
        """`predict_one` of each row."""
        import pandas as pd

        predicted = self._learner.predict_many(X)
        if not self._spells:
            return predicted
        labels = _spelled(self._pair)
        index = getattr(X, "index", None) if isinstance(X, pd.DataFrame) else None
        return pd.Series([labels[side] for side in predicted.tolist()], index=index)

    def predict_proba_many(self, X: "pd.DataFrame") -> "pd.DataFrame":
        """`predict_proba_one` of each row, one column per label."""
        import pandas as pd

        table = self._learner.predict_proba_many(X)
        if not self._spells:
            return table
        labels = _spelled(self._pair)
        if not isinstance(table, pd.DataFrame):  # of a list of dicts
            table = pd.DataFrame(table)
        if labels[0] == labels[1]:
            return pd.DataFrame(1.0, index=table.index, columns=pd.Index(labels[:1]))
        return table.set_axis(pd.Index(labels), axis=1)


def _sides(pair: Pair, labels: Iterable[Any]) -> tuple[list[bool], Pair]:
    """Whether each label is the positive one, and the two labels as they are known after it."""
    sides = []
    for label in labels:
        plain = _plain(label)
        if pair == (None, None) and isinstance(plain, bool):
            pair = (False, True)
        if plain not in pair:
            free = [side for side in (False, True) if pair[side] is None]
            if not free:
                raise LabelError(
                    f"label: the labels so far were {pair[0]!r} and {pair[1]!r}, got {plain!r};"
                    " MPAA, Spring(multiclass=True) and Linear(multiclass=True) take more."
                )
            side = plain == 1 if len(free) == 2 else free[0]
            pair = (pair[0], plain) if side else (plain, pair[1])
        sides.append(plain == pair[1])
    return sides, pair


def _plain(label: Any) -> str | int | bool:
    """A label without NumPy's types."""
    plain = label.item() if isinstance(label, np.generic) else label
    if isinstance(plain, float) and plain.is_integer():
        return int(plain)
    if isinstance(plain, (str, int)):
        return plain
    raise LabelError(f"label: expected a str, an int or a bool, got {label!r}.")


def _spelled(pair: Pair) -> tuple[Any, Any]:
    """The labels to predict; before the second is known, 0, 1 and -1 have their usual opposite."""
    negative, positive = pair
    if negative is None:
        return (False, True) if positive is None else (0, positive)
    if positive is None:
        return negative, 1 if negative in (0, -1) else negative
    return negative, positive


class FLLS(_Classifier, kind=flls.FLLS):
    """`headwater.FLLS` for River.

    Examples
    --------
    >>> from headwater.adapters import river as hw_river
    >>> from river import feature_extraction
    >>> model = feature_extraction.BagOfWords() | hw_river.FLLS()
    >>> model.learn_one("cheap pills", "spam")
    >>> model.learn_one("see you tomorrow", "ham")
    >>> model.predict_one("pills tomorrow, cheap")
    'spam'
    """


class OLSF(_Classifier, kind=olsf.OLSF):
    """`headwater.OLSF` for River.

    Examples
    --------
    >>> from headwater.adapters import river as hw_river
    >>> model = hw_river.OLSF(kept_share=1.0)
    >>> model.learn_one({"rain": 1.0}, True)
    >>> model.predict_one({"rain": 2.0, "wind": 1.0})
    True
    """


class PAA(_Classifier, kind=paa.PAA):
    """`headwater.PAA` for River.

    Examples
    --------
    >>> from headwater.adapters import river as hw_river
    >>> model = hw_river.PAA()
    >>> model.learn_one({"rain": 1.0}, True)
    >>> model.learner.weights()
    {'rain': 1.0}
    """


class MPAA(_Classifier, kind=paa.MPAA):
    """`headwater.MPAA` for River: several classes; new ones are added as they appear.

    Examples
    --------
    >>> from headwater.adapters import river as hw_river
    >>> model = hw_river.MPAA()
    >>> for fruit in ("apple", "lemon", "plum"):
    ...     model.learn_one({f"smells of {fruit}": 1.0}, fruit)
    >>> model.predict_one({"smells of plum": 1.0})
    'plum'
    """


class CSPAA(_Classifier, kind=paa.CSPAA):
    """`headwater.CSPAA` for River. If labels are neither bool nor 0 and 1, name the rare one by
    `classes=(usual, rare)`.

    Examples
    --------
    >>> from headwater.adapters import river as hw_river
    >>> model = hw_river.CSPAA(positive_margin=9.0, classes=("well", "ill"))
    >>> model.learn_one({"fever": 1.0}, "ill")
    >>> model.learner.margin_one({"fever": 1.0})
    9.0
    """


class OLVF(_Classifier, kind=olvf.OLVF):
    """`headwater.OLVF` for River.

    Examples
    --------
    >>> from headwater.adapters import river as hw_river
    >>> model = hw_river.OLVF(C_space=0.5)
    >>> for _ in range(5):
    ...     model.learn_one({"rain": 1.0}, True)
    ...     model.learn_one({"rain": -1.0, "wind": 0.0}, False)
    >>> model.predict_one({"rain": 0.5})
    True
    """


class Linear(_Classifier, kind=linear.Linear):
    """`headwater.Linear` for River, made of components; it needs no scaler before it.

    Examples
    --------
    >>> from headwater.adapters import river as hw_river
    >>> from river import datasets, evaluate, metrics
    >>> model, accuracy = hw_river.Linear(), metrics.Accuracy()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, accuracy).get() > 0.85
    True
    """


class Spring(_Classifier, kind=spring.Spring):
    """`headwater.Spring` for River, the one we recommend; inside `Active` it asks for few labels.

    Examples
    --------
    >>> from headwater.adapters import river as hw_river
    >>> from river import datasets, evaluate, metrics
    >>> model, accuracy = hw_river.Spring(), metrics.Accuracy()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, accuracy).get() > 0.85
    True
    """


class FESL(_Classifier, kind=fesl.FESL, fixed={"loss": "logistic"}):
    """`headwater.FESL` for River, for two classes.

    Examples
    --------
    >>> from headwater.adapters import river as hw_river
    >>> model = hw_river.FESL(overlap=2)
    >>> for x in (1.0, -2.0, 1.5):  # an old sensor
    ...     model.learn_one({"old": x}, x > 0)
    >>> for x in (1.0, -1.0):  # a new one beside it
    ...     model.learn_one({"old": x, "new": 10 * x}, x > 0)
    >>> model.predict_one({"new": -5.0})  # and the old one is gone
    False
    """


class PARegressor(_RiverEstimator, base.MiniBatchRegressor, kind=regression.PARegressor):
    """`headwater.PARegressor` for River.

    Examples
    --------
    >>> from headwater.adapters import river as hw_river
    >>> model = hw_river.PARegressor(
    ...     update="pa", epsilon=0.5, scale=None, intercept=False
    ... )
    >>> model.learn_one({"rain": 2.0}, 10.5)
    >>> model.predict_one({"rain": 3.0, "wind": 1.0})
    15.0
    """

    def learn_one(self, x: Event, y: float) -> None:
        """Learn the number of an event; the query rule is not consulted."""
        self._learner.learn_one(_read(x), y)

    def learn_many(self, X: "pd.DataFrame", y: "pd.Series[Any]") -> None:
        """`learn_one` of each row; columns may differ from batch to batch, null is absent."""
        self._learner.learn_many(X, y)

    def predict_one(self, x: Event) -> float:
        """The number that it predicts."""
        return self._learner.predict_one(_read(x))

    def predict_many(self, X: "pd.DataFrame") -> "pd.Series[Any]":
        """`predict_one` of each row."""
        return self._learner.predict_many(X)


class Active(active.base.ActiveLearningClassifier):
    """A classifier that asks for labels: `predict_one` returns (prediction, ask).

    River's evaluators recognise it: only labels that were asked for are learned and counted. The
    running scaler (`scale`) counts every event, and learned events twice.

    Parameters
    ----------
    classifier
        A classifier of this module, whose query rule asks, or a pipeline that ends in one.

    Examples
    --------
    >>> from headwater.adapters import river as hw_river
    >>> from river import datasets, evaluate, metrics
    >>> model, accuracy = hw_river.Active(hw_river.Spring(label_rate=0.1)), metrics.Accuracy()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, accuracy).get() > 0.8
    True
    >>> 100 < model.classifier.learner.asked < 150  # of 1,250
    True
    """

    def __init__(self, classifier: Any) -> None:
        self.classifier = classifier
        if not isinstance(self._last, _Classifier):
            raise ParameterError(
                "Active: classifier must be one of headwater.adapters.river, or a pipeline that"
                f" ends in one, got {type(self._last).__name__}."
            )

    @property
    def _last(self) -> Any:
        pipeline = isinstance(self.classifier, compose.Pipeline)
        return self.classifier._last_step if pipeline else self.classifier

    def _ask_for_label(self, x: Any, y_pred: Any) -> bool:
        if self._last is not self.classifier:
            x = self.classifier.transform_one(x)
        return self._last.learner.decide_one(_read(x)).asked

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"classifier": MPAA()}
