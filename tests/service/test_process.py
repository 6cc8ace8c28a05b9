"""`headwater serve` as a process: how it starts, what it says, how it ends."""

import json
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx2
import pytest

import headwater as hw
from headwater.service import server as server_module
from headwater.service.app import create_app
from headwater.service.server import Server
from headwater.service.settings import Settings
from service.process import PROGRAM, Served, free_port


def test_a_stop_finishes_makes_a_snapshot_and_ends_with_0(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with Served(tmp_path / "plant.db", log=log) as one:
        with hw.Client(one.url, one.token) as plant:
            plant.send_many([{"x": float(n)} for n in range(50)])
        assert one.stop(signal.SIGTERM) == 0
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert lines[0]["path"] == "/v1/streams/main/events"
    assert one.token not in log.read_text()
    with hw.live.read(tmp_path / "plant.db") as reader:
        assert reader.status().snapshots[0][0] == 50
    with Served(tmp_path / "plant.db") as again:
        assert again.token == ""
        assert again.stop(signal.SIGINT) == 0


def test_a_stop_ends_those_who_watch(tmp_path: Path) -> None:
    with Served(tmp_path / "plant.db", "--learner", "OLSF") as one:
        headers = {"Authorization": f"Bearer {one.token}"}
        heard: list[str] = []
        watching = threading.Event()

        def watch() -> None:
            with httpx2.stream(
                "GET", f"{one.url}/v1/updates", headers=headers, timeout=60
            ) as reply:
                for line in reply.iter_lines():
                    heard.append(line)
                    watching.set()

        watcher = threading.Thread(target=watch)
        watcher.start()
        assert watching.wait(30)
        with hw.Client(one.url, one.token) as plant:
            plant.send({"x": 1.0}, id="e1")
        deadline = time.monotonic() + 30
        while "event: events" not in heard and time.monotonic() < deadline:
            time.sleep(0.05)
        assert one.stop(signal.SIGTERM) == 0
        watcher.join(30)
        assert not watcher.is_alive()
    told = [line.removeprefix("data: ") for line in heard if line.startswith("data: ")]
    assert {"stream": "main", "question": "main:1", "event": "e1"} in map(json.loads, told)
    assert {"stream": "main", "events": 1} in map(json.loads, told)


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", PROGRAM, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def test_a_second_service_on_the_database_is_refused_in_one_sentence(tmp_path: Path) -> None:
    database = str(tmp_path / "plant.db")
    with Served(database) as served:
        second = run("serve", "--db", database, "--port", str(free_port()))
        place = f"{database} is held by process {served.process.pid}, which serves {served.url};"
    assert second.returncode == 2
    assert f"{place} stop it first, or send to that address." in second.stderr
    assert len(second.stderr.splitlines()) == 1


def test_a_port_in_use_is_said_in_one_sentence(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = run("serve", "--db", str(tmp_path / "plant.db"), "--port", port)
    assert done.returncode == 2
    assert "Address already in use" in done.stderr
    assert not (tmp_path / "plant.db").exists()


def test_headers_that_do_not_come_end_the_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "HEADER_SECONDS", 0.3)
    port = free_port()
    app = create_app(Settings(database=str(tmp_path / "plant.db"), port=port))
    ready = threading.Event()
    server = Server(app, lambda port: ready.set())
    thread = threading.Thread(target=server.run)
    thread.start()
    assert ready.wait(30)
    try:
        for begun in (b"", b"GET /healthz HTTP/1.1\r\nHost: local"):
            with socket.create_connection(("127.0.0.1", port)) as slow:
                slow.settimeout(30)
                slow.sendall(begun)
                assert slow.recv(100) == b""
        for _ in range(2):  # a whole request, then half of one, on the same connection
            with socket.create_connection(("127.0.0.1", port)) as slow:
                slow.settimeout(30)
                slow.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET /heal")
                heard = b""
                while part := slow.recv(4096):
                    heard += part
                assert heard.startswith(b"HTTP/1.1 200")
    finally:
        server.should_exit = True
        thread.join(30)


def test_streams_come_from_the_file_and_the_environment_replaces_it(tmp_path: Path) -> None:
    (tmp_path / "headwater.toml").write_text(
        "[serve]\nport = 1\n[streams.north]\nlearner = 'Linear'\nlabel_rate = 0.1\n"
        "[streams.south]\nkeep_events = '2 days'\n"
    )
    with Served(tmp_path / "plant.db", "--config", str(tmp_path / "headwater.toml")) as one:
        with hw.Client(one.url, one.token) as plant:
            told = {stream["name"]: stream["learner"] for stream in plant.get("/v1/streams")}
        assert told == {
            "north": "Linear(query=query.Budget(rate=0.1))",
            "south": "Spring()",
        }
        assert one.stop() == 0
    with Served(tmp_path / "plant.db", "--config", str(tmp_path / "headwater.toml")) as again:
        assert again.stop() == 0  # the same file again


def test_a_lost_token_is_replaced(tmp_path: Path) -> None:
    with Served(tmp_path / "plant.db") as one:
        assert one.stop() == 0
    with (
        Served(tmp_path / "plant.db", "--new-token") as again,
        hw.Client(again.url, again.token) as plant,
    ):
        assert len(plant.get("/v1/tokens")) == 2
