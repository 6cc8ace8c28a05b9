"""The study of SEL-2nd, OFS and OFS_P runs, and gives the same numbers however it is run."""

import gzip
import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

STUDIES = Path(__file__).parent.parent / "studies"


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(STUDIES))
    return importlib.import_module("second_order")


@pytest.fixture
def folder(study: Any, tmp_path: Path) -> Path:
    """A small data set under every name that the study asks for."""
    datasets = pytest.importorskip("sklearn.datasets")
    generator = np.random.default_rng(0)
    X = generator.normal(size=(60, 12))
    y = np.where(X @ generator.normal(size=12) > 0, 1, -1)
    for cell in study.read_references():
        with gzip.open(tmp_path / f"{cell.data}.svm.gz", "wb") as file:
            datasets.dump_svmlight_file(X, y, file, zero_based=False)
    return tmp_path


def test_the_script_prints_a_verdict_a_line(study: Any, folder: Path) -> None:
    options = ["--data", str(folder), "--repeats", "2", "--jobs", "1"]
    printed = CliRunner().invoke(study.main, options)
    assert printed.exit_code == 0, printed.output
    lines = printed.stdout.splitlines()
    assert sum(line.endswith(("agrees |", "differs |")) for line in lines) == 14


def test_one_width_serves_all_repeats(study: Any, folder: Path) -> None:
    cell = study.Cell("splice", "SEL-2nd", "f_measure")
    alone = study.run(folder, [cell], repeats=3, jobs=1)
    assert alone == study.run(folder, [cell], repeats=3, jobs=2)
    assert len(alone[cell].scores) == 3
    assert 0 < alone[cell].label_rate < 0.3


def test_a_tenth_of_the_columns_is_kept_and_at_least_one(study: Any) -> None:
    assert [study.kept(columns) for columns in (4, 10, 24, 25, 57)] == [1, 1, 2, 3, 6]
