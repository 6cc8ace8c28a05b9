"""Events and answers from MQTT: the same worker with another source.

A message is acknowledged after the commit that holds its fact, and the broker keeps a session for
the client's name: what was not acknowledged comes again, and counts once by its id. MQTT counts no
places, so every event needs an id. One worker has one part of the database, which is called as its
client; several workers take different topics under different names.
"""

import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from headwater.connectors.messages import FIELDS, Message
from headwater.connectors.worker import Worker
from headwater.errors import ConnectorError, ParameterError
from headwater.inputs.columns import Columns
from headwater.learners.base import Learner
from headwater.live.part import LONGEST_EARLY, Outgoing, Part, Told

try:
    import paho.mqtt.client as paho
    from paho.mqtt.enums import CallbackAPIVersion
except ImportError:  # pragma: no cover
    raise ImportError('headwater.connectors.mqtt needs pip install "headwater[mqtt]".') from None

__all__ = ["Mqtt", "worker"]

BATCH = 500
"""Messages that are taken with one commit, at most."""
DELIVERY = 30.0
"""Seconds in which what is sent must be acknowledged."""
NEEDED = 10.0
"""Seconds in which the broker must answer."""
AT_LEAST_ONCE = 1


class Mqtt:
    """A client with a lasting session, as a worker uses it.

    Parameters
    ----------
    host
        The broker's host, or `host:port`.
    events, answers
        The topics that are read; they may have wildcards.
    questions, decisions, dead
        The topics that are written: what people are asked, every decision, messages that cannot be
        used with the reason. None: it is not sent.
    client
        The name of the client and of its session, which must be its own.
    user, password
        For a broker that wants them.
    tls
        Whether the connection is encrypted; the system's authorities are trusted.
    """

    def __init__(
        self,
        host: str,
        *,
        events: str,
        answers: str | None = None,
        questions: str | None = None,
        decisions: str | None = None,
        dead: str | None = None,
        client: str = "headwater",
        user: str | None = None,
        password: str | None = None,
        tls: bool = False,
    ) -> None:
        name, _, port = host.partition(":")
        if not name or not (port or "1883").isdigit():
            raise ParameterError(f"work: expected a host or host:port, got {host!r}.")
        self.address = name, int(port or (8883 if tls else 1883))
        self.topics = {"events": events} | ({} if answers is None else {"answers": answers})
        self.outputs = {
            kind: topic
            for kind, topic in (("questions", questions), ("decisions", decisions), ("dead", dead))
            if topic is not None
        }
        self.kinds = tuple(self.outputs)
        self.models: str | None = None
        self.name = client
        self._client = paho.Client(
            CallbackAPIVersion.VERSION2,
            client_id=client,
            clean_session=False,
            manual_ack=True,
        )
        if user is not None:
            self._client.username_pw_set(user, password)
        if tls:
            self._client.tls_set()
        self._client.on_connect = self._on_connect
        self._client.on_disconnect = self._on_disconnect
        self._client.on_message = self._on_message
        self._client.on_subscribe = self._on_subscribe
        self._come: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self._here: deque[Message] = deque()
        # After a new connection the broker sends again what was not acknowledged, and an
        # acknowledgement of the connection before could be taken for that of another message.
        self._lock = threading.Lock()
        self._connection = 0
        self._is_subscribed = threading.Event()
        self._refusal: str | None = None

    # As a worker uses it

    def start(
        self, assigned: Callable[[str], dict[str, int]], revoked: Callable[[str], None]
    ) -> None:
        """Open the part, connect, and subscribe; the broker has confirmed both when it returns."""
        assigned(self.name)
        try:
            self._client.connect(*self.address)
        except OSError as error:
            host, port = self.address
            said = error.strerror or str(error)
            raise ConnectorError(
                f"MQTT: no broker answers at {host}:{port} ({said}). Does one run there?"
            ) from None
        self._client.loop_start()
        if not self._is_subscribed.wait(NEEDED) or self._refusal is not None:
            raise ConnectorError(f"MQTT: {self._refusal or 'the broker does not answer'}.")

    def receive(self, seconds: float) -> Iterator[tuple[str, list[Message]]]:
        """What has come and was not taken."""
        if self._refusal is not None:
            raise ConnectorError(f"MQTT: {self._refusal}.")
        try:
            if not self._here:
                self._here.append(self._come.get(timeout=seconds))
            while len(self._here) < BATCH:
                self._here.append(self._come.get_nowait())
        except queue.Empty:
            pass
        if self._here:
            yield self.name, list(self._here)

    def taken(self, part: str, messages: Sequence[Message]) -> None:
        """Acknowledge them, as far as the connection is the same."""
        for message in messages:
            self._here.popleft()
            connection, number = message.receipt
            with self._lock:
                if connection == self._connection:
                    self._client.ack(number, AT_LEAST_ONCE)

    def lost(self, part: str) -> None:
        """It is the only part, so the work is over."""
        self._refusal = f"another worker of the same name has taken {part} over"

    def send(self, part: str, rows: Sequence[Outgoing]) -> str | None:
        """Send rows of the outbox, and wait until the broker has them."""
        end = time.monotonic() + DELIVERY
        try:
            sent = [
                self._client.publish(self.outputs[row.kind], row.value.encode(), AT_LEAST_ONCE)
                for row in rows
            ]
            for one in sent:
                one.wait_for_publish(max(0.0, end - time.monotonic()))
            if all(one.is_published() for one in sent):
                return None
        except (RuntimeError, ValueError) as error:
            return f"MQTT: {error}; it is tried again."
        return "MQTT: the broker does not acknowledge what is sent; it is tried again."

    def tell(self, part: str, told: Told) -> str | None:
        """There are no deciders on MQTT."""
        raise NotImplementedError

    def trouble(self) -> str | None:
        """Why nothing comes at the moment, or None."""
        if self._client.is_connected():
            return None
        host, port = self.address
        return f"MQTT: the connection to {host}:{port} is lost; it is tried again."

    def close(self) -> None:
        """Disconnect; the session stays."""
        self._client.disconnect()
        self._client.loop_stop()

    # In the client's thread

    def _on_connect(self, client: Any, data: Any, flags: Any, reason: Any, _: Any) -> None:
        if reason.is_failure:
            self._refusal = f"the broker refuses the connection: {reason}"
            self._is_subscribed.set()
        else:
            with self._lock:
                self._connection += 1
            client.subscribe([(topic, AT_LEAST_ONCE) for topic in self.topics.values()])

    def _on_disconnect(self, client: Any, data: Any, flags: Any, reason: Any, _: Any) -> None:
        with self._lock:
            self._connection += 1

    def _on_subscribe(self, client: Any, data: Any, number: int, reasons: Any, _: Any) -> None:
        if any(reason.is_failure for reason in reasons):
            self._refusal = "the broker refuses the subscription; look at the client's rights"
        self._is_subscribed.set()

    def _on_message(self, client: Any, data: Any, message: Any) -> None:
        answers = self.topics.get("answers")
        is_answer = answers is not None and paho.topic_matches_sub(answers, message.topic)
        source = "answers" if is_answer else "events"
        with self._lock:
            receipt = (self._connection, message.mid)
        body = bytes(message.payload)
        if message.qos == 0:  # nothing to acknowledge
            receipt = (-1, 0)
        self._come.put(Message(source, None, message.topic, time.time(), body, receipt))


def worker(
    mqtt: Mqtt,
    database: str,
    learner: Learner,
    *,
    per_key: bool = False,
    columns: Columns = FIELDS,
    answer_within: float = 0.0,
    early: float = LONGEST_EARLY,
    say: Callable[[str], None] = print,
) -> Worker:
    """A worker on MQTT; the parameters are those of `headwater.connectors.kafka.worker`.

    The key of a message is its topic.

    Examples
    --------
    >>> import headwater as hw
    >>> mqtt = Mqtt("localhost", events="plant/+/events", questions="plant/questions")
    >>> works = worker(mqtt, "plant.db", hw.Spring(label_rate=0.02))  # works.run(...) begins
    """

    def open_part(name: str) -> Part:
        return Part(
            database,
            name,
            learner,
            per_key=per_key,
            kinds=mqtt.kinds,
            answer_within=answer_within,
            early=early,
        )

    return Worker(mqtt, open_part, columns, say)
