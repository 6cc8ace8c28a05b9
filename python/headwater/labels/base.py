"""The interface of a label source: it takes questions, and returns answers when they come."""

from collections.abc import Iterator
from typing import Protocol

from headwater._core import Decision
from headwater.types import Id, Label


class LabelSource(Protocol):
    """A label source, which a `Session` asks for labels and informs about every event.

    A source that cannot answer for every event may have a fourth method, `check(id)`. It is called
    before anything is decided; if it raises an error, the event is not received.

    Examples
    --------
    >>> import headwater as hw
    >>> source: LabelSource = hw.labels.Oracle([True])  # one that knows already
    """

    def advance(self) -> None:
        """Called for every event."""

    def ask(self, id: Id, decision: Decision) -> None:
        """Ask for the label of the last event."""

    def answers(self) -> Iterator[tuple[Decision, Label]]:
        """The answers that have arrived since the last call."""
