"""The desk over HTTP: cards are leased, answered, skipped, undone, corrected."""

from typing import Annotated, Any, Literal, get_args

import msgspec
from msgspec import UNSET, Meta, UnsetType
from starlette.concurrency import run_in_threadpool

from headwater.errors import NoSuchError
from headwater.live import Card, Dispute, Loop, QuestionRow
from headwater.live.results import Answered
from headwater.service.endpoint import Call, Operation, Parameter
from headwater.service.errors import ServiceError
from headwater.service.events import Id, Label, Labelled

Person = Annotated[str, Meta(min_length=1, max_length=200)]
Pairs = list[tuple[str | int, float | str]]
Act = Literal["answer", "skip", "unsure", "bad", "release"]
State = Literal[
    "open", "leased", "answered", "applied", "disputed", "settled", "bad", "expired", "refused"
]
STATES: tuple[State, ...] = get_args(State)


class Lease(msgspec.Struct, forbid_unknown_fields=True):
    """How many cards, and for whom; a person who is logged in gets them for themselves."""

    n: Annotated[int, Meta(ge=1, le=1000)] = 1
    by: Person | UnsetType = UNSET


class CardOut(msgspec.Struct):
    """An event that one person is asked about, until it expires."""

    question: str
    event: Id
    features: Pairs
    time: float
    group: str | None
    classes: list[Label]
    prediction: Label | None
    probability: float | None
    reason: str
    copies: int
    expires: float


class AnswerIn(msgspec.Struct, forbid_unknown_fields=True):
    """What somebody says about a card. `key` tells attempts apart: the same key is a retry."""

    act: Act = "answer"
    label: Label | UnsetType = UNSET
    key: Annotated[str, Meta(max_length=200)] = ""
    by: Person | UnsetType = UNSET


class By(msgspec.Struct, forbid_unknown_fields=True):
    """Who does it; a person who is logged in does it for themselves."""

    by: Person | UnsetType = UNSET


class LabelChange(msgspec.Struct, forbid_unknown_fields=True):
    """The label that should have been given."""

    label: Label
    key: Annotated[str, Meta(max_length=200)] = ""
    by: Person | UnsetType = UNSET


class QuestionOut(msgspec.Struct):
    """A question as a list shows it."""

    question: str
    event: Id
    time: float
    state: str
    prediction: Label | None
    probability: float | None
    reason: str
    label: Label | None
    person: str | None


class DisputeOut(msgspec.Struct):
    """A question about which those asked do not agree."""

    question: str
    event: Id
    features: Pairs
    labels: list[tuple[str, Label]]
    """Who said what."""


async def lease(call: Call) -> list[CardOut]:
    body: Lease = call.body
    by, desk = person_of(call, body.by), call.loop.desk
    cards = await run_in_threadpool(desk.lease, by, body.n)
    return [_card(call.stream, one) for one in cards]


async def answer(call: Call) -> Labelled:
    body: AnswerIn = call.body
    by, desk, number = person_of(call, body.by), call.loop.desk, number_of(call, "q")
    if (body.act == "answer") != (body.label is not UNSET):
        raise ServiceError(
            "bad_parameter", "A label comes with the act `answer`, and with no other."
        )
    await run_in_threadpool(check_question, call.loop, number)
    match body.act:
        case "answer":
            assert body.label is not UNSET
            done = await run_in_threadpool(desk.answer, number, body.label, by=by, key=body.key)
        case "skip":
            done = await run_in_threadpool(desk.skip, number, by=by)
        case "unsure":
            done = await run_in_threadpool(desk.unsure, number, by=by)
        case "bad":
            done = await run_in_threadpool(desk.bad, number, by=by)
        case "release":
            done = await run_in_threadpool(desk.release, number, by=by)
    return _done(call, done, body.act)


async def undo_last(call: Call) -> Labelled:
    body: By = call.body
    by = person_of(call, body.by)
    return _done(call, await run_in_threadpool(call.loop.desk.undo, by=by), "undo")


async def undo(call: Call) -> Labelled:
    """Take the answer to one question back; only those who gave it, or an admin."""
    body: By = call.body
    by, loop, number = person_of(call, body.by), call.loop, number_of(call, "q")

    def take_back() -> Answered:
        check_question(loop, number)
        if not call.caller.allows("admin"):
            given = [one for one in loop.find(f"#{number}").answers if one.label is not None]
            if not given or given[-1].person != by:
                raise ServiceError("not_open", f"Question {number} has no answer by {by!r}.")
        return loop.retract(number, by=by)

    return _done(call, await run_in_threadpool(take_back), "undo")


async def correct(call: Call) -> Labelled:
    """Put another label in the place of an answer; only those who gave it, or an admin."""
    body: LabelChange = call.body
    by, loop, number = person_of(call, body.by), call.loop, number_of(call, "a")

    def put() -> Answered:
        question = loop.question_answered_by(number)
        if not call.caller.allows("admin"):
            acts = loop.find(f"#{question}").answers
            if not any(one.number == number and one.person == by for one in acts):
                raise ServiceError("wrong_role", f"Answer {number} is not by {by!r}.")
        return loop.correct(question, body.label, by=by, key=body.key)

    return _done(call, await run_in_threadpool(put), "correct")


