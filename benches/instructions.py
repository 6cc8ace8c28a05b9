"""Instructions a value of every path an event can take, counted by valgrind's callgrind.

Events of one value and of 200, with all names known, tell what an event costs before its first
value and what each value costs: two numbers for each of dicts and CSR.

Unlike times they are repeatable: the same program, the same events, the same count, whatever else
the machine is doing. `tests/test_instructions.py` fails when one has grown by more than 5 % beyond
`benches/instructions.json`.

    python benches/instructions.py           the counts beside those kept
    python benches/instructions.py --write   keep them

Counts depend on the compiler, the interpreter and the libraries underneath, which are kept with
them; with others they are not compared. The package must be built as `make build` builds it.
"""

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import headwater as hw

KEPT = Path(__file__).parent / "instructions.json"
GROWTH = 0.05
"""By this share a count may grow."""
DICT_GROWTH = 0.15
"""The same for dicts, whose names are found by the addresses of objects: they vary between runs."""

FIRST, EVENTS, VALUES, COLUMNS = 400, 1_200, 40, 4_000
"""Events learned before, events counted, values an event, names."""
SHORT, LONG, FEW = 1, 200, 300
"""Values of a short and of a long event, and how many of them are counted."""


# The stream, written by whoever asks and read by the process that is counted


def write_stream(folder: Path, events: int, seed: int) -> None:
    """Zipf's words as CSR, svmlight and JSON lines."""
    draws = np.random.RandomState(seed)  # whose numbers never change
    column = (COLUMNS ** draws.rand(events, 2 * VALUES)).astype(int)
    rows = [np.unique(row)[:VALUES] for row in column]
    indices = np.concatenate(rows)
    data = np.round(draws.rand(len(indices)), 4)
    ends = np.cumsum([len(row) for row in rows])
    indptr = np.concatenate([[0], ends]).astype(np.int64)
    true = np.random.RandomState(7).randn(COLUMNS)
    y = np.add.reduceat(data * true[indices], indptr[:-1]) > 0
    svm, lines = [], []
    for start, end, label in zip(indptr, ends, y, strict=False):
        pairs = list(zip(indices[start:end].tolist(), data[start:end].tolist(), strict=True))
        svm.append(f"{2 * int(label) - 1} " + " ".join(f"{c}:{v}" for c, v in pairs))
        lines.append(json.dumps({"y": bool(label)} | {f"word{c}": v for c, v in pairs}))
    folder.mkdir()
    np.savez(folder / "stream.npz", indptr=indptr, indices=indices.astype(np.int32), data=data, y=y)
    (folder / "stream.svm").write_text("\n".join(svm) + "\n")
    (folder / "stream.jsonl").write_text("\n".join(lines) + "\n")


class Csr:
    """The three arrays of a sparse matrix, as a learner reads them."""

    def __init__(self, indptr: Any, indices: Any, data: Any) -> None:
        self.indptr, self.indices, self.data = indptr, indices, data
        self.shape = (len(indptr) - 1, COLUMNS)

    def tocsr(self) -> "Csr":
        return self


