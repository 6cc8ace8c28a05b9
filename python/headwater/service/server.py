"""The HTTP server: it listens, and at SIGTERM or Ctrl-C finishes, snapshots and ends with 0."""

import asyncio
import contextlib
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from headwater.errors import ParameterError
from headwater.service.service import Service

HEADER_SECONDS = 15.0
"""Seconds within which the headers of a request must have come."""


class PatientProtocol(HttpToolsProtocol):
    """HTTP on one connection, which is closed if the headers of a request do not come in time."""

    _headers_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._await_headers()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._await_headers()

    def on_headers_complete(self) -> None:
        self._stop_timer()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def _await_headers(self) -> None:
        if self._headers_timer is None:
            self._headers_timer = self.loop.call_later(HEADER_SECONDS, self._too_slow)

    def _stop_timer(self) -> None:
        if self._headers_timer is not None:
            self._headers_timer.cancel()
            self._headers_timer = None

    def _too_slow(self) -> None:
        self._headers_timer = None
        if not self.transport.is_closing():
            self.transport.close()


class Server(uvicorn.Server):
    """uvicorn, which ends with 0 after a signal; those who watch updates are told to go first."""

    def __init__(self, app: Starlette, ready: Callable[[int], None] | None = None) -> None:
        service: Service = app.state.service
        settings = service.settings
        super().__init__(
            uvicorn.Config(
                app,
                host=settings.host,
                port=settings.port,
                http=PatientProtocol,
                ws="none",
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=max(1, round(settings.stop_seconds)),
            )
        )
        self._service = service
        self._ready = ready

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        if self.started:
            port = self.servers[0].sockets[0].getsockname()[1]
            await run_in_threadpool(self._service.note_address, port)
            if self._ready is not None:
                self._ready(port)

    async def shutdown(self, sockets: Any = None) -> None:
        self._service.stop()
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {one: signal.signal(one, self.handle_exit) for one in _SIGNALS}
        try:
            yield
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.should_exit = True


_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def free_port(command: str, port: int) -> int:
    """This port, or another one if it is taken."""
    for wanted in (port, 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", wanted))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise ParameterError(f"{command}: no port is free, not even another than {port}.")
