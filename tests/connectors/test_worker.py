"""What a worker says to whoever started it, with a broker that is only played."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pytest

import headwater as hw
from headwater.connectors.messages import FIELDS, Message
from headwater.connectors.worker import Worker
from headwater.live.part import Outgoing, Part, Told


class Played:
    """A broker with one part: its messages and its troubles, round by round."""

    models: str | None = None

    def __init__(
        self, *rounds: list[bytes], kinds: tuple[str, ...] = (), troubles: Sequence[str | None] = ()
    ) -> None:
        self.kinds = kinds
        self.sent: list[str] = []
        self._rounds, self._troubles = list(rounds), list(troubles)
        self._position = 0

    def start(
        self, assigned: Callable[[str], dict[str, int]], revoked: Callable[[str], None]
    ) -> None:
        assigned("plant/0")

    def receive(self, seconds: float) -> Iterable[tuple[str, list[Message]]]:
        bodies = self._rounds.pop(0) if self._rounds else []
        places = range(self._position, self._position + len(bodies))
        self._position += len(bodies)
        messages = [
            Message("events", place, None, 0.0, body)
            for place, body in zip(places, bodies, strict=True)
        ]
        return [("plant/0", messages)] if messages else []

    def taken(self, part: str, messages: Sequence[Message]) -> None:
        pass

    def lost(self, part: str) -> None:
        raise AssertionError

    def send(self, part: str, rows: Sequence[Outgoing]) -> str | None:
        self.sent += [row.kind for row in rows]
        return None

    def tell(self, part: str, told: Told) -> str | None:
        raise AssertionError

    def trouble(self) -> str | None:
        return self._troubles.pop(0) if self._troubles else None

    def close(self) -> None:
        pass


def said(broker: Played, folder: Path, rounds: int) -> list[str]:
    """What a worker says in so many rounds."""

    def open_part(name: str) -> Part:
        return Part(str(folder / "plant.db"), name, hw.PAA(), kinds=broker.kinds)

    heard: list[str] = []
    left = iter([False] * rounds + [True])
    Worker(broker, open_part, FIELDS, heard.append).run(lambda: next(left))
    return heard


def test_trouble_is_said_once_and_that_it_is_over(tmp_path: Path) -> None:
    broker = Played(troubles=[None, "no broker answers", "no broker answers", None, None])
    assert said(broker, tmp_path, 5)[2:-1] == ["no broker answers", "The broker answers again."]


@pytest.mark.parametrize("is_kept", [True, False])
def test_messages_that_cannot_be_used_are_said_now_and_then(tmp_path: Path, is_kept: bool) -> None:
    broker = Played([b'{"id": 1, "a": 2}', b"{", b"[]"], [b"no"], kinds=("dead",) * is_kept)
    where = "" if is_kept else "; without --dead they are not kept"
    assert said(broker, tmp_path, 3)[2:-1] == [
        f"plant/0: 2 messages could not be used{where}."
        " The last: event: expected a JSON object, got '[]'."
    ]
    assert broker.sent == ["dead"] * 3 * is_kept
