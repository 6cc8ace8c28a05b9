"""A day of requests, compressed: memory and file handles do not grow.

Everything that a service meets in a day comes again and again: events one by one and in batches,
labels, cards, answers, undos, sessions, refused requests, watchers that come and go, snapshots. The
features and people stay the same, so nothing has a reason to grow after the first rounds.
"""

import os
from pathlib import Path

import httpx2
import pytest

import headwater as hw
from effort import FULL
from service.process import Served

HOURS = 24
EVENTS_PER_HOUR = 2_000 if FULL else 150
GROWTH = 12 * 2**20
"""Bytes: what Python's and SQLite's allocators come and go by."""


def resident(process: int) -> int:
    """Bytes of memory that a process holds."""
    fields = Path(f"/proc/{process}/statm").read_text().split()
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")


def handles(process: int) -> int:
    """Open files and sockets of a process."""
    return len(list(Path(f"/proc/{process}/fd").iterdir()))


def hour(number: int, plant: hw.Client, web: httpx2.Client) -> None:
    """An hour of everything."""
    ids = [f"{number}/{n}" for n in range(EVENTS_PER_HOUR)]
    events = [{f"s{n % 40}": float(n % 7), f"t{n % 11}": float(n % 3)} for n in range(len(ids))]
    plant.send_many(events[20:], ids=ids[20:])
    for x, id in zip(events[:20], ids[:20], strict=True):
        plant.send(x, id=id)
    for by in ("ada", "bob"):
        for card in plant.lease(by, n=20):
            plant.answer(card["question"], dict(card["features"]).get("s1") is None, by=by)
    undone = web.post("/v1/streams/main/questions/undo", json={"by": "ada"})
    assert undone.status_code in (200, 409)
    for path in ("/v1/streams/main/features", "/v1/streams/main/quality?window=day", "/metrics"):
        assert web.get(path).status_code == 200
    assert web.post("/v1/streams/main/events", content=b"{").status_code == 415
    assert web.get("/nothing").status_code == 404
    with web.stream("GET", "/v1/updates") as watching:
        assert next(watching.iter_bytes()).startswith(b":")


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="there is no /proc here")
def test_a_day_of_requests_leaves_memory_and_handles_as_they_were(tmp_path: Path) -> None:
    with Served(tmp_path / "plant.db", "--learner", "Spring", "--set", "label_rate=0.2") as one:
        headers = {"Authorization": f"Bearer {one.token}"}
        memory: list[int] = []
        files: list[int] = []
        with (
            hw.Client(one.url, one.token, timeout=120.0) as plant,
            httpx2.Client(base_url=one.url, headers=headers, timeout=120.0) as web,
        ):
            for number in range(HOURS):
                hour(number, plant, web)
                memory.append(resident(one.process.pid))
                files.append(handles(one.process.pid))
            assert web.get("/v1/streams/main").json()["events"] == HOURS * EVENTS_PER_HOUR
        assert one.stop() == 0
    print(f"MB: {[size >> 20 for size in memory]}, handles: {files}")
    third = HOURS // 3
    assert min(memory[-third:]) - max(memory[third : 2 * third]) < GROWTH
    assert min(files[-third:]) <= max(files[third : 2 * third])
