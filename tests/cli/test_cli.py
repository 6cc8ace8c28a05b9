"""The command line: what it prints, what it writes, how it refuses."""

import shutil
import subprocess
import sys
import sysconfig
from importlib.metadata import version
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from headwater.cli import COMMANDS, Commands, main
from headwater.cli.outputs import check_writable
from headwater.demo.five_learners import NAMES
from headwater.errors import ParameterError


def test_help_names_the_commands_without_importing_any() -> None:
    result = CliRunner().invoke(main, ["--help"])
    assert result.exit_code == 0
    for name in COMMANDS:
        assert f"\n  {name} " in result.output
    code = (
        "import sys, click.testing, headwater.cli as cli\n"
        "click.testing.CliRunner().invoke(cli.main, ['--help'])\n"
        "sys.exit(any(f'headwater.cli.{name}' in sys.modules for name in cli.COMMANDS))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_s_line_in_the_list_is_the_first_of_its_own_help(name: str) -> None:
    command = main.get_command(click.Context(main), name)
    assert command is not None
    assert command.help is not None
    assert command.help.split("\n\n")[0].replace("\n", " ") == f"{COMMANDS[name]}."


def test_the_version_is_that_of_the_package() -> None:
    result = CliRunner().invoke(main, ["--version"])
    assert result.exit_code == 0
    assert version("headwater") in result.output


def test_the_demo_prints_its_tables_and_writes_its_page(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    out = tmp_path / "page.html"
    result = CliRunner().invoke(
        main, ["demo", "--events", "1500", "--seed", "1", "--out", str(out)]
    )
    assert result.exit_code == 0, result.output
    for name in NAMES:
        assert name in result.output
    assert "balanced" in result.output
    assert "installed at event" in result.output
    assert "headwater demo --seed 1 --events 1500" in out.read_text(encoding="utf-8")


def test_without_matplotlib_only_the_page_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    out = tmp_path / "page.html"
    result = CliRunner().invoke(main, ["demo", "--events", "1000", "--out", str(out)])
    assert result.exit_code == 0, result.output
    assert "No page was written: its picture needs matplotlib" in result.output
    assert "false" in result.output
    assert not out.exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--events", "10"], "10 is not in the range x>=1000"),
        (["--events", "many"], "'many' is not a valid integer"),
        (["--seed", "-1"], "-1 is not in the range"),
        (["--out", "missing-folder/page.html"], "cannot be written: No such file or directory."),
        (["--out", "."], "cannot be written: Is a directory."),
    ],
)
def test_a_mistake_of_the_user_is_a_sentence_and_exit_code_2_before_any_work(
    arguments: list[str], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    endless = ["--events", "1000000000000"]  # a demo that began would never come back
    result = CliRunner().invoke(main, ["demo", *endless, *arguments])
    assert result.exit_code == 2
    assert sentence in " ".join(result.output.split())
    assert "Traceback" not in result.output


def test_an_unknown_command_is_a_sentence_and_exit_code_2() -> None:
    result = CliRunner().invoke(main, ["dmeo"])
    assert result.exit_code == 2
    assert "there is no command 'dmeo'; did you mean demo?" in result.output


def test_an_error_of_the_package_is_its_sentence_and_exit_code_2() -> None:
    @click.group(cls=Commands)
    def commands() -> None:
        pass

    @commands.command()
    def refuse() -> None:
        raise ParameterError("FLLS: kept_share must be in (0, 1], got 0.")

    result = CliRunner().invoke(commands, ["refuse"])
    assert result.exit_code == 2
    assert result.output == "Error: FLLS: kept_share must be in (0, 1], got 0.\n"


def test_checking_where_the_page_will_go_leaves_nothing_and_harms_nothing(tmp_path: Path) -> None:
    new, old = tmp_path / "new.html", tmp_path / "old.html"
    old.write_text("precious")
    check_writable(new)
    check_writable(old)
    assert not new.exists()
    assert old.read_text() == "precious"


def test_the_installed_command_runs(tmp_path: Path) -> None:
    command = shutil.which("headwater", path=sysconfig.get_path("scripts"))
    assert command is not None
    finished = subprocess.run(
        [command, "demo", "--events", "1000"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    assert NAMES[-1] in finished.stdout
    assert finished.stderr == ""


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["rn", "days.csv"], "there is no command 'rn'; did you mean run?"),
        (["days.csv"], "there is no command 'days.csv'; to begin with this file: headwater init"),
        (["help"], "help is given by headwater --help"),
        (["zzz"], "there is no command 'zzz'."),
    ],
)
def test_a_command_that_does_not_exist_gets_one_line(
    words: list[str], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "days.csv").write_text("rain,y\n1,0\n")
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 2
    assert sentence in result.output
    assert len(result.output.splitlines()) == 1


def test_ranks_of_a_single_data_set_are_missing_with_a_sentence(tmp_path: Path) -> None:
    pytest.importorskip("joblib")
    study = tmp_path / "one.toml"
    study.write_text(
        """
title = "One data set"
repeats = 1
data.sensors = { source = "headwater.streams:SensorNetwork", options = { events = 200 } }
learners.PAA = {}
"""
    )
    out = str(tmp_path / "out")
    result = CliRunner().invoke(main, ["study", str(study), "--ranks", "--jobs", "1", "--out", out])
    assert result.exit_code == 0, result.output
    assert "--ranks: there is nothing to rank" in result.output
