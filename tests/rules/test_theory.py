"""What is proven of the passive-aggressive family, on any trapezoidal stream.

With no scaling and no truncation (share 1, radius ∞); R² = max‖x‖², u any comparator, ℓ* its hinge
losses, F = mistakes (y q ≤ 0), Z = questions. The bounds hold for every sequence of coins, hence
for every query rule. Where a paper claims more than is true, its counter-example is here as well.
"""

from math import inf, sqrt
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import headwater as hw
from effort import reduced
from headwater import query, update
from headwater.learners.replication import SelAdaByNorm

SLACK = 1 + 1e-9

proven = settings(
    derandomize=True,
    deadline=None,
    max_examples=reduced(100),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)

VALUES = st.integers(-48, 48).map(lambda sixteenths: sixteenths / 16)
CS = st.sampled_from([0.01, 0.3, 1.0, 20.0])
RHOS = st.sampled_from([1.0, 1.5, 4.0, 50.0])
"""ρ of the bounds: any number from 1, whatever the query rule."""
SEEDS = st.integers(0, 2**64 - 1)
QUERIES: st.SearchStrategy[Any] = st.sampled_from(
    [
        query.All(),
        query.Random(0.5),
        query.Quota(0.3),
        query.Margin(0.1),
        query.Margin(1.0),
        query.Margin(30.0),
        query.MarginPlusOne(0.5),
        query.SelAda(0.2),
        SelAdaByNorm(),
        query.Decaying(8.0),
        query.Budget(0.3),
    ]
)


class Stream(NamedTuple):
    """A trapezoidal stream: NaN where a feature has not come yet; y is ±1; u is any comparator."""

    X: NDArray[np.float64]
    y: NDArray[np.int64]
    u: NDArray[np.float64]

    @property
    def filled(self) -> NDArray[np.float64]:
        return np.nan_to_num(self.X)

    @property
    def largest(self) -> float:
        """R²"""
        return float((self.filled**2).sum(axis=1).max())

    @property
    def size(self) -> float:
        """‖u‖²"""
        return float(self.u @ self.u)

    @property
    def losses(self) -> NDArray[np.float64]:
        """ℓ*"""
        return np.maximum(0, 1 - self.y * (self.filled @ self.u))


@st.composite
def streams(draw: st.DrawFn, separable: bool = False, unit_rows: bool = False) -> Stream:
    """Any trapezoidal stream of up to 40 events with up to 6 features."""
    length, width = draw(st.integers(1, 40)), draw(st.integers(1, 6))
    widths = sorted(draw(st.lists(st.integers(1, width), min_size=length, max_size=length)))
    X = np.full((length, width), np.nan)
    for row, seen in enumerate(widths):
        X[row, :seen] = draw(st.lists(VALUES, min_size=seen, max_size=seen))
    u = np.array(draw(st.lists(VALUES, min_size=width, max_size=width)), dtype=np.float64)
    if unit_rows:
        norms = np.sqrt((np.nan_to_num(X) ** 2).sum(axis=1))
        X = X[norms > 1e-3] / norms[norms > 1e-3, None]
    scores = np.nan_to_num(X) @ u
    if separable:
        clear = np.abs(scores) > 1e-3
        X, scores = X[clear], scores[clear]
    assume(len(X) > 0)
    if separable:
        u = u / np.abs(scores).min() * SLACK
        return Stream(X, np.where(scores > 0, 1, -1), u)
    signs = draw(st.lists(st.sampled_from([-1, 1]), min_size=len(X), max_size=len(X)))
    return Stream(X, np.array(signs), u)


class Run(NamedTuple):
    """What a learner did on a stream."""

    q: NDArray[np.float64]
    asked: NDArray[np.bool_]
    losses: NDArray[np.float64]
    mistakes: NDArray[np.bool_]


def run(model: hw.Learner, stream: Stream) -> Run:
    trace = model.simulate(stream.X, stream.y)
    agreement = stream.y * trace.margin
    return Run(trace.margin, trace.asked, np.maximum(0, 1 - agreement), agreement <= 0)


def linear(rule: update.Update, asks: query.Query, seed: int = 0) -> hw.Learner:
    return hw.Linear(update=rule, query=asks, scale=None, intercept=False, seed=seed)


def dense_flls(word: Any, C: float, width: float, seed: int) -> hw.FLLS:
    return hw.FLLS(update=word, C=C, query_width=width, kept_share=1.0, l1_radius=inf, seed=seed)


def learners(word: Any, rule: update.Update, C: float, asks: Any, seed: int) -> list[hw.Learner]:
    """The same update with any query rule, and the papers' own learners with theirs."""
    return [
        linear(rule, asks, seed),
        hw.PAA(update=word, C=C, query_width=0.5, seed=seed),
        hw.PAA(update=word, C=C, query_width=2.0, plus_one=True, seed=seed),
        dense_flls(word, C, 2.0, seed),
    ]


# The bounds


