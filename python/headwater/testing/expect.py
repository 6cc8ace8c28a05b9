"""Assertions whose messages say what was expected, in every place where checks run."""

import reprlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def same(found: Any, expected: Any, what: str) -> None:
    """Fail unless both are equal; of two lists the first difference is shown.

    Examples
    --------
    >>> same([1, 2, 3], [1, 5, 3], "the margins")
    Traceback (most recent call last):
    ...
    AssertionError: the margins: expected 5 at place 1, got 2.
    """
    if found == expected:
        return
    place = ""
    if isinstance(found, list) and isinstance(expected, list):
        if len(found) != len(expected):
            raise AssertionError(f"{what}: expected {len(expected)} of them, got {len(found)}.")
        differs = (i for i, pair in enumerate(zip(found, expected, strict=True)) if _differ(*pair))
        if (at := next(differs, None)) is not None:
            place, found, expected = f" at place {at}", found[at], expected[at]
    if isinstance(found, bytes) and isinstance(expected, bytes):
        raise AssertionError(f"{what}: expected the same bytes, got others.")
    raise AssertionError(f"{what}: expected {_short(expected)}{place}, got {_short(found)}.")


def _differ(one: Any, other: Any) -> bool:
    return bool(one != other)


SHOWN = reprlib.Repr()
SHOWN.maxstring = SHOWN.maxother = 120
SHOWN.maxdict = SHOWN.maxlist = SHOWN.maxtuple = 8


def _short(value: Any) -> str:
    return SHOWN.repr(value)


def true(holds: bool, what: str) -> None:
    """Fail with the sentence `what` unless it holds.

    Examples
    --------
    >>> true(1 > 2, "seen: expected to grow")
    Traceback (most recent call last):
    ...
    AssertionError: seen: expected to grow.
    """
    if not holds:
        raise AssertionError(f"{what}.")


@contextmanager
def refused(error: type[Exception], what: str, *, says: tuple[str, ...] = ()) -> Iterator[None]:
    """Fail unless the block raises the error, with one of the words in `says` if there are any.

    Examples
    --------
    >>> with refused(ValueError, "a second answer"):
    ...     pass
    Traceback (most recent call last):
    ...
    AssertionError: a second answer: expected ValueError, got no error.
    """
    try:
        yield
    except error as raised:
        if says and not any(word in str(raised) for word in says):
            wanted = " or ".join(map(repr, says))
            raise AssertionError(f"{what}: expected {wanted} in its error, got {raised}") from None
        return
    except Exception as raised:
        raise AssertionError(
            f"{what}: expected {error.__name__}, got {type(raised).__name__}: {raised}"
        ) from raised
    raise AssertionError(f"{what}: expected {error.__name__}, got no error.")
