"""A service on a port of its own, in a thread, whose streams the tests can look into."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import headwater as hw
from headwater.service.app import create_app
from headwater.service.server import Server
from headwater.service.service import Service
from headwater.service.settings import Settings
from service.process import free_port


class Serving:
    """A service that a browser can open."""

    def __init__(self, service: Service, url: str, token: str) -> None:
        self.service = service
        self.url = url
        self.token = token

    @property
    def plant(self) -> hw.live.Loop:
        return self.service.streams["main"]

    def invite(self, name: str) -> str:
        """The address by which somebody new logs in."""
        grant = self.service.access.add_person(name, ["label", "read"], ["main"])
        return f"{self.url}/login#{self.service.access.invite(grant)[0]}"

    def send(self, count: int, first: int = 0) -> None:
        """Events whose question has the number in its id."""
        for i in range(first, first + count):
            self.plant.receive({"rain": float(i % 7), "wind": 1.0 + i}, id=f"event {i}")

    def facts(self, kind: str) -> list[dict[str, Any]]:
        """The facts of a kind, from the database."""
        with hw.live.read(self.service.settings.database) as reader:
            return [one for one in reader.facts() if one["kind"] == kind]


@contextmanager
def serving(folder: Path, learner: hw.Learner | None = None, **settings: Any) -> Iterator[Serving]:
    """A service with one stream, `main`, by default with a learner that asks about everything."""
    port = free_port()
    told = Settings(database=str(folder / "plant.db"), port=port, **settings)
    app = create_app(told, {"main": learner or hw.OLSF()})
    service = app.state.service
    ready = threading.Event()
    server = Server(app, lambda _: ready.set())
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        assert ready.wait(60), "the service has not begun"
        yield Serving(service, f"http://127.0.0.1:{port}", service.new_token)
    finally:
        server.should_exit = True
        thread.join(60)
