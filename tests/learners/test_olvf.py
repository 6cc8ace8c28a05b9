"""OLVF equals its plain reference, one round at a time and along whole streams; its extras work.

Before each round the reference starts from the core's own state, as its model file shows it.
"""

import math
from math import inf, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import headwater as hw
from about import about
from effort import reduced
from headwater.errors import ModelFileError, ParameterError, StepError
from model_bytes import put_together, take_apart
from reference import olvf
from reference.olvf import NEAR, Config, Event, Learned, State
from reference.state import read_file

NAMES = ["a", "b", "ab", "B", "ä", "1", 1, -3, 10, 9]
VALUES = st.one_of(
    st.sampled_from([0.0, 1.0, -1.0, 0.5, 2.0, nan, 1e-3]),
    st.floats(-3, 3, allow_subnormal=False),
)
EVENTS = st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=6)
CONFIGS = st.builds(
    Config,
    C=st.sampled_from([0.01, 0.3, 1.0, inf]),
    C_space=st.sampled_from([1e-3, 0.1, 1.0, inf]),
    l1_radius=st.sampled_from([30.0, 0.3, 1e-3, inf]),
    kept_share=st.sampled_from([1.0, 0.7, 0.5, 0.29]),
    confidence=st.sampled_from(["multiply", "divide"]),
)
EXAMPLES = settings(
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    max_examples=reduced(400),
)


def model_of(config: Config, **more: Any) -> hw.OLVF:
    return hw.OLVF(**vars(config), **more)


# One round


@EXAMPLES
@given(config=CONFIGS, rounds=st.lists(st.tuples(EVENTS, st.booleans()), max_size=25))
def test_every_round_equals_the_reference(config: Config, rounds: list[tuple[Event, bool]]) -> None:
    model = model_of(config)
    for event, label in rounds:
        check_round(config, model, event, label)


def check_round(config: Config, model: hw.OLVF, event: Event, label: bool) -> None:
    file = model.to_bytes()
    before = olvf.read_state(file)
    expected, blur = olvf.margin(before, event)
    assert model.margin_one(event) == about(expected, rel=NEAR, abs=blur + 1e-300)
    check_confidences(model, before, event)
    assert model.to_bytes() == file, "predicting or explaining changed the model"
    try:
        model.learn_one(event, label)
    except StepError:
        assert model.to_bytes() == file
        wanted = olvf.learn(config, before, event, label).uncut
        assert max(map(abs, wanted.weights)) > 1e150  # stored values may be larger by 1e100
        return
    core = olvf.read_state(model.to_bytes())
    # The core may have rounded the margin to the other side of 0.
    tried = [olvf.learn(config, before, event, label, nudge) for nudge in (0, -1, 1)]
    found = [differences(core, before, learned) for learned in tried]
    assert not all(found), found[0]


def check_confidences(model: hw.OLVF, state: State, event: Event) -> None:
    details = model.explain_one(event).details
    space, of_event = olvf.confidences(state, event)
    assert list(details) == ["space_confidence", "event_confidence"]
    assert details["space_confidence"] == about(space, rel=NEAR, abs=1e-300)
    assert details["event_confidence"] == about(of_event, rel=NEAR, abs=1e-300)


def differences(core: State, before: State, learned: Learned) -> list[str]:
    """What differs after a round; a weight within 1e-9 of the cut may stay or go."""
    uncut, kept = learned.uncut, learned.kept
    if core.names != uncut.names:
        return [f"{core.names} are not {uncut.names}"]
    tolerance = NEAR * largest(before.weights, uncut.weights)
    space_tolerance = NEAR * largest(before.space, uncut.space)
    sizes = sorted(map(abs, uncut.weights), reverse=True)
    cut = sizes[kept - 1] if kept < len(sizes) else -inf
    near = [w for w in uncut.weights if abs(abs(w) - cut) <= tolerance]
    certain = cut == 0 and not any(near)  # all there are exact zeros: the older ones stay
    found = []
    for slot, name in enumerate(core.names):
        got = core.weights[slot], core.space[slot]
        wanted = learned.state.weights[slot], learned.state.space[slot]
        full = uncut.weights[slot], uncut.space[slot]
        allowed = [wanted]
        if cut >= 0 and not certain and abs(abs(full[0]) - cut) <= tolerance:
            allowed = [(0.0, 0.0), full]
        if not any(
            abs(got[0] - w) <= tolerance and abs(got[1] - u) <= space_tolerance for w, u in allowed
        ):
            found.append(f"{name!r}: {got} is not {wanted}")
    if sum(w != 0 for w in core.weights) > kept:
        found.append(f"more than {kept} weights are kept")
    return found


def largest(*vectors: list[float]) -> float:
    return max((abs(number) for vector in vectors for number in vector), default=0.0) + 1e-300


# Whole streams


