"""Every learner keeps the contract: all classes, a dozen names of the papers, learners in Python.

Every other name is the same learner as a class with these parameters: tests/test_names.py.
"""

from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

import headwater as hw
from headwater.errors import ParameterError
from headwater.learners.replication import Replication
from headwater.testing import Check, Make, checks, stream_for
from headwater.testing.traits import is_scaled, kind_of
from own_checks import IN_THE_CORE, OWN_CHECKS, UNSCALED
from python_models import HingeSteps, Means, Voices

RAW = partial(hw.Linear, scale=None)

CLASSES: dict[str, Make] = {
    "Linear()": hw.Linear,
    "Linear(raw)": RAW,
    "Linear(weighed)": partial(hw.Linear, class_weight=(3.0, 1.0), scale=None),
    "Linear(threshold)": partial(hw.Linear, threshold=0.7, update="pa1", query="all"),
    "Linear(plain)": partial(hw.Linear, class_weight=None),
    "FLLS()": hw.FLLS,
    "OLSF()": hw.OLSF,
    "PAA()": hw.PAA,
    "MPAA()": hw.MPAA,
    "CSPAA()": hw.CSPAA,
    "Linear(all)": partial(RAW, query="all"),
    "Linear(multiclass)": partial(RAW, multiclass=True, query=hw.query.Budget(0.4)),
    "Linear(multiclass, sparse)": partial(
        RAW, update="pa2", query="all", sparsify="keep_largest", multiclass=True
    ),
    "Linear(multiclass, restart)": partial(RAW, query="all", growth="restart", multiclass=True),
    "Linear(sparse AROW)": partial(
        RAW,
        update=hw.update.AROW(C=0.5, positive_margin="balanced"),
        query=hw.query.MarginPlusOne(2.0),
        sparsify=hw.sparsify.KeepLargest(share=0.4, l1_radius=0.5),
    ),
    "Linear(random share)": partial(
        RAW, query=hw.query.SelAda(), sparsify=hw.sparsify.RandomShare(0.6)
    ),
    "Linear(keep count)": partial(
        RAW,
        update=hw.update.CW(form="stdev"),
        query=hw.query.Quota(0.5, total=70),
        sparsify=hw.sparsify.KeepCount(count=3, l2_radius=0.7),
    ),
    "Linear(endless quota)": partial(RAW, query=hw.query.Quota(0.5)),
    "Linear(closed)": partial(RAW, update="perceptron", query="random", growth="closed"),
    "Linear(dual)": partial(RAW, update="dual_logistic", query=hw.query.Quantile(0.3)),
    "Linear(dual, multiclass, sparse)": partial(
        RAW,
        update=hw.update.DualLogistic(C=2.0, replay=3, memory=5),
        query="all",
        sparsify=hw.sparsify.KeepLargest(share=0.5, l1_radius=2.0),
        multiclass=True,
    ),
    "Spring()": hw.Spring,
    "Spring(often)": partial(hw.Spring, label_rate=0.5),
    "Spring(multiclass)": partial(hw.Spring, label_rate=0.4, multiclass=True),
    "OLVF()": hw.OLVF,
    "OLVF(sparse, divide)": partial(
        hw.OLVF, C=1.0, C_space=1.0, l1_radius=0.1, kept_share=0.4, confidence="divide"
    ),
    "OLVF(budget)": partial(hw.OLVF, query=hw.query.Budget(0.4), kept_share=0.6),
    "OLSF(legacy)": partial(hw.named, "OLSF-I", legacy=True, kept_share=0.3),
    "SEL2(original)": partial(
        hw.named, "SEL-2nd", query_form="original", prior_weight=0.5, query_width=3.0
    ),
    "OFSP(few)": partial(hw.OFSP, count=2, exploration=0.5),
    "PARegressor()": hw.PARegressor,
    "PARegressor(budget)": partial(hw.PARegressor, update="pa", query=hw.query.Budget(0.4)),
    "PARegressor(sparse)": partial(
        hw.PARegressor, query=hw.query.Quota(0.5), sparsify="keep_largest", intercept=False
    ),
    "FESL()": hw.FESL,
    "FESL(numbers)": partial(hw.FESL, loss="square"),
    "FESL(periods)": partial(hw.FESL, overlap=2, query=hw.query.Margin(2.0)),
    "FESL(draw)": partial(hw.named, "FESL-s", schedule=(20, 15, 40), clip_losses=True),
    "FESL(best)": partial(hw.FESL, combine="best", overlap=15, ridge=0.1),
    "FESL(told)": partial(hw.named, "FESL-c", schedule=(20, 15, 40), ridge=0.1),
    "SEL-ada(by norm)": partial(hw.named, "SEL-ada", by_norm=True),
    "RFESL()": partial(hw.RFESL, query="all", horizon=5),
    "Linear(bounded)": partial(hw.Linear, max_features=5, when_full="oldest"),
    "Linear(bounded, sparse)": partial(
        RAW, sparsify="keep_largest", query="all", max_features=4, when_full="smallest"
    ),
    "FLLS(bounded)": partial(hw.FLLS, max_features=5, when_full="refuse"),
    "MPAA(bounded)": partial(hw.MPAA, max_features=5, when_full="smallest"),
    "Spring(bounded)": partial(hw.Spring, label_rate=0.5, max_features=5),
    "Spring(multiclass, bounded)": partial(
        hw.Spring, label_rate=0.5, multiclass=True, max_features=5, when_full="smallest"
    ),
    "OLVF(bounded)": partial(hw.OLVF, kept_share=0.5, max_features=5),
    "PARegressor(bounded)": partial(hw.PARegressor, max_features=5),
    "PAA(plus one)": partial(hw.PAA, plus_one=True, query_width=3.0),
}


