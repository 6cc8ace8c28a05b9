"""Webhooks, for an admin."""

from typing import Annotated, Any, get_args

import msgspec
from msgspec import Meta
from starlette.concurrency import run_in_threadpool

from headwater.service.endpoint import Call, Operation
from headwater.service.webhooks import Kind, Webhook

KINDS: tuple[Kind, ...] = get_args(Kind)


class NewWebhook(msgspec.Struct, forbid_unknown_fields=True):
    """A server that is to be told what happens in a stream."""

    url: Annotated[str, Meta(min_length=1, max_length=2_000)]
    stream: str
    kinds: Annotated[list[Kind], Meta(min_length=1)] = msgspec.field(
        default_factory=lambda: list(KINDS)
    )


class WebhookInfo(msgspec.Struct):
    """A webhook without its secret."""

    id: str
    url: str
    stream: str
    kinds: tuple[Kind, ...]
    created: float
    told: int
    failures: int
    """How often in a row the receiver has not taken it."""


class MadeWebhook(WebhookInfo):
    """A webhook with the secret of its signatures, which is shown this once."""

    secret: str


async def list_webhooks(call: Call) -> list[WebhookInfo]:
    return [WebhookInfo(**_told(call, one)) for one in call.service.webhooks.all()]


async def add_webhook(call: Call) -> MadeWebhook:
    body: NewWebhook = call.body
    service = call.service
    service.stream(body.stream)
    hook = await run_in_threadpool(
        service.webhooks.add, body.url, body.stream, tuple(dict.fromkeys(body.kinds))
    )
    service.webhooks.start()
    return MadeWebhook(**_told(call, hook), secret=hook.secret)


async def remove_webhook(call: Call) -> None:
    await run_in_threadpool(call.service.webhooks.remove, call.parameter("id"))
    call.service.webhooks.start()


def _told(call: Call, hook: Webhook) -> dict[str, Any]:
    known = {name: getattr(hook, name) for name in ("id", "url", "stream", "kinds", "created")}
    failures = call.service.webhooks.failures.get(hook.id, 0)
    return {**known, "told": hook.told, "failures": failures}


OPERATIONS = (
    Operation(
        "GET",
        "/v1/webhooks",
        list_webhooks,
        "Every webhook",
        role="admin",
        reply=list[WebhookInfo],
    ),
    Operation(
        "POST",
        "/v1/webhooks",
        add_webhook,
        "Tell a server what happens; the secret of its signatures is shown this once",
        role="admin",
        body=NewWebhook,
        reply=MadeWebhook,
        status=201,
        codes=("not_found", "bad_parameter"),
    ),
    Operation(
        "DELETE",
        "/v1/webhooks/{id}",
        remove_webhook,
        "Drop a webhook",
        role="admin",
        codes=("not_found",),
    ),
)
