"""The running scaler: as its plain reference, one event at a time, and as its users rely on it."""

import json
import pickle
import random
from collections.abc import Iterator
from math import isclose, log, sqrt
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

import headwater as hw
from about import about
from headwater.errors import StepError
from reference.scaler import Name, Scaler, Seen, Statistics, read_scaler
from reference.state import read_file

NEAR = 1e-9
NAMES: list[Name] = ["a", "b", "c", 7, 8]
VALUES = st.one_of(
    st.just(0.0),
    st.sampled_from([1.0, 2.0, 5.0]),
    st.floats(1e-6, 1e6).flatmap(lambda size: st.sampled_from([size, -size])),
)
EVENTS = st.lists(st.dictionaries(st.sampled_from(NAMES), VALUES), min_size=1, max_size=25)
Event = dict[Name, float]


def scaler_of(model: hw.Learner) -> Scaler:
    return read_scaler(read_file(model.to_bytes())[1])


def frozen(decision: hw.Decision) -> tuple[list[float], list[float]]:
    """The values and the presences that a decision keeps."""
    numbers = decision.__reduce__()[1][6]
    assert isinstance(numbers, list)
    half = len(numbers) // 2
    return numbers[:half], numbers[half:]


def assert_seen(decision: hw.Decision, seen: Seen) -> None:
    values, presences = frozen(decision)
    assert values == about(list(seen.values.values()), rel=NEAR, abs=NEAR)
    assert presences == about(list(seen.presences.values()), rel=NEAR, abs=NEAR)


def assert_same(got: Scaler, wanted: Scaler) -> None:
    assert got.rounds == wanted.rounds
    assert list(got.features) == list(wanted.features)
    for name, one in wanted.features.items():
        other = got.features[name]
        assert (other.n, other.last, other.far_off) == (one.n, one.last, one.far_off), name
        sums = (one.mean, one.squares, one.first, one.loading)
        assert (other.mean, other.squares, other.first, other.loading) == about(sums, rel=NEAR)
    for mine, theirs in ((got.factor, wanted.factor), (got.energy, wanted.energy)):
        assert mine.n == theirs.n
        wanted_moments = (theirs.mean, theirs.variance)
        assert (mine.mean, mine.variance) == about(wanted_moments, rel=NEAR, abs=NEAR)


@settings(derandomize=True, deadline=None, max_examples=120)
@given(events=EVENTS)
def test_the_core_equals_the_reference_one_event_at_a_time(events: list[Event]) -> None:
    """The reference starts from the core's own state before each event."""
    model = hw.PARegressor(scale="running", query="random")  # it predicts w·x
    for event in events:
        before = scaler_of(model)
        margin = model.predict_one(event)  # outside the stream: nothing is counted
        outside = before.look(event)
        weights = model.weights()
        expected = weights.get("(intercept)", 0.0)
        for name in outside.values:
            expected += weights.get(name, 0.0) * outside.values[name]
            expected += weights.get(f"{name} (present)", 0.0) * outside.presences[name]
        assert margin == about(expected, rel=NEAR, abs=NEAR)
        assert_same(scaler_of(model), before)

        seen = before.show(event)
        decision = model.decide_one(event)
        assert_seen(decision, seen)
        without_summary(before)
        assert_same(scaler_of(model), before)
        model.answer(decision, float(len(event) % 2))
        assert_same(scaler_of(model), before)  # an answer is not another sight


def without_summary(scaler: Scaler) -> None:
    """Leave out what a learner without the common factor does not keep."""
    scaler.factor, scaler.energy = Scaler().factor, Scaler().energy
    for one in scaler.features.values():
        one.loading = 0.0


def sensors(seed: int, events: int) -> Iterator[Event]:
    """On scales of their own, moving together, one of them constant."""
    generator = random.Random(seed)
    for _ in range(events):
        common = generator.gauss(0, 1)
        event: Event = {place: 10.0**place * (common + generator.gauss(3, 1)) for place in range(4)}
        yield event | {"constant": 7.0}


def words(seed: int, events: int) -> Iterator[Event]:
    generator = random.Random(seed)
    for _ in range(events):
        count = generator.randrange(8)
        yield {
            f"w{int(60 * generator.random() ** 2)}": float(generator.randint(1, 2))
            for _ in range(count)
        }


