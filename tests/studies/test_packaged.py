"""The studies of our own that come with the package run, and print Spring beside the others."""

import csv
from dataclasses import replace
from pathlib import Path

import pytest

from headwater.studies.plan import DataPlan, Study
from headwater.studies.plan_file import read_study
from headwater.studies.study import carry_out, packaged

PAPERS = ("fesl", "flls", "olsf", "olvf", "paa")
OURS = [name for name in packaged() if not name.startswith(PAPERS)]


def test_the_studies_of_our_own_have_no_printed_numbers() -> None:
    assert {"recommended", "delays", "few-labels-raw", "few-labels-classes"} <= set(OURS)
    assert all(read_study(packaged()[name]).paper is None for name in OURS)


MADE = {"life", "change"}
"""Studies whose streams are made for each repeat, or are real."""


def on_small_data(name: str) -> Study:
    study = read_study(packaged()[name])
    if name in MADE:
        wanted = ("short texts", "reversed")
        data = (
            replace(plan, options={**plan.options, "events": 1200})
            for plan in study.data
            if plan.name in wanted
        )
        few = replace(study, data=tuple(data), repeats=1, figure="")
        return replace(few, after=study.after and 600)
    source = "kinds" if name == "few-labels-classes" else "numbers"
    return replace(study, data=(DataPlan("small", f"small_world:{source}"),), repeats=1)


@pytest.mark.parametrize("name", OURS)
def test_one_repeat_on_a_small_table_fills_every_cell(name: str, world: Path) -> None:
    pytest.importorskip("joblib")
    study = on_small_data(name)
    if study.baseline:
        pytest.importorskip("river")
    store = carry_out(study, world / "results")
    cells = list(study.cells())
    assert {cell for cell, _ in store.runs} == set(cells)
    with (world / "results" / "table.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["algorithm"] for row in rows] == [cell.learner for cell in cells]
    assert "Spring" in {plan.algorithm for plan in study.learners}
    scores = [float(row[study.score.replace("_", " ")]) for row in rows]
    if study.after:
        before = [float(row["error before"]) for row in rows]
        assert all(0 < error < 0.45 for error in before)
        assert all(0.2 < ratio < 5 for ratio in scores)
        return
    chance = 1 / 3 if name == "few-labels-classes" else 0.5
    assert max(scores) > chance + 0.1
