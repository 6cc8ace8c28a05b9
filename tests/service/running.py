"""A service for tests, in this process, and those who call it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

import headwater as hw
from headwater.service.app import create_app
from headwater.service.service import Service
from headwater.service.settings import Settings

ADDRESS = "http://localhost:8420"


class Running:
    """A service and its admin's client; `client(...)` gives one with another token."""

    def __init__(self, app: Any, admin: TestClient) -> None:
        self.app = app
        self.service: Service = app.state.service
        self.admin = admin

    def client(self, *roles: str, streams: list[str] | None = None) -> TestClient:
        """A client with a token of these roles; without roles, one without a token."""
        headers = {}
        if roles:
            token = self.service.access.add_token("tester", list(roles), streams)[1]
            headers = {"Authorization": f"Bearer {token}"}
        return TestClient(self.app, ADDRESS, headers=headers, raise_server_exceptions=False)


@contextmanager
def running(
    database: Path | str, learner: hw.Learner | None = None, **settings: Any
) -> Iterator[Running]:
    """A service with one stream, `main`, by default with a learner that asks about everything."""
    learners = {"main": learner or hw.OLSF()}
    app = create_app(Settings(database=str(database), **settings), learners)
    token = app.state.service.new_token or app.state.service.access.add_token("a", ["admin"])[1]
    headers = {"Authorization": f"Bearer {token}"}
    with TestClient(app, ADDRESS, headers=headers, raise_server_exceptions=False) as admin:
        yield Running(app, admin)


def code(reply: Any) -> tuple[int, str]:
    """Status and code of an error."""
    return reply.status_code, reply.json()["error"]["code"]