async def settle(call: Call) -> Labelled:
    body: LabelChange = call.body
    by, loop, number = person_of(call, body.by), call.loop, number_of(call, "q")
    await run_in_threadpool(check_question, loop, number)
    done = await run_in_threadpool(loop.desk.settle, number, body.label, by=by)
    return _done(call, done, "settle")


async def list_questions(call: Call) -> list[QuestionOut]:
    state = call.query("state") or "open"
    if state not in (*STATES, "any"):
        raise ServiceError(
            "bad_request", f"state: expected any or one of {', '.join(STATES)}, got {state[:40]!r}."
        )
    limit = call.number("limit", 100, 1, 10_000)
    wanted = None if state == "any" else state
    rows = await run_in_threadpool(call.loop.desk.questions, wanted, limit)
    return [_row(call.stream, one) for one in rows]


async def list_disputes(call: Call) -> list[DisputeOut]:
    found = await run_in_threadpool(call.loop.desk.disputes)
    return [_dispute(call.stream, one) for one in found]


def person_of(call: Call, by: str | UnsetType) -> str:
    """Who does it: a person who is logged in, or whom the holder of a token names."""
    own = call.caller.name
    if by is UNSET or by == own:
        return own
    if call.caller.grant.kind == "person":
        raise ServiceError("wrong_role", f"{own!r} cannot answer for {by!r}.")
    if not by.isprintable() or not by.strip():
        raise ServiceError("bad_parameter", "by: a name is printable text.")
    return by


def number_of(call: Call, name: str) -> int:
    """The number in a path's `stream:number`."""
    text = call.parameter(name).rpartition(":")[2]
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise NoSuchError(f"There is no {call.parameter(name)[:100]!r}; it is STREAM:NUMBER.")
    return int(text)


def check_question(loop: Loop, number: int) -> None:
    """Refuse a question that is not there."""
    if loop.find(f"#{number}").state is None:
        raise NoSuchError(f"There is no question {loop.stream}:{number}.")


def _done(call: Call, done: Answered, act: str) -> Labelled:
    reply = Labelled.of(call.stream, done)
    if not done.repeated:
        service = call.service
        service.metrics.answer(call.stream)
        told = {"question": reply.question, "act": act, "state": reply.state}
        service.updates.publish(call.stream, "question.changed", **told)
    return reply


def _card(stream: str, card: Card) -> CardOut:
    told = card._asdict()
    told["question"] = f"{stream}:{card.question}"
    told["features"] = list(card.features.items())
    return CardOut(**told)


def _row(stream: str, row: QuestionRow) -> QuestionOut:
    told: dict[str, Any] = row._asdict()
    told["question"] = f"{stream}:{row.question}"
    return QuestionOut(**told)


def _dispute(stream: str, dispute: Dispute) -> DisputeOut:
    return DisputeOut(
        f"{stream}:{dispute.question}",
        dispute.event,
        list(dispute.features.items()),
        list(dispute.labels.items()),
    )


ACTED = ("bad_label", "not_found", "not_open", "too_old", "id_reused", "bad_parameter")
WRITTEN = (*ACTED, "unavailable")

OPERATIONS = (
    Operation(
        "POST",
        "/v1/streams/{s}/questions/lease",
        lease,
        "Get cards to answer; nobody else gets them meanwhile",
        role="label",
        body=Lease,
        reply=list[CardOut],
        codes=("bad_parameter", "unavailable"),
    ),
    Operation(
        "POST",
        "/v1/streams/{s}/questions/undo",
        undo_last,
        "Take one's last act back, and the one before, down to the first of the day",
        role="label",
        body=By,
        reply=Labelled,
        codes=WRITTEN,
    ),
    Operation(
        "GET",
        "/v1/streams/{s}/questions",
        list_questions,
        "Questions in a state, the newest first",
        role="read",
        reply=list[QuestionOut],
        query=(
            Parameter("state", "which", {"enum": [*STATES, "any"], "default": "open"}),
            Parameter("limit", "how many", {"type": "integer", "minimum": 1, "maximum": 10_000}),
        ),
        codes=("bad_request", "unavailable"),
    ),
    Operation(
        "GET",
        "/v1/streams/{s}/disputes",
        list_disputes,
        "Questions on which those asked do not agree",
        role="read",
        reply=list[DisputeOut],
        codes=("unavailable",),
    ),
    Operation(
        "POST",
        "/v1/questions/{q}/answer",
        answer,
        "Answer a card, skip it, be unsure, call the event bad, or give it back",
        role="label",
        body=AnswerIn,
        reply=Labelled,
        codes=WRITTEN,
    ),
    Operation(
        "POST",
        "/v1/questions/{q}/undo",
        undo,
        "Take the answer to this question back; only those who gave it, or an admin",
        role="label",
        body=By,
        reply=Labelled,
        codes=WRITTEN,
    ),
    Operation(
        "POST",
        "/v1/questions/{q}/settle",
        settle,
        "Say which label counts in a dispute",
        role="admin",
        body=LabelChange,
        reply=Labelled,
        codes=WRITTEN,
    ),
    Operation(
        "PUT",
        "/v1/answers/{a}",
        correct,
        "Put another label in the place of an answer; only those who gave it, or an admin",
        role="label",
        body=LabelChange,
        reply=Labelled,
        codes=WRITTEN,
    ),
)
