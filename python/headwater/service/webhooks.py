"""Webhooks: what happens in a stream, sent to somebody's server.

A webhook follows the journal. It remembers the last fact that it has told, sends the next ones in
their order, and goes on when the receiver has taken one. So nothing is lost while the receiver or
the service is down, a delivery may come twice (its id says so), and the stream never waits.
It follows the findings of the register in the same way, by their numbers: `feature.silent`. The
register keeps the last findings only; what a correction of the past finds anew is not told again.

Headwater-Signature is `t=TIME,v1=HEX`: the HMAC-SHA256, under the webhook's secret, of the time, a
full stop and the body.
"""

import asyncio
import hashlib
import hmac
import random
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Literal
from urllib.parse import urlsplit

import httpx2
import msgspec
from starlette.concurrency import run_in_threadpool

from headwater.errors import NoSuchError, ParameterError
from headwater.live import Loop
from headwater.register import FeatureFinding
from headwater.service.metrics import Metrics
from headwater.service.records import Records

Kind = Literal[
    "question.opened",
    "question.answered",
    "answer.corrected",
    "learner.changed",
    "feature.born",
    "feature.silent",
    "feature.gone",
    "feature.back",
    "feature.changed_scale",
    "feature.stuck",
    "feature.replaced",
]
FEATURE = "feature."
LOOK = 1.0
"""Seconds between two looks at the journal."""
TIMEOUT = 10.0
LONGEST_PAUSE = 3_600.0


