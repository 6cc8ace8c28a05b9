"""A stranger's own file: `init`, `run`, `show`, `predict`, as the documentation shows them."""

import csv
import json
import re
import shlex
import time
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from click.testing import CliRunner, Result

import headwater as hw
from headwater.cli import COMMANDS, main

DOCS = Path(__file__).parents[2] / "docs" / "tutorial"
PAGE = DOCS / "your-own-file.md"
README = Path(__file__).parents[2] / "README.md"
MACHINES = DOCS / "machines.csv"


def call(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(a) for a in arguments], prog_name="headwater")


def rows() -> list[dict[str, Any]]:
    with MACHINES.open(newline="", encoding="utf-8") as file:
        listed: list[dict[str, Any]] = [
            {k: v or None for k, v in row.items()} for row in csv.DictReader(file)
        ]
    for row in listed:
        row["vibration"] = None if row["vibration"] is None else float(row["vibration"])
    return listed


def write(path: Path) -> None:
    if path.suffix == ".csv":
        path.write_bytes(MACHINES.read_bytes())
    elif path.suffix == ".jsonl":
        lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows())
        path.write_text("".join(lines), encoding="utf-8")
    else:
        pq.write_table(pa.Table.from_pylist(rows()), path)


@pytest.mark.parametrize(
    ("page", "fewest"), [(PAGE, 5), (README, 3)], ids=["your-own-file.md", "README.md"]
)
def test_the_page_shows_what_the_commands_print(
    page: Path, fewest: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    write(tmp_path / "machines.csv")
    began, commands = time.monotonic(), 0
    for block in re.findall(r"^```console\n(.*?)^```$", page.read_text("utf-8"), re.M | re.S):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, expected = part.partition("\n")
            commands += 1
            name, *arguments = shlex.split(command)
            if name == "headwater":
                shown = call(*arguments).output
            else:
                assert name == "cat"
                shown = Path(arguments[0]).read_text("utf-8")
            lines = [line.rstrip() for line in shown.splitlines() if line.strip()]
            listed = [line.rstrip() for line in expected.splitlines() if line.strip()]
            if "..." in listed:
                listed, lines = listed[: listed.index("...")], lines[: listed.index("...")]
            assert lines == listed, command
    assert commands >= fewest
    assert time.monotonic() - began < 60, "five minutes are for reading"


@pytest.mark.parametrize("flag", [[], ["--simulate"]], ids=["every label", "--simulate"])
def test_the_same_file_by_every_format_gives_the_same_bytes(
    flag: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    models, decisions, predictions, roles = set(), set(), set(), set()
    for suffix in ("csv", "jsonl", "parquet"):
        file = f"machines.{suffix}"
        write(tmp_path / file)
        assert call("init", file, "--label", "faulty", "--force").exit_code == 0
        roles.add(Path("headwater.toml").read_text().replace(file, ""))
        classes = ["--set", "classes=no,yes"]
        run = call("run", file, "--save", "m.hw", "--decisions", "d.csv", *classes, *flag)
        assert run.exit_code == 0, run.output
        assert "The roles of columns come from headwater.toml." in run.stderr
        models.add(Path("m.hw").read_bytes())
        decisions.add(Path("d.csv").read_bytes())
        Path("headwater.toml").unlink()  # the model knows
        predicted = call("predict", "m.hw", file)
        assert predicted.exit_code == 0
        assert predicted.stderr == ""
        predictions.add(predicted.stdout)
    assert len(models) == len(decisions) == len(predictions) == len(roles) == 1
    names = {str(f.name) for f in hw.from_bytes(models.pop()).features()}
    assert {"temperature", "plant_code=0101", "line=north"} <= names
    assert any(name.startswith("note:") for name in names)
    assert not [n for n in names if n.startswith(("measured", "event_id", "faulty"))]


def test_the_label_is_no_feature_at_predict_and_its_absence_is_fine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "machines.csv")
    roles = ["--label", "faulty", "--time", "measured", "--id", "event_id", "--text", "note"]
    roles += ["--number", "temperature", "--category", "plant_code"]
    learner = ["--set", "classes=no,yes"]
    assert call("run", "machines.csv", "--save", "m.hw", *roles, *learner).exit_code == 0
    with_label = call("predict", "m.hw", "machines.csv").stdout
    listed = rows()
    lines = (json.dumps({k: v for k, v in row.items() if k != "faulty"}) + "\n" for row in listed)
    Path("unlabelled.jsonl").write_text("".join(lines))
    assert call("predict", "m.hw", "unlabelled.jsonl").stdout == with_label
    told = call("predict", "m.hw", "machines.csv", "--label", "vibration")
    assert "trained on the label 'faulty', which is a feature here" in told.stderr
    assert "--label faulty or --ignore faulty" in told.stderr
    shown = json.loads(call("show", "m.hw", "--json").stdout)
    assert shown["columns"]["label"] == "faulty"
    assert shown["columns"]["units"] == {"temperature": "°C"}


def test_options_replace_what_the_config_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "machines.csv")
    call("init", "machines.csv", "--label", "faulty", "--out", "roles.toml")
    common = ["run", "machines.csv", "--config", "roles.toml", "--set", "classes=no,yes"]
    call(*common, "--ignore", "note,line", "--time-features", "hour,since_last", "--save", "m.hw")
    kept = hw.load("m.hw").columns
    assert kept is not None
    assert (kept.ignore, kept.text) == (("note", "line"), ())
    assert kept.time_features == ("hour", "since_last")
    names = {str(f.name) for f in hw.load("m.hw").features()}
    assert "measured.since_last" in names
    assert not [n for n in names if n.startswith(("note", "line"))]


