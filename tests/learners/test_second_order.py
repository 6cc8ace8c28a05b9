"""SEL-2nd equals its plain reference, one step at a time, and knows its limits."""

from itertools import chain
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headwater as hw
from effort import reduced
from headwater.errors import EventError, ModelFileError
from model_bytes import put_together, take_apart
from reference import second_order as reference
from reference.learner import NEAR
from reference.random import uniform
from reference.state import read_file
from reference.streams import rounds, slots_with


def state_of(model: hw.Learner) -> tuple[dict[str, Any], reference.State]:
    saved = read_file(model.to_bytes())[1]
    return saved, reference.read(saved["model"]["second_order"])


def close(one: list[float], other: list[float]) -> bool:
    largest = max((abs(number) for number in other), default=0.0)
    return all(abs(a - b) <= NEAR * largest for a, b in zip(one, other, strict=True))


@settings(derandomize=True, deadline=None, max_examples=reduced(60))
@given(
    seed=st.integers(0, 2**32),
    form=st.sampled_from(["text", "original"]),
    width=st.sampled_from([0.05, 1.0, float("inf")]),
    a=st.sampled_from([0.1, 1.0, 7.0]),
)
def test_every_step_is_the_reference_s(seed: int, form: Any, width: float, a: float) -> None:
    model = hw.named("SEL-2nd", query_width=width, query_form=form, prior_weight=a, seed=seed)
    for number, (event, truth) in enumerate(rounds(seed, 30)):
        saved, state = state_of(model)
        names = slots_with(saved["names"], event)
        state = reference.grown(state, len(names), a)
        x = [event.get(name, 0.0) for name in names]
        p, r, u = reference.margin(state, x)
        blur = NEAR * sum(abs(v * image) for v, image in zip(state.v, u, strict=True))
        decision = model.decide_one(event)
        assert decision.margin == pytest.approx(p, rel=NEAR, abs=blur)
        probability = (
            1.0 if width == float("inf") else reference.query_probability(width, p, r, form)
        )
        assert decision.query_probability == pytest.approx(probability, rel=1e-8, abs=1e-300)
        coin, _ = uniform(saved["coins"])
        if abs(coin - probability) > NEAR:
            assert decision.asked == (coin < probability)
        assert state_of(model)[0]["model"] == saved["model"], "a decision moves no weight"
        if not decision.asked and number % 3:
            continue
        model.answer(decision, truth > 0)
        saved, after = state_of(model)
        assert saved["names"] == names
        expected = reference.learned(state, x, 1 if truth > 0 else -1)
        if 0 < abs(p) <= blur:
            continue
        assert close(after.v, expected.v)
        assert close([*chain(*after.M)], [*chain(*expected.M)])


def test_a_name_never_learned_counts_as_it_will_once_it_is() -> None:
    model, wider = hw.SEL2(prior_weight=2.0), hw.SEL2(prior_weight=2.0)
    for learner in (model, wider):
        learner.learn_one({"rain": 1.0}, True)
        learner.learn_one({"rain": -1.0, "wind": 1.0}, True)
    wider.learn_one({"sun": 0.0}, True)  # known from now on, v and A as before
    event: dict[str | int, float] = {"rain": 2.0, "sun": 3.0}
    assert model.margin_one(event) == wider.margin_one(event)
    assert abs(model.margin_one(event)) < abs(model.margin_one({"rain": 2.0}))


def test_more_names_than_the_matrix_holds_are_refused_whole() -> None:
    model = hw.SEL2()
    model.learn_one({0: 1.0, 1: -1.0}, True)
    before = model.to_bytes()
    with pytest.raises(EventError, match="at most 4096 names; with this event there would be 4097"):
        model.learn_one(dict.fromkeys(range(4097), 1.0), False)
    assert model.to_bytes() == before
    assert model.predict_one(dict.fromkeys(range(5000), 1.0)) in (False, True)


def test_directions_met_before_move_less() -> None:
    model = hw.SEL2()
    for _ in range(3):
        model.learn_one({"often": 1.0}, True)
        model.learn_one({"often": 1.0}, False)
    model.learn_one({"often": 1.0, "new": 1.0}, not model.predict_one({"often": 1.0, "new": 1.0}))
    weights = model.weights()
    assert abs(weights["new"]) > abs(weights["often"])


@pytest.mark.parametrize("damage", ["short", "nan", "negative"])
def test_a_state_that_does_not_fit_is_refused(damage: str) -> None:
    model = hw.SEL2()
    model.learn_one({"a": 1.0, "b": 2.0}, True)
    header, state = take_apart(model.to_bytes())
    matrix = state["model"]["second_order"]["matrix"]
    match damage:
        case "short":
            matrix.pop()
        case "nan":
            matrix[1] = float("nan")
        case "negative":
            matrix[0] = -1.0
    with pytest.raises(ModelFileError):
        hw.from_bytes(put_together(header, state))
