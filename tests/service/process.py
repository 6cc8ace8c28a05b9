"""`headwater serve` as a process of its own, for tests that need a real server."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

PROGRAM = "from headwater.cli import main; main()"


def free_port() -> int:
    """A port that nobody listens to now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Served:
    """A running `headwater serve`; it is ready when this is made, and stopped with the block."""

    def __init__(
        self, database: str | Path, *options: str, port: int | None = None, log: Path | None = None
    ) -> None:
        self.port = free_port() if port is None else port
        self.url = f"http://127.0.0.1:{self.port}"
        arguments: Sequence[str] = ("serve", "--db", str(database), "--port", str(self.port))
        self._log = open(log or os.devnull, "ab")  # noqa: SIM115, it is closed with the process
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *arguments, *options],
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )
        assert self.process.stdout is not None
        self.token = ""
        said = self.process.stdout.readline()
        if said.startswith("Admin token"):
            self.token = said.split()[-1]
            said = self.process.stdout.readline()
        assert said.startswith("Serving"), said

    def stop(self, how: int = signal.SIGTERM) -> int:
        """Send a signal and wait for the end; return the exit code."""
        self.process.send_signal(how)
        code = self.process.wait(60)
        self._log.close()
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.process.poll() is None:
            self.stop(signal.SIGKILL)
