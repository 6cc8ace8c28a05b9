"""`headwater decide` that dies in the middle of a transaction now and then."""

import os
import random
import signal
from typing import Any

from headwater.cli import main
from headwater.connectors import decider

DEATHS = 0.1
"""How often it dies in a transaction or after it."""


class Mortal(decider.Decider):
    """It dies before a report is sent, before it is committed, or before anybody knows of it."""

    def _send(self, line: Any, *given: Any) -> None:
        super()._send(line, *given)
        self._perhaps_die("before it is sent")
        line.producer.flush()
        self._perhaps_die("before it is committed")

    def _take(self, line: Any, *given: Any) -> None:
        super()._take(line, *given)
        self._perhaps_die("after it is committed")

    def _perhaps_die(self, when: str) -> None:
        if random.random() < DEATHS / 3:
            self.say(f"Dies with a report, {when}.")
            os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    decider.Decider = Mortal  # type: ignore[misc]
    main()
