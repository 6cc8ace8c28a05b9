"""The plain reference says what the papers say: small numbers worked out by hand."""

import json
import random as any_random
import struct
import zlib
from dataclasses import replace
from math import exp, inf, isclose, log, sqrt
from typing import Any

import msgpack  # type: ignore[import-untyped]
import pytest

from reference import query, sparsify, update
from reference.learner import Event, decide, learn
from reference.random import (
    MASK,
    Generator,
    generators,
    jump,
    next_word,
    seeded,
    split_mix,
    uniform,
)
from reference.state import Component, Config, Label, State, read_file, read_state, start

approx: Any = pytest.approx
ALL: Component = ("All", {})
PA: Component = ("PA", {"positive_margin": 1.0})
X = {"a": 3.0, "b": 4.0}  # ‖x‖² = 25


def learned(config: Config, *rounds: tuple[Event, Label]) -> State:
    state = start(config, seed=0)
    for event, label in rounds:
        state = learn(config, state, event, label).state
    return state


def binary(kind: str, **parameters: Any) -> Config:
    return Config(update=(kind, parameters), query=ALL)


# Random numbers


def test_split_mix_gives_the_published_words() -> None:
    words, counter = [], 1477776061723855037
    for _ in range(5):
        word, counter = split_mix(counter)
        words.append(word)
    assert words == [
        1985237415132408290,
        2979275885539914483,
        13511426838097143398,
        8488337342461049707,
        15141737807933549159,
    ]


def test_xoshiro_gives_the_published_words() -> None:
    words, generator = [], (1, 2, 3, 4)
    for _ in range(10):
        word, generator = next_word(generator)
        words.append(word)
    assert words == [
        41943041,
        58720359,
        3588806011781223,
        3591011842654386,
        9228616714210784205,
        9973669472204895162,
        14011001112246962877,
        12406186145184390807,
        15849039046786891736,
        10450023813501588000,
    ]


def test_a_seed_becomes_the_first_four_words_of_split_mix() -> None:
    assert seeded(1477776061723855037) == (
        1985237415132408290,
        2979275885539914483,
        13511426838097143398,
        8488337342461049707,
    )


def test_a_jump_is_two_to_the_128_steps() -> None:
    def pack(generator: Generator) -> int:
        return sum(word << 64 * place for place, word in enumerate(generator))

    def unpack(bits: int) -> Generator:
        a, b, c, d = (bits >> 64 * place & MASK for place in range(4))
        return a, b, c, d

    def apply(columns: list[int], bits: int) -> int:
        image = 0
        while bits:
            lowest = bits & -bits
            image ^= columns[lowest.bit_length() - 1]
            bits ^= lowest
        return image

    # A step is linear over the bits of the state: column i is the image of bit i.
    columns = [pack(next_word(unpack(1 << bit))[1]) for bit in range(256)]
    for _ in range(128):
        columns = [apply(columns, column) for column in columns]
    generator = seeded(7)
    assert jump(generator) == unpack(apply(columns, pack(generator)))


def test_a_uniform_number_is_the_top_53_bits() -> None:
    assert uniform((1, 2, 3, 4))[0] == (41943041 >> 11) * 2**-53
    generator, numbers = seeded(0), []
    for _ in range(2000):
        number, generator = uniform(generator)
        numbers.append(number)
    assert all(0 <= number < 1 for number in numbers)
    assert sum(numbers) / 2000 == approx(0.5, abs=0.02)


def test_the_draws_are_the_coins_after_a_jump() -> None:
    coins, draws = generators(5)
    assert (coins, draws) == (seeded(5), jump(seeded(5)))
    assert start(Config(PA, ("Quota", {"rate": 0.1, "total": None})), 5).draws == uniform(draws)[1]


# Update rules


