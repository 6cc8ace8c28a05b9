"""What stands before every request: Host, Origin, headers of safety, counters and the log."""

import sys
import time
from typing import Any
from urllib.parse import urlsplit

import msgspec
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headwater.service.endpoint import send_error
from headwater.service.errors import ServiceError
from headwater.service.service import Service

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
    " font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none';"
    " frame-ancestors 'none'"
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
"""Sent with every reply; also `cache-control: no-store` unless the reply says otherwise."""
LOCAL = ("localhost", "127.0.0.1", "[::1]")


class Guard:
    """The outermost layer of the application."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self.app = app
        self.service = service
        settings = service.settings
        self._hosts = {*LOCAL, *(host.lower() for host in settings.hosts)}
        if settings.host not in ("0.0.0.0", "::"):
            self._hosts.add(f"[{settings.host}]" if ":" in settings.host else settings.host)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began = time.perf_counter()
        status = 0

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = message["headers"]
                if not any(name == b"cache-control" for name, _ in headers):
                    headers = [*headers, (b"cache-control", b"no-store")]
                message = {**message, "headers": [*headers, *HEADERS]}
            await send(message)

        try:
            self._check(scope)
        except ServiceError as error:
            await send_error(sending, error)
        else:
            await self.app(scope, receive, sending)
        finally:
            self._note(scope, status, time.perf_counter() - began)

    def _check(self, scope: Scope) -> None:
        host = origin = None
        for name, value in scope["headers"]:
            if name == b"host":
                host = value.decode("latin-1").lower()
            elif name == b"origin":
                origin = value.decode("latin-1").lower()
        if host is None or _without_port(host) not in self._hosts:
            raise ServiceError(
                "wrong_host",
                f"This service is not known as {(host or '')[:100]!r}; add the name to `hosts` in"
                " [serve].",
            )
        if origin is not None and urlsplit(origin).netloc != host:
            raise ServiceError("wrong_origin", "Pages of other sites may not use this service.")

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        """Count the request and write its line; a path has no secrets, and nothing else is told."""
        route = scope.get("headwater_route", "other")
        self.service.metrics.request(scope["method"], route, status, seconds)
        error = scope.get("headwater_error")
        if error is not None and not isinstance(error, ServiceError) and status >= 500:
            import traceback

            log("error", text="".join(traceback.format_exception(error)))
        line: dict[str, Any] = {
            "method": scope["method"],
            "path": scope["path"],
            "status": status,
            "ms": round(seconds * 1e3, 2),
        }
        for name in ("caller", "event"):
            value = scope.get(f"headwater_{name}")
            if value is not None:
                line[name] = value
        log("request", **line)


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0]


def log(kind: str, **fields: Any) -> None:
    """Write one line of JSON to standard error."""
    line = {"time": round(time.time(), 3), "log": kind, **fields}
    sys.stderr.buffer.write(msgspec.json.encode(line) + b"\n")
    sys.stderr.buffer.flush()
