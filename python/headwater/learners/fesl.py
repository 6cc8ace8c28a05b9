"""FESL: a feature space is replaced by another, and what was learned is carried over."""

from typing import Annotated, Any, Literal

from headwater.errors import ParameterError
from headwater.learners.base import Classifier
from headwater.learners.parts import Parts
from headwater.learners.shared_parameters import learner
from headwater.parameters import FINITE, whole, whole_from
from headwater.rules.query import Query
from headwater.types import Event, Explanation


@learner
class FESL(Classifier):
    """Linear learner that can continue after all its features are replaced by others.

    If new features replace the old ones, and both were present together for a few rounds, it learns
    a map from the new features to the old ones. It continues with the old model on mapped features,
    starts a new model beside it, and trusts the one that does better. It detects the replacement
    from the names: a learned event that has features, but none that occurred in the period before
    the last `overlap` rounds, begins a new period, if the current one has lasted for at least twice
    `overlap` rounds. Hou, Zhang and Zhou, *Learning with Feature Evolvable Streams*, NIPS 2017.

    `weights()` are those on the current features: the new model and the mapped old one, combined
    by trust. Names that have disappeared keep their weight in case they return.

    Parameters
    ----------
    combine
        How the two models are combined: `"weights"` the mean weighted by trust (FESL-c), `"draw"`
        one of them, drawn by trust (FESL-s), `"best"` the one with the larger trust; or only one:
        `"new"` (NOGD), `"old"` (ROGD-u), `"frozen"` the old one without further learning (ROGD-f).
    loss
        `"logistic"` for two classes, `"square"` for numbers (regression).
    step
        The gradient step of round t of a period is step/√t. Paper: 1/c.
    ridge
        Damping of the map; None: 1e-8 of the stored rounds' mean square, close to the least-squares
        solution of minimal norm. Paper: none.
    overlap
        How many learned rounds are stored to learn the map from. Paper: B.
    horizon
        Number of learned rounds in a period, which sets how fast the trust changes; None: unknown,
        the trust is reset after 2, 4, 8, ... rounds. Paper: T2.
    query
        Whether a label is worth asking for: a word or a value of `headwater.query`.

    Examples
    --------
    >>> import headwater as hw
    >>> model = hw.FESL(overlap=2)
    >>> for x in (1.0, -2.0, 1.5):  # an old sensor
    ...     model.learn_one({"old": x}, x > 0)
    >>> for x in (1.0, -1.0):  # a new one beside it
    ...     model.learn_one({"old": x, "new": 10 * x}, x > 0)
    >>> model.predict_one({"new": -5.0})  # and the old one is gone
    False
    >>> model.learn_one({"new": -5.0}, False)
    >>> print(model.explain_one({"new": 1.0}).reason.partition("; ")[2].partition(", its trust")[0])
    period 2, since round 6: its map comes from 2 stored rounds
    """

    combine: Literal["weights", "draw", "best", "new", "old", "frozen"] = "weights"
    loss: Literal["logistic", "square"] = "logistic"
    step: Annotated[float, FINITE] = 1.0
    ridge: Annotated[float, FINITE] | None = None
    overlap: Annotated[int, whole("a whole number from 1 to 1000", lambda v: 0 < v <= 1000)] = 10
    horizon: Annotated[int, whole_from(1, bits=64)] | None = None
    query: str | Query = "all"

    def _parts(self) -> Parts:
        return self._parts_of(self.overlap, self.horizon)

    def _parts_of(
        self,
        overlap: int,
        horizon: int | None,
        switch_after: int | None = None,
        clip_losses: bool = False,
    ) -> Parts:
        is_regression = self.loss == "square"
        if is_regression and self.classes is not None:
            raise ParameterError('FESL: loss="square" is regression, which has no classes.')
        return Parts(
            model={
                "kind": "fesl",
                "combine": self.combine,
                "loss": self.loss,
                "step": self.step,
                "ridge": self.ridge,
                "overlap": overlap,
                "horizon": horizon,
                "clip_losses": clip_losses,
                "switch_after": switch_after,
            },
            query=Query.of("FESL", self.query),
            task="regression" if is_regression else "binary",
        )

    def explain_one(self, x: Event) -> Explanation:
        """As for every learner; the reason also names the period and how it began."""
        plain = super().explain_one(x)
        return plain._replace(reason=f"{plain.reason[:-1]}; {self._note()}.")


NAMES: dict[str, dict[str, Any]] = {
    "FESL-c": {"combine": "weights"},
    "FESL-s": {"combine": "draw"},
    "NOGD": {"combine": "new"},
    "ROGD-u": {"combine": "old"},
    "ROGD-f": {"combine": "frozen"},
}
"""The paper's names, and the parameter that each of them fixes."""


@learner
class RFESL(Classifier):
    """FESL for features that appear and stay, with random labels: the FLLS paper's baseline.

    A learned round with new names begins a period: the weights so far become the old model, on the
    names known before; a new model, on all names, starts at 0. The trust starts at one half each
    and is updated from the losses of both. Such a round costs O(names known).

    Parameters
    ----------
    step
        The gradient step of round t of a period is step/√t. Paper: 1/c.
    horizon
        Number of labels in a period, which sets how fast the trust changes; None: unknown, the
        trust is reset after 2, 4, 8, ... labels. Paper: T2.
    query
        Whether a label is worth asking for: a word or a value of `headwater.query`.

    Examples
    --------
    >>> import headwater as hw
    >>> model = hw.RFESL(query="all")
    >>> model.learn_one({"rain": 1.0}, True)
    >>> model.learn_one({"rain": -1.0, "wind": 1.0}, False)  # a new period
    >>> model.predict_one({"rain": 1.0, "wind": -1.0})
    True
    """

    step: Annotated[float, FINITE] = 1.0
    horizon: Annotated[int, whole_from(1, bits=64)] | None = None
    query: str | Query = "quota"

    def _parts(self) -> Parts:
        return Parts(
            model={"kind": "rfesl", "step": self.step, "horizon": self.horizon},
            query=Query.of("RFESL", self.query),
        )
