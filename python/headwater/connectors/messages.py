"""Messages of a broker, and what the core's reader makes of them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from headwater import _core
from headwater.connectors.reports import read_report
from headwater.errors import EventError, ParameterError
from headwater.inputs.columns import Columns
from headwater.live.part import Incoming

ANSWERS = Columns(id="id", label="label", group="by")
"""The fields of an answer; others are ignored."""
FIELDS = Columns(id="id")
"""The fields of an event that are no features, unless told otherwise."""


class Message(NamedTuple):
    """A message as a broker gives it."""

    source: str
    """`"events"`, `"answers"` or `"reports"`."""
    position: int | None
    """Its place in its source; None if the broker counts no places."""
    key: str | None
    time: float
    """When it was sent, in seconds since 1970."""
    body: bytes
    receipt: Any = None
    """What the broker wants back once the message is taken."""


def check_columns(columns: Columns) -> Columns:
    """Columns that can be read message by message: nothing is remembered from one to the next."""
    if "since_last" in columns.time_features:
        raise ParameterError(
            "work: the time feature since_last needs the event before, which a worker that begins"
            " anew does not have; leave it out."
        )
    return columns


def read(messages: Sequence[Message], columns: Columns) -> list[Incoming]:
    """Parse messages, each by itself; of one that cannot be read the problem is said.

    Examples
    --------
    >>> given = [b'{"id": 7, "rain": 2.5}', b'{"rain": ']
    >>> events = [Message("events", n, None, 0.0, body) for n, body in enumerate(given)]
    >>> first, second = read(events, Columns(id="id"))
    >>> first.id, first.x, second.problem is None
    (7, {'rain': 2.5}, False)
    """
    read = {n: _report(one) for n, one in enumerate(messages) if one.source == "reports"}
    for source, roles in (("events", columns), ("answers", ANSWERS)):
        places = [place for place, one in enumerate(messages) if one.source == source]
        parsed = _core.read_messages([messages[place].body for place in places], roles)
        for place, found in zip(places, parsed, strict=True):
            read[place] = _incoming(messages[place], found)
    return [read[place] for place in range(len(messages))]


def _report(message: Message) -> Incoming:
    """A report; it is no text, so a dead letter would not quote it."""
    plain = Incoming(message.source, message.position, message.key, message.time)
    try:
        reported = read_report(message.body)
    except EventError as error:
        return plain._replace(problem=str(error))
    return plain._replace(reported=reported)


def _incoming(message: Message, found: Any) -> Incoming:
    source, position, key, time, body, _ = message
    plain = Incoming(source, position, key, time, body=body)
    if isinstance(found, str):
        what = "event" if source == "events" else "answer"
        return plain._replace(problem=f"{what}: {found}")
    id, x, label, when, group = found
    text = None if group is None else str(group)
    when = time if when is None else when
    return plain._replace(time=when, id=id, x=x, label=label, group=text)
