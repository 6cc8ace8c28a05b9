"""Events in, decisions out: the routes that a stream is fed by."""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType
from starlette.concurrency import run_in_threadpool

from headwater.live import Loop, Receipt
from headwater.live.results import Answered
from headwater.service.endpoint import (
    LINES,
    Call,
    OneOrMany,
    Operation,
    decode,
    refuse_duplicates,
    said,
)
from headwater.service.errors import ServiceError, explained

Whole = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
Value = bool | Whole | float | str | None
Features = dict[str, Value]
Id = Annotated[str, Meta(min_length=1, max_length=512)] | Whole
Label = bool | Whole | float | str


class EventIn(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """An event: its features by name. With an id it counts once, however often it is sent."""

    features: Features
    id: Id | UnsetType = UNSET
    label: Label | UnsetType = UNSET
    """The label, if it is known with the event: it is learned, and nothing is asked."""
    group: Annotated[str, Meta(max_length=200)] | UnsetType = UNSET
    """What the event belongs to, so that one person gets related questions."""


class Decided(msgspec.Struct, gc=False):
    """What was decided about an event."""

    id: str | int
    """The event's id, or the one that it was given; without an id, a retry is a second event."""
    number: int
    """The number of its fact; the model that decided contains the facts before it."""
    prediction: Label | None
    margin: float
    query_probability: float
    """How likely it was that the label would be asked for."""
    asked: bool
    question: str | None
    """The question, as stream and number, if the label was asked for."""
    repeated: bool
    """Whether the event had come before; then this is the first decision about it."""


class Error(msgspec.Struct):
    """A code of the table of errors, and a sentence."""

    code: str
    message: str


class Refusal(msgspec.Struct):
    """An error, in the place of a reply."""

    error: Error


class EventToPredict(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """An event that does not enter the stream."""

    features: Features


class ClassProbability(msgspec.Struct, gc=False):
    """How likely a label is."""

    label: Label
    probability: float


class Predicted(msgspec.Struct, gc=False):
    """What the model would predict now."""

    prediction: Label | None
    margin: float
    probabilities: list[ClassProbability] | None
    """None in regression, and while nothing is known."""


class LabelIn(msgspec.Struct, forbid_unknown_fields=True):
    """A label that came later, for an event by its id; `#17` is the event of fact 17."""

    event: Id
    label: Label


class Labelled(msgspec.Struct):
    """What became of a label or an answer."""

    number: int
    """The fact that holds it."""
    question: str
    """Stream and number of the event."""
    state: str
    repeated: bool

    @classmethod
    def of(cls, stream: str, answered: Answered) -> "Labelled":
        number, question, state, repeated = answered
        return cls(number, f"{stream}:{question}", state, repeated)


_events = msgspec.json.Decoder(EventIn | list[EventIn])
_event_lines = msgspec.json.Decoder(EventIn)
_predictions = msgspec.json.Decoder(EventToPredict | list[EventToPredict])
_labels = msgspec.json.Decoder(LabelIn | list[LabelIn])


async def send_events(call: Call) -> Any:
    """One event, or many with one commit."""
    events = read_events(call)
    if isinstance(events, EventIn):
        id = None if events.id is UNSET else events.id
        if id is not None:
            call.connection.scope["headwater_event"] = id
        label = None if events.label is UNSET else events.label
        group = None if events.group is UNSET else events.group
        receipt = await call.loop.receive_async(events.features, id=id, label=label, group=group)
        call.service.note_receipts(call.stream, (receipt,))
        return _decided(call.stream, receipt)
    if not events:
        return []
    done = await call.loop.receive_many_async(
        [one.features for one in events],
        ids=[None if one.id is UNSET else one.id for one in events],
        labels=[None if one.label is UNSET else one.label for one in events],
        groups=[None if one.group is UNSET else one.group for one in events],
    )
    call.service.note_receipts(call.stream, [one for one in done if isinstance(one, Receipt)])
    return [
        _decided(call.stream, one) if isinstance(one, Receipt) else explained(one).plain()
        for one in done
    ]


def read_events(call: Call) -> EventIn | list[EventIn]:
    """The events of a body: an object, an array, or one object per line."""
    events: EventIn | list[EventIn]
    if call.connection.headers["content-type"].startswith(LINES.decode()):
        try:
            events = _event_lines.decode_lines(call.raw)
        except msgspec.ValidationError as error:
            raise ServiceError("bad_request", f"The body does not fit: {said(error)}.") from None
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ServiceError("bad_json", f"The body is not JSON lines: {said(error)}.") from None
        if not has_keys_once(call.raw, events):
            for line in call.raw.splitlines():
                if line.strip():
                    refuse_duplicates(line)
    else:
        events = decode(_events, call.raw, check_keys=False)
        if not has_keys_once(call.raw, events):
            refuse_duplicates(call.raw)
    check_batch(call, events)
    return events


def check_batch(call: Call, batch: Any) -> None:
    """Refuse more in one request than the service takes."""
    most = call.service.settings.batch_events
    if isinstance(batch, list) and len(batch) > most:
        raise ServiceError(
            "too_large", f"The body has {len(batch):,} events; this service takes {most:,} at once."
        )


def has_keys_once(data: bytes, events: EventIn | list[EventIn]) -> bool:
    """Whether every text of the body is in what was read, so that no key was there twice.

    A body without a backslash has two quotes per text. Texts are keys, and values that are texts; a
    key that stands twice is read once.
    """
    if b"\\" in data:
        return False
    texts = 0
    for event in (events,) if isinstance(events, EventIn) else events:
        features = event.features
        texts += 1 + len(features) + list(map(type, features.values())).count(str)
        if event.id is not UNSET:
            texts += 2 if type(event.id) is str else 1
        if event.label is not UNSET:
            texts += 2 if type(event.label) is str else 1
        if event.group is not UNSET:
            texts += 2
    return data.count(b'"') == 2 * texts


def _decided(stream: str, receipt: Receipt) -> Decided:
    number, id, prediction, margin, probability, asked, repeated = receipt
    question = f"{stream}:{number}" if asked else None
    return Decided(id, number, prediction, margin, probability, asked, question, repeated)


async def predict(call: Call) -> Predicted | list[Predicted]:
    """What the model predicts, which does not change."""
    events = decode(_predictions, call.raw)
    check_batch(call, events)
    if isinstance(events, EventToPredict):
        return _predicted(call.loop, events.features)
    return await run_in_threadpool(lambda: [_predicted(call.loop, one.features) for one in events])


def _predicted(loop: Loop, features: Features) -> Predicted:
    learner = loop.learner
    probabilities = None
    prediction = learner.predict_one(features)
    if learner.task != "regression" and prediction is not None:
        probabilities = [
            ClassProbability(label, probability)
            for label, probability in learner.predict_proba_one(features).items()
        ]
    return Predicted(prediction, learner.margin_one(features), probabilities)


async def send_labels(call: Call) -> Labelled | list[Labelled | Refusal]:
    """Labels that came without a question, by event id."""
    labels = decode(_labels, call.raw)
    check_batch(call, labels)
    loop = call.loop
    if isinstance(labels, LabelIn):
        return Labelled.of(
            call.stream, await run_in_threadpool(loop.label, labels.event, labels.label)
        )

    pairs = [(one.event, one.label) for one in labels]
    done = await run_in_threadpool(loop.label_many, pairs)
    return [
        Labelled.of(call.stream, one) if isinstance(one, Answered) else _refusal(one)
        for one in done
    ]


def _refusal(error: Exception) -> Refusal:
    why = explained(error)
    return Refusal(Error(why.code, str(why)))


OPERATIONS = (
    Operation(
        "POST",
        "/v1/streams/{s}/events",
        send_events,
        "Send one event, or many as an array or as lines: each is decided on and kept",
        role="ingest",
        body=bytes,
        documented_body=EventIn | list[EventIn],
        reply=OneOrMany(Decided),
        codes=("bad_event", "bad_label", "id_reused", "unavailable"),
    ),
    Operation(
        "POST",
        "/v1/streams/{s}/predict",
        predict,
        "Predict one event or many that do not enter the stream",
        role="ingest",
        body=bytes,
        documented_body=EventToPredict | list[EventToPredict],
        reply=Predicted | list[Predicted],
        codes=("bad_event",),
    ),
    Operation(
        "POST",
        "/v1/streams/{s}/labels",
        send_labels,
        "Give labels that came later, by event id",
        role="ingest",
        body=bytes,
        documented_body=LabelIn | list[LabelIn],
        reply=OneOrMany(Labelled),
        codes=("bad_label", "not_found", "not_open", "too_old", "id_reused", "unavailable"),
    ),
)
