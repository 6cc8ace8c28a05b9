"""The service in five verbs, for Python: `hw.Client(url, token)` and its async twin.

A request that fails on the way, or that the service cannot take now, is sent again after growing
pauses, with the same id: the service counts it once. Needs `pip install "headwater[client]"`.
"""

import asyncio
import json
import secrets
import time
from collections.abc import Generator, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, NamedTuple, Self, TypeVar
from urllib.parse import quote

try:
    import httpx2
except ImportError:  # pragma: no cover
    raise ImportError('headwater.Client needs pip install "headwater[client]".') from None

from headwater.errors import EventError, HeadwaterError, ServiceRefusedError
from headwater.types import Event, Id, Label

RETRIED = (429, 502, 503, 504)
"""Statuses after which a later try may succeed; 502 and 504 are those of a proxy in between."""
T = TypeVar("T")


class SentEvent(NamedTuple):
    """What the service decided about an event.

    Examples
    --------
    >>> SentEvent("e1", 17, True, 0.5, 1.0, True, "main:17", False).question
    'main:17'
    """

    id: Id
    number: int
    prediction: Label | None
    margin: float
    query_probability: float
    asked: bool
    question: str | None
    """The question, if the label was asked for."""
    repeated: bool
    """Whether the event had come before; then this is the first decision about it."""


class _Request(NamedTuple):
    method: str
    path: str
    body: Any = None


_Work = Generator[_Request, Any, T]
"""A verb as a program: it yields requests and is sent replies. Both clients run the same ones."""


def _send(
    stream: str, x: Event, id: Id | None, label: Label | None, group: str | None
) -> _Work[SentEvent]:
    body = _event(x, _new_id() if id is None else id, label, group)
    reply = yield _Request("POST", f"/v1/streams/{stream}/events", body)
    return _sent(reply)


def _sent(reply: Mapping[str, Any]) -> SentEvent:
    """A newer service may say more."""
    return SentEvent(*(reply[name] for name in SentEvent._fields))


def _send_many(
    stream: str,
    events: Iterable[Event],
    ids: Sequence[Id] | None,
    labels: Sequence[Label | None] | None,
    batch: int,
) -> _Work[list[SentEvent | HeadwaterError]]:
    read = list(events)
    known = [_new_id() for _ in read] if ids is None else list(ids)
    given = [None] * len(read) if labels is None else list(labels)
    if not len(read) == len(known) == len(given):
        raise EventError(
            f"send_many: expected an id and a label for {len(read)} events, got {len(known)} ids"
            f" and {len(given)} labels."
        )
    bodies = [_event(x, id, y, None) for x, id, y in zip(read, known, given, strict=True)]
    done: list[SentEvent | HeadwaterError] = []
    for start in range(0, len(bodies), batch):
        body = bodies[start : start + batch]
        replies = yield _Request("POST", f"/v1/streams/{stream}/events", body)
        done += [_refused(200, one) if "error" in one else _sent(one) for one in replies]
    return done


def _predict(stream: str, x: Event) -> _Work[Label | None]:
    reply = yield _Request("POST", f"/v1/streams/{stream}/predict", {"features": dict(x)})
    prediction: Label | None = reply["prediction"]
    return prediction


def _label(stream: str, event: Id, label: Label) -> _Work[str]:
    body = {"event": event, "label": _plain(label)}
    reply = yield _Request("POST", f"/v1/streams/{stream}/labels", body)
    return str(reply["state"])


def _lease(stream: str, by: str, n: int) -> _Work[list[dict[str, Any]]]:
    body = {"by": by, "n": n}
    cards: list[dict[str, Any]] = yield _Request(
        "POST", f"/v1/streams/{stream}/questions/lease", body
    )
    return cards


def _answer(question: str, label: Label, by: str, key: str) -> _Work[str]:
    body = {"label": _plain(label), "by": by, "key": key or _new_id()}
    reply = yield _Request("POST", f"/v1/questions/{quote(question)}/answer", body)
    return str(reply["state"])


def _get(path: str) -> _Work[Any]:
    reply = yield _Request("GET", path)
    return reply


class _Settings:
    """What both clients are told."""

    def __init__(
        self, url: str, token: str, stream: str, tries: int, timeout: float, batch: int
    ) -> None:
        self.url = url.rstrip("/")
        self.stream = quote(stream, safe="")
        self._token = token
        self._tries = tries
        self._timeout = timeout
        self._batch = batch

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r}, stream={self.stream!r})"

    def _options(self) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {self._token}"}
        return {"base_url": self.url, "headers": headers, "timeout": self._timeout}


