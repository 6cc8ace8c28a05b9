"""Regression: equal to its plain reference, right by its paper, and its budget spent on errors."""

from collections.abc import Iterator
from math import inf, nan
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headwater as hw
from effort import reduced
from headwater.errors import LabelError, ModelFileError, ParameterError
from model_bytes import put_together, take_apart
from reference import query, regression, sparsify
from reference.learner import NEAR
from reference.state import read_file
from reference.streams import rounds, slots_with

UPDATES: list[Any] = ["pa", "pa1", "pa2"]


def saved_of(model: hw.Learner) -> dict[str, Any]:
    return read_file(model.to_bytes())[1]


def weights_of(saved: dict[str, Any]) -> list[float]:
    table = saved["model"]["linear"]["weights"]
    return [table["scales"][0] * stored for stored in table["values"][0]]


# The core and the reference


@settings(derandomize=True, deadline=None, max_examples=reduced(60))
@given(
    seed=st.integers(0, 2**32),
    update=st.sampled_from(UPDATES),
    C=st.sampled_from([0.05, 1.0, inf]),
    epsilon=st.sampled_from([0.0, 0.1, 2.0]),
    sparse=st.booleans(),
    intercept=st.booleans(),
)
def test_every_step_is_the_reference_s(
    seed: int, update: Any, C: float, epsilon: float, sparse: bool, intercept: bool
) -> None:
    model = hw.PARegressor(
        update=update,
        C=C,
        epsilon=epsilon,
        query=hw.query.Budget(0.4),
        sparsify=hw.sparsify.KeepLargest(share=0.5, l1_radius=2.0) if sparse else None,
        scale=None,
        intercept=intercept,
        seed=seed,
    )
    for number, (event, truth) in enumerate(rounds(seed, 40)):
        saved = saved_of(model)
        full = {**event, "(intercept)": 1.0} if intercept else dict(event)
        names = slots_with(saved["names"], full)
        weights = weights_of(saved)
        weights += [0.0] * (len(names) - len(weights))
        x = [full.get(name, 0.0) for name in names]
        terms = [weight * value for weight, value in zip(weights, x, strict=True)]
        blur = NEAR * sum(abs(term) for term in terms)
        decision = model.decide_one(event)
        assert decision.prediction == decision.margin == pytest.approx(sum(terms), NEAR, blur)
        check_question(saved, full, decision)
        if not decision.asked and number % 4:
            continue
        model.answer(decision, truth)
        check_errors(saved, saved_of(model), names, list(full), abs(truth - sum(terms)), blur)
        if abs(abs(truth - sum(terms)) - epsilon) <= blur:
            continue
        expected = regression.learned(weights, x, truth, update, C, epsilon)
        if sparse and expected != weights:
            scaled = sparsify.scale_l1(expected, 2.0)
            expected = sparsify.keep_largest(scaled, sparsify.kept_of(0.5, len(names)))
        largest = max((abs(weight) for weight in expected), default=0.0)
        for got, wanted in zip(weights_of(saved_of(model)), expected, strict=True):
            assert abs(got - wanted) <= NEAR * max(largest, 1e-300) + blur


def check_question(
    saved: dict[str, Any], event: dict[str | int, float], decision: hw.Decision
) -> None:
    """The budget looks at the error expected of the event."""
    errors, t = saved["model"]["linear"]["errors"], saved["seen"] + 1
    overall = errors["overall"]["value"]
    known = dict(zip(saved["names"], errors["features"], strict=True))
    expected = [known[name]["value"] if name in known else 2 * overall for name in event]
    sure = regression.confidence(overall, expected)
    memory = saved["query"]["budget"]
    mean = query.next_mean_margin(memory["mean_margin"], t, sure)
    wanted, _ = query.budget(0.4, t, mean, memory["tilt"], sure, 0.5)
    assert decision.query_probability == pytest.approx(wanted, rel=1e-8)