class Stream:
    """What `write_stream` wrote."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        stored = np.load(folder / "stream.npz")
        self.X = Csr(stored["indptr"], stored["indices"], stored["data"])
        self.y = stored["y"]

    def events(self) -> list[dict[str, float]]:
        names = [f"word{column}" for column in range(COLUMNS)]
        X = self.X
        rows = zip(X.indptr[:-1], X.indptr[1:], strict=True)
        return [
            dict(
                zip([names[c] for c in X.indices[a:b].tolist()], X.data[a:b].tolist(), strict=True)
            )
            for a, b in rows
        ]


class Sensors(Stream):
    """Events of so many sensors, all of which are known after the first."""

    def __init__(self, values: int) -> None:
        draws = np.random.RandomState(values)
        data = draws.randn(FEW * values)
        indices = np.tile(np.arange(values, dtype=np.int32), FEW)
        self.X = Csr(np.arange(0, len(data) + 1, values), indices, data)
        self.y = draws.rand(FEW) < 0.4


# The paths: a learner, and how it is given a stream; what is called in the end is counted


Way = Callable[[hw.Learner, Stream], Callable[[], object]]


def one_by_one(model: hw.Learner, stream: Stream) -> Callable[[], object]:
    events, labels = stream.events(), stream.y.tolist()

    def loop() -> None:
        for event, label in zip(events, labels, strict=True):
            decision = model.decide_one(event)
            if decision.asked:
                model.answer(decision, label)

    return loop


def arrays(model: hw.Learner, stream: Stream) -> Callable[[], object]:
    return lambda: model.simulate(stream.X, stream.y)


def from_json(model: hw.Learner, stream: Stream) -> Callable[[], object]:
    """Names are new objects in every event, and every fourth value is None, a text or a bool."""
    unusual = (None, "text", True)
    events, labels = stream.events(), stream.y.tolist()
    texts = [
        json.dumps(
            {name: value if i % 4 else unusual[i % 3] for i, (name, value) in enumerate(x.items())}
        )
        for x in events
    ]
    decoded = [json.loads(text) for text in texts]

    def loop() -> None:
        for event, label in zip(decoded, labels, strict=True):
            model.learn_one(event, label)

    return loop


def svmlight(model: hw.Learner, stream: Stream) -> Callable[[], object]:
    return lambda: model.simulate_file(stream.folder / "stream.svm")


def json_lines(model: hw.Learner, stream: Stream) -> Callable[[], object]:
    return lambda: model.simulate_file(stream.folder / "stream.jsonl", label="y")


def pa1() -> hw.Learner:
    return hw.Linear(update="pa1", query="all", scale=None, intercept=False)


Taken = tuple[Callable[[], hw.Learner], Way]
PATHS: dict[str, Taken] = {
    "dict, FLLS": (lambda: hw.FLLS(kept_share=0.5), one_by_one),
    "CSR, PA-I": (pa1, arrays),
    "CSR, FLLS": (lambda: hw.FLLS(kept_share=0.5), arrays),
    "CSR, Linear": (hw.Linear, arrays),
    "CSR, Spring": (lambda: hw.Spring(label_rate=0.05), arrays),
    "CSR, Spring, register": (lambda: hw.Spring(label_rate=0.05, track=True), arrays),
    "svmlight, PA-I": (pa1, svmlight),
    "JSON lines, PA-I": (pa1, json_lines),
    "dict of json.loads": (pa1, from_json),
}
SENSORS: dict[str, tuple[Taken, int]] = {
    f"{name}, {values} values": (path, values)
    for name, path in {"dict, PA-I": (pa1, one_by_one), "CSR, PA-I": (pa1, arrays)}.items()
    for values in (SHORT, LONG)
}

MARK = "getppid"
"""A function that nothing else calls: callgrind writes down its counts whenever it is called."""


def run_marked(folder: Path) -> None:
    """Every path, a mark before and behind it; what is new to a learner comes before."""
    first, then = Stream(folder / "first"), Stream(folder / "then")
    for make, way in PATHS.values():
        model = make()
        way(model, first)()
        run = way(model, then)
        os.getppid()
        run()
        os.getppid()
    for (make, way), values in SENSORS.values():
        model, stream = make(), Sensors(values)
        for _ in range(2):  # the second time objects are known too
            way(model, stream)()
        run = way(model, stream)
        run()
        os.getppid()
        run()
        os.getppid()


# Counting


def setting() -> dict[str, str]:
    """What the counts depend on beside the package's own code."""
    library = Path(hw._core.__file__).read_bytes()
    rustc = re.search(rb"rustc version ([^\s]+)", library)
    flags = Path("/proc/cpuinfo")
    avx2 = flags.exists() and re.search(r"\bavx2\b", flags.read_text()) is not None
    valgrind = subprocess.run(["valgrind", "--version"], capture_output=True, text=True, check=True)
    return {
        "rustc": rustc[1].decode() if rustc else "unknown",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "libc": " ".join(platform.libc_ver()),
        "machine": f"{platform.machine()}{', AVX2' if avx2 else ''}",
        "valgrind": valgrind.stdout.strip().removeprefix("valgrind-"),
    }


