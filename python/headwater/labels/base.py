"""The interface of a label source: it takes questions, and returns answers when they come."""

from collections.abc import Iterable
from typing import Protocol

from headwater._core import Decision
from headwater.types import Id, Label


class LabelSource(Protocol):
    """A label source, which a `Session` asks for labels and informs about every event.

    A source that cannot answer for every event may have a fourth method, `check(id)`. It is called
    before anything is decided; if it raises an error, the event is not received.

    What `ask` was given comes back from `answers` with the label. A source that gives its answers
    one by one (`yield`) may count on it that an answer is learned, or known to be one that does
    not fit, when it is asked for the next.

    Examples
    --------
    >>> import headwater as hw
    >>> source: LabelSource = hw.labels.Oracle([True])  # one that knows already
    """

    def advance(self) -> None:
        """Called for every event."""

    def ask(self, id: Id, decision: Decision) -> None:
        """Ask for the label of the last event."""

    def answers(self) -> Iterable[tuple[Id, Decision, Label] | tuple[Decision, Label]]:
        """The answers that have arrived since the last call: id, decision and label.

        The id may be left out; a `Session` then cannot say of which event a label did not fit.
        """