WRONG = [
    (["init", "-"], "init: it looks at a file; standard input can be read once only."),
    (["init", "nowhere.csv"], "nowhere.csv: No such file or directory."),
    (["init", "empty.csv"], "empty.csv: it is empty; expected a header with the names."),
    (["init", "empty.jsonl"], "empty.jsonl: it is empty; there are no events."),
    (["init", "a.svm"], "init: svmlight has no columns, so there are no roles to give."),
    (["init", "machines.csv", "--label", "flt"], "--label: there is no column 'flt'; there are"),
    (["init", "machines.csv", "--out", "old.toml"], "old.toml is there already; --force replaces"),
    (["init", "machines.csv", "--out", "machines.csv"], "--out: machines.csv is also read here"),
    (
        ["run", "machines.csv", "--label", "faulty", "--time", "line"],
        "column 'line' must hold times",
    ),
    (
        ["run", "machines.csv", "--label", "faulty", "--ignore", "nota"],
        "there is no column 'nota'; its header has",
    ),
    (["run", "machines.csv", "--label", "line", "--text", "line"], "'line' has two roles"),
    (
        ["run", "machines.csv", "--label", "faulty", "--number", "note"],
        "column 'note' must hold numbers, got",
    ),
    (["run", "machines.csv", "--decimal", ";"], "decimal must be ',' or '.', got ';'."),
    (["run", "machines.csv", "--time-features", "hour"], "time_features need a column with the"),
    (["run", "machines.csv", "--config", "gone.toml"], "gone.toml: No such file or directory."),
    (
        ["run", "machines.csv", "--config", "bad.toml"],
        "there is no key 'lable'; did you mean label.",
    ),
    (["run", "a.svm", "--text", "a"], "svmlight has no columns, so there are no roles to give."),
    (["run", "machines.csv", "--label", "faulty"], "--set classes=NEGATIVE,POSITIVE"),
]


@pytest.mark.parametrize(("arguments", "sentence"), WRONG, ids=[" ".join(row[0]) for row in WRONG])
def test_a_wrong_role_is_a_sentence_and_exit_code_2(
    arguments: list[str], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "machines.csv")
    small = {
        "empty.csv": "",
        "empty.jsonl": "",
        "a.svm": "1 1:1\n",
        "old.toml": "",
        "bad.toml": "[columns]\nlable = 'y'\n",
    }
    for name, text in small.items():
        Path(name).write_text(text)
    result = call(*arguments)
    assert result.exit_code == 2, result.output
    assert sentence in " ".join(result.stderr.split())
    assert Path("old.toml").read_text() == ""


def test_columns_that_were_meant_otherwise_are_named_with_the_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "machines.csv")
    result = call("run", "machines.csv", "--label", "faulty", "--set", "classes=no,yes")
    assert result.exit_code == 0
    for cure in ("--time measured or --ignore measured", "--number temperature", "--text note"):
        assert cure in result.stderr, cure
    assert "holds ever new texts" in result.stderr
    jsonl = call("run", "machines.csv", "--label", "faulty", "--set", "classes=no,yes", "--json")
    kinds = {found["column"]: found["kind"] for found in json.loads(jsonl.stdout)["findings"]}
    assert kinds["measured"] == "times"
    assert kinds["event_id"] == "ever_new"


def test_help_has_an_example_and_the_most_useful_options_first() -> None:
    for name in COMMANDS:
        if name != "datasets":  # a group
            text = call(name, "--help").stdout
            assert "Example:\n  headwater " in text, name
    text = call("run", "--help").stdout
    first, _, more = text.partition("More options:")
    listed = re.findall(r"^  (--[a-z-]+)", first, re.M)
    assert len(listed) == 12
    assert "--seed" in more
    assert "headwater init FILE" in call("--help").stdout


def test_init_sums_up_many_columns_of_numbers_and_names_the_only_column_of_two_values(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    event = {f"sensor-{n:03d}": n + 0.5 for n in range(100)}
    lines = [json.dumps(event | {"incident": n % 3 == 0}) for n in range(9)]
    (tmp_path / "wide.jsonl").write_text("\n".join(lines))
    finished = call("init", "wide.jsonl")
    assert finished.exit_code == 0, finished.stderr
    listed = finished.stdout.splitlines()
    assert "  and 80 more features that are numbers" in listed
    assert sum(line.startswith("  sensor-") for line in listed) == 20
    assert "which one is the label (incident has two values)?" in finished.stdout
    assert listed[-1] == "Next: headwater init wide.jsonl --label incident --force"
    assert "and 81 more" in (tmp_path / "headwater.toml").read_text()
