"""What it costs to start each engine that Headwater's tests and users meet.

    python benches/engines.py

From nothing to ready: a broker that answers, a database that takes connections, a Spark session
that has finished its first query of `per_key` with ten rows. Processor seconds are those of all
processes below this one. What is not installed is left out, with the reason. Jars are fetched
before the clock starts.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib.util import find_spec
from pathlib import Path
from shutil import which

import click
from machine import draw, machine, open_console, versions
from spark_cost import on_spark, processor_seconds, session, stream, write

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from connectors import brokers
from live import postgres

HEAD = ("engine", "ready after, s", "of the processor, s")


class MissingError(Exception):
    """Why an engine cannot be started here."""


@contextmanager
def mock() -> Iterator[str]:
    """The broker inside of librdkafka."""
    from confluent_kafka import Producer

    holder = Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "unused"})
    broker = next(iter(holder.list_topics(timeout=10).brokers.values()))
    yield f"{broker.host}:{broker.port}"
    del holder


@contextmanager
def kafka() -> Iterator[str]:
    """A real broker with one topic."""
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewTopic

    try:
        brokers.jars(brokers.KAFKA)
    except brokers.NoJarsError as reason:
        raise MissingError(str(reason)) from None
    with brokers.kafka() as servers:
        client = AdminClient({"bootstrap.servers": servers})
        client.create_topics([NewTopic("events", 4, 1)])["events"].result(30)
        yield servers


@contextmanager
def mosquitto() -> Iterator[str]:
    """A real broker."""
    if brokers.mosquitto_program() is None:
        raise MissingError("Mosquitto is not installed")
    with brokers.mosquitto() as host:
        yield host


@contextmanager
def database() -> Iterator[str]:
    """A database made anew; its server runs on its own, so its processor time is not counted."""
    if postgres.programs() is None:
        raise MissingError("PostgreSQL is not installed")
    with postgres.server() as url:
        yield url


@contextmanager
def spark() -> Iterator[None]:
    """A session that has run a query."""
    if find_spec("pyspark") is None or which("java") is None:
        raise MissingError("PySpark or Java is not installed")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(stream(10, 1), folder / "in")
        paths = (str(Path(__file__).parent), os.environ.get("PYTHONPATH"))
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))  # the learner's module
        context = session(2)
        on_spark(context, folder / "in", folder / "checkpoint", 2**20)
        yield
        context.stop()


@contextmanager
def worker() -> Iterator[None]:
    """`headwater work` that has joined its group and opened its parts."""
    with kafka() as servers, tempfile.TemporaryDirectory() as name:
        command = [sys.executable, "-c", "from headwater.cli import main; main()", "work"]
        command += ["--kafka", servers, "--events", "events", "--db", f"{name}/plant.db"]
        before = processor_seconds(), time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        while "taken over" not in process.stdout.readline():
            assert process.poll() is None, "the worker has ended"
        STARTED["cpu"], STARTED["wall"] = before
        yield
        process.terminate()
        process.wait()


STARTED: dict[str, float] = {}
"""When the clock began, if not with the engine: a worker needs a broker first."""
ENGINES: dict[str, Callable[[], AbstractContextManager[object]]] = {
    "librdkafka's own broker": mock,
    "Kafka in KRaft mode, formatted, with a topic": kafka,
    "headwater work on it, its parts open": worker,
    "Mosquitto": mosquitto,
    "PostgreSQL, with its cluster": database,
    "Spark, a first query of per_key": spark,
}


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Start each engine once."""
    console = open_console()
    rows, missing = list[tuple[str, ...]](), list[str]()
    for name, engine in ENGINES.items():
        STARTED.clear()
        before = processor_seconds(), time.perf_counter()
        try:
            with engine():
                cpu = processor_seconds() - STARTED.get("cpu", before[0])
                wall = time.perf_counter() - STARTED.get("wall", before[1])
        except MissingError as reason:
            missing.append(f"{name}: {reason}")
            continue
        rows.append((name, f"{wall:.1f}", f"{cpu:.1f}"))
    console.print(f"{machine()}; {versions('pyspark', 'confluent-kafka', 'paho-mqtt')}")
    draw(console, "From nothing to ready", HEAD, rows)
    for sentence in missing:
        console.print(f"Left out: {sentence}.")


if __name__ == "__main__":
    main()
