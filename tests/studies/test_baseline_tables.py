"""Learners beside a baseline and beside published numbers: what is above, and what falls short."""

import math
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from headwater import datasets
from headwater.errors import ParameterError
from headwater.studies import executor
from headwater.studies.baseline_tables import (
    beside_table,
    late_table,
    shortfall_table,
    standing_table,
)
from headwater.studies.figures import figures
from headwater.studies.papers import read_published
from headwater.studies.plan import Cell, LabelDelivery
from headwater.studies.plan_file import read_study
from headwater.studies.published import beside_published, published_table, wins_table
from headwater.studies.report import tables
from headwater.studies.results import ResultStore
from headwater.studies.study import packaged, write_report
from headwater.studies.trial import TrialResult

STUDY = """
title = "T"
data = ["vote", "wdbc"]
score = "balanced_accuracy"
label_rates = [0.05, 0.1]
repeats = 4
figure = "rates"
baseline = "River"
labels = [{ delay = 0 }, { delay = 100, label_rates = [0.05] }]
[learners.Spring]
[learners.River]
algorithm = "headwater.studies.peers:RiverPipeline"
needs = "river"
label_rates = [1.0]
"""
LATE = LabelDelivery(100, label_rates=(0.05,))
MEANS = {
    ("vote", "Spring", 0.05, LabelDelivery()): 0.80,
    ("vote", "Spring", 0.1, LabelDelivery()): 0.92,
    ("vote", "Spring", 0.05, LATE): 0.70,
    ("vote", "River", 1.0, LabelDelivery()): 0.90,
    ("wdbc", "Spring", 0.05, LabelDelivery()): 0.51,
    ("wdbc", "Spring", 0.1, LabelDelivery()): 0.60,
    ("wdbc", "Spring", 0.05, LATE): 0.50,
    ("wdbc", "River", 1.0, LabelDelivery()): 0.50,
}
SHIFTS = (-0.03, -0.01, 0.01, 0.03)
ERROR = math.sqrt(sum(shift**2 for shift in SHIFTS) / 3 / 4)  # .0129


@pytest.fixture
def store(tmp_path: Path) -> ResultStore:
    (tmp_path / "t.toml").write_text(STUDY)
    store = ResultStore(tmp_path / "out", read_study(tmp_path / "t.toml"))
    for cell in store.study.cells():
        mean = MEANS[cell.data, cell.learner, cell.rate or 0, cell.labels]
        for seed, shift in enumerate(SHIFTS):
            scores = {"balanced_accuracy": mean + shift, "label_rate": cell.rate or 0.0}
            store.runs[cell, seed] = TrialResult(scores, [], math.nan)
    return store


def test_a_row_has_the_baseline_first_and_then_every_learner_and_rate(store: ResultStore) -> None:
    table = beside_table(store.study, store)
    assert table.head == ("data set", "River 100 %", "Spring 5 %", "Spring 10 %")
    assert table.rows == (
        ("vote", "0.900 ± 0.013", "0.800 ± 0.013", "0.920 ± 0.013"),
        ("wdbc", "0.500 ± 0.013", "0.510 ± 0.013", "0.600 ± 0.013"),
        ("mean of 2", "0.700", "0.655", "0.760"),
    )


def test_a_row_is_surely_above_or_below_by_two_standard_errors_of_the_difference(
    store: ResultStore,
) -> None:
    # The error of a difference is .0183: −.10 and +.10 are beyond two of them, +.02 and +.01 not.
    assert math.hypot(ERROR, ERROR) == pytest.approx(0.0183, abs=1e-4)
    table = standing_table(store.study, store)
    assert table.head[3:] == (
        *("mean", "River", "above", "surely above", "surely below", "near chance"),
    )
    assert table.rows == (
        ("Spring", "5", "2", "0.655", "0.700", "1", "0", "1", "1"),
        ("Spring", "10", "2", "0.760", "0.700", "2", "1", "0", "0"),
    )


def test_what_falls_short_is_told_with_its_numbers(store: ResultStore) -> None:
    assert shortfall_table(store.study, store).rows == (
        ("vote", "Spring", "5", "0.800", "0.900", "-0.100", "-5.5"),
        ("wdbc", "Spring", "5", "0.510", "0.500", "+0.010", "+0.5"),  # near chance
    )


def test_late_answers_stand_beside_those_that_come_at_once(store: ResultStore) -> None:
    table = late_table(store.study, store)
    assert table.head[1:] == (
        "Spring 5 %, at once",
        "Spring 5 %, 100 events late",
        "River 100 %, at once",
    )
    assert table.rows[0][1:3] == ("0.800 ± 0.013", "0.700 ± 0.013")