@pytest.mark.parametrize(
    ("config", "weights"),
    [
        (binary("Perceptron"), [3, 4]),
        (binary("MarginPerceptron", positive_margin=1.0), [3, 4]),
        (binary("PA", positive_margin=1.0), [0.12, 0.16]),
        (binary("PA", positive_margin=5.0), [0.6, 0.8]),
        (binary("PA1", C=0.01, positive_margin=1.0), [0.03, 0.04]),
        (binary("PA1", C=inf, positive_margin=1.0), [0.12, 0.16]),
        (binary("PA2", C=0.02, positive_margin=1.0), [0.06, 0.08]),  # 1/(25 + 25)
        (binary("PA2", C=inf, positive_margin=1.0), [0.12, 0.16]),
        (binary("CPA", C=inf, positive_margin=9.0), [0.36, 0.48]),  # √9/25
        (binary("CPA", C=0.1, positive_margin=9.0), [0.3, 0.4]),
        (binary("CPA", C=None, positive_margin=0.01), [0.012, 0.016]),  # √0.01/25 = 0.004 < C
        (binary("AROW", C=1.0, positive_margin=1.0, forgetting=None), [3 / 26, 4 / 26]),
        (binary("AROW", C=inf, positive_margin=1.0, forgetting=None), [0.12, 0.16]),
        (binary("Gradient", step=0.2, decay=0.01), [0.6, 0.8]),
        (replace(binary("Perceptron"), legacy=True), [3, 4]),
        (replace(binary("PA"), legacy=True), [0.6, 0.8]),  # 1/5
        (replace(binary("PA1", C=0.1), legacy=True), [0.3, 0.4]),
        (replace(binary("PA2", C=0.5), legacy=True), [3, 4]),  # 1 − 0/(5 + 1)
    ],
)
def test_the_first_step_from_zero(config: Config, weights: list[float]) -> None:
    assert learned(config, (X, True)).weights == [approx(weights)]


@pytest.mark.parametrize(
    ("rule", "step"),
    [
        (update.perceptron(True), 1),
        (update.perceptron(False), 0),
        (update.margin_perceptron(3.0, required=3.0), 1),
        (update.margin_perceptron(3.5, required=3.0), 0),
        (update.pa(0.5, squared_norm=2.0), 0.25),
        (update.pa1(0.5, squared_norm=2.0, C=0.2), 0.2),
        (update.pa2(0.5, squared_norm=2.0, C=0.25), 0.125),  # 0.5/(2 + 2)
        (update.cpa(-1.0, squared_norm=2.0, C=9.0, cost=4.0), 1.5),  # (2 + 1)/2
        (update.cpa(0.0, squared_norm=2.0, C=0.5, cost=4.0), 0.5),
        (update.cpa(0.1, squared_norm=2.0, C=9.0, cost=4.0), 0),
        (update.gradient(1.0, step=0.2), 0.2),
        (update.gradient(1.1, step=0.2), 0),
        (update.legacy_pa(0.5, norm=2.0), 0.25),
        (update.legacy_pa(1.5, norm=2.0), 0),
        (update.legacy_pa1(-3.0, norm=2.0, C=1.0), 1),
        (update.legacy_pa2(0.5, norm=2.0, C=0.25), 0.875),  # 1 − 0.5/(2 + 2)
        (update.legacy_pa2(1.0, norm=0.25, C=2.0), -1),  # negative, as published
        (update.balanced_margin(0.5, positives=1, negatives=5), 3),
        (update.balanced_margin(0.8, positives=1, negatives=5), 12),
    ],
)
def test_steps_worked_out_by_hand(rule: float, step: float) -> None:
    assert rule == approx(step)


@pytest.mark.parametrize(
    "config",
    [
        binary("PA", positive_margin=1.0),
        binary("PA1", C=inf, positive_margin=1.0),
        binary("PA2", C=inf, positive_margin=1.0),
        binary("AROW", C=inf, positive_margin=1.0, forgetting=None),
    ],
)
def test_a_hard_step_leaves_a_margin_of_one(config: Config) -> None:
    values = any_random.Random(1)
    state = start(config, seed=0)
    for _ in range(50):
        event = {name: values.gauss(0, 1) for name in values.sample("abcdefg", 4)}
        label = values.random() < 0.5
        signed_margin = decide(config, state, event).margin * (1 if label else -1)
        state = learn(config, state, event, label).state
        after = decide(config, state, event).margin * (1 if label else -1)
        assert after == approx(max(1.0, signed_margin))


