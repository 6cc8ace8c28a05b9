"""What the desk hands out and what it tells: cards, questions, disputes, people; its settings."""

import json
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

from headwater.parameters import ABOVE_ZERO, RATE, check_fields, whole_from
from headwater.types import Id, Label


@dataclass(frozen=True)
class DeskSettings:
    """How questions are handed out.

    Parameters
    ----------
    lease_seconds
        Seconds for which a card is one person's; then others may get it.
    deadline
        Seconds after which the answer to a question is worth nothing; it expires then. None: never.
    overlap
        How many people are asked about each event, blind to each other.
    known_share
        The share of cards whose answer is known already: they measure people, and are not learned.
    most_open
        Beyond so many open questions the oldest expires.

    Examples
    --------
    >>> DeskSettings(overlap=2).lease_seconds
    300.0
    """

    lease_seconds: Annotated[float, ABOVE_ZERO] = 300.0
    deadline: Annotated[float, ABOVE_ZERO] | None = None
    overlap: Annotated[int, whole_from(1, bits=16)] = 1
    known_share: Annotated[float, RATE] = 0.0
    most_open: Annotated[int, whole_from(1, bits=32)] = 1_000_000

    def __post_init__(self) -> None:
        check_fields(self)


class Card(NamedTuple):
    """An event that one person is asked about, until it expires.

    Examples
    --------
    >>> import headwater as hw, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> with hw.live.open(f"{folder.name}/plant.db", learner=hw.PAA()) as plant:
    ...     receipt = plant.receive({"rain": 2.0}, id="monday")
    ...     (card,) = plant.desk.lease("ada")
    ...     card.question, card.event, card.features, card.classes
    (1, 'monday', {'rain': 2.0}, [False, True])
    >>> folder.cleanup()
    """

    question: int
    """The number of the question, which is that of its event's fact."""
    event: Id
    features: dict[Any, Any]
    """The event as it came, in its order."""
    time: float
    """When it came, in seconds since 1970."""
    group: str | None
    classes: list[Label]
    """The labels that are known so far."""
    prediction: Label | None
    """What was predicted when it came."""
    probability: float | None
    """The probability of that prediction, as it was then; None if the learner gives none."""
    reason: str
    """Why this event was asked about, in one sentence."""
    copies: int
    """How many other open questions about the same features are answered with this one."""
    expires: float
    """Until when the card is this person's, in seconds since 1970."""


class QuestionRow(NamedTuple):
    """A question as a list shows it.

    Examples
    --------
    >>> QuestionRow(17, "monday", 0.0, "open", True, 0.9, "By chance.", None, None).state
    'open'
    """

    question: int
    event: Id
    time: float
    state: str
    """`open`, `leased`, `answered`, `applied`, `disputed`, `settled`, `bad`, `expired`,
    `refused`, or `reopening` while the model is replayed without its answer."""
    prediction: Label | None
    probability: float | None
    reason: str
    label: Label | None
    """The answer that counts, if there is one."""
    person: str | None
    """Who gave it, or who holds the card."""


class Dispute(NamedTuple):
    """A question about which those asked do not agree.

    Examples
    --------
    >>> Dispute(17, "monday", {"rain": 2.0}, {"ada": True, "bob": False}).labels["ada"]
    True
    """

    question: int
    event: Id
    features: dict[Any, Any]
    labels: dict[str, Label]
    """Who said what."""


class PersonStatus(NamedTuple):
    """What is known of somebody who answers.

    Examples
    --------
    >>> ada = PersonStatus("ada", 20, 60.0, 0.0, 1200.0, {True: (9, 10)}, (4, 5))
    >>> agreed, cards = ada.agreement[True]
    """

    name: str
    answers: int
    per_hour: float
    """Answers per hour of work; a pause of more than ten minutes is none."""
    first: float
    last: float
    agreement: dict[Label, tuple[int, int]]
    """Per label that came to count: how many cards this person answered so, of how many; only of
    questions that several people answered."""
    known: tuple[int, int]
    """Cards whose answer was known: how many were right, of how many."""


def reason(query_probability: float | None, reserve: bool) -> str:
    """Why an event was asked about, in one sentence."""
    if query_probability is None or query_probability <= 0:
        return "It was asked about by hand."
    if reserve:
        return "It was drawn by chance, to measure how good the model is."
    if query_probability >= 1:
        return "The model was less sure here than elsewhere."
    share = f"{100 * query_probability:.2g}"
    return f"It was drawn by chance, as {share} % of the events like it are."


def event_id(number: int, key: str | None) -> Id:
    """The id of an event, or the one that it was given."""
    found: Id = f"#{number}" if key is None else json.loads(key)
    return found
