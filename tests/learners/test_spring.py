"""Spring: as its plain reference, one step at a time, and as its users rely on it."""

import pickle
import random
from collections.abc import Iterator
from functools import partial
from math import exp, isclose, log, sqrt
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import headwater as hw
from about import about
from contract import put_together, take_apart
from headwater.catalogue import algorithm
from headwater.errors import EventError, ModelFileError, StepError
from headwater.studies.plan import read_study
from reference.dual import DualState, learn, read_dual
from reference.learner import NEAR
from reference.scaler import Name
from reference.sparsify import keep_largest, kept_of, scale_l1
from reference.spring import (
    OWN,
    Frozen,
    State,
    Track,
    answer,
    decide,
    look,
    margin_of,
    observe,
    probabilities,
    read_spring,
    scores_of,
    values_of,
)
from reference.state import read_file

RATE = 0.3
COLOURS = ("red", "green", "blue")
NAMES: list[Name] = ["a", "b", "c", 7, 8]
VALUES = st.one_of(
    st.just(0.0),
    st.sampled_from([1.0, 2.0, 5.0]),
    st.floats(1e-3, 1e3).flatmap(lambda size: st.sampled_from([size, -size])),
)
SPARSE = st.dictionaries(st.sampled_from(NAMES), VALUES)
DENSE = st.lists(VALUES, min_size=5, max_size=5).map(lambda x: dict(zip(NAMES, x, strict=True)))
FATES = st.sampled_from(["ask", "ask", "answer", "late", "learn"])
Round = tuple[dict[Name, float], int, str]