def test_arow_steps_shrink_with_what_was_learned() -> None:
    config = binary("AROW", C=1.0, positive_margin=1.0, forgetting=None)
    state = learned(config, (X, True))
    assert state.variances == [approx([17 / 26, 10 / 26])]
    state = learn(config, state, {"a": 1.0}, False).state
    # loss = 29/26, v = 17/26, β = 26/43
    assert state.weights == [approx([-14 / 43, 4 / 26])]
    assert state.variances == [approx([17 / 43, 10 / 26])]


def test_forgetting_brings_the_variances_of_an_event_back_towards_one() -> None:
    config = binary("AROW", C=1.0, positive_margin=1.0, forgetting=0.5)
    state = learned(config, (X, True))
    # 26/17 becomes 43/34, and 26/10 becomes 36/20
    assert state.weights == [approx([3 / 26, 4 / 26])]
    assert state.variances == [approx([34 / 43, 20 / 36])]
    met = learn(config, state, {"b": 100.0}, True).state  # a margin of 15 needs no step
    assert met.weights == state.weights
    assert met.variances == [approx([34 / 43, 1 / 1.4])]


def test_class_odds_move_by_their_formulas() -> None:
    config = replace(binary("PA", positive_margin=1.0), class_weight=("Balanced", {}))
    state = learned(config, (X, True))  # the product is 0: the slope stays
    assert state.class_odds == approx((3.0, 0.998, 1.495, 1.495))
    state = learn(config, state, {"a": 3.0, "b": 4.0}, False).state  # the product is 1
    wrong = 1 / (1 + exp(-3))
    curve = 0.998 * 0.998 + wrong * (1 - wrong)
    slope = 3 - wrong / (curve + 1)
    assert state.class_odds == approx(
        (slope, curve, 0.995 * 1.495 + 1 - wrong, 0.995 * 1.495 + wrong)
    )
    assert state.class_odds is not None
    shifts = {
        ("Balanced", ()): log(state.class_odds.negatives / state.class_odds.positives),
        ("Costs", (("negative", 2.0), ("positive", 3.0))): log(1.5),
        ("Threshold", (("threshold", 0.25),)): log(3),
    }
    product = sum(weight * value for weight, value in zip(state.weights[0], (3, 1), strict=True))
    for (kind, parameters), shift in shifts.items():
        weighed = replace(config, class_weight=(kind, dict(parameters)))
        found = decide(weighed, state, {"a": 3.0, "b": 1.0})
        assert found.margin == approx(slope * product + shift)
        assert found.prediction == (found.margin > 0)


def test_a_label_that_is_met_moves_nothing() -> None:
    for config in (
        binary("PA", positive_margin=1.0),
        binary("AROW", C=inf, positive_margin=1.0, forgetting=None),
        binary("CPA", C=inf, positive_margin=9.0),
        binary("Perceptron"),
    ):
        once = learned(config, (X, True))
        twice = learned(config, (X, True), ({"a": 6.0, "b": 8.0}, True))
        assert (twice.weights, twice.variances) == (once.weights, once.variances)


@pytest.mark.parametrize("form", ["variance", "stdev"])
@pytest.mark.parametrize("value", [1e-6, 1e-3, 0.7, 5.0, 1e3])
def test_cw_with_one_feature_ends_at_the_margin_it_asks_for(form: str, value: float) -> None:
    phi = 1.2815515655446004  # Φ⁻¹(0.9)
    config = binary("CW", confidence=0.9, form=form)
    state = start(config, seed=0)
    for label, factor in [(True, 1.0), (False, 0.5), (True, 3.0), (True, 1.0)]:
        x = value * factor
        variance = (state.variances[0][0] if state.names else 1.0) * x * x
        signed_margin = decide(config, state, {"a": x}).margin * (1 if label else -1)
        asked_for = phi * (variance if form == "variance" else sqrt(variance))
        before, state = state, learn(config, state, {"a": x}, label).state
        if signed_margin >= asked_for * (1 - 1e-12):
            assert state.weights == [approx(before.weights[0])]
            continue
        variance = state.variances[0][0] * x * x
        asked_for = phi * (variance if form == "variance" else sqrt(variance))
        after = decide(config, state, {"a": x}).margin * (1 if label else -1)
        assert after == approx(asked_for, rel=1e-9, abs=0)


