"""A file of many gigabytes through a learner, in constant memory.

    python benches/big_file.py [gigabytes] [svm|jsonl]

The file is a pipe into which a generated chunk is written again and again. Prints throughput and
how much the peak memory grew after the first tenth.
"""

import json
import os
import resource
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

import headwater as hw

EVENTS, WORDS, AN_EVENT = 20_000, 47_236, 75


def chunk(suffix: str) -> bytes:
    """Events of some 75 of 47,236 words, Zipf's."""
    rng = np.random.default_rng(1)
    shares = np.cumsum(1 / np.arange(1, WORDS + 1))
    lines = []
    for _ in range(EVENTS):
        words = np.unique(np.searchsorted(shares, rng.random(AN_EVENT) * shares[-1])).tolist()
        values = np.round(rng.random(len(words)), 4).tolist()
        label = 1 if sum(values[:5]) > 2.5 else -1
        if suffix == "svm":
            pairs = (f"{word}:{value}" for word, value in zip(words, values, strict=True))
            lines.append(" ".join([str(label), *pairs]))
        else:
            event = {f"w{word}": value for word, value in zip(words, values, strict=True)}
            lines.append(json.dumps({**event, "y": label}))
    return "".join(f"{line}\n" for line in lines).encode()


def peak() -> float:
    """Most memory held so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    gigabytes = float(sys.argv[1]) if len(sys.argv) > 1 else 10.0
    suffix = sys.argv[2] if len(sys.argv) > 2 else "svm"
    text = chunk(suffix)
    times = max(1, int(gigabytes * 1e9 / len(text)))
    marks: list[tuple[int, float]] = []

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"big.{suffix}")
        os.mkfifo(path)

        def pour() -> None:
            with path.open("wb", buffering=0) as pipe:
                for _ in range(times):
                    pipe.write(text)

        writer = threading.Thread(target=pour, daemon=True)
        writer.start()
        model = hw.FLLS(C=0.1)
        start, before = time.perf_counter(), peak()
        run = model.simulate_file(path, progress=lambda run: marks.append((run.bytes, peak())))
        seconds = time.perf_counter() - start
        writer.join()
    tenth = next((held for done, held in marks if done > run.bytes / 10), before)
    print(
        f"{run.bytes / 1e9:.2f} GB of {suffix}, {run.events:,} events in {seconds:.0f} s: "
        f"{run.bytes / seconds / 1e6:.0f} MB/s, {run.events / seconds:,.0f} events/s; peak memory "
        f"{before:.0f} MB before, {tenth:.0f} MB after a tenth, {peak():.0f} MB at the end"
    )


if __name__ == "__main__":
    main()
