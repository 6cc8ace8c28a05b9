"""The study of probabilities runs, and says what is missing."""

import gzip
import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

STUDIES = Path(__file__).parent.parent / "studies"


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
