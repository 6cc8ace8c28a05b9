"""OFS_P equals its plain reference, one step at a time, and looks no further than it may."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headwater as hw
from effort import reduced
from headwater.errors import ModelFileError
from model_bytes import put_together, take_apart
from reference import partial as reference
from reference.learner import NEAR
from reference.state import read_file
from reference.streams import rounds, slots_with


def saved_of(model: hw.Learner) -> dict[str, Any]:
    return read_file(model.to_bytes())[1]


def weights_of(saved: dict[str, Any]) -> list[float]:
    table = saved["model"]["ofs_partial"]["weights"]
    return [table["scales"][0] * stored for stored in table["values"][0]]


@settings(derandomize=True, deadline=None, max_examples=reduced(60))
@given(
    seed=st.integers(0, 2**32),
    count=st.integers(1, 12),
    exploration=st.sampled_from([0.05, 0.5, 1.0]),
    radius=st.sampled_from([0.5, 10.0, float("inf")]),
)
def test_every_step_is_the_reference_s(
    seed: int, count: int, exploration: float, radius: float
) -> None:
    model = hw.OFSP(count=count, exploration=exploration, l2_radius=radius, seed=seed)
    for event, truth in rounds(seed, 40):
        saved = saved_of(model)
        names = slots_with(saved["names"], event)
        known = weights_of(saved)
        weights = known + [0.0] * (len(names) - len(known))
        x = [event.get(name, 0.0) for name in names]
        slots, draws = reference.looked_at(weights, count, exploration, tuple(saved["draws"]))
        q = reference.margin(weights, x, slots)
        blur = NEAR * sum(abs(w * value) for w, value in zip(weights, x, strict=True))
        decision = model.decide_one(event)
        assert decision.asked
        assert decision.margin == pytest.approx(q, rel=NEAR, abs=blur)
        assert saved_of(model)["draws"] == saved["draws"], "a prediction draws from a copy"
        model.answer(decision, truth > 0)
        after = saved_of(model)
        y = 1 if truth > 0 else -1
        assert after["names"] == names
        assert tuple(after["draws"]) == draws
        if abs(y * q - 1) <= blur:
            continue
        expected = reference.learned(weights, x, y, slots, count, exploration, 0.2, radius)
        largest = max((abs(weight) for weight in expected), default=0.0)
        for got, wanted in zip(weights_of(after), expected, strict=True):
            assert abs(got - wanted) <= NEAR * largest


@settings(derandomize=True, deadline=None, max_examples=reduced(30))
@given(seed=st.integers(0, 2**32), count=st.integers(1, 4))
def test_what_it_does_not_look_at_does_not_matter(seed: int, count: int) -> None:
    honest, other = hw.OFSP(count=count, seed=seed), hw.OFSP(count=count, seed=seed)
    for event, truth in rounds(seed, 30):
        saved = saved_of(honest)
        names = slots_with(saved["names"], event)
        weights = weights_of(saved)
        weights += [0.0] * (len(names) - len(weights))
        slots, _ = reference.looked_at(weights, count, 0.2, tuple(saved["draws"]))
        assert len(slots) <= count
        seen = {names[slot] for slot in slots}
        changed = {name: value if name in seen else 77.0 for name, value in event.items()}
        assert other.predict_one(changed) == honest.predict_one(event)
        honest.learn_one(event, truth > 0)
        other.learn_one(changed, truth > 0)
        assert other.weights() == honest.weights()
        assert len(honest.weights()) <= count


def test_a_state_that_does_not_fit_is_refused() -> None:
    model = hw.OFSP(count=1)
    model.learn_one({"a": 1.0, "b": 2.0}, True)
    for weights, scale in (([1.0], 1.0), ([1.0, 1.0], 1.0), ([1.0, 0.0], 0.0)):
        header, state = take_apart(model.to_bytes())
        state["model"]["ofs_partial"]["weights"] |= {"values": [weights], "scales": [scale]}
        with pytest.raises(ModelFileError):
            hw.from_bytes(put_together(header, state))
