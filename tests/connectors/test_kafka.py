"""Workers on Kafka: librdkafka's own broker always, a real one in `make test-full`."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import headwater as hw
from connectors import brokers
from connectors.stream import PARTITIONS, Sent, messages
from effort import FULL
from headwater.errors import ConnectorError

kafka = pytest.importorskip("headwater.connectors.kafka")
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition  # noqa: E402
from confluent_kafka.admin import AdminClient  # noqa: E402
from confluent_kafka.cimpl import NewTopic  # noqa: E402

TOPICS = ("events", "answers", "questions", "decisions", "dead")
OUTPUTS = {"questions": "questions", "decisions": "decisions", "dead": "dead"}
QUICK = {"session.timeout.ms": 6000}
"""A worker that is gone is noticed soon."""
slow = pytest.mark.skipif(
    not FULL, reason="joining a group of librdkafka's own broker takes long: `make test-full`"
)
HEADWATER = (sys.executable, "-c", "from headwater.cli import main; main()")


def create(servers: str) -> None:
    client = AdminClient({"bootstrap.servers": servers})
    made = client.create_topics([NewTopic(name, PARTITIONS, 1) for name in TOPICS])
    for future in made.values():
        future.result(30)


def produce(servers: str, sent: list[Sent]) -> None:
    producer = Producer({"bootstrap.servers": servers, "enable.idempotence": True})
    for topic, partition, key, when, body in sent:
        producer.produce(topic, body, key, partition, timestamp=when)
        producer.poll(0)
    assert producer.flush(60) == 0


def contents(servers: str, topic: str) -> list[dict[str, Any]]:
    """Everything that is in a topic."""
    settings = {"bootstrap.servers": servers, "group.id": "reader", "enable.partition.eof": True}
    consumer = Consumer(settings)
    consumer.assign([TopicPartition(topic, number, 0) for number in range(PARTITIONS)])
    found: list[dict[str, Any]] = []
    ended: set[int | None] = set()
    while len(ended) < PARTITIONS:
        for message in consumer.consume(500, 0.2):
            error = message.error()
            if error is None:
                found.append(json.loads(message.value() or b""))
            else:
                assert error.code() == KafkaError._PARTITION_EOF, error
                ended.add(message.partition())
    consumer.close()
    return found


def models(url: str) -> dict[str, bytes]:
    """The model of every partition, replayed from the journal."""
    made = {}
    for number in range(PARTITIONS):
        name = f"events/{number}"
        with hw.live.open(url, stream=name) as stream:
            made[name] = stream.learner.to_bytes()
    return made


def run_until(worker: Any, is_done: Any, seconds: float = 60) -> None:
    end = time.monotonic() + seconds

    def stop() -> bool:
        assert time.monotonic() < end, vars(worker.counts)
        return bool(is_done())

    worker.run(stop)


@pytest.fixture
def mock() -> Iterator[str]:
    """librdkafka's own broker."""
    holder = Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "unused"})
    servers = None
    for broker in holder.list_topics(timeout=10).brokers.values():
        servers = f"{broker.host}:{broker.port}"
    assert servers is not None
    for topic in TOPICS:  # it makes topics of four partitions when they are asked for
        assert len(holder.list_topics(topic, 10).topics[topic].partitions) == PARTITIONS
    yield servers
    del holder


def a_worker(servers: str, url: str, **options: Any) -> Any:
    source = kafka.Kafka(servers, events="events", answers="answers", **OUTPUTS, settings=QUICK)
    return kafka.worker(source, url, hw.Spring(label_rate=0.3), say=lambda _: None, **options)


def taken(url: str) -> int:
    """Messages taken so far, over all parts."""
    import sqlite3

    connection = sqlite3.connect(url)
    try:
        rows = connection.execute("SELECT positions FROM parts").fetchall()
    except sqlite3.OperationalError:
        return 0
    finally:
        connection.close()
    return sum(sum(json.loads(row[0]).values()) for row in rows)


def test_every_event_is_decided_once_and_the_rest_is_said(mock: str, tmp_path: Path) -> None:
    sent, ids = messages(300)
    produce(mock, sent)
    url = str(tmp_path / "plant.db")
    worker = a_worker(mock, url)
    run_until(worker, lambda: taken(url) == len(sent))
    decided = contents(mock, "decisions")
    assert Counter(one["id"] for one in decided) == Counter(ids)
    asked = {one["id"] for one in decided if one["asked"]}
    assert {one["id"] for one in contents(mock, "questions")} == asked
    broken = sum(one.body.startswith(b'{"id": "broken"') for one in sent)
    unreadable = [
        one for one in contents(mock, "dead") if one["body"].startswith('{"id": "broken"')
    ]
    assert broken
    assert len(unreadable) == broken
    assert all(one["sentence"].startswith("event: ") for one in unreadable)
    assert worker.counts.early > 0


