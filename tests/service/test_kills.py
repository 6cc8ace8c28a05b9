"""A service that is killed at random moments loses nothing that it acknowledged."""

import random
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import headwater as hw
from effort import FULL
from headwater import client
from service.process import Served, free_port

KILLS = 50 if FULL else 5
CLIENTS = 3
PATIENCE = 120.0


class Sender(threading.Thread):
    """A client that sends, answers, and sends again; it notes what was acknowledged."""

    def __init__(self, url: str, token: str, name: str, stop: threading.Event) -> None:
        super().__init__(name=name)
        self.url, self.token, self.stop = url, token, stop
        self.sent: dict[str, Any] = {}
        self.answered: dict[str, bool] = {}
        self.differing: list[Any] = []
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            with hw.Client(self.url, self.token, tries=10_000, timeout=10.0) as plant:
                while not self.stop.is_set():
                    self.step(plant, len(self.sent))
        except BaseException as error:
            self.error = error

    def step(self, plant: hw.Client, number: int) -> None:
        id = f"{self.name}-{number}"
        numbers = random.Random(id)
        x = {f"s{numbers.randrange(20)}": numbers.gauss(0, 1) for _ in range(4)}
        sent = plant.send(x, id=id)
        self.sent[id] = sent
        if sent.question is not None and number % 3 == 0:
            label = sum(x.values()) > 0
            plant.answer(sent.question, label, by=self.name, key="k")
            self.answered[sent.question] = label
        if number % 4 == 3:  # as after a reply that was lost
            again = plant.send(x, id=id)
            if not again.repeated or again._replace(repeated=sent.repeated) != sent:
                self.differing.append((sent, again))


def kill_often(database: str, kills: int, seed: int) -> list[Sender]:
    """Kill the service again and again: while it starts, or after some acknowledged events."""
    numbers = random.Random(seed)
    port = free_port()
    served = Served(database, "--learner", "Spring", "--set", "label_rate=0.4", port=port)
    stop = threading.Event()
    senders = [Sender(served.url, served.token, f"c{n}", stop) for n in range(CLIENTS)]
    for sender in senders:
        sender.start()

    def wait_for(more: int) -> None:
        goal = sum(len(sender.sent) for sender in senders) + more
        deadline = time.monotonic() + PATIENCE
        while sum(len(sender.sent) for sender in senders) < goal:
            assert time.monotonic() < deadline
            assert not any(sender.error for sender in senders)
            time.sleep(0.002)

    try:
        for _ in range(kills):
            wait_for(numbers.choice([0, 1, 5, 20, 60]))
            time.sleep(numbers.random() * 0.02)
            served.stop(signal.SIGKILL)
            served = Served(database, port=port)
        wait_for(20)
    finally:
        stop.set()
        for sender in senders:
            sender.join(PATIENCE)
        assert served.stop() == 0
    return senders


def check(database: str, senders: list[Sender]) -> None:
    assert [sender.error for sender in senders if sender.error is not None] == []
    assert all(sender.differing == [] for sender in senders)
    acknowledged = {id: one for sender in senders for id, one in sender.sent.items()}
    answered = {key: label for sender in senders for key, label in sender.answered.items()}
    assert len(acknowledged) > 20
    assert answered
    with hw.live.read(database) as reader:
        facts = list(reader.facts())
        replayed = reader.learner()
    events = [fact for fact in facts if fact["kind"] == "event"]
    assert len({fact["id"] for fact in events}) == len(events)
    kept = {fact["id"]: fact for fact in events}
    for id, sent in acknowledged.items():
        fact = kept[id]
        assert (fact["number"], fact["margin"], fact["asked"]) == (
            sent.number,
            sent.margin,
            sent.asked,
        )
    given = [fact for fact in facts if fact["kind"] == "answer"]
    assert len({fact["target"] for fact in given}) == len(given)
    labels = {f"main:{fact['target']}": fact["label"] for fact in given}
    assert {question: labels[question] for question in answered} == answered
    with hw.live.open(database) as loop:  # from its snapshot
        assert loop.learner.to_bytes() == replayed.to_bytes()


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "_pause", lambda attempt: 0.05)


def test_a_killed_service_loses_nothing_and_a_retry_sees_one_decision(tmp_path: Path) -> None:
    database = str(tmp_path / "plant.db")
    check(database, kill_often(database, KILLS, seed=1))


def test_the_same_on_postgresql(postgres: str) -> None:
    check(postgres, kill_often(postgres, 10 if FULL else 2, seed=2))
