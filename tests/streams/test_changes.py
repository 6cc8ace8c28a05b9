"""Streams as they are in use: rules and sensors that change, devices in turn, short texts."""

import math
from typing import Any, get_args

import numpy as np
import pytest

import headwater as hw
from headwater.errors import LabelError, ParameterError
from headwater.streams import InTurn, LinearConcept, Reversed, ShortTexts, Stream
from headwater.streams.linear_concept import Change

EVENTS = 6_500  # not a whole number of slices
HALF = EVENTS // 2


def dense(stream: Stream) -> tuple[np.ndarray, np.ndarray]:
    """The events as an array, NaN where a feature is absent, and the labels."""
    rows, labels = stream.batch()
    values = np.full((len(rows), len(stream.names)), np.nan)
    values[np.repeat(np.arange(len(rows)), np.diff(rows.indptr)), rows.indices] = rows.data
    return values, labels


def rule(stream: Stream, begin: int, end: int, columns: slice = slice(None)) -> np.ndarray:
    """The direction of the labels in a part of a stream, by least squares on z-scores."""
    values, labels = dense(stream)
    part = values[begin:end, columns]
    z = (part - part.mean(axis=0)) / part.std(axis=0)
    found = np.linalg.lstsq(z, np.where(labels[begin:end], 1.0, -1.0), rcond=None)[0]
    return np.asarray(found / np.linalg.norm(found))


def turn(change: Change, at: tuple[int, int], then: tuple[int, int]) -> float:
    """The cosine between the rules of two parts of a stream."""
    stream = LinearConcept(EVENTS, change=change, sensors=12, seed=3)
    return float(rule(stream, *at) @ rule(stream, *then))


BEFORE, AFTER = (0, HALF), (HALF, EVENTS)


def test_without_a_change_the_rule_stays() -> None:
    assert turn("none", BEFORE, AFTER) > 0.97


def test_a_reversed_rule_is_the_opposite_one() -> None:
    assert turn("reversed", BEFORE, AFTER) < -0.97


def test_a_sudden_change_leads_to_another_rule() -> None:
    assert abs(turn("sudden", BEFORE, AFTER)) < 0.8


def test_half_a_change_reverses_half_of_the_weights() -> None:
    stream = LinearConcept(EVENTS, change="half", sensors=12, seed=3)
    before, after = rule(stream, *BEFORE), rule(stream, *AFTER)
    assert before[:6] @ after[:6] < -0.9 * np.linalg.norm(before[:6]) * np.linalg.norm(after[:6])
    assert before[6:] @ after[6:] > 0.9 * np.linalg.norm(before[6:]) * np.linalg.norm(after[6:])


def test_a_recurring_rule_returns_half_way() -> None:
    quarter = EVENTS // 4
    first, second = (0, quarter), (quarter, 2 * quarter)
    third = (HALF, HALF + quarter)
    assert turn("recurring", first, third) > 0.95
    assert turn("recurring", first, third) > turn("recurring", first, second) + 0.2


