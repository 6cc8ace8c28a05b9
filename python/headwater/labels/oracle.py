"""An oracle knows all labels and simulates people: it answers late, wrongly, twice, or never."""

import heapq
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any

from headwater._core import Decision
from headwater.errors import LabelError, ParameterError
from headwater.parameters import NOT_NEGATIVE, RATE, SEED, checked
from headwater.types import Id, Label

Delay = int | tuple[int, int] | Callable[[Id], int]


class Oracle:
    """A label source with labels that are known beforehand.

    Time is counted in events: an answer with a delay of 10 comes after ten more events.

    Parameters
    ----------
    labels
        One label per event: a sequence (the id is the index) or a mapping by id. None and NaN: a
        question that is never answered.
    delay
        Number of events until an answer comes: a number, `(least, most)` for a random one between
        them, or a function of the id. Answers come in the order of their time, not of their
        questions.
    never
        Probability that a question is never answered.
    wrong
        Probability that an answer is a wrong label.
    twice
        Probability that an answer comes a second time, one event later.
    price
        Cost of one question, answered or not.
    seed
        The same seed and the same questions give the same answers.

    Examples
    --------
    >>> import headwater as hw
    >>> oracle = hw.labels.Oracle([True, False, True], delay=1, price=0.5)
    >>> session = hw.Session(hw.OLSF(), oracle)  # asks for every label
    >>> for event in ({"rain": 1.0}, {"rain": 0.0}, {"rain": 2.0}):
    ...     decision = session.receive(event)
    ...     print(decision.asked, session.settle())
    True 0
    True 1
    True 1
    >>> oracle.asked, oracle.spent
    (3, 1.5)
    """

    @checked
    def __init__(
        self,
        labels: Sequence[Any] | Mapping[Id, Any] | Any,
        *,
        delay: Delay = 0,
        never: Annotated[float, RATE] = 0.0,
        wrong: Annotated[float, RATE] = 0.0,
        twice: Annotated[float, RATE] = 0.0,
        price: Annotated[float, NOT_NEGATIVE] = 1.0,
        seed: Annotated[int, SEED] = 0,
    ) -> None:
        self._never, self._wrong, self._twice = never, wrong, twice
        self._delay = _read_delay(delay)
        self._labels = _read_labels(labels)
        self._known = sorted(set(filter(_is_there, self._labels.values())), key=repr)
        if self._wrong and len(self._known) < 2:
            raise ParameterError("Oracle: wrong needs at least two different labels.")
        self._random = random.Random(seed)
        self._now = 0
        self._due: list[tuple[int, int, Id, Decision, Label]] = []  # time, number, question, answer
        self._count = 0
        self.price = price
        self.asked = 0

    @property
    def spent(self) -> float:
        """The cost of all questions so far."""
        return self.price * self.asked

    @property
    def waiting(self) -> int:
        """Answers that are still to come."""
        return len(self._due)

    def advance(self) -> None:
        """An event has come."""
        self._now += 1

    def check(self, id: Id) -> None:
        """An event is coming; one that it does not know is an error, asked for or not."""
        if id not in self._labels:
            raise LabelError(f"Oracle: it knows no label of event {id!r}.")

    def ask(self, id: Id, decision: Decision) -> None:
        """The label of an event is wanted; one that it does not know is an error."""
        self.check(id)
        label = self._labels[id]
        self.asked += 1
        # Every question draws the same numbers, so that one share does not change another's draw.
        lost, errs, repeats = (self._random.random() for _ in range(3))
        due = self._now + self._delay(id, self._random)
        other = self._random.random()
        if lost < self._never or not _is_there(label):
            return
        if errs < self._wrong:
            others = [one for one in self._known if one != label]
            label = others[int(other * len(others))]
        self._put(due, id, decision, label)
        if repeats < self._twice:
            self._put(due + 1, id, decision, label)

    def _put(self, due: int, id: Id, decision: Decision, label: Label) -> None:
        self._count += 1
        heapq.heappush(self._due, (due, self._count, id, decision, label))

    def answers(self) -> Iterator[tuple[Id, Decision, Label]]:
        """What has been answered by now."""
        while self._due and self._due[0][0] <= self._now:
            _, _, id, decision, label = heapq.heappop(self._due)
            yield id, decision, label


def _read_labels(labels: Any) -> dict[Id, Any]:
    if isinstance(labels, Mapping):
        return dict(labels)
    if isinstance(labels, (str, bytes)) or not hasattr(labels, "__iter__"):
        raise ParameterError(f"Oracle: labels must be a sequence or a mapping, got {labels!r}.")
    return dict(enumerate(labels.tolist() if hasattr(labels, "tolist") else labels))


def _is_there(label: Any) -> bool:
    return label is not None and label == label  # NaN is not


def _read_delay(delay: Any) -> Callable[[Id, random.Random], int]:
    """How long an answer takes, given the question's id and what is drawn for it."""
    match delay:
        case bool():
            pass
        case int(fixed) if fixed >= 0:
            return lambda id, draws: fixed
        case (int(least), int(most)) if 0 <= least <= most:
            return lambda id, draws: draws.randint(least, most)
        case _ if callable(delay):
            return lambda id, draws: _counted(delay(id), id)
    raise ParameterError(
        "Oracle: delay must be a whole number, 0 or above, (least, most), or a function of the"
        f" event's id, got {delay!r}."
    )


def _counted(events: Any, id: Id) -> int:
    if isinstance(events, bool) or not isinstance(events, int) or events < 0:
        raise ParameterError(
            f"Oracle: the delay of event {id!r} must be a whole number, 0 or above, got {events!r}."
        )
    return events
