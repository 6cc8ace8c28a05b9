"""Linear: the general form, a learner made of components."""

from collections.abc import Mapping, Sequence
from math import inf
from typing import Annotated, Any, Literal

from headwater.errors import ParameterError
from headwater.learners.base import Bounded, Classifier
from headwater.learners.parts import NOTHING, Parts, linear_model
from headwater.learners.shared_parameters import learner
from headwater.parameters import INSIDE, Limit, check_fields, read_number, tuple_of
from headwater.rules.query import Query
from headwater.rules.scale import Scale
from headwater.rules.sparsify import Sparsify
from headwater.rules.update import DualLogistic, Update
from headwater.types import Label

_read_pair = tuple_of(read_number)


def _read_class_weight(value: Any) -> Any:
    """The word, a pair of numbers, or a dict from two labels to numbers."""
    if isinstance(value, Mapping):
        weights = _read_pair(list(value.values()))
        return weights and dict(zip(value, weights, strict=True))
    return value if isinstance(value, str) else _read_pair(value)


def _is_class_weight(value: Any) -> bool:
    if isinstance(value, str):
        return value == "balanced"
    weights = value.values() if isinstance(value, dict) else value
    return len(weights) == 2 and all(0 < weight < inf for weight in weights)


ClassWeight = Annotated[
    Literal["balanced"] | Mapping[Label, float] | Sequence[float] | None,
    Limit(
        _read_class_weight,
        _is_class_weight,
        '"balanced", two positive numbers (negative, positive), or a mapping from the two labels to'
        " positive numbers",
    ).or_none(),
]


@learner
class Linear(Bounded, Classifier):
    """Linear classifier made of components, for those who want to choose them.

    `Spring` is the learner that we recommend: it learns more from each label. `Linear` is faster,
    and can be taken apart: its defaults are a good start too.

    It predicts the sign of the margin (several classes: the largest of w_r·x), asks for the labels
    that its query rule selects, and updates the weights of an event's features when its label
    comes. Features may appear, disappear and return at any time.

    With two classes a slope κ, learned from the labels, turns w·x into log-odds, and `class_weight`
    or `threshold` say from where on the positive class is predicted. Questions are asked by
    |κ w·x − ln(odds)|, whatever mistakes cost; probabilities are those of the stream as it comes.

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
    class_weight
        What a mistake on either of two classes costs. `"balanced"`: the rarer a class, the more, so
        that rare classes are predicted; the margin is κ w·x − ln(odds) of the last labels. A pair
        (negative, positive) or a mapping from label to number: κ w·x + ln(positive/negative). None:
        the margin is w·x, as in the papers. `"balanced"` changes nothing without an intercept, with
        several classes, and with an update rule that weighs the classes itself (a
        `positive_margin`, `dual_logistic`); numbers are refused there.
    threshold
        The positive class is predicted above this probability, instead of `class_weight`: the
        margin is κ w·x − ln(threshold/(1 − threshold)). None: no threshold.

    Examples
    --------
    >>> import headwater as hw
    >>> model = hw.Linear(update="pa1", query=hw.query.Budget(0.2))
    >>> decision = model.decide_one({"temperature": 21.5, "site": "roof"})
    >>> if decision.asked:
    ...     model.answer(decision, True)
    >>> sorted(model.weights())  # one event says nothing of what is usual
    ['(intercept)']

    A missed alarm costs ten times a false one:

    >>> hw.Linear(classes=("calm", "alarm"), class_weight={"alarm": 10, "calm": 1})
    Linear(class_weight=(1.0, 10.0), classes=('calm', 'alarm'))
    """

    update: str | Update = "arow"
    query: str | Query = "budget"
    sparsify: str | Sparsify | None = None
    scale: str | Scale | None = "running"
    growth: Literal["open", "restart", "closed"] = "open"
    intercept: bool = True
    multiclass: bool = False
    class_weight: ClassWeight = "balanced"
    threshold: Annotated[float, INSIDE] | None = None

    def __post_init__(self) -> None:
        check_fields(self, self._owner)
        if isinstance(self.class_weight, dict):
            object.__setattr__(self, "class_weight", self._pair(self.class_weight))
        super().__post_init__()

    def _pair(self, weights: dict[Any, float]) -> tuple[float, ...]:
        """The weights of the negative and of the positive class."""
        given = [(0, 1), (-1, 1)] if self.classes is None else [tuple(self.classes)]
        for labels in given:
            if set(labels) == set(weights):
                return tuple(weights[label] for label in labels)
        expected = "False and True, 0 and 1 or -1 and 1 (others need classes=(negative, positive))"
        if self.classes is not None:
            expected = f"those of classes, {' and '.join(map(repr, self.classes))}"
        raise ParameterError(
            f"{type(self).__name__}: the labels of class_weight must be {expected}, got"
            f" {' and '.join(map(repr, weights))}."
        )

    def _parts(self) -> Parts:
        owner = type(self).__name__
        task: Literal["binary", "multiclass"] = "multiclass" if self.multiclass else "binary"
        update = Update.of(owner, self.update)
        return Parts(
            model=linear_model(
                update,
                None if self.sparsify is None else Sparsify.of(owner, self.sparsify),
                task=task,
                restarts=self.growth == "restart",
                class_weight=self._class_weight(update),
            ),
            query=Query.of(owner, self.query),
            scale=None if self.scale is None else Scale.of(owner, self.scale),
            closed=self.growth == "closed",
            own="intercept" if self.intercept else "none",
            task=task,
        )

    def _class_weight(self, update: Update) -> tuple[str, dict[str, Any]]:
        """What makes a margin of w·x, for the core."""
        owner, threshold = type(self).__name__, self.threshold
        pair = self.class_weight if isinstance(self.class_weight, tuple) else None
        if pair is not None and threshold is not None:
            raise ParameterError(
                f"{owner}: class_weight and threshold both say when the positive class is"
                " predicted; give one of them."
            )
        obstacle = self._obstacle(update)
        if obstacle is not None and (pair is not None or threshold is not None):
            raise ParameterError(
                f"{owner}: {'threshold' if pair is None else 'class_weight'} needs two classes, an"
                " intercept and an update rule that does not weigh the classes itself, got"
                f" {obstacle}; leave one of the two out."
            )
        if threshold is not None:
            return "threshold", {"threshold": threshold}
        if pair is not None:
            return "costs", {"negative": pair[0], "positive": pair[1]}
        return NOTHING if obstacle or self.class_weight is None else ("balanced", {})

    def _obstacle(self, update: Update) -> str | None:
        """The parameter with which there are no class weights."""
        if self.multiclass:
            return "multiclass=True"
        if not self.intercept:
            return "intercept=False"
        margin = getattr(update, "positive_margin", 1.0)
        return f"update={update!r}" if isinstance(update, DualLogistic) or margin != 1.0 else None
