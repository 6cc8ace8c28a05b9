"""How much is tried: `make test` takes a third of what `make test-full` takes.

Made-up examples are the same in every run, so more of them find more once, and again only after a
change of what they test.
"""

import os

FULL = bool(os.environ.get("HEADWATER_FULL"))


def reduced(count: int) -> int:
    """So many in `make test-full`, else a third of it."""
    return count if FULL else -(-count // 3)