def check_errors(
    before: dict[str, Any],
    after: dict[str, Any],
    names: list[str | int],
    event: list[str | int],
    error: float,
    blur: float,
) -> None:
    """Every learned error moves the overall mean and those of the event's features."""
    old, new = before["model"]["linear"]["errors"], after["model"]["linear"]["errors"]
    assert after["names"] == names
    means = [*old["features"], *[{"value": 0.0, "count": 0}] * (len(names) - len(before["names"]))]
    wanted = [
        regression.moved((mean["value"], mean["count"]), error)
        if name in event
        else (mean["value"], mean["count"])
        for name, mean in zip(names, means, strict=True)
    ]
    wanted.append(regression.moved((old["overall"]["value"], old["overall"]["count"]), error))
    got = [(mean["value"], mean["count"]) for mean in [*new["features"], new["overall"]]]
    for one, other in zip(got, wanted, strict=True):
        assert one[1] == other[1]
        assert one[0] == pytest.approx(other[0], rel=NEAR, abs=blur)


# What the paper proves


@settings(derandomize=True, deadline=None, max_examples=reduced(40))
@given(seed=st.integers(0, 2**32), epsilon=st.sampled_from([0.0, 0.1, 1.0]))
def test_a_step_ends_on_the_tube(seed: int, epsilon: float) -> None:
    models = [
        hw.PARegressor(update=update, C=inf, epsilon=epsilon, scale=None, seed=seed)
        for update in UPDATES
    ]
    for event, truth in rounds(seed, 30):
        for model in models:
            before = abs(truth - float(model.margin_one(event)))
            model.learn_one(event, truth)
            after = abs(truth - float(model.margin_one(event)))
            assert after == pytest.approx(min(before, epsilon), rel=1e-9, abs=1e-9)


@settings(derandomize=True, deadline=None, max_examples=reduced(40))
@given(seed=st.integers(0, 2**32))
def test_losses_are_bounded_if_some_weights_keep_to_the_tube(seed: int) -> None:
    """Σ loss² ≤ R²‖u‖² for PA and |y − u·x| ≤ ε: Crammer et al., section 5."""
    random, epsilon = Random(seed), 0.2
    model = hw.PARegressor(update="pa", epsilon=epsilon, scale=None, intercept=False)
    u: dict[str | int, float] = {}
    total, radius = 0.0, 0.0
    for event, _ in rounds(seed, 60):
        for name in event:
            u.setdefault(name, random.gauss(0, 1))
        truth = sum(u[name] * value for name, value in event.items())
        truth += random.uniform(-epsilon, epsilon)
        total += max(0.0, abs(truth - model.margin_one(event)) - epsilon) ** 2
        radius = max(radius, sum(value * value for value in event.values()))
        model.learn_one(event, truth)
    assert total <= radius * sum(weight * weight for weight in u.values())


# Where the budget goes


def stations(seed: int, drift: float, noise: float) -> Iterator[tuple[int, Any, float, float]]:
    """Ten stations of three sensors, one an event; of two the sensors drift or are noisy."""
    generator = np.random.default_rng(seed)
    weights = generator.normal(size=(10, 3))
    for _ in range(6_000):
        station = int(generator.integers(10))
        if station < 2:
            weights[station] += drift * generator.normal(size=3)
        values = generator.normal(size=3)
        truth = float(weights[station] @ values)
        blur = (noise if station < 2 else 0.1) * float(generator.normal())
        event = {f"{station}.{sensor}": value for sensor, value in enumerate(values.tolist())}
        yield station, event, truth, truth + blur


def shares_and_error(update: Any, rule: Any, **stream: Any) -> tuple[float, float, float]:
    """Share asked of the two stations and of the others, and the mean |prediction − truth|."""
    asked: dict[bool, list[bool]] = {True: [], False: []}
    errors = []
    for seed in range(4):
        model = hw.PARegressor(update=update, C=0.1, query=rule, scale=None, seed=seed)
        for station, event, truth, label in stations(seed, **stream):
            decision = model.decide_one(event)
            errors.append(abs(decision.margin - truth))
            asked[station < 2].append(decision.asked)
            if decision.asked:
                model.answer(decision, label)
    return float(np.mean(asked[True])), float(np.mean(asked[False])), float(np.mean(errors))


@pytest.mark.parametrize("update", UPDATES)
def test_the_budget_goes_where_sensors_drift_and_beats_chance_at_equal_labels(update: Any) -> None:
    moving, still, error = shares_and_error(update, hw.query.Budget(0.1), drift=0.15, noise=0.1)
    assert moving > 1.4 * still
    assert 0.2 * moving + 0.8 * still == pytest.approx(0.1, abs=0.003)
    *_, at_random = shares_and_error(update, hw.query.Quota(0.1), drift=0.15, noise=0.1)
    assert error < 0.97 * at_random