@st.composite
def streams(draw: st.DrawFn) -> list[Round]:
    """Dense or sparse events, or such whose features grow or vanish."""
    shape = draw(st.sampled_from(["sparse", "dense", "growing", "vanishing"]))
    length = draw(st.integers(1, 25))
    rounds = []
    for t in range(length):
        event = draw(SPARSE if shape == "sparse" else DENSE)
        if shape == "growing":
            event = dict(list(event.items())[: 1 + t * 5 // length])
        if shape == "vanishing":
            event = dict(list(event.items())[t * 5 // length :])
        rounds.append((event, draw(st.integers(0, 2)), draw(FATES)))
    return rounds


def state_of(model: hw.Learner) -> State:
    return read_spring(read_file(model.to_bytes())[1])


def approx(wanted: Any, size: float = 1.0) -> about:
    return about(wanted, rel=NEAR, abs=NEAR * size)


def assert_same(got: State, wanted: State) -> None:
    """Equal to 1e-9 of the largest weight or step, or of the numbers themselves."""
    assert got.view.features.keys() == wanted.view.features.keys()
    for name, one in wanted.view.features.items():
        other = got.view.features[name]
        assert (other.n, other.runs, other.first, other.last) == (
            *(one.n, one.runs, one.first, one.last),
        )
        assert (other.mean, other.squares) == approx((one.mean, one.squares))
    assert got.view.rounds == wanted.view.rounds
    assert got.view.pool_weight == approx(wanted.view.pool_weight)
    assert got.view.pool_log_size == approx(wanted.view.pool_log_size)
    assert got.loadings == approx(wanted.loadings)
    assert (got.factor, got.energy) == (near_track(wanted.factor), near_track(wanted.energy))
    assert_same_dual(got.dual, wanted.dual)
    assert (got.t, got.asked, got.learned) == (wanted.t, wanted.asked, wanted.learned)
    assert got.coins == wanted.coins
    assert (got.g, got.b) == approx((wanted.g, wanted.b))


def assert_same_dual(got: DualState, wanted: DualState) -> None:
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


def near_track(track: Track) -> Any:
    return approx(tuple(track))


def follow(
    rounds: list[Round], multiclass: bool, classes: tuple[str, ...] | None, balance: bool = True
) -> None:
    """Before each step the reference starts from the core's own state."""
    spell: Any = COLOURS if multiclass else (False, True, True)
    model = hw.Spring(
        label_rate=RATE, balance=balance, multiclass=multiclass, classes=classes, seed=5
    )
    late: list[tuple[Any, Frozen, int]] = []
    for event, label, fate in rounds:
        check_outside(model, event, multiclass)
        if fate == "learn":
            seen, expected = observe(state_of(model), event)
            expected = taught(model, expected, seen, spell[label], multiclass)
            model.learn_one(event, spell[label])
            assert_same(state_of(model), expected)
            continue
        decided = decide(state_of(model), event, RATE, multiclass)
        decision = model.decide_one(event)
        size = sum(abs(score) for score in decided.scores)
        assert decision.margin == approx(decided.margin, 1 + size)
        if decided.gap <= NEAR * (1 + size):
            return  # on the boundary the question may fall either way
        assert (decision.asked, decision.query_probability) == (
            decided.asked,
            decided.probability,
        )
        assert_same(state_of(model), decided.state)
        if fate == "late":
            late.append((decision, decided.frozen, label))
        elif fate == "answer" or decision.asked:
            check_answer(model, decision, decided.frozen, spell[label], multiclass)
    for decision, frozen, label in late:
        check_answer(model, decision, frozen, spell[label], multiclass)


def taught(model: hw.Spring, state: State, seen: Frozen, label: Any, multiclass: bool) -> State:
    known = list(model.labels)
    place = known.index(label) if label in known else len(known)
    return answer(state, seen, place if multiclass else int(label), multiclass, model.balance)


def check_answer(
    model: hw.Spring, decision: hw.Decision, frozen: Frozen, label: Any, multiclass: bool
) -> None:
    expected = taught(model, state_of(model), frozen, label, multiclass)
    model.answer(pickle.loads(pickle.dumps(decision)), label)
    assert_same(state_of(model), expected)


def check_outside(model: hw.Spring, event: dict[Name, float], multiclass: bool) -> None:
    """Predictions look through the view as it is, and change nothing."""
    state = state_of(model)
    seen = look(state, event)
    scores = scores_of(state, seen)
    margin, _ = margin_of(scores, multiclass)
    size = 1 + sum(abs(score) for score in scores)
    assert model.margin_one(event) == approx(margin, size)
    explained = model.explain_one(event)
    assert set(explained.contributions) == {*event, *OWN}
    if not multiclass:
        parts = {name: explained.contributions[name] for name in OWN}
        omega = [state.dual.weights[0].get(name, 0.0) for name in OWN]
        expected = [w * f for w, f in zip(omega, seen.f, strict=True)]
        assert list(parts.values()) == approx(expected, size)
    shares = model.predict_proba_one(event)
    assert list(shares.values()) == approx(probabilities(state, scores, multiclass, model.balance))


def examples(count: int) -> settings:
    return settings(
        max_examples=count,
        derandomize=True,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )


@examples(60)
@given(streams())
def test_the_core_equals_the_reference_one_step_at_a_time(rounds: list[Round]) -> None:
    follow(rounds, multiclass=False, classes=None)


@examples(40)
@given(streams(), st.sampled_from([None, ("blue",), COLOURS]))
def test_the_core_equals_the_reference_with_several_classes(
    rounds: list[Round], classes: tuple[str, ...] | None
) -> None:
    follow(rounds, multiclass=True, classes=classes)


@examples(40)
@given(streams(), st.booleans())
def test_the_core_equals_the_reference_without_class_balance(
    rounds: list[Round], multiclass: bool
) -> None:
    follow(rounds, multiclass, classes=None, balance=False)


def sensors(seed: int, length: int, names: str = "abcdef") -> Iterator[tuple[Any, int]]:
    """Sensors that move together, most of them there, some of them later."""
    generator = random.Random(seed)
    for t in range(length):
        common = generator.gauss(0, 1)
        here = names[: 2 + t * len(names) // length]
        event = {
            name: 10.0**place * (3 + common * (-1) ** place + generator.gauss(0, 1))
            for place, name in enumerate(here)
            if generator.random() < 0.9
        }
        yield event, int(common + 0.5 * generator.gauss(0, 1) > 0)


@pytest.mark.parametrize("multiclass", [False, True])
@pytest.mark.parametrize("balance", [True, False])
def test_core_and_reference_agree_while_the_store_is_full_and_the_factor_moves(
    multiclass: bool, balance: bool
) -> None:
    model = hw.Spring(label_rate=RATE, multiclass=multiclass, balance=balance)
    spell: Any = COLOURS if multiclass else (False, True, True)
    for t, (event, label) in enumerate(sensors(3, 330)):
        if t < 215:  # so many answers fill the store
            model.learn_one(event, spell[label])
            continue
        if t % 9 == 0:
            decided = decide(state_of(model), event, RATE, multiclass)
            decision = model.decide_one(event)
            assert decision.asked == decided.asked or decided.gap < NEAR
            assert_same(state_of(model), decided.state)
            check_answer(model, decision, decided.frozen, spell[label], multiclass)
        else:
            model.decide_one(event)
    state = state_of(model)
    assert len(state.dual.store) == 200
    for name in OWN[:2]:
        assert any(abs(stored.values[name]) > 0.1 for stored in state.dual.store), name


# The dual steps in `Linear`


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
        known = list(model.labels)
        place = known.index(spell[label]) if spell[label] in known else len(known)
        model.learn_one(event, spell[label])
        saved = read_file(model.to_bytes())[1]
        names = saved["names"]

        def let_go(weights: dict[Name, float], names: list[Name] = names) -> dict[Name, float]:
            if share is None:
                return weights
            listed = scale_l1([weights.get(name, 0.0) for name in names], 3.0)
            kept = keep_largest(listed, kept_of(share, len(listed)))
            return dict(zip(names, kept, strict=True))

        expected = learn(
            before,
            {**event, "(intercept)": 1.0},
            place if multiclass else label,
            multiclass,
            *(0.7, replay, 6, balance),
            let_go=let_go,
        )
        assert_same_dual(read_dual(saved), expected)


def test_a_restart_forgets_the_stored_events() -> None:
    model = hw.Linear(update="dual_logistic", growth="restart", scale=None)
    for t in range(10):
        model.learn_one({"a": 1.0, "b": float(t)}, t % 2 == 0)
    model.learn_one({"c": 1.0}, True)
    assert len(read_dual(read_file(model.to_bytes())[1]).store) == 1
    assert set(model.weights()) == {"c", "(intercept)"}


# The bound on questions


def bound(rate: float, t: int) -> float:
    return rate * t + 2 * sqrt(rate * t) + 4


def empty(t: int) -> dict[str, float]:
    return {}


def constant(t: int) -> dict[str, float]:
    return {"a": 1.0, "b": 2.0}


def growing(t: int) -> dict[str, float]:
    """Margins that shrink: every event is less sure than those before."""
    return {"a": (-1.0) ** t * exp(-t / 50), "b": 1.0 / (t + 1)}


def words(t: int) -> dict[str, float]:
    return {f"w{t}": 1.0, f"w{t % 7}x": 2.0}


def noise(t: int) -> dict[str, float]:
    generator = random.Random(t)
    return {name: generator.gauss(0, 1) for name in "abc"}


SHAPES = [empty, constant, growing, words, noise]


@examples(150)
@given(
    shapes=st.lists(
        st.tuples(st.sampled_from(SHAPES), st.integers(1, 120)), min_size=1, max_size=5
    ),
    rate=st.sampled_from([0.001, 0.01, 0.05, 0.3, 0.9]),
    answers=st.sampled_from(["at once", "never", "late", "one class", "some"]),
    seed=st.integers(0, 1000),
)
def test_there_are_never_more_questions_than_promised(
    shapes: list[tuple[Any, int]], rate: float, answers: str, seed: int
) -> None:
    """Whatever comes: equal margins, empty events, one class, answers that never come."""
    coin = random.Random(seed)
    model = hw.Spring(label_rate=rate, seed=seed)
    late: list[hw.Decision] = []
    t = 0
    for shape, length in shapes:
        for _ in range(length):
            decision = model.decide_one(shape(t))
            t += 1
            assert model.asked <= bound(rate, t)
            if not decision.asked or answers == "never":
                continue
            late.append(decision)
            if answers == "late" and len(late) < 4:
                continue
            if answers == "some" and coin.random() < 0.5:
                continue
            for one in late:
                if not one.answered:
                    model.answer(one, answers == "one class" or coin.random() < 0.5)
            late.clear()


@pytest.mark.parametrize("make", [hw.Linear, hw.OLVF, hw.FESL])
def test_other_learners_keep_the_promise_too(make: Any) -> None:
    model = make(query=hw.query.Quantile(0.02))
    for t in range(3000):
        decision = model.decide_one(noise(t) if t % 3 else empty(t))
        assert model.asked <= bound(0.02, t + 1)
        if decision.asked:
            model.answer(decision, t % 2 == 0)
    assert model.asked > 0.015 * 3000


def test_before_the_first_answer_three_questions_are_open_and_none_about_nothing() -> None:
    model = hw.Spring()
    for _ in range(5):
        assert model.decide_one({}).query_probability == 0.0
        assert not model.decide_one({"a": 0.0}).asked  # nothing to see so far
    asked = [model.decide_one(noise(t)) for t in range(300)]
    assert sum(decision.asked for decision in asked) == 3
    model.answer(next(decision for decision in asked if decision.asked), True)
    for t in range(300):
        model.decide_one(noise(t))
    assert model.asked > 3


@pytest.mark.parametrize("make", [hw.Spring, partial(hw.Linear, query="quantile")])
def test_the_first_question_waits_until_ten_events_show_what_they_are_like(make: Any) -> None:
    model = make()
    asked = [model.decide_one(noise(t)).asked for t in range(13)]
    assert asked == [False] * 9 + [True] * 3 + [False]
    unscaled = hw.Linear(query="quantile", scale=None)
    assert unscaled.decide_one(noise(0)).asked


def test_labels_of_a_second_class_are_looked_for_at_the_rate() -> None:
    model = hw.Spring(label_rate=0.1, multiclass=True)
    for t in range(2_000):
        decision = model.decide_one(noise(t))
        if decision.asked:
            model.answer(decision, "the only one")  # all margins are 0
    assert 0.08 * 2_000 < model.asked < 0.12 * 2_000


def test_asked_outside_the_stream_it_does_not_wait_for_a_view_that_nothing_reaches() -> None:
    model = hw.Spring()
    questions = [model.query_one({"a": float(t)}) for t in range(1, 6)]
    assert questions == [True, True, True, False, False]
    model = hw.Spring()
    model.decide_one({"a": 0.0})  # the view has counted something: now it may wait
    assert not model.query_one({"a": 0.0})


def test_a_question_has_the_probability_that_it_reports() -> None:
    rate, by_chance = 0.5, 0
    model = hw.Spring(label_rate=rate)
    unlikely = 0
    for t in range(20_000):
        decision = model.decide_one(noise(t))
        if decision.asked and model.learned < 50:
            model.answer(decision, noise(t)["a"] > 0)
        assert decision.query_probability in (0.0, 0.05 * rate, 1.0)
        assert decision.asked or decision.query_probability < 1
        if decision.query_probability == 0.05 * rate:
            unlikely += 1
            by_chance += decision.asked
    assert unlikely > 5_000
    expected = 0.05 * rate * unlikely
    assert abs(by_chance - expected) < 4 * sqrt(expected)


# As users rely on it


def test_the_rate_is_kept() -> None:
    network = hw.streams.SensorNetwork(6_000, seed=2)
    for rate in (0.02, 0.05, 0.2):
        model = hw.Spring(label_rate=rate)
        trace = model.simulate(*network.batch())
        assert abs(trace.asked.mean() - rate) < 0.15 * rate


def test_raw_scales_do_not_matter() -> None:
    rows = list(sensors(4, 3000))
    plain = [event for event, _ in rows]
    odd = [{name: 1e6 * x + 1e8 if name == "a" else x for name, x in e.items()} for e in plain]
    labels = [bool(label) for _, label in rows]
    shares = [
        np.mean([d == y for d, y in zip(run(e, labels), labels, strict=True)]) for e in (plain, odd)
    ]
    assert shares[0] > 0.75
    assert abs(shares[0] - shares[1]) < 0.03


def run(events: list[Any], labels: list[bool]) -> list[Any]:
    model, predictions = hw.Spring(), []
    for event, label in zip(events, labels, strict=True):
        decision = model.decide_one(event)
        predictions.append(decision.prediction)
        if decision.asked:
            model.answer(decision, label)
    return predictions


def test_events_never_labelled_teach_the_factor() -> None:
    rows = list(sensors(8, 400))
    plain, primed = hw.Spring(), hw.Spring()
    for event, _ in rows[:300]:
        primed.decide_one(event)
    assert state_of(primed).factor.n > 250
    assert primed.learned == 0
    assert primed.features() == []
    loadings = state_of(primed).loadings
    assert loadings["a"] * loadings["b"] < 0 < loadings["a"] * loadings["c"]  # as they move
    for event, label in rows[300:304]:
        primed.learn_one(event, bool(label))
        plain.learn_one(event, bool(label))
    held = rows[304:]

    def right(model: hw.Learner) -> int:
        return sum(model.predict_one(event) == bool(label) for event, label in held)

    assert right(primed) > right(plain)


def test_a_late_answer_learns_what_its_question_saw() -> None:
    model = hw.Spring()
    rows = [event for event, _ in sensors(9, 300)]
    for event in rows[:100]:
        model.decide_one(event)
    decided = decide(state_of(model), rows[100], 0.05, False)
    decision = model.decide_one(rows[100])
    kept = pickle.loads(pickle.dumps(decision))
    for event in rows[101:]:
        model.decide_one(event)
    twin = pickle.loads(pickle.dumps(model))
    model.answer(decision, True)
    twin.answer(kept, True)
    assert model.to_bytes() == twin.to_bytes()
    stored = state_of(model).dual.store[0].values
    assert stored == approx(values_of(decided.frozen))
    assert stored[OWN[0]] != 0
    assert decision.features == rows[100]


def rare(seed: int, length: int, share: float) -> Iterator[tuple[dict[str, float], bool]]:
    """Events of which a small share is positive; P(positive) is known to nobody."""
    generator = random.Random(seed)
    for _ in range(length):
        label = generator.random() < share
        yield {name: generator.gauss(1.0 if label else 0.0, 1) for name in "abcd"}, label


def test_probabilities_are_those_of_the_stream_and_not_of_balanced_classes() -> None:
    model = hw.Spring(label_rate=0.1)
    for event, label in rare(1, 8_000, 0.05):
        decision = model.decide_one(event)
        if decision.asked:
            model.answer(decision, label)
    shares, balanced, labels = [], [], []
    for event, label in rare(2, 4_000, 0.05):
        shares.append(model.predict_proba_one(event)[True])
        balanced.append(1 / (1 + exp(-model.margin_one(event))))
        labels.append(label)
    assert abs(np.mean(shares) - np.mean(labels)) < 0.03
    assert np.mean(balanced) > 3 * np.mean(labels)

    def loss(p: list[float]) -> float:
        return float(np.mean([-log(q if y else 1 - q) for q, y in zip(p, labels, strict=True)]))

    base = float(np.mean(labels))
    assert loss(shares) < loss(balanced)
    assert loss(shares) < loss([base] * len(labels)), "better than the base rate alone"


def test_the_correction_is_the_ratio_of_the_answers() -> None:
    model = hw.Spring()
    for t in range(30):
        model.learn_one(noise(t), t % 5 == 0)  # 6 positive, 24 negative
    event = noise(99)
    share = model.predict_proba_one(event)[True]
    odds = model.margin_one(event) + log(7 / 25)
    assert isclose(log(share / (1 - share)), odds, rel_tol=1e-9)


def test_without_class_balance_probabilities_are_the_logistic_function_of_the_margin() -> None:
    model = hw.Spring(balance=False)
    for t in range(30):
        model.learn_one(noise(t), t % 5 == 0)  # 6 positive, 24 negative
    event = noise(99)
    share = model.predict_proba_one(event)[True]
    assert isclose(log(share / (1 - share)), model.margin_one(event), rel_tol=1e-9)


def test_class_balance_is_for_balanced_accuracy_and_its_absence_for_plain_accuracy() -> None:
    right: dict[bool, dict[bool, float]] = {}
    for balance in (True, False):
        model = hw.Spring(label_rate=0.1, balance=balance)
        for event, label in rare(1, 8_000, 0.05):
            decision = model.decide_one(event)
            if decision.asked:
                model.answer(decision, label)
        test = list(rare(2, 4_000, 0.05))
        right[balance] = {
            side: float(
                np.mean([model.predict_one(e) == label for e, label in test if label == side])
            )
            for side in (False, True)
        }
    balanced, plain = right[True], right[False]
    assert balanced[True] + balanced[False] > plain[True] + plain[False] + 0.1
    assert 0.05 * balanced[True] + 0.95 * balanced[False] < 0.05 * plain[True] + 0.95 * plain[False]


@pytest.mark.parametrize("balance", [True, False])
@pytest.mark.parametrize("multiclass", [False, True])
def test_a_file_keeps_the_class_balance_and_goes_on_by_it(balance: bool, multiclass: bool) -> None:
    spring = hw.Spring(balance=balance, multiclass=multiclass)
    update = hw.update.DualLogistic(balance=balance)
    for model in (spring, hw.Linear(update=update, multiclass=multiclass)):
        for t in range(20):
            model.learn_one(noise(t), t % 5 == 0)
        again = hw.from_bytes(model.to_bytes())
        assert again.parameters() == model.parameters()
        for one in (model, again):
            one.learn_one(noise(20), True)
        assert again.to_bytes() == model.to_bytes()
        assert again.predict_proba_one(noise(21)) == model.predict_proba_one(noise(21))


def test_a_file_written_before_there_was_a_choice_is_of_balanced_classes() -> None:
    spring, linear = hw.Spring(C=0.5), hw.Linear(update=hw.update.DualLogistic(C=0.5))
    for model in (spring, linear):
        for t in range(20):
            model.learn_one(noise(t), t % 5 == 0)
        header, state = take_apart(model.to_bytes())
        parameters = header["parameters"]
        del (parameters if model is spring else parameters["update"])["balance"]
        assert hw.from_bytes(put_together(header, state)).to_bytes() == model.to_bytes()


def test_the_study_of_class_balance_is_of_spring_with_it_and_without() -> None:
    study = read_study(Path(__file__).parents[2] / "studies/spring-balance.toml")
    made = [algorithm(plan.algorithm).make(**plan.parameters) for plan in study.learners]
    assert list(map(repr, made)) == ["Spring()", "Spring(balance=False)"]


def test_loop_and_batch_give_the_same_bits() -> None:
    network = hw.streams.SensorNetwork(1_500, seed=3)
    loop, batch = hw.Spring(label_rate=0.2), hw.Spring(label_rate=0.2)
    for event, label in network:
        decision = loop.decide_one(event)
        if decision.asked:
            loop.answer(decision, label)
    batch.simulate(*network.batch())
    assert loop.to_bytes() == batch.to_bytes()
    taught_one, taught_many = hw.Spring(), hw.Spring()
    for event, label in network:
        taught_one.learn_one(event, label)
    taught_many.learn_many(*network.batch())
    assert taught_one.to_bytes() == taught_many.to_bytes()


def test_learning_is_deciding_and_answering() -> None:
    deciding, learning = hw.Spring(), hw.Spring()
    for event, label in sensors(6, 250):
        deciding.answer(deciding.decide_one(event), bool(label))
        learning.learn_one(event, bool(label))
    assert deciding.weights() == learning.weights()
    assert state_of(deciding).dual == state_of(learning).dual


def test_the_learners_own_names_are_refused() -> None:
    model = hw.Spring()
    for name in OWN:
        for _ in range(2):
            before = model.to_bytes()
            with pytest.raises(EventError, match="is the learner's own; rename it"):
                model.decide_one({name: 1.0})
            with pytest.raises(EventError, match="is the learner's own; rename it"):
                model.simulate([[1.0]], [True], names=[name])
            assert model.to_bytes() == before
            model.learn_one({"a": 1.0}, True)


def test_values_beyond_all_measure_are_refused_and_nothing_has_changed() -> None:
    model = hw.Spring()
    for value in (1.0, 2.0):
        model.learn_one({"a": value}, True)
    before = model.to_bytes()
    for act in (model.decide_one, lambda x: model.learn_one(x, True)):
        with pytest.raises(StepError):
            act({"a": 1e200})
        assert model.to_bytes() == before
    raw = hw.Linear(update="dual_logistic", scale=None)
    raw.learn_one({"a": 1e49}, True)
    before = raw.to_bytes()
    with pytest.raises(StepError):
        raw.learn_one({"a": 1e51}, True)
    assert raw.to_bytes() == before


def broken(key: str, value: Any) -> bytes:
    """A model file of Spring with one thing changed in its store or its scaler."""
    model = hw.Spring()
    for t in range(20):
        model.learn_one(noise(t), t % 2 == 0)
    header, state = take_apart(model.to_bytes())
    dual, scaler = state["model"]["dual_logistic"], state["scaler"]
    place = {"dual": dual, "scaler": scaler, "store": dual["store"][3]}
    part, _, name = key.partition(".")
    place[part][name] = value
    return put_together(header, state)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("dual.counts", [1]),
        ("dual.counts", [2**63, 2**63]),
        ("dual.cursor", 20),
        ("store.ids", [0, 1, 2, 3, 4, 99]),
        ("store.values", [1.0]),
        ("store.values", [float("nan")] * 6),
        ("store.class", 2),
        ("store.alphas", [0.0, 0.0]),
        ("store.alphas", [float("inf")]),
        ("scaler.loadings", [0.0]),
        ("scaler.loadings", [float("nan")] * 3),
        ("scaler.summary", None),
    ],
)
def test_a_file_that_does_not_fit_is_refused(key: str, value: Any) -> None:
    with pytest.raises(ModelFileError):
        hw.from_bytes(broken(key, value))


def test_a_file_in_which_nothing_is_changed_is_taken() -> None:
    assert hw.from_bytes(broken("dual.cursor", 0)).learned == 20
