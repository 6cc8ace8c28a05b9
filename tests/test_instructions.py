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
    grown = {
        path: f"{kept[path]} became {count}"
        for path, count in counts.items()
        if count > kept[path] * (1 + instructions.GROWTH)
    }
    assert not grown, f"instructions a value: {grown}; see benches/instructions.py"
    assert counts.keys() == kept.keys()
