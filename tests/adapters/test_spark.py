"""Spark: what a job leaves is what the plain loop leaves, whatever killed it on the way."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from itertools import chain
from operator import itemgetter
from pathlib import Path
from shutil import which
from typing import Any

import pytest

import headwater as hw
from connectors import brokers
from effort import FULL

if find_spec("pyspark") is None:
    pytest.skip(
        "PySpark is not here (half a gigabyte): make test-full installs it", allow_module_level=True
    )
if which("java") is None:
    pytest.skip("Spark needs Java 17, and there is none here", allow_module_level=True)

JOB = Path(__file__).with_name("spark_job.py")
CONNECTOR = (
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.1.0-preview1",
    "org.apache.kafka:kafka-clients:3.9.1",
    "org.apache.commons:commons-pool2:2.13.1",
)
"""Spark's source of Kafka: where Maven had none of PySpark's own version, the newest was tried."""
KEYS = ("ash", "birch", "cedar", "visitor", "willow")


def stream(batches: int, per_batch: int) -> list[list[dict[str, Any]]]:
    """Files of rows: answers follow in the same batch or a later one, some overtake their event.

    The rows of a file stand in any order; "visitor" comes in the second half only.
    """
    generator = random.Random(7)
    files: list[list[dict[str, Any]]] = [[] for _ in range(batches)]
    t = 0
    for place in range(batches):
        keys = KEYS if place >= batches // 2 else [key for key in KEYS if key != "visitor"]
        for _ in range(per_batch):
            t += 1
            key = generator.choice(keys)
            names = generator.sample(range(12), 5)
            body = {f"s{name}": generator.gauss(0, 1) for name in names}
            label = sum(body.values()) > 0
            row = {"key": key, "t": t, "kind": "event", "id": f"e{t}", "body": json.dumps(body)}
            files[place].append(row)
            at = min(batches - 1, max(0, place + generator.choice((-1, 0, 0, 1, 2))))
            answer = {"key": key, "t": t + 40, "kind": "answer", "id": f"e{t}"}
            files[at].append(answer | {"body": json.dumps(label)})
    for rows in files:
        generator.shuffle(rows)
    return files


def plain_loop(
    files: list[list[dict[str, Any]]],
) -> tuple[dict[str, hw.Learner], set[tuple[str, ...]]]:
    """The same by hand: learners in a dict, decisions in a dict, no bytes anywhere."""
    learners: dict[str, hw.Learner] = {}
    decisions: dict[str, hw.Decision | None] = {}
    early: dict[str, bool] = {}
    out: set[tuple[str, ...]] = set()

    def learn(key: str, id: str, label: bool) -> None:
        decision = decisions.pop(id)
        assert decision is not None
        learners[key].answer(decision, label)
        out.add((key, "learned", id))

    for rows in files:
        for row in sorted(rows, key=lambda row: (row["key"], row["t"], row["kind"] != "event")):
            key, id, body = row["key"], row["id"], json.loads(row["body"])
            if key not in learners:
                learners[key] = hw.Linear(query="margin", seed=len(key))
            if row["kind"] == "event":
                decision = learners[key].decide_one(body)
                out.add((key, "decision", id))
                if decision.asked:
                    decisions[id] = decision
                    out.add((key, "question", id))
                if id in early:
                    label = early.pop(id)
                    if decision.asked:
                        learn(key, id, label)
                    else:
                        out.add((key, "late", id))
            elif id in decisions:
                learn(key, id, body)
            else:
                early[id] = body
    return learners, out


def write(folder: Path, files: list[list[dict[str, Any]]]) -> None:
    (folder / "in").mkdir()
    for number, rows in enumerate(files):
        path = folder / "in" / f"{number:03}.json"
        path.write_text("\n".join(json.dumps(row) for row in rows))
        os.utime(path, (1_000_000 + number, 1_000_000 + number))  # files come by their times


def run(folder: Path, *source: str | Path) -> dict[str, Any]:
    command = [sys.executable, JOB, folder, *source]
    with (folder / "log").open("ab") as log:
        done = subprocess.run(command, check=False, stdout=log, stderr=log)
    assert done.returncode == 0, (folder / "log").read_text()[-3000:]
    found: dict[str, Any] = json.loads((folder / "result.json").read_text())
    return found


def run_until_killed(folder: Path, *source: str | Path) -> None:
    """Kill the job, all its processes at once, inside the batch in which "visitor" comes first."""
    (folder / "hold").touch()
    command = [sys.executable, JOB, folder, *source]
    with (folder / "log").open("ab") as log:
        job = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        try:
            end = time.monotonic() + 300
            while not (folder / "held").exists():
                assert job.poll() is None, (folder / "log").read_text()[-2000:]
                assert time.monotonic() < end, "the job came to no event of the key"
                time.sleep(0.05)
        finally:
            os.killpg(job.pid, signal.SIGKILL)  # Python, the JVM and its workers
            job.wait()
    (folder / "hold").unlink()


def batches(folder: Path) -> tuple[int, int]:
    """How many were committed, and how many begun."""
    checkpoint = folder / "checkpoint"
    committed = len(list((checkpoint / "commits").glob("[0-9]*")))
    return committed, len(list((checkpoint / "offsets").glob("[0-9]*")))


def check(found: dict[str, Any], files: list[list[dict[str, Any]]]) -> None:
    learners, out = plain_loop(files)
    assert {"decision", "question", "learned", "late"} == {kind for _, kind, _ in out}
    rows = [(row[0], row[2], row[3]) for row in found["rows"]]
    assert len(rows) == len(set(rows)), "a row came twice"
    assert set(rows) == out
    assert found["models"] == {key: each.to_bytes().hex() for key, each in learners.items()}
    first = learners[min(learners)]
    events = [{"s0": 1.0}, {"s0": -2.0, "s1": 3.0}]
    expected = [
        [id, first.predict_one(x), first.margin_one(x)] for id, x in zip("ab", events, strict=True)
    ]
    assert found["scores"] == expected
    assert found["from_bodies"] == [expected[0], ["b", None, None]]


def test_from_files_a_job_leaves_the_learners_of_the_plain_loop(tmp_path: Path) -> None:
    files = stream(batches=3, per_batch=40)
    write(tmp_path, files)
    check(run(tmp_path), files)


@pytest.mark.skipif(not FULL, reason="starts Spark twice: make test-full")
def test_killed_inside_a_batch_and_started_again_it_leaves_the_same(tmp_path: Path) -> None:
    files = stream(batches=6, per_batch=60)
    write(tmp_path, files)
    run_until_killed(tmp_path)
    assert batches(tmp_path) == (2, 3), "killed inside the third batch: an answer came early"
    check(run(tmp_path), files)


@pytest.mark.skipif(not FULL, reason="starts Kafka, and Spark twice: make test-full")
def test_from_a_broker_killed_inside_a_batch_it_leaves_the_same(tmp_path: Path) -> None:
    """Rows in the order of t, so that it is no matter which of them a batch brings."""
    confluent_kafka = pytest.importorskip("confluent_kafka")
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewTopic

    try:
        connector = brokers.jars(*CONNECTOR, alone=True)
        brokers.jars(brokers.KAFKA)
    except brokers.NoJarsError as reason:
        pytest.skip(str(reason))
    rows = list(chain.from_iterable(stream(6, 60)))
    for row in rows[::3]:
        if row["kind"] == "answer":
            row["t"] -= 90  # it overtakes its event
    rows.sort(key=itemgetter("t"))
    for place, row in enumerate(rows):
        row["t"] = place
    with brokers.kafka() as servers:
        client = AdminClient({"bootstrap.servers": servers})
        for made in client.create_topics([NewTopic("rows", 3, 1)]).values():
            made.result(30)
        producer = confluent_kafka.Producer({"bootstrap.servers": servers})
        for row in rows:
            producer.produce("rows", json.dumps(row), row["key"])
        assert producer.flush(60) == 0
        run_until_killed(tmp_path, servers, connector)
        committed, begun = batches(tmp_path)
        assert begun == committed + 1
        found = run(tmp_path, servers, connector)
    assert batches(tmp_path)[0] > committed + 1
    check(found, [rows])
