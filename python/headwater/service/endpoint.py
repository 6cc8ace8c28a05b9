"""One operation of the API, from the request to the reply: who, what, and how it may fail.

An operation is data: method, path, role, the types of body and reply, and the function that does
it. Routes, access, the OpenAPI description and the documentation all follow from the same list.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from starlette.requests import HTTPConnection
from starlette.types import Message, Receive, Scope, Send

from headwater.live import Loop
from headwater.service.access import Caller, Role
from headwater.service.errors import ServiceError, explained
from headwater.service.service import Service

JSON = b"application/json"
LINES = b"application/x-ndjson"


class Call:
    """A request on its way through an operation."""

    __slots__ = ("_caller", "body", "connection", "headers", "raw", "service", "stream")

    def __init__(self, service: Service, connection: HTTPConnection, caller: Caller | None) -> None:
        self.service = service
        self.connection = connection
        self._caller = caller
        self.stream: str = stream_of(connection.scope) or ""
        self.raw = b""
        self.body: Any = None
        self.headers: list[tuple[bytes, bytes]] = []

    @property
    def caller(self) -> Caller:
        """Who sends it; only of operations that need a role."""
        assert self._caller is not None
        return self._caller

    @property
    def loop(self) -> Loop:
        """The stream of the path."""
        return self.service.stream(self.stream)

    def parameter(self, name: str) -> str:
        """A parameter of the path."""
        return str(self.connection.scope["path_params"][name])

    def query(self, name: str) -> str | None:
        """A parameter behind the question mark."""
        return self.connection.query_params.get(name)

    def number(self, name: str, default: int, least: int, most: int) -> int:
        """A whole number behind the question mark."""
        text = self.query(name)
        if text is None:
            return default
        if not text.isascii() or not text.isdigit() or not least <= int(text[:12]) <= most:
            raise ServiceError(
                "bad_request",
                f"{name}: expected a whole number from {least} to {most}, got {text[:40]!r}.",
            )
        return int(text)


@dataclass(frozen=True)
class Parameter:
    """A parameter behind the question mark, for the description."""

    name: str
    meaning: str
    schema: dict[str, Any]


@dataclass(frozen=True)
class OneOrMany:
    """A reply to one thing, or to many: an array of replies, with refusals in their place."""

    of: Any


@dataclass(frozen=True)
class Operation:
    """Something that the API can do."""

    method: str
    path: str
    does: Callable[[Call], Awaitable[Any]]
    summary: str
    role: Role | None = None
    """None: everybody, also without a token."""
    body: Any = None
    """The type of the body; `bytes`: the operation reads it itself."""
    reply: Any = None
    """The type of the reply; None: an empty one with status 204."""
    status: int = 200
    codes: tuple[str, ...] = ()
    """Codes of errors beyond those that every operation has."""
    query: tuple[Parameter, ...] = ()
    content: str = "application/json"
    documented_body: Any = field(default=None)
    """The type that the description gives for a body that the operation reads itself."""


class Endpoint:
    """The operations of one path, as an ASGI application."""

    def __init__(self, service: Service, path: str, operations: Sequence[Operation]) -> None:
        self.service = service
        self.path = path
        self.operations = {one.method: one for one in operations}
        if "GET" in self.operations:
            self.operations["HEAD"] = self.operations["GET"]
        self._decoders = {
            method: msgspec.json.Decoder(one.body)
            for method, one in self.operations.items()
            if one.body not in (None, bytes)
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["headwater_route"] = self.path
        try:
            await self._answer(scope, receive, send)
        except Exception as error:
            scope["headwater_error"] = error
            await send_error(send, explained(error))

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        operation = self.operations.get(scope["method"])
        if operation is None:
            allowed = ", ".join(sorted(self.operations))
            raise ServiceError(
                "wrong_method",
                f"{scope['method']} is not possible here; the path takes {allowed}.",
                {"Allow": allowed},
            )
        service = self.service
        connection = HTTPConnection(scope)
        caller = None
        stream = stream_of(scope)
        if operation.role is not None:
            caller = service.access.require(connection, operation.role, stream)
            service.limits.take(caller)
            scope["headwater_caller"] = caller.name
        call = Call(service, connection, caller)
        if stream is not None:
            _ = call.loop  # 404 before the body is read
        if operation.body is not None:
            check_content_type(connection, operation.body is bytes)
            call.raw = await read_body(scope, receive, service)
            if operation.body is not bytes:
                call.body = decode(self._decoders[scope["method"]], call.raw)
        reply = await operation.does(call)
        if callable(reply):  # a response of its own kind
            await reply(scope, receive, send)
        elif reply is None:
            await send_reply(send, 204, b"", call.headers)
        else:
            data = reply if isinstance(reply, bytes) else msgspec.json.encode(reply)
            await send_reply(send, operation.status, data, call.headers)


def stream_of(scope: Scope) -> str | None:
    """The stream that a path is about: `{s}`, or the first part of a question or an answer."""
    params = scope["path_params"]
    if not params:
        return None
    name: str | None = params.get("s")
    if name is None:
        both: str | None = params.get("q") or params.get("a")
        name = None if both is None else both.rpartition(":")[0]
    return name


def check_content_type(connection: HTTPConnection, lines: bool) -> None:
    """Refuse what a form of another site could send."""
    given = connection.headers.get("content-type", "")
    kind = given.partition(";")[0].strip().lower()
    if kind == "application/json" or (lines and kind == "application/x-ndjson"):
        return
    expected = "application/json" + (" or application/x-ndjson" if lines else "")
    raise ServiceError(
        "not_json", f"Content-Type: expected {expected}, got {given[:100] or 'nothing'!r}."
    )


async def read_body(scope: Scope, receive: Receive, service: Service) -> bytes:
    """The whole body, which must be small enough and come in time."""
    limit = service.settings.body_bytes
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(service.settings.body_seconds):
            while True:
                message: Message = await receive()
                if message["type"] == "http.disconnect":
                    raise ServiceError("too_slow", "The sender went before the body was there.")
                part: bytes = message.get("body", b"")
                size += len(part)
                if size > limit:
                    raise ServiceError(
                        "too_large",
                        f"The body is larger than the {limit:,} bytes that this service takes.",
                        {"Connection": "close"},
                    )
                if not message.get("more_body"):
                    return part if not parts else b"".join([*parts, part])
                parts.append(part)
    except TimeoutError:
        seconds = service.settings.body_seconds
        raise ServiceError(
            "too_slow",
            f"The body did not arrive within {seconds:g} seconds.",
            {"Connection": "close"},
        ) from None


def decode(decoder: "msgspec.json.Decoder[Any]", data: bytes, check_keys: bool = True) -> Any:
    """A body of a known type; every key once, unless the caller looks for that."""
    try:
        value = decoder.decode(data)
    except msgspec.ValidationError as error:
        raise ServiceError("bad_request", f"The body does not fit: {said(error)}.") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ServiceError("bad_json", f"The body is not JSON: {said(error)}.") from None
    if check_keys:
        refuse_duplicates(data)
    return value


def refuse_duplicates(data: bytes) -> None:
    """Refuse JSON in which an object has a key twice, of which readers take different ones."""
    try:
        json.loads(data, object_pairs_hook=_unique)
    except RecursionError:
        raise ServiceError("bad_json", "The body is nested too deeply.") from None
    except ValueError as error:
        raise ServiceError("bad_json", f"The body is not JSON: {said(error)}.") from None


def _unique(pairs: list[tuple[str, Any]]) -> None:
    if len({key for key, _ in pairs}) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise ServiceError("duplicate_key", f"The body has the key {key[:100]!r} twice.")
            seen.add(key)


def said(error: Exception) -> str:
    """The text of an error, for the middle of a sentence."""
    return str(error).rstrip(".")[:300]


async def send_error(send: Send, error: ServiceError) -> None:
    """Answer with an error of the table."""
    headers = [(name.lower().encode(), value.encode()) for name, value in error.headers.items()]
    await send_reply(send, error.status, msgspec.json.encode(error.plain()), headers)


async def send_reply(
    send: Send,
    status: int,
    data: bytes,
    headers: Sequence[tuple[bytes, bytes]] = (),
    content: bytes = JSON,
) -> None:
    """Send a reply whole."""
    sent = [*headers, (b"content-length", b"%d" % len(data))]
    if status != 204:
        sent.append((b"content-type", content))
    await send({"type": "http.response.start", "status": status, "headers": sent})
    await send({"type": "http.response.body", "body": data})
