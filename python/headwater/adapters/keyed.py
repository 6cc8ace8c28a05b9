"""One learner per key, batch by batch: what is done with the rows of a key and what is kept of it.

This is the logic of `headwater.adapters.spark.per_key` without Spark. A `KeyState` keeps a key's
model, open decisions and early answers from batch to batch; `KeyedLearners.handle` takes the rows
of one key and returns rows.

Learners stay in memory between batches. The state holds the digest of a learner's bytes: whatever a
batch that was repeated, a task that moved or another query left in memory, a learner is used only
if the state holds these very bytes.
"""

import json
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, NamedTuple, Protocol

from headwater._core import Decision
from headwater.errors import AnswerError, EventError, LabelError, ParameterError, StepError
from headwater.learners.base import Learner, from_bytes
from headwater.types import Event, Label

__all__ = [
    "NO_TIME",
    "DictState",
    "Early",
    "Head",
    "KeyState",
    "KeyedLearners",
    "LearnerCache",
    "Open",
    "Row",
    "read_body",
]

EVENT, ANSWER = "event", "answer"
UNUSABLE = (AnswerError, EventError, LabelError, ParameterError, StepError)
"""What a row can be refused for; anything else is a fault, and the batch is not kept."""
NO_TIME = -(2**63)
"""What stands for a `t` that is missing."""


class Row(NamedTuple):
    """A row that comes in (`event`, `answer`) or goes out; `body` is JSON or a sentence."""

    key: str
    t: int
    kind: str
    id: str
    body: str


class Head(NamedTuple):
    """What is read of a key in every batch: little."""

    digest: bytes
    """Of the model's bytes."""
    t: int
    """Of the last event."""
    early: int
    """How many answers wait for their event."""


class Open(NamedTuple):
    """A question that was asked and not answered yet."""

    decision: bytes
    event: str


class Early(NamedTuple):
    """An answer that came before its event."""

    t: int
    label: str
    until: int
    """When it is given up, in milliseconds since 1970."""


class KeyState(Protocol):
    """What is kept of one key from batch to batch; a getter returns None for what is not there."""

    def head(self) -> Head | None: ...
    def model(self) -> bytes: ...
    def keep(self, head: Head, model: bytes | None) -> None:
        """Replace the head, and the model unless it is None."""

    def open(self, id: str) -> Open | None: ...
    def keep_open(self, id: str, question: Open) -> None: ...
    def close(self, id: str) -> None: ...
    def early(self, id: str) -> Early | None: ...
    def all_early(self) -> list[tuple[str, Early]]: ...
    def keep_early(self, id: str, answer: Early) -> None:
        """Keep it, and see to it that `KeyedLearners.expire` is called at its time."""

    def drop_early(self, id: str) -> None: ...


class DictState:
    """A key's state in memory.

    Examples
    --------
    >>> import headwater as hw
    >>> from headwater.adapters.keyed import DictState, KeyedLearners, Row
    >>> learners, state = KeyedLearners(hw.PAA().to_bytes()), DictState()
    >>> rows = [Row("a", 1, "event", "e1", '{"rain": 1.0}'), Row("a", 2, "answer", "e1", "true")]
    >>> for row in learners.handle("a", rows, state, now=0):
    ...     print(row.kind, row.id)
    decision e1
    question e1
    learned e1
    >>> hw.from_bytes(state.model()).weights()
    {'rain': 1.0}
    """

    def __init__(self) -> None:
        self._head: Head | None = None
        self._model = b""
        self._open: dict[str, Open] = {}
        self._early: dict[str, Early] = {}

    def head(self) -> Head | None:
        """Digest, time and count; None before the first batch."""
        return self._head

    def model(self) -> bytes:
        """The learner's bytes."""
        return self._model

    def keep(self, head: Head, model: bytes | None) -> None:
        """Replace the head, and the model unless it is None."""
        self._head = head
        self._model = self._model if model is None else model

    def open(self, id: str) -> Open | None:
        """The open question of this id."""
        return self._open.get(id)

    def keep_open(self, id: str, question: Open) -> None:
        """Keep a question until it is answered."""
        self._open[id] = question

    def close(self, id: str) -> None:
        """Drop a question that was answered."""
        del self._open[id]

    def early(self, id: str) -> Early | None:
        """The answer that waits for the event of this id."""
        return self._early.get(id)

    def all_early(self) -> list[tuple[str, Early]]:
        """Every answer that waits."""
        return list(self._early.items())

    def keep_early(self, id: str, answer: Early) -> None:
        """Keep an answer until its event comes; `expire` is the caller's to call."""
        self._early[id] = answer

    def drop_early(self, id: str) -> None:
        """Drop an answer that waited."""
        del self._early[id]


