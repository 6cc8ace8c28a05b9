"""One lock a learner: threads lose nothing, batches let others run, Ctrl-C stops between events."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import numpy as np
import pytest

import headwater as hw
from headwater.errors import AnswerError

PATIENCE = 30.0
"""Seconds after which something that should have ended counts as hanging."""

FEATURES = 5_000


def slow_learner() -> hw.Learner:
    """A learner whose every step costs O(d): a batch of it takes a while and needs no memory."""
    model = hw.named("OLSF-I-rand")
    model.learn_one({column: 1.0 for column in range(FEATURES)}, True)
    return model


def batch(length: int) -> tuple[hw.Rows, Any]:
    """Events of one feature each."""
    rng = np.random.default_rng(0)
    columns = rng.integers(0, FEATURES, length).astype(np.int32)
    rows = hw.Rows(np.arange(length + 1), columns, rng.normal(size=length), range(FEATURES))
    return rows, rng.random(length) < 0.5


def run_together(*tasks: Callable[[], object]) -> None:
    """Run each task in a thread of its own, all starting at once; fail if one hangs or raises."""
    barrier = Barrier(len(tasks))
    raised: list[BaseException] = []

    def run(task: Callable[[], object]) -> None:
        barrier.wait()
        try:
            task()
        except BaseException as error:
            raised.append(error)

    threads = [Thread(target=run, args=(task,), daemon=True) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive(), "it hangs"
    assert raised == []


def test_two_threads_lose_nothing() -> None:
    model = hw.Linear(query=hw.query.Random(0.5))
    each = 20_000
    asked: list[bool] = []

    def work(name: str) -> None:
        for turn in range(each):
            decision = model.decide_one({name: 1.0, "both": -1.0})
            asked.append(decision.asked)
            if decision.asked:
                model.answer(decision, turn % 2 == 0)
            else:
                model.learn_one({name: 0.5, "both": 0.5}, turn % 3 == 0)

    run_together(lambda: work("left"), lambda: work("right"))
    assert model.seen == 2 * each
    assert model.asked == sum(asked)
    assert model.learned == 2 * each
    times = {feature.name: feature.times_learned for feature in model.features()}
    assert times == {"left": each, "right": each, "both": 2 * each, "(intercept)": 2 * each}


def test_two_batches_of_one_learner_take_turns() -> None:
    model = hw.OLSF()
    rows, labels = batch(20_000)
    run_together(lambda: model.simulate(rows, labels), lambda: model.simulate(rows, labels))
    turns = hw.OLSF()
    for _ in range(2):
        turns.simulate(rows, labels)
    assert model.to_bytes() == turns.to_bytes()


def test_a_decision_is_answered_once_whoever_answers() -> None:
    model = hw.PAA()
    decisions = [model.decide_one({"rain": 1.0}) for _ in range(200)]
    refused: list[int] = []

    def answer() -> None:
        for decision in decisions:
            try:
                model.answer(decision, True)
            except AnswerError:
                refused.append(1)

    run_together(answer, answer, answer)
    assert model.learned == len(decisions)
    assert len(refused) == 2 * len(decisions)


def test_a_batch_lets_other_threads_run() -> None:
    model = slow_learner()
    rows, labels = batch(20_000)
    ends: list[float] = []

    def work() -> None:
        ends.append(time.perf_counter())
        model.simulate(rows, labels)
        ends.append(time.perf_counter())

    worker = Thread(target=work, daemon=True)
    worker.start()
    ticks: list[float] = []
    while worker.is_alive():
        ticks.append(time.perf_counter())
        time.sleep(0.005)
    during = [tick for tick in ticks if ends[0] < tick < ends[1]]
    assert len(during) > 10, f"{len(during)} in {ends[1] - ends[0]:.2f} s"


def test_a_learner_in_a_batch_can_be_waited_for() -> None:
    model = slow_learner()
    rows, labels = batch(10_000)
    found: list[tuple[int, int]] = []

    def wait() -> None:
        time.sleep(0.1)
        model.decide_one({0: 1.0})
        found.append((model.seen, take_learned(model.to_bytes())))

    run_together(lambda: model.simulate(rows, labels), wait)
    assert found == [(10_001, 10_001)], "all of the batch, or none of it"


def take_learned(data: bytes) -> int:
    return hw.from_bytes(data).learned


# Signals and collected garbage come in the middle of things, so they get a process of their own.

SLOW = f"""
import gc, os, signal, sys, threading
sys.path.insert(0, {str(Path(__file__).parent)!r})
import headwater as hw
from test_threads import batch, slow_learner
"""


def outcome(script: str) -> list[str]:
    """The lines that a script prints; it may not hang."""
    command = [sys.executable, "-c", SLOW + script]
    try:
        found = subprocess.run(
            command, capture_output=True, text=True, timeout=PATIENCE / 2, check=False
        )
    except subprocess.TimeoutExpired:
        pytest.fail("it hangs")
    assert found.returncode == 0, found.stderr
    return found.stdout.splitlines()


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
def test_ctrl_c_stops_a_batch_after_a_whole_event() -> None:
    script = (
        SLOW
        + """
model, (rows, labels) = slow_learner(), batch(500_000)
print("ready", flush=True)
try:
    model.simulate(rows, labels)
except KeyboardInterrupt:
    n = model.seen
    print("stopped", 1 <= n < len(labels), model.asked == n, model.learned == n + 1)
again = slow_learner()
first = hw.Rows(rows.indptr[: n + 1], rows.indices[:n], rows.data[:n], rows.names)
again.simulate(first, labels[:n])
print("whole", again.to_bytes() == model.to_bytes())
model.learn_one({"rain": 1.0}, True)
print("goes on", model.learned == n + 2)
"""
    )
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        time.sleep(1.0)
        child.send_signal(signal.SIGINT)
        try:
            output, _ = child.communicate(timeout=PATIENCE)
        finally:
            child.kill()
    assert output.splitlines() == ["stopped True True True", "whole True", "goes on True"]


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
def test_a_signal_handler_that_looks_at_the_learner_does_not_hang() -> None:
    script = """
model, (rows, labels) = slow_learner(), batch(20_000)

def look(*_):
    try:
        print("saw", 0 <= model.seen <= len(labels))
    except hw.errors.HeadwaterError as error:
        print("saw", True)

signal.signal(signal.SIGALRM, look)
signal.setitimer(signal.ITIMER_REAL, 0.3)
model.simulate(rows, labels)
print("done", model.seen)
"""
    assert outcome(script) == ["saw True", "done 20000"]


def test_a_finalizer_that_looks_at_the_learner_does_not_hang() -> None:
    script = """
model = slow_learner()
looks = []

class Garbage:
    def __init__(self):
        self.itself = self

    def __del__(self):
        try:
            looks.append(model.seen)
        except hw.errors.HeadwaterError:
            looks.append(None)

gc.collect()
for _ in range(500):
    Garbage()
print(len(model.features()))
gc.collect()
print(len(looks))
"""
    assert outcome(script) == [str(FEATURES), "500"]
