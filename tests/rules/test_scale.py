"""The running scaler: as its plain reference, one event at a time, and as its users rely on it."""

import pickle
import random
from math import isclose

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

import headwater as hw
from about import about
from headwater.errors import StepError
from reference.scaler import Name, ScalerState, look, read_scaler, show
from reference.state import read_file

NAMES: list[Name] = ["a", "b", "c", 7, 8]
VALUES = st.one_of(
    st.just(0.0),
    st.sampled_from([1.0, 2.0, 5.0]),
    st.floats(1e-6, 1e6).flatmap(lambda size: st.sampled_from([size, -size])),
)
EVENTS = st.lists(st.dictionaries(st.sampled_from(NAMES), VALUES), min_size=1, max_size=25)


def view_of(model: hw.Learner) -> ScalerState:
    return read_scaler(read_file(model.to_bytes())[1])


def seen_as(decision: hw.Decision) -> list[float]:
    values = decision.__reduce__()[1][6]
    assert isinstance(values, list)
    return values


def assert_same(got: ScalerState, wanted: ScalerState) -> None:
    assert got.rounds == wanted.rounds
    assert got.pool_weight == about(wanted.pool_weight, rel=1e-12)
    assert got.pool_log_size == about(wanted.pool_log_size, rel=1e-9, abs=1e-9)
    assert set(got.features) == set(wanted.features)
    for name, one in wanted.features.items():
        other = got.features[name]
        assert (other.n, other.runs, other.first, other.last) == (
            one.n,
            one.runs,
            one.first,
            one.last,
        )
        assert other.mean == about(one.mean, rel=1e-9)
        assert other.squares == about(one.squares, rel=1e-9)


@settings(derandomize=True, deadline=None, max_examples=150)
@given(events=EVENTS)
def test_the_core_equals_the_reference_one_event_at_a_time(
    events: list[dict[Name, float]],
) -> None:
    model = hw.Linear(scale="running", query="random")
    for event in events:
        before = view_of(model)
        margin = model.margin_one(event)  # outside the stream: nothing is counted
        weights = {name: weight for name, weight in model.weights().items()}
        outside = look(before, event) | {"(intercept)": 1.0}
        expected = sum(weights.get(name, 0.0) * z for name, z in outside.items())
        assert margin == about(expected, rel=1e-9, abs=1e-9)
        assert_same(view_of(model), before)

        z, after = show(before, event)
        decision = model.decide_one(event)
        assert seen_as(decision) == about(list(z.values()), rel=1e-9, abs=1e-12)
        assert_same(view_of(model), after)
        model.answer(decision, len(event) % 2 == 0)
        assert_same(view_of(model), after)  # an answer is not another sight


def sensors(seed: int, events: int, scale: dict[str, float]) -> list[tuple[dict[str, float], bool]]:
    generator = random.Random(seed)
    rows = []
    for _ in range(events):
        reading = {name: generator.gauss(3.0, 1.0) for name in "abcd"}
        label = reading["a"] - reading["b"] + 0.3 * generator.gauss(0, 1) > 0
        rows.append(({name: x * scale.get(name, 1.0) for name, x in reading.items()}, label))
    return rows


def errors(model: hw.Learner, rows: list[tuple[dict[str, float], bool]]) -> int:
    wrong = 0
    for event, label in rows:
        decision = model.decide_one(event)
        wrong += decision.prediction != label
        if decision.asked:
            model.answer(decision, label)
    return wrong


def test_a_sensor_in_millions_and_one_in_millionths_are_learned_as_well() -> None:
    odd = {"a": 1e6, "b": 1e-6}
    plain = sum(errors(hw.Linear(scale="running"), sensors(s, 3000, {})) for s in range(5))
    scaled = sum(errors(hw.Linear(scale="running"), sensors(s, 3000, odd)) for s in range(5))
    raw = sum(errors(hw.Linear(scale=None), sensors(s, 3000, odd)) for s in range(5))
    assert scaled < 1.1 * plain
    assert scaled < 0.5 * raw


