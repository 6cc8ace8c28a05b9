"""How fast: Headwater beside other libraries and hand-written C, in one run.

    python benches/bench.py [--quick] [--json FILE] [--docs docs/internals/benchmarks.md]

Three made-up streams (`workloads.py`); Headwater (`ours.py`), other libraries (`peers.py`, those
that are missing are listed so), C compiled on the spot (`floors.py`) and readers of files
(`from_files.py`) take turns on them (`turns.py`). Then truncation alone (`truncation.py`) and the
time it takes to start (`start.py`). `goals.py` holds the numbers against what is wanted;
`report.py` makes page and picture.
"""

import json
import os
import sys
import tempfile
import time
from pathlib import Path

import click
import floors
import from_files
import ours
import peers
import sizes
import start
import truncation
from goals import Numbers, goals
from machine import draw, machine, open_console, pin, versions
from report import (
    GOALS_HEAD,
    HEAD,
    TEXTS,
    TRUNCATION_HEAD,
    About,
    as_json,
    goal_row,
    page,
    picture,
    row,
    size_rows,
    truncation_rows,
)
from rich.console import Console
from turns import RIVER, Result, measure
from workloads import EVENTS, MAKERS, Stream

QUICK = {"sensor": 10_000, "text": 4_000, "url": 3_000}
FILE_EVENTS = 40_000
PACKAGES = (
    *("headwater", "numpy", "scipy", "river", "scikit-learn", "scikit-activeml"),
    *("vowpalwabbit", "orjson"),
)


class Bench:
    """One run."""

    def __init__(self, quick: bool, console: Console, folder: Path) -> None:
        self.passes = 2 if quick else 3
        self.share = 0.04 if quick else 1.0
        self.events = QUICK if quick else EVENTS
        self.console, self.folder = console, folder
        self.compiled = floors.build(folder)
        self.shapes: dict[str, str] = {}

    def tell(self, text: str) -> None:
        """What is being done, where a terminal shows it."""
        if sys.stderr.isatty():
            click.echo(f"\r\x1b[K{text}", err=True, nl=False)

    def run(self) -> Numbers:
        """Measure everything."""
        numbers = Numbers([], [], None)
        contestants = [
            *ours.contestants(),
            *floors.contestants(self.compiled),
            *peers.contestants(),
        ]
        for title, make in MAKERS.items():
            self.tell(f"{title}: made")
            stream = make(self.events[title])
            results = measure(stream, contestants, self.passes, self.share, self.tell)
            if title == "text":
                results += self.files(stream, results)
            numbers.results.extend(results)
            self.shapes[title] = (
                f"{stream.events:,} events, {stream.values:,} values, "
                f"{len(stream.names):,} columns."
            )
            self.tell("")
            rows = [row(result) for result in results]
            draw(self.console, f"{title}: {self.shapes[title]}", HEAD, rows, TEXTS)
            if title in truncation.SELECTED:
                numbers.truncations.extend(
                    truncation.measure(
                        stream, self.compiled, self.passes - 1, self.share, self.tell
                    )
                )
        self.tell("sizes")
        measured = sizes.measure(self.passes, self.share)
        self.tell("start")
        started = start.measure(3 if self.share < 1 else 10)
        self.tell("")
        return Numbers(numbers.results, numbers.truncations, started, measured)

    def files(self, stream: Stream, results: list[Result]) -> list[Result]:
        """From files, with the same number of events for all."""
        part = stream.part(0, min(FILE_EVENTS, stream.events))
        self.tell("text: files written")
        readers = from_files.contestants(from_files.write(part, self.folder), part)
        found = measure(part, readers, self.passes, self.share, self.tell)
        river = [r.ns_per_value for r in results if (r.who, r.name, r.door) == RIVER]
        return [from_files.beside_river(one, river[0] if river else None) for one in found]


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--quick", is_flag=True, help="Short streams: about a minute, rough numbers.")
@click.option(
    "--json", "data", type=click.Path(path_type=Path), help="Write the numbers to this file."
)
@click.option(
    "--docs",
    type=click.Path(path_type=Path),
    help="Write the page to this file, and the picture beside it.",
)
def main(quick: bool, data: Path | None, docs: Path | None) -> None:
    """Measure the speed of the learners beside other libraries and hand-written C."""
    for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(threads, "1")
    console, core, begin = open_console(), pin(), time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(quick, console, Path(folder))
        numbers = bench.run()
        compiled = bench.compiled
    about = About(
        date=time.strftime("%Y-%m-%d"),
        machine=machine(),
        core=core,
        compiler=compiled if isinstance(compiled, str) else compiled.compiler,
        versions=versions(*PACKAGES),
        passes=bench.passes,
        quick=quick,
        shapes=bench.shapes,
        seconds=time.perf_counter() - begin,
    )
    draw(console, "truncation alone", TRUNCATION_HEAD, truncation_rows(numbers))
    draw(console, "sizes", sizes.HEAD, size_rows(numbers), 1)
    draw(console, "goals", GOALS_HEAD, [goal_row(goal) for goal in goals(numbers)], 5)
    used = ", ".join(f"{name} {number}" for name, number in about.versions.items())
    console.print(f"{about.seconds:.0f} s; core {core}. {used}. {about.machine}.")
    if data:
        data.write_text(json.dumps(as_json(about, numbers), indent=2) + "\n", encoding="utf-8")
    if docs:
        drawing = docs.with_suffix(".svg")
        docs.write_text(page(about, numbers, drawing.name), encoding="utf-8")
        drawing.write_text(picture(numbers), encoding="utf-8")


if __name__ == "__main__":
    main()