def test_cw_first_step_from_zero() -> None:
    # x = 1, m = 0, v = 1, with φ = 1.28155: 4φγ = −1 + √(1 + 8φ²)
    phi = 1.2815515655446004
    step = (-1 + sqrt(1 + 8 * phi * phi)) / (4 * phi)
    state = learned(binary("CW", confidence=0.9, form="variance"), ({"a": 1.0}, False))
    assert state.weights == [approx([-step])]
    assert state.variances == [approx([1 / (1 + 2 * step * phi)])]


def test_gradient_shrinks_every_round_and_steps_below_a_margin_of_one() -> None:
    config = binary("Gradient", step=0.2, decay=0.01)
    state = learned(config, (X, True), (X, True), ({"c": 1.0}, True))
    # q = 5 in round 2: only shrinkage; the third round adds 0.2·c after shrinking again
    assert state.weights == [approx([0.6 * 0.998**2, 0.8 * 0.998**2, 0.2])]


def test_a_balanced_margin_counts_the_label_being_learned() -> None:
    config = binary("PA1", C=None, positive_margin="balanced")
    # after (−, −): ϱ = 3/1; after the + it is 3/2, so loss = 3/2 and C = 3/2
    state = learned(config, ({"n": 1.0}, False), ({"n": 2.0}, False), ({"p": 1.0}, True))
    assert state.weights == [approx([-1, 1.5])]
    assert (state.positives, state.negatives) == (1, 2)
    sensitive = ("Balanced", {"sensitivity_weight": 0.75})
    state = learned(binary("PA", positive_margin=sensitive), ({"p": 1.0}, True))
    assert state.weights == [approx([1.5])]  # 3·(0 + 1)/(1 + 1)


def test_the_negative_class_is_asked_for_a_margin_of_one() -> None:
    state = learned(binary("PA", positive_margin=5.0), ({"a": 1.0}, False))
    assert state.weights == [approx([-1])]


def test_an_empty_or_all_zero_event_moves_nothing_and_its_names_count() -> None:
    config = Config(PA, ("SelAda", {"width": 1.0, "by_norm": False}))
    state = learned(config, ({}, True), ({"a": 0.0, "b": None, "c": float("nan")}, True))
    assert (state.names, state.weights, state.learned, state.mistakes) == (["a"], [[0.0]], 2, 2)
    random_share: Component = ("RandomShare", {"share": 0.5})
    config = Config(("Gradient", {"step": 0.2, "decay": 0.5}), ALL, random_share)
    before = learned(config, ({"a": 1.0}, True))
    after = learn(config, before, {"a": 0.0}, True).state
    assert after.weights == [[approx(0.9 * before.weights[0][0])]]
    assert after.draws == before.draws


# Growing features


def test_new_names_get_slots_in_sorted_order_integers_first() -> None:
    event = {"b": 1.0, "ä": 1.0, "B": 1.0, 10: 1.0, "10": 1.0, -3: 1.0, 9: 1.0}
    state = learned(binary("Perceptron"), ({"z": 1.0}, True), (event, True))
    assert state.names == ["z", -3, 9, 10, "10", "B", "b", "ä"]


def test_the_register_counts_rounds_learned() -> None:
    state = learned(PA_OPEN, ({"a": 1.0}, True), ({"b": 0.0}, True), ({"a": None, "b": 1.0}, True))
    assert state.names == ["a", "b"]
    assert (state.first, state.last, state.times) == ([1, 2], [1, 3], [1, 2])


PA_OPEN = Config(PA, ALL)


def test_an_intercept_is_a_feature_of_value_one() -> None:
    state = learned(replace(PA_OPEN, intercept=True), ({"a": 2.0, 5: 0.0}, True))
    assert state.names == ["(intercept)", 5, "a"]
    assert state.weights == [approx([0.2, 0, 0.4])]


def test_restart_forgets_the_weights_when_a_new_name_is_learned() -> None:
    config = replace(PA_OPEN, growth="restart")
    state = learned(config, (X, True), ({"a": 1.0}, False))
    assert state.weights == [approx([-1, 0.16])]
    state = learn(config, state, {"a": 1.0, "c": 1.0}, True).state
    assert state.weights == [approx([0.5, 0, 0.5])]


