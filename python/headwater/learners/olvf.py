"""OLVF: every event may carry a different subset of the features."""

from typing import Annotated, Literal

from headwater.learners.base import Bounded, Classifier
from headwater.learners.parts import Parts
from headwater.learners.shared_parameters import learner
from headwater.parameters import ABOVE_ZERO, SHARE
from headwater.rules.query import Query
from headwater.rules.scale import Scale


@learner
class OLVF(Bounded, Classifier):
    """Linear classifier for events that each may carry different features.

    In addition to the weights of values it learns a second weight per feature. From the features
    that are present, independent of their values, these weights estimate whether a prediction can
    be trusted; a feature of value 0 is present. The higher this confidence, the longer the step.
    `explain_one(x).details` has both confidences of an event. Beyazit, Alagurajah and Wu, *Online
    learning from data streams with varying feature spaces*, AAAI 2019; `docs/papers/olvf.md` has
    the formulas.

    Parameters
    ----------
    C
        Longest step of the weights, before the confidence is applied. The default lies between
        the best values on z-scores of noisy data (0.01) and of clean data (0.1).
    C_space
        Longest step of the feature weights. The default keeps them near 0, so that a confidence
        moves away from 1/2 only after many events. Paper: C̄.
    l1_radius
        With `kept_share` below 1, the weights are scaled down if their product with the feature
        weights is larger than this. Paper: λ.
    kept_share
        Share of the features whose weights are kept after each round; 1 keeps all. Paper: B.
    confidence
        `"multiply"`: a step is multiplied by its confidence, as in the paper; `"divide"`: divided
        by it, which is the exact solution of the paper's problem.
    query
        Whether a label is worth asking for: a word or a value of `headwater.query`.
    scale
        How values are scaled: a word or a value of `headwater.scale`; None: not at all.

    Examples
    --------
    >>> import headwater as hw
    >>> model = hw.OLVF(C_space=0.5)
    >>> for _ in range(5):
    ...     model.learn_one({"rain": 1.0}, True)
    ...     model.learn_one({"rain": -1.0, "wind": 0.0}, False)
    >>> model.predict_one({"rain": 0.5})
    True
    >>> confidences = model.explain_one({"rain": 0.5}).details
    >>> sorted(confidences)
    ['event_confidence', 'space_confidence']
    """

    C: Annotated[float, ABOVE_ZERO] = 0.03
    C_space: Annotated[float, ABOVE_ZERO] = 0.01
    l1_radius: Annotated[float, ABOVE_ZERO] = 30.0
    kept_share: Annotated[float, SHARE] = 1.0
    confidence: Literal["multiply", "divide"] = "multiply"
    query: str | Query = "all"
    scale: str | Scale | None = None

    def _parts(self) -> Parts:
        model = {
            "kind": "olvf",
            "C": self.C,
            "C_space": self.C_space,
            "l1_radius": self.l1_radius,
            "kept_share": self.kept_share,
            "confidence": self.confidence,
        }
        return Parts(
            model=model,
            query=Query.of("OLVF", self.query),
            scale=None if self.scale is None else Scale.of("OLVF", self.scale),
        )
