"""Streams: making, changing and deleting them, and what they know."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from headwater.errors import ParameterError
from headwater.live import Loop
from headwater.service.endpoint import Call, Operation, Parameter
from headwater.service.errors import ServiceError
from headwater.service.events import Id, Label
from headwater.service.stream_settings import StreamSettings, seconds_of

Name = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_][A-Za-z0-9._-]{0,63}$")]
Span = Annotated[float, Meta(ge=0)] | str


class NewStream(msgspec.Struct, forbid_unknown_fields=True):
    """A stream to be made; spans of time are seconds, or words such as "90 days"."""

    name: Name
    learner: str = "Spring"
    parameters: dict[str, Any] = {}
    label_rate: float | None = None
    keep_events: Span | None = None
    answer_within: Span | None = None
    labels: Literal["asked", "all"] = "asked"
    """"all": the labels of all events come by and by, and count in quality."""


class LearnerChange(msgspec.Struct, forbid_unknown_fields=True):
    """Another learner, to which the whole journal is replayed."""

    learner: str
    parameters: dict[str, Any] = {}
    label_rate: float | None = None


class StreamInfo(msgspec.Struct):
    """A stream and its counts."""

    name: str
    learner: str
    task: str
    events: int
    asked: int
    labels: int
    questions: dict[str, int]
    """How many questions are in each state."""
    facts: int


class ModelInfo(msgspec.Struct):
    """The model as it is now."""

    learner: str
    parameters: dict[str, Any]
    task: str
    seen: int
    asked: int
    learned: int
    labels: list[Label]
    """The classes that it knows."""
    features: int
    """How many features have been learned."""


class FeatureInfo(msgspec.Struct):
    """A feature and its weight; with several classes one weight per class."""

    name: str | int
    first_learned: int
    last_learned: int
    times_learned: int
    weight: float | list[tuple[Label, float]]


class Features(msgspec.Struct):
    """Some of the features, largest weights first."""

    count: int
    """How many there are that fit."""
    features: list[FeatureInfo]


class Act(msgspec.Struct):
    """What somebody said about an event."""

    number: int
    kind: str
    time: float
    label: Label | None
    person: str | None


class Contribution(msgspec.Struct):
    """What a feature adds to the margin."""

    feature: str | int
    value: float


class Why(msgspec.Struct):
    """What the model of now says about the event."""

    prediction: Label | None
    margin: float
    contributions: list[Contribution]
    """Largest first, at most 50."""
    reason: str


class EventInfo(msgspec.Struct):
    """Everything about an event."""

    id: Id
    number: int
    time: float
    features: list[tuple[str | int, float | str]] | None
    """In their order; none once the content is no longer kept."""
    prediction: Label | None
    margin: float
    query_probability: float
    rate: float | None
    asked: bool
    question: str | None
    state: str | None
    label: Label | None
    answers: list[Act]
    why: Why | None


async def list_streams(call: Call) -> list[StreamInfo]:
    mine = [loop for name, loop in call.service.streams.items() if call.caller.allows("read", name)]
    return await run_in_threadpool(lambda: [_info(loop) for loop in mine])


async def show_stream(call: Call) -> StreamInfo:
    return await run_in_threadpool(_info, call.loop)


async def make_stream(call: Call) -> StreamInfo:
    body: NewStream = call.body
    service = call.service
    if body.name in service.streams:
        raise ServiceError("exists", f"There is a stream {body.name!r} already.")
    wanted = StreamSettings(
        body.learner,
        body.parameters,
        body.label_rate,
        _span("keep_events", body.keep_events),
        _span("answer_within", body.answer_within),
        allowance=service.allowance,
        labels=body.labels,
    )
    learner = _built(wanted)
    loop = await run_in_threadpool(service.open_stream, body.name, learner, wanted)
    return await run_in_threadpool(_info, loop)


async def change_learner(call: Call) -> StreamInfo:
    body: LearnerChange = call.body
    learner = _built(StreamSettings(body.learner, body.parameters, body.label_rate))
    await run_in_threadpool(call.loop.change_learner, learner)
    return await run_in_threadpool(_info, call.loop)


async def delete_stream(call: Call) -> None:
    if len(call.service.streams) == 1:
        raise ServiceError("bad_parameter", "The last stream cannot be deleted; make another.")
    await run_in_threadpool(call.service.delete_stream, call.stream)


async def show_model(call: Call) -> ModelInfo:
    return await run_in_threadpool(_model, call.loop)


async def model_file(call: Call) -> Response:
    data = await run_in_threadpool(call.loop.learner.to_bytes)
    name = f'attachment; filename="{call.stream}.hw"'
    headers = {"Content-Disposition": name}
    return Response(data, media_type="application/octet-stream", headers=headers)


async def list_features(call: Call) -> Features:
    limit = call.number("limit", 100, 1, 10_000)
    offset = call.number("offset", 0, 0, 10**9)
    search = (call.query("search") or "").lower()

    def find() -> Features:
        found = [one for one in call.loop.learner.features() if search in str(one.name).lower()]
        found.sort(key=lambda one: -_size(one.weight))
        return Features(len(found), [_feature(one) for one in found[offset : offset + limit]])

    return await run_in_threadpool(find)


async def show_event(call: Call) -> EventInfo:
    text = call.parameter("id")
    ids: list[str | int] = [text]
    if text.removeprefix("-").isdigit() and text.isascii() and len(text) < 20:
        ids.append(int(text))
    return await run_in_threadpool(_event, call.loop, call.stream, ids)


def _info(loop: Loop) -> StreamInfo:
    found = loop.status()
    return StreamInfo(
        name=found.stream,
        learner=repr(loop.learner),
        task=loop.learner.task,
        events=found.events,
        asked=found.asked,
        labels=found.labels,
        questions=found.questions,
        facts=found.facts,
    )


def _model(loop: Loop) -> ModelInfo:
    learner = loop.learner
    return ModelInfo(
        learner=repr(learner),
        parameters={name: _plain(value) for name, value in learner.parameters().items()},
        task=learner.task,
        seen=learner.seen,
        asked=learner.asked,
        learned=learner.learned,
        labels=list(learner.labels),
        features=len(learner.features()),
    )


def _event(loop: Loop, stream: str, ids: list[str | int]) -> EventInfo:
    record = loop.find(ids)
    why = None
    if record.features is not None:
        told = loop.learner.explain_one(record.features)
        parts = [Contribution(*item) for item in list(told.contributions.items())[:50]]
        why = Why(told.prediction, told.margin, parts, told.reason)
    return EventInfo(
        id=record.id,
        number=record.number,
        time=record.time,
        features=None if record.features is None else list(record.features.items()),
        prediction=record.prediction,
        margin=record.margin,
        query_probability=record.query_probability,
        rate=record.rate,
        asked=record.asked,
        question=f"{stream}:{record.number}" if record.asked else None,
        state=record.state,
        label=record.label,
        answers=[Act(*one) for one in record.answers],
        why=why,
    )


def _feature(one: Any) -> FeatureInfo:
    weight = list(one.weight.items()) if isinstance(one.weight, dict) else one.weight
    return FeatureInfo(one.name, one.first_learned, one.last_learned, one.times_learned, weight)


def _size(weight: float | dict[Any, float]) -> float:
    if isinstance(weight, dict):
        return max(map(abs, weight.values()), default=0.0)
    return abs(weight)


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    return repr(value)


def _built(wanted: StreamSettings) -> Any:
    try:
        return wanted.build()
    except (TypeError, ValueError) as error:  # of a parameter of the wrong type
        if isinstance(error, ParameterError):
            raise
        raise ParameterError(f"{wanted.learner}: {error}") from None


def _span(name: str, given: float | str | None) -> float | None:
    return seconds_of(name, given) if isinstance(given, str) else given


WHOLE: dict[str, Any] = {"type": "integer"}
PAGE = (
    Parameter("limit", "how many", {**WHOLE, "minimum": 1, "maximum": 10_000, "default": 100}),
    Parameter("offset", "how many to pass over", {**WHOLE, "minimum": 0, "maximum": 10**9}),
)

OPERATIONS = (
    Operation(
        "GET",
        "/v1/streams/{s}/events/{id:path}",
        show_event,
        "Everything about one event: what was decided and said, and why",
        role="read",
        reply=EventInfo,
        codes=("not_found",),
    ),
    Operation(
        "GET", "/v1/streams", list_streams, "All streams", role="read", reply=list[StreamInfo]
    ),
    Operation(
        "POST",
        "/v1/streams",
        make_stream,
        "Make a stream",
        role="admin",
        body=NewStream,
        reply=StreamInfo,
        status=201,
        codes=("exists", "bad_parameter", "unavailable"),
    ),
    Operation("GET", "/v1/streams/{s}", show_stream, "One stream", role="read", reply=StreamInfo),
    Operation(
        "PUT",
        "/v1/streams/{s}",
        change_learner,
        "Replay the stream to another learner, which then takes over",
        role="admin",
        body=LearnerChange,
        reply=StreamInfo,
        codes=("bad_parameter", "too_old", "unavailable"),
    ),
    Operation(
        "DELETE",
        "/v1/streams/{s}",
        delete_stream,
        "Delete a stream with all its events; not the last one",
        role="admin",
        codes=("bad_parameter", "unavailable"),
    ),
    Operation(
        "GET",
        "/v1/streams/{s}/features",
        list_features,
        "The features that have been learned, largest weights first",
        role="read",
        reply=Features,
        query=(*PAGE, Parameter("search", "a part of the name", {"type": "string"})),
        codes=("bad_request",),
    ),
    Operation(
        "GET", "/v1/streams/{s}/model", show_model, "The model", role="read", reply=ModelInfo
    ),
    Operation(
        "GET",
        "/v1/streams/{s}/model/file",
        model_file,
        "The model as a file for headwater.load",
        role="read",
        reply=bytes,
        content="application/octet-stream",
    ),
)
"""`show_event` takes any path behind `events/`, as ids may contain slashes."""