def intermittent(seed: int, events: int) -> Iterator[Event]:
    """Sensors that come and go, each at a rate of its own, some of them late."""
    generator = random.Random(seed)
    for t in range(events):
        rates = (1.0, 0.9, 0.5, 0.25, 0.1, 0.02)
        here = [
            place
            for place, rate in enumerate(rates)
            if generator.random() < rate and t >= 30 * place
        ]
        yield {place: generator.gauss(place, 1 + place) for place in here}


def other_units(seed: int, events: int) -> Iterator[Event]:
    """Every feature is measured in another unit from some time on; gross errors in between."""
    generator = random.Random(seed)
    for t in range(events):
        unit = 1000.0 if 100 <= t < 250 else 1.0
        gross = 1e9 if t % 70 == 69 else 1.0
        event: Event = {"a": generator.gauss(5, 1) * unit, "b": generator.gauss(-50, 1) * gross}
        yield event if generator.random() < 0.6 else event | {"c": 20 * unit + generator.random()}


@pytest.mark.parametrize("stream", [sensors, words, intermittent, other_units])
def test_core_and_reference_agree_all_along_a_stream(stream: Any) -> None:
    """Both from the start, factor and energy included; some events are learned, not decided on."""
    model, reference = hw.Spring(), Scaler()
    began_again = set()
    for t, event in enumerate(stream(3, 400)):
        counts = {name: one.n for name, one in reference.features.items()}
        outside = reference.look(event)
        if t % 50 == 49:
            assert_outside(model, event, outside)
        seen = reference.show(event)
        if t % 5 == 4:
            model.learn_one(event, t % 2 == 0)
        else:
            decision = model.decide_one(event)
            assert_seen(decision, seen)
            assert decision.__reduce__()[1][7] == about([seen.factor, seen.energy], abs=NEAR)
        if t % 40 == 39:
            assert_same(scaler_of(model), reference)
        began_again |= {name for name, n in counts.items() if reference.features[name].n < n}
    assert began_again == ({"a", "c"} if stream is other_units else set())


def assert_outside(model: hw.Spring, event: Event, outside: Seen) -> None:
    """What an event outside the stream contributes is weight times value, or times presence."""
    parts, weights = model.explain_one(event).contributions, model.weights()
    for name, z in outside.values.items():
        assert parts[name] == about(weights.get(name, 0.0) * z, abs=NEAR)
        there = outside.presences[name]
        expected = weights.get(f"{name} (present)", 0.0) * there
        assert parts.get(f"{name} (present)", 0.0) == about(expected, abs=NEAR)
    assert parts["(factor)"] == about(weights.get("(factor)", 0.0) * outside.factor, abs=NEAR)


def test_at_eight_thousand_values_the_older_half_is_let_go() -> None:
    generator = random.Random(4)
    model, reference = hw.Linear(scale="running", query=hw.query.Random(0.0)), Scaler()
    rows = []
    for t in range(24_100):
        row: Event = {"a": generator.gauss(t / 8000, 1)}
        if t % 3 == 0:
            row["b"] = generator.random()
        reference.show(row)
        rows.append(row)
    for row in rows:
        model.decide_one(row)
    without_summary(reference)
    assert_same(scaler_of(model), reference)
    always, third = reference.features["a"], reference.features["b"]
    assert (always.n, third.n) == (4_000 + (24_100 - 8_000) % 4_000, 4_000 + 34)
    assert isclose(third.share(24_100), 1 / 3, rel_tol=1e-3)
    assert always.mean > 2.2  # of all values it would be 1.5


def test_a_feature_that_is_far_off_begins_again_after_twenty_values() -> None:
    model = hw.Linear(scale="running", query=hw.query.Random(0.0))
    generator = random.Random(8)
    for _ in range(200):
        model.decide_one({"a": generator.gauss(0, 1)})
    counts = []
    for _ in range(40):
        model.decide_one({"a": generator.gauss(500, 1)})
        counts.append(scaler_of(model).features["a"].n)
    assert counts[18:21] == [219, 1, 2]
    one = scaler_of(model).features["a"]
    assert isclose(one.mean, 500, abs_tol=1)
    assert one.squares / one.n < 4


