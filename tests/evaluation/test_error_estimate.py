"""The error rate over all events, from those asked about."""

import math
from collections.abc import Callable
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headwater as hw
from headwater.errors import EventError
from headwater.evaluation import ErrorEstimate, audited, estimate_error
from headwater.evaluation.metrics import mistakes

events = st.lists(
    st.tuples(
        st.floats(0.0005, 1.0), st.booleans(), st.sampled_from([True, False, None, math.nan])
    ),
    max_size=40,
)


def filled(rows: list[Any], **options: float) -> ErrorEstimate:
    estimate = ErrorEstimate(**options)
    for row in rows:
        estimate.update(*row)
    return estimate


def test_an_answer_stands_for_as_many_events_as_its_probability_says() -> None:
    rows = [(0.5, True, True), (0.25, True, False), (0.25, False, None), (1.0, True, False)]
    estimate = filled(rows)
    assert estimate.value == 2 / (2 + 4 + 1)
    assert estimate.horvitz_thompson == 2 / 4
    assert estimate.rate_of_answers == 1 / 3
    assert (estimate.events, estimate.answers, estimate.lowest_probability) == (4, 3, 0.25)


@given(events)
def test_the_interval_is_its_formula_written_out(rows: list[Any]) -> None:
    estimate = filled(rows, floor=0.0, level=0.9)
    answers = [(p, bool(wrong)) for p, asked, wrong in rows if asked and wrong in (True, False)]
    if not answers:
        assert estimate.interval == (0.0, 1.0)
        return
    z = NormalDist().inv_cdf(0.95)
    v = sum(1 / p - 1 for p, *_ in rows) / len(rows)
    added = z**2 / 2  # that many wrong ones, and as many right ones
    total = sum(1 / p for p, _ in answers) + 2 * added * v
    c = (sum(wrong / p for p, wrong in answers) + added * v) / total
    variance = sum((1 - p) / p**2 * (wrong - c) ** 2 for p, wrong in answers)
    variance += added * v**2 * (1 - c) ** 2 + added * v**2 * c**2
    half = z * math.sqrt(variance) / total
    assert estimate.interval == pytest.approx((max(0, c - half), min(1, c + half)), abs=1e-9)


@given(events)
def test_one_by_one_and_in_batches_give_the_same_bits(rows: list[Any]) -> None:
    single, batch = filled(rows), ErrorEstimate()
    middle = len(rows) // 2
    for part in (rows[:middle], rows[middle:]):
        asked = np.array([asked for _, asked, _ in part], dtype=bool)
        batch.update_many([p for p, *_ in part], asked, [wrong for *_, wrong in part])
    assert batch.interval == single.interval
    assert vars(batch) == vars(single)


def test_what_was_not_asked_about_does_not_count() -> None:
    rows = [(0.3, place % 3 == 0, place % 7 == 0) for place in range(100)]
    hidden = [(p, asked, wrong if asked else not wrong) for p, asked, wrong in rows]
    missing = [(p, asked, wrong if asked else None) for p, asked, wrong in rows]
    assert vars(filled(rows)) == vars(filled(hidden)) == vars(filled(missing))


def test_a_late_answer_counts_as_one_at_once() -> None:
    at_once, late = ErrorEstimate(), ErrorEstimate()
    for p, wrong in ((0.5, True), (0.2, False), (0.4, False)):
        at_once.update(p, True, wrong)
        late.update(p, True)
    for p, wrong in ((0.4, False), (0.5, True), (0.2, False)):
        late.answer(p, wrong)
    assert late.value == pytest.approx(at_once.value)
    assert late.interval == pytest.approx(at_once.interval)


def test_where_everything_is_asked_nothing_is_left_to_chance() -> None:
    estimate = filled([(1.0, True, place < 3) for place in range(10)])
    assert estimate.value == 0.3
    assert estimate.interval == pytest.approx((0.3, 0.3))


def test_no_error_seen_is_no_proof_that_there_is_none() -> None:
    few = filled([(0.1, place % 10 == 0, False) for place in range(300)])
    many = filled([(0.1, place % 10 == 0, False) for place in range(3_000)])
    assert few.value == many.value == 0.0
    assert 0.1 < few.interval.high < 0.2  # 30 answers; the rule of three says 0.1
    assert 0.01 < many.interval.high < 0.02


def test_of_events_that_are_never_asked_about_nothing_is_said() -> None:
    """A threshold asks about the unsure ones always and about the others never."""
    estimate = filled([(1.0, True, place % 4 == 0) for place in range(20)] + [(0.0, False)] * 80)
    assert estimate.out_of_reach == 0.8
    low, high = estimate.interval
    assert low == pytest.approx(0.2 * 0.25)  # the others may all be right
    assert high == pytest.approx(0.2 * 0.25 + 0.8)  # or all be wrong


