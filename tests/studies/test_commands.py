"""`headwater study` and `headwater reproduce`: what they print, write and refuse."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from headwater.cli import main


def test_a_paper_whose_data_is_not_there_is_reported_as_such(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setenv("HEADWATER_DATA", str(tmp_path / "nothing"))
    arguments = ["reproduce", "all", "--out", str(tmp_path / "out"), "--jobs", "1"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    summary = (tmp_path / "out" / "summary.csv").read_text().splitlines()
    assert summary[0].startswith("paper,table,agrees,")
    assert summary[-1].startswith("all,,0,0,0,")
    page = (tmp_path / "out" / "reproduction.md").read_text()
    assert "## Misprints found in the papers" in page
    assert "`headwater reproduce all`" in page


def test_a_study_prints_its_tables_and_says_where_the_report_is(world: Path) -> None:
    pytest.importorskip("matplotlib")
    out = world / "out"
    arguments = ["study", str(world / "small.toml"), "--data", "numbers", "--repeats", "2"]
    result = CliRunner().invoke(main, [*arguments, "--jobs", "1", "--out", str(out)])
    assert result.exit_code == 0, result.output
    assert "numbers" in result.output
    assert "network" not in result.output
    assert str(out / "index.html") in result.output
    assert (out / "runs.jsonl").read_text().count("\n") == 2 * 2 * 2


def test_a_learner_whose_library_is_missing_is_said_to_be_left_out(tmp_path: Path) -> None:
    plan = tmp_path / "p.toml"
    plan.write_text(
        'title = "t"\nrepeats = 1\nbaseline = "Other"\n'
        'data.made = { source = "headwater.streams:ShortTexts", options = { events = 100 } }\n'
        'learners.PA = {}\nlearners.Other = { algorithm = "PA", needs = "no_such_module" }\n'
    )
    arguments = ["study", str(plan), "--jobs", "1", "--out", str(tmp_path / "out")]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    assert "Other is left out: it needs no_such_module." in result.output
    table = (tmp_path / "out" / "table.csv").read_text().splitlines()
    assert [line.split(",")[:3] for line in table[1:]] == [
        ["made", "PA", table[1].split(",")[2]],
        ["made", "Other", "needs no_such_module"],
    ]
    assert 0.4 < float(table[1].split(",")[2]) < 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["study", "none.toml"],
            "there is no file none.toml, and no study of that name; the package has",
        ),
        (["study", "recommended", "--data", "spam"], "no study here has spam"),
        (
            ["study", "recommended", "--data", "vote,wdbc"],
            "none of its data sets is there: vote, wdbc;",
        ),
        (["study", "recommended", "--repeats", "0"], "0 is not in the range x>=1"),
        (["study", "recommended", "--folder", "nowhere"], "Directory 'nowhere' does not exist"),
        (["reproduce", "fsll"], "'fsll' is not one of"),
        (["reproduce", "flls", "--table", "9"], "there is no study of flls's table 9"),
        (["reproduce", "flls", "--backend", "threads"], "'threads' is not one of"),
    ],
)
def test_a_mistake_is_a_sentence_and_exit_code_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], sentence: str
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2
    assert sentence in " ".join(result.output.split())
    assert "Traceback" not in result.output
    assert list(tmp_path.iterdir()) == []
