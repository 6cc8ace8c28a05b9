"""The studies run, say what is missing, and give the same numbers however they are run."""

import gzip
import importlib
import math
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
    return importlib.import_module("paper_numbers")


@pytest.fixture
def folder(study: Any, tmp_path: Path) -> Path:
    """A small data set under every name that the study asks for."""
    datasets = pytest.importorskip("sklearn.datasets")
    generator = np.random.default_rng(0)
    X = generator.normal(size=(80, 12))
    X[:, 7] = 3.0  # a constant column
    y = np.where(X @ generator.normal(size=12) > 0, 1, -1)
    for cell in study.read_references():
        with gzip.open(study.file_of(tmp_path, cell.data), "wb") as file:
            datasets.dump_svmlight_file(X, y, file, zero_based=False)
    return tmp_path


def test_columns_are_standardised_before_rows_are_scaled_to_unit_length(study: Any) -> None:
    values = np.random.default_rng(1).normal(3.0, [1.0, 5.0, 0.0], size=(40, 3))
    scaled = importlib.import_module("protocol").scaled(values)
    z = (values[:, :2] - values[:, :2].mean(axis=0)) / values[:, :2].std(axis=0)
    assert np.allclose(np.linalg.norm(scaled, axis=1), 1)
    assert np.allclose(scaled[:, 0] / scaled[:, 1], z[:, 0] / z[:, 1])
    assert (scaled[:, 2] == 0).all()


def test_the_held_out_fifth_shows_all_columns_and_the_stream_a_tenth_more_each_chunk(
    study: Any, folder: Path
) -> None:
    data = study.load(study.file_of(folder, "wdbc"))
    split = study.split(data, "held_out", seed=0)
    widths = np.diff(split.X.indptr)
    assert len(split.y) == 64
    assert split.test_rows.shape == (16, 12)
    assert widths[0] == 1
    assert widths[-1] == 12
    assert (np.diff(widths) >= 0).all()


def test_the_numbers_do_not_depend_on_the_number_of_jobs(study: Any, folder: Path) -> None:
    cells = [
        study.Cell("stream", "splice", "PAA"),
        study.Cell("stream", "splice", "RPA-I"),
        study.Cell("held_out", "wdbc", "FLLS-II"),
        study.Cell("held_out", "wdbc", "RFLLS-I"),
    ]
    alone = study.run(folder, cells, repeats=2, jobs=1)
    assert alone == study.run(folder, cells, repeats=2, jobs=2)
    assert list(alone) == cells
    assert alone[cells[0]].C is None
    assert alone[cells[1]].C in study.C_GRID
    assert alone[cells[3]].label_rate == 6 / 64  # floor(0.1 * 64 + 1/2)
    assert all(0 <= score <= 1 for outcome in alone.values() for score in outcome.scores)


def test_c_is_the_best_on_average_and_the_smaller_one_on_a_tie(study: Any) -> None:
    values = np.zeros((2, len(study.C_GRID)))
    values[0, 3], values[1, 5] = 0.8, 0.8  # each best once, equal on average
    repeats = [[study.Score(value, 0.1) for value in row] for row in values.tolist()]
    outcome = study.summarise("PAA-I", repeats)
    assert outcome.C == 2.0**-2
    assert outcome.scores == (0.8, 0.0)


@pytest.mark.parametrize(("mean", "agrees"), [(0.8034, True), (0.8036, False), (0.7966, True)])
def test_agreement_is_three_standard_errors_and_the_rounding(
    study: Any, mean: float, agrees: bool
) -> None:
    spread = 0.001 * math.sqrt(20 / 2) * math.sqrt(19 / 20)  # a std of 0.001 · √10 on each side
    scores = tuple(mean + sign * spread for sign in (-1, 1) for _ in range(10))
    outcome = study.Outcome(None, scores, 0.1)
    reference = study.Reference(0.8, 0.8, 0.001 * math.sqrt(10), "Table 0")
    comparison = study.Comparison.of(outcome, reference)
    assert comparison.standard_error == pytest.approx(0.001)
    assert comparison.agrees is agrees


def test_the_script_prints_both_tables_and_a_verdict_a_line(study: Any, folder: Path) -> None:
    options = ["--data", str(folder), "--repeats", "2", "--jobs", "1"]
    printed = CliRunner().invoke(study.main, options)
    assert printed.exit_code == 0, printed.output
    lines = printed.stdout.splitlines()
    assert sum(line.endswith(("agrees |", "differs |")) for line in lines) == 24
    assert sum("F-measure" in line or "balanced accuracy" in line for line in lines) == 2


