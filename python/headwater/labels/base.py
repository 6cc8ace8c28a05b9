"""What a source of labels must do: take questions, and give answers when they come."""

from collections.abc import Iterable
from typing import Protocol

from headwater._core import Decision
from headwater.types import Id, Label


class LabelSource(Protocol):
    """Somebody who can be asked for labels. A `Session` tells it of every event.

    A source that cannot be asked about every event may have a fourth verb, `check(id)`: it is
    called before anything is decided, and an event that it raises an error of is not received.

    What `ask` was given comes back from `answers` with the label. A source that gives its answers
    one by one (`yield`) may count on it that an answer is learned, or known to be one that does
    not fit, when it is asked for the next.

    Examples
    --------
    >>> import headwater as hw
    >>> source: LabelSource = hw.labels.Oracle([True])  # one that knows already
    """

    def advance(self) -> None:
        """An event has come."""

    def ask(self, id: Id, decision: Decision) -> None:
        """The label of the event that came last is wanted."""

    def answers(self) -> Iterable[tuple[Id, Decision, Label] | tuple[Decision, Label]]:
        """What has been answered since the last look: id, decision and label.

        The id may be left out; a `Session` then cannot say of which event a label did not fit.
        """
