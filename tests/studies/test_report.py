"""Reports: the tables, the page, what few labels are enough for."""

import json
import math
from pathlib import Path
from xml.etree import ElementTree

import pytest

from headwater.studies.figures import figure
from headwater.studies.plan import LabelDelivery
from headwater.studies.plan_file import read_study
from headwater.studies.report import as_html, as_markdown, crossing, spoken, tables, telling
from headwater.studies.results import ResultStore
from headwater.studies.study import write_report
from headwater.studies.trial import TrialResult
from headwater.types import TextTable

STUDY = """
title = "T"
data = ["vote", "wdbc"]
score = "accuracy"
label_rates = [0.05, 0.1]
repeats = 3
figure = "rates"
compare = "PAA"
reach = 0.1
[learners.PAA]
[learners.RPA]
"""
MEANS = {  # data, learner, rate
    ("vote", "PAA", 0.05): 0.80,
    ("vote", "PAA", 0.1): 0.85,
    ("vote", "RPA", 0.05): 0.82,
    ("vote", "RPA", 0.1): 0.92,
    ("wdbc", "PAA", 0.05): 0.80,
    ("wdbc", "PAA", 0.1): 0.90,
    ("wdbc", "RPA", 0.05): 0.70,
    ("wdbc", "RPA", 0.1): 0.75,
}


@pytest.fixture
def store(tmp_path: Path) -> ResultStore:
    (tmp_path / "t.toml").write_text(STUDY)
    store = ResultStore(tmp_path / "out", read_study(tmp_path / "t.toml"))
    for cell in store.study.cells():
        assert cell.labels == LabelDelivery()
        assert cell.rate is not None
        mean = MEANS[cell.data, cell.learner, cell.rate]
        for seed, shift in enumerate((-0.01, 0.0, 0.01)):
            twist = shift if cell.learner == "PAA" else shift / 2
            scores = {"accuracy": mean + twist, "label_rate": cell.rate}
            store.runs[cell, seed] = TrialResult(scores, [], math.nan)
    return store


def test_learners_are_compared_pair_by_pair_and_by_the_labels_they_need(store: ResultStore) -> None:
    pairs, level, needed, numbers = tables(store.study, store)
    assert pairs.table.head == (
        *("algorithm", "asked %", "data sets", "mean", "PAA", "difference", "better", "worse"),
        *("p", "Holm p"),
    )
    # At 5 % RPA is better by .02 on vote (t = .02/(.005/√3) = 6.9, p = .02) and worse on wdbc.
    assert pairs.table.rows == (
        ("RPA", "5", "2", "0.760", "0.800", "-0.040", "1", "1", "1", "1"),
        ("RPA", "10", "2", "0.835", "0.875", "-0.040", "1", "1", "1", "1"),
    )
    # Against PAA at 10 %, whose means are .85 and .90, RPA at 5 % is worse on both.
    assert level.table.rows == (
        ("RPA", "5", "2", "0.760", "0.875", "-0.115", "0", "2", "0.5", "1"),
        ("RPA", "10", "2", "0.835", "0.875", "-0.040", "1", "1", "1", "1"),
    )
    # On vote RPA reaches .85 at .05 + .05·(.85 − .82)/(.92 − .82) = 6.5 %.
    assert needed.table.rows == (
        ("vote", "0.850", "10.0", "6.5"),
        ("wdbc", "0.900", "10.0", "not reached"),
        ("median", "", "", "not reached"),
    )
    assert numbers.table.rows[0] == ("vote", "PAA", "0.800", "0.010", "0.006", "5.00")


def test_the_figure_has_a_panel_a_data_set_and_a_line_a_learner(store: ResultStore) -> None:
    pytest.importorskip("matplotlib")
    svg = figure(store.study, store)
    for word in ("vote", "wdbc", "PAA", "RPA", "labels asked for, %"):
        assert word in svg
    assert figure(store.study, store) == svg


def test_a_curve_reaches_a_level_at_its_first_crossing() -> None:
    curve = [(0.1, 0.5), (0.2, 0.7), (0.3, 0.6), (0.4, 0.9)]
    assert crossing(curve, 0.5) == 0.1
    assert crossing(curve, 0.6) == pytest.approx(0.15)
    assert crossing(curve, 0.8) == pytest.approx(0.3 + 0.1 * 2 / 3)
    assert math.isnan(crossing(curve, 0.95))


def test_columns_that_say_nothing_are_left_out() -> None:
    table = TextTable(("data set", "stream", "n"), (("a", "s", "1"), ("b", "s", "1")))
    assert telling(table).head == ("data set", "n")


def test_text_that_means_something_to_html_or_markdown_is_shielded() -> None:
    table = TextTable(("reason",), (("a < b | c",),))
    assert "a &lt; b" in as_html(table)
    assert "a < b \\| c" in as_markdown(table)


STRANGE = """"<i>&'$x^2$[/b] \\\\1"""
"""A name that means something to HTML, to TeX, to rich's markup and to regular expressions."""


def test_strange_names_stand_in_the_page_and_its_figure_as_they_are(
    store: ResultStore, tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    quoted = json.dumps(STRANGE)
    text = STUDY.replace('"T"', quoted).replace("[learners.RPA]", f"[learners.{quoted}]")
    text = text.replace('data = ["vote", "wdbc"]', f"data.{quoted} = 'vote'")
    (tmp_path / "strange.toml").write_text(text + "algorithm = 'RPA'\nprinted = " + quoted)
    study = read_study(tmp_path / "strange.toml")
    other = ResultStore(tmp_path / "strange", study)
    for cell in study.cells():
        for seed in range(3):
            scores = {"accuracy": 0.5 + seed / 10, "label_rate": cell.rate or 0.0}
            other.runs[cell, seed] = TrialResult(scores, [], math.nan)
    svg = ElementTree.fromstring(figure(study, other))
    assert svg.get("aria-label") == STRANGE
    assert sum("".join(one.itertext()).strip() == STRANGE for one in svg.iter()) >= 2
    write_report(study, other, {})
    html = (tmp_path / "strange/index.html").read_text(encoding="utf-8")
    assert "<i>" not in html
    for form, closed in (
        ("<!doctype html>", ""),
        ('"utf-8">', '"utf-8"/>'),
        ('scale=1">', 'scale=1"/>'),
        ("<details open>", "<details>"),
    ):
        html = html.replace(form, closed)
    page = ElementTree.fromstring(html)
    titles = [one.text for one in page.iter() if one.tag in ("title", "h1")]
    assert titles == [STRANGE, STRANGE]
    cells = ["".join(one.itertext()) for one in page.iter("td")]
    assert STRANGE in cells


def test_counts_are_spoken_in_words() -> None:
    said = {"agrees": 1, "differs, reason known": 2, "differs, reason unknown": 1, "no data": 0}
    assert spoken(said) == (
        "1 agrees, 2 differ for a known reason, 1 differs and we do not know why"
    )