def test_a_gradual_change_ends_at_the_opposite_rule_and_a_rotation_at_the_first() -> None:
    part = EVENTS // 20
    ends = (0, part), (EVENTS - part, EVENTS)
    assert turn("gradual", *ends) < -0.8
    assert turn("rotating", *ends) > 0.5
    assert turn("rotating", (0, part), (EVENTS // 4, EVENTS // 4 + part)) < -0.5  # half a turn


def test_permuted_sensors_measure_what_others_did_in_their_own_units() -> None:
    stream = LinearConcept(EVENTS, change="permuted", sensors=12, seed=3)
    values, _ = dense(stream)
    before, after = rule(stream, *BEFORE), rule(stream, *AFTER)
    assert before @ after < 0.9
    assert np.allclose(np.sort(before), np.sort(after), atol=0.08)  # the same weights elsewhere
    assert np.allclose(values[:HALF].std(axis=0) / values[HALF:].std(axis=0), 1, atol=0.1)


def test_units_change_for_a_third_of_the_sensors() -> None:
    plain, _ = dense(LinearConcept(EVENTS, sensors=12, seed=5))
    changed, _ = dense(LinearConcept(EVENTS, sensors=12, seed=5, change="units"))
    unit = plain.std(axis=0)
    assert np.array_equal(plain[:HALF], changed[:HALF])
    assert np.array_equal(plain[HALF:, 4:], changed[HALF:, 4:])
    ratio = changed[HALF:, :4].std(axis=0) / plain[HALF:, :4].std(axis=0)
    assert np.allclose(ratio, 1.8)
    moved = (changed - 1.8 * plain)[HALF:, :4] / unit[:4]
    assert np.allclose(moved, 32, rtol=0.05)


def test_rescaled_sensors_say_the_same_in_new_units() -> None:
    stream = LinearConcept(EVENTS, sensors=12, seed=5, change="rescaled")
    values, _ = dense(stream)
    assert rule(stream, *BEFORE) @ rule(stream, *AFTER) > 0.97
    ratio = values[HALF:].std(axis=0) / values[:HALF].std(axis=0)
    assert ratio.max() > 10
    assert ratio.min() < 0.1


def test_replaced_sensors_measure_the_same_and_overlap_for_200_events() -> None:
    stream = LinearConcept(EVENTS, sensors=12, seed=5, change="replaced")
    values, _ = dense(stream)
    there = ~np.isnan(values)
    assert there[:HALF].all(axis=0).tolist() == [True] * 12 + [False] * 6
    assert there[HALF : HALF + 200].all()
    assert there[HALF + 200 :].all(axis=0).tolist() == [False] * 6 + [True] * 12
    both = values[HALF : HALF + 200]
    for old, new in zip(both.T[:6], both.T[12:], strict=True):
        assert np.corrcoef(old, new)[0, 1] > 0.75  # gain 0.5 at least, noise 0.3: 0.86
    assert stream.first_scored == HALF + 200


@pytest.mark.parametrize("change", get_args(Change))
def test_a_stream_is_the_same_on_every_walk_and_another_with_another_seed(change: Any) -> None:
    one, same, other = (
        LinearConcept(1_200, change=change, sensors=5, seed=seed) for seed in (1, 1, 2)
    )
    assert list(one) == list(one) == list(same) != list(other)
    assert len(list(one)) == len(one) == 1_200


@pytest.mark.parametrize("share", [0.005, 0.05, 0.5])
def test_the_positive_share_holds_before_and_after_a_change(share: float) -> None:
    _, labels = LinearConcept(40_000, sensors=5, change="sudden", positive_share=share).batch()
    error = math.sqrt(share * (1 - share) / 20_000)
    for part in (labels[:20_000], labels[20_000:]):
        assert part.mean() == pytest.approx(share, abs=4 * error)


def test_only_relevant_sensors_have_to_do_with_the_label() -> None:
    found = np.abs(rule(LinearConcept(20_000, sensors=20, relevant=0.25, noise=0.5), 0, 20_000))
    assert (found > 0.05).sum() <= 5
    assert np.sort(found)[-2:].min() > 0.1


def test_devices_report_in_turn_and_have_as_many_columns_each() -> None:
    table = np.arange(70.0).reshape(7, 10)
    stream = InTurn(table, np.arange(7), devices=3, shuffle=False)
    for number, (event, _) in enumerate(stream):
        expected = [name for name, device in stream.device.items() if device == number % 3]
        assert event == {name: 10.0 * number + int(name) for name in expected}
    assert sorted(np.bincount(list(stream.device.values()))) == [3, 3, 4]


def test_reversed_labels_change_places_at_their_place() -> None:
    table, labels = np.arange(4_000.0)[:, np.newaxis], np.arange(4_000) % 3 == 0
    stream = Reversed(table, labels, place=0.3, seed=2)
    assert stream.first_scored == 1_200
    for number, (event, label) in enumerate(stream):
        assert label is bool(labels[int(event[0])]) ^ (number >= 1_200)
    with pytest.raises(LabelError, match="Reversed: y must have two classes, got 3: 1, 2, 3"):
        Reversed(table[:3], [1, 2, 3])


def test_texts_have_the_mean_length_and_their_words_depend_on_the_class() -> None:
    stream = ShortTexts(20_000, vocabulary=500, length=6, seed=4)
    rows, labels = stream.batch()
    lengths = np.add.reduceat(rows.data, rows.indptr[:-1])
    assert lengths.min() == 1
    assert lengths.mean() == pytest.approx(6, abs=4 * math.sqrt(5 / 20_000))
    text = np.repeat(np.arange(len(rows)), np.diff(rows.indptr))
    counts = np.stack(
        [np.bincount(rows.indices[labels[text] == kind], minlength=500) for kind in (False, True)]
    )
    common = counts.sum(axis=0) > 150
    odds = np.log(counts[1, common] / counts[0, common])
    # Of the 30 % that tell, P(|2s| > 0.4) = 69 % do so loudly: 21 % of all.
    assert (np.abs(odds) > 0.4).mean() == pytest.approx(0.21, abs=0.1)
    assert list(stream) == list(stream)


def test_rare_words_come_to_the_end_of_the_stream() -> None:
    rows, _ = ShortTexts(4_000, seed=1).batch()
    late = int(rows.indptr[3_500])
    new = set(rows.indices[late:].tolist()) - set(rows.indices[:late].tolist())
    assert len(new) > 50


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LinearConcept(0), "LinearConcept: events must be a whole number above 0, got 0."),
        (lambda: LinearConcept(change="x"), "LinearConcept: change must be"),  # type: ignore[arg-type]
        (lambda: LinearConcept(positive_share=1), r"positive_share must be in \(0, 1\), got 1\."),
        (lambda: InTurn([[1.0]], [1], devices=0), "InTurn: devices must be a whole number above 0"),
        (lambda: ShortTexts(length=0.5), "ShortTexts: length must be 1 or above, got 0.5."),
        (
            lambda: Reversed([[1.0]], [1], place=2),
            r"Reversed: place must be in \[0, 1\], got 2; 2 % is 0\.02\.",
        ),
    ],
)
def test_wrong_parameters_are_named(make: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        make()


def test_where_nothing_changes_every_event_counts() -> None:
    assert hw.streams.SensorNetwork(10).first_scored == 0
    assert LinearConcept(10).first_scored == 0
    assert LinearConcept(10, change="sudden").first_scored == 5
