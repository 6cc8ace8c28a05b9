"""The OLVF study runs, says what is missing, and judges as it says."""

import gzip
import importlib
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

STUDIES = Path(__file__).parent.parent / "studies"
REAL_DATA = os.environ.get("HEADWATER_DATA")


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(STUDIES))
    study = importlib.import_module("olvf")
    wanted = (0.01, 0.1)  # of each algorithm
    some = [c for c in study.CHOICES if c.C in wanted and c.C_space in (1e-5, 0.01, None)]
    some.append(study.CHOICES[-1])
    monkeypatch.setattr(study, "CHOICES", some)
    return study


@pytest.fixture
def folder(study: Any, tmp_path: Path) -> Path:
    """A small data set under every name that the study asks for."""
    datasets = pytest.importorskip("sklearn.datasets")
    generator = np.random.default_rng(0)
    X = generator.normal(size=(60, 12))
    y = np.where(X @ generator.normal(size=12) > 0, 2, 1)
    for cell in study.read_references():
        with gzip.open(study.file_of(tmp_path, cell.data), "wb") as file:
            datasets.dump_svmlight_file(X, y, file, zero_based=False)
    return tmp_path


def test_the_script_prints_a_line_a_stream_and_data_set(study: Any, folder: Path) -> None:
    options = ["--data", str(folder), "--repeats", "2", "--jobs", "1"]
    printed = CliRunner().invoke(study.main, options)
    assert printed.exit_code == 0, printed.output
    lines = printed.stdout.splitlines()
    names = tuple(f"| {cell.stream}" for cell in study.read_references())
    assert sum(line.startswith(names) for line in lines) == 25
    assert any(line.startswith("Errors ") and "share removed" in line for line in lines)


def test_an_error_is_a_margin_on_the_wrong_side_or_zero(study: Any, folder: Path) -> None:
    cell = study.Cell("removed 0.75", "wbc")
    path = study.file_of(folder, cell.data)
    errors = study.run_repeat(study.Repeat(path, cell, 3))
    X, y = study.stream_of(cell.stream, study.load(path), 3)
    assert set(np.unique(y)) == {-1, 1}
    trace = study.learner(study.CHOICES[0]).simulate(X, y)
    wrong = sum(truth * margin <= 0 for truth, margin in zip(y, trace.margin, strict=True))
    assert errors[0] == wrong >= (np.diff(X.indptr) == 0).sum()  # empty events are errors


def test_olvfs_own_trapezoid_shows_one_column_more(study: Any) -> None:
    data = study.Data(np.zeros((20, 9)), np.ones(20))
    rows, _ = study.stream_of("own trapezoid", data, 0)
    shown = [min(9, 1 + chunk) for chunk in range(1, 11) for _ in range(2)]
    assert np.diff(rows.indptr).tolist() == shown


def test_the_best_choice_is_the_smaller_one_on_a_tie(study: Any) -> None:
    outcomes = study.summarise([[5] * len(study.CHOICES), [7] * len(study.CHOICES)])
    firsts = {choice.algorithm: choice for choice in reversed(study.CHOICES)}
    for algorithm, outcome in outcomes.items():
        assert outcome == study.Outcome(firsts[algorithm], (5, 7))


def test_a_mean_that_falls_with_the_share_removed_is_named(study: Any) -> None:
    def outcome(word: str, mean: int) -> Any:
        return study.Outcome(study.Choice(word, 1.0, None), (mean, mean))

    outcomes = {
        study.Cell(kind, "wbc"): {
            word: outcome(word, -place if word == "PA-I" else place) for word in study.ALGORITHMS
        }
        for place, kind in enumerate(study.REMOVED)
    }
    assert study.falling(outcomes) == ["PA-I on wbc"]


@pytest.mark.skipif(not REAL_DATA, reason="HEADWATER_DATA does not name a folder with data sets")
@pytest.mark.parametrize("data", ["wdbc", "ionosphere"])
def test_real_data_gives_the_numbers_of_the_notes_and_errors_rise(study: Any, data: str) -> None:
    pytest.importorskip("sklearn")
    cells = [study.Cell(kind, data) for kind in (*study.REMOVED, "trapezoid")]
    outcomes = study.run(Path(str(REAL_DATA)), cells, repeats=20, jobs=1)
    references = study.read_references()
    for cell in (cells[0], cells[-1]):
        notes = references[cell].notes
        assert study.agrees(outcomes[cell]["multiply"], notes)
        assert outcomes[cell]["PA-I"].mean < 1.1 * outcomes[cell]["multiply"].mean
    del outcomes[cells[-1]]
    assert study.falling(outcomes) == []