def varying(rounds: int, width: int, seed: int) -> list[tuple[dict[Any, float], bool]]:
    """Continuous values, a third of the features of each event gone, some zeros."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rounds, width))
    y = X @ rng.normal(size=width) + rng.normal(size=rounds) > 0
    X[rng.random(X.shape) < 0.05] = 0.0
    shown = rng.random(X.shape) > 0.35
    return [
        ({f"f{j}": row[j] for j in np.flatnonzero(mask).tolist()}, bool(label))
        for row, mask, label in zip(X.tolist(), shown, y, strict=True)
    ]


@pytest.mark.parametrize("confidence", ["multiply", "divide"])
@pytest.mark.parametrize("share", [1.0, 0.4])
def test_whole_streams_take_the_same_path(confidence: str, share: float) -> None:
    config = Config(0.3, 0.2, 0.5, share, confidence)
    model, state = model_of(config), olvf.start()
    for event, label in varying(300, 12, seed=1):
        q, _ = olvf.margin(state, event)
        assert model.predict_one(event) is (q > 0)
        state = olvf.learn(config, state, event, label).state
        model.learn_one(event, label)
        core = olvf.read_state(model.to_bytes())
        assert [w != 0 for w in core.weights] == [w != 0 for w in state.weights]
        assert core.weights == about(state.weights, abs=1e-9 * largest(state.weights))
        assert core.space == about(state.space, abs=1e-9 * largest(state.space))


def test_the_sums_over_all_features_do_not_drift() -> None:
    model = hw.OLVF(C_space=1.0, kept_share=0.6, l1_radius=0.2)
    for event, label in varying(9_000, 7, seed=2):
        model.learn_one(event, label)
    saved = read_file(model.to_bytes())[1]["model"]["olvf"]
    assert 0 < saved["rounds"] < 4096  # summed afresh on the way
    products = [v * u for v, u in zip(saved["weights"], saved["space"], strict=True)]
    for name, terms in (("space_sum", saved["space"]), ("agreement", products)):
        size = sum(map(abs, terms))
        assert abs(math.fsum(saved[name]) - math.fsum(terms)) <= 1e-15 * size


def test_among_equal_weights_the_older_feature_is_kept() -> None:
    model = hw.OLVF(kept_share=0.5, C_space=0.1)
    model.learn_one({"b": 1.0, "a": 1.0, "d": 1.0, "c": -1.0}, True)
    assert list(model.weights()) == ["a", "b"]
    # All weights are 0: of the features carried, only the older half is remembered.
    model = hw.OLVF(kept_share=0.5, C_space=0.1)
    model.learn_one({"b": 0.0, "a": 0.0, "d": 0.0, "c": 0.0}, True)
    space = olvf.read_state(model.to_bytes()).space
    assert [u != 0 for u in space] == [True, True, False, False]


# What is special to OLVF


def test_a_zero_is_carried_and_an_absent_feature_is_not() -> None:
    with_zero, without = hw.OLVF(C_space=1.0), hw.OLVF(C_space=1.0)
    with_zero.learn_one({"a": 1.0, "b": 0.0}, True)
    without.learn_one({"a": 1.0, "b": None}, True)
    assert len(with_zero.features()) == 2
    assert with_zero.weights() != without.weights()  # another event confidence
    confidence = with_zero.explain_one({"b": 0.0}).details["event_confidence"]
    assert confidence < 0.5  # its first prediction was a mistake
    assert with_zero.explain_one({}).details["event_confidence"] == 0.5


def test_other_learners_have_no_details() -> None:
    assert hw.PAA().explain_one({"a": 1.0}).details == {}


QUERIES = [
    hw.query.Random(0.5),
    hw.query.Quota(0.3),
    hw.query.Margin(0.1),
    hw.query.MarginPlusOne(1.0),
    hw.query.SelAda(0.1),
    hw.query.Decaying(4.0),
    hw.query.Budget(0.2),
]


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: type(query).__name__)
def test_it_asks_by_any_rule_and_learns_what_was_asked(query: Any) -> None:
    asking, taught = hw.OLVF(query=query, seed=3), hw.OLVF(query=query, seed=3)
    for event, label in varying(200, 8, seed=4):
        decision = asking.decide_one(event)
        if decision.asked:
            asking.answer(decision, label)
            taught.learn_one(event, label)
    assert 0 < asking.asked < asking.seen == 200
    assert asking.learned == asking.asked
    assert asking.weights() == taught.weights()


def test_a_view_may_stand_in_front() -> None:
    plain, viewed = hw.OLVF(), hw.OLVF(scale="running")
    for event, label in varying(200, 8, seed=5):
        event = {name: 1e6 * value + 3e6 for name, value in event.items()}
        plain.learn_one(event, label)
        viewed.learn_one(event, label)
    assert viewed.weights() != plain.weights()
    assert hw.from_bytes(viewed.to_bytes()).to_bytes() == viewed.to_bytes()


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"C": None}, "OLVF: C must be a number above 0, got None."),
        ({"C_space": 0}, "OLVF: C_space must be a number above 0, got 0."),
        ({"confidence": 0.9}, 'OLVF: confidence must be "multiply" or "divide", got 0.9.'),
    ],
)
def test_parameters_outside_their_limits_are_refused(
    parameters: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ParameterError) as refused:
        hw.OLVF(**parameters)
    assert str(refused.value) == sentence


def test_a_state_of_another_model_is_refused() -> None:
    model = hw.OLVF()
    with pytest.raises(ModelFileError, match="another kind of model"):
        model._assemble(hw._core.split_model(hw.PAA().to_bytes())[1])


@pytest.mark.parametrize(
    "change",
    [
        {"weights": [1.0]},
        {"space": [0.0] * 99},
        {"weights": [nan] * 8},
        {"weights": [1e300] * 8},
        {"space": [1e17] * 8},
        {"scale": 0.0},
        {"scale": 1.5},
        {"space_sum": [inf, 0.0]},
        {"agreement": [0.0, nan]},
        {"rounds": 2**63},
    ],
    ids=str,
)
def test_a_state_that_does_not_fit_is_refused(change: dict[str, Any]) -> None:
    model = hw.OLVF(kept_share=0.5)
    for event, label in varying(40, 8, seed=6):
        model.learn_one(event, label)
    header, state = take_apart(model.to_bytes())
    assert len(state["names"]) == 8
    assert hw.from_bytes(put_together(header, state)).to_bytes() == model.to_bytes()
    state["model"]["olvf"] |= change
    with pytest.raises(ModelFileError, match="its state does not fit"):
        hw.from_bytes(put_together(header, state))
