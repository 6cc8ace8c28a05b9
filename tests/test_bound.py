"""`max_features`: as its plain reference step by step, never exceeded, the same by every door."""

import pickle
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headwater as hw
from about import about
from effort import FULL, reduced
from forms import csr
from headwater.errors import ModelFileError, StepError
from headwater.testing.small_stream import follow, steps_of
from model_bytes import put_together, take_apart
from reference import olvf
from reference.bound import Bound, Row, in_order, leaving, rows_of, taken, without
from reference.learner import NEAR, learn
from reference.scaler import read_scaler
from reference.state import Component, Config, Name, State, read_file, read_state

POLICIES: list[Any] = ["refuse", "oldest", "smallest"]
OWN = ("(factor)", "(energy)", "(intercept)")
Event = dict[Name, float]


def stream(seed: int, events: int, names: int = 40, width: int = 6) -> Iterator[tuple[Event, int]]:
    """Some of the first names often, of all now and then; text and integers; three classes."""
    rng = random.Random(seed)
    for _ in range(events):
        event: Event = {}
        for _ in range(rng.randrange(width + 1)):
            place = int(names * rng.random() ** 3)
            event[place if place % 3 else f"w{place}"] = rng.gauss(0.5, 1)
        yield event, (sum(event.values()) > 1) + (rng.random() < 0.2)


def wide(rng: random.Random, names: int = 40) -> Event:
    """An event with more names than any bound here has places for."""
    places = rng.sample(range(names), 25)
    return {place if place % 3 else f"w{place}": rng.gauss(0, 1) for place in places}


def names_of(model: hw.Learner) -> list[Name]:
    return [feature.name for feature in model.features() if feature.name not in OWN]


# One step is the reference's


UPDATES: list[Component] = [
    ("PA", {"positive_margin": 1.0}),
    ("PA1", {"C": 0.1, "positive_margin": 1.0}),
    ("AROW", {"C": 1.0, "positive_margin": 1.0}),
]
SPARSIFIERS: list[Component | None] = [
    None,
    ("KeepLargest", {"share": 0.5, "l1_radius": 2.0}),
    ("KeepCount", {"count": 5, "l2_radius": 1.0}),
    ("RandomShare", {"share": 0.6}),
]


def made(module: Any, component: Component | None) -> Any:
    return component and getattr(module, component[0])(**component[1])


def close(got: list[list[float]], wanted: list[list[float]]) -> bool:
    largest = max((abs(number) for column in wanted for number in column), default=0.0)
    return got == [about(column, rel=NEAR, abs=NEAR * largest) for column in wanted]


@pytest.mark.parametrize("when_full", POLICIES)
@pytest.mark.parametrize("update", UPDATES, ids=lambda one: one[0])
@pytest.mark.parametrize("sparsify", SPARSIFIERS, ids=lambda one: one[0] if one else "dense")
@pytest.mark.parametrize("multiclass", [False, True])
@pytest.mark.parametrize("most", [7, 20])
def test_every_lesson_is_the_reference_s(
    when_full: Any, update: Component, sparsify: Component | None, multiclass: bool, most: int
) -> None:
    config = Config(update, ("All", {}), sparsify, intercept=True, multiclass=multiclass)
    bound = Bound(most, when_full)
    model = hw.Linear(
        update=made(hw.update, update),
        query="all",
        sparsify=made(hw.sparsify, sparsify),
        scale=None,
        multiclass=multiclass,
        max_features=most,
        when_full=when_full,
    )
    rng = random.Random(5)
    refused = evicted = 0
    late: list[Any] = []
    for t, (event, kind) in enumerate(stream(most, 110 if FULL else 60)):
        if t % 25 == 24:
            event = wide(rng)
        label: Any = ("red", "green", "blue")[kind] if multiclass else kind > 0
        decision = model.decide_one(event)
        late.append((decision, event, label))
        if t % 3 == 0:  # some labels come much later, when names have gone
            decision, event, label = late.pop(rng.randrange(len(late)))
        state = read_state(model.to_bytes())
        here = taken(bound, [row.name for row in rows_of(state, OWN)], list(event))
        expected = learn(config, state, {name: event[name] for name in here}, label).state
        gone = leaving(bound, rows_of(expected, OWN), expected.learned)
        expected = without(expected, gone)
        model.answer(decision, label)
        late = [one for one in late if one[0] is not decision]

        core = read_state(model.to_bytes())
        assert (core.names, core.first, core.last, core.times) == (
            *(expected.names, expected.first, expected.last, expected.times),
        )
        assert close(core.weights, expected.weights)
        assert close(core.variances, expected.variances)
        refused += len(event) - len(here)
        evicted += len(gone)
        assert (model.refused, model.evicted) == (refused, evicted)
    assert refused > 0
    assert (evicted > 0) == (when_full != "refuse")


