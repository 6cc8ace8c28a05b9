"""How many requests one token or person may send: a bucket of tokens each."""

import time
from collections.abc import Callable

from headwater.service.access import Caller
from headwater.service.errors import ServiceError


class Limits:
    """Requests per second of each sender; a second's worth may come at once."""

    def __init__(self, per_second: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_second = per_second
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}

    def take(self, caller: Caller) -> None:
        """One more request of this sender; ServiceError if that is too many."""
        rate = self._per_second
        if rate <= 0:
            return
        now = self._clock()
        left, before = self._buckets.get(caller.grant.id, (max(1.0, rate), now))
        left = min(max(1.0, rate), left + (now - before) * rate)
        if left < 1:
            self._buckets[caller.grant.id] = (left, now)
            wait = (1 - left) / rate
            raise ServiceError(
                "too_many_requests",
                f"{caller.name!r} may send {rate:g} requests per second; wait {wait:.2f} s.",
                {"Retry-After": str(int(wait) + 1)},
            )
        self._buckets[caller.grant.id] = (left - 1, now)
