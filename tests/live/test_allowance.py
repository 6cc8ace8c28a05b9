"""Allowances: never more than people can give, and as much as that."""

import importlib
import random
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

import headwater as hw
from effort import FULL
from headwater.errors import ParameterError
from headwater.evaluation.error_estimate import ErrorEstimate
from headwater.live import database as db
from headwater.live.allowance import Allowance, Spending, coin
from headwater.live.forecast import Forecast
from live.test_desk import Clock
from live.test_loop import rows

FAST: dict[str, Any] = {"synchronous": "normal", "apply_after": 0}
BERLIN = ZoneInfo("Europe/Berlin")


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "plant.db")


def at(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=BERLIN).timestamp()


def event(number: int) -> dict[str, Any]:
    coin = random.Random(number)
    return {"a": coin.gauss(0, 1), "b": coin.gauss(0, 1)}


def truth(x: dict[str, Any]) -> bool:
    return bool(x["a"] + 0.3 * x["b"] > 0)


# What an allowance says


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "give per_day, per_hour"),
        ({"per_day": 200}, "need tz"),
        ({"per_hour": 5, "hours": "08:00-17:00"}, "need tz"),
        ({"per_day": 200, "tz": "Berlin"}, 'a time zone such as "Europe/Berlin", got .Berlin.'),
        ({"per_hour": 5, "hours": "8-17", "tz": "UTC"}, 'a span such as "08:00-17:00"'),
        ({"money_per_day": 20.0, "tz": "UTC"}, "price go together"),
        ({"per_day": 0, "tz": "UTC"}, "per_day must be a whole number above 0"),
        ({"per_hour": 5, "reserve": 1.0}, r"reserve must be in \[0, 1\)"),
    ],
)
def test_an_allowance_that_cannot_be_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        Allowance(**given)


def test_days_are_calendar_days_of_23_to_25_hours() -> None:
    allowance = Allowance(per_day=10, tz="Europe/Berlin")
    for day, hours in (("2026-03-29", 23), ("2026-10-25", 25), ("2026-11-18", 24)):
        begins, ends = allowance.day(at(f"{day}T12:00"))
        assert (begins, ends - begins) == (at(f"{day}T00:00"), hours * 3600)


def test_money_is_as_many_cards_as_it_buys() -> None:
    bought = Allowance(money_per_day=20.0, price=0.1, tz="UTC")
    assert [(one.name, one.allowed) for one in bought.windows(0.0)] == [("day", 200)]
    both = Allowance(money_per_day=20.0, price=0.1, per_day=50, per_hour=9, burst=2, tz="UTC")
    assert [(one.name, one.allowed) for one in both.windows(0.0)] == [
        ("day", 50),
        ("hour", 9),
        ("minute", 2),
    ]


@pytest.mark.parametrize(
    ("hours", "open_at"),
    [("08:00-17:00", {8, 12, 16}), ("22:00-06:00", {22, 0, 5}), ("00:00-24:00", set(range(24)))],
)
def test_hours_are_those_of_the_time_zone(hours: str, open_at: set[int]) -> None:
    allowance = Allowance(per_day=10, hours=hours, tz="Europe/Berlin")
    found = {h for h in range(24) if allowance.is_open(at(f"2026-07-01T{h:02}:30"))}
    assert open_at <= found
    assert len(found) == {"08:00-17:00": 9, "22:00-06:00": 8, "00:00-24:00": 24}[hours]


# The loop


def test_a_learner_without_a_rate_is_refused_with_an_allowance(path: str) -> None:
    allowance = Allowance(per_hour=5)
    with pytest.raises(ParameterError, match="needs a learner whose query rule takes a rate"):
        hw.live.open(path, learner=hw.PAA(), allowance=allowance, **FAST)
    hw.live.open(path, learner=hw.PAA(), **FAST).close()  # it is not held, and has no allowance
    with hw.live.open(path) as plant:
        assert plant.allowance is None


