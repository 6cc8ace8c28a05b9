"""OLSF: learning while features still arrive, from every label."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from headwater.errors import ParameterError
from headwater.learners.base import Learner, Parts, WhenFull, linear_model
from headwater.rules.query import All
from headwater.rules.sparsify import KeepLargest, RandomShare, Sparsify
from headwater.rules.update import by_word
from headwater.types import Label

RADIUS = 30.0
LEGACY_RADIUS = 0.001**-0.5


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class OLSF(Learner):
    """Linear classifier that learns every label and accepts new features at any time.

    Zhang et al., *Online Learning from Trapezoidal Data Streams*, TKDE 2016.

    Parameters
    ----------
    update
        How a label moves the weights: `"pa"`, `"pa1"` (OLSF-I), `"pa2"` (OLSF-II) or
        `"perceptron"` (OLSF-I-per).
    C
        Longest step of `"pa1"`, damping of `"pa2"`, otherwise unused.
    keep
        Which weights are kept after an update: the `"largest"`, a `"random"` share (OLSF-I-rand)
        or `"all"` (OLSF-I-all).
    kept_share
        Share of the weights kept; 1 keeps all. Paper: B.
    l1_radius
        With `keep="largest"` the weights are scaled back to this L1 norm when they outgrow it;
        otherwise unused. Paper: λ.
    legacy
        Do as the authors' published code, for replication: steps by ‖x‖ instead of ‖x‖², an
        update whenever y·margin ≤ 1, the number kept rounded to the nearest (0 included), and an
        L1 radius of 1/√0.001.
    max_features
        The most names that it keeps, its own not counted; None: all. `docs/memory.md` says more.
    when_full
        What becomes of a new name beyond: `"smallest"` lets go of the smallest weights,
        `"oldest"` of what was learned longest ago, `"refuse"` leaves the new name out.
    classes
        (negative, positive); None: bool, 0/1 or −1/+1.
    seed
        Same seed and same events: same weights.

    Examples
    --------
    >>> import headwater as hw
    >>> model = hw.OLSF(kept_share=1.0)
    >>> model.learn_one({"rain": 1.0}, True)
    >>> model.learn_one({"wind": 1.0}, False)
    >>> model.weights()
    {'rain': 1.0, 'wind': -1.0}
    """

    update: Literal["pa", "pa1", "pa2", "perceptron"] = "pa1"
    C: float = 1.0
    keep: Literal["largest", "random", "all"] = "largest"
    kept_share: float = 0.5
    l1_radius: float = RADIUS
    legacy: bool = False
    max_features: int | None = None
    when_full: WhenFull = "smallest"
    classes: Sequence[Label] | None = None
    seed: int = 0

    def _parts(self) -> Parts:
        update = by_word("OLSF", self.update, self.C, ("pa", "pa1", "pa2", "perceptron"))
        return Parts(linear_model(update, self._sparsify(), legacy=self.legacy), All())

    def _sparsify(self) -> Sparsify | None:
        if self.legacy and self.l1_radius != RADIUS:
            raise ParameterError("OLSF: legacy=True has a radius of its own; leave l1_radius out.")
        if self.keep == "largest":
            return KeepLargest(self.kept_share, LEGACY_RADIUS if self.legacy else self.l1_radius)
        return RandomShare(self.kept_share) if self.keep == "random" else None
