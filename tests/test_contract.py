"""Every learner passes every check of the contract: all names of the papers, all public classes."""

from functools import partial
from typing import Any

import pytest

import headwater as hw
from contract import Check, Make, checks_for, small

STREAMS = {multiclass: small(multiclass) for multiclass in (False, True)}

CLASSES: dict[str, Make] = {
    "Linear()": hw.Linear,
    "FLLS()": hw.FLLS,
    "OLSF()": hw.OLSF,
    "PAA()": hw.PAA,
    "MPAA()": hw.MPAA,
    "CSPAA()": hw.CSPAA,
    "Linear(all)": partial(hw.Linear, query="all"),
    "Linear(multiclass)": partial(hw.Linear, multiclass=True, query=hw.query.Budget(0.4)),
    "Linear(multiclass, sparse)": partial(
        hw.Linear, update="pa2", query="all", sparsify="keep_largest", multiclass=True
    ),
    "Linear(multiclass, restart)": partial(
        hw.Linear, query="all", growth="restart", multiclass=True
    ),
    "Linear(sparse AROW)": partial(
        hw.Linear,
        update=hw.update.AROW(C=0.5, positive_margin="balanced"),
        query=hw.query.MarginPlusOne(2.0),
        sparsify=hw.sparsify.KeepLargest(share=0.4, l1_radius=0.5),
    ),
    "Linear(random share)": partial(
        hw.Linear, query=hw.query.SelAda(by_norm=True), sparsify=hw.sparsify.RandomShare(0.6)
    ),
    "Linear(keep count)": partial(
        hw.Linear,
        update=hw.update.CW(form="stdev"),
        query=hw.query.Quota(0.5, total=70),
        sparsify=hw.sparsify.KeepCount(count=3, l2_radius=0.7),
    ),
    "Linear(closed)": partial(hw.Linear, update="perceptron", query="random", growth="closed"),
    "OLSF(legacy)": partial(hw.OLSF, legacy=True, kept_share=0.3),
    "PAA(plus one)": partial(hw.PAA, plus_one=True, query_width=3.0),
}


def make_named(name: str) -> Make:
    """A maker of the algorithm `name` that asks often enough for a stream of a few events."""
    rated: dict[str, Any] = {"rate": 0.4} if name.startswith(("R", "MR", "CSRND")) else {}
    return partial(hw.named, name, **rated)


MAKERS = CLASSES | {name: make_named(name) for name in hw.names()}


def is_multiclass(make: Make) -> bool:
    return make().labels == ()  # no class known yet


PAIRS = [
    pytest.param(make, check, id=f"{name}-{check.__name__.removeprefix('check_')}")
    for name, make in MAKERS.items()
    for check in checks_for(is_multiclass(make))
]


@pytest.mark.parametrize(("make", "check"), PAIRS)
def test_every_learner_keeps_the_contract(make: Make, check: Check) -> None:
    check(make, STREAMS[is_multiclass(make)])


def test_every_public_learner_is_under_contract() -> None:
    public = {value for value in vars(hw).values() if isinstance(value, type)}
    learners = {cls for cls in public if issubclass(cls, hw.Learner) and cls is not hw.Learner}
    assert {type(make()) for make in MAKERS.values()} == learners
    assert set(MAKERS) >= set(hw.names())