class Client(_Settings):
    """A stream of a service.

    An event without an id gets one before it is sent, so that a retry does not count twice. What
    the service refuses is a `ServiceRefusedError` with its code and status.

    Parameters
    ----------
    url
        The address of the service.
    token
        A token with the roles that the verbs need.
    stream
        The name of the stream.
    tries
        How often a request is sent at most, with pauses that grow from a tenth of a second.
    timeout
        Seconds within which a reply must come.
    batch
        Events of `send_many` that share a request.

    Examples
    --------
    >>> with Client("http://localhost:8420", "hwt_...") as plant:  # doctest: +SKIP
    ...     sent = plant.send({"ozone-01": 2.0}, id="2026-11-16T10:00:03/line-4")
    ...     if sent.question is not None:
    ...         plant.answer(sent.question, True, by="ada")
    """

    def __init__(
        self,
        url: str,
        token: str,
        stream: str = "main",
        *,
        tries: int = 6,
        timeout: float = 30.0,
        batch: int = 1_000,
    ) -> None:
        super().__init__(url, token, stream, tries, timeout, batch)
        self._http = httpx2.Client(**self._options())

    def send(
        self,
        x: Event,
        *,
        id: Id | None = None,
        label: Label | None = None,
        group: str | None = None,
    ) -> SentEvent:
        """Send an event; with its label, if it is known."""
        return self._run(_send(self.stream, x, id, label, group))

    def send_many(
        self,
        events: Iterable[Event],
        *,
        ids: Sequence[Id] | None = None,
        labels: Sequence[Label | None] | None = None,
    ) -> list[SentEvent | HeadwaterError]:
        """Send many events in batches; one that is refused gives its error in its place."""
        return self._run(_send_many(self.stream, events, ids, labels, self._batch))

    def predict(self, x: Event) -> Label | None:
        """Predict an event that does not enter the stream."""
        return self._run(_predict(self.stream, x))

    def label(self, event: Id, label: Label) -> str:
        """Give the label of an event by its id; returns the state that it came to."""
        return self._run(_label(self.stream, event, label))

    def lease(self, by: str, n: int = 1) -> list[dict[str, Any]]:
        """Cards for a person to answer, as dicts."""
        return self._run(_lease(self.stream, by, n))

    def answer(self, question: str, label: Label, *, by: str, key: str = "") -> str:
        """Answer a question; returns the state that it came to."""
        return self._run(_answer(question, label, by, key))

    def get(self, path: str) -> Any:
        """What any other route answers, such as `/v1/streams/main/quality`."""
        return self._run(_get(path))

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _run(self, work: _Work[T]) -> T:
        request = next(work)
        while True:
            reply = self._ask(request)
            try:
                request = work.send(reply)
            except StopIteration as end:
                done: T = end.value
                return done

    def _ask(self, request: _Request) -> Any:
        for attempt in range(1, self._tries + 1):
            try:
                reply = self._http.request(request.method, request.path, **_content(request))
            except httpx2.TransportError as error:
                if attempt == self._tries:
                    raise _unreachable(self.url, error, attempt) from error
            else:
                if reply.status_code not in RETRIED or attempt == self._tries:
                    return _read(reply.status_code, reply.content)
            time.sleep(_pause(attempt))
        raise AssertionError("tries is at least 1")


