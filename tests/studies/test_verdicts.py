"""Ours beside the paper's: every printed cell, honest verdicts, reasons as data."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from headwater.studies.comparison import (
    STUDENT,
    compare,
    count,
    is_meant,
    judge,
    our_cell,
    read_reasons,
)
from headwater.studies.papers import PaperCell, read_datasets, read_table, tables
from headwater.studies.plan import Paper
from headwater.studies.plan_file import read_study
from headwater.studies.reproduction import misprints
from headwater.studies.results import ResultStore, Summary
from headwater.studies.study import packaged, studies_of
from headwater.studies.trial import TrialResult

WITH_PAPER = [name for name, path in packaged().items() if read_study(path).paper is not None]
PRINTED = PaperCell("FLLS", 3, "vote", "FLLS", "query=10%", "AUC", 0.9, 0.02, "")


def summary(mean: float, std: float, repeats: int = 20) -> Summary:
    return Summary(mean, std, (mean,) * repeats)


@pytest.mark.parametrize(
    ("mean", "std", "tolerance", "verdict"),
    [
        (0.919, 0.0, 0.0, "agrees"),  # one printed deviation
        (0.921, 0.0, 0.0, "differs"),
        (0.881, 0.0, 0.0, "agrees"),
        (0.879, 0.0, 0.0, "differs"),
        (0.95, 0.08, 0.0, "agrees"),  # three standard errors: 3·√((.08² + .02²)/20) = .055
        (0.96, 0.08, 0.0, "differs"),
        (0.95, 0.0, 0.05, "agrees"),  # the tolerance
    ],
)
def test_two_numbers_agree_within_a_deviation_an_error_or_a_tolerance(
    mean: float, std: float, tolerance: float, verdict: str
) -> None:
    paper = Paper("FLLS", (3,), ("AUC",), tolerance=tolerance)
    assert judge(paper, PRINTED, summary(mean, std)) == verdict


@pytest.mark.parametrize(
    ("mean", "std", "repeats", "verdict"),
    [
        (0.764, 0.15, 3, "too few repeats to tell"),  # -6.8 printed deviations
        (0.764, 0.15, 10, "agrees"),  # within three standard errors of 0.048
        (0.915, 0.15, 3, "agrees"),  # less than one printed deviation
        (0.764, 0.05, 3, "too few repeats to tell"),  # 4.4 standard errors are few for three
        (0.500, 0.01, 3, "differs"),  # 31 are not
        (0.860, 0.0, 1, "too few repeats to tell"),
        (0.100, 0.0, 1, "too few repeats to tell"),  # one repeat has no spread to judge by
    ],
)
def test_few_repeats_are_not_enough_for_agreement_by_their_standard_error(
    mean: float, std: float, repeats: int, verdict: str
) -> None:
    paper = Paper("FLLS", (3,), ("AUC",))
    assert judge(paper, PRINTED, summary(mean, std, repeats)) == verdict


def test_the_bounds_for_few_repeats_are_students() -> None:
    stats = pytest.importorskip("scipy.stats")
    chance = 2 * stats.norm.sf(3)
    for repeats in range(2, len(STUDENT)):
        assert STUDENT[repeats] == pytest.approx(stats.t.isf(chance / 2, repeats - 1), rel=1e-3)


def test_a_printed_number_without_spread_must_be_met_but_for_chance() -> None:
    paper = Paper("OLSF", (4,), ("errors",))
    printed = PRINTED._replace(mean=19020.0, std=None)
    assert judge(paper, printed, summary(19020.0, 0.0)) == "agrees"
    assert judge(paper, printed, summary(19019.0, 0.0)) == "differs"
    assert judge(paper, printed, None) == "no data"


@pytest.mark.parametrize("name", WITH_PAPER)
def test_every_printed_cell_whose_data_we_have_has_its_cell_in_the_study(name: str) -> None:
    study = read_study(packaged()[name])
    assert study.paper is not None
    ours = {(one.paper, one.printed): one.name for one in read_datasets()}
    names = {plan.name for plan in study.data}
    found = 0
    for table in study.paper.tables:
        for printed in read_table(study.paper.name, table):
            data = ours[printed.paper, printed.dataset]
            for name in names & {data}:
                if is_meant(study.paper, printed):
                    found += 1
                    assert our_cell(study, study.paper, printed, name) is not None, printed
    assert found or not study.data


def test_every_printed_table_of_results_has_its_study() -> None:
    shown = {
        (study.paper.name, table)
        for study in map(read_study, packaged().values())
        if study.paper is not None
        for table in study.paper.tables
    }
    parameters = {("OLVF", 4)}  # the parameters of Table 3, which its study takes from it
    assert shown == set(tables()) - parameters


def test_a_table_is_a_study_with_what_it_needs_alone() -> None:
    (third,) = studies_of("flls", 3)
    (fourth,) = studies_of("flls", 4)
    assert third.label_rates == (0.1,)
    assert fourth.label_rates == (0.2,)
    assert studies_of("flls", 99) == []


def test_reasons_fit_by_pattern_and_the_first_counts() -> None:
    reasons = read_reasons()
    wbc = PaperCell("OLSF", 4, "wbc", "OLSF-I", "B=0.04", "errors", 683.0, 0.0, "")
    german = wbc._replace(dataset="german")
    first = [next(one.reason for one in reasons if one.fits(cell)) for cell in (wbc, german)]
    assert "683" in first[0]
    assert first[0] != first[1]
    assert not any(one.fits(wbc._replace(paper="PAA")) for one in reasons)


def test_a_comparison_says_what_differs_and_why_and_counts(tmp_path: Path) -> None:
    study = read_study(packaged()["flls-table-5"])
    study = replace(study, data=study.data[:1], repeats=10)  # vote alone
    store = ResultStore(tmp_path, study)
    means = {"FLLS-I_SN": 0.9, "FLLS-I_SI": 0.69, "FLLS-I": 0.5}  # printed: .678, .682, .937
    for cell in study.cells():
        for seed, shift in enumerate((-0.001, 0.001) * 5):
            scores = {study.score: means[cell.learner] + shift, "label_rate": 0.1}
            store.runs[cell, seed] = TrialResult(scores, [], math.nan)
    found = {
        one.printed.algorithm: one for one in compare(study, store) if one.printed.dataset == "vote"
    }
    assert found["FLLS-I_SI"].verdict == "agrees"
    assert found["FLLS-I_SI"].reason == ""
    assert found["FLLS-I"].verdict == "differs"
    assert found["FLLS-I"].reason
    assert found["FLLS-I"].difference == pytest.approx(0.5 - 0.937)
    assert found["FLLS-I"].in_stds == pytest.approx((0.5 - 0.937) / 0.028)
    counts = count(compare(study, store))
    assert counts["differs, reason unknown"] == 0
    assert counts["no data"] == 3 * 5  # five data sets besides vote
    assert sum(counts.values()) == 18


def test_misprints_are_told_with_their_place() -> None:
    table = misprints()
    assert {row[0] for row in table.rows} == {"FLLS", "OLSF", "PAA", "FESL", "OLVF"}
    assert all(all(row) for row in table.rows)
