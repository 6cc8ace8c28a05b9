"""How long it takes until something can be done: importing, and the command's help.

Wall time of a fresh interpreter, the best of several; that of `import headwater` less that of an
interpreter that does nothing.
"""

import subprocess
import sys
import time
from dataclasses import dataclass

HELP = "import sys; sys.argv = ['headwater', '--help']; from headwater.cli import main; main()"


@dataclass(frozen=True)
class Start:
    """Milliseconds."""

    interpreter: float
    importing: float
    help: float


def measure(times: int) -> Start:
    """The best of so many times of each."""
    programs = ("pass", "import headwater", HELP)
    best = [min(_wall(program) for _ in range(times)) for program in programs]
    return Start(best[0], best[1] - best[0], best[2])


def _wall(program: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
    return 1e3 * (time.perf_counter() - start)