@pytest.mark.parametrize("when_full", POLICIES)
@pytest.mark.parametrize("share", [1.0, 0.5])
def test_every_round_of_olvf_is_the_reference_s(when_full: Any, share: float) -> None:
    config = olvf.Config(0.3, 0.1, 0.3, share, "multiply")
    bound = Bound(10, when_full)
    model = hw.OLVF(**vars(config), max_features=10, when_full=when_full)
    last: dict[Name, int] = {}
    gone_in_all = 0
    for t, (event, kind) in enumerate(stream(3, 250), start=1):
        before = olvf.read_state(model.to_bytes())
        here = taken(bound, before.names, list(event))
        expected = olvf.learn(config, before, {name: event[name] for name in here}, kind > 0).state
        last |= dict.fromkeys(here, t)
        rows = zip(expected.names, map(abs, expected.weights), strict=True)
        gone = leaving(bound, [Row(name, last[name], size) for name, size in rows], t)
        stay = [slot for slot, name in enumerate(expected.names) if name not in gone]
        model.learn_one(event, kind > 0)
        core = olvf.read_state(model.to_bytes())
        assert core.names == [expected.names[slot] for slot in stay]
        assert close([core.weights], [[expected.weights[slot] for slot in stay]])
        assert close([core.space], [[expected.space[slot] for slot in stay]])
        gone_in_all += len(gone)
    assert model.evicted == gone_in_all
    assert (gone_in_all > 0) == (when_full != "refuse")


def by_input(state: State) -> State:
    """A learner with a scaler: every name is two inputs, its value and its presence."""

    def twice(column: list[int]) -> list[int]:
        return [number for number in column for _ in range(2)]

    names: list[Name] = [one for name in state.names for one in (name, f"{name} (present)")]
    first, last, times = twice(state.first), twice(state.last), twice(state.times)
    return replace(state, names=names, first=first, last=last, times=times)


@pytest.mark.parametrize("when_full", POLICIES)
@pytest.mark.parametrize("most", [6, 16])
def test_with_a_scaler_names_enter_and_go_when_they_are_seen(when_full: Any, most: int) -> None:
    config = Config(("AROW", {"C": 1.0, "positive_margin": 1.0}), ("All", {}), intercept=True)
    bound = Bound(most, when_full)
    model = hw.Linear(update=hw.update.AROW(), max_features=most, when_full=when_full, query="all")
    rng = random.Random(8)
    refused = evicted = 0
    late: list[Any] = []
    for t, (event, kind) in enumerate(stream(most, 240)):
        if t % 40 == 20:
            event = wide(rng)
        file = model.to_bytes()
        scaler, state = read_scaler(read_file(file)[1]), read_state(file)
        known = list(scaler.features)
        here = taken(bound, known, list(event))
        seen = scaler.show({name: event[name] for name in here})
        weights = [max(map(abs, pair)) for pair in zip(*[iter(state.weights[0])] * 2, strict=True)]
        sizes = dict(zip(state.names, weights, strict=True))
        order = known + in_order(name for name in here if name not in known)
        assert order == list(scaler.features)
        rows = [Row(name, scaler.features[name].last, sizes.get(name, 0.0)) for name in order]
        gone = leaving(bound, rows, scaler.rounds - 1)
        evicted += len(gone)

        decision = model.decide_one(event)
        expected = [
            parts.get(name, 0.0) for parts in (seen.values, seen.presences) for name in event
        ]
        assert decision.__reduce__()[1][6] == about(expected, rel=NEAR, abs=1e-12)
        after = read_scaler(read_file(model.to_bytes())[1])
        assert list(after.features) == [name for name in order if name not in gone]
        for name, one in after.features.items():
            assert (one.n, one.last) == (scaler.features[name].n, scaler.features[name].last)
        late.append((decision, list(event), seen, kind > 0))
        if t % 4:
            continue
        decision, names, seen, label = late.pop(rng.randrange(max(0, len(late) - 6), len(late)))
        before = by_input(read_state(model.to_bytes()))
        learnable = [
            name for name in names if name in after.features
        ]  # since it was seen, or again
        refused += len(names) - len(learnable)
        inputs: Event = {}
        for name in learnable:
            inputs |= {name: seen.values.get(name, 0.0)}
            inputs |= {f"{name} (present)": seen.presences.get(name, 0.0)}
        wanted = learn(config, before, inputs, label).state
        model.answer(decision, label)
        core = read_state(model.to_bytes())
        assert (by_input(core).names, core.times) == (wanted.names, wanted.times[::2])
        assert close(core.weights, wanted.weights)
        assert (model.refused, model.evicted) == (refused, evicted)
    assert refused > 0
    assert (evicted > 0) == (when_full != "refuse")


