"""`headwater run --save` keeps what was learned, however it is stopped."""

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import headwater as hw
from effort import FULL

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")

COMMAND = [sys.executable, "-c", "from headwater.cli import main; main()"]
KILLS = 500 if FULL else 15


@pytest.fixture(scope="module")
def lines() -> list[bytes]:
    """Events of a file."""
    return [
        json.dumps({"rain": (n % 7) - 3.0, f"place {n % 50}": 1.0, "y": n % 7 > 3}).encode() + b"\n"
        for n in range(3_000)
    ]


def start(saved: Path, *more: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [*COMMAND, "run", "-", "--format", "jsonl", "--save", str(saved), *more],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def run_until_stopped(
    lines: list[bytes], saved: Path, signals: list[int], pause: float
) -> tuple[int, Any, str]:
    """Give it the lines, send the signals while it waits for more; exit code, summary, notes."""
    running = start(saved, "--json")
    assert running.stdin is not None
    for line in lines:
        running.stdin.write(line)
    running.stdin.flush()
    time.sleep(1.0)
    for number in signals:
        running.send_signal(number)
        time.sleep(pause)
    try:
        running.wait(20)  # its input stays open
    finally:
        running.kill()
    out, err = running.communicate()
    return running.returncode, json.loads(out or b"null"), err.decode()


@pytest.mark.parametrize(
    ("signals", "exit_code"),
    [
        ([signal.SIGINT], 130),
        ([signal.SIGINT] * 8, 130),
        ([signal.SIGTERM], 143),
        ([signal.SIGTERM] * 3, 143),
        ([signal.SIGTERM, signal.SIGINT], 143),
    ],
    ids=["Ctrl-C", "eight Ctrl-C", "SIGTERM", "three SIGTERM", "both"],
)
def test_what_was_learned_is_saved_and_summed_up(
    signals: list[int], exit_code: int, lines: list[bytes], tmp_path: Path
) -> None:
    saved = tmp_path / "saved.hw"
    code, summary, notes = run_until_stopped(lines, saved, signals, 0.02)
    assert (code, notes) == (exit_code, "Stopped before the end.\n")
    assert summary["stopped"]
    assert summary["events"] > 0
    model = hw.Spring()
    done = tmp_path / "done.jsonl"
    done.write_bytes(b"".join(lines[: summary["events"]]))
    model.learn_file(done, columns=hw.Columns(label="y"))
    assert saved.read_bytes() == model.to_bytes()


def test_a_signal_just_after_a_report_is_heard_though_no_input_comes(
    lines: list[bytes], tmp_path: Path
) -> None:
    running = start(tmp_path / "saved.hw")
    assert running.stdin is not None
    chance = random.Random(2)
    for line in lines[:200]:
        running.stdin.write(line)
        running.stdin.flush()
        time.sleep(0.004)
    time.sleep(chance.uniform(0, 0.1))
    running.send_signal(signal.SIGTERM)
    try:
        assert running.wait(20) == 143
    finally:
        running.kill()
        running.communicate()
    assert hw.load(tmp_path / "saved.hw").learned > 0


def test_stopped_before_the_first_event_it_leaves_the_old_model_alone(tmp_path: Path) -> None:
    saved = tmp_path / "saved.hw"
    saved.write_bytes(b"old")
    running = start(saved)
    assert running.stdin is not None
    running.stdin.write(b'{"rain": ')  # not even a whole one
    running.stdin.flush()
    time.sleep(1.5)
    running.send_signal(signal.SIGINT)
    try:
        assert running.wait(20) == 130
    finally:
        running.kill()
        _, err = running.communicate()
    assert err == b"Stopped before the first event; nothing was saved.\n"
    assert saved.read_bytes() == b"old"


def test_a_signal_while_it_saves_does_not_lose_the_model(
    lines: list[bytes], tmp_path: Path
) -> None:
    """The run has come to its end, and is saved as if nothing had happened."""
    code = """
import os, signal
from headwater.learners import base
from headwater.cli import main

real = base.write_file
def slow(path, data):
    for number in (signal.SIGINT, signal.SIGTERM) * 4:
        os.kill(os.getpid(), number)
    real(path, data)
base.write_file = slow
main()
"""
    events, saved = tmp_path / "events.jsonl", tmp_path / "saved.hw"
    events.write_bytes(b"".join(lines))
    finished = subprocess.run(
        [sys.executable, "-c", code, "run", str(events), "--save", str(saved)],
        capture_output=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    assert hw.load(saved).learned == len(lines)


def test_a_run_killed_at_any_time_leaves_the_old_model_or_the_new_one(
    lines: list[bytes], tmp_path: Path
) -> None:
    events, saved = tmp_path / "events.jsonl", tmp_path / "saved.hw"
    events.write_bytes(b"".join(lines))
    command = [*COMMAND, "run", str(events), "--save", str(saved)]
    begun = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    whole_run = time.monotonic() - begun
    new = saved.read_bytes()
    old = hw.PAA().to_bytes()
    chance = random.Random(3)
    found = {old: 0, new: 0}
    for _ in range(KILLS):
        saved.write_bytes(old)
        running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        time.sleep(chance.uniform(0.5, 1.1) * whole_run)
        running.kill()
        running.communicate()
        found[saved.read_bytes()] += 1
        hw.PAA().save(tmp_path / "other.hw")
        assert {path.name for path in tmp_path.iterdir()} == {
            "events.jsonl",
            "saved.hw",
            "other.hw",
        }
    assert found.keys() == {old, new}
    print(f"{KILLS} kills: old {found[old]}, new {found[new]}")
