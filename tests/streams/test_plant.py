"""The plant: its events, their times, and that what is listed is what happened."""

from collections import defaultdict
from typing import Any

import numpy as np
import pytest

from headwater.errors import ParameterError
from headwater.streams import Plant, PlantSensor

DAYS = 60
KINDS = {"installed", "died", "failed", "returned", "changed unit", "stuck", "freed", "replaced"}


@pytest.fixture(scope="module", params=[3, 6])
def plant(request: pytest.FixtureRequest) -> Plant:
    return Plant(DAYS, seed=request.param)


@pytest.fixture(scope="module")
def readings(plant: Plant) -> dict[str, list[tuple[int, float]]]:
    """Event and value of each reading, by sensor."""
    lists: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for number, (event, _) in enumerate(plant):
        for name, value in event.items():
            lists[str(name)].append((number, value))
    return lists


def sensor(plant: Plant, name: str) -> PlantSensor:
    return next(one for one in plant.sensors if one.name == name)


def test_the_batch_is_exactly_the_loop_and_every_walk_is_the_same(plant: Plant) -> None:
    rows, incidents = plant.batch()
    walked = list(plant)
    assert len(plant) == len(rows) == len(incidents) == len(plant.times) == len(walked)
    assert [label for _, label in walked] == incidents.tolist()
    assert [value for event, _ in walked for value in event.values()] == rows.data.tolist()
    assert walked == list(plant)


def test_another_seed_is_another_plant() -> None:
    one, other = Plant(20, seed=1), Plant(20, seed=2)
    assert one.happenings != other.happenings
    assert one.sensors == Plant(20, seed=1).sensors != other.sensors


def test_times_grow_and_no_event_is_in_a_pause(plant: Plant) -> None:
    assert (np.diff(plant.times) > 0).all()
    for begin, end in plant.pauses:
        assert not ((plant.times >= begin) & (plant.times < end)).any()
    assert np.median(np.diff(plant.times)) == pytest.approx(plant.interval, rel=0.05)


def test_a_sensor_reports_only_while_it_lives(
    plant: Plant, readings: dict[str, list[tuple[int, float]]]
) -> None:
    for one in plant.sensors:
        events = [event for event, _ in readings[one.name]]
        assert min(events) >= one.installed
        assert one.died is None or max(events) < one.died


def test_a_sensor_reports_in_its_own_rhythm(
    plant: Plant, readings: dict[str, list[tuple[int, float]]]
) -> None:
    for one in plant.sensors:
        times = plant.times[[event for event, _ in readings[one.name]]]
        gap = float(np.median(np.diff(times)))
        if one.rhythm == "irregular":
            assert 0.3 * one.interval < gap < 1.5 * one.interval
        else:
            assert gap == pytest.approx(one.interval, rel=0.1, abs=plant.interval / 3)
        seconds = (times - 1_767_225_600) % 86_400
        if one.rhythm == "daytime":
            assert seconds.min() >= 6 * 3600
            assert seconds.max() < 18 * 3600 + plant.interval


def test_happenings_are_in_order_and_each_can_be_seen_in_the_readings(
    plant: Plant, readings: dict[str, list[tuple[int, float]]]
) -> None:
    assert {one.kind for one in plant.happenings} == KINDS
    assert list(plant.happenings) == sorted(plant.happenings, key=lambda one: one[0])
    ends = {(one.sensor, one.kind): one.event for one in plant.happenings}
    for one in plant.happenings:
        assert one.time == plant.times[one.event]
        before = [value for event, value in readings[one.sensor] if event < one.event]
        after = [value for event, value in readings[one.sensor] if event >= one.event]
        if one.kind == "installed":
            assert (len(before), len(after) > 0) == (0, True)
        elif one.kind in ("died", "replaced"):
            assert (len(before) > 10, len(after)) == (True, 0)
        elif one.kind == "failed":
            back = ends[one.sensor, "returned"]
            assert not any(one.event <= event < back for event, _ in readings[one.sensor])
        elif one.kind == "stuck":
            freed = ends.get((one.sensor, "freed"), len(plant))
            held = [v for event, v in readings[one.sensor] if one.event <= event < freed]
            assert len(held) >= 10
            assert len(set(held)) == 1
        elif one.kind == "changed unit" and sensor(plant, one.sensor).kind not in (
            "energy",
            "light",
        ):
            factor, _, offset = one.detail.removeprefix("x").partition(" + ")
            expected = float(factor) * np.median(before) + float(offset or 0)
            assert np.median(after) == pytest.approx(expected, rel=0.5)


def test_a_replacement_with_overlap_measures_the_same(plant: Plant) -> None:
    replaced = [one for one in plant.sensors if one.replaces is not None]
    assert replaced
    for new in replaced:
        old = sensor(plant, str(new.replaces))
        assert old.died is not None
        assert (new.overlap > 0) == (new.installed < old.died)
        if new.overlap:
            both = [
                (event[old.name], event[new.name])
                for event, _ in plant
                if old.name in event and new.name in event
            ]
            assert abs(np.corrcoef(np.array(both).T)[0, 1]) > 0.8


def test_incidents_have_about_the_share_asked_for() -> None:
    shares = [np.mean(Plant(60, incident_share=0.2, seed=seed).batch()[1]) for seed in range(3)]
    assert np.mean(shares) == pytest.approx(0.2, abs=0.05)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"days": 0}, "Plant: days must be a whole number above 0, got 0."),
        ({"incident_share": 1.0}, "Plant: incident_share must be in (0, 1), got 1.0."),
    ],
)
def test_an_impossible_parameter_is_refused_by_name(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ParameterError) as refusal:
        Plant(**options)
    assert str(refusal.value) == sentence


def test_a_plant_of_one_day_is_possible() -> None:
    assert len(list(Plant(1, seed=4))) == len(Plant(1, seed=4))