@pytest.mark.parametrize("when_full", POLICIES)
def test_a_regressor_s_expected_errors_go_with_their_names(when_full: Any) -> None:
    model = hw.PARegressor(max_features=6, when_full=when_full, scale=None)
    errors: dict[Name, int] = {}
    for event, kind in stream(6, 200):
        model.learn_one(event, float(kind))
        state = read_file(model.to_bytes())[1]
        means = state["model"]["linear"]["errors"]["features"]
        times = {f.name: f.times_learned for f in model.features()}
        assert [mean["count"] for mean in means] == list(times.values())
        errors |= times
    assert len(errors) > 7 or when_full == "refuse"


# Never exceeded, exactly counted


MAKERS: dict[str, Callable[..., hw.Learner]] = {
    "Linear": hw.Linear,
    "Linear(raw)": lambda **given: hw.Linear(scale=None, **given),
    "FLLS": hw.FLLS,
    "OLSF": hw.OLSF,
    "PAA": hw.PAA,
    "MPAA": hw.MPAA,
    "CSPAA": hw.CSPAA,
    "Spring": lambda **given: hw.Spring(label_rate=0.5, **given),
    "OLVF": lambda **given: hw.OLVF(kept_share=0.6, **given),
    "PARegressor": hw.PARegressor,
    "PEA": lambda **given: hw.named("PEA", **given),
}


@settings(derandomize=True, deadline=None, max_examples=reduced(150))
@given(
    make=st.sampled_from(list(MAKERS.values())),
    most=st.integers(1, 12),
    when_full=st.sampled_from(POLICIES),
    seed=st.integers(0, 10**6),
    width=st.integers(1, 15),
)
def test_the_bound_is_never_exceeded_and_every_new_name_is_accounted_for(
    make: Callable[..., hw.Learner], most: int, when_full: Any, seed: int, width: int
) -> None:
    model = make(max_features=most, when_full=when_full)
    came = 0
    for t, (event, kind) in enumerate(stream(seed, 40, width=width)):
        known = names_of(model)
        label: Any = float(kind) if isinstance(model, hw.PARegressor) else kind > 0
        if t % 2:
            model.learn_one(event, label)
        else:
            decision = model.decide_one(event)
            if not decision.asked:
                continue
            model.answer(decision, label)
        came += sum(name not in known for name in event)
        saved = read_file(model.to_bytes())[1]
        after = [name for name in saved["names"] if name not in OWN]
        assert len(after) <= most
        if saved["scaler"] is None:
            assert came == len(after) + model.evicted + model.refused
    assert len(model.features()) - len(names_of(model)) in (0, 1, 3)  # its own are always there


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_a_bound_that_is_never_reached_changes_nothing(make: Callable[..., hw.Learner]) -> None:
    free, bounded = make(), make(max_features=1000, when_full="smallest")
    for event, kind in stream(1, 150):
        label: Any = float(kind) if isinstance(free, hw.PARegressor) else kind > 0
        if not event:
            continue
        assert free.decide_one(event).margin == bounded.decide_one(event).margin
        free.learn_one(event, label)
        bounded.learn_one(event, label)
    assert take_apart(free.to_bytes())[1] == take_apart(bounded.to_bytes())[1]


