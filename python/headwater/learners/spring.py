"""Spring: a linear classifier for very few labels."""

from dataclasses import dataclass
from typing import Annotated, Literal

from headwater.learners.base import Bounded, Classifier
from headwater.learners.parts import Parts
from headwater.learners.shared_parameters import learner
from headwater.parameters import SHARE
from headwater.rules.query import Quantile
from headwater.rules.scale import Running

SPRING = {"kind": "spring", "own": 3}
SEVERAL = {"kind": "spring_classes", "own": 3}
"""The core's models; the learner's own features are factor, energy and intercept."""


@dataclass(frozen=True)
class ConceptChange:
    """A change of concept that Spring has found.

    Attributes
    ----------
    event
        The number of the first event that belongs to the new concept, as far as labels tell.
    learned
        How many labels were learned when it was found.
    reason
        Which labels said so.
    """

    event: int
    learned: int
    reason: str


@dataclass(frozen=True)
class SpringStatus:
    """What Spring relies on now, and when it last changed its mind.

    Attributes
    ----------
    trust
        The share of each weight vector in predictions: `long` learns from all labels since the last
        change, `mid` and `short` from the latest, `calm` and `fading` learn each label once and
        `fading` forgets, and `spare` is `long` as it was before the last change. With several
        classes there is no `calm` and no `fading`.
    changes
        The last changes of concept, the oldest first.
    """

    trust: dict[str, float]
    changes: tuple[ConceptChange, ...]


@learner
class Spring(Bounded, Classifier):
    """Linear classifier for few labels: it takes raw values and has one parameter to choose.

    Every feature counts by its scaled value and by its presence (`scale.Running`), so that sensors,
    words and sensors that come and go need no settings. Six weight vectors learn side by side, from
    all labels and from the latest ones, and are mixed by how well they predicted the labels so far:
    after a change of concept the latest take over. It asks for the labels it is least sure of
    (`query.Quantile`). From all events, asked about or not, it learns two features that every event
    gets: `(factor)`, the position along the direction in which the regular features vary together,
    and `(energy)`, how unusual the event is. All classes have equal weight, also rare ones;
    `predict_proba_one` reverses this, so that it gives probabilities for the stream itself.
    `docs/learners/spring.md` has the formulas.

    Parameters
    ----------
    label_rate
        Share of the labels to ask for. Of t events it never asks for more than
        rate·t + 2√(rate·t) + 4.
    multiclass
        More than two classes; new classes are added as they appear. They share trust, relevance and
        changes.

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
    multiclass: bool = False

    def _parts(self) -> Parts:
        task: Literal["binary", "multiclass"] = "multiclass" if self.multiclass else "binary"
        return Parts(
            model=SEVERAL if self.multiclass else SPRING,
            query=Quantile(self.label_rate),
            scale=Running(),
            own="summary",
            task=task,
        )

    def status(self) -> SpringStatus:
        """What it relies on now, and the changes of concept it has found. Changes nothing.

        Examples
        --------
        >>> import headwater as hw
        >>> model = hw.Spring(label_rate=1.0)
        >>> for i in range(1_200):  # after 600 events the valve works the other way round
        ...     decision = model.decide_one({"valve": i % 7, "wind": i % 3})
        ...     model.answer(decision, (i % 7 > 3) == (i < 600))
        >>> all(change.event > 500 for change in model.status().changes)
        True
        """
        trust, changes = self._status()
        return SpringStatus(dict(trust), tuple(ConceptChange(*change) for change in changes))
