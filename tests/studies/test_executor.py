"""Running a study: the same numbers for any number of jobs, after a crash, on Dask."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from headwater.studies.executor import execute
from headwater.studies.plan_file import read_study
from headwater.studies.results import ResultStore
from headwater.studies.study import carry_out

pytest.importorskip("joblib")
pytest.importorskip("matplotlib")

SAME = (
    *("choices.jsonl", "runs.jsonl", "table.csv", "pairs.csv", "labels-needed.csv"),
    *("report.md", "index.html", "plan.json"),
)
"""What a study writes, times and machine apart."""


def contents(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in SAME}


def test_the_number_of_jobs_does_not_change_a_byte(world: Path) -> None:
    study = read_study(world / "small.toml")
    carry_out(study, world / "one", jobs=1)
    carry_out(study, world / "two", jobs=2)
    assert contents(world / "one") == contents(world / "two")


def test_a_learner_preprocessed_by_itself_runs_as_in_a_study_preprocessed_so(world: Path) -> None:
    study = read_study(world / "small.toml")
    prepared = tuple(replace(plan, preprocess="unit") for plan in study.learners[:1])
    mixed, alone = ResultStore(world / "mixed", study), ResultStore(world / "alone", study)
    study = replace(study, data=study.data[1:], repeats=2, compare="", reach=0.0)
    execute(replace(study, learners=(*prepared, study.learners[1])), mixed)
    execute(replace(study, learners=study.learners[:1], preprocess="unit"), alone)
    raw = ResultStore(world / "raw", study)
    execute(study, raw)
    for (cell, seed), outcome in alone.runs.items():
        assert mixed.runs[cell, seed].scores == outcome.scores
        assert raw.runs[cell, seed].scores != outcome.scores
    for cell, seed in mixed.runs:
        if cell.learner == "cautious":
            assert mixed.runs[cell, seed].scores == raw.runs[cell, seed].scores


def test_dask_with_two_workers_gives_the_same_bytes(world: Path) -> None:
    distributed = pytest.importorskip("distributed")
    study = read_study(world / "small.toml")
    carry_out(study, world / "here")
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
    )
    with cluster, distributed.Client(cluster):
        carry_out(study, world / "dask", jobs=2, backend="dask")
    assert contents(world / "here") == contents(world / "dask")


def run(world: Path, out: str) -> "subprocess.Popen[bytes]":
    code = "from headwater.cli import main; main()"
    return subprocess.Popen(
        [sys.executable, "-c", code, "study", "long.toml", "--jobs", "2", "--out", out],
        cwd=world,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def test_a_study_that_was_killed_goes_on_where_it_was(world: Path) -> None:
    text = (world / "small.toml").read_text().replace("repeats = 3", "repeats = 20")
    (world / "long.toml").write_text(text)
    killed = run(world, "killed")
    runs = world / "killed" / "runs.jsonl"
    deadline = time.monotonic() + 60
    while not (runs.exists() and runs.stat().st_size > 2_500):
        assert killed.poll() is None, "it ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.wait()
    assert not (world / "killed" / "table.csv").exists(), "it was not in the middle"
    before = runs.read_bytes()
    assert run(world, "killed").wait() == 0
    assert runs.read_bytes().count(b"\n") == 2 * 2 * 2 * 20
    kept = before[: before.rfind(b"\n") + 1].splitlines()
    assert set(kept) <= set(runs.read_bytes().splitlines()), "what was done was done again"
    assert run(world, "whole").wait() == 0
    assert contents(world / "killed") == contents(world / "whole")


def test_what_is_there_already_is_not_run_again(world: Path) -> None:
    study = read_study(world / "small.toml")
    carry_out(study, world / "out")
    times = (world / "out" / "times.jsonl").read_bytes()
    carry_out(study, world / "out")
    assert (world / "out" / "times.jsonl").read_bytes() == times
    carry_out(replace(study, repeats=4), world / "out")
    more = (world / "out" / "times.jsonl").read_bytes()
    assert more.startswith(times)
    assert more.count(b"\n") - times.count(b"\n") == 2 * 2 * 2


def test_a_cell_whose_plan_changed_is_run_again_and_others_are_not(world: Path) -> None:
    study = read_study(world / "small.toml")
    store = ResultStore(world / "out", study)
    execute(study, store)
    changed = (world / "small.toml").read_text().replace("C = [0.1, 1]", "C = [0.1, 2]")
    (world / "small.toml").write_text(changed)
    again = ResultStore(world / "out", read_study(world / "small.toml"))
    assert {cell.learner for cell, _ in again.runs} == {"cautious"}
    assert len(again.runs) == 2 * 2 * 3


def test_a_line_that_a_crash_cut_off_is_forgotten(world: Path) -> None:
    study = read_study(world / "small.toml")
    carry_out(study, world / "out")
    whole = contents(world / "out")
    runs = world / "out" / "runs.jsonl"
    runs.write_bytes(runs.read_bytes()[:-30])
    carry_out(study, world / "out")
    assert contents(world / "out") == whole