def test_closed_uses_the_names_of_the_first_learned_round_only() -> None:
    config = replace(PA_OPEN, growth="closed")
    state = learned(config, ({"a": 1.0}, True), ({"a": 2.0, "b": 7.0}, False))
    assert state.names == ["a"]
    assert state.weights == [approx([-0.5])]


# Several classes


def test_the_label_moves_up_and_its_best_rival_down() -> None:
    config = Config(PA, ALL, multiclass=True, classes=("u", "v", "w"))
    state = learned(config, (X, "v"))  # all scores 0: the rival is the first class
    assert state.weights == [approx([-0.06, -0.08]), approx([0.06, 0.08]), [0, 0]]
    state = learn(config, state, {"a": 1.0}, "u").state
    # scores −.06, .06, 0: rival v, loss 1.12, τ = .56
    assert state.weights == [approx([0.5, -0.08]), approx([-0.5, 0.08]), [0, 0]]
    decided = decide(config, state, {"a": 2.0})
    assert (decided.prediction, decided.margin) == ("u", approx(1.0))


@pytest.mark.parametrize(
    ("rule", "step"),
    [
        (("PA1", {"C": 0.01, "positive_margin": 1.0}), 0.01),
        (("PA2", {"C": 0.02, "positive_margin": 1.0}), 1 / 75),
        (("MarginPerceptron", {"positive_margin": 1.0}), 1.0),
        (("Perceptron", {}), 1.0),
        (("AROW", {"C": 0.02, "positive_margin": 1.0, "forgetting": None}), 0.01),  # 1/(2·25 + 50)
    ],
)
def test_the_first_step_between_two_classes(rule: Component, step: float) -> None:
    config = Config(rule, ALL, multiclass=True, classes=("u", "v"))
    state = learned(config, (X, "v"))
    assert state.weights == [approx([-3 * step, -4 * step]), approx([3 * step, 4 * step])]
    if rule[0] == "AROW":
        assert state.variances == [approx([0.91, 0.84])] * 2


def test_a_perceptron_of_several_classes_rests_when_the_prediction_is_right() -> None:
    config = Config(("Perceptron", {}), ALL, multiclass=True, classes=("u", "v"))
    assert learned(config, (X, "u")).weights == [[0, 0], [0, 0]]


def test_classes_are_met_as_they_come() -> None:
    config = Config(PA, ("SelAda", {"width": 1.0, "by_norm": False}), multiclass=True)
    state = start(config, seed=0)
    assert decide(config, state, X)[:2] == (None, 0)
    state = learn(config, state, X, "u").state
    assert (state.classes, state.weights, state.mistakes) == (["u"], [[0, 0]], 1)
    assert decide(config, state, X)[:2] == ("u", 0)
    state = learn(config, state, X, "u").state
    assert (state.weights, state.mistakes) == ([[0, 0]], 1)
    state = learn(config, state, X, "v").state
    assert state.classes == ["u", "v"]
    assert state.weights == [approx([-0.06, -0.08]), approx([0.06, 0.08])]
    assert state.mistakes == 2


