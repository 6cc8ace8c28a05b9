"""`headwater demo --live`: the plant, its experts and the pages."""

import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

import headwater as hw
from headwater.cli.demo import PLANT_SEED
from headwater.demo.busy_plant import BusyPlant
from headwater.demo.live_plant import (
    DAY,
    EXPERTS,
    FIRST_DAYS,
    STREAM,
    LivePlant,
    make_plant,
    make_stream,
    settings_of,
)
from headwater.service.app import create_app
from headwater.service.settings import Settings
from service.process import PROGRAM, free_port


def test_experts_answer_leave_questions_to_the_visitor_and_keep_to_the_allowance(
    tmp_path: Path,
) -> None:
    plant = hw.streams.Plant(2, seed=4)
    url = str(tmp_path / "plant.db")
    make_stream(url, seed=4)
    service = create_app(Settings(database=url, config=settings_of(plant))).state.service
    source = LivePlant(plant, service, speed=1e9, seed=4, first_days=1)
    source.start()
    loop = service.streams[STREAM]
    try:
        while source._thread.is_alive():
            time.sleep(0.05)
        assert source.failure is None
        status = loop.status()
        assert status.events == len(plant)
        names = {one.name for one in loop.desk.people()}
        assert names <= {one.name for one in EXPERTS}
        assert names
        assert loop.desk.waiting() > 0
        assert {one.time > time.time() - DAY for one in loop.desk.questions("open")} == {True}
        assert loop.allowance is not None
        assert loop.allowance.used <= loop.allowance.allowed
    finally:
        source.close()
        service.close()


def test_within_three_minutes_a_visitor_sees_sensors_come_go_silent_change_and_be_replaced() -> (
    None
):
    """And the register finds it, with the plant and the speed of `headwater demo --live`."""
    plant = make_plant(PLANT_SEED)
    first = int((plant.times < plant.times[0] + FIRST_DAYS * DAY).sum())
    busy, register = BusyPlant(plant, first, PLANT_SEED), hw.Register()
    begun = float(plant.times[first])
    for time_of_event, (event, _) in zip(plant.times, busy, strict=False):
        if time_of_event > begun + 180 * 60:
            break
        register.observe_one(event, time=float(time_of_event))
    kinds = {"installed", "failed", "changed unit", "returned", "replaced"}
    assert kinds <= {one.kind for one in busy.done}
    found = {one.kind for one in register.findings() if (one.time or 0.0) > begun}
    assert {"born", "silent", "changed scale", "back", "replaced"} <= found


def test_an_expert_works_at_the_experts_hours_only() -> None:
    early, late = EXPERTS
    assert [early.works(hour) for hour in (5.9, 6.0, 13.9, 14.0)] == [False, True, True, False]
    assert late.works(21.9)
    assert not late.works(3.0)


def test_values_of_the_plant_have_their_units() -> None:
    plant = hw.streams.Plant(3, seed=4)
    shown = settings_of(plant).sections
    units = {name: told["unit"] for name, told in shown["fields"].items()}
    assert any(name.startswith("temperature") and unit == "°C" for name, unit in units.items())
    assert shown["labels"]["true"] == "incident"


def test_the_demo_shows_its_pages_and_stops_by_itself() -> None:
    port = free_port()
    command = [sys.executable, "-c", PROGRAM, "demo", "--live", "--minutes", "0.05"]
    with subprocess.Popen(
        [*command, "--port", str(port)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as demo:
        assert demo.stdout is not None
        said = [demo.stdout.readline() for _ in range(2)]
        assert said[1].startswith(f"Label:      http://127.0.0.1:{port}/login#")
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/login", timeout=30) as page:
            assert b"Log in" in page.read()
        _, errors = demo.communicate(timeout=120)
    assert (demo.returncode, errors) == (0, "")


@pytest.mark.parametrize("option", [["--minutes", "0"], ["--speed", "0.5"]])
def test_a_wrong_option_is_one_sentence_and_exit_2(option: list[str]) -> None:
    command = [sys.executable, "-c", PROGRAM, "demo", "--live", *option]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert option[0] in done.stderr
