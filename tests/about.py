"""Numbers up to rounding: what `pytest.approx` says of them, faster.

For comparisons that a run of the tests makes a hundred thousand times and more.
"""

from math import isfinite
from typing import Any


class about:  # noqa: N801, it reads as a function
    """Equal to a number within `rel` of it or `abs`; so too for those of a list, tuple or dict."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, wanted: Any, rel: float = 0.0, abs: float = 1e-12) -> None:
        self.wanted, self.rel, self.abs = wanted, rel, abs

    def __eq__(self, got: Any) -> bool:
        wanted = self.wanted
        if isinstance(wanted, dict):
            return got.keys() == wanted.keys() and all(
                self.near(got[key], wanted[key]) for key in wanted
            )
        if isinstance(wanted, list | tuple):
            return len(got) == len(wanted) and all(map(self.near, got, wanted))
        return self.near(got, wanted)

    def near(self, got: Any, wanted: Any) -> bool:
        if got == wanted:
            return True
        return isfinite(wanted) and abs(got - wanted) <= max(self.rel * abs(wanted), self.abs)

    def __repr__(self) -> str:
        return f"about({self.wanted!r}, rel={self.rel}, abs={self.abs})"