class AsyncClient(_Settings):
    """`Client` for programs of coroutines: the same verbs, with `await`.

    Examples
    --------
    >>> async def main():
    ...     async with AsyncClient("http://localhost:8420", "hwt_...") as plant:
    ...         return await plant.send({"ozone-01": 2.0}, id="e1")
    """

    def __init__(
        self,
        url: str,
        token: str,
        stream: str = "main",
        *,
        tries: int = 6,
        timeout: float = 30.0,
        batch: int = 1_000,
    ) -> None:
        super().__init__(url, token, stream, tries, timeout, batch)
        self._http = httpx2.AsyncClient(**self._options())

    async def send(
        self,
        x: Event,
        *,
        id: Id | None = None,
        label: Label | None = None,
        group: str | None = None,
    ) -> SentEvent:
        """Send an event; with its label, if it is known."""
        return await self._run(_send(self.stream, x, id, label, group))

    async def send_many(
        self,
        events: Iterable[Event],
        *,
        ids: Sequence[Id] | None = None,
        labels: Sequence[Label | None] | None = None,
    ) -> list[SentEvent | HeadwaterError]:
        """Send many events in batches; one that is refused gives its error in its place."""
        return await self._run(_send_many(self.stream, events, ids, labels, self._batch))

    async def predict(self, x: Event) -> Label | None:
        """Predict an event that does not enter the stream."""
        return await self._run(_predict(self.stream, x))

    async def label(self, event: Id, label: Label) -> str:
        """Give the label of an event by its id; returns the state that it came to."""
        return await self._run(_label(self.stream, event, label))

    async def lease(self, by: str, n: int = 1) -> list[dict[str, Any]]:
        """Cards for a person to answer, as dicts."""
        return await self._run(_lease(self.stream, by, n))

    async def answer(self, question: str, label: Label, *, by: str, key: str = "") -> str:
        """Answer a question; returns the state that it came to."""
        return await self._run(_answer(question, label, by, key))

    async def get(self, path: str) -> Any:
        """What any other route answers, such as `/v1/streams/main/quality`."""
        return await self._run(_get(path))

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def _run(self, work: _Work[T]) -> T:
        request = next(work)
        while True:
            reply = await self._ask(request)
            try:
                request = work.send(reply)
            except StopIteration as end:
                done: T = end.value
                return done

    async def _ask(self, request: _Request) -> Any:
        for attempt in range(1, self._tries + 1):
            try:
                reply = await self._http.request(request.method, request.path, **_content(request))
            except httpx2.TransportError as error:
                if attempt == self._tries:
                    raise _unreachable(self.url, error, attempt) from error
            else:
                if reply.status_code not in RETRIED or attempt == self._tries:
                    return _read(reply.status_code, reply.content)
            await asyncio.sleep(_pause(attempt))
        raise AssertionError("tries is at least 1")


def _new_id() -> str:
    return secrets.token_hex(12)


def _event(x: Event, id: Id, label: Label | None, group: str | None) -> dict[str, Any]:
    body: dict[str, Any] = {"features": _features(x), "id": id}
    if label is not None:
        body["label"] = _plain(label)
    if group is not None:
        body["group"] = group
    return body


def _plain(value: Any) -> Any:
    """A value as JSON has it: NumPy's numbers are numbers."""
    return value.item() if hasattr(value, "item") else value


def _features(x: Mapping[Any, Any]) -> dict[str, Any]:
    """The features as JSON has them: NaN is absent."""
    features = {}
    for name, value in x.items():
        plain = _plain(value)
        if plain is not None and plain == plain:
            features[str(name)] = plain
    return features


def _content(request: _Request) -> dict[str, Any]:
    if request.body is None:
        return {}
    try:
        content = json.dumps(request.body, allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise EventError(
            f"client: expected values that are numbers, texts, bools or None, got others: {error}."
        ) from None
    return {"content": content, "headers": {"Content-Type": "application/json"}}


def _read(status: int, content: bytes) -> Any:
    try:
        reply = json.loads(content) if content else None
    except ValueError:
        raise _foreign(status, content) from None
    if status >= 400:
        raise _refused(status, reply)
    return reply


def _refused(status: int, reply: Any) -> ServiceRefusedError:
    try:
        error = reply["error"]
        return ServiceRefusedError(error["message"], error["code"], status)
    except (TypeError, KeyError):
        return _foreign(status, json.dumps(reply).encode())


def _foreign(status: int, content: bytes) -> ServiceRefusedError:
    """A reply that is not the service's, as that of a proxy."""
    said = " ".join(content.decode(errors="replace").split())[:100]
    return ServiceRefusedError(
        f"expected a reply of the service, got status {status} with {said!r}; is the address right,"
        " and the service behind its proxy up?",
        "unreachable",
        status,
    )


def _unreachable(url: str, error: Exception, tries: int) -> ServiceRefusedError:
    said = str(error) or type(error).__name__
    return ServiceRefusedError(f"{url}: {said}; it was tried {tries} times.", "unreachable", 0)


def _pause(attempt: int) -> float:
    """Seconds before the next try: 0.1, 0.2, 0.4, ... up to 10, and up to a quarter more."""
    longest: float = min(10.0, 0.1 * 2 ** (attempt - 1))
    return longest * (1 + secrets.randbelow(250) / 1000)
