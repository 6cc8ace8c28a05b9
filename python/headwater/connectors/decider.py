"""Deciders on Kafka: they decide on events with the model of an owner, who learns.

A decider keeps nothing that matters. It reads a partition of events, decides with a replica of the
owner's learner, and writes the decisions and a report to the owner in one transaction of Kafka, so
that either all of it is there or nothing. The producer of a partition has a name of its own: a new
one of the same name first ends what the one before left unfinished, and whatever that one still
sends is refused. The new one goes on where the last report in the topic ends.

The owner is a worker (`headwater.connectors.kafka`) that takes reports in place of events. It
counts a report only if that goes on where its last report of the same partition ended, and writes
the new place in the transaction of the facts. So an event counts once whatever deciders do, and a
decider whose report did not count decides on these events again.
"""

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from headwater.connectors.messages import FIELDS, Message, check_columns, read
from headwater.connectors.reports import Model, ModelReader, write_report
from headwater.errors import (
    ConnectorError,
    EventError,
    HeadwaterError,
    ParameterError,
    StepError,
)
from headwater.inputs.columns import Columns
from headwater.learners.base import Learner, from_bytes
from headwater.live.checks import checked_event, checked_id
from headwater.live.part import Incoming
from headwater.live.reported import Asked, Chances, Reported

try:
    from confluent_kafka import (
        Consumer,
        KafkaError,
        KafkaException,
        Producer,
        TopicPartition,
    )
except ImportError:  # pragma: no cover
    raise ImportError(
        'headwater.connectors.decider needs pip install "headwater[kafka]".'
    ) from None

__all__ = ["Decider"]

BATCH = 1_000
"""Messages that are decided on in one transaction, at most."""
PAUSE = 0.2
"""Seconds for which a decider waits for messages before it looks whether it should stop."""
NEEDED = 10.0
"""Seconds in which a broker must answer."""
DELIVERY = 30.0
"""Seconds in which a transaction must end."""
LONGEST_OPEN = 10_000
"""Milliseconds after which the brokers end the transaction of a decider that is gone."""
PATIENCE = 5.0
"""Seconds after which it is said that there is no model."""
QUIET = 10.0
"""Seconds between two sentences about the same."""


class DeciderCounts:
    """What a decider has done since it began."""

    def __init__(self) -> None:
        self.decided = self.asked = self.reports = self.again = self.dead = 0


