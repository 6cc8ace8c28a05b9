"""Events and frames that a fuzzer found; the other targets are replayed by `cargo test`."""

from pathlib import Path

import pytest

import fuzzed_events
import fuzzed_frames

KEPT = Path(__file__).parent / "fuzz"


@pytest.mark.parametrize("path", sorted((KEPT / "events").iterdir()), ids=lambda path: path.name)
def test_what_was_found_keeps_every_promise(path: Path) -> None:
    fuzzed_events.run(path.read_bytes())


@pytest.mark.parametrize("path", sorted((KEPT / "frames").iterdir()), ids=lambda path: path.name)
def test_a_frame_whose_memory_lies_keeps_every_promise(path: Path) -> None:
    fuzzed_frames.run(path.read_bytes())


@pytest.mark.parametrize("kind", range(len(fuzzed_events.MODELS)))
def test_a_plain_life_keeps_every_promise(kind: int) -> None:
    rounds = [(i % 8, 36 + i % 4, i, 3 * i, 7, 5 * i, i) for i in range(40)]
    fuzzed_events.run(bytes([kind]) + b"".join(map(bytes, rounds)))


@pytest.mark.parametrize("kind", range(len(fuzzed_frames.COLUMNS)))
def test_a_frame_of_each_type_is_read_as_its_events_are(kind: int) -> None:
    for form in [0, 1, 2, 3, 4, 128, 129, 130, 131, 132]:
        for shape in [5, 5 + 64, 5 + 128]:
            fuzzed_frames.run(bytes([kind % 4, form, shape, *[kind, 4, 1, 20, 39, 77, 90] * 4]))
