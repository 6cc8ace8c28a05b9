"""A worker: takes the messages of the parts that it owns, and sends what follows from them.

Of each part it is one round again and again: send what is in the outbox, take the messages that
have come with one commit, tell the broker. A process that dies anywhere in it begins the round
again, and passes over what was committed.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Protocol

from headwater.connectors.messages import Message, check_columns, read
from headwater.errors import HeldError, JournalError
from headwater.inputs.columns import Columns
from headwater.live.part import Counts, Outgoing, Part, Told

QUIET = 10.0
"""Seconds between two sentences about messages that cannot be used."""
REFRESH = 1.0
"""Seconds between two models that deciders are told, unless told otherwise."""
PAUSE = 0.2
"""Seconds for which a worker waits for messages before it looks whether it should stop."""
LONGEST_PAUSE = 5.0


class Broker(Protocol):
    """Where messages come from and go to."""

    kinds: tuple[str, ...]
    """What is sent, of `"decisions"`, `"questions"` and `"dead"`."""
    models: str | None
    """Where deciders learn what the learners know; None if there are no deciders."""

    def start(
        self, assigned: Callable[[str], dict[str, int]], revoked: Callable[[str], None]
    ) -> None:
        """Begin; `assigned` opens a part and says where to go on, `revoked` closes it."""

    def receive(self, seconds: float) -> Iterable[tuple[str, list[Message]]]:
        """Messages that have come, by part, in the order in which they are to be taken.

        They are given again until `taken` is called.
        """

    def taken(self, part: str, messages: Sequence[Message]) -> None:
        """These are committed."""

    def lost(self, part: str) -> None:
        """Another process has this part; its messages are not wanted any more."""

    def send(self, part: str, rows: Sequence[Outgoing]) -> str | None:
        """Send; why it could not be done, or None."""

    def tell(self, part: str, told: Told) -> str | None:
        """Let deciders know the learner; why it could not be done, or None."""

    def trouble(self) -> str | None:
        """Why nothing comes at the moment, or None."""

    def close(self) -> None:
        """Stop; parts that are still assigned are revoked first."""


class Worker:
    """Owns the learners of the parts that a broker assigns to it.

    Parameters
    ----------
    broker
        Where messages come from and go to.
    open_part
        Opens a part by its name.
    columns
        What the fields of events are for.
    say
        Is told in one sentence what happens.
    refresh
        Seconds between two models that deciders are told, if there is something new.
    """

    def __init__(
        self,
        broker: Broker,
        open_part: Callable[[str], Part],
        columns: Columns,
        say: Callable[[str], None] = print,
        refresh: float = REFRESH,
    ) -> None:
        self.broker = broker
        self.columns = check_columns(columns)
        self.say = say
        self.counts = Counts()
        self._open_part = open_part
        self._parts: dict[str, Part] = {}
        self._pause = PAUSE
        self._trouble: str | None = None
        self._told = -QUIET
        self._refresh = refresh
        self._models: dict[str, tuple[float, int]] = {}  # when each was told, after how many takes

    def run(self, is_to_stop: Callable[[], bool]) -> None:
        """Work until told to stop; then save what the parts have learned."""
        self.broker.start(self._assigned, self._revoked)
        self.say("Listening.")
        try:
            while not is_to_stop():
                self._tell_trouble()
                for part in list(self._parts):
                    self._send(part)
                    self._tell_model(part)
                for part, messages in self.broker.receive(self._pause):
                    if part in self._parts and not self._parts[part].unsent:
                        self._take(part, messages)
                        self._send(part)
        finally:
            try:
                self.broker.close()
            finally:
                for part in list(self._parts):
                    self._revoked(part)

    def _assigned(self, name: str) -> dict[str, int]:
        part = self._open_part(name)
        self._parts[name] = part
        self._models.pop(name, None)
        positions = part.positions
        self.say(f"{name}: taken over at fact {part.head}, messages {positions or 'none yet'}.")
        return positions

    def _revoked(self, name: str) -> None:
        part = self._parts.pop(name, None)
        if part is None:
            return
        try:
            part.close()
            self.say(f"{name}: given back.")
        except JournalError as error:  # whoever has it now, or the next, makes the model anew
            self.say(f"{name}: given back without a snapshot: {error}")
        for key, count in vars(part.counts).items():
            setattr(self.counts, key, getattr(self.counts, key) + count)

    def _take(self, name: str, messages: list[Message]) -> None:
        part = self._parts[name]
        dead = part.counts.dead
        try:
            part.take(read(messages, self.columns))
        except HeldError as error:
            self._lose(name, error)
            return
        except JournalError as error:  # nothing was taken: the same messages come again
            self._say_later(f"{name}: {error}")
            return
        self._pause = PAUSE
        self.broker.taken(name, messages)
        self._tell_dead(name, part, part.counts.dead - dead)

    def _lose(self, name: str, error: HeldError) -> None:
        """Another worker has this part."""
        self.say(f"{name}: {error}")
        self._parts.pop(name).abandon()
        self.broker.lost(name)

    def _send(self, name: str) -> None:
        part = self._parts.get(name)
        if part is None or not part.unsent:
            return
        rows = list(part.unsent)
        problem = self.broker.send(name, rows)
        if problem is None:
            part.sent(rows)
        else:
            self._say_later(f"{name}: {problem}")

    def _tell_model(self, name: str) -> None:
        """Let deciders know what the learner knows by now."""
        part = self._parts.get(name)
        if part is None or self.broker.models is None:
            return
        when, takes = self._models.get(name, (-self._refresh, -1))
        now = time.monotonic()
        if part.takes == takes or now - when < self._refresh:
            return
        try:
            told = part.told()
        except HeldError as error:
            self._lose(name, error)
            return
        except JournalError as error:
            self._say_later(f"{name}: {error}")
            return
        problem = self.broker.tell(name, told)
        if problem is None:
            self._models[name] = (now, part.takes)
        else:
            self._say_later(f"{name}: {problem}")

    def _tell_trouble(self) -> None:
        """Say what keeps the broker from answering, and when it is over."""
        trouble = self.broker.trouble()
        if trouble != self._trouble:
            self.say(trouble or "The broker answers again.")
            self._trouble = trouble

    def _tell_dead(self, name: str, part: Part, count: int) -> None:
        """Say that messages could not be used, now and then: all of them are dead letters."""
        if count and time.monotonic() - self._told >= QUIET:
            self._told = time.monotonic()
            where = "" if "dead" in self.broker.kinds else "; without --dead they are not kept"
            what = "a message" if count == 1 else f"{count} messages"
            self.say(f"{name}: {what} could not be used{where}. The last: {part.last_dead}")

    def _say_later(self, sentence: str) -> None:
        """Say that something goes wrong, and try it again after a while."""
        self.say(sentence)
        with suppress(InterruptedError):
            time.sleep(self._pause)
        self._pause = min(2 * self._pause, LONGEST_PAUSE)