def labelled(
    seed: int, events: int, scale: dict[str, float]
) -> list[tuple[dict[str, float], bool]]:
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
    plain = sum(errors(hw.Linear(scale="running"), labelled(s, 3000, {})) for s in range(5))
    scaled = sum(errors(hw.Linear(scale="running"), labelled(s, 3000, odd)) for s in range(5))
    raw = sum(errors(hw.Linear(scale=None), labelled(s, 3000, odd)) for s in range(5))
    assert scaled < 1.1 * plain
    assert scaled < 0.5 * raw


def test_another_unit_in_the_middle_of_the_stream_costs_little() -> None:
    calm, changed = labelled(7, 4000, {}), labelled(7, 4000, {})
    changed[2000:] = labelled(7, 4000, {"a": 1000.0})[2000:]
    before = errors(hw.Linear(scale="running"), calm)
    assert errors(hw.Linear(scale="running"), changed) < 1.3 * before + 40


def test_a_word_is_its_presence_and_a_sensor_its_value() -> None:
    model = hw.Linear(scale="running", query=hw.query.Random(0.0))
    generator = random.Random(1)
    for t in range(100):
        event = {"sensor": generator.gauss(20, 5)}
        decision = model.decide_one(event | {"word": 1.0} if t % 10 == 0 else event)
    decision = model.decide_one({"sensor": 30.0, "word": 1.0})
    (sensor, word), (always, rare) = frozen(decision)
    assert word == always == 0.0
    assert sensor > 0 < rare
    assert isclose(sensor**2 + rare**2, 1.0)
    one = scaler_of(model).features["sensor"]
    z = (30.0 - one.mean) / sqrt(one.squares / one.n)
    assert isclose(rare / sensor, -0.5 * log(11 / 101) / z)


def test_predict_query_and_explain_do_not_count_an_event() -> None:
    model = hw.Linear(scale="running", query=hw.query.Margin(1.0))
    for value in (1.0, 2.0):
        model.learn_one({"a": value}, True)
    before = model.to_bytes()
    model.predict_one({"a": 5.0, "new": 1.0})
    model.predict_proba_one({"a": 5.0, "new": 1.0})
    model.explain_one({"a": 5.0, "new": 1.0})
    assert model.to_bytes() == before
    model.query_one({"a": 5.0, "new": 1.0})  # tosses a coin
    assert_same(scaler_of(model), scaler_of(hw.from_bytes(before)))


def test_an_event_that_is_never_labelled_counts_all_the_same() -> None:
    model = hw.Linear(scale="running", query=hw.query.Random(0.0))
    for value in (1.0, 2.0, 6.0):
        model.decide_one({"a": value})
    one = scaler_of(model).features["a"]
    assert (one.n, one.mean) == (3, 3.0)
    assert model.features() == []
    assert model.weights() == {}


def test_a_frozen_decision_keeps_value_and_presence_of_its_moment() -> None:
    model = hw.Linear(scale="running", query="all", intercept=False)
    for value in (1.0, 2.0, 3.0, 4.0):
        model.decide_one({"a": value, "b": -value} if value != 2.0 else {"a": value})
    decision = model.decide_one({"a": 9.0, "b": 1.0})
    (a, b), (always, sometimes) = frozen(decision)
    assert 0 == always < sometimes
    kept = pickle.loads(pickle.dumps(decision))
    for value in (100.0, 200.0, 300.0):
        model.decide_one({"a": value, "b": value})
    assert frozen(decision) == frozen(kept) == ([a, b], [always, sometimes])
    assert decision.features == kept.features == {"a": 9.0, "b": 1.0}
    twin = pickle.loads(pickle.dumps(model))
    model.answer(decision, True)
    twin.answer(kept, True)
    assert model.to_bytes() == twin.to_bytes()
    weights = model.weights()
    assert isclose(weights["a"] / weights["b"], a / b)
    assert isclose(weights["a"] / weights["b (present)"], a / sometimes)