def test_predict_and_query_do_not_count_an_event() -> None:
    model = hw.Linear(scale="running")
    model.learn_one({"a": 1.0}, True)
    before = view_of(model)
    model.predict_one({"a": 5.0, "new": 1.0})
    model.query_one({"a": 5.0, "new": 1.0})
    model.explain_one({"a": 5.0})
    assert view_of(model) == before


def test_an_event_that_is_never_labelled_counts_all_the_same() -> None:
    model = hw.Linear(scale="running", query=hw.query.Random(0.0))
    for value in (1.0, 2.0, 6.0):
        model.decide_one({"a": value})
    one = view_of(model).features["a"]
    assert (one.n, one.mean) == (3, 3.0)
    assert model.features() == []


def test_a_frozen_decision_keeps_the_view_of_its_moment() -> None:
    model = hw.Linear(scale="running", query="all", intercept=False)
    for value in (1.0, 2.0, 3.0, 4.0):
        model.decide_one({"a": value, "b": -value})
    decision = model.decide_one({"a": 9.0, "b": 1.0})
    z = seen_as(decision)
    kept = pickle.loads(pickle.dumps(decision))
    for value in (100.0, 200.0, 300.0):
        model.decide_one({"a": value, "b": value})
    assert seen_as(decision) == seen_as(kept) == z
    assert decision.features == kept.features == {"a": 9.0, "b": 1.0}
    twin = pickle.loads(pickle.dumps(model))
    model.answer(decision, True)
    twin.answer(kept, True)
    assert model.to_bytes() == twin.to_bytes()
    weights = model.weights()
    assert isclose(weights["a"] / weights["b"], z[0] / z[1])


def test_loop_and_batch_give_the_same_bits_with_a_view() -> None:
    network = hw.streams.SensorNetwork(1_500, seed=3)
    loop, batch = hw.Linear(scale="running"), hw.Linear(scale="running")
    for event, label in network:
        decision = loop.decide_one(event)
        if decision.asked:
            loop.answer(decision, label)
    batch.simulate(*network.batch())
    assert loop.to_bytes() == batch.to_bytes()
    taught, learned = hw.Linear(scale="running"), hw.Linear(scale="running")
    for event, label in network:
        taught.learn_one(event, label)
    learned.learn_many(*network.batch())
    assert taught.to_bytes() == learned.to_bytes()
    rows, _ = network.held_out(20)
    again = hw.from_bytes(batch.to_bytes())
    assert again.margin_many(rows).tolist() == loop.margin_many(rows).tolist()


def test_values_beyond_all_measure_are_refused_and_nothing_is_counted() -> None:
    model = hw.Linear(scale="running")
    for value in (1.0, 2.0):
        model.decide_one({"a": value})
    before = model.to_bytes()
    for act in (model.decide_one, lambda x: model.learn_one(x, True)):
        with pytest.raises(StepError, match=r"between -1e140 and 1e140 to be scaled, got 1e200\."):
            act({"a": 1e200})
        assert model.to_bytes() == before


def test_the_smallest_numbers_there_are_do_no_harm() -> None:
    model = hw.Linear(scale="running", query="random")
    smallest: dict[Name, float] = {"w": 1e-300}
    events: list[dict[Name, float]] = [*[smallest] * 5, {"a": 2e-162}, {"a": 0.0, "w": 1.0}]
    for event in events:
        before = view_of(model)
        values = seen_as(model.decide_one(event))
        z, after = show(before, event)
        assert values == about(list(z.values()), abs=1e-9)
        assert_same(view_of(model), after)


def test_constants_and_gross_errors_do_no_harm() -> None:
    rows = sensors(5, 2000, {})
    disturbed = [
        ({**event, "constant": 7.0, "c": 1e12 if i % 100 == 99 else event["c"]}, label)
        for i, (event, label) in enumerate(rows)
    ]
    calm = errors(hw.Linear(scale="running"), rows)
    assert errors(hw.Linear(scale="running"), disturbed) < 1.25 * calm + 10
