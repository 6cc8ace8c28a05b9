"""What deciders take over from the worker: processor time per event of each process.

    python benches/deciders.py

Events of 25 values as JSON lie in a topic of librdkafka's own broker, in four partitions. Either
one worker decides on them, or a decider does and its owner counts the reports; every decision is
sent. Nobody answers. The time of a process is that of a run over all events less that of a run
over a few, so that starting and joining a group do not count; what it costs the broker does not
count either.
"""

import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import click
import numpy as np
from confluent_kafka import Producer
from machine import draw, machine, open_console, versions

PARTITIONS = 4
VALUES = 25
FEW = 400
TOPICS = ("events", "reports", "models", "questions", "decisions", "answers")
HEADWATER = (sys.executable, "-c", "from headwater.cli import main; main()")
HEAD = ("labels", "process", "µs of the processor per event", "events/s of one core")
PATIENCE = 600.0


@contextmanager
def broker(count: int) -> Iterator[str]:
    """A broker with so many events."""
    holder = Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "unused", "log_level": 0})
    one = next(iter(holder.list_topics(timeout=10).brokers.values()))
    servers = f"{one.host}:{one.port}"
    for topic in TOPICS:
        assert len(holder.list_topics(topic, 10).topics[topic].partitions) == PARTITIONS
    values = np.random.default_rng(0).normal(size=(count, VALUES)).round(3).tolist()
    producer = Producer({"bootstrap.servers": servers, "log_level": 0})
    for number, row in enumerate(values):
        event = {"id": f"e{number}"} | {f"s{place}": value for place, value in enumerate(row)}
        producer.produce("events", json.dumps(event), partition=number % PARTITIONS)
        producer.poll(0)
    assert producer.flush(60) == 0
    yield servers
    del holder


def counted(url: Path) -> int:
    """Events that are in the database."""
    if not url.exists():
        return 0
    with closing(sqlite3.connect(url)) as connection:
        try:
            rows = connection.execute("SELECT positions FROM parts").fetchall()
        except sqlite3.OperationalError:
            return 0
    places = [json.loads(row) for (row,) in rows]
    return sum(place for one in places for name, place in one.items() if name.startswith("events"))


def spent(commands: list[list[str]], count: int) -> list[float]:
    """Processor seconds of these processes until so many events are in the database."""
    with broker(count) as servers, tempfile.TemporaryDirectory() as folder:
        url, log = Path(folder, "plant.db"), Path(folder, "log")
        with log.open("wb") as out:
            running = [
                subprocess.Popen(
                    [*HEADWATER, *command, "--kafka", servers], cwd=folder, stdout=out, stderr=out
                )
                for command in commands
            ]
        end = time.monotonic() + PATIENCE
        while counted(url) < count:
            assert time.monotonic() < end, log.read_text()[-2_000:]
            time.sleep(0.1)
        found = []
        for one in running:
            one.terminate()
            _, status, usage = os.wait4(one.pid, 0)
            one.returncode = os.waitstatus_to_exitcode(status)
            found.append(usage.ru_utime + usage.ru_stime)
        return found


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--events", type=click.IntRange(1_000, 25_000), default=20_000, show_default=True)
def main(events: int) -> None:
    """Measure worker, decider and owner."""
    console = open_console()
    sent = ["--decisions", "decisions"]
    between = ["--reports", "reports", "--models", "models"]
    common = ["--answers", "answers", "--questions", "questions", "--db", "plant.db"]
    lines: list[tuple[str, ...]] = []
    for rate in ("0.05", "0.01"):
        alone = ["work", "--events", "events", *common, *sent, "--budget", rate]
        decider = ["decide", "--events", "events", *between, *sent]
        owner = ["work", *between, *common, "--budget", rate]
        for names, commands in (
            (["worker that decides"], [alone]),
            (["decider", "its owner"], [decider, owner]),
        ):
            few, all_ = spent(commands, FEW), spent(commands, events)
            for name, less, more in zip(names, few, all_, strict=True):
                cost = 1e6 * (more - less) / (events - FEW)
                lines.append((f"{float(rate):.0%}", name, f"{cost:.0f}", f"{1e6 / cost:,.0f}"))
    console.print(f"{machine()}; {versions('confluent-kafka')}; {events:,} events")
    draw(console, "Deciders", HEAD, lines)


if __name__ == "__main__":
    main()