@slow
def test_a_worker_that_is_stopped_again_and_again_makes_the_same_models(
    mock: str, tmp_path: Path
) -> None:
    sent, ids = messages(200)
    produce(mock, sent)
    whole, pieces = str(tmp_path / "whole.db"), str(tmp_path / "pieces.db")
    source = kafka.Kafka(mock, events="events", answers="answers", group="another")
    run_until(
        kafka.worker(source, whole, hw.Spring(label_rate=0.3), say=lambda _: None),
        lambda: taken(whole) == len(sent),
    )
    for part in (1, 2, 3):
        run_until(a_worker(mock, pieces), lambda p=part: taken(pieces) >= p * len(sent) // 3)
    assert taken(pieces) == len(sent)
    assert models(pieces) == models(whole)
    assert {one["id"] for one in contents(mock, "decisions")} == ids


@slow
def test_each_key_has_a_learner(mock: str, tmp_path: Path) -> None:
    sent, _ = messages(60)
    produce(mock, sent)
    url = str(tmp_path / "plant.db")
    run_until(a_worker(mock, url, per_key=True), lambda: taken(url) == len(sent))
    for number in range(12):
        name = f"events/{number % PARTITIONS}:pump-{number}"
        with hw.live.read(url, name) as stream:
            assert stream.status().events == 5


class Topics:
    """A consumer that knows of topics with so many partitions."""

    def __init__(self, **counts: int) -> None:
        self.topics = {
            name: SimpleNamespace(error=None, partitions=dict.fromkeys(range(count)))
            for name, count in counts.items()
        }

    def list_topics(self, timeout: float) -> "Topics":
        return self


@pytest.mark.parametrize(
    ("counts", "sentence"),
    [
        ({"events": 4, "answers": 2}, "'events' with 4 and 'answers' with 2"),
        ({"events": 4}, "there is no topic 'answers'; create it first"),
    ],
)
def test_topics_that_are_missing_or_do_not_fit_are_named(
    counts: dict[str, int], sentence: str
) -> None:
    source = kafka.Kafka("127.0.0.1:1", events="events", answers="answers")
    source._consumer = Topics(**counts)
    with pytest.raises(ConnectorError, match=sentence):
        source.start(lambda _: {}, lambda _: None)


# A real broker


def work(servers: str, url: str, group: str, log: Path) -> "subprocess.Popen[bytes]":
    command = [*HEADWATER, "work", "--kafka", servers, "--db", url]
    command += ["--events", "events", "--answers", "answers", "--consumer-group", group]
    if group == "headwater":
        command += [word for name in OUTPUTS for word in (f"--{name}", name)]
    command += ["--broker-set", "session.timeout.ms=6000", "--budget", "0.3"]
    with log.open("ab") as out:
        return subprocess.Popen(command, stdout=out, stderr=out)


@pytest.mark.skipif(not FULL, reason="a real Kafka is started by `make test-full` only")
def test_workers_that_are_killed_lose_and_repeat_nothing(tmp_path: Path) -> None:
    """4 partitions, 3 workers, two of them killed at random moments and started again, 20 times."""
    try:
        brokers.jars(brokers.KAFKA)
    except brokers.NoJarsError as reason:
        pytest.skip(str(reason))
    events = int(os.environ.get("HEADWATER_KAFKA_EVENTS", "8000"))
    rounds = int(os.environ.get("HEADWATER_KAFKA_KILLS", "20"))
    began = time.monotonic()
    with brokers.kafka() as servers:
        print(f"broker ready after {time.monotonic() - began:.1f} s")
        create(servers)
        sent, ids = messages(events)
        produce(servers, sent[: len(sent) // 4])
        log = tmp_path / "log"
        url, calm = str(tmp_path / "killed.db"), str(tmp_path / "calm.db")
        draw = random.Random(3)
        workers = [work(servers, url, "headwater", log) for _ in range(3)]
        rest = sent[len(sent) // 4 :]
        share = -(-len(rest) // rounds)
        try:
            for number in range(rounds):
                produce(servers, rest[number * share : (number + 1) * share])
                time.sleep(draw.uniform(0.5, 5))
                for place in draw.sample(range(3), 2):
                    workers[place].send_signal(signal.SIGKILL)
                    workers[place].wait()
                    workers[place] = work(servers, url, "headwater", log)
            wait_until(lambda: taken(url) == len(sent), log)
        finally:
            end(workers)
        undisturbed = [work(servers, calm, "calm", log)]
        try:
            wait_until(lambda: taken(calm) == len(sent), log)
        finally:
            end(undisturbed)
        decided = contents(servers, "decisions")
        counted = Counter(one["id"] for one in decided)
        print(f"{events} events: {len(decided)} decisions sent, {len(counted)} different ids")
        assert set(counted) == ids
        said: dict[str, set[str]] = {}
        for one in decided:
            said.setdefault(one["id"], set()).add(json.dumps(one, sort_keys=True))
        assert all(len(different) == 1 for different in said.values())
        assert events_in(url) == Counter(dict.fromkeys(ids, 1))
        assert models(url) == models(calm)


def events_in(url: str) -> Counter[str]:
    """How often the journals hold each event."""
    import sqlite3

    connection = sqlite3.connect(url)
    rows = connection.execute("SELECT key FROM facts WHERE kind = 1").fetchall()
    connection.close()
    return Counter(json.loads(row[0]) for row in rows)


def wait_until(is_done: Any, log: Path, seconds: float = 300) -> None:
    end = time.monotonic() + seconds
    while not is_done():
        assert time.monotonic() < end, log.read_text()[-3000:]
        time.sleep(0.2)


def end(workers: list[Any]) -> None:
    for one in workers:
        one.terminate()
    for one in workers:
        one.wait(60)