class Webhook(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody's server, and what it is told."""

    id: str
    url: str
    stream: str
    kinds: tuple[Kind, ...]
    secret: str
    created: float
    told: int
    """The last fact that it needs no more."""
    found: int = 0
    """The last finding about a feature that it needs no more."""


class Webhooks:
    """All webhooks, with one task each."""

    def __init__(
        self,
        records: Records,
        streams: dict[str, Loop],
        metrics: Metrics,
        client: Callable[[], httpx2.AsyncClient] | None = None,
    ) -> None:
        self._records = records
        self._streams = streams
        self._metrics = metrics
        self._client = client or (lambda: httpx2.AsyncClient(timeout=TIMEOUT))
        self._hooks = records.read("webhook", Webhook)
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self.failures: dict[str, int] = {}
        """How often in a row a webhook has failed."""

    def all(self) -> list[Webhook]:
        """Every webhook, oldest first."""
        return sorted(self._hooks.values(), key=lambda one: (one.created, one.id))

    def add(self, url: str, stream: str, kinds: tuple[Kind, ...]) -> Webhook:
        """Keep a new webhook, which is told what happens from now on."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username:
            raise ParameterError(
                "webhook: url must begin with https:// or http:// and name a host, without a user"
                f" and a password, got {url[:200]!r}."
            )
        loop = self._streams[stream]
        hook = Webhook(
            id=secrets.token_hex(8),
            url=url,
            stream=stream,
            kinds=kinds,
            secret=secrets.token_urlsafe(32),
            created=time.time(),
            told=loop.head,
            found=_last_finding(loop),
        )
        self._records.write("webhook", hook.id, hook)
        self._hooks[hook.id] = hook
        return hook

    def remove(self, id: str) -> None:
        """Drop a webhook."""
        if self._hooks.pop(id, None) is None:
            raise NoSuchError(f"webhook: there is none with the id {id!r}.")
        self._records.delete("webhook", id)

    def start(self) -> None:
        """Begin to deliver; again after one was added or removed. In the event loop."""
        for id in self._hooks:
            if id not in self._tasks:
                self._tasks[id] = asyncio.get_running_loop().create_task(self._follow(id))
        for id in [id for id in self._tasks if id not in self._hooks]:
            self._tasks.pop(id).cancel()

    async def stop(self) -> None:
        """Stop delivering; what is left is delivered after the next start."""
        for task in self._tasks.values():
            task.cancel()
        for task in self._tasks.values():
            with suppress(asyncio.CancelledError):
                await task
        self._tasks.clear()

    async def _follow(self, id: str) -> None:
        async with self._client() as client:
            while True:
                with suppress(Exception):  # of the database; it is looked at again
                    await self._tell_news(client, id)
                await asyncio.sleep(LOOK)

    async def _tell_news(self, client: httpx2.AsyncClient, id: str) -> None:
        hook = self._hooks[id]
        loop = self._streams.get(hook.stream)
        if loop is None or loop.head == hook.told:
            return
        news, through = await run_in_threadpool(loop.news, hook.told)
        for fact in news:
            kind, data = told(hook.stream, fact)
            if kind in hook.kinds:
                await self._deliver(client, hook, kind, data)
                await self._move(hook.id, told=fact["number"])
        await self._tell_findings(client, hook, loop)
        await self._move(hook.id, told=through)

    async def _tell_findings(self, client: httpx2.AsyncClient, hook: Webhook, loop: Loop) -> None:
        if not loop.learner.track or not any(kind.startswith(FEATURE) for kind in hook.kinds):
            return
        for finding in await run_in_threadpool(lambda: loop.findings(since=hook.found)):
            kind, data = told_finding(hook.stream, finding)
            if kind in hook.kinds:
                await self._deliver(client, hook, kind, data)
            await self._move(hook.id, found=finding.number)

    async def _move(self, id: str, **moved: int) -> None:
        """Keep how far it is, also when it is stopped now: else it would be told again.

        It is written beside the event loop, as the writer of the stream may have to be waited for.
        """
        hook = self._hooks.get(id)
        if hook is None:
            return
        moving = self._hooks[id] = msgspec.structs.replace(hook, **moved)
        writing = asyncio.ensure_future(run_in_threadpool(self._write, id, moving))
        try:
            await asyncio.shield(writing)
        except asyncio.CancelledError:
            await writing
            raise

    def _write(self, id: str, hook: Webhook) -> None:
        self._records.write("webhook", id, hook)
        if id not in self._hooks:  # it was removed meanwhile
            self._records.delete("webhook", id)

    async def _deliver(
        self, client: httpx2.AsyncClient, hook: Webhook, kind: str, data: dict[str, Any]
    ) -> None:
        """Send until it is taken, with growing pauses."""
        about = data.get("question") or f"{hook.stream}:{data['number']}"
        body = msgspec.json.encode({"id": f"{kind}/{about}", "kind": kind, **data})
        attempt = 0
        while True:
            if await self._is_taken(client, hook, body):
                self.failures.pop(hook.id, None)
                self._metrics.webhook("delivered")
                return
            attempt += 1
            self.failures[hook.id] = attempt
            self._metrics.webhook("failed")
            await asyncio.sleep(pause(attempt))

    async def _is_taken(self, client: httpx2.AsyncClient, hook: Webhook, body: bytes) -> bool:
        headers = {
            "Content-Type": "application/json",
            "Headwater-Signature": sign(hook.secret, body, int(time.time())),
        }
        try:
            reply = await client.post(hook.url, content=body, headers=headers)
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError):
            return False
        return reply.is_success


def pause(attempt: int) -> float:
    """Seconds before attempt `attempt + 1`: 1, 2, 4, ... up to an hour, up to a quarter more."""
    longest = min(LONGEST_PAUSE, 2.0 ** min(attempt - 1, 20))
    return longest * (1 + random.random() / 4)


def sign(secret: str, body: bytes, when: int) -> str:
    """The signature of a delivery.

    Examples
    --------
    >>> sign("secret", b"{}", 1794989608).partition(",")[0]
    't=1794989608'
    """
    mac = hmac.new(secret.encode(), b"%d." % when + body, hashlib.sha256).hexdigest()
    return f"t={when},v1={mac}"


def told(stream: str, fact: dict[str, Any]) -> tuple[Kind | None, dict[str, Any]]:
    """What a fact is to a webhook: its kind, and what is sent."""
    data: dict[str, Any] = {"stream": stream, "number": fact["number"], "time": fact["time"]}
    match fact["kind"]:
        case "event":
            data |= {"question": f"{stream}:{fact['number']}"}
            data["event"] = fact.get("id", f"#{fact['number']}")
            data |= {"prediction": fact.get("prediction"), "margin": fact.get("margin")}
            return "question.opened", data
        case "answer":
            data |= {"question": f"{stream}:{fact['target']}", "label": fact.get("label")}
            return "question.answered", data
        case "correction":
            data |= {"question": f"{stream}:{fact['target']}", "label": fact.get("label")}
            return "answer.corrected", data
        case "learner":
            return "learner.changed", data
        case _:
            return None, data


def told_finding(stream: str, finding: FeatureFinding) -> tuple[str, dict[str, Any]]:
    """What a finding is to a webhook: its kind, and what is sent."""
    data = {"stream": stream, **finding._asdict()}
    kind = str(data.pop("kind")).replace(" ", "_")
    return f"{FEATURE}{kind}", data


def _last_finding(loop: Loop) -> int:
    found = loop.findings(limit=1) if loop.learner.track else []
    return found[-1].number if found else 0
