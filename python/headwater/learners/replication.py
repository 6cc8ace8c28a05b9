"""Variants of algorithms that follow published code, to reproduce printed numbers.

Only `headwater.named` creates these, if one of their switches is given.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any, ClassVar, Literal

from headwater.errors import ParameterError
from headwater.learners import fesl, olsf
from headwater.learners.base import Bounded, Classifier, Learner
from headwater.learners.fesl import FESL
from headwater.learners.olsf import OLSF
from headwater.learners.parts import Parts, linear_model
from headwater.learners.second_order import SEL2
from headwater.learners.shared_parameters import learner
from headwater.parameters import ABOVE_ZERO, Limit, read_whole, tuple_of
from headwater.rules.component import shown
from headwater.rules.query import All, SelAda
from headwater.rules.update import Perceptron, by_word

LEGACY_RADIUS = 0.001**-0.5

SCHEDULE = Limit(
    tuple_of(read_whole),
    lambda v: len(v) == 3 and 0 < v[1] < v[0] < 2**63 and v[1] <= 1000 and 0 < v[2] < 2**64,
    "(T1, B, T2), whole numbers with T1 > B > 0, B <= 1000 and T2 > 0",
)


class Replication(Learner, abstract=True):
    """A learner with switches; its `repr` is the call of `headwater.named` that rebuilds it."""

    switches: ClassVar[Mapping[str, Any]]
    """The switches and their defaults."""
    names: ClassVar[Mapping[str, Mapping[str, Any]]]
    """Its names for `headwater.named`, and the parameters that each of them fixes."""

    def __repr__(self) -> str:
        given = self.parameters()
        fitting = [
            (name, fixed)
            for name, fixed in self.names.items()
            if all(given[parameter] == value for parameter, value in fixed.items())
        ]
        if not fitting:
            return super().__repr__()
        name, fixed = fitting[0]
        switched = {switch: given[switch] for switch in self.switches}  # they come first
        defaults = {field.name: field.default for field in fields(self)} | dict(self.switches)
        changed = (
            f", {parameter}={shown(value)}"
            for parameter, value in {**switched, **given}.items()
            if parameter not in fixed and value != defaults[parameter]
        )
        return f"named({name!r}{''.join(changed)})"


@learner
class LegacyOLSF(Replication, OLSF):
    """OLSF as in the code that its authors published.

    Steps are divided by ‖x‖ instead of ‖x‖², every y·margin ≤ 1 causes an update, the number of
    weights kept is rounded to the nearest integer (possibly 0), and the L1 radius is 1/√0.001.

    Parameters
    ----------
    legacy
        Whether to follow that code.
    """

    switches: ClassVar = {"legacy": False}
    names: ClassVar = olsf.NAMES
    _owner: ClassVar = "OLSF"
    legacy: bool = True

    def _parts(self) -> Parts:
        if self.l1_radius != olsf.RADIUS:
            raise ParameterError("OLSF: legacy=True has a radius of its own; leave l1_radius out.")
        kept = self._sparsify(LEGACY_RADIUS)
        update = by_word(self.update, self.C)
        return Parts(linear_model(update, kept, legacy=self.legacy), All())


@learner
class PaperFESL(Replication, FESL):
    """FESL with the paper's known times of replacement.

    Parameters
    ----------
    schedule
        The paper's (T1, B, T2) in learned rounds, instead of detecting the replacement from the
        names: it happens after round T1; B and T2 stand for `overlap` and `horizon`.
    clip_losses
        Losses above 1 count as 1 in the trust, as the paper's bounds require.
    """

    switches: ClassVar = {"schedule": None, "clip_losses": False}
    names: ClassVar = fesl.NAMES
    _owner: ClassVar = "FESL"
    schedule: Annotated[tuple[int, int, int], SCHEDULE] | None = None
    clip_losses: bool = False

    def _parts(self) -> Parts:
        switch_after, overlap, horizon = self.schedule or (None, self.overlap, self.horizon)
        return self._parts_of(overlap, horizon, switch_after, self.clip_losses)


@learner
class OriginalSEL2(Replication, SEL2):
    """SEL-2nd with the certainty of Cesa-Bianchi et al., |p| + p²(1 + r)/2.

    Parameters
    ----------
    query_form
        How the certainty is computed: `"text"`: |p|, as in the PAA paper; `"original"`:
        |p| + p²(1 + r)/2.
    """

    switches: ClassVar = {"query_form": "text"}
    names: ClassVar = {"SEL-2nd": {}}
    _owner: ClassVar = "SEL2"
    query_form: Literal["text", "original"] = "original"

    def _parts(self) -> Parts:
        return self._parts_of(self.query_form)


@dataclass(frozen=True, repr=False)
class SelAdaByNorm(SelAda):
    """`SelAda` with the width multiplied by the largest ‖x‖² so far."""

    def for_core(self) -> tuple[str, dict[str, Any]]:
        return self.word, {**self.parameters(), "by_norm": True}


@learner
class OriginalSELAda(Replication, Bounded, Classifier):
    """SEL-ada as in Cesa-Bianchi et al. (2006): the width grows with the largest ‖x‖² so far.

    Parameters
    ----------
    query_width
        Initial width.
    by_norm
        Whether the width is multiplied by the largest ‖x‖² so far.
    """

    switches: ClassVar = {"by_norm": False}
    names: ClassVar = {"SEL-ada": {}}
    _owner: ClassVar = "SelAda"
    query_width: Annotated[float, ABOVE_ZERO] = 1.0
    by_norm: bool = True

    def _parts(self) -> Parts:
        rule = SelAdaByNorm if self.by_norm else SelAda
        return Parts(linear_model(Perceptron()), rule(self.query_width))
