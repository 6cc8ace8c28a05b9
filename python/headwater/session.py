"""A session connects a learner to a label source that may answer later."""

import reprlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from headwater._core import Decision, RoleReader
from headwater.errors import AnswerError, EventError, LabelError, ParameterError, StepError
from headwater.inputs.columns import Columns
from headwater.labels.base import LabelSource
from headwater.learners.base import Learner, check_learner
from headwater.types import Event, Id, Label


class Rejected(NamedTuple):
    """An answer that the learner could not take, kept until a better one comes."""

    id: Id | None
    """How the label source knows the event; None if the source does not tell."""
    decision: Decision
    label: Label
    error: Exception


class Session:
    """Connects a learner to a label source: decide, perhaps ask, learn when the answer comes.

    With an oracle that answers at once, `simulate` gives the same result faster.

    Parameters
    ----------
    learner
        The learner that decides, asks and learns.
    labels
        The label source: `headwater.labels.Oracle`, or one of your own.
    columns
        The roles of the fields of every event; None: all are features. A field with the role id is
        the event's id, one with the role label is left out.

    Attributes
    ----------
    received
        How many events have come.
    repeated
        How many answers came a second time.
    rejected
        The answers that did not fit, each with its id, decision, label and error.

    Examples
    --------
    >>> import headwater as hw
    >>> network = hw.streams.SensorNetwork(500, seed=1)
    >>> X, incidents = network.batch()
    >>> session = hw.Session(hw.Linear(), hw.labels.Oracle(incidents, delay=(5, 50)))
    >>> for event, _ in network:
    ...     decision = session.receive(event)
    ...     learned = session.settle()
    >>> session.learner.asked, session.learner.learned
    (50, 48)
    """

    def __init__(
        self, learner: Learner, labels: LabelSource, *, columns: Columns | None = None
    ) -> None:
        check_learner("Session", learner)
        if not all(hasattr(labels, verb) for verb in ("advance", "ask", "answers")):
            raise ParameterError(
                f"Session: labels must have advance, ask and answers, got {labels!r}."
            )
        if columns is not None and not isinstance(columns, Columns):
            raise ParameterError(f"Session: columns must be hw.Columns or None, got {columns!r}.")
        self.learner = learner
        self.labels = labels
        self._roles = None if columns is None else RoleReader(columns)
        self.received = 0
        self.repeated = 0
        self.rejected: list[Rejected] = []
        # An answer is dropped once it is learned, so that an interruption loses none.
        self._answers: Iterator[Any] | None = None
        self._at_hand: list[Any] = []

    def receive(self, x: Event, *, id: Id | None = None) -> Decision:
        """Predict an event, and ask for its label if the learner's query rule says so.

        `id` identifies the event for the label source; by default it is the event's number, from 0.
        An event that the source does not know is refused before anything is decided.

        Examples
        --------
        >>> import headwater as hw
        >>> session = hw.Session(hw.PAA(), hw.labels.Oracle({"monday": True}))
        >>> session.receive({"rain": 1.0}, id="monday").asked
        True
        """
        if self._roles is not None:
            given, x, _ = self._roles.read(x)
            id = given if id is None else id
        name = self.received if id is None else id
        check: Callable[[Id], None] | None = getattr(self.labels, "check", None)
        if check is not None:
            check(name)
        decision = self.learner.decide_one(x)
        self.received += 1
        self.labels.advance()
        if decision.asked:
            self.labels.ask(name, decision)
        return decision

    def settle(self) -> int:
        """Learn every answer that has arrived since the last call; return how many.

        An answer that does not fit (a label that the learner does not know, a step that would be
        infinite) is kept in `rejected` and stops no other: see `correct`. One that comes a second
        time is counted in `repeated` and not learned again. If the source gives something that is
        no answer, every other answer is learned first; then an AnswerError says so. An error of
        the source's own is passed on; what it gave before is learned.

        Examples
        --------
        >>> import headwater as hw
        >>> session = hw.Session(hw.PAA(), hw.labels.Oracle([True]))
        >>> decision = session.receive({"rain": 2.0})
        >>> session.settle(), session.learner.weights()
        (1, {'rain': 0.5})
        """
        learned = 0
        strange: list[Any] = []
        for answer in self._coming():
            match answer:
                case (Decision() as decision, label):
                    learned += self._learn(None, decision, label)
                case (id, Decision() as decision, label):
                    learned += self._learn(id, decision, label)
                case _:
                    strange.append(answer)
        if strange:
            raise AnswerError(
                "Session: the answers of a label source must be (id, decision, label), got"
                f" {reprlib.repr(strange[0])}; every other answer was taken."
            )
        return learned

    def correct(self, rejected: Rejected, label: Label) -> None:
        """Learn the right label of a rejected answer, which is then no longer kept.

        A label that does not fit either is an error, and the answer is kept.

        Examples
        --------
        >>> import headwater as hw
        >>> oracle = hw.labels.Oracle({"mon": "wett", "tue": "dry"})
        >>> session = hw.Session(hw.PAA(classes=("dry", "wet")), oracle)
        >>> for day in ("mon", "tue"):
        ...     decision = session.receive({"rain": 2.0}, id=day)
        >>> session.settle()
        1
        >>> [bad] = session.rejected
        >>> bad.id, bad.label
        ('mon', 'wett')
        >>> session.correct(bad, "wet")
        >>> session.rejected, session.learner.learned
        ([], 2)
        """
        self.learner.answer(rejected.decision, label)
        self._forget(rejected.id, rejected.decision)

    def _coming(self) -> Iterator[Any]:
        """The answers of the source, beginning with one that was interrupted."""
        if self._answers is None:
            self._answers = iter(self.labels.answers())
        while True:
            if not self._at_hand:
                try:
                    self._at_hand.append(next(self._answers))
                except BaseException as error:
                    self._answers = None
                    if isinstance(error, StopIteration):
                        return
                    raise
            yield self._at_hand[0]
            self._at_hand.clear()

    def _learn(self, id: Id | None, decision: Decision, label: Label) -> bool:
        try:
            self.learner.answer(decision, label)
        except (AnswerError, EventError, LabelError, StepError) as error:
            if isinstance(error, AnswerError) and "answered before" in str(error):
                self.repeated += 1
            else:
                self._forget(id, decision)
                self.rejected.append(Rejected(id, decision, label, error))
            return False
        self._forget(id, decision)
        return True

    def _forget(self, id: Id | None, decision: Decision) -> None:
        """A rejected answer to this question has been put right, or has a follower."""
        self.rejected[:] = [
            one
            for one in self.rejected
            if one.decision is not decision and (id is None or one.id != id)
        ]
