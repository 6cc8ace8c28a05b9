"""Events and answers from Kafka: a group of workers, each with the learners of its partitions.

Partition 3 of the topic of events and partition 3 of the topic of answers are one part of the
database. The group assigns partitions of events only; those of answers follow. Where to go on is
read from the database, not from the broker. Messages of both are taken in the order of their times,
as far as both are there: a backlog is learned in the order in which it came about, so that the same
topics give the same model, bit for bit, however often workers die meanwhile.
"""

import json
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from headwater.connectors.messages import FIELDS, Message
from headwater.connectors.reports import ModelWriter
from headwater.connectors.worker import REFRESH, Worker
from headwater.errors import ConnectorError, ParameterError
from headwater.inputs.columns import Columns
from headwater.learners.base import Learner
from headwater.live.part import LONGEST_EARLY, Outgoing, Part, Told, check_shared

try:
    from confluent_kafka import (
        OFFSET_BEGINNING,
        Consumer,
        KafkaError,
        KafkaException,
        Producer,
        TopicPartition,
    )
except ImportError:  # pragma: no cover
    raise ImportError('headwater.connectors.kafka needs pip install "headwater[kafka]".') from None

__all__ = ["Kafka", "worker"]

BATCH = 500
"""Messages of a part that are taken with one commit, at most."""
READ_AHEAD = 4 * BATCH
"""Messages of a partition that are kept in memory before it is paused."""
DELIVERY = 30.0
"""Seconds in which what is sent must be acknowledged."""
NEEDED = 10.0
"""Seconds in which a broker must say which topics there are."""


