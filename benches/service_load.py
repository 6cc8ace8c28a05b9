"""The service under load, beside a floor: the same HTTP, checks and commits without a learner.

    python benches/service_load.py [--seconds 5] [--rounds 3] [--database URL]

Floor and service take turns in one run, on new databases. Server and generator are processes of
their own. The generator keeps a number of connections busy, each with one request on its way:
single events at 1, 16 and 64 connections, batches of 100 events at 4. Events have 20 features and
an id. Then the same while two people label and snapshots are made.
"""

import asyncio
import json
import multiprocessing
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import click

import headwater as hw

FLOOR = """
from durability import store_only
from headwater.live.journal import Journal
Journal.receive = lambda self, *args: store_only(self, *args[:5])
"""
SERVE = "from headwater.cli import main; main()"
OFTEN = """
from functools import partial
from headwater import live
live.open = partial(live.open, snapshot_facts=2_000)
"""
"""A snapshot after every 2,000 facts, so every second or so."""


class Case(NamedTuple):
    """Connections, and events per request."""

    name: str
    connections: int
    batch: int


CASES = (
    Case("single events, 1 connection", 1, 1),
    Case("single events, 16 connections", 16, 1),
    Case("single events, 64 connections", 64, 1),
    Case("batches of 100, 4 connections", 4, 100),
)


class Measured(NamedTuple):
    """Events per second, and the times of requests in milliseconds."""

    rate: float
    median: float
    high: float


class Server:
    """`headwater serve` as a process; `floor`: without a learner; `often`: with many snapshots."""

    def __init__(self, database: str, floor: bool, port: int, often: bool = False) -> None:
        program = (FLOOR if floor else "") + (OFTEN if often else "") + SERVE
        command = [sys.executable, "-c", program, "serve", "--db", database, "--port", str(port)]
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=__file__.rpartition("/")[0],
        )
        assert self.process.stdout is not None
        self.token = self.process.stdout.readline().split()[-1]
        self.process.stdout.readline()

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(120) == 0


def bodies(count: int, batch: int, run: str) -> list[bytes]:
    """Bodies of requests, made before the clock runs."""
    numbers = random.Random(1)
    made = []
    for request in range(count):
        events = [
            {
                "id": f"{run}/{request}/{place}",
                "features": {f"sensor-{n:03d}": numbers.gauss(0, 1) for n in range(20)},
            }
            for place in range(batch)
        ]
        made.append(json.dumps(events[0] if batch == 1 else events).encode())
    return made


def generate(port: int, token: str, case: Case, seconds: float, run: str, pipe: Connection) -> None:
    """In a process of its own: keep the connections busy for some seconds."""
    made = bodies(int(seconds * (10_000 if case.batch == 1 else 400)), case.batch, run)
    pipe.send(asyncio.run(keep_busy(port, token, case, seconds, made)))


async def keep_busy(
    port: int, token: str, case: Case, seconds: float, made: list[bytes]
) -> Measured:
    times: list[float] = []
    waiting = iter(made)
    end = time.perf_counter() + seconds

    async def client() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        head = (
            "POST /v1/streams/main/events HTTP/1.1\r\nHost: localhost\r\n"
            f"Authorization: Bearer {token}\r\nContent-Type: application/json\r\nContent-Length: "
        ).encode()
        for body in waiting:
            began = time.perf_counter()
            if began > end:
                break
            writer.write(head + b"%d\r\n\r\n" % len(body) + body)
            header = await reader.readuntil(b"\r\n\r\n")
            assert header.startswith(b"HTTP/1.1 200"), header
            length = int(header.partition(b"content-length: ")[2].partition(b"\r")[0])
            await reader.readexactly(length)
            times.append(time.perf_counter() - began)
        writer.close()

    began = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(case.connections)))
    taken = time.perf_counter() - began
    times.sort()
    high = times[int(0.99 * (len(times) - 1))]
    return Measured(len(times) * case.batch / taken, statistics.median(times) * 1e3, high * 1e3)


def label_on(port: int, token: str, by: str, seconds: float) -> None:
    """In a process of its own: somebody who answers a card every tenth of a second."""
    end = time.perf_counter() + seconds
    with hw.Client(f"http://localhost:{port}", token) as plant:
        while time.perf_counter() < end:
            for card in plant.lease(by):
                values = dict(card["features"])
                plant.answer(card["question"], values["sensor-000"] > 0, by=by)
            time.sleep(0.1)


def measure(
    case: Case, floor: bool, port: int, seconds: float, database: str | None, busy: bool
) -> Measured:
    spawn = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        server = Server(database or f"{folder}/plant.db", floor, port, often=busy)
        try:
            ours, theirs = spawn.Pipe()
            run = str(time.time_ns())
            arguments = (port, server.token, case, seconds, run, theirs)
            people = [
                spawn.Process(target=label_on, args=(port, server.token, by, seconds + 2))
                for by in ("ada", "bob")
            ]
            for person in people if busy else ():
                person.start()
            generator = spawn.Process(target=generate, args=arguments)
            generator.start()
            found: Measured = ours.recv()
            generator.join()
            for person in people if busy else ():
                person.join()
        finally:
            server.stop()
        if busy and not floor and database is None:
            with hw.live.read(f"{folder}/plant.db") as reader:  # one more is made at the stop
                made = len(reader.weights())
                assert made > 1, "no snapshot was made while it was measured"
    return found


def row(name: str, floors: list[Measured], found: list[Measured]) -> str:
    share = statistics.median(
        one.rate / floor.rate for one, floor in zip(found, floors, strict=True)
    )

    def middle(column: str, of: list[Measured]) -> Any:
        return statistics.median(getattr(one, column) for one in of)

    return (
        f"| {name} | {middle('rate', floors):,.0f} | {middle('rate', found):,.0f} | {share:.2f} |"
        f" {middle('median', found):.1f} | {middle('high', found):.1f} |"
    )


@click.command()
@click.option("--seconds", default=5.0, show_default=True, help="Of each measurement.")
@click.option("--rounds", default=3, show_default=True, help="How often both take turns.")
@click.option("--port", default=8477, show_default=True)
@click.option("--database", help="Another database than a new SQLite file; it must be empty.")
def main(seconds: float, rounds: int, port: int, database: str | None) -> None:
    """The service under load."""
    print("| load | floor, events/s | service, events/s | share | p50, ms | p99, ms |")
    print("| --- | --- | --- | --- | --- | --- |")
    for case in CASES:
        pairs = [
            [measure(case, floor, port, seconds, database, False) for floor in (True, False)]
            for _ in range(rounds)
        ]
        print(row(case.name, [one for one, _ in pairs], [one for _, one in pairs]), flush=True)
    case = CASES[2]
    pairs = [
        [measure(case, floor, port, seconds, database, True) for floor in (True, False)]
        for _ in range(rounds)
    ]
    name = "the same while two people label and snapshots are made"
    print(row(name, [one for one, _ in pairs], [one for _, one in pairs]), flush=True)


if __name__ == "__main__":
    main()
