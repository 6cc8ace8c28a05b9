"""How much room a live stream needs: on disk per event, in memory and in snapshots per feature.

    python benches/sizing.py

Unlike times these hardly depend on the machine. Events have 20 features of 200 and an id; one in
twenty is asked about and answered. Memory is what the process grows by, in a process of its own,
while 100,000 features come ten times each, all of them labelled.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

import headwater as hw

EVENTS, VALUES, NAMES = 20_000, 20, 200
FEATURES, ARRIVALS, ROW = 100_000, 10, 100


def on_disk(values: int = VALUES, events: int = EVENTS) -> tuple[float, float]:
    """Bytes per event of the database, and of the whole with its snapshots."""
    draw = np.random.default_rng(1)
    names = [f"sensor-{number:03d}" for number in range(NAMES)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "plant.db")
        learner = hw.Spring(label_rate=0.05, track=True)
        options: dict[str, Any] = {"synchronous": "normal", "snapshot_facts": 1e9}
        with hw.live.open(path, learner=learner, **options) as plant:
            for start in range(0, events, 500):
                columns = [draw.choice(NAMES, values, replace=False) for _ in range(500)]
                rows = [
                    {
                        names[c]: float(v)
                        for c, v in zip(some, draw.normal(size=values), strict=True)
                    }
                    for some in columns
                ]
                ids = [f"line-4/{start + place:08d}" for place in range(500)]
                for receipt in plant.receive_many(rows, ids=ids):
                    if isinstance(receipt, hw.live.Receipt) and receipt.asked:
                        plant.answer(receipt.number, receipt.number % 3 == 0)
        database = path.stat().st_size
        parts = sum(one.stat().st_size for one in Path(folder).rglob("*") if one.is_file())
    return database / events, parts / events


def resident() -> int:
    """Bytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def grow(kind: str) -> None:
    """In a process of its own: print bytes per feature in memory and saved."""
    draw = np.random.default_rng(2)
    names = hw.FeatureNames([f"sensor-{number:06d}" for number in range(FEATURES)])
    count = FEATURES // ROW
    rows = SimpleNamespace(
        indptr=np.arange(0, FEATURES + 1, ROW),
        indices=np.arange(FEATURES, dtype=np.int32),
        data=draw.normal(size=FEATURES),
        shape=(count, FEATURES),
    )
    labels = [bool(number % 2) for number in range(count)]
    model: Any = hw.Register() if kind == "Register" else hw.Spring(track=kind == "Spring, track")
    before = resident()
    for _ in range(ARRIVALS):
        if kind == "Register":
            model.observe_many(rows, names=names)
        else:
            model.learn_many(rows, labels, names=names)
    grown = resident() - before
    print(grown / FEATURES, len(model.to_bytes()) / FEATURES)


def main() -> None:
    """Print the table."""
    if len(sys.argv) > 1:
        return grow(sys.argv[1])
    print("| what | bytes |\n| --- | --- |")
    few, _ = on_disk(10)
    many, _ = on_disk(30)
    print(f"| database, per event of {VALUES} features | {(few + many) / 2:,.0f} |")
    print(f"| of this, per value | {(many - few) / 20:.1f} |")
    for kind, words in (
        ("Spring", "Spring"),
        ("Spring, track", "Spring with a register (`track=True`)"),
        ("Register", "a register alone"),
    ):
        said = subprocess.run(
            [sys.executable, __file__, kind], capture_output=True, text=True, check=True
        ).stdout
        memory, saved = map(float, said.split())
        print(f"| {words}, per feature in memory | {memory:,.0f} |")
        print(f"| {words}, per feature in a snapshot | {saved:,.0f} |", flush=True)


if __name__ == "__main__":
    main()
