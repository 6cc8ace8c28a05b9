"""A part of a database that workers share: its streams, and what belongs to their facts.

Of a source of messages, such as a partition of a topic, a worker must take each message once. So
the place up to which messages were taken, the answers that came before their event, and what is
still to be sent are written in the transaction of the facts: after a crash all of it is as the last
commit left it. What was sent shortly before a crash is sent again, with the same content.
"""

import json
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy import Connection

from headwater.errors import AnswerError, EventError, HeadwaterError, ParameterError
from headwater.learners.base import Learner
from headwater.live import database as db
from headwater.live.checks import checked_event, checked_id
from headwater.live.database import Database
from headwater.live.live_stream import LiveStream
from headwater.live.loop import Loop
from headwater.live.reported import Reported
from headwater.live.results import Receipt
from headwater.live.writer import Job, Refused, Writer
from headwater.types import Id, Label, Name

MOST_STREAMS = 1_000
"""Learners of one part that are kept in memory, unless told otherwise."""
WORTH = 100
"""Facts from which on one learner of many gets a snapshot: fewer are replayed as quickly."""
LONGEST_EARLY = 7 * 86_400.0
"""Seconds for which an answer waits for its event, unless told otherwise."""


class Incoming(NamedTuple):
    """A message as a part takes it: an event, an answer, a report, or what cannot be read."""

    source: str
    """`"events"`, `"answers"` or `"reports"`."""
    position: int | None
    """Its place in its source; None if the source counts no places."""
    key: str | None
    time: float
    id: Id | None = None
    x: dict[Name, float] | None = None
    label: Label | None = None
    group: str | None = None
    """What an event belongs to; who gave an answer."""
    problem: str | None = None
    """Why it cannot be read."""
    body: bytes = b""
    reported: Reported | None = None


class Outgoing(NamedTuple):
    """A row of the outbox: what is to be sent."""

    number: int
    kind: str
    """`"decisions"`, `"questions"` or `"dead"`."""
    key: str | None
    value: str


class Counts:
    """What a part has done since it was opened."""

    def __init__(self) -> None:
        self.decided = self.asked = self.answered = self.early = self.repeated = self.dead = 0


class Told(NamedTuple):
    """What deciders need of the owner of their learner."""

    state: bytes
    """The learner (`to_bytes`)."""
    fact: int
    positions: dict[str, int]
    """The next message of each source that the owner will take."""


