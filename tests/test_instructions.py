"""No path takes more instructions than it did."""

import importlib
import json
from pathlib import Path
from typing import Any

import pytest

BENCHES = Path(__file__).parent.parent / "benches"


@pytest.fixture
def instructions(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCHES))
    return importlib.import_module("instructions")


def test_no_path_takes_five_percent_more_instructions_than_it_did(instructions: Any) -> None:
    reason = instructions.reason_to_skip()
    if reason:
        pytest.skip(f"{reason}; python benches/instructions.py --write counts afresh")
    kept = json.loads(instructions.KEPT.read_text())["instructions a value"]
    counts = instructions.counted()
    assert counts.keys() == kept.keys()
    assert instructions.grown(kept, counts) == []


def test_a_path_that_takes_more_than_five_percent_more_is_named(instructions: Any) -> None:
    kept = {"CSR": 100.0, "dict": 200.0, "file": 50.0}
    counts = {"CSR": 105.1, "dict": 229.0, "file": 20.0}
    assert instructions.grown(kept, counts) == ["CSR: 100.0 became 105.1"]
    assert instructions.grown({"dict": 200.0}, {"dict": 231.0}) == ["dict: 200.0 became 231.0"]


def test_counts_of_another_setting_are_not_compared(
    instructions: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "instructions.json"
    monkeypatch.setattr(instructions, "KEPT", kept)
    monkeypatch.setattr(instructions, "setting", lambda: {"rustc": "1.95.0", "libc": "a"})
    monkeypatch.setattr(instructions.shutil, "which", lambda program: program)
    assert instructions.reason_to_skip() == "there is no instructions.json"
    kept.write_text('{"setting": {"rustc": "1.90.0", "libc": "a"}}')
    assert instructions.reason_to_skip() == "the counts kept are of rustc 1.90.0 (here 1.95.0)"
    kept.write_text('{"setting": {"rustc": "1.95.0", "libc": "a"}}')
    assert instructions.reason_to_skip() is None
    monkeypatch.setattr(instructions.shutil, "which", lambda program: None)
    assert instructions.reason_to_skip() == "valgrind is not installed"
