"""The study of labelled files runs on small data and gives the same accuracies again."""

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
    module = importlib.import_module("label_file")
    monkeypatch.setattr(module, "ANSWERS", (20, 60, 5_000))
    return module


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    coin = random.Random(1)
    rows = [(coin.gauss(0, 1), coin.gauss(0, 1)) for _ in range(600)]
    lines = [f"{1 if a + b > 0 else -1} 1:{a:.4f} 2:{b:.4f}" for a, b in rows]
    with gzip.open(tmp_path / "small.svm.gz", "wt") as file:
        file.write("\n".join(sorted(lines)) + "\n")
    return tmp_path


def test_it_prints_a_line_per_way_and_says_what_it_does_not_know(study: Any, folder: Path) -> None:
    words = ["small", "--data", str(folder), "--repeats", "2"]
    printed = CliRunner().invoke(study.main, words)
    assert printed.exit_code == 0, printed.output
    lines = [text for text in printed.stdout.splitlines() if text.startswith("| small")]
    assert [text.split(" | ")[2] for text in lines] == list(study.WAYS)
    asked = lines[0].split(" | ")
    assert float(asked[4].rstrip("%")) > 80
    assert asked[5] == "–"


def test_the_same_seed_gives_the_same_accuracies(study: Any, folder: Path) -> None:
    table = study.read(folder, "small")
    first, again = (study.results(table, 3, (20, 60)) for _ in range(2))
    for way in study.WAYS:
        assert [one.accuracy for one in first[way]] == [one.accuracy for one in again[way]]
    asked, _, in_file_order = (first[way][-1].accuracy for way in study.WAYS)
    assert asked > in_file_order  # the file has one class before the other
