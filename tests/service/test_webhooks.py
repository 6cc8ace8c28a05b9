"""Webhooks: signed, in order, retried, never blocking."""

import hashlib
import hmac
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, get_args

import pytest

import headwater as hw
from headwater.register import FindingKind
from headwater.service import webhooks
from service.process import free_port
from service.running import Running, code, running

EVENTS = "/v1/streams/main/events"
PATIENCE = 60.0


class Receiver:
    """A server that notes what it gets; it answers with the statuses it was given, then 200."""

    def __init__(self, *statuses: int, port: int = 0) -> None:
        self.statuses = list(statuses)
        self.got: list[dict[str, Any]] = []
        self.signatures: list[tuple[str, bytes]] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            """Notes the body."""

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.signatures.append((self.headers["Headwater-Signature"], body))
                status = receiver.statuses.pop(0) if receiver.statuses else 200
                if status == 200:
                    receiver.got.append(json.loads(body))
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *args: Any) -> None:
                """Nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@contextmanager
def receiving(*statuses: int, port: int = 0) -> Iterator[Receiver]:
    receiver = Receiver(*statuses, port=port)
    try:
        yield receiver
    finally:
        receiver.server.shutdown()
        receiver.server.server_close()


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhooks, "LOOK", 0.02)
    monkeypatch.setattr(webhooks, "pause", lambda attempt: 0.02)


def add(one: Running, url: str, *kinds: str) -> dict[str, Any]:
    body: dict[str, Any] = {"url": url, "stream": "main"}
    if kinds:
        body["kinds"] = list(kinds)
    reply = one.admin.post("/v1/webhooks", json=body)
    assert reply.status_code == 201
    told: dict[str, Any] = reply.json()
    return told


def test_a_webhook_is_told_in_order_what_happens_and_it_is_signed(one: Running) -> None:
    one.admin.post(EVENTS, json={"id": "before", "features": {"x": 1.0}})
    with receiving() as receiver:
        hook = add(one, receiver.url)
        for number in range(3):
            one.admin.post(EVENTS, json={"id": f"e{number}", "features": {"x": float(number)}})
        one.admin.post("/v1/streams/main/labels", json={"event": "e0", "label": True})
        wait_until(lambda: len(receiver.got) == 4)
    assert [(one["kind"], one["question"]) for one in receiver.got] == [
        ("question.opened", "main:2"),
        ("question.opened", "main:3"),
        ("question.opened", "main:4"),
        ("question.answered", "main:2"),
    ]
    assert receiver.got[0]["event"] == "e0"
    assert len({one["id"] for one in receiver.got}) == 4
    for signature, body in receiver.signatures:
        when, _, mac = signature.partition(",v1=")
        signed = when.removeprefix("t=").encode() + b"." + body
        expected = hmac.new(hook["secret"].encode(), signed, hashlib.sha256).hexdigest()
        assert mac == expected
    (listed,) = one.admin.get("/v1/webhooks").json()
    assert "secret" not in listed


def test_a_receiver_that_fails_gets_it_again_and_the_stream_goes_on(one: Running) -> None:
    with receiving(500, 404, 302) as receiver:
        add(one, receiver.url, "question.opened")
        replies = [one.admin.post(EVENTS, json={"features": {"x": float(n)}}) for n in range(3)]
        assert all(reply.status_code == 200 for reply in replies)
        wait_until(lambda: len(receiver.got) == 3)
    assert len(receiver.signatures) == 6
    assert len({body for _, body in receiver.signatures[:4]}) == 1
    text = one.admin.get("/metrics").text
    assert 'headwater_webhooks_total{outcome="failed"} 3.0' in text


def test_what_happened_while_the_receiver_and_the_service_were_down_is_told_later(
    tmp_path: Path,
) -> None:
    port = free_port()
    with running(tmp_path / "plant.db") as one:
        add(one, f"http://127.0.0.1:{port}/hook", "question.opened")
        one.admin.post(EVENTS, json={"id": "e0", "features": {"x": 1.0}})
        wait_until(lambda: bool(one.service.webhooks.failures))
        one.admin.post(EVENTS, json={"id": "e1", "features": {"x": 2.0}})
    with running(tmp_path / "plant.db"), receiving(port=port) as receiver:
        wait_until(lambda: [one["event"] for one in receiver.got] == ["e0", "e1"])


def test_a_webhook_is_dropped(one: Running) -> None:
    with receiving() as receiver:
        hook = add(one, receiver.url)
        assert one.admin.delete(f"/v1/webhooks/{hook['id']}").status_code == 204
        assert code(one.admin.delete(f"/v1/webhooks/{hook['id']}")) == (404, "not_found")
        one.admin.post(EVENTS, json={"features": {"x": 1.0}})
        assert one.admin.get("/v1/webhooks").json() == []
        assert receiver.got == []


def test_a_webhook_is_told_what_happens_to_features_each_finding_once(tmp_path: Path) -> None:
    """`b` dies after 200 hours; it is gone after a restart of the service."""
    alone = hw.Register()
    events = [{"a": n % 7, "b": n % 5} if n < 200 else {"a": n % 7} for n in range(300)]
    for number, x in enumerate(events):
        alone.observe_one(x, number * 3_600.0)
    silent, gone = alone.findings()
    with receiving() as receiver:
        for first, last in ((0, silent.event + 1), (silent.event + 1, 300)):
            with running(tmp_path / "plant.db", hw.Linear(track=True)) as one:
                if not first:
                    add(one, receiver.url, "feature.silent", "feature.gone")
                plant = one.service.stream("main")
                for number in range(first, last):
                    plant.receive(events[number], time=number * 3_600.0)
                wait_until(partial(has, receiver, 2 if first else 1))
    assert [(one["kind"], one["feature"], one["number"], one["event"]) for one in receiver.got] == [
        ("feature.silent", "b", silent.number, silent.event),
        ("feature.gone", "b", gone.number, gone.event),
    ]
    assert receiver.got[0]["id"] == f"feature.silent/main:{silent.number}"


def has(receiver: Receiver, count: int) -> bool:
    return len(receiver.got) == count


def test_every_kind_of_finding_is_a_kind_of_webhook() -> None:
    kinds = {f"feature.{kind}".replace(" ", "_") for kind in get_args(FindingKind)}
    assert kinds == {kind for kind in get_args(webhooks.Kind) if kind.startswith("feature.")}


def test_pauses_grow_to_an_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    pauses = [webhooks.pause(attempt) for attempt in range(1, 30)]
    assert 1 <= pauses[0] <= 1.25
    assert 4 <= pauses[2] <= 5
    assert 3_600 <= max(pauses) <= 4_500
