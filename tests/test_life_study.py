"""The report on streams as they are in use is built by one command, without data sets too."""

import importlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from headwater.studies.baseline_tables import Column, Compared
from headwater.studies.plan import LabelDelivery, Study
from headwater.studies.plan_file import read_study
from headwater.studies.study import packaged

STUDIES = Path(__file__).parent.parent / "studies"


KEPT = {
    *("wdbc: a quarter present", "reversal", "short texts", "0.5 % positive"),
    *("1 % positive", "reversed", "wpbc"),
}


@pytest.fixture
def life(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(STUDIES))
    return importlib.import_module("life")


def test_one_command_writes_the_page_its_pictures_and_what_falls_short(
    life: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for extra in ("joblib", "matplotlib", "river"):
        pytest.importorskip(extra)

    def few(path: Path) -> Study:
        study = read_study(path)
        return replace(study, data=tuple(plan for plan in study.data if plan.name in KEPT))

    monkeypatch.setattr(life, "read_study", few)
    options = ["--repeats", "2", "--jobs", "1", "--events", "300"]
    options += ["--without", "1 % positive"]
    places = ["--data", str(tmp_path), "--out", str(tmp_path / "out"), "--docs", str(tmp_path)]
    done = CliRunner().invoke(life.main, [*options, *places])
    assert done.exit_code == 0, done.output
    page = (tmp_path / "life.md").read_text(encoding="utf-8")
    left = "1 % positive (life), wdbc: a quarter present (life), wpbc (haphazard)"
    assert f"Left out: {left}." in page
    assert "| 1 % positive |" not in page
    assert "| reversal | 0." in page
    assert "## What falls short" in page
    assert "| short texts |" in page
    assert "With 5 % of the labels Spring has a mean of 0." in page
    assert (tmp_path / "life.svg").read_text(encoding="utf-8").startswith("<svg")
    assert (tmp_path / "out/life/delays.svg").exists()


def test_what_falls_short_is_named_with_its_difference(
    life: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    column = Column("Spring", 0.05, LabelDelivery())
    rows = [
        Compared("a", column, 0.80, 0.01, 0.90, 0.01),
        Compared("b", column, 0.95, 0.01, 0.90, 0.01),
        Compared("c", column, 0.52, 0.01, 0.51, 0.01),
    ]
    monkeypatch.setattr(life, "compared", lambda study, store: rows)
    said = life.spoken(read_study(packaged()["life"]), None)
    assert "mean of 0.757 over 3 rows, River with every label 0.770" in said
    assert "above it on 2 rows. It falls short on a (-0.100)." in said
    assert said.endswith("near chance, has c.")
