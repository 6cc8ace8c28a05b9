"""A stream of messages for tests: events, answers that overtake them, repetitions, and rubbish."""

import json
import random
import time
from typing import NamedTuple

PARTITIONS = 4


class Sent(NamedTuple):
    """A message as a producer sends it."""

    topic: str
    partition: int
    key: str
    time: int  # milliseconds
    body: bytes


def messages(count: int, seed: int = 7) -> tuple[list[Sent], set[str]]:
    """Messages in order of time, and the ids of all events."""
    draw = random.Random(seed)
    sent, ids = [], set()
    start = int(1000 * time.time()) - 10 * count  # a broker drops what is older than a week
    for number in range(count):
        key, partition = f"pump-{number % 12}", number % 12 % PARTITIONS
        now = start + 10 * number
        id = f"e{number}"
        ids.add(id)
        x = {f"s{draw.randrange(8)}": draw.gauss(0, 1) for _ in range(4)}
        body = json.dumps({"id": id, **x}).encode()
        sent.append(Sent("events", partition, key, now, body))
        if draw.random() < 0.05:  # the producer sends it again
            sent.append(Sent("events", partition, key, now + 40, body))
        if draw.random() < 0.02:
            sent.append(Sent("events", partition, key, now + 5, b'{"id": "broken", "s0": '))
        if draw.random() < 0.5:
            label = sum(x.values()) > 0
            when = now + draw.choice((-200, 30, 500))  # some overtake their event
            answer = json.dumps({"id": id, "label": label, "by": "ada"}).encode()
            sent.append(Sent("answers", partition, key, when, answer))
    return sorted(sent, key=lambda one: one.time), ids
