"""The study of replicas runs on small data, and so does its measurement."""

import gzip
import importlib
import random
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

STUDIES = Path(__file__).parent.parent / "studies"


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(STUDIES))
    return importlib.import_module("many_deciders")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    coin = random.Random(1)
    rows = [(coin.gauss(0, 1), coin.gauss(0, 1)) for _ in range(2_500)]
    lines = [f"{1 if a + b > 0 else -1} 1:{a:.4f} 2:{b:.4f}" for a, b in rows]
    with gzip.open(tmp_path / "spambase.svm.gz", "wt") as file:
        file.write("\n".join(lines) + "\n")
    return tmp_path


def test_replicas_of_an_easy_stream_are_about_as_good_as_one_learner(
    study: Any, folder: Path
) -> None:
    words = ["--data", str(folder), "--repeats", "2", "--jobs", "1", "--only", "spambase"]
    printed = CliRunner().invoke(study.main, words)
    assert printed.exit_code == 0, printed.output
    accuracies, shares = [
        [cell.strip() for cell in line.split("|")[2:-1]]
        for line in printed.stdout.splitlines()
        if line.startswith("| spambase")
    ]
    assert accuracies[0] == "2,500"
    assert float(accuracies[1].split()[0]) > 0.9
    assert all(abs(float(cell.split()[0])) < 0.05 for cell in accuracies[2:])
    assert all(0.03 < float(cell) < 0.07 for cell in shares[1:])


def test_two_deciders_in_processes_of_their_own_report_to_one_owner(study: Any) -> None:
    speed = study.throughput(2, 1, 0.05)
    assert min(speed) > 0
