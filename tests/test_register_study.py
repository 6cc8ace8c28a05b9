"""The register on simulated plants, as `studies/register.py` judges it."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import headwater as hw
from effort import FULL

FOLDER = Path(__file__).parent.parent / "studies"


def loaded(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"studies_{name}", FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_happenings_are_found_with_few_false_alarms() -> None:
    study = loaded("register")
    due = found = alarms = 0
    days = 0.0
    for seed in range(40, 60 if FULL else 43):
        plant = hw.streams.Plant(90, seed=seed)
        judged, false = study.judge(plant, study.observed(plant))
        due, alarms = due + len(judged), alarms + len(false)
        found += sum(one.finding is not None for one in judged)
        days += 90 * len(plant.sensors)
    assert found / due > 0.95
    assert alarms / days < 1 / 1_000


def test_a_plant_in_which_nothing_is_found_has_no_recall() -> None:
    study = loaded("register")
    plant = hw.streams.Plant(30, seed=1)
    judged, false = study.judge(plant, hw.Register())
    assert judged
    assert not any(one.finding for one in judged)
    assert false == []


def test_the_picture_shows_sensors_and_findings() -> None:
    picture = loaded("register_picture").picture()
    assert picture.startswith("<svg")
    assert picture.count("<rect") > 20
    assert "✕" in picture
