"""The study of the honest interval runs without data and gives the same results again."""

import importlib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

STUDIES = Path(__file__).parent.parent / "studies"


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(STUDIES))
    module = importlib.import_module("honest_quality")
    monkeypatch.setattr(module, "NETWORK_EVENTS", 300)
    monkeypatch.setattr(module, "RATES", (0.1, 0.2))
    return module


def test_it_prints_a_line_a_rule_rate_and_data_set(
    study: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HEADWATER_DATA", raising=False)
    printed = CliRunner().invoke(study.main, ["--repeats", "2", "--jobs", "1"])
    assert printed.exit_code == 0, printed.output
    lines = [text for text in printed.stdout.splitlines() if text.startswith("|")]
    assert len(lines) == 2 * 2 + 2 * len(study.RULES) * 2  # two heads; both tables
    assert sum("| network |" in text for text in lines) == len(study.RULES) * 2
    assert all(text.count("|") == lines[0].count("|") for text in lines[:10])


def test_a_case_gives_the_same_results_again(study: Any) -> None:
    case = study.Case(None, "network", 5)
    first = study.run_case(case)
    study.rule.cache_clear()
    assert first == study.run_case(case)
    assert {audit for *_, audit in first} == set(study.AUDITS)
    assert all(0 < result.width <= 1 for result in first.values())
