"""What the verbs of a live stream return."""

from typing import NamedTuple

from headwater.types import Id, Label


class Receipt(NamedTuple):
    """What was decided about an event, and under which number it is kept.

    Examples
    --------
    >>> Receipt(17, "monday", True, 0.5, 1.0, asked=True, repeated=False).question
    17
    """

    number: int
    """The number of the event's fact."""
    id: Id
    """The event's id, or the one that it was given."""
    prediction: Label | None
    margin: float
    query_probability: float
    asked: bool
    repeated: bool
    """Whether the event had come before; then this is the first decision about it."""

    @property
    def question(self) -> int | None:
        """The number of the question, if the label was asked for."""
        return self.number if self.asked else None


class Answered(NamedTuple):
    """What became of an answer.

    Examples
    --------
    >>> Answered(number=18, question=17, state="applied", repeated=False).state
    'applied'
    """

    number: int
    """The fact with the answer, the correction or the retraction."""
    question: int
    """The number of the question, which is that of its event."""
    state: str
    """`answered` (a fact, not learned yet), `applied` (learned), `refused` (the learner cannot take
    the step), `correcting` and `reopening` (while the model is replayed), `open`, `bad`."""
    repeated: bool
    """Whether the same had come before."""
