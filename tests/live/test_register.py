"""The register of a live stream: part of the model, replayed and corrected with it."""

import threading
from pathlib import Path

import pytest

import headwater as hw
from headwater.errors import JournalError
from headwater.register import FeatureFinding


def events(n: int) -> list[tuple[str, dict[str, float], float]]:
    """Hourly events; `b` dies after 200."""
    return [
        (f"e{i}", {"a": float(i % 7), **({"b": float(i % 5)} if i < 200 else {})}, i * 3_600.0)
        for i in range(n)
    ]


def test_findings_are_told_after_their_commit_and_are_there_after_a_restart(tmp_path: Path) -> None:
    told: list[FeatureFinding] = []
    alone = hw.Register()
    with hw.live.open(
        tmp_path / "plant.db", learner=hw.Spring(track=True), keep_events=1e12
    ) as plant:
        plant.on_finding(told.append)
        for id, x, time in events(300):
            plant.receive(x, id=id, time=time)
            alone.observe_one(x, time)
        assert [(one.kind, one.feature) for one in told] == [("silent", "b"), ("gone", "b")]
        assert plant.findings() == told == alone.findings()
        assert plant.findings(limit=1) == told[-1:]
        assert plant.register.to_bytes() == alone.to_bytes()
    with hw.live.open(tmp_path / "plant.db") as plant:
        assert plant.register.to_bytes() == alone.to_bytes()
    with hw.live.read(tmp_path / "plant.db") as reader:
        assert reader.learner(250).register.events == 250


def test_what_goes_wrong_after_a_commit_is_no_error_of_those_who_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[Exception] = []
    shown: list[threading.ExceptHookArgs] = []
    monkeypatch.setattr(threading, "excepthook", shown.append)

    def tell(finding: FeatureFinding) -> None:
        try:
            plant.receive({"a": 1.0})  # by the thread that would carry it out
        except JournalError as error:
            said.append(error)
        raise ZeroDivisionError

    with hw.live.open(tmp_path / "plant.db", learner=hw.Spring(track=True)) as plant:
        plant.on_finding(tell)
        for id, x, time in events(300):
            assert not plant.receive(x, id=id, time=time).repeated
        assert plant.status().events == 300
        assert plant.failure is None
    assert [str(error).partition(": ")[2][:44] for error in said] == 2 * [
        "the thread that writes cannot wait for itsel"
    ]
    assert [one.exc_type for one in shown] == [ZeroDivisionError] * 2


def test_an_event_that_is_removed_is_not_in_the_register(tmp_path: Path) -> None:
    alone = hw.Register()
    with hw.live.open(
        tmp_path / "plant.db", learner=hw.Spring(track=True), keep_events=1e12
    ) as plant:
        for id, x, time in events(60):
            plant.receive(x, id=id, time=time)
            if id != "e30":
                alone.observe_one(x, time)
        plant.remove("e30")
        plant.wait()
        assert plant.register.to_bytes() == alone.to_bytes()
