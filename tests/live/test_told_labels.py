"""Labels that come later and unasked: what they count for, in streams of both kinds."""

import copy
import random
from pathlib import Path
from typing import Any

import pytest

import headwater as hw
from headwater.errors import ParameterError
from live.test_past import stop_like_a_kill

NEVER = hw.query.Random(0.0)
OPEN: dict[str, Any] = {"synchronous": "normal", "apply_after": 0, "answer_within": 1e9}


def event(number: int) -> dict[str, float]:
    numbers = random.Random(number)
    return {"a": numbers.gauss(0, 1), "b": numbers.gauss(0, 1)}


def is_wet(number: int) -> bool:
    """Whatever the model says, a tenth is different."""
    return (event(number)["a"] > 0) != (number % 10 == 0)


@pytest.mark.parametrize("make", [hw.Spring, hw.Linear, hw.FLLS])
def test_an_answer_of_weight_0_is_learned_and_counts_otherwise(make: Any) -> None:
    model = make()
    for number in range(60):
        model.learn_one(event(number), is_wet(number))
    told = {weight: copy.copy(model) for weight in (0, 1)}
    for weight, one in told.items():
        for number in range(60, 90):
            one.answer(one.decide_one(event(number)), True, weight=weight)  # positives only
        assert one.learned == 90
        assert one.weights() != model.weights()
    shares = [[one.predict_proba_one(event(n))[True] for n in range(9)] for one in told.values()]
    assert shares[0] != shares[1]


def test_a_weight_below_0_is_refused_with_nothing_changed() -> None:
    model = hw.Linear()
    decision = model.decide_one({"a": 1.0})
    for weight in (-1.0, float("nan"), float("inf")):
        with pytest.raises(ParameterError, match="weight must be a number, 0 or above"):
            model.answer(decision, True, weight=weight)
    model.answer(decision, True, weight=2.0)
    assert model.learned == 1


def filled(path: Path, told: list[int], **more: Any) -> hw.live.Loop:
    """A stream of 200 events, none asked about, of which some get their label later."""
    loop = hw.live.open(path, learner=hw.Linear(query=NEVER, scale="running"), **OPEN, **more)
    for number in range(200):
        loop.receive(event(number), id=number)
    for number in told:
        loop.label(number, is_wet(number))
    return loop


def test_labels_told_later_are_outside_quality_unless_all_come(tmp_path: Path) -> None:
    with filled(tmp_path / "asked.db", list(range(100))) as asked:
        assert asked.learner.learned == 100
        assert asked.quality().labels == 0
        assert tuple(asked.quality().interval) == (0.0, 1.0)
        assert asked.status().error is None
    with filled(tmp_path / "all.db", list(range(100)), labels="all") as half:
        found = half.quality()
        assert found.labels == 100
        wrong = sum(half.find(number).prediction != is_wet(number) for number in range(200))
        assert found.interval.low <= wrong / 200 <= found.interval.high
        assert 0 < found.interval.high - found.interval.low < 0.2
        assert half.status().error == found.error


def test_the_interval_is_a_point_once_all_labels_have_come(tmp_path: Path) -> None:
    with filled(tmp_path / "plant.db", list(range(200)), labels="all") as plant:
        wrong = sum(plant.find(number).prediction != is_wet(number) for number in range(200))
        error, (low, high), events, labels, _ = plant.quality()
        assert (events, labels) == (200, 200)
        assert error == pytest.approx(wrong / 200)
        assert low == pytest.approx(high) == pytest.approx(wrong / 200)


def test_labels_told_later_move_no_probability_unless_all_come(tmp_path: Path) -> None:
    """Only positives are told, as chargebacks are; the stream's own labels are half and half."""
    given: dict[str, float] = {}
    for kind in ("asked", "all"):
        learner = hw.Spring(label_rate=0.5, seed=1)
        options: dict[str, Any] = OPEN | {"labels": kind}
        with hw.live.open(tmp_path / f"{kind}.db", learner=learner, **options) as plant:
            receipts = [plant.receive(event(n), id=n) for n in range(300)]
            for receipt in receipts:
                number = int(receipt.id)
                if receipt.asked:
                    plant.answer(receipt.number, is_wet(number))
            for receipt in receipts:
                if not receipt.asked and is_wet(int(receipt.id)):
                    plant.label(receipt.id, True)
            shares = [plant.learner.predict_proba_one(event(n))[True] for n in range(1000, 1200)]
            given[kind] = sum(shares) / len(shares)
    assert abs(given["asked"] - 0.5) < 0.05
    assert given["all"] > given["asked"] + 0.05


@pytest.mark.parametrize("labels", ["asked", "all"])
def test_told_labels_are_replayed_as_they_were_learned(tmp_path: Path, labels: Any) -> None:
    path = tmp_path / "plant.db"
    learner = hw.Spring(label_rate=0.3, seed=1)
    loop = hw.live.open(path, learner=learner, labels=labels, **OPEN)
    receipts = [loop.receive(event(n), id=n) for n in range(120)]
    for receipt in receipts:
        loop.label(receipt.id, is_wet(int(receipt.id)))
    question = next(one.number for one in receipts if one.asked)
    loop.correct(question, not is_wet(int(receipts[question - 1].id)))
    loop.wait()
    kept = loop.learner.to_bytes()
    stop_like_a_kill(loop)
    other: Any = "all" if labels == "asked" else "asked"
    with hw.live.open(path, labels=other) as again:  # what was learned stays as it was
        assert again.learner.to_bytes() == kept


def test_another_word_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match='labels must be "asked" or "all", got \'some\''):
        hw.live.open(tmp_path / "plant.db", learner=hw.PAA(), labels="some")  # type: ignore[arg-type]


def test_labels_of_many_events_share_a_commit_and_a_refused_one_gives_its_error(
    tmp_path: Path,
) -> None:
    path = tmp_path / "plant.db"
    options: dict[str, Any] = {"answer_within": 1e9, "apply_after": 0}
    with hw.live.open(path, learner=hw.OLSF(), **options) as plant:
        for number in range(4):
            plant.receive({"a": number + 1.0}, id=number, label=True if number == 3 else None)
        before = plant._writer.commits
        done = plant.label_many([(0, True), (1, False), ("x", True), (2, "no"), (3, True)])
        assert plant._writer.commits == before + 1
        assert [type(one).__name__ for one in done] == (
            ["Answered", "Answered", "NoSuchError", "LabelError", "Answered"]
        )
        assert plant.learner.learned == 3
        again = plant.label_many([(0, True), (3, True)])
        assert [isinstance(one, Exception) or one.repeated for one in again] == [True, True]