IN_PYTHON: dict[str, Make] = {
    "HingeSteps": partial(HingeSteps, query="margin"),
    "HingeSteps(SelAda)": partial(HingeSteps, step=0.5, query=hw.query.SelAda()),
    "Voices": Voices,
    "Means": Means,
    "Means(budget)": partial(Means, query=hw.query.Budget(0.4)),
}

NAMES: dict[str, Make] = {
    "RFLLS-I": partial(hw.named, "RFLLS-I", rate=0.4),
    "MRPA-I": partial(hw.named, "MRPA-I", rate=0.4),
}
NAMES |= {
    name: partial(hw.named, name)
    for name in (
        *("FLLS-II", "PEA", "FLLS-I_SN", "FLLS-I_SI", "OLSF-I-rand", "OFS", "OFS_P"),
        *("SEL-2nd", "CSPAA(a)", "CW-diag", "ROGD-f"),
    )
}

MAKERS = CLASSES | IN_PYTHON | NAMES


def own_checks(make: Make) -> list[Check]:
    """The checks of tests/own_checks.py that fit a learner."""
    unfit = UNSCALED if is_scaled(make()) else set()
    unfit = unfit | (IN_THE_CORE if kind_of(make()) == "external" else set())
    return [check for check in OWN_CHECKS if check not in unfit]


PAIRS = [
    pytest.param(make, check, id=f"{name}-{check.__name__.removeprefix('check_')}")
    for name, make in MAKERS.items()
    for check in checks(make) + own_checks(make)
]


@pytest.mark.parametrize(("make", "check"), PAIRS)
def test_every_learner_keeps_the_contract(make: Make, check: Check) -> None:
    check(make, stream_for(make))


@pytest.mark.parametrize("name", MAKERS)
def test_a_learner_says_its_task(name: str) -> None:
    model = MAKERS[name]()
    number = isinstance(model.predict_one({}), float)
    classes = "multiclass" if model.labels == () else "binary"  # no class is known yet
    assert model.task == ("regression" if number else classes)


def test_every_public_learner_is_under_contract() -> None:
    public = {value for name in hw.__all__ if isinstance(value := getattr(hw, name), type)}
    learners = {cls for cls in public if issubclass(cls, hw.Learner)}
    learners -= {hw.Learner, hw.PythonLearner}
    learners |= set(Replication.__subclasses__())
    assert {type(make()) for make in (CLASSES | NAMES).values()} == learners


# Parameters and labels that look alike


SPELLINGS: list[tuple[str, Any, list[Any]]] = [
    ("C", 1.0, [1, np.float64(1), np.float32(1), np.int64(1)]),
    ("C", 2.0, [2, np.float64(2), np.float32(2), np.int64(2)]),
    ("seed", 3, [np.int64(3), np.uint8(3)]),
    ("classes", ("a", "b"), [["a", "b"], (np.str_("a"), np.str_("b"))]),
    ("classes", (0, 1), [range(2), (np.int64(0), np.int8(1))]),
]
ALIKE = [(name, value, other) for name, value, others in SPELLINGS for other in others]


@pytest.mark.parametrize(("name", "value", "other"), ALIKE, ids=repr)
def test_equal_parameters_make_equal_learners(name: str, value: Any, other: Any) -> None:
    plain, dressed = hw.PAA(**{name: value}), hw.PAA(**{name: other})
    assert repr(dressed) == repr(plain)
    assert dressed.to_bytes() == plain.to_bytes()
    assert eval(repr(dressed), dict(vars(hw))).to_bytes() == dressed.to_bytes()


@pytest.mark.parametrize("other", [2, np.float64(2), np.float32(2)], ids=repr)
def test_equal_components_are_equal(other: Any) -> None:
    plain, dressed = (hw.Linear(update=hw.update.PA1(C=C)) for C in (2.0, other))
    assert repr(dressed) == repr(plain)
    assert dressed.to_bytes() == plain.to_bytes()


@pytest.mark.parametrize("odd", [Fraction(1, 2), np.longdouble(0.5)], ids=repr)
def test_a_parameter_that_is_taken_can_be_saved(odd: Any) -> None:
    try:
        model = hw.PAA(C=odd)
    except ParameterError:
        return
    assert model.to_bytes() == hw.PAA(C=0.5).to_bytes()


def test_a_list_of_classes_may_change_afterwards() -> None:
    classes = ["dry", "wet"]
    model = hw.PAA(classes=classes)
    before = model.to_bytes()
    classes.append("snow")
    assert model.to_bytes() == before


@pytest.mark.parametrize("word", ["a\0", "", "ä", "a b", "a" * 300])
def test_batches_predict_labels_as_they_are_written(word: str) -> None:
    model = hw.PAA(classes=(word, "b"))
    assert model.predict_many([[1.0]]).tolist() == [model.predict_one({0: 1.0})] == [word]
    several = hw.MPAA(classes=(word, "b"))
    trace = several.simulate([[1.0]], ["b"])
    assert trace.prediction.tolist() == [word]
