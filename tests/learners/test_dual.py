"""Dual steps, in `Linear` and in `Spring` for several classes: as their plain reference."""

import random
from typing import Any

import pytest

import headwater as hw
from about import about
from headwater.errors import StepError
from reference.dual import DualState, learn, read_dual
from reference.learner import NEAR
from reference.scaler import Name
from reference.sparsify import keep_largest, kept_of, scale_l1
from reference.state import read_file

COLOURS = ("red", "green", "blue")
NAMES: list[Name] = ["a", "b", "c", 7, 8]
Event = dict[Name, float]


def approx(wanted: Any, size: float = 1.0) -> about:
    return about(wanted, rel=NEAR, abs=NEAR * size)


def assert_same(got: DualState, wanted: DualState) -> None:
    # A weight is a sum of α·y·z, which may cancel: rounding is as large as its terms.
    sizes = [abs(w) for weights in wanted.weights for w in weights.values()]
    sizes += [alpha for example in wanted.store for alpha in example.alphas]
    largest = max(sizes, default=0.0)
    assert len(got.weights) == len(wanted.weights)
    for mine, theirs in zip(got.weights, wanted.weights, strict=True):
        for name in {*mine, *theirs}:
            assert mine.get(name, 0.0) == approx(theirs.get(name, 0.0), largest), name
    assert (got.counts, got.cursor) == (wanted.counts, wanted.cursor)
    assert len(got.store) == len(wanted.store)
    for one, other in zip(got.store, wanted.store, strict=True):
        assert one.label == other.label
        assert one.values == approx(other.values)
        assert one.alphas == approx(other.alphas)


def place_of(model: hw.Learner, label: Any) -> int:
    """The number of a label's class, which may be new."""
    known = list(model.labels)
    return known.index(label) if label in known else len(known)


@pytest.mark.parametrize("multiclass", [False, True])
@pytest.mark.parametrize("replay", [0, 1, 7])
@pytest.mark.parametrize("share", [None, 0.5])
@pytest.mark.parametrize("balance", [True, False])
def test_dual_steps_in_linear_equal_the_reference(
    multiclass: bool, replay: int, share: float | None, balance: bool
) -> None:
    """On raw values with an intercept, the store full; with truncation after each step."""
    spell: Any = COLOURS if multiclass else (False, True)
    sparsify = share and hw.sparsify.KeepLargest(share, l1_radius=3.0)
    model = hw.Linear(
        update=hw.update.DualLogistic(C=0.7, replay=replay, memory=6, balance=balance),
        sparsify=sparsify or None,
        scale=None,
        multiclass=multiclass,
    )
    generator = random.Random(2)
    for t in range(60):
        here = [name for name in NAMES[: 2 + t // 10] if generator.random() < 0.7]
        event = {name: generator.gauss(0, 2) for name in here}
        label = generator.randrange(len(spell))
        before = read_dual(read_file(model.to_bytes())[1])
        place = place_of(model, spell[label]) if multiclass else label
        model.learn_one(event, spell[label])
        saved = read_file(model.to_bytes())[1]
        names = saved["names"]

        def let_go(weights: Event, names: list[Name] = names) -> Event:
            if share is None:
                return weights
            listed = scale_l1([weights.get(name, 0.0) for name in names], 3.0)
            kept = keep_largest(listed, kept_of(share, len(listed)))
            return dict(zip(names, kept, strict=True))

        expected = learn(
            before,
            {**event, "(intercept)": 1.0},
            place,
            multiclass,
            *(0.7, replay, 6, balance),
            let_go=let_go,
        )
        assert_same(read_dual(saved), expected)


def test_a_restart_forgets_the_stored_events() -> None:
    model = hw.Linear(update="dual_logistic", growth="restart", scale=None)
    for t in range(10):
        model.learn_one({"a": 1.0, "b": float(t)}, t % 2 == 0)
    model.learn_one({"c": 1.0}, True)
    assert len(read_dual(read_file(model.to_bytes())[1]).store) == 1
    assert set(model.weights()) == {"c", "(intercept)"}


def test_events_too_large_for_later_steps_are_refused() -> None:
    raw = hw.Linear(update="dual_logistic", scale=None)
    raw.learn_one({"a": 1e49}, True)
    before = raw.to_bytes()
    with pytest.raises(StepError):
        raw.learn_one({"a": 1e51}, True)
    assert raw.to_bytes() == before