def reason_to_skip() -> str | None:
    """Why nothing can be counted, or compared with what is kept."""
    if shutil.which("valgrind") is None:
        return "valgrind is not installed"
    if not KEPT.exists():
        return f"there is no {KEPT.name}"
    kept, here = json.loads(KEPT.read_text())["setting"], setting()
    differing = [name for name in here if kept[name] != here[name]]
    others = [f"{name} {kept[name]} (here {here[name]})" for name in differing]
    return f"the counts kept are of {', '.join(others)}" if others else None


def grown(kept: dict[str, float], counts: dict[str, float]) -> list[str]:
    """The paths that take more than they may, with both counts."""
    return [
        f"{path}: {kept[path]} became {count}"
        for path, count in counts.items()
        if count > kept[path] * (1 + (DICT_GROWTH if path.startswith("dict") else GROWTH))
    ]


def counted() -> dict[str, float]:
    """Instructions a value, by path."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_stream(folder / "first", FIRST, seed=0)
        write_stream(folder / "then", EVENTS, seed=1)
        out = folder / "counts"
        environment = {"PYTHONHASHSEED": "0", "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
        environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
        command = [
            *("valgrind", "--tool=callgrind", "--quiet", f"--callgrind-out-file={out}"),
            *(f"--dump-before={MARK}", "--combine-dumps=no", sys.executable, __file__),
            *("--marked", str(folder)),
        ]
        subprocess.run(command, env=environment, check=True)
        values = dict.fromkeys(PATHS, len(Stream(folder / "then").X.data))
        values |= {path: FEW * count for path, (_, count) in SENSORS.items()}
        counts = {}
        for number, path in enumerate(values):
            part = folder / f"counts.{2 * number + 2}"
            found = re.search(r"^(?:summary|totals): (\d+)", part.read_text(), re.MULTILINE)
            if found is None:
                raise RuntimeError(f"{part.name}: expected callgrind's summary, found none.")
            counts[path] = round(int(found[1]) / values[path], 1)
        return counts


def fixed(counts: dict[str, float]) -> dict[str, tuple[float, float]]:
    """What an event takes before its first value, and what a value takes, by path."""
    found = {}
    for path in {name.rsplit(",", 1)[0]: None for name in SENSORS}:
        short, long = (counts[f"{path}, {values} values"] * values for values in (SHORT, LONG))
        a_value = (long - short) / (LONG - SHORT)
        found[path] = (short - SHORT * a_value, a_value)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Instructions a value, by path.")
    parser.add_argument("--write", action="store_true", help="keep the counts")
    parser.add_argument("--marked", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.marked:
        run_marked(options.marked)
        return
    counts = counted()
    kept = json.loads(KEPT.read_text())["instructions a value"] if KEPT.exists() else {}
    print(f"{'path':24} {'instructions a value':>20} {'kept':>8} {'change':>8}")
    for path, count in counts.items():
        before = kept.get(path)
        change = f"{count / before - 1:+.1%}" if before else ""
        print(f"{path:24} {count:20} {before or '-':>8} {change:>8}")
    for path, (event, value) in fixed(counts).items():
        print(f"{path}: {event:.0f} instructions an event and {value:.1f} a value")
    if options.write:
        stored = {"setting": setting(), "instructions a value": counts}
        KEPT.write_text(json.dumps(stored, indent=2) + "\n")
        print(f"kept in {KEPT.name}")


if __name__ == "__main__":
    main()
