"""The study of owners that are lost: exact after the crash, and refused when cut off."""

import importlib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

STUDIES = Path(__file__).parent.parent / "studies"


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(STUDIES))
    return importlib.import_module("owners")


@pytest.mark.parametrize("partitions", [8, 32])
def test_every_event_is_decided_once_and_every_model_is_that_of_the_plain_loop(
    study: Any, partitions: int
) -> None:
    found = study.run(owners=8, partitions=partitions, keys=32, seconds=30, lost=3)
    assert len(found.decided) == found.events
    assert set(found.decided.values()) == {1}
    assert (found.different, found.keys) == (0, 32)
    assert found.moved == 3 * partitions // 8
    assert found.refused > 0
    assert found.lag > 9  # until the loss was noticed
    calm = study.run(owners=8, partitions=partitions, keys=32, seconds=30, lost=0)
    assert (calm.moved, calm.repeated, calm.refused, calm.different) == (0, 0, 0, 0)
    assert calm.decided == found.decided
    assert calm.lag < found.lag


def test_it_prints_a_line_per_number_of_partitions(study: Any) -> None:
    words = ["--owners", "4", "--keys", "16", "--seconds", "20", "--lost", "1"]
    printed = CliRunner().invoke(study.main, words)
    assert printed.exit_code == 0, printed.output
    lines = [line.split(" | ") for line in printed.stdout.splitlines()[3:]]
    assert [line[0] for line in lines] == ["| 4", "| 16"]
    assert all(line[1] == line[2] and line[3] == line[4] == line[6] == "0" for line in lines)
