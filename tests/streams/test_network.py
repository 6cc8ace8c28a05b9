"""The sensor network: what is installed when, what an event carries, and how hard it is."""

from itertools import islice, pairwise
from typing import Any

import numpy as np
import pytest

from headwater.errors import ParameterError
from headwater.streams import SensorNetwork
from headwater.types import Name

EVENTS = 3_210  # not a whole number of slices


def test_the_batch_is_exactly_the_loop() -> None:
    network = SensorNetwork(EVENTS, seed=1)
    rows, incidents = network.batch()
    assert len(network) == len(rows) == len(incidents) == EVENTS
    for (start, stop), incident, (event, label) in zip(
        pairwise(rows.indptr), incidents, network, strict=True
    ):
        assert list(event) == [rows.names[column] for column in rows.indices[start:stop]]
        assert list(event.values()) == rows.data[start:stop].tolist()
        assert label is bool(incident)


def test_the_same_seed_gives_the_same_world_and_another_seed_another() -> None:
    one, same, other = (SensorNetwork(500, seed=seed) for seed in (7, 7, 8))
    assert one.sensors == same.sensors != other.sensors
    assert list(one) == list(same)
    assert list(one) != list(other)


def test_a_network_can_be_walked_twice() -> None:
    network = SensorNetwork(200)
    assert list(network) == list(network)


def test_a_sensor_reports_only_from_its_installation_to_its_death() -> None:
    network = SensorNetwork(EVENTS, seed=2)
    lives = {sensor.name: sensor for sensor in network.sensors}
    seen: set[Name] = set()
    for number, (event, _) in enumerate(network):
        for name in event:
            sensor = lives[str(name)]
            assert sensor.installed <= number
            assert sensor.died is None or number < sensor.died
        seen.update(event)
    assert seen == set(lives)


def test_sensors_come_in_waves_and_some_die_before_the_end() -> None:
    network = SensorNetwork(EVENTS)
    assert network.waves[0] == 0
    assert list(network.waves) == sorted(set(network.waves))
    assert {sensor.installed for sensor in network.sensors} == set(network.waves)
    deaths = [sensor.died for sensor in network.sensors if sensor.died is not None]
    assert 0.1 < len(deaths) / len(network.sensors) < 0.4
    assert all(0 < died < EVENTS for died in deaths)


def test_sensor_names_are_unique_and_say_the_kind() -> None:
    network = SensorNetwork(100)
    assert len(set(network.names)) == len(network.sensors)
    assert all(sensor.name.startswith(f"{sensor.kind}-") for sensor in network.sensors)


def test_later_waves_bring_kinds_not_measured_before() -> None:
    network = SensorNetwork(EVENTS)
    measured: set[str] = set()
    for wave in network.waves:
        brought = {sensor.kind for sensor in network.sensors if sensor.installed == wave}
        assert brought - measured
        measured |= brought


def test_incidents_have_the_share_asked_for() -> None:
    _, incidents = SensorNetwork(20_000, incident_share=0.4).batch()
    assert incidents.mean() == pytest.approx(0.4, abs=0.02)


def test_readings_get_lost_in_the_share_asked_for() -> None:
    first_wave = 40
    rows, _ = SensorNetwork(1_000, missing_share=0.3).batch()
    assert np.diff(rows.indptr)[:20].mean() == pytest.approx(0.7 * first_wave, rel=0.15)
    complete, _ = SensorNetwork(1_000, missing_share=0.0).batch()
    assert set(np.diff(complete.indptr)[:10]) == {first_wave}


def test_readings_are_about_standardised() -> None:
    rows, _ = SensorNetwork(2_000).held_out(5_000)
    readings = rows.data.reshape(5_000, -1)
    assert np.abs(readings.mean(axis=0)).max() < 1
    assert readings.std(axis=0).min() > 0.8
    assert readings.std(axis=0).max() < 1.4


def test_held_out_events_carry_every_sensor_and_are_not_those_of_the_stream() -> None:
    network = SensorNetwork(300)
    rows, _ = network.held_out(50)
    assert set(np.diff(rows.indptr)) == {len(network.sensors)}
    streamed, _ = network.batch()
    assert rows.data[0] != streamed.data[0]


def test_fewer_held_out_events_are_the_first_of_more() -> None:
    network = SensorNetwork(300)
    few, few_incidents = network.held_out(70)
    many, many_incidents = network.held_out(1_300)
    assert np.array_equal(few.data, many.data[: len(few.data)])
    assert np.array_equal(few_incidents, many_incidents[:70])


def test_a_longer_stream_of_the_same_seed_has_the_same_sensors() -> None:
    short, long = SensorNetwork(100, seed=9), SensorNetwork(1_000, seed=9)
    assert short.names == long.names
    assert len(list(islice(long, 3))) == 3


def test_a_fit_to_the_first_wave_alone_misses_much_of_what_all_sensors_tell() -> None:
    network = SensorNetwork(1_000, seed=4)
    rows, incidents = network.held_out(8_000)
    readings = np.column_stack([rows.data.reshape(8_000, -1), np.ones(8_000)])
    first_wave = [sensor.installed == 0 for sensor in network.sensors] + [True]

    def balanced_accuracy_of_fit(columns: list[bool]) -> float:
        chosen = readings[:, columns]
        target = np.where(incidents, 1 / 0.27, -1 / 0.73)
        weights = np.linalg.lstsq(chosen[:4_000], target[:4_000], rcond=None)[0]
        predicted, truth = chosen[4_000:] @ weights > 0, incidents[4_000:]
        return float(predicted[truth].mean() + (~predicted[~truth]).mean()) / 2

    everything = balanced_accuracy_of_fit([True] * len(first_wave))
    assert 0.85 < everything < 0.96  # neither hopeless nor trivial
    assert balanced_accuracy_of_fit(first_wave) < everything - 0.05


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"events": 0}, "SensorNetwork: events must be a whole number above 0, got 0."),
        ({"events": 10.0}, "SensorNetwork: events must be a whole number above 0, got 10.0."),
        ({"incident_share": 1.0}, "SensorNetwork: incident_share must be in (0, 1), got 1.0."),
        ({"missing_share": 0.9}, "SensorNetwork: missing_share must be in [0, 0.5], got 0.9."),
        ({"seed": -3}, "SensorNetwork: seed must be a whole number from 0 to 2**64 - 1, got -3."),
    ],
)
def test_an_impossible_parameter_is_refused_by_name(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ParameterError) as refusal:
        SensorNetwork(**options)
    assert str(refusal.value) == sentence


def test_a_held_out_set_must_have_an_event() -> None:
    with pytest.raises(ParameterError, match="n must be a whole number above 0, got 0"):
        SensorNetwork(100).held_out(0)


def test_a_stream_of_a_single_event_is_possible() -> None:
    assert len(list(SensorNetwork(1))) == 1
