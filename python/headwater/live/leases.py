"""Who holds which card, until when. In memory only: after a restart every card is free again."""

import time
from collections.abc import Callable


class Leases:
    """The cards that people hold, by a clock that nobody can set."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self._until: dict[int, dict[str, float]] = {}  # question, person
        self._held: dict[str, dict[int, None]] = {}  # person, questions in the order of leasing

    def give(self, question: int, person: str, seconds: float) -> None:
        """Lease a card, or prolong it."""
        self._until.setdefault(question, {})[person] = self.clock() + seconds
        self._held.setdefault(person, {})[question] = None

    def end(self, question: int, person: str | None = None) -> None:
        """Take a card back, from one person or from all."""
        holders = self._until.get(question, {})
        for name in list(holders) if person is None else [person]:
            if holders.pop(name, None) is not None:
                del self._held[name][question]
                if not self._held[name]:
                    del self._held[name]
        if not holders:
            self._until.pop(question, None)

    def holders(self, question: int) -> list[str]:
        """Who holds a card now."""
        found = self._until.get(question)
        if not found:
            return []
        now = self.clock()
        return [person for person, until in found.items() if until > now]

    def left(self, question: int, person: str) -> float:
        """Seconds until a card is taken from a person; 0 if the person does not hold it."""
        return max(0.0, self._until.get(question, {}).get(person, 0.0) - self.clock())

    def of(self, person: str) -> list[int]:
        """The cards that a person holds, in the order in which they were leased."""
        return [one for one in self._held.get(person, {}) if self.left(one, person) > 0]

    def people(self) -> list[str]:
        return list(self._held)

    def sweep(self) -> None:
        """Forget what has run out."""
        now = self.clock()
        for question, holders in list(self._until.items()):
            for person, until in list(holders.items()):
                if until <= now:
                    self.end(question, person)
