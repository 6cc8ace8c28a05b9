"""Events that a fuzzer found; the other targets are replayed by `cargo test`."""

from pathlib import Path

import pytest

import fuzzed_events

KEPT = sorted((Path(__file__).parent / "fuzz" / "events").iterdir())


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.name)
def test_what_was_found_keeps_every_promise(path: Path) -> None:
    fuzzed_events.run(path.read_bytes())


@pytest.mark.parametrize("kind", range(len(fuzzed_events.MODELS)))
def test_a_plain_life_keeps_every_promise(kind: int) -> None:
    rounds = [(i % 8, 36 + i % 4, i, 3 * i, 7, 5 * i, i) for i in range(40)]
    fuzzed_events.run(bytes([kind]) + b"".join(map(bytes, rounds)))
