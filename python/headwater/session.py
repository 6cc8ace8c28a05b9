"""A session connects a learner to a label source that may answer later."""

from collections.abc import Callable

from headwater._core import Decision
from headwater.errors import AnswerError, ParameterError
from headwater.labels.base import LabelSource
from headwater.learners.base import Learner
from headwater.types import Event, Id


class Session:
    """Connects a learner to a label source: decide, perhaps ask, learn when the answer comes.

    With an oracle that answers at once, `simulate` gives the same result faster.

    Parameters
    ----------
    learner
        The learner that decides, asks and learns.
    labels
        The label source: `headwater.labels.Oracle`, or one of your own.

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
    (50, 47)
    """

    def __init__(self, learner: Learner, labels: LabelSource) -> None:
        if not isinstance(learner, Learner):
            raise ParameterError(f"Session: learner must be a learner, got {learner!r}.")
        if not all(hasattr(labels, verb) for verb in ("advance", "ask", "answers")):
            raise ParameterError(
                f"Session: labels must have advance, ask and answers, got {labels!r}."
            )
        self.learner = learner
        self.labels = labels
        self.received = 0
        self.repeated = 0

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

        An answer that comes a second time is counted in `repeated` and not learned again.

        Examples
        --------
        >>> import headwater as hw
        >>> session = hw.Session(hw.PAA(), hw.labels.Oracle([True]))
        >>> decision = session.receive({"rain": 2.0})
        >>> session.settle(), session.learner.weights()
        (1, {'rain': 0.5})
        """
        learned = 0
        for decision, label in self.labels.answers():
            try:
                self.learner.answer(decision, label)
            except AnswerError:
                self.repeated += 1
            else:
                learned += 1
        return learned