class Decider:
    """Decides on the events of the partitions that Kafka gives it.

    Parameters
    ----------
    servers
        Host and port of a broker, several with commas between them.
    events
        The topic with the events.
    reports, models
        The topics between deciders and owners: what deciders report, and what learners know. They
        have one partition for each learner. With as many as `events` has, each partition of events
        has a learner of its own; with one, all share one.
    decisions, dead
        The topics for every decision, and for messages that cannot be used. None: it is not sent.
    group
        The name of the group of deciders that share the partitions.
    columns
        What the fields of events are for.
    settings
        Further settings of librdkafka.
    say
        Is told in one sentence what happens.

    Examples
    --------
    >>> decider = Decider("localhost:9092", events="plant", reports="reports", models="models")
    >>> decider.counts.decided  # decider.run(...) begins
    0
    """

    def __init__(
        self,
        servers: str,
        *,
        events: str,
        reports: str,
        models: str,
        decisions: str | None = None,
        dead: str | None = None,
        group: str = "headwater-deciders",
        columns: Columns = FIELDS,
        settings: Mapping[str, Any] | None = None,
        say: Callable[[str], None] = print,
    ) -> None:
        topics = [topic for topic in (events, reports, models, decisions, dead) if topic]
        twice = next((topic for topic in topics if topics.count(topic) > 1), None)
        if twice is not None:
            raise ParameterError(f"decide: expected a topic for each purpose, got {twice} twice.")
        if columns.label is not None:
            raise ParameterError(
                "decide: deciders do not learn, so an event cannot bring its label; send labels as"
                " answers, or use headwater work --events."
            )
        self.columns = check_columns(columns)
        self.events, self.reports, self.models = events, reports, models
        self.decisions, self.dead = decisions, dead
        self.group = group
        self.say = say
        self.counts = DeciderCounts()
        self._servers = servers
        self._common = {"bootstrap.servers": servers, "log_level": 2, **(settings or {})}
        self._reading = {
            "group.id": group,
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "allow.auto.create.topics": False,
        }
        joining = {
            "error_cb": self._on_error,
            "auto.offset.reset": "error",
            "partition.assignment.strategy": "range",
        }
        try:
            self._consumer = Consumer({**self._common, **self._reading, **joining})
            self._followers = Followers(self._plain_consumer(), models)
        except KafkaException as error:
            raise ConnectorError(f"Kafka: {_said(error)}.") from None
        self._lines: dict[int, _Line] = {}
        self._learners = 1
        self._trouble: str | None = None
        self._told: dict[str, float] = {}

    def run(self, is_to_stop: Callable[[], bool]) -> None:
        """Decide until told to stop."""
        self._check_topics()
        self._consumer.subscribe(
            [self.events],
            on_assign=self._on_assign,
            on_revoke=self._on_revoke,
            on_lost=self._on_revoke,
        )
        self.say("Listening.")
        try:
            while not is_to_stop():
                self._round()
        finally:
            self._consumer.close()
            self._followers.close()

    # A round

    def _round(self) -> None:
        self._tell_trouble()
        try:
            found = self._consumer.consume(BATCH, PAUSE)
        except KafkaException as error:
            raise ConnectorError(f"Kafka: {_said(error)}.") from None
        try:
            self._followers.poll()
        except KafkaException as error:
            self._say_seldom(f"Kafka: {_said(error)}; it is tried again.")
        begun = [self._keep_up(line) for line in list(self._lines.values())]
        if any(begun):
            self._assign()  # each line is read from its place: what was found comes again
            return
        messages: dict[int, list[Message]] = {}
        for one in found:
            problem, partition = one.error(), one.partition()
            if problem is not None:
                self._check_read(one, problem)
                continue
            self._trouble = None
            key, seconds = one.key(), one.timestamp()[1] / 1000
            text = None if key is None else key.decode(errors="replace")
            message = Message("events", one.offset(), text, seconds, one.value() or b"")
            messages.setdefault(partition or 0, []).append(message)
        for partition, some in messages.items():
            line = self._lines.get(partition)
            if line is not None and line.replica is not None:
                self._take_all(line, some)

    def _keep_up(self, line: "_Line") -> bool:
        """Let a line take the newest model; whether it has begun, or begun again."""
        model = self._followers.model(line.learner)
        if model is None:
            if time.monotonic() - line.since > PATIENCE:
                self._say_seldom(
                    f"{line.source}: {self.models}/{line.learner} has no model yet; does the owner"
                    " run, headwater work --reports?"
                )
            return False
        if line.replica is not None and line.must_begin_again(model):
            self.counts.again += 1
            self.say(f"{line.source}: the owner did not count the last report.")
            line.replica = None
        if line.replica is not None and model is not line.model:
            try:
                line.replica.refresh(model.state)
                line.model = model
            except HeadwaterError as error:  # another learner than before
                self.say(f"{line.source}: {error}")
                line.replica = None
        return line.replica is None and self._begin(line, model)

    def _begin(self, line: "_Line", model: Model) -> bool:
        """Find out where to go on; False if no broker says."""
        try:
            if line.producer is None:
                line.producer = self._producer(line)
            line.place = self._place(line, model)
        except KafkaException as error:
            line.producer = None
            self._say_seldom(f"{line.source}: Kafka: {_said(error)}; it is tried again.")
            return False
        line.begin(model, self.group)
        self.say(f"{line.source}: taken over at message {line.place}.")
        return True

    def _take_all(self, line: "_Line", messages: Sequence[Message]) -> None:
        messages = [one for one in messages if (one.position or 0) >= line.place]
        while messages and line.replica is not None:
            self._take(line, messages[: line.most])
            messages = messages[line.most :]

    def _take(self, line: "_Line", messages: Sequence[Message]) -> None:
        """Decide on messages, and send what follows in one transaction."""
        assert line.producer is not None
        counts = DeciderCounts()
        try:
            line.producer.begin_transaction()
            self._send(line, messages, counts)
            line.producer.flush(DELIVERY)
            line.producer.commit_transaction(DELIVERY)
        except (KafkaException, BufferError) as error:
            if _is_too_large(error):
                line.most = max(1, len(messages) // 2)
            # Whether it is committed is seen in the topic, when the line begins anew.
            self._say_seldom(f"{line.source}: Kafka: {_said(error)}; it is tried again.")
            line.producer = line.replica = None
            self._assign()
            return
        for name, count in vars(counts).items():
            setattr(self.counts, name, getattr(self.counts, name) + count)

    def _send(self, line: "_Line", messages: Sequence[Message], counts: DeciderCounts) -> None:
        assert line.replica is not None
        asked: list[Asked] = []
        probabilities: list[float] = []
        for message, incoming in zip(messages, read(messages, self.columns), strict=True):
            try:
                decision, sure, id = _decide(line, incoming)
            except (EventError, StepError) as error:
                counts.dead += 1
                self._bury(line, message, str(error))
                continue
            probabilities.append(decision.query_probability)
            told = {
                "id": id,
                "part": line.part(self.reports),
                "prediction": decision.prediction,
                "margin": decision.margin,
                "query_probability": decision.query_probability,
                "asked": decision.asked,
            }
            self._produce(line, self.decisions, message, json.dumps(told).encode())
            if decision.asked:
                x, group = incoming.x or {}, incoming.group
                one = Asked(id, message.key, incoming.time, group, x, decision.to_bytes(), sure)
                asked.append(one)
        counts.decided += len(probabilities)
        counts.asked += len(asked)
        counts.reports += 1
        last = messages[-1]
        assert last.position is not None
        end = last.position + 1
        chances = Chances.of(probabilities, line.replica.asked / max(1, line.replica.seen))
        report = line.replica.report()
        reported = Reported(line.source, line.place, end, last.time, chances, report, asked)
        about = {"source": line.source, "begin": line.place, "end": end}
        line.last_report = None  # until it is known
        self._produce(line, self.reports, last, write_report(reported), line.learner, about)
        line.place = end

    def _bury(self, line: "_Line", message: Message, sentence: str) -> None:
        where = "" if self.dead is not None else "; without --dead they are not kept"
        self._say_seldom(
            f"{line.source}: messages could not be used{where}.", f" The last: {sentence}"
        )
        letter = {
            "sentence": sentence,
            "source": message.source,
            "part": line.source,
            "position": message.position,
            "body": message.body.decode(errors="replace"),
        }
        self._produce(line, self.dead, message, json.dumps(letter).encode())

    def _produce(
        self,
        line: "_Line",
        topic: str | None,
        message: Message,
        body: bytes,
        partition: int = -1,
        about: dict[str, Any] | None = None,
    ) -> None:
        """Send in the transaction of a line; a report with what it is about as a header."""
        if topic is None:
            return
        assert line.producer is not None
        key = message.key if about is None else line.source
        headers: dict[str, str | bytes | None] = {}
        if about is not None:
            headers["about"] = json.dumps(about)
        milliseconds = round(1000 * message.time)
        end = time.monotonic() + DELIVERY
        while True:
            try:
                line.producer.produce(
                    topic,
                    body,
                    None if key is None else key.encode(),
                    partition,
                    on_delivery=None if about is None else line.note_report,
                    timestamp=milliseconds,
                    headers=headers,
                )
                return
            except BufferError:
                if time.monotonic() > end:
                    raise
                line.producer.poll(0.1)

    # Lines

    def _on_assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        for one in partitions:
            learner = one.partition % self._learners
            self._lines[one.partition] = _Line(self.events, one.partition, learner)
        self._followers.follow({line.learner for line in self._lines.values()})
        consumer.assign([])

    def _on_revoke(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        for one in partitions:
            line = self._lines.pop(one.partition, None)
            if line is not None:
                self.say(f"{line.source}: given back at message {line.place}.")
        self._followers.follow({line.learner for line in self._lines.values()})
        consumer.unassign()

    def _assign(self) -> None:
        """Read the partitions whose lines have begun, each from its place."""
        begun = [line for line in self._lines.values() if line.replica is not None]
        self._consumer.assign(
            [TopicPartition(self.events, line.partition, line.place) for line in begun]
        )

    def _producer(self, line: "_Line") -> Producer:
        """A producer by the name of its partition; it ends what others of this name began."""
        producer = Producer(
            {
                **self._common,
                "transactional.id": f"{self.group}/{line.source}/{self.reports}",
                "transaction.timeout.ms": LONGEST_OPEN,
                "compression.type": "lz4",
                "linger.ms": 5,
            }
        )
        producer.init_transactions(DELIVERY)
        return producer

    def _place(self, line: "_Line", model: Model) -> int:
        """Where the last report of these events ends; without any, where the events begin.

        Reports are read on from where the owner was when it sent the model, by the owner's rule.
        """
        place = model.positions.get(line.source)
        consumer = self._plain_consumer()
        try:
            every = {"isolation.level": "read_uncommitted"}
            uncommitted = Consumer({**self._common, **self._reading, **every})
            try:
                where = TopicPartition(self.reports, line.learner)
                low, end = uncommitted.get_watermark_offsets(where, timeout=NEEDED)
            finally:
                uncommitted.close()
            begin = max(low, model.positions.get("reports", 0))
            consumer.assign([TopicPartition(self.reports, line.learner, begin)])
            patience = time.monotonic() + DELIVERY
            is_there = begin >= end
            while not is_there:
                if time.monotonic() > patience:
                    raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
                for message in consumer.consume(500, PAUSE):
                    error = message.error()
                    if error is None:
                        about = _about(message)
                        if about["source"] == line.source and place in (None, about["begin"]):
                            place = about["end"]
                    elif error.code() == KafkaError._PARTITION_EOF:
                        is_there = (message.offset() or 0) >= end
                    elif not error.retriable():
                        raise KafkaException(error)
            if place is None:
                first = TopicPartition(self.events, line.partition)
                place = consumer.get_watermark_offsets(first, timeout=NEEDED)[0]
        finally:
            consumer.close()
        return int(place)

    def _plain_consumer(self) -> Consumer:
        """A consumer that is given its partitions and does not join the group."""
        beginning = {"auto.offset.reset": "earliest"}
        return Consumer({**self._common, **self._reading, **beginning})

    # What goes wrong

    def _check_topics(self) -> None:
        try:
            known = self._consumer.list_topics(timeout=NEEDED).topics
        except KafkaException as error:
            raise ConnectorError(
                f"Kafka: no broker answers at {self._servers} ({_said(error)}). Does one run there,"
                " and does it want settings, such as security.protocol?"
            ) from None
        for topic in (self.events, self.reports, self.models, self.decisions, self.dead):
            if topic is not None and (topic not in known or known[topic].error is not None):
                raise ConnectorError(f"Kafka: there is no topic {topic!r}; create it first.")
        counts = [len(known[topic].partitions) for topic in (self.reports, self.models)]
        if len(set(counts)) > 1:
            raise ConnectorError(
                "Kafka: the topics of reports and models must have equally many partitions, one for"
                f" each learner; got {self.reports!r} with {counts[0]} and {self.models!r} with"
                f" {counts[1]}."
            )
        self._learners = counts[0]

    def _check_read(self, message: Any, error: KafkaError) -> None:
        if error.code() == KafkaError._PARTITION_EOF:
            return
        if error.code() == KafkaError._AUTO_OFFSET_RESET:
            raise ConnectorError(
                f"Kafka: {message.topic()}/{message.partition()} no longer has the message at which"
                " the reports go on: it was deleted, or the topic was made anew. Give the work"
                " other topics of reports and models and another database, or restore the topic."
            )
        if error.fatal() or not error.retriable():
            raise ConnectorError(f"Kafka: {error.str()}.")

    def _on_error(self, error: KafkaError) -> None:
        if error.code() == KafkaError._ALL_BROKERS_DOWN:
            self._trouble = f"Kafka: no broker answers at {self._servers}; it is tried again."

    def _tell_trouble(self) -> None:
        if self._trouble is not None:
            self._say_seldom(self._trouble)

    def _say_seldom(self, sentence: str, more: str = "") -> None:
        now = time.monotonic()
        if now - self._told.get(sentence, -QUIET) >= QUIET:
            self._told[sentence] = now
            self.say(sentence + more)


class _Line:
    """A partition of events, and what is needed to decide on it."""

    def __init__(self, topic: str, partition: int, learner: int) -> None:
        self.partition = partition
        self.learner = learner
        """The partition of reports and models of its owner."""
        self.source = f"{topic}/{partition}"
        self.since = time.monotonic()
        self.producer: Producer | None = None
        self.replica: Learner | None = None
        self.model: Model | None = None
        self.most = BATCH
        """Messages that are reported together."""
        self.place = 0
        """The message that is decided on next."""
        self.last_report: int | None = None
        """Where the last report lies in its topic."""

    def part(self, reports: str) -> str:
        """The name of the owner's part."""
        return f"{reports}/{self.learner}"

    def begin(self, model: Model, group: str) -> None:
        """Decide with a fresh replica. Its seed is made of its place: no other has it."""
        self.model = model
        owner = from_bytes(model.state)
        digest = hashlib.sha256(f"{group}/{self.source}@{self.place}".encode()).digest()
        self.replica = owner.replica(seed=int.from_bytes(digest[:6]) + 1)
        self.last_report = None

    def note_report(self, error: KafkaError | None, message: Any) -> None:
        if error is None:
            self.last_report = message.offset()

    def must_begin_again(self, model: Model) -> bool:
        """Whether the owner has seen the last report, and is elsewhere than where that ends."""
        if self.last_report is None or self.last_report >= model.positions.get("reports", 0):
            return False
        return model.positions.get(self.source) != self.place


class Followers:
    """Reads what the owners of some learners send, each from its last whole model on."""

    def __init__(self, consumer: Consumer, topic: str) -> None:
        self._consumer = consumer
        self._topic = topic
        self._readers: dict[int, ModelReader] = {}
        self._unknown: set[int] = set()  # where to begin
        self._places: dict[int, int] = {}

    def follow(self, learners: set[int]) -> None:
        """Read the models of these learners from now on."""
        for gone in set(self._readers) - learners:
            del self._readers[gone]
            self._places.pop(gone, None)
        for new in learners - set(self._readers):
            self._readers[new] = ModelReader()
            self._unknown.add(new)

    def poll(self) -> None:
        """Read what has come."""
        unknown, self._unknown = self._unknown & set(self._readers), set()
        try:
            for learner in unknown:
                self._places[learner] = self._last_whole(learner)
        except KafkaException:
            self._unknown = unknown
            raise
        if unknown:
            self._consumer.assign(
                [TopicPartition(self._topic, one, place) for one, place in self._places.items()]
            )
        while found := self._consumer.consume(100, 0):
            for message in found:
                learner = message.partition() or 0
                reader = self._readers.get(learner)
                if message.error() is None and reader is not None:
                    reader.read(_about(message), message.value() or b"")
                    self._places[learner] = (message.offset() or 0) + 1

    def _last_whole(self, learner: int) -> int:
        """Where the last whole model begins, as the last message says."""
        where = TopicPartition(self._topic, learner)
        low, end = self._consumer.get_watermark_offsets(where, timeout=NEEDED)
        if low >= end:
            return int(end)
        self._consumer.assign([TopicPartition(self._topic, learner, end - 1)])
        patience = time.monotonic() + NEEDED
        while time.monotonic() < patience:
            for message in self._consumer.consume(1, PAUSE):
                if message.error() is None:
                    about = _about(message)
                    whole = about["whole"] if about["delta"] else message.offset() - about["piece"]
                    return max(low, int(whole))
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT))

    def model(self, learner: int) -> Model | None:
        """The newest model of a learner."""
        return self._readers[learner].model

    def close(self) -> None:
        self._consumer.close()


def _decide(line: _Line, incoming: Incoming) -> tuple[Any, float | None, Any]:
    """The decision about an event, the probability of its prediction, and its id."""
    if incoming.problem is not None:
        raise EventError(incoming.problem)
    assert line.replica is not None
    x = checked_event(incoming.x)
    id = checked_id(incoming.id)
    if id is None:
        id = f"{line.source}@{incoming.position}"
    decision = line.replica.decide_one(x)
    sure = None
    if decision.asked:
        with suppress(HeadwaterError):  # some learners give no probabilities
            given: dict[Any, float] = line.replica.predict_proba_one(x)
            sure = given.get(decision.prediction)
    return decision, sure, id


def _is_too_large(error: Exception) -> bool:
    inner = error.args[0] if error.args else None
    return isinstance(inner, KafkaError) and inner.code() == KafkaError.MSG_SIZE_TOO_LARGE


def _about(message: Any) -> dict[str, Any]:
    headers = dict(message.headers() or [])
    about: dict[str, Any] = json.loads(headers["about"])
    return about


def _said(error: Exception) -> str:
    inner = error.args[0] if error.args else error
    return inner.str() if isinstance(inner, KafkaError) else str(inner)