class Part:
    """The streams of one part of a shared database, open for writing.

    Opening it takes it over: commits of a process that had it before are refused from then on.

    Parameters
    ----------
    url
        A path (SQLite), or `postgresql://...`.
    name
        The name of the part. It is the name of its stream; with `per_key` the streams are called
        `name:key`.
    learner
        The learner of new streams.
    per_key
        Whether each key has a learner of its own.
    kinds
        What is put into the outbox, of `"decisions"`, `"questions"` and `"dead"`.
    answer_within
        As in `headwater.live.open`.
    early
        Seconds for which an answer waits for its event; then it is put among the dead letters.
    most_streams
        Learners kept in memory; the one that was used least recently goes first.
    for_deciders
        Whether deciders decide on the events, and this part takes their reports.
    """

    def __init__(
        self,
        url: str,
        name: str,
        learner: Learner,
        *,
        per_key: bool = False,
        kinds: Sequence[str] = ("decisions", "questions", "dead"),
        answer_within: float = 0.0,
        early: float = LONGEST_EARLY,
        most_streams: int = MOST_STREAMS,
        for_deciders: bool = False,
    ) -> None:
        if not name or ":" in name:
            raise ParameterError(f"work: a part must be a name without a colon, got {name!r}.")
        if for_deciders:
            check_shared(learner, per_key, answer_within)
        self.part = name
        self.name = f"part {name}"  # in the writer's list
        self.counts = Counts()
        self.takes = 0
        """How often messages were taken since it was opened."""
        self.last_dead = ""
        """Why the last message that could not be used could not."""
        self._learner, self._per_key, self._kinds = learner, per_key, frozenset(kinds)
        self._settings = {"apply_after": 0.0, "answer_within": answer_within, "clock": "events"}
        self._longest_early, self._most = early, most_streams
        self._loops: OrderedDict[str, Loop] = OrderedDict()
        self._used: list[LiveStream] = []  # by the batch at work
        self._early: dict[tuple[str, str], tuple[float, str]] = {}
        self.unsent: list[Outgoing] = []
        self._new: list[Outgoing] = []
        self._sent = -1  # rows up to here may go
        self._next = 0  # number in the outbox
        self._writer = Writer(Database(url), name)
        self._writer.streams.append(self)
        try:
            self.recover()
            self.unsent = self._read_outbox()
            if not per_key:
                self._open(name)
        except BaseException:
            self.abandon()
            raise

    # For the writer

    def begin(self, connection: Connection, jobs: list[Job]) -> None:
        pass

    def flush(self, connection: Connection) -> None:
        for live in self._used:
            live.flush(connection)
        self._writer.database.insert(
            connection, db.outbox, [(self.part, *row) for row in self._new]
        )

    def committed(self) -> None:
        for live in self._used:
            live.committed()
        self.unsent += self._new
        self._new = []

    def recover(self) -> None:
        """Forget what was not committed."""
        self._new = []
        e = db.early.c
        with self._reading() as connection:
            rows = connection.execute(
                sa.select(e.stream, e.event, e.time, e.answer).where(e.part == self.part)
            )
            self._early = {(row.stream, row.event): (row.time, row.answer) for row in rows}

    def due(self) -> list[Job]:
        return []

    # For a worker

    @property
    def positions(self) -> dict[str, int]:
        """The next message of each source."""
        with self._reading() as connection:
            return self._positions(connection)

    @property
    def head(self) -> int:
        """The facts of the streams that are in memory."""
        return sum(loop.head for loop in self._loops.values())

    def take(self, messages: Sequence[Incoming]) -> None:
        """Take messages in their order with one commit; those taken before are passed over.

        A JournalError says that nothing was taken; a HeldError that another process has this part.
        """
        names = {name for one in messages if (name := self._stream_of(one)) is not None}
        loops = {name: self._open(name) for name in sorted(names)}
        self._used = [loop._live for loop in loops.values()]
        counts = Counts()

        def call(connection: Connection) -> None:
            self._forget_sent(connection)
            positions = self._positions(connection)
            for name, loop in loops.items():
                ids = [id for one in messages if self._stream_of(one) == name for id in _ids(one)]
                keys = [json.dumps(id) for id in dict.fromkeys(ids) if id is not None]
                loop._journal.begin(connection, keys)
            for message in messages:
                if message.position is not None:
                    if message.position < positions.get(message.source, 0):
                        continue
                    positions[message.source] = message.position + 1
                self._take_one(connection, message, loops, positions, counts)
            self._expire(connection, max((one.time for one in messages), default=0.0), counts)
            p = db.parts.c
            here = sa.update(db.parts).where(p.part == self.part)
            connection.execute(here.values(positions=json.dumps(positions)))

        self._writer.carry_out(Job(self, call))
        self.takes += 1
        for name, count in vars(counts).items():
            setattr(self.counts, name, getattr(self.counts, name) + count)
        while len(self._loops) > self._most:
            name, loop = self._loops.popitem(last=False)
            if loop._live in self._used:
                self._used.remove(loop._live)
            loop.close()

    def told(self) -> Told:
        """What deciders need, as the last commit left it; a HeldError as from `take`."""
        loop = self._open(self.part)

        def call(connection: Connection) -> Told:
            return Told(loop.learner.to_bytes(), loop.head, self._positions(connection))

        told: Told = self._writer.carry_out(Job(self, call))
        return told

    def sent(self, rows: Sequence[Outgoing]) -> None:
        """These were sent; they go with the next commit."""
        numbers = {row.number for row in rows}
        self.unsent = [row for row in self.unsent if row.number not in numbers]
        first = min((row.number for row in self.unsent), default=self._next)
        self._sent = max(self._sent, first - 1)

    def close(self) -> None:
        """Make snapshots of what is new, and stop."""
        lives = [loop._live for loop in self._loops.values()]
        try:
            for live in lives:
                live.past.join()
                live.maker.join()
            self._used = lives

            def save(connection: Connection) -> None:
                self._forget_sent(connection)
                for live in lives:
                    new = live.journal.head - live.maker._fact
                    if live.maker.is_behind and new >= (WORTH if self._per_key else 1):
                        live.maker.make_now(connection)

            self._writer.carry_out(Job(self, save))
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Stop without writing anything."""
        self._writer.streams.clear()
        self._loops.clear()
        self._writer.close()

    # Parts

    def _reading(self) -> Any:
        return self._writer.database.connect()

    def _positions(self, connection: Connection) -> dict[str, int]:
        p = db.parts.c
        found = connection.scalar(sa.select(p.positions).where(p.part == self.part))
        positions: dict[str, int] = json.loads(found or "{}")
        return positions

    def _read_outbox(self) -> list[Outgoing]:
        o = db.outbox.c
        with self._reading() as connection:
            found = sa.select(o.number, o.kind, o.key, o.value).where(o.part == self.part)
            rows = [Outgoing(*row) for row in connection.execute(found.order_by(o.number))]
        self._next = 1 + (rows[-1].number if rows else -1)
        return rows

    def _forget_sent(self, connection: Connection) -> None:
        o = db.outbox.c
        gone = (o.part == self.part) & (o.number <= self._sent)
        connection.execute(sa.delete(db.outbox).where(gone))

    def _stream_of(self, message: Incoming) -> str | None:
        """The name of the stream that a message belongs to; None if it cannot be used."""
        if message.problem is not None or (self._per_key and message.key is None):
            return None
        return f"{self.part}:{message.key}" if self._per_key else self.part

    def _open(self, name: str) -> Loop:
        if name not in self._loops:
            self._loops[name] = Loop(self._writer, name, self._learner, self._settings)
        self._loops.move_to_end(name)
        return self._loops[name]

    def _take_one(
        self,
        connection: Connection,
        message: Incoming,
        loops: dict[str, Loop],
        positions: dict[str, int],
        counts: Counts,
    ) -> None:
        name = self._stream_of(message)
        if name is None:
            reason = message.problem or "expected a key, by which its learner is found, got none."
            self._bury(message, reason, counts)
            return
        live = loops[name]._live
        try:
            if message.source == "answers":
                self._take_answer(connection, live, message, counts)
            elif message.reported is not None:
                self._take_report(connection, live, message, positions, counts)
            else:
                self._take_event(connection, live, message, counts)
        except Refused as refused:
            self._bury(message, str(refused.args[0]), counts)
        except (EventError, AnswerError) as error:  # before anything has changed
            self._bury(message, str(error), counts)

    def _take_event(
        self, connection: Connection, live: LiveStream, message: Incoming, counts: Counts
    ) -> None:
        id, x = message.id, message.x
        assert x is not None
        if id is None:
            if message.position is None:
                raise EventError("event: expected an id, by which it counts once, got none.")
            id = f"{self.part}@{message.position}"
        x, id = checked_event(x), checked_id(id)
        assert id is not None
        receipt = live.journal.receive(x, id, message.label, None, message.time, message.group)
        if receipt.repeated:
            counts.repeated += 1
            return
        counts.decided += 1
        self._tell(message, receipt, x, counts)
        self._take_early(connection, live, message, receipt, counts)

    def _take_report(
        self,
        connection: Connection,
        live: LiveStream,
        message: Incoming,
        positions: dict[str, int],
        counts: Counts,
    ) -> None:
        """Count what a decider reports, if it goes on where the last report of its source ended.

        The place where it ends is written in the transaction of the facts: whatever deciders send,
        and however often, a message counts once.
        """
        reported = message.reported
        assert reported is not None
        place = positions.setdefault(reported.source, reported.begin)
        if reported.begin != place:
            raise EventError(
                f"report: expected one that goes on at message {place} of {reported.source}, got"
                f" one of the messages {reported.begin} to {reported.end - 1}; they are decided on"
                " again."
            )
        receipts = live.journal.absorb(reported)
        positions[reported.source] = reported.end
        counts.decided += reported.chances.events
        counts.repeated += len(reported.asked) - len(receipts)
        asked = {one.id: one for one in reversed(reported.asked)}
        for receipt in receipts:
            one = asked[receipt.id]
            question = message._replace(key=one.key, time=one.time)
            self._tell(question, receipt, one.x, counts)
            self._take_early(connection, live, question, receipt, counts)

    def _take_early(
        self,
        connection: Connection,
        live: LiveStream,
        message: Incoming,
        receipt: Receipt,
        counts: Counts,
    ) -> None:
        """Take the answer that came before its event, if there is one."""
        id = receipt.id
        key = (live.name, json.dumps(id))
        if key in self._early:
            _, answer = self._early.pop(key)
            e = db.early.c
            gone = (e.part == self.part) & (e.stream == key[0]) & (e.event == key[1])
            connection.execute(sa.delete(db.early).where(gone))
            label, by = json.loads(answer)
            early = message._replace(source="answers", id=id, label=label, group=by, reported=None)
            try:
                self._answer(connection, live, receipt.number, early, counts)
            except Refused as refused:
                self._bury(early._replace(body=answer.encode()), str(refused.args[0]), counts)

    def _take_answer(
        self, connection: Connection, live: LiveStream, message: Incoming, counts: Counts
    ) -> None:
        if message.id is None or message.label is None:
            missing = "id" if message.id is None else "label"
            raise AnswerError(
                f"answer: expected the id of its event and a label, got no {missing}."
            )
        event = json.dumps(message.id)
        found = live.journal.find_key(connection, event)
        if found is not None:
            self._answer(connection, live, found[0], message, counts)
            return
        answer = json.dumps([message.label, message.group])
        kept = self._early.get((live.name, event))
        if kept is not None and kept[1] != answer:
            raise AnswerError(
                f"answer: another one waits for the event {message.id!r} already, and that has not"
                " come yet."
            )
        if kept is not None:
            counts.repeated += 1
            return
        counts.early += 1
        self._early[live.name, event] = (message.time, answer)
        row = (self.part, live.name, event, message.time, answer)
        self._writer.database.insert(connection, db.early, [row])

    def _answer(
        self,
        connection: Connection,
        live: LiveStream,
        target: int,
        message: Incoming,
        counts: Counts,
    ) -> None:
        assert message.label is not None
        if live.journal.find_question(connection, target) is None:
            answered = live.label(connection, target, message.label)
        else:
            answered = live.answer(connection, target, message.label, message.group, "")
        if answered.repeated:
            counts.repeated += 1
        else:
            counts.answered += 1

    def _expire(self, connection: Connection, now: float, counts: Counts) -> None:
        """Answers whose event did not come go to the dead letters."""
        late = [
            (stream, event, when, answer)
            for (stream, event), (when, answer) in self._early.items()
            if now - when > self._longest_early
        ]
        e = db.early.c
        for stream, event, when, answer in late:
            del self._early[stream, event]
            gone = (e.part == self.part) & (e.stream == stream) & (e.event == event)
            connection.execute(sa.delete(db.early).where(gone))
            key = stream.partition(":")[2] if self._per_key else None
            dead = Incoming("answers", None, key, when, body=answer.encode())
            days = f"{self._longest_early / 86_400:g}"
            self._bury(dead, f"answer: its event {event} did not come within {days} days.", counts)

    # What is to be sent

    def _tell(
        self, message: Incoming, receipt: Receipt, x: dict[Name, float], counts: Counts
    ) -> None:
        said = {"id": receipt.id, "part": self.part, "fact": receipt.number}
        decision = {
            **said,
            "prediction": receipt.prediction,
            "margin": receipt.margin,
            "query_probability": receipt.query_probability,
            "asked": receipt.asked,
        }
        if message.reported is None:  # else the decider has sent it
            self._put("decisions", message.key, decision)
        if receipt.asked:
            counts.asked += 1
            self._put("questions", message.key, {**said, "event": x})

    def _bury(self, message: Incoming, sentence: str, counts: Counts) -> None:
        counts.dead += 1
        self.last_dead = sentence
        letter = {
            "sentence": sentence,
            "source": message.source,
            "part": self.part,
            "position": message.position,
            "body": message.body.decode(errors="replace"),
        }
        self._put("dead", message.key, letter)

    def _put(self, kind: str, key: str | None, value: dict[str, Any]) -> None:
        if kind in self._kinds:
            self._new.append(Outgoing(self._next, kind, key, json.dumps(value)))
            self._next += 1


def _ids(message: Incoming) -> list[Id | None]:
    """The ids of events that a message is about."""
    return [one.id for one in message.reported.asked] if message.reported else [message.id]


def check_shared(learner: Learner, per_key: bool, answer_within: float) -> None:
    """Refuse what cannot be where deciders decide."""
    if per_key:
        raise ParameterError(
            "work: deciders share the learner of a partition; a learner per key needs a worker that"
            " decides itself, so give --events instead of --reports."
        )
    if answer_within > 0:
        raise ParameterError(
            "work: of what deciders decide only the questions are kept, so a label cannot come for"
            " an event that was not asked about; leave --answer-within out."
        )
    try:
        learner.replica(seed=int(learner.parameters().get("seed", 0)) + 1)
    except HeadwaterError as error:
        raise ParameterError(f"work: deciders cannot share {learner!r}. {error}") from None