class LearnerCache:
    """The learners of keys, each with the digest of its bytes; the one used longest ago goes first.

    Parameters
    ----------
    capacity
        How many bytes the learners may have together, as they are saved.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.used = self.hits = self.misses = 0
        self._learners: OrderedDict[str, tuple[bytes, Learner, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._learners)

    def take(self, key: str, digest: bytes) -> tuple[Learner, int] | None:
        """The key's learner if it has these bytes, and their length; it is the caller's now."""
        found, learner, size = self._learners.pop(key, (None, None, 0))
        self.used -= size
        if learner is None or found != digest:
            self.misses += 1
            return None
        self.hits += 1
        return learner, size

    def put(self, key: str, digest: bytes, learner: Learner, size: int) -> None:
        """Keep a learner whose bytes have this digest and this length."""
        self.used += size - self._learners.pop(key, (b"", None, 0))[2]
        self._learners[key] = digest, learner, size
        while self.used > self.capacity:
            self.used -= self._learners.popitem(last=False)[1][2]


@dataclass
class KeyedLearners:
    """The learners of all keys, of which the rows of one key are handled at a time.

    Parameters
    ----------
    start
        The bytes of the learner that every key begins with, or a function from key to learner.
    early_ms
        How long an answer waits for its event, in milliseconds.
    cache
        Where learners stay between batches.

    Examples
    --------
    See `DictState`.
    """

    start: bytes | Callable[[str], Learner]
    early_ms: int = 86_400_000
    cache: LearnerCache = field(default_factory=lambda: LearnerCache(256 * 2**20))

    def handle(self, key: str, rows: Iterable[Row], state: KeyState, now: int) -> list[Row]:
        """Decide the events and learn the answers of one batch, in the order of `t`.

        Of rows with the same `t` events come first, then the smaller id. A row that cannot be used
        changes nothing and goes out as `refused` with a sentence.
        """
        head = state.head()
        learner, size = self._learner(key, head, state)
        batch = _Batch(key, learner, state, head, now + self.early_ms)
        out: list[Row] = []
        for row in sorted(rows, key=_place):
            try:
                out += batch.take(row)
            except UNUSABLE as error:
                out.append(Row(key, row.t, "refused", row.id, str(error)))
        batch.settle()
        before = Head(b"", NO_TIME, 0) if head is None else head
        after = before._replace(t=batch.t, early=batch.early)
        if batch.moved or (head is None and after != before):
            data = learner.to_bytes()
            after, size = after._replace(digest=blake2b(data, digest_size=16).digest()), len(data)
            state.keep(after, data)
        elif after != before:
            state.keep(after, None)
        if after.digest:
            self.cache.put(key, after.digest, learner, size)
        return out

    def expire(self, key: str, state: KeyState, now: int) -> list[Row]:
        """Give up the answers that have waited too long; they go out as `late`."""
        out = []
        for id, early in state.all_early():
            if early.until <= now:
                state.drop_early(id)
                out.append(_late(Row(key, early.t, ANSWER, id, early.label), NO_QUESTION))
        head = state.head()
        if out and head is not None:
            state.keep(head._replace(early=head.early - len(out)), None)
        return sorted(out, key=_place)

    def _learner(self, key: str, head: Head | None, state: KeyState) -> tuple[Learner, int]:
        if head is None:
            return (self.start(key) if callable(self.start) else from_bytes(self.start)), 0
        found = self.cache.take(key, head.digest)
        if found is None:
            data = state.model()
            found = from_bytes(data), len(data)
        return found


class _Batch:
    """The rows of one key in one batch, one after another."""

    def __init__(
        self, key: str, learner: Learner, state: KeyState, head: Head | None, until: int
    ) -> None:
        self.key, self.learner, self.state, self.until = key, learner, state, until
        self.t, self.early = (NO_TIME, 0) if head is None else (head.t, head.early)
        self.moved = False
        self._asked: dict[str, tuple[Decision, str]] = {}  # in this batch, and not answered yet

    def take(self, row: Row) -> list[Row]:
        """What comes of a row; if it raises, nothing has changed."""
        if row.kind not in (EVENT, ANSWER):
            raise EventError(f'kind: expected "event" or "answer", got {row.kind!r}.')
        if row.t == NO_TIME:
            raise EventError("t: expected a whole number that rises within a key, got null.")
        if not isinstance(row.id, str):
            raise EventError(f"id: expected a text, got {row.id!r}.")
        return self._event(row) if row.kind == EVENT else self._answer(row)

    def settle(self) -> None:
        """Keep the questions of this batch that are still open."""
        for id, (decision, event) in self._asked.items():
            self.state.keep_open(id, Open(decision.to_bytes(), event))

    def _event(self, row: Row) -> list[Row]:
        if row.t <= self.t:
            return [_late(row, f"an event of this key with t {self.t} was decided before")]
        decision = self.learner.decide_one(read_body(row.body))
        self.t, self.moved = row.t, True
        out = [Row(self.key, row.t, "decision", row.id, _written(decision))]
        if decision.asked:
            self._asked[row.id] = decision, row.body  # in place of an open question of this id
            out.append(Row(self.key, row.t, "question", row.id, row.body))
        waiting = self.state.early(row.id) if self.early else None
        if waiting is not None:
            self.state.drop_early(row.id)
            self.early -= 1
            answer = Row(self.key, waiting.t, ANSWER, row.id, waiting.label)
            if decision.asked:
                out += self._early_answer(answer)
            else:
                out.append(_late(answer, "its event was not asked about"))
        return out

    def _early_answer(self, answer: Row) -> list[Row]:
        try:
            return self._answer(answer)
        except UNUSABLE as error:  # the event was decided all the same
            return [answer._replace(kind="refused", body=str(error))]

    def _answer(self, row: Row) -> list[Row]:
        label = _label(row.body)
        if row.id in self._asked:
            self.learner.answer(self._asked[row.id][0], label)
            del self._asked[row.id]
        elif (question := self.state.open(row.id)) is not None:
            decision = Decision.from_bytes(question.decision, read_body(question.event))
            self.learner.answer(decision, label)
            self.state.close(row.id)
        elif self.early and self.state.early(row.id) is not None:
            raise AnswerError(f"id: an answer to {row.id!r} waits for its event already.")
        else:
            self.state.keep_early(row.id, Early(row.t, row.body, self.until))
            self.early += 1
            return []
        self.moved = True
        return [Row(self.key, row.t, "learned", row.id, row.body)]


NO_QUESTION = "no question of this id was open while the answer waited"


def _late(row: Row, why: str) -> Row:
    """A row that came too late to be used."""
    return row._replace(
        kind="late", body=json.dumps({"row": row.kind, "body": row.body, "why": why})
    )


def _place(row: Row) -> tuple[int, bool, str]:
    return row.t, row.kind != EVENT, row.id or ""


def _written(decision: Decision) -> str:
    return json.dumps(
        {
            "prediction": decision.prediction,
            "margin": decision.margin,
            "query_probability": decision.query_probability,
            "asked": decision.asked,
        }
    )


def _parsed(body: str | None) -> Any:
    if not isinstance(body, str):
        raise EventError(f"body: expected JSON, got {body!r}.")
    try:
        return json.loads(body, object_pairs_hook=_pairs)
    except (RecursionError, json.JSONDecodeError) as error:
        raise EventError(f"body: expected JSON, got {body[:80]!r}: {error}.") from error


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        twice = next(name for i, (name, _) in enumerate(pairs) if name in dict(pairs[:i]))
        raise EventError(f"body: the feature {twice!r} stands there twice.")
    return found


def read_body(body: str | None) -> Event:
    """The event that a body holds as a JSON object."""
    event = _parsed(body)
    if not isinstance(event, dict):
        raise EventError(f"body: expected an object of features, got {str(body)[:80]!r}.")
    return event


def _label(body: str) -> Label:
    label = _parsed(body)
    if not isinstance(label, (str, int, float)):  # a bool is an int
        raise LabelError(
            f"body: expected a label (text, number, true or false), got {body[:80]!r}."
        )
    return label
