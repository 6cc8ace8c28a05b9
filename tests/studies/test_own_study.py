"""The study of docs/studies.md, taken from the page and run as a reader would."""

import csv
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "studies.md"


def block(language: str) -> str:
    found = re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(found) == 1
    return str(found[0])


def test_a_data_set_and_a_learner_of_one_s_own_take_less_than_twenty_lines(tmp_path: Path) -> None:
    pytest.importorskip("joblib")
    pytest.importorskip("matplotlib")
    module, study = block("python"), block("toml")
    lines = [line for line in (module + study).splitlines() if line.strip()]
    assert len(lines) < 20
    (tmp_path / "mine.py").write_text(module, encoding="utf-8")
    (tmp_path / "mine.toml").write_text(study, encoding="utf-8")
    finished = subprocess.run(
        [sys.executable, "-c", "from headwater.cli import main; main()", "study", "mine.toml"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    assert "careful" in finished.stdout
    with (tmp_path / "mine-results" / "table.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["algorithm"] for row in rows] == ["careful", "careful", "FLLS-II", "FLLS-II"]
    assert all(0.5 < float(row["test balanced accuracy"]) < 1 for row in rows)
    assert "<svg" in (tmp_path / "mine-results" / "index.html").read_text(encoding="utf-8")