@proven
@given(streams(separable=True), QUERIES, RHOS, SEEDS)
def test_mistakes_of_the_hard_step_are_bounded_if_a_comparator_separates(
    stream: Stream, asks: Any, rho: float, seed: int
) -> None:
    assert not stream.losses.any()
    for model in learners("pa", update.PA(), 1.0, asks, seed):
        q, asked, losses, mistakes = run(model, stream)
        left = np.sum(mistakes * asked * losses * (rho + np.abs(q)))
        assert left <= SLACK * stream.largest * ((rho + 1) / 2) ** 2 * stream.size


@proven
@given(streams(separable=True), QUERIES, st.sampled_from([0.0, 0.1, 1.0, 9.0]), SEEDS)
def test_the_bound_of_margin_plus_one_holds_for_every_width(
    stream: Stream, asks: Any, delta: float, seed: int
) -> None:
    for model in learners("pa", update.PA(), 1.0, asks, seed):
        q, asked, losses, mistakes = run(model, stream)
        left = np.sum(mistakes * asked * losses * (delta + 1 + np.abs(q)))
        assert left <= SLACK * stream.largest * (delta / 2 + 1) ** 2 * stream.size


@proven
@given(streams(), QUERIES, CS, RHOS, SEEDS)
def test_mistakes_of_the_soft_step_i_are_bounded_for_every_comparator(
    stream: Stream, asks: Any, C: float, rho: float, seed: int
) -> None:
    step = min(C, 1 / stream.largest if stream.largest else inf)
    for model in learners("pa1", update.PA1(C), C, asks, seed):
        q, asked, _, mistakes = run(model, stream)
        left = step * np.sum(mistakes * asked * (rho + np.abs(q)))
        spared = (rho + 1) * C * np.sum(asked * stream.losses)
        assert left <= SLACK * (((rho + 1) / 2) ** 2 * stream.size + spared)


@proven
@given(streams(), QUERIES, CS, RHOS, SEEDS)
def test_mistakes_of_the_soft_step_ii_are_bounded_for_every_comparator(
    stream: Stream, asks: Any, C: float, rho: float, seed: int
) -> None:
    for model in learners("pa2", update.PA2(C), C, asks, seed):
        q, asked, _, mistakes = run(model, stream)
        left = np.sum(mistakes * asked * (rho + np.abs(q))) / (stream.largest + 0.5 / C)
        spared = 2 * C * np.sum(asked * stream.losses**2)
        assert left <= SLACK * ((rho + 1) / 2) ** 2 * (stream.size + spared)


@proven
@given(streams(separable=True))
def test_squared_losses_of_olsf_are_bounded_if_a_comparator_separates(stream: Stream) -> None:
    model = hw.OLSF(update="pa", kept_share=1.0, l1_radius=inf)
    left = np.sum(run(model, stream).losses ** 2)
    assert left <= SLACK * stream.size * stream.largest


@proven
@given(streams(unit_rows=True))
def test_squared_losses_of_olsf_are_bounded_on_unit_rows(stream: Stream) -> None:
    model = hw.OLSF(update="pa", kept_share=1.0, l1_radius=inf)
    left = np.sum(run(model, stream).losses ** 2)
    assert left <= SLACK * (sqrt(stream.size) + 2 * sqrt(np.sum(stream.losses**2))) ** 2


@proven
@given(streams(), CS)
def test_mistakes_of_olsf_i_are_bounded_for_every_comparator(stream: Stream, C: float) -> None:
    model = hw.OLSF(update="pa1", C=C, kept_share=1.0, l1_radius=inf)
    mistakes = np.sum(run(model, stream).mistakes)
    bound = stream.size + 2 * C * np.sum(stream.losses)
    assert mistakes <= SLACK * max(stream.largest, 1 / C) * bound


@proven
@given(streams(), CS)
def test_squared_losses_of_olsf_ii_are_bounded_for_every_comparator(
    stream: Stream, C: float
) -> None:
    model = hw.OLSF(update="pa2", C=C, kept_share=1.0, l1_radius=inf)
    left = np.sum(run(model, stream).losses ** 2)
    bound = stream.size + 2 * C * np.sum(stream.losses**2)
    assert left <= SLACK * (stream.largest + 0.5 / C) * bound


# The counter-examples: what the papers claim beyond that is not so


def alternating(length: int = 100) -> Stream:
    """(1, 0), (0, 1), (1, 0), ... all positive; u = (1, 1) separates them."""
    return Stream(np.eye(2)[np.arange(length) % 2], np.ones(length, np.int64), np.ones(2))


def test_truncation_breaks_the_bound_of_olsf() -> None:
    stream = alternating()
    bound = stream.size * stream.largest
    assert bound == 2.0
    assert np.sum(run(hw.OLSF(update="pa", kept_share=1.0), stream).losses ** 2) == bound
    truncated = run(hw.OLSF(update="pa", kept_share=0.5), stream)
    assert np.sum(truncated.mistakes) == 51
    assert np.sum(truncated.losses**2) == 51


