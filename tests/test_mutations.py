"""The list of deliberate faults fits the code, and the tool says so where it does not."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest

PROJECT = Path(__file__).parent.parent


def tool() -> Any:
    spec = importlib.util.spec_from_file_location("mutations", PROJECT / "tools/mutations.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


TOOL = tool()


def test_there_are_some_thirty_and_each_has_its_name_and_claim() -> None:
    faults = TOOL.FAULTS
    assert len(faults) >= 30
    assert len({fault.name for fault in faults}) == len(faults)
    assert len({fault.claim for fault in faults}) == len(faults)


@pytest.mark.parametrize("name", [fault.name for fault in TOOL.FAULTS])
def test_the_text_of_a_fault_is_in_its_file_once(name: str) -> None:
    [fault] = TOOL.chosen([name])
    path, text = TOOL.faulty(fault, PROJECT)
    assert text != path.read_text(encoding="utf-8")


def test_a_text_that_is_gone_is_refused(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = TOOL.Fault("gone", "label.rs", "no such text", "", "nothing")
    monkeypatch.setattr(TOOL, "FAULTS", [gone])
    assert TOOL.main(["--list"]) == 2
    assert "gone: rust/core/src/label.rs must hold this text once" in capsys.readouterr().err


def test_a_word_that_no_name_holds_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert TOOL.main(["zzz", "--list"]) == 2
    assert "no fault has a name with zzz" in capsys.readouterr().err


def test_the_list_shows_every_claim(capsys: pytest.CaptureFixture[str]) -> None:
    assert TOOL.main(["eviction", "--list"]) == 0
    said = capsys.readouterr().out
    assert "features of the event just learned are not evicted" in said
    assert said.endswith("2 faults\n")