def test_the_budget_goes_where_labels_are_noisy_too_which_does_not_pay_with_pa() -> None:
    noisy, clean, error = shares_and_error("pa", hw.query.Budget(0.1), drift=0.0, noise=1.0)
    assert noisy > 1.4 * clean
    *_, at_random = shares_and_error("pa", hw.query.Quota(0.1), drift=0.0, noise=1.0)
    assert error > at_random, "better than the page says: change it"


# Labels and parameters


def test_labels_are_numbers_however_they_are_written() -> None:
    models = [hw.PARegressor() for _ in range(5)]
    for value in (3, -2, 0):
        spelt: tuple[Any, ...] = (
            value,
            float(value),
            np.float32(value),
            np.int64(value),
            np.float64(value),
        )
        for model, label in zip(models, spelt, strict=True):
            model.learn_one({"a": 1.0}, label)
    assert len({model.to_bytes() for model in models}) == 1


@pytest.mark.parametrize("label", [None, nan, inf, -inf, "3", "x", [1.0], 1j], ids=repr)
def test_what_is_no_finite_number_is_refused(label: Any) -> None:
    model = hw.PARegressor()
    model.learn_one({"a": 1.0}, 2.5)
    decision, before = model.decide_one({"a": 1.0}), model.to_bytes()
    with pytest.raises(LabelError, match="expected a finite number, got"):
        model.learn_one({"a": 1.0}, label)
    with pytest.raises(LabelError, match="expected a finite number, got"):
        model.answer(decision, label)
    assert model.to_bytes() == before
    assert not decision.answered


def test_margin_rules_and_other_updates_are_refused() -> None:
    for rule in ("margin", "margin_plus_one", "sel_ada", "decaying"):
        with pytest.raises(ParameterError, match="a number has no margin"):
            hw.PARegressor(query=rule)
    with pytest.raises(ParameterError, match="update must be"):
        hw.PARegressor(update="arow")  # type: ignore[arg-type]


def test_values_are_scaled_as_they_come() -> None:
    model = hw.PARegressor(C=0.1, epsilon=0.0)
    random = Random(1)
    errors = []
    for _ in range(3_000):
        large, small = random.gauss(0, 1), random.gauss(0, 1)
        event: dict[str | int, float] = {"large": 1e6 * large, "small": 1e-6 * small}
        truth = large - small + 1
        errors.append(abs(model.margin_one(event) - truth))
        model.learn_one(event, truth)
    assert sum(errors[-500:]) / 500 < 0.6  # always saying 1 would be 1.13 off


def mean_error(scale: str | None, *, reversed_at: int, unit_at: int) -> float:
    """The mean error over the last tenth of a stream whose rule or unit changes."""
    model, random, errors = hw.PARegressor(scale=scale), Random(2), []
    for t in range(4_000):
        a, b = random.gauss(0, 1), random.gauss(0, 1)
        truth = (1 if t < reversed_at else -1) * (2 * a - b)
        unit, zero = (1.0, 0.0) if t < unit_at else (1.8, 32.0)
        event: dict[str | int, float] = {"a": unit * a + zero, "b": 1e-3 * b}
        errors.append(abs(model.margin_one(event) - truth))
        model.learn_one(event, truth)
    return sum(errors[-400:]) / 400


def test_a_rule_that_is_reversed_and_a_unit_that_changes_are_followed() -> None:
    still = mean_error("running", reversed_at=4_000, unit_at=4_000)
    assert mean_error("running", reversed_at=2_000, unit_at=4_000) < 1.2 * still
    assert mean_error("running", reversed_at=4_000, unit_at=2_000) < 1.2 * still
    assert mean_error(None, reversed_at=4_000, unit_at=2_000) > 2 * still


def test_a_state_that_does_not_fit_is_refused() -> None:
    model = hw.PARegressor(intercept=False)
    model.learn_one({"a": 1.0}, 2.0)
    mean = {"value": 1.0, "count": 1}
    for errors in (
        None,
        {"overall": mean, "features": []},
        {"overall": mean, "features": [{"value": -1.0, "count": 1}]},
        {"overall": {"value": nan, "count": 1}, "features": [mean]},
    ):
        header, state = take_apart(model.to_bytes())
        state["model"]["linear"]["errors"] = errors
        with pytest.raises(ModelFileError):
            hw.from_bytes(put_together(header, state))
