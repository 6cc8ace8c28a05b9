"""The client for Python: five verbs, retries that count once."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

import headwater as hw
from headwater import client as client_module
from headwater.errors import EventError
from service.process import Served, free_port


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    database = tmp_path_factory.mktemp("client") / "plant.db"
    with Served(database, "--learner", "OLSF") as one:
        yield one


def test_the_verbs_of_the_client(served: Served) -> None:
    with hw.Client(served.url, served.token) as plant:
        sent = plant.send({"rain": 2.0, "line": "north"}, id="monday")
        assert (sent.asked, sent.repeated) == (True, False)
        assert plant.send({"rain": 2.0, "line": "north"}, id="monday") == sent._replace(
            repeated=True
        )
        assert sent.question is not None
        card = plant.lease("ada")[0]
        assert card["question"] == sent.question
        assert plant.answer(sent.question, True, by="ada", key="1") == "answered"
        many = plant.send_many([{"rain": 1.0}, {"rain": -1.0}], ids=["a", "b"], labels=[True, None])
        assert [one.id for one in many if isinstance(one, client_module.SentEvent)] == ["a", "b"]
        assert plant.label("b", False) == "applied"
        assert plant.predict({"rain": -5.0}) is False
        assert plant.get("/v1/streams/main")["events"] == 3


def test_the_async_client_has_the_same_verbs(served: Served) -> None:
    verbs = [name for name in vars(hw.Client) if not name.startswith("_")]
    assert verbs == [name for name in vars(hw.AsyncClient) if not name.startswith("_")]

    async def use() -> list[Any]:
        async with hw.AsyncClient(served.url, served.token) as plant:
            events = [plant.send({"x": float(n)}, id=f"async-{n}") for n in range(10)]
            sent = await asyncio.gather(*events)
            again = await plant.send_many([{"x": 0.0}], ids=["async-0"])
            return [sorted(one.id for one in sent), again[0], await plant.predict({"x": 1.0})]

    ids, again, _ = asyncio.run(use())
    assert ids == sorted(f"async-{n}" for n in range(10))
    assert again.repeated


def test_what_the_service_refuses_is_an_error_with_its_code(served: Served) -> None:
    with hw.Client(served.url, served.token) as plant:
        plant.send({"x": 1.0}, id="once")
        with pytest.raises(hw.errors.ServiceRefusedError, match="was used before") as refused:
            plant.send({"x": 2.0}, id="once")
        assert (refused.value.code, refused.value.status) == ("id_reused", 409)
        several = plant.send_many([{"x": 3.0}, {"x": 4.0}], ids=["once", "twice"])
        assert isinstance(several[0], hw.errors.ServiceRefusedError)
    with (
        hw.Client(served.url, "hwt_wrong") as stranger,
        pytest.raises(hw.errors.ServiceRefusedError, match="unknown"),
    ):
        stranger.predict({"x": 1.0})


def test_nobody_there_is_said_after_the_last_try() -> None:
    with (
        hw.Client(f"http://127.0.0.1:{free_port()}", "t", tries=2) as nobody,
        pytest.raises(hw.errors.ServiceRefusedError, match="it was tried 2 times"),
    ):
        nobody.predict({"x": 1.0})


def test_a_retry_carries_the_same_id_though_none_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "_pause", lambda attempt: 0.0)
    bodies: list[bytes] = []

    class Flaky(BaseHTTPRequestHandler):
        """Not now, twice; then a decision."""

        def do_POST(self) -> None:
            bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            reply = b'{"error":{"code":"unavailable","message":"Not now."}}'
            if len(bodies) > 2:
                reply = (
                    b'{"id":"x","number":1,"prediction":null,"margin":0.0,"query_probability":1.0,'
                    b'"asked":false,"question":null,"repeated":true}'
                )
            self.send_response(200 if len(bodies) > 2 else 503)
            self.send_header("Content-Length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        def log_message(self, *args: Any) -> None:
            """Nothing."""

    server = HTTPServer(("127.0.0.1", 0), Flaky)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with hw.Client(f"http://127.0.0.1:{server.server_port}", "t") as plant:
        assert plant.send({"x": 1.0}).repeated
    server.shutdown()
    server.server_close()
    assert len(bodies) == 3
    assert len(set(bodies)) == 1
    assert b'"id"' in bodies[0]


@contextmanager
def answering(*replies: tuple[int, bytes]) -> Iterator[str]:
    """A server that gives these replies in turn, whatever it is asked."""
    left = list(replies)

    class Scripted(BaseHTTPRequestHandler):
        """Status and body from the list."""

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            status, reply = left.pop(0)
            self.send_response(status)
            self.send_header("Content-Length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        def log_message(self, *args: Any) -> None:
            """Nothing."""

    server = HTTPServer(("127.0.0.1", 0), Scripted)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def test_a_proxy_whose_service_restarts_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "_pause", lambda attempt: 0.0)
    page = b"<html><h1>502 Bad Gateway</h1></html>"
    good = b'{"prediction": true, "margin": 1.0, "probabilities": null, "of a newer service": 1}'
    with answering((502, page), (504, page), (200, good)) as url, hw.Client(url, "t") as plant:
        assert plant.predict({"x": 1.0}) is True


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (404, b"<html>no such page</html>", "status 404 with '<html>no such page</html>'"),
        (200, b"<html>log in</html>", "status 200"),
        (403, b'{"detail": "of another program"}', "status 403"),
        (502, b"<html>down</html>", "status 502.*behind its proxy"),
    ],
)
def test_a_reply_of_another_program_is_said(status: int, body: bytes, said: str) -> None:
    with (
        answering((status, body)) as url,
        hw.Client(url, "t", tries=1) as plant,
        pytest.raises(hw.errors.ServiceRefusedError, match=said) as refused,
    ):
        plant.predict({"x": 1.0})
    assert (refused.value.code, refused.value.status) == ("unreachable", status)


def test_what_cannot_be_sent_is_said_before_it_is() -> None:
    with hw.Client(f"http://127.0.0.1:{free_port()}", "t", tries=1) as plant:
        for x in ({"x": float("inf")}, {"x": object()}):
            with pytest.raises(EventError, match="expected values that are numbers, texts"):
                plant.send(x)
        with pytest.raises(EventError, match="an id and a label for 2 events, got 1 ids and 2"):
            plant.send_many([{"x": 1.0}, {"x": 2.0}], ids=["a"])


def test_a_token_is_not_shown() -> None:
    with hw.Client("http://localhost:1", "hwt_secret") as plant:
        assert "secret" not in repr(plant)


def test_numbers_of_numpy_are_sent_as_numbers_and_nan_as_absent(tmp_path: Path) -> None:
    import numpy as np

    told = client_module._features({"a": np.float64(1.5), "b": np.int64(2), "c": np.nan, 4: True})
    assert told == {"a": 1.5, "b": 2, "4": True}
