"""Snapshots: of a small learner from a copy, of a large one by a process that replays the journal.

Copying a learner with a million features would hold up the writer for longer than a commit takes.
A follower loads the snapshot before, replays the facts since, and writes the next one; the writer
goes on meanwhile. `python -m headwater.live.follower` reads its task from standard input.
"""

import json
import subprocess
import sys
import time
from typing import NamedTuple

from headwater.errors import JournalError
from headwater.learners.base import Learner
from headwater.live.database import Database
from headwater.live.reading import begin_replay
from headwater.live.replay import History
from headwater.live.snapshots import SnapshotStore, digest_of
from headwater.live.weights import Heaviest, heaviest


class Made(NamedTuple):
    """Bytes, checksum and seconds of a snapshot, and the heaviest weights of its model."""

    size: int
    sha256: str
    seconds: float
    heaviest: Heaviest


def write_learner(store: SnapshotStore, stream: int, fact: int, learner: Learner) -> Made:
    """Write a learner as the snapshot of a fact; it does not count yet."""
    began = time.perf_counter()
    data = learner.to_bytes()
    store.write(stream, fact, data)
    size, checksum, weights = len(data), digest_of(data), heaviest(learner)
    return Made(size, checksum, time.perf_counter() - began, weights)


def follow(database: Database, stream: int, fact: int) -> Made:
    """The same by a process of its own, which makes the learner from the journal."""
    task = json.dumps({"url": database.url, "stream": stream, "fact": fact})
    done = subprocess.run(
        [sys.executable, "-m", "headwater.live.follower"],
        input=task,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise JournalError(f"{database.name}: the process that makes snapshots failed: {last}.")
    size, checksum, seconds, weights = json.loads(done.stdout)
    return Made(size, checksum, seconds, [(name, weight) for name, weight in weights])


def main() -> None:
    """Carry out the task on standard input."""
    task = json.load(sys.stdin)
    database = Database(task["url"])
    began = time.perf_counter()
    with database.reading() as connection:
        history = History.read(connection, task["stream"])
        replayer = begin_replay(database, connection, task["stream"], history, task["fact"])
        replayer.catch_up(connection, task["fact"])
    store = SnapshotStore(database)
    made = write_learner(store, task["stream"], task["fact"], replayer.learner)
    print(json.dumps(made._replace(seconds=time.perf_counter() - began)))


if __name__ == "__main__":
    main()