def test_the_floor_sets_rare_questions_aside() -> None:
    rows = [(0.5, place % 2 == 0, place % 8 == 0) for place in range(90)]
    rows += [(0.004, place == 0, True) for place in range(10)]
    assert filled(rows, floor=0.001).value > 0.6  # one answer that stands for 250 events
    above = filled(rows, floor=0.01)
    assert above.value == filled(rows[:90]).value
    assert above.out_of_reach == pytest.approx(0.1)
    assert above.answers == 46


def test_questions_that_are_never_answered_do_not_bias_the_value() -> None:
    generator = np.random.default_rng(0)
    n = 20_000
    p = generator.choice([0.1, 0.5], n)
    wrong = generator.random(n) < np.where(p == 0.5, 0.3, 0.05)
    asked = generator.random(n) < p
    answered = generator.random(n) < 0.6
    estimate = ErrorEstimate()
    estimate.update_many(p, asked, np.where(answered, wrong, np.nan))
    assert abs(estimate.value - wrong.mean()) < 0.02
    assert estimate.horvitz_thompson < 0.7 * wrong.mean()
    assert estimate.rate_of_answers > 1.3 * wrong.mean()


# How often the interval holds the truth

STREAMS = 300
EVENTS = 600


def stream(seed: int) -> tuple[Any, Any]:
    generator = np.random.default_rng(seed)
    labels = generator.random(EVENTS) < 0.4
    return generator.normal(size=(EVENTS, 4)) + labels[:, np.newaxis] * [1.2, 0.8, 0.0, 0.4], labels


@pytest.mark.parametrize(
    "make",
    [
        lambda seed: hw.Linear(query=hw.query.Random(0.1), seed=seed),
        lambda seed: hw.Linear(query=hw.query.Budget(0.1), seed=seed),
        lambda seed: hw.Linear(query=hw.query.Margin(0.05), seed=seed),
        lambda seed: hw.Linear(query=hw.query.Quota(0.1, total=EVENTS), seed=seed),
    ],
    ids=["random", "budget", "margin", "quota"],
)
def test_the_interval_holds_the_truth_as_often_as_it_says(
    make: Callable[[int], hw.Learner],
) -> None:
    held, off = 0, []
    for seed in range(STREAMS):
        X, y = stream(seed)
        trace = make(seed).simulate(X, y)
        wrong = mistakes(trace.margin, y)
        estimate = estimate_error(trace, wrong)
        low, high = estimate.interval
        held += low <= wrong.mean() <= high
        off.append(np.array([estimate.value, estimate.horvitz_thompson]) - wrong.mean())
    assert 0.9 * STREAMS <= held <= 0.99 * STREAMS
    bias, spread = np.mean(off, axis=0), np.std(off, axis=0)
    assert abs(bias[0]) < 0.25 * spread[0]  # Hájek's ratio is biased a little
    assert abs(bias[1]) < 3 * spread[1] / math.sqrt(STREAMS)


def test_the_answers_alone_look_worse_than_it_is() -> None:
    seen = truth = 0.0
    for seed in range(20):
        X, y = stream(seed)
        trace = hw.Linear(query=hw.query.Margin(0.05), seed=seed).simulate(X, y)
        wrong = mistakes(trace.margin, y)
        seen += estimate_error(trace, wrong).rate_of_answers
        truth += wrong.mean()
    assert seen > 1.3 * truth


def test_an_audit_narrows_the_interval_and_leaves_the_learner_alone() -> None:
    X, y = stream(1)
    trace = hw.PAA(query_width=0.001).simulate(X, y)
    wrong = mistakes(trace.margin, y)
    more = audited(trace, 0.05, seed=3)
    assert more.query_probability.min() >= 0.05 > 10 * trace.query_probability.min()
    assert (more.asked >= trace.asked).all()
    extra = more.asked & ~trace.asked
    assert 0.03 < extra.mean() < 0.07
    assert more.margin is trace.margin
    (low, high), (lower, higher) = (estimate_error(t, wrong).interval for t in (more, trace))
    assert high - low < 0.5 * (higher - lower)
    assert (audited(trace, 0.05, seed=3).asked == more.asked).all()


def test_what_cannot_be_is_refused() -> None:
    estimate = ErrorEstimate()
    for p in (-0.1, 1.1, math.nan):
        with pytest.raises(EventError, match=r"probabilities must be in \[0, 1\], got"):
            estimate.update(p, False)
    with pytest.raises(EventError, match=r"a question must be in \(0, 1\], got 0\.0"):
        estimate.update(0.0, True, True)
    with pytest.raises(EventError, match=r"a question must be in \(0, 1\], got 0\.0"):
        estimate.answer(0.0, True)
    with pytest.raises(EventError, match="asked must be True or False"):
        estimate.update_many([0.5, 0.5], [True], [True])
    with pytest.raises(EventError, match="asked must be True or False"):
        estimate.update(0.5, 1, True)  # type: ignore[arg-type]
    assert vars(estimate) == vars(ErrorEstimate())