def test_a_missing_folder_or_file_is_a_sentence(
    study: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HEADWATER_DATA", raising=False)
    for options, sentence in (
        ([], "or set HEADWATER_DATA."),
        (["--data", str(tmp_path / "nowhere")], "--data: there is no folder"),
        (["--data", str(tmp_path)], "lacks spambase.svm.gz, splice.svm.gz"),
    ):
        refused = CliRunner().invoke(study.main, options)
        assert refused.exit_code == 2
        assert sentence in refused.stderr


@pytest.mark.skipif(not REAL_DATA, reason="HEADWATER_DATA does not name a folder with data sets")
@pytest.mark.parametrize(
    "cell",
    [("stream", "spambase", "PAA"), ("stream", "splice", "PEA"), ("held_out", "wdbc", "RFLLS-I")],
    ids="-".join,
)
def test_real_data_gives_the_reference_numbers(study: Any, cell: tuple[str, str, str]) -> None:
    pytest.importorskip("sklearn")
    wanted = study.Cell(*cell)
    outcome = study.run(Path(str(REAL_DATA)), [wanted], repeats=20, jobs=1)[wanted]
    assert study.Comparison.of(outcome, study.read_references()[wanted]).agrees


# FESL


@pytest.fixture
def fesl(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(STUDIES))
    return importlib.import_module("fesl")


def test_the_study_of_fesl_covers_nine_data_sets_and_five_methods(fesl: Any) -> None:
    cells = fesl.read_references()
    assert len({cell.data for cell in cells}) == 9
    assert len({cell.algorithm for cell in cells}) == 5
    assert len(cells) == 45


def test_the_study_of_fesl_runs(fesl: Any, tmp_path: Path) -> None:
    datasets = pytest.importorskip("sklearn.datasets")
    generator = np.random.default_rng(0)
    X = generator.normal(size=(80, 12))
    y = np.where(X @ generator.normal(size=12) > 0, 1, -1)
    for reference in fesl.read_references().values():
        with gzip.open(fesl.file_of(tmp_path, reference.file), "wb") as file:
            datasets.dump_svmlight_file(X, y, file, zero_based=False)
    arguments = ["--data", str(tmp_path), "--repeats", "2", "--jobs", "1"]
    result = CliRunner().invoke(fesl.main, arguments, catch_exceptions=False)
    assert result.exit_code == 0
    assert "of 45 agree with the reference" in result.output
    missing = CliRunner().invoke(fesl.main, ["--data", str(tmp_path / "nowhere")])
    assert missing.exit_code == 2


# Probabilities


@pytest.fixture
def calibration(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(STUDIES))
    monkeypatch.delenv("HEADWATER_DATA", raising=False)
    return importlib.import_module("calibration")


def test_the_calibration_error_is_the_distance_of_what_is_said_from_what_happens(
    calibration: Any,
) -> None:
    p = np.array([0.05, 0.05, 0.95, 0.95, 0.55, 0.55])
    happened = np.array([False, True, True, True, False, False])
    bins = [0.45, 0.05, 0.55]  # of two events each
    assert calibration.calibration_error(p, happened) == pytest.approx(np.mean(bins))
    likely = [0.95, 0.05, 0.95, 0.95, 0.45, 0.45]
    assert calibration.log_loss(p, happened) == pytest.approx(-np.log(likely).mean())


def test_the_study_of_probabilities_runs_with_data_sets_and_without(
    calibration: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    datasets = pytest.importorskip("sklearn.datasets")
    monkeypatch.setattr(calibration, "EVENTS", 300)
    generator = np.random.default_rng(0)
    X = generator.normal(size=(200, 12))
    y = np.where(X @ generator.normal(size=12) > 0, 1, -1)
    for name in calibration.DATA:
        with gzip.open(calibration.file_of(tmp_path, name), "wb") as file:
            datasets.dump_svmlight_file(X, y, file, zero_based=False)
    for options, rows in (([], 2), (["--data", str(tmp_path)], 6)):
        arguments = [*options, "--repeats", "2", "--jobs", "1"]
        printed = CliRunner().invoke(calibration.main, arguments, catch_exceptions=False)
        assert printed.exit_code == 0, printed.output
        lines = printed.stdout.splitlines()
        assert sum("Linear()  " in line or "FLLS-II  " in line for line in lines[:12]) >= rows
        assert sum(" to " in line for line in lines) == 10
    missing = CliRunner().invoke(calibration.main, ["--data", str(tmp_path / "nowhere")])
    assert missing.exit_code == 2