def test_an_allowance_is_never_exceeded_and_its_rate_is_in_the_fact(path: str) -> None:
    allowance = Allowance(per_day=40, per_hour=6, tz="Europe/Berlin")
    learner = hw.Spring(label_rate=0.5)
    options = {"allowance": allowance, "clock": "events", **FAST}
    with hw.live.open(path, learner=learner, **options) as plant:
        start = at("2026-10-24T00:00")
        for number in range(1200):
            time = start + number * 200.0
            receipt = plant.receive(event(number), time=time)
            if receipt.asked:
                plant.answer(receipt.number, truth(event(number)))
        status = plant.allowance
        assert status is not None
        assert status.left == min(6, 40 - status.used) or status.window == "hour"
        expected = plant.learner.to_bytes()
    facts = [row for row in rows(path, db.facts) if row.kind == 1]
    assert all(row.rate is not None for row in facts)
    asked = [datetime.fromtimestamp(row.time, BERLIN) for row in facts if row.asked]
    days, hours = Counter(t.date() for t in asked), Counter(t.timestamp() // 3600 for t in asked)
    assert max(days.values()) <= 40
    assert max(hours.values()) <= 6
    assert sum(days.values()) >= 0.9 * 40 * 2  # two whole days and some of the third
    for file in Path(f"{path}.snapshots").iterdir():
        file.unlink()
    with hw.live.open(path) as plant:  # replayed with the logged rates
        assert plant.learner.to_bytes() == expected


def test_after_a_file_of_the_past_events_without_a_time_come_now(path: str) -> None:
    learner, allowance = hw.Linear(query=hw.query.Random(1.0)), Allowance(per_hour=1)
    options = {"allowance": allowance, "clock": "events", **FAST}
    with hw.live.open(path, learner=learner, **options) as plant:  # as of `run --time`
        assert plant.receive(event(0), time=at("2026-11-18T09:00")).asked
    with hw.live.open(path, **FAST) as plant:  # as of a service, whose events have no time
        clock = plant._live.journal.clock = Clock(at("2026-11-19T10:00"))
        assert [plant.receive(event(n)).asked for n in (1, 2)] == [True, False]
        clock.now += 3600
        assert plant.receive(event(3)).asked


def test_what_was_used_counts_after_a_restart_and_after_a_change(path: str) -> None:
    def send(plant: hw.live.Loop, first: int, last: int) -> int:
        start = at("2026-11-18T09:00")
        return sum(plant.receive(event(n), time=start + n).asked for n in range(first, last))

    learner, allowance = hw.Linear(query=hw.query.Random(0.5)), Allowance(per_hour=20)
    options = {"allowance": allowance, "clock": "events", **FAST}
    with hw.live.open(path, learner=learner, **options) as plant:
        asked = send(plant, 0, 600)
        before = plant.allowance
        assert before is not None
        assert before.used == asked
    with hw.live.open(path, **FAST) as plant:
        after = plant.allowance
        assert after is not None
        assert after._replace(rate=0) == before._replace(rate=0)
        asked += send(plant, 600, 3500)
        assert asked <= 20
        number = plant.change_allowance(Allowance(per_hour=30))
        assert rows(path, db.facts)[-1].number == number
        asked += send(plant, 3500, 3599)
        assert asked <= 30
        status = plant.allowance
        assert status is not None
        assert (status.allowed, status.used) == (30, asked)
        plant.change_allowance(None)
        assert plant.allowance is None


def test_cards_that_expire_are_returned_and_with_overlap_each_person_s_counts(path: str) -> None:
    learner = hw.Linear(query=hw.query.Random(1.0))
    options: dict[str, Any] = {
        "allowance": Allowance(per_day=6, tz="Europe/Berlin", reserve=0.0),
        "desk": hw.live.DeskSettings(overlap=2),
        **FAST,
    }
    with hw.live.open(path, learner=learner, clock="events", **options) as plant:
        start = at("2026-11-18T02:00")
        for number in range(132):
            plant.receive(event(number), time=start + 600 * number)
        status = plant.allowance
        assert status is not None
        assert (status.used, status.left) == (6, 0)  # three questions, two people each
        plant.desk.answer(plant.desk.lease("ada")[0], True, by="ada")
    with hw.live.open(path, desk=hw.live.DeskSettings(overlap=2, deadline=60.0), **FAST) as plant:
        plant.receive(event(132), time=start + 600 * 131 + 61)
        assert plant.desk.lease("bob", 9) == []
        status = plant.allowance
        assert status is not None
        assert (status.used, status.returned, status.left) == (6, 5, 5)


def test_a_question_about_the_same_features_opens_no_card(path: str) -> None:
    learner, allowance = hw.Linear(query=hw.query.Random(1.0)), Allowance(per_hour=5)
    with hw.live.open(path, learner=learner, allowance=allowance, **FAST) as plant:
        asked = [plant.receive({"a": 1.0}).asked for _ in range(40)]
        status = plant.allowance
        assert status is not None
        assert sum(asked) > 1
        assert (status.used, status.left) == (1, 4)


def test_cards_are_handed_out_in_working_hours_and_events_of_the_night_wait(path: str) -> None:
    allowance = Allowance(per_day=50, hours="08:00-17:00", tz="Europe/Berlin")
    learner = hw.Linear(query=hw.query.Random(1.0))
    with hw.live.open(path, learner=learner, allowance=allowance, **FAST) as plant:
        clock = plant._live.journal.clock = Clock(at("2026-11-18T03:00"))
        for number in range(30):
            plant.receive(event(number))
            clock.now += 60
        assert plant.desk.waiting() > 0
        assert plant.desk.lease("ada", 50) == []
        clock.now = at("2026-11-18T08:00")
        assert len(plant.desk.lease("ada", 50)) == plant.desk.waiting()


def test_one_person_gets_so_many_cards_in_an_hour(path: str) -> None:
    allowance = Allowance(per_person_per_hour=3)
    with hw.live.open(path, learner=hw.OLSF(), allowance=allowance, **FAST) as plant:
        clock = plant._live.journal.clock = Clock(at("2026-11-18T09:00"))
        for number in range(20):
            plant.receive(event(number))
        cards = plant.desk.lease("ada", 9)
        assert len(cards) == 3
        for card in cards:
            plant.desk.answer(card, True, by="ada")
        assert plant.desk.lease("ada", 9) == []
        assert len(plant.desk.lease("bob", 9)) == 3
        clock.now += 3600
        assert len(plant.desk.lease("ada", 9)) == 3


# The reserve


def test_the_reserve_asks_beside_the_rule_with_its_own_coin(path: str) -> None:
    learner = hw.Spring(label_rate=0.1)
    allowance = Allowance(per_hour=60, reserve=0.2)
    options = {"allowance": allowance, "clock": "events", **FAST}
    with hw.live.open(path, learner=learner, **options) as plant:
        start = at("2026-11-18T09:00")
        for number in range(3000):
            receipt = plant.receive(event(number), time=start + number)
            if receipt.asked:
                plant.answer(receipt.number, truth(event(number)))
        reasons = Counter(row.reason for row in plant.desk.questions(None, limit=1000))
    facts = [row for row in rows(path, db.facts) if row.kind == 1]
    drawn = [row for row in facts if row.data and '"reserve": true' in row.data]
    assert reasons["It was drawn by chance, to measure how good the model is."] == len(drawn) > 0
    for row in facts:
        a = 0.2 * row.rate
        assert row.probability >= a
        if coin(1, row.number) < a:
            assert row.asked


def test_the_coin_of_the_reserve_is_even_and_differs_between_streams() -> None:
    drawn = [coin(1, number) for number in range(20_000)]
    assert abs(sum(drawn) / len(drawn) - 0.5) < 0.01
    tenths = Counter(int(10 * one) for one in drawn)
    assert all(1800 < count < 2200 for count in tenths.values())
    assert drawn != [coin(2, number) for number in range(20_000)]


# The forecast


def test_the_same_hour_of_the_week_before_is_expected_again() -> None:
    forecast = Forecast()
    start = at("2026-11-02T00:00")  # a Monday
    for day in range(7):
        for hour in range(8, 17) if day < 5 else ():
            for n in range(60):
                forecast.note(start + 86_400 * day + 3600 * hour + 60 * n)
    monday = start + 7 * 86_400
    forecast.note(monday + 8 * 3600)
    assert forecast.until(monday + 9 * 3600, monday + 86_400) == pytest.approx(8 * 60, rel=0.2)
    saturday = start + 12 * 86_400
    assert forecast.until(saturday + 3600, saturday + 86_400) == pytest.approx(0, abs=1)


# Quality


def by_hand(path: str, first: float, share: float) -> ErrorEstimate:
    """The estimate of the events since a moment, one after the other."""
    facts = rows(path, db.facts)
    said = {row.target: row.label for row in facts if row.kind == 3}
    events = [row for row in facts if row.kind == 1 and row.time >= first]
    asked = [row.number in said for row in events if row.asked and row.label is None]
    answered = 1.0 if all(asked) else (sum(asked) + 1) / (len(asked) + 1)
    estimate = ErrorEstimate(floor=0.0)
    for row in events:
        if row.label is not None:
            estimate.update(1.0, True, row.prediction != row.label)
            continue
        reached = row.probability > 0 and row.probability >= share * row.rate
        known = reached and row.asked and row.number in said
        wrong = row.prediction != said[row.number] if known else None
        p = row.probability * answered if reached else 0.0
        estimate.update_many([p], [known], [wrong])
    return estimate


def test_questions_that_nobody_answered_say_nothing(path: str) -> None:
    """Of thirty questions one is answered: that is one label, not the error of all."""
    with hw.live.open(path, learner=hw.OLSF(), **FAST) as plant:
        for number in range(30):
            plant.receive(event(number))
        plant.answer(1, True)
        plant.apply()
        low, high = plant.quality().interval
        assert high - low > 0.5
        for number in range(2, 31):
            plant.answer(number, True)
        plant.apply()
        low, high = plant.quality().interval
        assert low == high, "all are known"


def test_quality_of_a_window_is_that_of_its_events(path: str) -> None:
    learner, allowance = hw.Spring(label_rate=0.1), Allowance(per_hour=20)
    start = at("2026-11-10T00:00")
    with hw.live.open(path, learner=learner, allowance=allowance, **FAST) as plant:
        clock = plant._live.journal.clock = Clock(start)
        for number in range(3000):
            clock.now = start + number * 300.0
            x = event(number)
            receipt = plant.receive(x, label=truth(x) if number % 50 == 0 else None)
            if receipt.asked and number % 5:
                plant.answer(receipt.number, truth(x))
        for window, since in (("day", 86_400.0), ("week", 7 * 86_400.0), (None, 1e9)):
            found = plant.quality(window)  # type: ignore[arg-type]
            expected = by_hand(path, clock.now - since, 0.05)
            assert (found.events, found.labels) == (expected.events, expected.answers)
            assert found.error == pytest.approx(expected.value)
            assert found.interval == pytest.approx(expected.interval)
        whole, status = plant.quality(), plant.status()
        assert status.error == pytest.approx(whole.error)
        reset = plant.reset_quality()
        assert plant.quality("reset").events == 0
        assert plant.quality("reset").error is None
        plant.receive(event(1), label=True)
        assert plant.quality("reset").events == 1
        assert rows(path, db.facts)[reset - 1].kind == 11
        assert not whole.is_above(1.0)
        curve = plant.quality_curve(20)
        assert len(curve) == 20
        assert sum(point.events for point in curve[5::6]) <= 3001
        assert curve[-1].events == pytest.approx(6 / 20 * 3001, rel=0.02)
        with pytest.raises(ParameterError, match="window must be"):
            plant.quality("month")  # type: ignore[arg-type]


def test_removed_events_do_not_count_in_quality(path: str) -> None:
    with hw.live.open(path, learner=hw.OLSF(), **FAST) as plant:
        for number in range(20):
            plant.answer(plant.receive(event(number)).number, truth(event(number)))
        before = plant.quality()
        plant.remove("#4")
        plant.wait()
        assert (before.events, plant.quality().events) == (20, 19)
        assert plant.quality().labels == 19


def test_spending_without_windows_limits_nothing() -> None:
    spending = Spending(Allowance(per_person_per_hour=5))
    assert spending.rate(0.0) is None
    assert spending.left(0.0) is None
    assert spending.status(0.0) is None


# Many weeks


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "studies"))
    return importlib.import_module("allowances")