def test_scaling_breaks_the_bound_of_olsf() -> None:
    stream = alternating()
    scaled = run(hw.OLSF(update="pa", kept_share=1.0, l1_radius=0.5), stream)
    assert np.sum(scaled.losses**2) == pytest.approx(75, abs=0.5)


def test_the_bound_of_flls_on_streams_that_nothing_separates_is_wrong() -> None:
    n, rho = 100, 10.0
    cycle = np.vstack([np.repeat(np.eye(n), 2, axis=0), np.full((2, n), n**-0.5)])
    signs = np.array([1] * 2 * n + [-1] * 2)
    stream = Stream(np.tile(cycle, (60, 1)), np.tile(signs, 60), np.ones(n))
    bound = (rho + 1 / rho + 2) / 4 * stream.size + (1 / rho + 1) * np.sum(stream.losses)
    assert bound == pytest.approx(1754.5)
    mistakes = [np.sum(run(dense_flls("pa", 1.0, rho, seed), stream).mistakes) for seed in range(5)]
    assert np.mean(mistakes) == pytest.approx(4635, rel=0.05)


# Other properties


@proven
@given(streams(), SEEDS)
def test_the_hard_step_meets_the_margin_exactly(stream: Stream, seed: int) -> None:
    model = dense_flls("pa", 1.0, 1.0, seed)
    for event, label in zip(events(stream), stream.y.tolist(), strict=True):
        before = model.margin_one(event)
        model.learn_one(event, label)
        if label * before < 1 and any(event.values()):
            assert label * model.margin_one(event) == pytest.approx(1.0)
        else:
            assert model.margin_one(event) == before


@proven
@given(streams(), st.sampled_from([0.05, 0.29, 0.5, 1.0]), st.sampled_from([0.1, 1.0, 30.0]))
def test_the_sparsity_step_keeps_its_promises(stream: Stream, share: float, radius: float) -> None:
    model = hw.OLSF(update="pa", kept_share=share, l1_radius=radius)
    for event, label in zip(events(stream), stream.y.tolist(), strict=True):
        model.learn_one(event, label)
        weights = list(model.weights().values())
        assert len(weights) <= max(1, int(share * len(model.features()) + 1e-9))
        assert sum(map(abs, weights)) <= radius * (1 + 1e-12)


@proven
@given(streams(), SEEDS)
def test_the_soft_steps_become_the_hard_one(stream: Stream, seed: int) -> None:
    hard, *soft = (hw.FLLS(update=u, C=inf, seed=seed) for u in words("pa", "pa1", "pa2"))
    expected = run(hard, stream)
    for model in soft:
        assert_same(run(model, stream), expected)
        assert model.weights() == hard.weights()


@proven
@given(streams(), st.sampled_from(["pa", "pa1", "pa2"]), SEEDS)
def test_an_infinite_query_width_makes_olsf_of_flls(stream: Stream, word: Any, seed: int) -> None:
    flls = hw.FLLS(update=word, query_width=inf, seed=seed)
    olsf = hw.OLSF(update=word, seed=seed)
    found = run(flls, stream)
    assert found.asked.all()
    assert_same(found, run(olsf, stream))
    assert flls.weights() == olsf.weights()


@proven
@given(streams(), st.sampled_from(["pa", "pa1", "pa2"]), SEEDS)
def test_flls_without_a_sparsity_step_is_paa(stream: Stream, word: Any, seed: int) -> None:
    flls = dense_flls(word, 0.5, 0.7, seed)
    paa = hw.PAA(update=word, C=0.5, query_width=0.7, seed=seed)
    assert_same(run(flls, stream), run(paa, stream))
    assert flls.weights() == paa.weights()


@proven
@given(SEEDS, st.permutations(range(8)))
def test_renaming_features_changes_margins_by_rounding_only(seed: int, names: list[int]) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 8))  # continuous, so no ties
    stream = Stream(X, np.where(X @ rng.normal(size=8) > 0, 1, -1), np.zeros(8))
    renamed = stream._replace(X=X[:, names])
    found = [run(hw.FLLS(query_width=inf, seed=3), each).q for each in (stream, renamed)]
    np.testing.assert_allclose(found[1], found[0], rtol=1e-9, atol=1e-9 * np.abs(found[0]).max())


@proven
@given(streams(), QUERIES, SEEDS)
def test_labels_not_asked_for_never_matter(stream: Stream, asks: Any, seed: int) -> None:
    honest, lied_to = linear(update.PA1(), asks, seed), linear(update.PA1(), asks, seed)
    asked = honest.simulate(stream.X, stream.y).asked
    lied_to.simulate(stream.X, np.where(asked, stream.y, -stream.y))
    assert lied_to.to_bytes() == honest.to_bytes()


def events(stream: Stream) -> list[dict[str | int, float]]:
    return [
        {name: value for name, value in enumerate(row) if value == value}
        for row in stream.X.tolist()
    ]


def words(*chosen: Any) -> list[Any]:
    return list(chosen)


def assert_same(found: Run, expected: Run) -> None:
    """Equal decisions, bit for bit."""
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)
