"""What commands write: whole files, output that is full, nobody who reads, terminals of old."""

import csv
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import headwater as hw

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="devices and pipes of POSIX")

COMMAND = [sys.executable, "-c", "from headwater.cli import main; main(prog_name='headwater')"]
LIMITED = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
from headwater.cli import main
main(prog_name="headwater")
"""
"""The command where no file may be longer than 20,000 bytes, as on a disk that is full."""
FULL = Path("/dev/full")
OLD = {"PYTHONIOENCODING": "ascii"}
POSIX_LOCALE = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}


def call(
    *arguments: object, env: dict[str, str] | None = None, code: str = COMMAND[2]
) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        env={**os.environ, **(env or {})},
        check=False,
    )


@pytest.fixture
def events(tmp_path: Path) -> Path:
    path = tmp_path / "events.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for n in range(2_000):
            event = {"id": f"Zähler {n} 😀", "größe": n % 7 - 3.0, "y": n % 7 > 3}
            print(json.dumps(event, ensure_ascii=False), file=file)
    return path


@pytest.fixture
def model(events: Path) -> Path:
    path = events.with_name("model.hw")
    learner = hw.Linear()
    learner.simulate_file(events, id="id")
    learner.save(path)
    return path


def arguments_of(command: str, model: Path, events: Path) -> list[object]:
    every: dict[str, list[object]] = {
        "predict": ["predict", model, events, "--id", "id"],
        "show": ["show", model],
        "run": ["run", events, "--id", "id"],
        "datasets": ["datasets"],
        "help": ["--help"],
    }
    return every[command]


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


# Predictions


@pytest.mark.parametrize("there", [False, True], ids=["new", "there"])
def test_a_full_disk_is_blamed_on_the_output_and_leaves_no_half_of_it(
    there: bool, model: Path, events: Path, tmp_path: Path
) -> None:
    out = tmp_path / "predictions.csv"
    if there:
        out.write_text("old")
    before = names(tmp_path)
    ended = call("predict", model, events, "--label", "y", "--id", "id", "--out", out, code=LIMITED)
    assert ended.returncode == 2
    assert ended.stderr == f"Error: {out}: File too large.\n".encode()
    assert names(tmp_path) == before
    assert not there or out.read_text() == "old"


def test_a_bad_line_leaves_no_half_of_the_predictions(
    model: Path, events: Path, tmp_path: Path
) -> None:
    with events.open("a") as file:
        file.write("{half")
    before = names(tmp_path)
    ended = call("predict", model, events, "--id", "id", "--out", tmp_path / "predictions.csv")
    assert ended.returncode == 2
    assert b"events.jsonl, line 2001" in ended.stderr
    assert names(tmp_path) == before


@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
@pytest.mark.parametrize("json_too", [[], ["--json"]], ids=["text", "json"])
@pytest.mark.parametrize("command", ["predict", "show", "run", "datasets", "help"])
def test_standard_output_that_is_full_is_a_sentence(
    command: str, json_too: list[str], model: Path, events: Path
) -> None:
    arguments = arguments_of(command, model, events)
    if command == "help" and json_too:
        pytest.skip("help is text")
    with FULL.open("wb") as full:
        ended = subprocess.run(
            [*COMMAND, *map(str, arguments), *json_too],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert b"Traceback" not in ended.stderr
    assert b"Exception ignored" not in ended.stderr
    assert b"standard output: No space left on device." in ended.stderr
    assert ended.returncode == 2


def test_predictions_may_go_to_a_pipe(model: Path, events: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "predictions.jsonl"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.extend(pipe.read_text("utf-8").splitlines()))
    reader.start()
    ended = call("predict", model, events, "--label", "y", "--id", "id", "--out", pipe)
    reader.join(60)
    assert ended.returncode == 0, ended.stderr
    assert len(read) == 2_000
    assert pipe.is_fifo()


def test_predictions_through_a_link_leave_the_link(
    model: Path, events: Path, tmp_path: Path
) -> None:
    target, link = tmp_path / "v1.csv", tmp_path / "latest.csv"
    target.write_text("old")
    target.chmod(0o600)
    link.symlink_to(target)
    ended = call("predict", model, events, "--label", "y", "--id", "id", "--out", link)
    assert ended.returncode == 0, ended.stderr
    assert link.is_symlink()
    assert target.stat().st_mode & 0o777 == 0o600
    assert target.read_text(encoding="utf-8").count("\n") == 2_001


# Models and decisions


def test_a_model_is_not_saved_to_a_pipe_or_a_read_only_file_and_nothing_is_run_before(
    events: Path, tmp_path: Path
) -> None:
    pipe, kept = tmp_path / "pipe.hw", tmp_path / "kept.hw"
    os.mkfifo(pipe)
    kept.write_bytes(b"old")
    kept.chmod(0o444)
    for path, said in ((pipe, "expected a regular file or a new name"), (kept, "it is read-only")):
        ended = call("run", events, "--id", "id", "--save", path)
        assert ended.returncode == 2
        assert f"--save: {path} cannot be written: {said}".encode() in ended.stderr
    assert pipe.is_fifo()
    assert kept.read_bytes() == b"old"


@pytest.mark.parametrize("suffix", ["parquet", "jsonl"])
def test_decisions_on_a_full_disk_name_the_output_and_end_with_a_whole_line(
    suffix: str, tmp_path: Path
) -> None:
    columns: dict[str, list[float]] = {
        "rain": [n % 7 for n in range(9_000)],
        "y": [n % 2 for n in range(9_000)],
    }
    file = tmp_path / f"events.{suffix}"
    if suffix == "parquet":
        pa = pytest.importorskip("pyarrow")
        pytest.importorskip("pyarrow.parquet").write_table(pa.table(columns), file)
    else:
        rows = zip(columns["rain"], columns["y"], strict=True)
        file.write_text("".join(json.dumps({"rain": x, "y": y}) + "\n" for x, y in rows))
    out = tmp_path / "decisions.csv"
    code = LIMITED.replace("20_000", "100_000")
    ended = call("run", file, "--decisions", out, "--save", tmp_path / "model.hw", code=code)
    assert ended.returncode == 2
    assert ended.stderr.startswith(f"Error: '{out}': the decisions cannot be written: ".encode())
    assert ended.stderr.endswith(b" Nothing was saved.\n")
    assert not (tmp_path / "model.hw").exists()
    text = out.read_text()
    assert 99_900 < len(text) <= 100_000
    assert text.endswith("\n")
    assert {len(row) for row in csv.reader(text.splitlines())} == {5}


# Terminals


@pytest.mark.parametrize("env", [OLD, POSIX_LOCALE], ids=["ascii", "LC_ALL=C"])
def test_a_terminal_that_lacks_characters_gets_escapes_and_programs_get_json(
    env: dict[str, str], model: Path, events: Path
) -> None:
    texts: list[list[object]] = [
        ["run", events, "--id", "id"],
        ["show", model],
        ["diff", model, model],
        ["datasets"],
        ["predict", model, events, "--id", "id"],
        ["show", events.with_name("größe.hw")],
        ["--help"],
    ]
    for arguments in texts:
        ended = call(*arguments, env=env)
        assert b"Traceback" not in ended.stderr, ended.stderr
        assert ended.returncode == (2 if "größe.hw" in str(arguments) else 0), ended.stderr
        assert ended.stdout.isascii()
    for arguments in (["run", events, "--id", "id"], ["show", model]):
        told = json.loads(call(*arguments, "--json", env=env).stdout)
        assert "größe" in {one["name"] for one in told["heaviest"]}
    lines = call("predict", model, events, "--id", "id", "--json", env=env).stdout.splitlines()
    assert json.loads(lines[7])["id"] == "Zähler 7 😀"


def test_a_file_whose_name_is_no_text_is_a_sentence(tmp_path: Path) -> None:
    name = os.fsdecode(b"\xff.jsonl")
    ended = call("run", tmp_path / name)
    assert ended.returncode == 2
    assert b"Traceback" not in ended.stderr
    assert rb"\udcff.jsonl: No such file or directory." in ended.stderr


@pytest.mark.parametrize("command", ["show", "run", "datasets", "predict"])
def test_nobody_who_reads_is_no_traceback(command: str, model: Path, events: Path) -> None:
    arguments = arguments_of(command, model, events)
    read, write = os.pipe()
    os.close(read)
    ended = subprocess.run(
        [*COMMAND, *map(str, arguments)], stdout=write, stderr=subprocess.PIPE, check=False
    )
    os.close(write)
    assert ended.stderr == b""
    assert ended.returncode == 1