class Kafka:
    """A consumer of a group and a producer, as a worker uses them.

    Parameters
    ----------
    servers
        Host and port of a broker, several with commas between them.
    events
        The topic whose events are decided on here, or None: deciders do that.
    answers
        The topic with the answers; it has as many partitions as the other topic that is read.
    reports, models
        Instead of `events`: the topic to which deciders report, and that by which they learn what
        the learner knows; see `headwater.connectors.decider`.
    questions, decisions, dead
        The topics that are written: what people are asked, every decision, messages that cannot be
        used with the reason. None: it is not sent.
    group
        The name of the group of workers that share the partitions.
    settings
        Further settings of librdkafka, such as those of encryption, for consumer and producer.
    """

    def __init__(
        self,
        servers: str,
        *,
        events: str | None = None,
        answers: str | None = None,
        reports: str | None = None,
        models: str | None = None,
        questions: str | None = None,
        decisions: str | None = None,
        dead: str | None = None,
        group: str = "headwater",
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        if (events is None) == (reports is None) or (reports is None) != (models is None):
            raise ParameterError("work: expected events, or reports and models.")
        if reports is not None and decisions is not None:
            raise ParameterError("work: deciders send the decisions; leave decisions out here.")
        self.main = "events" if reports is None else "reports"
        main = events or reports or ""
        if answers == main:
            raise ParameterError(f"work: {self.main} and answers must be two topics, got {main!r}.")
        self.topics = {self.main: main} | ({} if answers is None else {"answers": answers})
        self.models = models
        self.outputs = {
            kind: topic
            for kind, topic in (("questions", questions), ("decisions", decisions), ("dead", dead))
            if topic is not None
        }
        self.kinds = tuple(self.outputs)
        self._source = {topic: source for source, topic in self.topics.items()}
        self._writers: dict[str, ModelWriter] = {}
        self._servers = servers
        self._trouble: str | None = None
        common = {"bootstrap.servers": servers, "log_level": 2, **(settings or {})}
        reading = {
            "error_cb": self._on_error,
            "group.id": group,
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "error",
            "allow.auto.create.topics": False,
            "partition.assignment.strategy": "range",
        }
        try:
            self._producer = Producer({**common, "enable.idempotence": True, "linger.ms": 1})
            self._consumer = Consumer({**common, **reading})
        except KafkaException as error:
            raise ConnectorError(f"Kafka: {_said(error)}.") from None
        self._buffers: dict[str, dict[str, _Buffer]] = {}

    # As a worker uses it

    def start(
        self, assigned: Callable[[str], dict[str, int]], revoked: Callable[[str], None]
    ) -> None:
        """Look at the topics, and join the group."""
        self._check_topics()

        def on_assign(consumer: Consumer, partitions: list[TopicPartition]) -> None:
            places: list[TopicPartition] = []
            for one in partitions:
                part = f"{one.topic}/{one.partition}"
                positions = assigned(part)
                self._buffers[part] = {}
                self._writers[part] = ModelWriter(uuid.uuid4().hex)
                for source, topic in self.topics.items():
                    offset = positions.get(source, OFFSET_BEGINNING)
                    place = TopicPartition(topic, one.partition, offset)
                    self._buffers[part][source] = _Buffer(place)
                    places.append(place)
            consumer.assign(places)

        def on_revoke(consumer: Consumer, partitions: list[TopicPartition]) -> None:
            for one in partitions:
                part = f"{one.topic}/{one.partition}"
                self._buffers.pop(part, None)
                revoked(part)
            consumer.unassign()

        self._consumer.subscribe(
            [self.topics[self.main]], on_assign=on_assign, on_revoke=on_revoke, on_lost=on_revoke
        )

    def receive(self, seconds: float) -> Iterator[tuple[str, list[Message]]]:
        """Read what has come; per part, the messages that can be taken now."""
        ready = any(self._merged(buffers, 1) for buffers in self._buffers.values())
        try:
            found = self._consumer.consume(BATCH, 0 if ready else seconds)
        except KafkaException as error:
            raise ConnectorError(f"Kafka: {_said(error)}.") from None
        for message in found:
            self._keep(message)
            self._trouble = None
        for part in list(self._buffers):
            buffers = self._buffers[part]
            for buffer in buffers.values():
                buffer.pause_or_resume(self._consumer)
            messages = self._merged(buffers, BATCH)
            if messages:
                yield part, messages

    def taken(self, part: str, messages: Sequence[Message]) -> None:
        """Drop them, and tell the broker how far the group has come, for its tools."""
        buffers = self._buffers.get(part)
        if buffers is None:
            return
        places: dict[str, TopicPartition] = {}
        for message in messages:
            buffer = buffers[message.source]
            buffer.messages.popleft()
            assert message.position is not None
            place = buffer.place
            places[message.source] = TopicPartition(
                place.topic, place.partition, message.position + 1
            )
        with suppress(KafkaException):  # it is no matter: the database knows
            self._consumer.commit(offsets=list(places.values()), asynchronous=True)

    def lost(self, part: str) -> None:
        """Read nothing more of it until the group assigns it again."""
        for buffer in self._buffers.pop(part, {}).values():
            with suppress(KafkaException):
                self._consumer.pause([TopicPartition(buffer.place.topic, buffer.place.partition)])

    def send(self, part: str, rows: Sequence[Outgoing]) -> str | None:
        """Send rows of the outbox, and wait until the brokers have them."""
        failed: list[str] = []

        def delivered(error: KafkaError | None, _: Any) -> None:
            if error is not None:
                failed.append(error.str())

        end = time.monotonic() + DELIVERY
        for row in rows:
            while True:
                try:
                    self._producer.produce(
                        self.outputs[row.kind],
                        row.value.encode(),
                        None if row.key is None else row.key.encode(),
                        on_delivery=delivered,
                    )
                    break
                except BufferError:
                    self._producer.poll(0.1)
                except KafkaException as error:
                    return f"Kafka: {_said(error)}."
                if time.monotonic() > end:
                    break
        if self._producer.flush(max(0.0, end - time.monotonic())):
            self._producer.purge()
            self._producer.flush(1.0)
            return "Kafka: the brokers do not acknowledge what is sent; it is tried again."
        return f"Kafka: {failed[0]}; it is tried again." if failed else None

    def tell(self, part: str, told: Told) -> str | None:
        """Let deciders know the learner; why it could not be done, or None."""
        assert self.models is not None
        writer, partition = self._writers[part], int(part.rpartition("/")[2])
        pieces = writer.pieces(told)
        places: dict[int, int] = {}

        def delivered(number: int, error: KafkaError | None, message: Any) -> None:
            if error is None:
                places[number] = message.offset()

        end = time.monotonic() + DELIVERY
        try:
            for number, piece in enumerate(pieces):
                about: dict[str, str | bytes | None] = {"about": json.dumps(piece.about)}
                note = partial(delivered, number)
                self._producer.produce(
                    self.models, piece.body, piece.key, partition, on_delivery=note, headers=about
                )
                self._producer.flush(max(0.0, end - time.monotonic()))
        except KafkaException as error:
            writer.whole = None
            return f"Kafka: {_said(error)}."
        if len(places) < len(pieces):
            self._producer.purge()
            self._producer.flush(1.0)
            writer.whole = None
            return "Kafka: the brokers do not acknowledge the model; it is sent again."
        if writer.whole is None:
            writer.whole = places[0]
        return None

    def trouble(self) -> str | None:
        """Why nothing comes at the moment, or None."""
        return self._trouble

    def close(self) -> None:
        """Leave the group."""
        self._consumer.close()

    def _on_error(self, error: KafkaError) -> None:
        if error.code() == KafkaError._ALL_BROKERS_DOWN:
            self._trouble = f"Kafka: no broker answers at {self._servers}; it is tried again."

    # Parts

    def _check_topics(self) -> None:
        try:
            known = self._consumer.list_topics(timeout=NEEDED).topics
        except KafkaException as error:
            raise ConnectorError(
                f"Kafka: no broker answers at {self._servers} ({_said(error)}). Does one run there,"
                " and does it want settings, such as security.protocol?"
            ) from None
        models = () if self.models is None else (self.models,)
        for topic in (*self.topics.values(), *models, *self.outputs.values()):
            if topic not in known or known[topic].error is not None:
                raise ConnectorError(f"Kafka: there is no topic {topic!r}; create it first.")
        same = (*self.topics.values(), *models)
        counts = {topic: len(known[topic].partitions) for topic in same}
        if len(set(counts.values())) > 1:
            said = " and ".join(f"{topic!r} with {n}" for topic, n in counts.items())
            raise ConnectorError(
                f"Kafka: the topics of {self.main} and answers must have equally many partitions,"
                f" so that an answer finds its event; got {said}."
                if self.models is None
                else "Kafka: the topics of reports, models and answers must have equally many"
                f" partitions, one for each learner; got {said}."
            )

    def _keep(self, message: Any) -> None:
        topic, error = message.topic(), message.error()
        buffers = self._buffers.get(f"{self.topics[self.main]}/{message.partition()}")
        if error is not None:
            if error.code() == KafkaError._PARTITION_EOF:
                if buffers is not None:
                    buffers[self._source[topic]].at_end = True
            elif error.code() == KafkaError._AUTO_OFFSET_RESET:
                raise ConnectorError(
                    f"Kafka: {topic}/{message.partition()} no longer has the message at which the"
                    " database goes on: it was deleted, or the topic was made anew. Give the work"
                    " another database, or restore the topic."
                )
            elif error.fatal() or not error.retriable():
                raise ConnectorError(f"Kafka: {error.str()}.")
            return
        if buffers is None:
            return
        source = self._source[topic]
        buffer = buffers[source]
        buffer.at_end = False
        key = message.key()
        text = None if key is None else key.decode(errors="replace")
        seconds = message.timestamp()[1] / 1000
        body = message.value() or b""
        buffer.messages.append(Message(source, message.offset(), text, seconds, body))

    def _merged(self, buffers: dict[str, "_Buffer"], most: int) -> list[Message]:
        """The next messages in the order of their times; of the same time answers come last.

        If nothing of a source is here and its end is not reached, nothing is said: what it has may
        be older.
        """
        events, answers = buffers[self.main], buffers.get("answers")
        if answers is None:
            return [message for message, _ in zip(events.messages, range(most), strict=False)]
        first, second = iter(events.messages), iter(answers.messages)
        event, answer = next(first, None), next(second, None)
        merged: list[Message] = []
        while len(merged) < most:
            if event is None and answer is None:
                break
            if (event is None and not events.at_end) or (answer is None and not answers.at_end):
                break
            if answer is None or (event is not None and event.time <= answer.time):
                assert event is not None
                merged.append(event)
                event = next(first, None)
            else:
                merged.append(answer)
                answer = next(second, None)
        return merged


class _Buffer:
    """What was read of one partition and not taken yet."""

    def __init__(self, place: TopicPartition) -> None:
        self.place = place
        self.messages: deque[Message] = deque()
        self.at_end = False
        self._is_paused = False

    def pause_or_resume(self, consumer: Consumer) -> None:
        where = [TopicPartition(self.place.topic, self.place.partition)]
        if not self._is_paused and len(self.messages) > READ_AHEAD:
            consumer.pause(where)
            self._is_paused = True
        elif self._is_paused and len(self.messages) < BATCH:
            consumer.resume(where)
            self._is_paused = False


def worker(
    kafka: Kafka,
    database: str,
    learner: Learner,
    *,
    per_key: bool = False,
    columns: Columns = FIELDS,
    answer_within: float = 0.0,
    early: float = LONGEST_EARLY,
    say: Callable[[str], None] = print,
    refresh: float = REFRESH,
) -> Worker:
    """A worker on Kafka; `run` works until it is told to stop.

    Parameters
    ----------
    kafka
        Brokers, topics and group.
    database
        A database that all workers reach: `postgresql://...`, or on one host a path (SQLite).
    learner
        The learner that every partition, or every key, begins with.
    per_key
        Whether each key of the messages has a learner of its own; else each partition has one.
    columns
        What the fields of events are for.
    answer_within
        Seconds within which an answer may come for an event that was not asked about. 0: none may.
    early
        Seconds for which an answer waits for its event.
    say
        Is told in one sentence what happens.
    refresh
        With `models`: the shortest time between two models, in seconds.

    Examples
    --------
    >>> import headwater as hw
    >>> kafka = Kafka("localhost:9092", events="plant", answers="answers", questions="questions")
    >>> works = worker(kafka, "plant.db", hw.Spring(label_rate=0.02))  # works.run(...) begins
    """

    if kafka.models is not None:
        check_shared(learner, per_key, answer_within)

    def open_part(name: str) -> Part:
        return Part(
            database,
            name,
            learner,
            per_key=per_key,
            kinds=kafka.kinds,
            answer_within=answer_within,
            early=early,
            for_deciders=kafka.models is not None,
        )

    return Worker(kafka, open_part, columns, say, refresh)


def _said(error: Exception) -> str:
    inner = error.args[0] if error.args else error
    text = inner.str() if isinstance(inner, KafkaError) else str(inner)
    return text.strip().rstrip(".")
