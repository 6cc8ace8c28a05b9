"""What was tried on Spring: the NumPy program is the core's Spring, and its studies can be read."""

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headwater as hw
from headwater.catalogue import algorithm
from headwater.studies.plan import read_study
from headwater.types import Rows
from reference.random import generators, uniform

STUDIES = Path(__file__).parent.parent / "studies"
EVENTS, HELD = 500, 60


@pytest.fixture
def variants(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(STUDIES))
    return importlib.import_module("spring_variants")


def coins(seed: int) -> Callable[[], float]:
    """The numbers that the core draws."""
    state = generators(seed)[0]

    def draw() -> float:
        nonlocal state
        number, state = uniform(state)
        return number

    return draw


def table(seed: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Eight sensors that follow two causes, with a constant one and one of whole numbers."""
    generator = np.random.default_rng(seed)
    causes = generator.normal(size=(EVENTS + HELD, 2))
    values = 5 + causes @ generator.normal(size=(2, 8)) + generator.normal(size=(len(causes), 8))
    values[:, 3] = 7.0
    values[:, 4] = np.round(values[:, 4])
    return values, np.where(causes[:, 0] + 0.3 * generator.normal(size=len(causes)) > 0, 1, -1)


def rows(values: np.ndarray[Any, Any]) -> Rows:
    """A dense table as a stream shows it."""
    return hw.streams.Trapezoid(values, np.ones(len(values)), chunks=1, shuffle=False).batch()[0]


STREAMS: dict[str, Callable[..., Any]] = {
    "trapezoid": lambda X, y: hw.streams.Trapezoid(X, y, chunks=4, shuffle=False),
    "varying": lambda X, y: hw.streams.Varying(X, y, removed=0.5, shuffle=False),
    "replaced": lambda X, y: hw.streams.Replacement(X, y, shuffle=False),
}


@pytest.mark.parametrize("kind", STREAMS)
def test_without_a_variant_it_is_the_core_s_spring(variants: Any, kind: str) -> None:
    values, labels = table(seed=len(kind))
    X, y = STREAMS[kind](values[:EVENTS], labels[:EVENTS]).batch()
    core, plain = hw.Spring(label_rate=0.1, seed=3), variants.Plain(0.1, coin=coins(3))
    expected, found = core.simulate(X, y), plain.simulate(X, y)
    np.testing.assert_array_equal(found.asked, expected.asked)
    assert found.asked.sum() > 30
    np.testing.assert_allclose(found.margin, expected.margin, rtol=0, atol=1e-9)
    test = rows(values[EVENTS:])
    np.testing.assert_allclose(plain.margin_many(test), core.margin_many(test), rtol=0, atol=1e-9)


def test_seldom_renewal_changes_nothing_until_a_feature_has_33_values(variants: Any) -> None:
    values, labels = table(seed=4)
    X, y = STREAMS["trapezoid"](values[:EVENTS], labels[:EVENTS]).batch()
    seldom, fresh = variants.Seldom(0.3, seed=2), variants.Plain(0.3, seed=2)
    found, expected = seldom.simulate(X, y), fresh.simulate(X, y)
    assert np.abs(expected.margin[:32]).max() > 0.1
    np.testing.assert_array_equal(found.asked[:32], expected.asked[:32])
    np.testing.assert_allclose(found.margin[:32], expected.margin[:32], rtol=0, atol=1e-12)
    assert abs(seldom.view.z[32] - fresh.view.z[32]).max() > 1e-4
    assert np.abs(found.margin - expected.margin)[33:].max() > 1e-3


def test_what_waits_for_renewal_is_not_lost(variants: Any) -> None:
    """With it, mean and squares are those of all values, which only `View` has at once."""
    values = table(seed=6)[0][:99]  # 99 has seven significant bits
    seldom, fresh = variants.SeldomView(rows(values)), variants.View(rows(values))
    squares = ((values - values.mean(axis=0)) ** 2).sum(axis=0)
    np.testing.assert_allclose(fresh.mean, values.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(fresh.squares, squares, rtol=1e-9, atol=1e-9)
    assert set(seldom.renewed) == {96}
    np.testing.assert_allclose(seldom.mean, values[:96].mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(seldom.mean + seldom.sums / 99, values.mean(axis=0), rtol=1e-12)
    since = seldom.squares_since - seldom.sums**2 / 99
    np.testing.assert_allclose(seldom.squares + since, squares, rtol=1e-9, atol=1e-9)


def test_a_feature_that_comes_back_after_long_is_renewed(variants: Any) -> None:
    """Of 34 values the last came at round 33, where its age was 34: stale after 33 + 34/8."""
    for gap, renewed in ((4, 34), (5, 35)):  # 35 has six significant bits
        there = [*range(34), 33 + gap]
        sizes = np.isin(np.arange(34 + gap), there).astype(int)
        X = Rows(np.append(0, sizes.cumsum()), np.zeros(35, int), np.ones(35), ["x"])
        assert variants.SeldomView(X).renewed == [renewed], gap


def test_a_gross_error_moves_the_scale_of_what_is_not_cut_alone(variants: Any) -> None:
    values = table(seed=7)[0]
    wrong = values.copy()
    wrong[200, 0] *= 1e6
    ratio = {}
    for learner in (variants.Plain, variants.Uncut):
        usual, moved = (
            learner.view_kind(rows(shown)).scale(np.array([0]))[0] for shown in (values, wrong)
        )
        ratio[learner] = moved / usual
    assert 1 <= ratio[variants.Plain] < 1.2
    assert ratio[variants.Uncut] > 1e4


@pytest.mark.parametrize(
    "file",
    [file for kind in ("variants", "renewal") for file in sorted(STUDIES.glob(f"spring-{kind}*"))],
    ids=lambda f: f.stem,
)
def test_every_learner_of_the_studies_learns_and_differs(variants: Any, file: Path) -> None:
    values, labels = table(seed=1)
    X, y = STREAMS["trapezoid"](values[:EVENTS], labels[:EVENTS]).batch()
    said, learners = {}, read_study(file).learners
    for plan in learners:
        learner = algorithm(plan.algorithm).make(label_rate=0.1, seed=1)
        learner.simulate(X, y)
        said[plan.name] = tuple(learner.margin_many(rows(values[EVENTS:])))
        right = np.mean((np.array(said[plan.name]) > 0) == (labels[EVENTS:] > 0))
        assert right > 0.6, plan.name
    assert len(set(said.values())) >= min(4, len(learners))  # some choose what Spring has anyway


def test_the_map_passes_on_what_vanished_features_said(variants: Any) -> None:
    """Two halves that say the same: after the switch the new one says it without an answer."""
    generator = np.random.default_rng(5)
    half = generator.normal(size=(400, 3))
    X, y = hw.streams.Replacement(
        np.hstack([half, half]), np.where(half[:, 0] > 0, 1, -1), overlap=30, shuffle=False
    ).batch()
    mapped = variants.MappedFreely(0.1)
    before = 0

    def stop(slots: Any, z: Any, f: Any, label: int) -> None:
        nonlocal before
        if mapped.t <= 170:  # no answers once both are shown
            before += 1
            variants.Plain.learn(mapped, slots, z, f, label)

    mapped.learn = stop
    mapped.simulate(X, y)
    assert before > 5
    old, new = mapped.w[0, :3], mapped.w[0, 3:]
    cosine = old @ new / np.linalg.norm(old) / np.linalg.norm(new)
    assert cosine > 0.95
