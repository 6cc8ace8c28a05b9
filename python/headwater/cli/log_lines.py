"""Progress for logs: where there is no terminal for a bar, one line every half minute."""

import sys
import time
from collections.abc import Callable

import click

EVERY = 30.0
"""Seconds between two lines."""


def is_terminal() -> bool:
    """Whether standard error is a terminal, which shows bars."""
    return sys.stderr is not None and sys.stderr.isatty()


def _say(line: str) -> None:
    click.echo(line, err=True)


class LogLines:
    """Says what runs, how far it is and how long it still takes; silent on terminals.

    Examples
    --------
    >>> times = iter([0.0, 30.0, 40.0, 60.0])
    >>> log = LogLines("study mine", clock=lambda: next(times), say=print)
    >>> for share in (0.25, 0.3, 0.5):
    ...     log.show(share, f"{share:.0%} of the runs")
    study mine: 25 % after 30 s, about 1 min 30 s left; 25% of the runs
    study mine: 50 % after 1 min 0 s, about 1 min 0 s left; 50% of the runs
    """

    def __init__(
        self,
        what: str,
        *,
        clock: Callable[[], float] = time.monotonic,
        say: Callable[[str], None] | None = None,
    ) -> None:
        self._what, self._clock = what, clock
        self._say = say or _say
        self._is_silent = say is None and is_terminal()
        self._start = self._last = clock()

    def show(self, share: float | None, detail: str = "") -> None:
        """Say so, if it is time; `share` is how much is done, None if nobody knows."""
        if self._is_silent:
            return
        now = self._clock()
        if now - self._last < EVERY:
            return
        self._last, spent = now, now - self._start
        if share:
            left = spoken(spent * (1 - share) / share)
            said = f"{100 * share:.0f} % after {spoken(spent)}, about {left} left"
        else:
            said = f"running for {spoken(spent)}"
        self._say(f"{self._what}: {said}" + (f"; {detail}" if detail else ""))


def spoken(seconds: float) -> str:
    """A time for people.

    Examples
    --------
    >>> spoken(4.2), spoken(75), spoken(7_300)
    ('4 s', '1 min 15 s', '2 h 1 min')
    """
    whole = round(max(0.0, seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3_600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3_600} h {whole % 3_600 // 60} min"