def test_a_learner_whose_library_is_missing_is_left_out_and_its_rows_say_so(
    store: ResultStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = replace(
        store.study,
        learners=tuple(
            replace(plan, needs="no_such_module" if plan.needs else "")
            for plan in store.study.learners
        ),
    )
    assert [plan.name for plan in executor.available(study, None).learners] == ["Spring"]
    for key in [key for key in store.runs if key[0].learner == "River"]:
        del store.runs[key]
    heads = beside_table(study, store).head
    assert heads[1] == "River 100 % (needs no_such_module, which is not installed)"
    numbers = tables(study, store)[-1].table
    rows = [row for row in numbers.rows if row[1] == "River"]
    assert {row[3] for row in rows} == {"needs no_such_module"}
    assert {len(row) for row in rows} == {len(numbers.head)}


def test_the_report_has_a_picture_of_rates_and_one_of_delays(store: ResultStore) -> None:
    pytest.importorskip("matplotlib")
    drawn = figures(store.study, store)
    assert list(drawn) == ["rates", "delays"]
    for svg in drawn.values():
        words = {"".join(one.itertext()).strip() for one in ElementTree.fromstring(svg).iter()}
        assert {"vote", "wdbc", "River", "Spring"} <= words
    write_report(store.study, store, {})
    written = {path.name for path in store.folder.iterdir()}
    assert {"rates.svg", "delays.svg", "beside.csv", "short.csv", "late.csv"} <= written


def test_of_a_real_stream_the_error_is_that_of_its_blocks_and_of_the_repeats(
    store: ResultStore,
) -> None:
    cell = next(iter(store.study.cells()))
    assert store.error(cell, "balanced_accuracy") == pytest.approx(ERROR)
    for seed, error in enumerate((0.02, 0.02, 0.04, 0.04)):
        store.runs[cell, seed].scores["balanced_accuracy_error"] = error
    assert store.error(cell, "balanced_accuracy") == pytest.approx(math.hypot(0.03, ERROR))


def test_published_numbers_are_those_of_thirteen_sets_and_the_best_is_the_largest() -> None:
    cells = read_published("haphazard")
    assert len({one.dataset for one in cells}) == 13
    assert {one.setting for one in cells} == {"0.25", "0.5", "0.75"}
    for dataset, setting in {(one.dataset, one.setting) for one in cells}:
        here = [one for one in cells if (one.dataset, one.setting) == (dataset, setting)]
        (best,) = [one for one in here if one.is_best]
        assert best.value == max(one.value for one in here)
        assert {"OLVF", "OVFM", "DynFo", "Aux-Drop"} <= {one.method for one in here}
    rows = {one.name: one.rows for one in cells}
    ours = {name: datasets.entry(name).n for name in rows}
    assert {name for name in rows if rows[name] != ours[name]} == {"german"}
    with pytest.raises(ParameterError, match="published must be one of haphazard, got 'x'"):
        read_published("x")


def test_a_win_is_a_mean_above_the_best_published_number_of_as_many_rows(tmp_path: Path) -> None:
    study = replace(read_study(packaged()["haphazard"]), label_rates=(1.0,), repeats=2)
    study = replace(study, learners=study.learners[:1])
    store = ResultStore(tmp_path, study)
    ours = {"wdbc": 0.84, "wpbc": 0.57, "german": 0.99, "spambase": 0.65, "ipd": 0.77}
    for name, mean in ours.items():  # printed at 0.25: .830, .581, .526 (959 rows), .660, .760
        for seed, shift in enumerate((-0.01, 0.01)):
            cell = Cell(name, "0.25", "Spring", 1.0, LabelDelivery())
            scores = {"balanced_accuracy": mean + shift, "label_rate": 1.0}
            store.runs[cell, seed] = TrialResult(scores, [], math.nan)
    assert {one.best.name: one.is_win for one in beside_published(study, store)} == {
        **{"wdbc": True, "ipd": True, "german": True},
        **{"wpbc": False, "spambase": False},
    }
    assert wins_table(study, store).rows == (("Spring", "100", "0.25", "2 of 4", "1 of 2"),)
    verdicts = {row[0]: row[-1] for row in published_table(study, store).rows}
    assert verdicts["german"] == "not counted: 959 rows there, 1000 here"
    assert verdicts["wdbc"] == "above"
    assert verdicts["spambase"] == "below"
