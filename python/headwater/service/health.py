"""Operation: is it alive, is it ready, what does it count, what can it do, what happens now?"""

from collections.abc import AsyncIterator
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse

from headwater.service.endpoint import Call, Operation, Parameter
from headwater.service.errors import ServiceError

Health = dict[str, str]


async def healthz(call: Call) -> Health:
    return {"status": "alive"}


async def readyz(call: Call) -> Health:
    if call.service.is_stopping:
        raise ServiceError("unavailable", "The service is stopping.")
    for loop in call.service.streams.values():
        if (failure := loop.failure) is not None:
            raise ServiceError("unavailable", f"Stream {loop.stream!r} cannot write: {failure}")
    return {"status": "ready"}


async def metrics(call: Call) -> Response:
    text = await run_in_threadpool(call.service.metrics.text)
    return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")


async def updates(call: Call) -> StreamingResponse:
    """What happens, as server-sent events, until the watcher goes or the service stops."""
    service, caller = call.service, call.caller
    chosen = call.query("stream")
    if chosen is not None:
        service.access.require(call.connection, "read", chosen)
        service.stream(chosen)
    allowed = caller.grant.streams
    streams = {chosen} if chosen is not None else (None if allowed is None else set(allowed))
    parts: AsyncIterator[bytes] = service.updates.watch(streams)
    return StreamingResponse(parts, media_type="text/event-stream")


OPERATIONS = (
    Operation(
        "GET",
        "/v1/updates",
        updates,
        "What happens now, as server-sent events",
        role="read",
        reply=bytes,
        content="text/event-stream",
        query=(Parameter("stream", "only of this stream", {"type": "string"}),),
        codes=("not_found",),
    ),
    Operation(
        "GET",
        "/metrics",
        metrics,
        "Counters for Prometheus",
        role="read",
        reply=bytes,
        content="text/plain",
    ),
    Operation("GET", "/healthz", healthz, "Whether the process answers", reply=Health),
    Operation(
        "GET",
        "/readyz",
        readyz,
        "Whether it takes events",
        reply=Health,
        codes=("unavailable",),
    ),
)


def description(document: dict[str, Any]) -> Operation:
    """The operation that tells what all operations are."""

    async def openapi(call: Call) -> dict[str, Any]:
        return document

    return Operation(
        "GET", "/v1/openapi.json", openapi, "The description of this API", reply=dict[str, Any]
    )
