"""How good a stream is, and what it costs: quality with its interval, and the allowance."""

from typing import Annotated, Any, Literal, get_args

import msgspec
from msgspec import Meta
from starlette.concurrency import run_in_threadpool

from headwater.live import Allowance, Quality
from headwater.live.allowance import RESERVED
from headwater.service.endpoint import Call, Operation, Parameter
from headwater.service.errors import ServiceError

Window = Literal["all", "day", "week", "reset"]
WINDOWS: tuple[Window, ...] = get_args(Window)
Count = Annotated[int, Meta(ge=1, le=10**9)]


class QualityOut(msgspec.Struct):
    """How often predictions are wrong, over all events of a window."""

    error: float | None
    """The estimated share of wrong predictions; none if no label is known."""
    low: float
    high: float
    """With 95 % confidence the true share is from `low` to `high`."""
    events: int
    labels: int
    since: float


class Budget(msgspec.Struct):
    """What is left of the allowance in its window."""

    allowed: int
    used: int
    returned: int
    left: int
    window: str
    ends: float
    rate: float


class AllowanceIn(msgspec.Struct, forbid_unknown_fields=True):
    """How many questions people can answer; nothing at all takes the allowance away."""

    per_hour: Count | None = None
    per_day: Count | None = None
    per_person_per_hour: Count | None = None
    money_per_day: Annotated[float, Meta(gt=0)] | None = None
    price: Annotated[float, Meta(gt=0)] | None = None
    burst: Count | None = None
    hours: str | None = None
    tz: str | None = None
    reserve: Annotated[float, Meta(ge=0, lt=1)] = RESERVED


async def show_quality(call: Call) -> QualityOut:
    text = call.query("window") or "all"
    if text not in WINDOWS:
        raise ServiceError(
            "bad_request", f"window: expected one of {', '.join(WINDOWS)}, got {text[:40]!r}."
        )
    window: Any = None if text == "all" else text
    return _told(await run_in_threadpool(call.loop.quality, window))


async def show_curve(call: Call) -> list[QualityOut]:
    points = call.number("points", 60, 1, 1_000)
    curve = await run_in_threadpool(call.loop.quality_curve, points)
    return [_told(one) for one in curve]


async def show_budget(call: Call) -> Budget:
    found = await run_in_threadpool(lambda: call.loop.allowance)
    if found is None:
        raise ServiceError("not_found", f"Stream {call.stream!r} has no allowance.")
    return Budget(*found)


async def change_budget(call: Call) -> None:
    body: AllowanceIn = call.body
    given = {name: value for name, value in msgspec.structs.asdict(body).items() if value}
    given.pop("reserve", None)
    allowance = Allowance(**given, reserve=body.reserve) if given else None
    await run_in_threadpool(call.loop.change_allowance, allowance)


def _told(found: Quality) -> QualityOut:
    low, high = found.interval
    return QualityOut(found.error, low, high, found.events, found.labels, found.since)


OPERATIONS = (
    Operation(
        "GET",
        "/v1/streams/{s}/quality",
        show_quality,
        "How often predictions are wrong, over all events, with its interval",
        role="read",
        reply=QualityOut,
        query=(Parameter("window", "over which events", {"enum": list(WINDOWS)}),),
        codes=("bad_request", "bad_parameter"),
    ),
    Operation(
        "GET",
        "/v1/streams/{s}/quality/curve",
        show_curve,
        "The same over time",
        role="read",
        reply=list[QualityOut],
        query=(
            Parameter("points", "how many", {"type": "integer", "minimum": 1, "maximum": 1_000}),
        ),
        codes=("bad_request", "bad_parameter"),
    ),
    Operation(
        "GET",
        "/v1/streams/{s}/budget",
        show_budget,
        "What is left of the allowance",
        role="read",
        reply=Budget,
        codes=("not_found", "unavailable"),
    ),
    Operation(
        "PUT",
        "/v1/streams/{s}/budget",
        change_budget,
        "Another allowance, from now on",
        role="admin",
        body=AllowanceIn,
        codes=("bad_parameter", "unavailable"),
    ),
)
