"""Deciders before the owner of their learner: librdkafka's own broker, and a real one in full."""

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pytest
import sqlalchemy as sa

import headwater as hw
from connectors import brokers
from connectors.stream import PARTITIONS, Sent
from effort import FULL
from headwater._core import Decision
from headwater.connectors.reports import read_report
from headwater.live import database as db
from headwater.live.replay import Kind
from headwater.live.reported import Reported

kafka = pytest.importorskip("headwater.connectors.kafka")
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition  # noqa: E402
from confluent_kafka.admin import AdminClient  # noqa: E402
from confluent_kafka.cimpl import NewTopic  # noqa: E402

from connectors.test_kafka import (  # noqa: E402
    HEADWATER,
    QUICK,
    contents,
    end,
    produce,
    wait_until,
)
from headwater.connectors.decider import Decider  # noqa: E402

MORTAL = Path(__file__).with_name("mortal.py")
TOPICS = ("events", "reports", "models", "answers", "questions", "decisions", "dead")
RATE = 0.3
D = TypeVar("D", bound=Decider)


def events(count: int, seed: int = 7) -> list[Sent]:
    """Events of all partitions, in the order of their times."""
    draw = random.Random(seed)
    start = int(1000 * time.time()) - 10 * count
    sent = []
    for number in range(count):
        x = {f"s{draw.randrange(8)}": round(draw.gauss(0, 1), 3) for _ in range(4)}
        body = json.dumps({"id": f"e{number}", **x}).encode()
        partition = number % PARTITIONS
        sent.append(Sent("events", partition, f"k{partition}", start + 10 * number, body))
    return sent


def label(x: dict[Any, float]) -> bool:
    """What people answer."""
    return sum(x.values()) > 0


def answer(servers: str, questions: list[dict[str, Any]]) -> None:
    """Answer each question in the partition that it names."""
    now = int(1000 * time.time())
    said = [
        (one["part"], {"id": one["id"], "label": label(one["event"]), "by": "ada"})
        for one in questions
    ]
    produce(
        servers,
        [
            Sent("answers", int(part.rpartition("/")[2]), "", now, json.dumps(body).encode())
            for part, body in said
        ],
    )


def reports(servers: str, learners: int) -> dict[int, list[Reported]]:
    """What is in the topic of reports, by partition."""
    settings = {"bootstrap.servers": servers, "group.id": "reader", "enable.partition.eof": True}
    consumer = Consumer(settings)
    consumer.assign([TopicPartition("reports", number, 0) for number in range(learners)])
    found: dict[int, list[Reported]] = {number: [] for number in range(learners)}
    ended: set[int | None] = set()
    while len(ended) < learners:
        for message in consumer.consume(500, 0.2):
            error = message.error()
            if error is None:
                found[message.partition() or 0].append(read_report(message.value() or b""))
            else:
                assert error.code() == KafkaError._PARTITION_EOF, error
                ended.add(message.partition())
    consumer.close()
    return found


def fresh() -> hw.Learner:
    """What `--budget` makes of the default learner."""
    return hw.Spring(label_rate=RATE)


def retold(url: str, stream: str, told: list[Reported]) -> hw.Learner:
    """The owner as a learner in this process makes it: of reports and answers, in their order."""
    owner, places = fresh(), dict[str, int]()
    counted: list[Reported] = []
    for one in told:
        if one.begin == places.get(one.source, one.begin):
            places[one.source] = one.end
            counted.append(one)
    asked: dict[Any, Any] = {}
    left = iter(counted)
    f = db.facts.c
    engine = sa.create_engine(f"sqlite:///{url}")
    with engine.connect() as connection:
        number = connection.scalar(
            sa.select(db.streams.c.stream).where(db.streams.c.name == stream)
        )
        rows = connection.execute(
            sa.select(f.number, f.kind, f.key, f.target)
            .where(f.stream == number)
            .order_by(f.number)
        ).all()
    engine.dispose()
    ids = {row.number: json.loads(row.key) for row in rows if row.kind == Kind.EVENT}
    for row in rows:
        if row.kind == Kind.REPORT:
            one = next(left)
            owner.absorb([one.report])
            asked |= {question.id: question for question in one.asked}
        elif row.kind == Kind.APPLIED:
            question = asked[ids[row.target]]
            owner.answer(Decision.from_bytes(question.decision, question.x), label(question.x))
    assert next(left, None) is None, "a report that goes on was not counted"
    return owner


def recovered(url: str, stream: str) -> hw.Learner:
    """The owner as its journal gives it."""
    with hw.live.open(url, stream=stream) as live:
        return live.learner