@pytest.mark.parametrize("make", [hw.Linear, hw.OLVF, hw.Spring])
def test_event_loop_batch_file_and_a_loaded_learner_give_the_same_bits(
    make: Any, tmp_path: Path
) -> None:
    scale = {} if make is hw.Spring else {"scale": "running"}
    network = hw.streams.SensorNetwork(800, seed=3)
    loop, batch, stopped = make(**scale), make(**scale), make(**scale)
    path = tmp_path / "events.jsonl"
    with path.open("w") as file:
        for t, (event, label) in enumerate(network):
            print(json.dumps({**event, "y": bool(label)}), file=file)
            for model in (loop, stopped):
                decision = model.decide_one(event)
                if decision.asked:
                    model.answer(decision, label)
            if t in (10, 400):
                stopped = hw.from_bytes(stopped.to_bytes())
    batch.simulate(*network.batch())
    assert loop.to_bytes() == batch.to_bytes() == stopped.to_bytes()
    by_name, from_file = make(**scale), make(**scale)
    for event, label in network:
        decision = by_name.decide_one({str(name): x for name, x in event.items()})
        if decision.asked:
            by_name.answer(decision, label)
    from_file.simulate_file(path, label="y")
    assert from_file.to_bytes() == by_name.to_bytes()
    taught, learned = make(**scale), make(**scale)
    for event, label in network:
        taught.learn_one(event, label)
    learned.learn_many(*network.batch())
    assert taught.to_bytes() == learned.to_bytes()
    rows, _ = network.held_out(20)
    assert stopped.margin_many(rows).tolist() == loop.margin_many(rows).tolist()


@pytest.mark.parametrize("when_full", ["refuse", "oldest", "smallest"])
def test_a_bound_on_names_is_one_on_statistics(when_full: Any) -> None:
    """Names enter when they are seen; of those that go, the ones seen last go last."""
    model = hw.Linear(
        scale="running", query=hw.query.Random(0.0), max_features=16, when_full=when_full
    )
    for t, event in enumerate(words(5, 600)):
        model.decide_one(event | {"always": float(t % 5)})
        features = scaler_of(model).features
        assert len(features) <= 16
        if when_full == "refuse":
            assert "always" in features
        else:
            assert set(event) <= set(features)
    assert (model.evicted == 0) == (when_full == "refuse")
    assert hw.from_bytes(model.to_bytes()).to_bytes() == model.to_bytes()


def test_what_is_evicted_is_what_was_not_seen_for_longest_although_nothing_is_learned() -> None:
    model = hw.Linear(
        scale="running", query=hw.query.Random(0.0), max_features=8, when_full="oldest"
    )
    for name in "abcdefgh":
        model.decide_one({name: 1.0})
    for name in "ba":
        model.decide_one({name: 1.0})
    model.decide_one({"new": 1.0})  # one too many: an eighth of eight goes
    assert list(scaler_of(model).features) == [*"abdefgh", "new"]
    assert model.evicted == 1


def test_values_beyond_all_measure_are_refused_and_nothing_is_counted() -> None:
    model = hw.Linear(scale="running")
    for value in (1.0, 2.0):
        model.decide_one({"a": value})
    before = model.to_bytes()
    for act in (model.decide_one, lambda x: model.learn_one(x, True)):
        with pytest.raises(StepError, match=r"between -1e140 and 1e140 to be scaled, got 1e200\."):
            act({"new": 1.0, "a": 1e200})
        assert model.to_bytes() == before


@pytest.mark.parametrize("size", [1e-300, 1e-160, 1e130])
def test_the_smallest_and_the_largest_numbers_do_no_harm(size: float) -> None:
    model, reference = hw.Linear(scale="running", query="random"), Scaler()
    generator = random.Random(2)
    for t in range(60):
        event: Event = {"a": size * generator.random()} if t % 9 else {"a": 0.0, "b": size}
        seen = reference.show(event)
        assert_seen(model.decide_one(event), seen)
    without_summary(reference)
    assert_same(scaler_of(model), reference)


def test_constants_and_gross_errors_do_no_harm() -> None:
    rows = labelled(5, 2000, {})
    disturbed = [
        ({**event, "constant": 7.0, "c": 1e12 if i % 100 == 99 else event["c"]}, label)
        for i, (event, label) in enumerate(rows)
    ]
    calm = errors(hw.Linear(scale="running"), rows)
    assert errors(hw.Linear(scale="running"), disturbed) < 1.25 * calm + 10


def test_the_reference_counts_as_a_whole_list_of_values_says() -> None:
    """Mean and deviation by hand: of 1, 2 and 6 in rounds 0, 2 and 3."""
    one = Statistics(first=0)
    for t, x in ((0, 1.0), (2, 2.0), (3, 6.0)):
        one.count(x, t)
    assert (one.n, one.mean, one.squares, one.share(3)) == (3, 3.0, 14.0, 0.75)
    assert one.value(6.0) == about(3 / sqrt(14 / 3))
    assert one.presence(3) == about(-0.5 * log(0.75))