@pytest.mark.parametrize("kind", ["PA", "PA1", "PA2"])
@pytest.mark.parametrize("share", [1.0, 0.5])
def test_two_classes_are_the_binary_algorithm(kind: str, share: float) -> None:
    def config(multiclass: bool) -> Config:
        half = 0.5 if multiclass else 1.0
        limit = {} if kind == "PA" else {"C": 0.3 * half}
        return Config(
            (kind, limit | {"positive_margin": 1.0}),
            ("Margin", {"width": 0.3}),
            ("KeepLargest", {"share": share, "l1_radius": 2.0 * half}),
            multiclass=multiclass,
            classes=(False, True) if multiclass else (),
        )

    values = any_random.Random(2)
    one, two = start(config(False), 3), start(config(True), 3)
    for t in range(200):
        event = {name: values.gauss(0, 1) for name in values.sample(range(2 + t // 20), 2)}
        label = sum(event.values()) > 0
        single, double = decide(config(False), one, event), decide(config(True), two, event)
        assert (single.asked, single.prediction) == (double.asked, double.prediction)
        assert double.margin == approx(abs(single.margin), abs=1e-12)
        one, two = single.state, double.state
        if single.asked:
            one = learn(config(False), one, event, label).state
            two = learn(config(True), two, event, label).state
        difference = [up - down for down, up in zip(*two.weights, strict=True)]
        assert difference == approx(one.weights[0], abs=1e-12)
    assert 0 < one.asked < 200


# Query rules


@pytest.mark.parametrize(
    ("verdict", "probability", "asked"),
    [
        (query.ask_all(), 1, True),
        (query.random(0.3, coin=0.3), 0.3, False),
        (query.random(0.3, coin=0.29), 0.3, True),
        (query.margin(0.5, magnitude=1.5, coin=0.24), 0.25, True),
        (query.margin(0.5, magnitude=1.5, coin=0.26), 0.25, False),
        (query.margin(0.5, magnitude=0.0, coin=0.99), 1, True),
        (query.margin(inf, magnitude=9.0, coin=0.99), 1, True),
        (query.margin_plus_one(0.5, magnitude=0.5, coin=0.24), 0.25, True),
        (query.margin_plus_one(0.5, magnitude=0.0, coin=0.34), 1 / 3, False),
        (query.sel_ada(0.5, mistakes=3, magnitude=3.0, coin=0.24), 0.25, True),
        (query.sel_ada_by_norm(0.5, 3, largest_norm=3.0, magnitude=1.0, coin=0.74), 0.75, True),
        (query.sel_ada_by_norm(0.5, 0, largest_norm=0.0, magnitude=0.0, coin=0.0), 0, False),
        (query.sel_ada_by_norm(inf, 0, largest_norm=0.0, magnitude=0.0, coin=0.9), 1, True),
        (query.decaying(8.0, decisions=3, magnitude=2.0, coin=0.51), 0.5, False),
        (query.quota_of(0.5, total=5, decisions=1, asked=0, coin=0.59), 0.6, True),  # n = 3
        (query.quota_of(0.5, total=5, decisions=5, asked=3, coin=0.0), 0, False),
        (query.quota_of(0.5, total=5, decisions=5, asked=2, coin=0.99), 1, True),
        (query.quota_of(0.5, total=5, decisions=6, asked=0, coin=0.0), 0, False),
        (query.quota(0.25, before=0.5, after=0.75, phase=0.25), 0.25, True),
        (query.quota(0.25, before=0.75, after=1.0, phase=0.25), 0.25, False),
        (query.quota(0.5, before=0.75, after=1.25, phase=0.25), 0.5, False),
        (query.quota(1.0, before=0.5, after=1.5, phase=0.0), 1.0, True),
        (query.budget(0.2, 1, mean_margin=5.0, tilt=0.0, magnitude=5.0, coin=0.99), 1, True),
        (query.budget(0.2, 2, mean_margin=2.0, tilt=0.0, magnitude=6.0, coin=0.08), 1 / 13, False),
        (query.budget(0.2, 2, mean_margin=0.0, tilt=0.0, magnitude=0.0, coin=0.19), 0.2, True),
        (query.budget(0.5, 2, 1.0, tilt=0.0, magnitude=0.0, coin=0.98), 1 / 1.01, True),
        (query.budget(0.5, 2, 1.0, tilt=1.0, magnitude=1.0, coin=0.7), exp(1) / (exp(1) + 1), True),
        (query.budget(1.0, 2, 1.0, tilt=0.0, magnitude=9.0, coin=0.99), 1, True),
        (query.budget(0.0, 1, 1.0, tilt=0.0, magnitude=0.0, coin=0.0), 0, False),
    ],
)
def test_verdicts_worked_out_by_hand(
    verdict: tuple[float, bool], probability: float, asked: bool
) -> None:
    assert verdict == (approx(probability), asked)


def test_the_mean_margin_and_the_tilt_of_a_budget() -> None:
    assert query.next_mean_margin(0.0, decisions=1, magnitude=3.0) == 3.0
    assert query.next_mean_margin(3.0, decisions=4, magnitude=1.0) == 2.5
    assert query.next_mean_margin(1.0, decisions=1000, magnitude=2.0) == approx(1.02)
    assert query.next_tilt(0.0, 0.2, asked=True) == approx(-0.4)
    assert query.next_tilt(7.95, 0.2, asked=False) == 8
    assert query.next_tilt(-7.9, 0.2, asked=True) == -8


def test_every_decision_takes_one_coin_and_moves_nothing_but_its_rule() -> None:
    config = Config(PA, ("SelAda", {"width": 1.0, "by_norm": True}), intercept=True)
    state = start(config, seed=4)
    after = decide(config, state, X).state
    assert after == replace(
        state, seen=1, asked=1, largest_norm=26.0, coins=uniform(state.coins)[1]
    )


def test_a_coin_near_its_boundary_is_called_uncertain() -> None:
    coin, _ = uniform(start(PA_OPEN, seed=4).coins)
    for rate, uncertain in [(coin, True), (coin * (1 + 1e-10), True), (coin * 1.001, False)]:
        config = Config(PA, ("Random", {"rate": rate}))
        assert decide(config, start(config, seed=4), X).uncertain is uncertain


def asked_along(config: Config, events: int, scale: float = 1.0) -> list[bool]:
    values = any_random.Random(6)
    state, answers = start(config, seed=8), []
    for _ in range(events):
        event = {name: scale * values.gauss(0, 1) for name in "abcd"}
        decided = decide(config, state, event)
        state = decided.state
        answers.append(decided.asked)
        if decided.asked:
            label = event["a"] - event["b"] + scale * values.gauss(0, 0.3) > 0
            state = learn(config, state, event, label).state
    assert state.seen == events
    assert state.asked == state.learned == sum(answers)
    return answers


@pytest.mark.parametrize("rate", [0.05, 0.2, 0.5])
def test_a_budget_is_kept_whatever_the_scale_of_the_data(rate: float) -> None:
    config = Config(("PA", {"positive_margin": 1.0}), ("Budget", {"rate": rate}))
    answers = asked_along(config, events=2000)
    assert sum(answers) / 2000 == approx(rate, abs=0.006)
    assert sum(asked_along(config, events=2000, scale=1024.0)) == approx(2000 * rate, abs=12)


def test_an_empty_first_event_does_not_end_a_budget() -> None:
    config = Config(PA, ("Budget", {"rate": 0.2}))
    state = start(config, seed=0)
    asked = []
    for _ in range(1000):
        decided = decide(config, state, {})
        state = decided.state
        asked.append(decided.asked)
    assert asked[0]
    assert sum(asked) / 1000 == approx(0.2, abs=0.01)


def test_a_quota_asks_for_exactly_its_share() -> None:
    answers = asked_along(Config(PA, ("Quota", {"rate": 0.1, "total": 255})), events=300)
    assert sum(answers) == 26  # floor(25.5 + .5)
    assert not any(answers[255:])


def test_a_quota_without_end_is_within_one_of_its_share_at_every_moment() -> None:
    answers = asked_along(Config(PA, ("Quota", {"rate": 0.3, "total": None})), events=200)
    for t in range(1, 201):
        assert abs(sum(answers[:t]) - 0.3 * t) < 1


# Sparsifiers


def test_scaling_is_radial() -> None:
    assert sparsify.scale_l1([3.0, -1.0, 0.0], 2.0) == approx([1.5, -0.5, 0])
    assert sparsify.scale_l1([3.0, -1.0], 4.0) == [3, -1]
    assert sparsify.scale_l1([0.0, 0.0], 4.0) == [0, 0]
    assert sparsify.scale_l1([3.0, -1.0], inf) == [3, -1]
    assert sparsify.scale_l2([3.0, -4.0], 1.0) == approx([0.6, -0.8])
    assert sparsify.scale_l2([3.0, -4.0], 5.0) == [3, -4]


def test_truncation_keeps_the_largest_sizes_and_the_older_of_equals() -> None:
    assert sparsify.keep_largest([1.0, -3.0, 2.0, 0.5], 2) == [0, -3, 2, 0]
    assert sparsify.keep_largest([1.0, -2.0, 2.0, -1.0, 1.0], 3) == [1, -2, 2, 0, 0]
    assert sparsify.keep_largest([1.0, -2.0], 5) == [1, -2]
    assert sparsify.keep_largest([1.0, -2.0], 0) == [0, 0]


def test_the_number_of_weights_kept() -> None:
    assert [sparsify.kept_of(share, 100) for share in (0.29, 0.57, 1.0, 0.001)] == [29, 57, 100, 1]
    assert [sparsify.legacy_kept_of(0.5, d) for d in (1, 2, 3, 5)] == [1, 1, 2, 3]
    assert sparsify.legacy_kept_of(0.1, 4) == 0


def test_every_slot_is_as_likely_to_be_kept_at_random() -> None:
    times, draws = [0.0] * 5, seeded(3)
    for _ in range(4000):
        kept, draws = sparsify.keep_random([1.0] * 5, 2, draws)
        assert sum(kept) == 2
        times = [time + keep for time, keep in zip(times, kept, strict=True)]
    assert times == approx([1600] * 5, rel=0.08)


def test_scaling_comes_before_truncation_and_only_after_a_step() -> None:
    keep: Component = ("KeepLargest", {"share": 0.5, "l1_radius": 3.5})
    config = Config(("Perceptron", {}), ALL, keep)
    state = learned(config, (X, True))
    assert state.weights == [approx([0, 2])]
    wide = replace(config, sparsify=("KeepLargest", {"share": 0.5, "l1_radius": 1.0}))
    assert learn(wide, state, X, True).state.weights == state.weights


def test_a_truncated_feature_keeps_its_variance() -> None:
    keep: Component = ("KeepCount", {"count": 1, "l2_radius": inf})
    arow = binary("AROW", C=1.0, positive_margin=1.0, forgetting=None)
    state = learned(replace(arow, sparsify=keep), (X, True))
    assert state.weights == [approx([0, 4 / 26])]
    assert state.variances == [approx([17 / 26, 10 / 26])]


def test_each_moved_vector_is_cut_by_itself() -> None:
    draws = generators(0)[1]
    config = Config(
        ("Perceptron", {}),
        ALL,
        ("RandomShare", {"share": 0.5}),
        multiclass=True,
        classes=("u", "v", "w"),
    )
    state = learned(config, (X, "v"))
    of_truth, draws = sparsify.keep_random([3.0, 4.0], 1, draws)
    of_rival, draws = sparsify.keep_random([-3.0, -4.0], 1, draws)
    assert (state.weights, state.draws) == ([of_rival, of_truth, [0, 0]], draws)


# Late labels, and the model file


def test_a_late_label_meets_the_model_as_it_is() -> None:
    state = start(PA_OPEN, seed=0)
    late = decide(PA_OPEN, state, X)
    state = learn(PA_OPEN, late.state, {"a": 1.0}, True).state
    state = learn(PA_OPEN, state, X, False).state
    assert isclose(decide(PA_OPEN, state, X).margin, -1)


def model_file(state: dict[str, Any]) -> bytes:
    packed: bytes = msgpack.packb(state)
    header = json.dumps({"class": "Linear"}).encode()
    body = b"HEADWATR" + struct.pack("<II", 3, len(header)) + header
    body += struct.pack("<Q", len(packed)) + packed
    return body + struct.pack("<I", zlib.crc32(body))


SAVED: dict[str, Any] = {
    "names": ["a", 7],
    "first": [1, 2],
    "last": [3, 3],
    "times": [2, 1],
    "label_form": "bool",
    "classes": [],
    "positives": 2,
    "negatives": 1,
    "seen": 9,
    "asked": 3,
    "learned": 3,
    "query": {"sel_ada": {"mistakes": 2, "largest_norm": 0.0}},
    "coins": [1, 2, 3, 2**64 - 1],
    "draws": [5, 6, 7, 8],
    "scaler": None,
    "model": {
        "linear": {
            "weights": {
                "values": [[4.0, -6.0]],
                "scales": [0.5],
                "variances": [],
                "norms": [[10.0, 0.0]],
                "steps": [3],
            }
        }
    },
}


def test_a_state_is_read_from_a_model_file() -> None:
    state = read_state(model_file(SAVED))
    assert (state.names, state.weights) == (["a", 7], [[2, -3]])
    assert (state.mistakes, state.coins, state.draws) == (2, (1, 2, 3, 2**64 - 1), (5, 6, 7, 8))


def test_a_damaged_model_file_is_refused() -> None:
    file = model_file(SAVED)
    damaged = [file[:-1], file[:40] + b"!" + file[41:], b"X" + file[1:], file + b"\0"]
    for bytes_ in damaged:
        with pytest.raises(ValueError, match="checksum"):
            read_file(bytes_)