def test_a_file_does_not_grow_with_the_names_that_have_gone() -> None:
    model = hw.Linear(max_features=100)
    sizes = []
    for t in range(4_000):
        model.learn_one({f"name {t} {part}": 1.0 for part in range(3)}, t % 2 == 0)
        sizes.append(len(model.to_bytes()))
    assert max(sizes[2_000:]) <= 1.1 * max(sizes[:2_000])
    assert model.evicted == 12_000 - len(names_of(model))


def test_the_policies_by_hand() -> None:
    def taught(when_full: Any) -> list[Name]:
        model = hw.OLSF(kept_share=1.0, max_features=2, when_full=when_full)
        model.learn_one({"a": 1.0}, True)  # weighs 1
        model.learn_one({"b": 2.0}, True)  # weighs 1/2
        model.learn_one({"c": 1.0}, False)
        return names_of(model)

    assert taught("refuse") == ["a", "b"]
    assert taught("oldest") == ["b", "c"]
    assert taught("smallest") == ["a", "c"]


def test_of_names_that_cannot_all_come_the_first_in_order_do() -> None:
    for when_full in POLICIES:
        model = hw.OLSF(kept_share=1.0, max_features=3, when_full=when_full)
        model.learn_one({"d": 1.0, "c": 1.0, "b": 1.0, 7: 1.0, "a": 1.0}, True)
        assert names_of(model) == [7, "a", "b"]
        assert model.weights() == pytest.approx({7: 1 / 3, "a": 1 / 3, "b": 1 / 3})
        assert (model.refused, model.evicted) == (2, 0)


# The same by every door, before and after saving


BOUNDED = [
    pytest.param(make, when_full, id=f"{name}-{when_full}")
    for name, make in MAKERS.items()
    if name not in ("MPAA", "PARegressor")
    for when_full in POLICIES
]


@pytest.mark.parametrize(("make", "when_full"), BOUNDED)
def test_loop_batch_and_file_and_a_loaded_model_give_the_same_bits(
    make: Callable[..., hw.Learner], when_full: Any, tmp_path: Path
) -> None:
    def fresh() -> hw.Learner:
        return make(max_features=9, when_full=when_full)

    pairs = [(x, kind > 0) for x, kind in stream(4, 300)]
    names = sorted({name for x, _ in pairs for name in x}, key=str)
    columns = {name: column for column, name in enumerate(names)}
    events = [x for x, _ in pairs]
    labels = [y for _, y in pairs]
    loop = fresh()
    steps = follow(loop, events, labels)
    assert loop.evicted + loop.refused > 0
    bits = loop.to_bytes()

    numbered: list[Event] = [{columns[name]: value for name, value in x.items()} for x in events]
    batch = fresh()
    trace = batch.simulate(csr(numbered, len(names)), labels, names=names)
    assert steps_of(trace) == steps
    assert batch.to_bytes() == bits

    pieces = fresh()
    for start in range(0, 300, 7):
        part = slice(start, start + 7)
        pieces.simulate(csr(numbered[part], len(names)), labels[part], names=names)
        pieces = pickle.loads(pickle.dumps(pieces))
    assert pieces.to_bytes() == bits

    loaded, done = fresh(), []
    for event, label in pairs:
        decision = pickle.loads(pickle.dumps(loaded.decide_one(event)))
        loaded = hw.from_bytes(loaded.to_bytes())
        if decision.asked:
            loaded.answer(decision, label)
        done.append((decision.prediction, decision.margin, decision.query_probability))
    assert done == [step[:3] for step in steps]
    assert loaded.to_bytes() == bits

    path = tmp_path / "events.vw"
    texts: list[Event] = [{f"n{name}": value for name, value in x.items()} for x in events]
    with path.open("w") as file:
        for x, y in zip(texts, labels, strict=True):
            print(int(y), "|", *(f"{name}:{value!r}" for name, value in x.items()), file=file)
    by_file, by_hand = fresh(), fresh()
    by_file.simulate_file(path)
    follow(by_hand, texts, [int(y) for y in labels])
    assert by_file.to_bytes() == by_hand.to_bytes()