def test_no_window_of_any_simulated_week_exceeds_its_allowance(study: Any) -> None:
    found = study.main(1000 if FULL else 12, seed=5)
    assert max(week.excess for week in found) == 0
    assert all(week.questions > 0 for week in found)


@pytest.mark.parametrize("seed", range(10 if FULL else 1))
def test_a_week_through_the_whole_loop_keeps_to_its_allowance(
    study: Any, seed: int, path: str
) -> None:
    """With answers a day late; the first day's allowance is used too."""
    allowance = Allowance(per_day=25, per_hour=8, tz="Europe/Berlin")
    desk = hw.live.DeskSettings(deadline=2 * 86_400.0)
    options = {"allowance": allowance, "desk": desk, "clock": "events", **FAST}
    numbers, waiting = random.Random(seed), []
    start = at("2026-10-19T00:00")  # a week with a change of summer time
    with hw.live.open(path, learner=hw.Spring(label_rate=0.05), **options) as plant:
        times = [t for t in study.arrivals(numbers, start) if numbers.random() < 0.3]
        for number, time in enumerate(times):
            receipt = plant.receive(event(number), time=time)
            if receipt.asked:
                waiting.append((time, receipt.number, truth(event(number))))
            while waiting and waiting[0][0] < time - 86_400:
                _, question, label = waiting.pop(0)
                if question % 4:  # a person who leaves does not answer
                    plant.desk.answer(question, label, by="ada")
    opened: Counter[tuple[str, float]] = Counter()
    returned: Counter[tuple[str, float]] = Counter()
    for row in rows(path, db.facts):
        for window in allowance.windows(row.time):
            key = window.name, window.begins
            opened[key] += bool(row.kind == 1 and row.asked)
            returned[key] += int(row.data) if row.kind == 16 else 0
            assert opened[key] - returned[key] <= window.allowed
    first = next(n for (name, _), n in opened.items() if name == "day")
    assert first >= min(25, len([t for t in times if t < start + 86_400])) / 2
