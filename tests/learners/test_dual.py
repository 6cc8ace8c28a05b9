"""Dual steps, in `Linear` and in `Spring` for several classes: as their plain reference."""

import random
from typing import Any

import pytest

import headwater as hw
from about import about
from headwater.errors import StepError
from reference import dual
from reference.dual import DualState, learn, read_dual
from reference.learner import NEAR
from reference.scaler import Name, Seen, read_scaler
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


def inputs_of(seen: Seen) -> Event:
    """Values, presences that are not 0, and the learner's own features."""
    inputs: Event = {}
    for name, z in seen.values.items():
        inputs[name] = z
        if seen.presences[name]:
            inputs[f"{name} (present)"] = seen.presences[name]
    return inputs | {"(factor)": seen.factor, "(energy)": seen.energy, "(intercept)": 0.3}


@pytest.mark.parametrize("classes", [None, ("blue",), COLOURS])
def test_spring_with_several_classes_equals_the_reference(classes: Any) -> None:
    """Sensors that come and go; the store overflows, and answers come late."""
    model = hw.Spring(label_rate=0.5, multiclass=True, classes=classes)
    generator = random.Random(4)
    late: list[tuple[hw.Decision, Seen, str]] = []
    for t in range(420):
        event: Event = {
            name: generator.gauss(place, 1 + place)
            for place, name in enumerate(NAMES)
            if generator.random() < (1.0, 0.9, 0.5, 0.2, 0.05)[place]
        }
        label = COLOURS[(event["a"] > 0) + (generator.random() < 0.1)]
        checked = t < 60 or t % 20 == 0
        saved = read_file(model.to_bytes())[1] if checked else {}
        if checked:
            state, scaler = read_dual(saved), read_scaler(saved)
            outside = inputs_of(scaler.look(event))
            scores = [dual.score(weights, outside) for weights in state.weights]
            shares = dual.probabilities(state.counts, scores, multiclass=True)
            assert list(model.predict_proba_one(event).values()) == approx(shares)
            seen = scaler.show(event)
        decision = model.decide_one(event)
        if not checked:
            if decision.asked:
                model.answer(decision, label)
            continue
        scores = [dual.score(weights, inputs_of(seen)) for weights in state.weights]
        first, second = ([*sorted(scores, reverse=True), 0.0, 0.0])[:2]
        lead = first - second if len(scores) > 1 else 0.0
        assert decision.margin == approx(lead, 1 + sum(map(abs, scores)))
        late.append((decision, seen, label))
        if len(late) > 3:
            decision, seen, label = late.pop(generator.randrange(len(late)))
            expected = learn(state, inputs_of(seen), place_of(model, label), multiclass=True)
            model.answer(decision, label)
            assert_same(read_dual(read_file(model.to_bytes())[1]), expected)
    assert len(read_dual(read_file(model.to_bytes())[1]).store) == 200


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
