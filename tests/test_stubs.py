"""The typed face of the Rust module is what the module is, and typed programs can use it."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parent.parent

needs_mypy = pytest.mark.skipif(
    importlib.util.find_spec("mypy") is None, reason="mypy is not installed"
)

PROGRAM = '''
"""What a typed program may write."""

import numpy as np

import headwater as hw
from headwater.types import Label

by_text: dict[str, float] = {"rain": 1.0}
by_number: dict[int, float] = {1: 1.0}
mixed: dict[str, object] = {"rain": 1.0, "site": "roof", "wind": None}

model = hw.Linear(update="pa1", query=hw.query.Budget(0.2))
for event in (by_text, mixed):
    decision = model.decide_one(event)
    if decision.asked:
        model.answer(decision, True)
    model.learn_one(event, True)
prediction: Label | None = model.predict_one(by_number)
total: float = sum(feature.times_learned for feature in model.features())
trace = model.simulate(np.ones((2, 1)), [True, None], names=["rain"])
share: float = trace.asked.mean()
'''


def run_python(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)


@needs_mypy
def test_the_stub_is_what_the_module_is() -> None:
    settings = ("--mypy-config-file", "pyproject.toml")
    found = run_python("-m", "mypy.stubtest", "headwater._core", *settings)
    assert found.returncode == 0, found.stdout + found.stderr


@needs_mypy
def test_typed_programs_pass_and_wrong_ones_do_not(tmp_path: Path) -> None:
    right, wrong = tmp_path / "right.py", tmp_path / "wrong.py"
    right.write_text(PROGRAM)
    wrong.write_text("import headwater as hw\nhw.PAA().predict_one([1.0])\n")
    found = run_python("-m", "mypy", "--strict", "--config-file=", str(right), str(wrong))
    complaints = [line for line in found.stdout.splitlines() if ": error: " in line]
    assert [line for line in complaints if "right.py" in line] == []
    assert [line for line in complaints if "wrong.py:2" in line and "arg-type" in line]
    assert run_python(str(right)).returncode == 0


def test_the_package_says_that_it_is_typed() -> None:
    assert (PROJECT / "python/headwater/py.typed").is_file()
