"""What callers of a live stream may say: events, ids, groups, labels, questions, people."""

from collections.abc import Mapping
from typing import Any

from headwater.errors import EventError, LabelError, ParameterError
from headwater.live.cards import Card
from headwater.types import Id, Label

MOST_FEATURES = 100_000
"""The most features of an event that a journal keeps."""
LONGEST_ID = 512
LONGEST_NAME = 256
LARGEST = 2**62
"""No fact has this number; it stands for larger ones, which a database could not take."""


def checked_event(x: Any) -> dict[Any, Any]:
    """A copy that nobody changes while it waits."""
    if not isinstance(x, Mapping):
        raise EventError(
            f"event: expected a mapping from feature name to value, got {type(x).__name__}."
        )
    if len(x) > MOST_FEATURES:
        raise EventError(
            f"event: it has {len(x):,} features; a journal keeps at most {MOST_FEATURES:,}."
        )
    return dict(x)


def checked_id(id: Any) -> Id | None:
    if id is None or (isinstance(id, int) and not isinstance(id, bool)):
        return id
    if not isinstance(id, str) or not id or id.startswith("#") or len(id) > LONGEST_ID:
        raise EventError(
            f"event: an id must be an int, or a text of 1 to {LONGEST_ID} characters that does not"
            f" begin with '#', got {id!r}."
        )
    try:
        id.encode()
    except UnicodeEncodeError:
        raise EventError(f"event: the id {id!r} is not valid text.") from None
    return id


def fact_of(event: Id) -> int | None:
    """The number of the fact that an id such as `#17` means; None of every other id."""
    if isinstance(event, str) and event[:1] == "#" and event[1:].isascii() and event[1:].isdigit():
        return min(int(event[1:20]), LARGEST)
    return None


def checked_group(group: Any) -> str | None:
    if group is None or isinstance(group, str):
        return group
    raise EventError(f"event: a group must be a text, got {group!r}.")


def checked_label(label: Any) -> Label:
    if hasattr(label, "dtype") and hasattr(label, "item"):
        label = label.item()
    if isinstance(label, (bool, int, float, str)) and label == label:
        return label
    raise LabelError(f"label: expected a str, an int, a bool or a number, got {label!r}.")


def checked_question(question: Any) -> int:
    if isinstance(question, Card):
        return question.question
    if isinstance(question, int) and not isinstance(question, bool):
        return max(0, min(question, LARGEST))
    raise ParameterError(
        f"live: a question is a card or its number, which a receipt has as `question`, got"
        f" {question!r}."
    )


def checked_person(by: Any) -> str:
    if isinstance(by, str) and by.strip() and len(by) <= LONGEST_NAME:
        return by
    raise ParameterError(f"desk: a person is a name of 1 to {LONGEST_NAME} characters, got {by!r}.")