@pytest.mark.parametrize("when_full", POLICIES)
def test_learn_many_and_dense_arrays_are_the_loop(when_full: Any) -> None:
    rng = np.random.default_rng(1)
    X = np.where(rng.random((200, 30)) < 0.15, rng.normal(size=(200, 30)), np.nan)
    y = (np.nansum(X, axis=1) > 0).tolist()
    loop, batch = (hw.Linear(max_features=8, when_full=when_full) for _ in range(2))
    for row, label in zip(X, y, strict=True):
        loop.learn_one({i: float(value) for i, value in enumerate(row) if value == value}, label)
    batch.learn_many(X, y)
    assert batch.to_bytes() == loop.to_bytes()


# Answers, errors, files


@pytest.mark.parametrize("when_full", ["oldest", "smallest"])
def test_a_late_answer_learns_a_name_again_that_has_gone(when_full: Any) -> None:
    for through_pickle in (False, True):
        model = hw.PAA(max_features=2, when_full=when_full, query_width=float("inf"))
        model.learn_one({"a": 10.0}, True)
        decision = model.decide_one({"a": 10.0})
        model.learn_one({"b": 1.0, "c": 1.0}, True)
        assert names_of(model) == ["b", "c"]
        if through_pickle:
            decision = pickle.loads(pickle.dumps(decision))
        model.answer(decision, False)
        assert model.weights()["a"] == pytest.approx(-0.1)  # from 0, not from 0.1
        assert names_of(model) == ["c", "a"]
        assert model.features()[1].times_learned == 1


def test_an_event_that_is_refused_lets_nothing_go() -> None:
    for make in (hw.PAA, hw.OLVF, hw.Spring, hw.Linear):
        model = make(max_features=2)
        model.learn_one({"a": 1.0, "b": 2.0}, True)
        before = model.to_bytes()
        with pytest.raises(StepError):
            model.learn_one({"a": 1e200, "c": 1.0, "d": 1.0}, True)
        assert model.to_bytes() == before


def test_the_memory_of_text_objects_notices_that_slots_have_changed() -> None:
    model = hw.OLSF(kept_share=1.0, max_features=2, when_full="oldest")
    a, b, c = "name a", "name b", "name c"
    for _ in range(3):
        for name, label in ((a, True), (b, False), (c, True)):
            model.learn_one({name: 1.0}, label)
            model.predict_one({a: 1.0, b: 1.0, c: 1.0})
    assert model.weights() == {b: -1.0, c: 1.0}
    assert [model.margin_one({name: 1.0}) for name in (a, b, c)] == [0.0, -1.0, 1.0]


def test_a_file_with_more_names_than_the_bound_is_refused() -> None:
    model = hw.Linear(max_features=3)
    for t in range(5):
        model.learn_one({f"n{t}": 1.0 + t}, t % 2 == 0)
    header, state = take_apart(model.to_bytes())
    assert hw.from_bytes(put_together(header, state)).to_bytes() == model.to_bytes()
    header["parameters"]["max_features"] = 2
    with pytest.raises(ModelFileError, match="more names than it should"):
        hw.from_bytes(put_together(header, state))


def test_a_file_from_before_there_was_a_bound_is_read() -> None:
    model = hw.FLLS()
    model.learn_one({"a": 1.0}, True)
    header, state = take_apart(model.to_bytes())
    assert not {"refused", "evicted"} & set(state)
    del header["parameters"]["max_features"], header["parameters"]["when_full"]
    assert hw.from_bytes(put_together(header, state)).to_bytes() == model.to_bytes()
