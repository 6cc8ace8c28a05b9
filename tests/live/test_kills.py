"""Processes that are killed at random moments lose nothing that they acknowledged."""

import multiprocessing
import os
import random
import signal
import time
from pathlib import Path

import pytest

from live import plan

FULL = bool(os.environ.get("HEADWATER_FULL"))
KILLS = 1_000 if FULL else 25
PATIENCE = 120.0


def worker(url: str, learner: str, first: int, last: int, acknowledged: str) -> None:
    file = os.open(acknowledged, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    plan.run(url, learner, first, last, file)


def kill_often(url: str, learner: str, kills: int, folder: Path, seed: int) -> int:
    """Start processes that carry out the plan, and kill each; return the steps that were done."""
    numbers = random.Random(seed)
    spawn = multiprocessing.get_context("forkserver")
    spawn.set_forkserver_preload(["live.plan", "sqlalchemy.dialects.sqlite", "alembic.command"])
    acknowledged = folder / "acknowledged"
    acknowledged.touch()
    for _ in range(kills):
        # Some steps are sent again, as by a client that did not get the reply.
        first = max(0, plan.last_line(acknowledged) + 1 - numbers.randint(0, 3))
        arguments = (url, learner, first, first + 10_000, str(acknowledged))
        process = spawn.Process(target=worker, args=arguments)
        process.start()
        before = plan.last_line(acknowledged)
        if numbers.random() < 0.5:  # somewhere in the middle; otherwise while it starts
            deadline = time.monotonic() + PATIENCE
            while plan.last_line(acknowledged) == before and process.is_alive():
                assert time.monotonic() < deadline
                time.sleep(0.005)
        time.sleep(numbers.uniform(0, 0.15))
        assert process.is_alive(), "it ended by itself"
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join()
    return plan.last_line(acknowledged) + 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("learner", plan.LEARNERS)
def test_nothing_acknowledged_is_lost_and_nothing_is_learned_twice(
    learner: str, tmp_path: Path
) -> None:
    url = str(tmp_path / "killed.db")
    kills = KILLS // len(plan.LEARNERS) + 1
    steps = kill_often(url, learner, kills, tmp_path, seed=len(learner))
    assert steps > kills // 4
    survived = plan.run(url, learner, max(0, steps - 20), steps + 20)
    undisturbed = str(tmp_path / "undisturbed.db")
    expected = plan.run(undisturbed, learner, 0, steps + 20)
    assert plan.content(url) == plan.content(undisturbed)
    assert survived == expected
