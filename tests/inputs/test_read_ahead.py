"""A large file is read ahead while its learner learns, to the results of line after line."""

import json
import os
import random
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

import pytest

import headwater as hw
from headwater.errors import EventFileError, LabelError
from headwater.types import FileRun

LINES = 12_000
BAD = 7_777
LEARNERS: list[Callable[[], hw.Learner]] = [hw.Spring, hw.FLLS, lambda: hw.Linear(max_features=40)]


@contextmanager
def one_core() -> Iterator[None]:
    """With one core nothing is read ahead."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


@pytest.fixture(scope="module")
def lines() -> list[str]:
    if not hasattr(os, "sched_setaffinity") or len(os.sched_getaffinity(0)) < 2:
        pytest.skip("reading ahead takes a second core")
    draws = random.Random(3)
    made = []
    for number in range(LINES):
        event = {f"sensor {i}": round(draws.gauss(0, 1), 4) for i in draws.sample(range(60), 6)}
        label = sum(event.values()) > 0
        made.append(json.dumps({"id": number, "y": label if number % 5 else None, **event}))
    return made


def written(folder: Path, lines: list[str]) -> Path:
    path = folder / "events.jsonl"
    path.write_text("\n".join(lines) + "\n")
    assert path.stat().st_size > 1 << 20, "too small to be read ahead"
    return path


@pytest.mark.parametrize("every_label", [False, True], ids=["asked", "every label"])
@pytest.mark.parametrize("make", LEARNERS, ids=["Spring", "FLLS", "Linear, limited"])
def test_runs_models_and_decisions_are_those_of_one_line_after_the_other(
    make: Callable[[], hw.Learner], every_label: bool, lines: list[str], tmp_path: Path
) -> None:
    path = written(tmp_path, lines)
    ahead, plain = make(), make()
    files = [tmp_path / "ahead.csv", tmp_path / "plain.csv"]

    def run(model: hw.Learner, decisions: Path) -> FileRun:
        verb = model.learn_file if every_label else model.simulate_file
        return verb(path, id="id", decisions=decisions)

    result = run(ahead, files[0])
    with one_core():
        assert result == run(plain, files[1])
    assert result.events == LINES
    assert ahead.to_bytes() == plain.to_bytes()
    assert files[0].read_bytes() == files[1].read_bytes()


@pytest.mark.parametrize("bad", ['{"y": true, "sensor 1": }', '{"y": "what", "sensor 1": 1}'])
def test_a_bad_line_ends_the_run_after_the_lines_before_it_or_is_skipped(
    bad: str, lines: list[str], tmp_path: Path
) -> None:
    path = written(tmp_path, [*lines[:BAD], bad, *lines[BAD:]])
    ahead, plain = hw.FLLS(), hw.FLLS()
    sentences = []
    runs: list[tuple[hw.Learner, AbstractContextManager[None]]]
    runs = [(ahead, nullcontext()), (plain, one_core())]
    for model, cores in runs:
        with cores, pytest.raises((EventFileError, LabelError)) as refused:
            model.simulate_file(path, id="id")
        sentences.append(str(refused.value))
    assert sentences[0] == sentences[1]
    assert f"line {BAD + 1}" in sentences[0]
    assert ahead.seen == plain.seen == BAD
    assert ahead.to_bytes() == plain.to_bytes()

    ahead, plain = hw.FLLS(), hw.FLLS()
    run = ahead.simulate_file(path, id="id", on_error="skip")
    with one_core():
        assert run == plain.simulate_file(path, id="id", on_error="skip")
    assert (run.events, run.skipped) == (LINES, 1)
    assert ahead.to_bytes() == plain.to_bytes()


def test_what_stops_the_progress_stops_the_run_after_a_whole_event(
    lines: list[str], tmp_path: Path
) -> None:
    path = written(tmp_path, lines * 8)
    model = hw.Spring()
    told: list[int] = []

    def progress(run: FileRun) -> None:
        told.append(run.events)
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        model.simulate_file(path, id="id", progress=progress)
    assert len(told) == 1
    assert 0 < told[0] == model.seen < 8 * LINES
    other = hw.Spring()
    (tmp_path / "part").mkdir()
    part = tmp_path / "part" / "events.jsonl"
    part.write_text("\n".join((lines * 8)[: model.seen]) + "\n")
    other.simulate_file(part, id="id")
    assert other.to_bytes() == model.to_bytes()
