"""The register of a live stream: part of the model, replayed and corrected with it."""

from pathlib import Path

import headwater as hw
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
