"""Ctrl-C and SIGTERM while a model learns: heard between two events, so that nothing is lost."""

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

AGAIN = 0.3
"""Seconds after which whoever waits for input is woken again, to look whether to stop."""
PATIENCE = 3.0
"""Seconds after which a run that gives no report is interrupted wherever it is."""


class StoppedError(Exception):
    """A signal asked the run to stop."""


class StopWish:
    """Whether a signal has asked to stop; however many come, they are one wish."""

    def __init__(self) -> None:
        self.signal: int | None = None
        self.is_waiting = False
        """Whether a run is under way that may be interrupted."""
        self._since = 0.0

    @property
    def exit_code(self) -> int:
        """What shells say of a command that a signal stopped: Ctrl-C 130, SIGTERM 143."""
        return 128 + (self.signal or 0)

    def check(self) -> None:
        """Raise `StoppedError` if a signal has come; called between two events."""
        if self.signal is not None:
            raise StoppedError

    def hear(self, number: int, _: Any) -> None:
        """A signal has come."""
        if self.signal is None:
            self.signal, self._since = number, time.monotonic()
            _wake_every(AGAIN)
        elif number == signal.SIGTERM:
            self.signal = number  # of signals that wait together Python hears the lowest first

    def wake(self, *_: Any) -> None:
        """Some time has passed since; the call itself has ended a wait for input."""
        if self.is_waiting and time.monotonic() - self._since > PATIENCE:
            raise KeyboardInterrupt


@contextmanager
def stop_wish() -> Iterator[StopWish]:
    """Hear Ctrl-C and SIGTERM as a wish, until all is saved and said.

    After one, the command is about to end by itself, and others would only spoil its exit code.
    """
    wish = StopWish()
    handlers: dict[signal.Signals, Callable[..., None]]
    handlers = {signal.SIGINT: wish.hear, signal.SIGTERM: wish.hear}
    if hasattr(signal, "SIGALRM"):
        handlers[signal.SIGALRM] = wish.wake
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield wish
    finally:
        _wake_every(0)
        for number, handler in before.items():
            signal.signal(number, signal.SIG_IGN if wish.signal is not None else handler)


def _wake_every(seconds: float) -> None:
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds, seconds)