@pytest.fixture
def mock() -> Iterator[str]:
    """librdkafka's own broker; it ends no transactions and refuses nobody."""
    holder = Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "unused"})
    (broker,) = holder.list_topics(timeout=10).brokers.values()
    servers = f"{broker.host}:{broker.port}"
    for topic in TOPICS:
        assert len(holder.list_topics(topic, 10).topics[topic].partitions) == PARTITIONS
    yield servers
    del holder


@contextmanager
def running(*runs: Callable[[Callable[[], bool]], None]) -> Iterator[None]:
    """Workers and deciders, each in a thread."""
    stop = threading.Event()
    threads = [threading.Thread(target=run, args=(stop.is_set,)) for run in runs]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join(60)


def until(is_done: Callable[[], bool], what: Callable[[], Any], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not is_done():
        assert time.monotonic() < end, what()
        time.sleep(0.05)


def an_owner(servers: str, url: str, say: Callable[[str], None]) -> Any:
    source = kafka.Kafka(
        servers,
        reports="reports",
        models="models",
        answers="answers",
        questions="questions",
        dead="dead",
        settings=QUICK,
    )
    return kafka.worker(source, url, fresh(), say=say, refresh=0.1)


def a_decider(servers: str, say: Callable[[str], None], kind: type[D]) -> D:
    return kind(
        servers,
        events="events",
        reports="reports",
        models="models",
        decisions="decisions",
        dead="dead",
        group=kind.__name__,
        settings=QUICK,
        say=say,
    )


class Forgetful(Decider):
    """It begins with the first event whatever was reported, as if no broker told it."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.may_begin = threading.Event()

    def _begin(self, line: Any, model: Any) -> bool:
        return self.may_begin.is_set() and super()._begin(line, model)

    def _place(self, line: Any, model: Any) -> int:
        line.most = 30  # so its reports are others than those of the other decider
        return 0


def test_events_count_once_though_a_decider_reports_them_again_and_again(
    mock: str, tmp_path: Path
) -> None:
    sent = events(400)
    sent.insert(100, Sent("events", 0, "k0", sent[100].time, b"{broken"))
    produce(mock, sent[:201])
    url, heard = str(tmp_path / "plant.db"), list[str]()
    owner = an_owner(mock, url, heard.append)
    decider = a_decider(mock, heard.append, Decider)
    forgetful = a_decider(mock, heard.append, Forgetful)

    def counts() -> dict[str, int]:
        parts = [vars(part.counts) for part in list(owner._parts.values())]
        return {name: sum(part[name] for part in parts) for name in ("decided", "answered", "dead")}

    with running(owner.run, decider.run, forgetful.run):
        until(lambda: counts()["decided"] >= 200, lambda: (counts(), heard))
        forgetful.may_begin.set()
        until(lambda: counts()["dead"] >= PARTITIONS, lambda: (counts(), heard))
        produce(mock, sent[201:])
        until(lambda: counts()["decided"] >= 400, lambda: (counts(), heard))
        until(lambda: all(not part.unsent for part in owner._parts.values()), counts)
        questions = contents(mock, "questions")
        answer(mock, questions)
        until(lambda: counts()["answered"] == len(questions), lambda: (counts(), heard))
    assert decider.counts.decided + forgetful.counts.decided > 400
    refused = [one for one in contents(mock, "dead") if one["source"] == "reports"]
    assert all("they are decided on again" in one["sentence"] for one in refused)
    assert len(questions) == len({one["id"] for one in questions}) > 0
    told = reports(mock, PARTITIONS)
    seen = asked = learned = 0
    for number in range(PARTITIONS):
        model = recovered(url, f"reports/{number}")
        assert model.to_bytes() == retold(url, f"reports/{number}", told[number]).to_bytes()
        seen, asked, learned = seen + model.seen, asked + model.asked, learned + model.learned
    assert (seen, asked, learned) == (400, len(questions), len(questions))


# A real broker


def started(servers: str, log: Path, *words: str) -> "subprocess.Popen[bytes]":
    """A process of headwater; a decider is one that dies by itself now and then."""
    program = [sys.executable, str(MORTAL)] if words[0] == "decide" else HEADWATER
    command = [*program, words[0], "--kafka", servers, *words[1:]]
    command += ["--reports", "reports", "--models", "models", "--dead", "dead"]
    command += ["--broker-set", "session.timeout.ms=1500"]
    command += ["--broker-set", "heartbeat.interval.ms=300"]
    with log.open("ab") as out:
        return subprocess.Popen(command, stdout=out, stderr=out)


def places(url: str) -> dict[str, int]:
    """The next message of each source that the owner takes."""
    if not Path(url).exists():
        return {}
    connection = sqlite3.connect(url)
    try:
        rows = connection.execute("SELECT positions FROM parts").fetchall()
    except sqlite3.OperationalError:
        return {}
    finally:
        connection.close()
    found: dict[str, int] = {}
    for (row,) in rows:
        found |= json.loads(row)
    return found


def create(servers: str) -> None:
    """Four partitions of events, and one learner for all of them."""
    client = AdminClient({"bootstrap.servers": servers})
    ones = ("reports", "models", "answers")
    made = client.create_topics(
        [NewTopic(name, 1 if name in ones else PARTITIONS, 1) for name in TOPICS]
    )
    for future in made.values():
        future.result(30)


def feed(servers: str, sent: list[Sent], pause: float, is_over: Callable[[], bool]) -> None:
    """Send them one by one, and once it is over the rest."""
    producer = Producer({"bootstrap.servers": servers, "enable.idempotence": True})
    for topic, partition, key, when, body in sent:
        producer.produce(topic, body, key, partition, timestamp=when)
        producer.poll(0)
        if not is_over():
            time.sleep(pause)
    assert producer.flush(60) == 0


@pytest.mark.skipif(not FULL, reason="a real Kafka is started by `make test-full` only")
def test_deciders_and_owner_that_are_killed_lose_and_repeat_nothing(tmp_path: Path) -> None:
    """3 deciders die at any moment, and with a report that is sent and not committed.

    Two of them are killed 20 times, and the owner 6 times.
    """
    try:
        brokers.jars(brokers.KAFKA)
    except brokers.NoJarsError as reason:
        pytest.skip(str(reason))
    count = int(os.environ.get("HEADWATER_KAFKA_EVENTS", "8000"))
    rounds = int(os.environ.get("HEADWATER_KAFKA_KILLS", "20"))
    url, log = str(tmp_path / "plant.db"), tmp_path / "log"
    deciding = ("decide", "--events", "events", "--decisions", "decisions")
    owning = ("work", "--answers", "answers", "--questions", "questions", "--db", url)
    budget = ("--budget", f"{RATE}")
    draw = random.Random(3)
    with brokers.kafka() as servers:
        create(servers)
        sent = events(count)
        over = threading.Event()
        feeder = threading.Thread(
            target=feed, args=(servers, sent, 15 * rounds / count, over.is_set)
        )
        feeder.start()  # there is always something to decide, so a kill interrupts it
        owner = started(servers, log, *owning, *budget)
        deciders = [started(servers, log, *deciding) for _ in range(3)]
        answered: set[str] = set()

        def answer_new() -> None:
            new = {one["id"]: one for one in contents(servers, "questions")}
            answer(servers, [one for id, one in new.items() if id not in answered])
            answered.update(new)

        def start_anew() -> None:
            for place, decider in enumerate(deciders):
                if decider.poll() is not None:
                    deciders[place] = started(servers, log, *deciding)

        def counted() -> int:
            return sum(end for name, end in places(url).items() if name.startswith("events/"))

        def has_counted(most: int) -> bool:
            start_anew()
            return counted() > most

        def is_answered() -> bool:
            answer_new()
            return places(url).get("answers", 0) >= len(answered) and not unsent(url)

        try:
            for number in range(rounds):
                before = counted()
                wait_until(partial(has_counted, before), log)
                time.sleep(draw.uniform(0, 2))
                for place in draw.sample(range(3), 2):
                    deciders[place].send_signal(signal.SIGKILL)
                    deciders[place].wait()
                start_anew()
                if number % 3 == 2:
                    answer_new()
                    owner.send_signal(signal.SIGKILL)
                    owner.wait()
                    owner = started(servers, log, *owning, *budget)
            in_kills = counted()
            over.set()
            wait_until(partial(has_counted, len(sent) - 1), log)
            wait_until(is_answered, log)
        finally:
            over.set()
            feeder.join()
            end([*deciders, owner])
        decided = contents(servers, "decisions")
        ids = [f"e{number}" for number in range(count)]
        assert Counter(one["id"] for one in decided) == Counter(ids)
        asked = {one["id"] for one in decided if one["asked"]}
        questions = contents(servers, "questions")
        assert {one["id"] for one in questions} == asked == answered
        told = reports(servers, 1)[0]
        died = Counter(line for line in log.read_text().splitlines() if line.startswith("Dies"))
        print(
            f"{count} events, {in_kills} of them before the last kill: {len(decided)} decisions,"
            f" {len(told)} reports,"
            f" {len(questions)} questions sent, {len(asked)} different; {dict(died)}"
        )
        model = recovered(url, "reports/0")
        assert (model.seen, model.asked, model.learned) == (count, len(asked), len(asked))
        assert model.to_bytes() == retold(url, "reports/0", told).to_bytes()


def unsent(url: str) -> int:
    """Rows of the outbox."""
    connection = sqlite3.connect(url)
    (count,) = connection.execute("SELECT count(*) FROM outbox").fetchone()
    connection.close()
    return int(count)
