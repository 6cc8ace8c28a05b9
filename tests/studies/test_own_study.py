"""The studies of two pages, taken from the pages and run as a reader would."""

import csv
import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


def block(page: str, language: str) -> str:
    """The first program of a page in this language."""
    text = (DOCS / page).read_text(encoding="utf-8")
    found = re.search(rf"```{language}\n(.*?)```", text, re.DOTALL)
    assert found, page
    return found[1]


def run_study(folder: Path, page: str, *options: str) -> str:
    """What the study of a page prints."""
    (folder / "mine.py").write_text(block(page, "python"), encoding="utf-8")
    (folder / "mine.toml").write_text(block(page, "toml"), encoding="utf-8")
    finished = subprocess.run(
        [
            sys.executable,
            "-c",
            "from headwater.cli import main; main()",
            "study",
            "mine.toml",
            *options,
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


def test_a_learner_written_in_python_runs_beside_flls_ii_as_its_page_shows(tmp_path: Path) -> None:
    pytest.importorskip("joblib")
    said = [line.split() for line in run_study(tmp_path, "how-to/own-learners.md").splitlines()]
    shown = [line.split() for line in block("how-to/own-learners.md", "text").splitlines()]
    assert [line[:2] for line in shown] == [
        ["data", "set"],
        ["sensors", "Hinge"],
        ["sensors", "FLLS-II"],
    ]
    assert [line for line in shown if line not in said] == []


def test_the_learner_of_the_page_has_fifteen_lines() -> None:
    module = block("how-to/own-learners.md", "python")
    lines = module[module.index("class Hinge") : module.index("def sensors")].splitlines()
    assert len([line for line in lines if line.strip()]) <= 15


def test_a_data_set_and_a_learner_of_one_s_own_take_less_than_twenty_lines(tmp_path: Path) -> None:
    pytest.importorskip("joblib")
    pytest.importorskip("matplotlib")
    module, study = block("papers/studies.md", "python"), block("papers/studies.md", "toml")
    lines = [line for line in (module + study).splitlines() if line.strip()]
    assert len(lines) < 20
    assert "careful" in run_study(tmp_path, "papers/studies.md", "--repeats", "2")
    with (tmp_path / "mine-results" / "table.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["algorithm"] for row in rows] == ["careful", "careful", "FLLS-II", "FLLS-II"]
    assert all(0.5 < float(row["test balanced accuracy"]) < 1 for row in rows)
    assert "<svg" in (tmp_path / "mine-results" / "index.html").read_text(encoding="utf-8")
