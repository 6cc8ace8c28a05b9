"""What Spark costs beside the plain loop: processor time per row, per key and batch.

    python benches/spark_cost.py
    python benches/spark_cost.py --keys 100000 --batches 2 --cached-only

Every batch brings each key one event of 25 values and the answers to what was asked before.
The processor time is that of all processes: this one, the JVM and its Python workers; the part of
it that the JVM takes is shown. The first batch makes every learner and warms the JVM up, so the
others are counted. With a cache of 0 bytes every learner is read from the state in every batch.

The plain loop does the same with the rows in memory: parse the JSON, decide, learn, a dict of
learners, no bytes.
"""

import json
import os
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from machine import draw, machine, open_console, versions

import headwater as hw
from headwater.adapters.keyed import DictState, KeyedLearners, LearnerCache, Row

VALUES = 25
HEAD = (
    "what",
    "µs per key and batch",
    "µs per row",
    "× the plain loop",
    "of it in Java",
    "wall, s per batch",
)


def learner(key: str) -> hw.Learner:
    """What a key begins with: a seed of its own, or all keys would ask at the same time."""
    return hw.Spring(label_rate=0.05, seed=int(key[1:]))


def stream(keys: int, batches: int) -> list[list[Row]]:
    """One event per key and batch, and in the next batch the answers to what was asked."""
    learners = {f"k{key}": learner(f"k{key}") for key in range(keys)}
    asked: dict[str, hw.Decision] = {}
    found = []
    for place in range(batches):
        values = np.random.default_rng(place).normal(size=(keys, VALUES)).round(3).tolist()
        rows = []
        for key, decision in asked.items():
            label = decision.features["s0"] > 0
            rows.append(Row(key, 2 * place, "answer", f"e{place - 1}", json.dumps(label)))
            learners[key].answer(decision, label)
        asked = {}
        for key, some in zip(learners, values, strict=True):
            event = {f"s{i}": value for i, value in enumerate(some)}
            rows.append(Row(key, 2 * place + 1, "event", f"e{place}", json.dumps(event)))
            decision = learners[key].decide_one(event)
            if decision.asked:
                asked[key] = decision
        found.append(rows)
    return found


def plain_loop(batches: list[list[Row]]) -> list[float]:
    """Processor seconds of each batch, rows in memory."""
    learners: dict[str, hw.Learner] = {}
    open_: dict[tuple[str, str], hw.Decision] = {}
    spent = []
    for rows in batches:
        start = time.process_time()
        for key, _, kind, id, body in sorted(rows, key=lambda row: (row.key, row.t)):
            model = learners.get(key)
            if model is None:
                model = learners[key] = learner(key)
            if kind == "event":
                decision = model.decide_one(json.loads(body))
                if decision.asked:
                    open_[key, id] = decision
            else:
                model.answer(open_.pop((key, id)), json.loads(body))
        spent.append(time.process_time() - start)
    return spent


def keyed(batches: list[list[Row]], capacity: int) -> list[float]:
    """The same by `KeyedLearners`, states in memory: what is not Spark's."""
    learners = KeyedLearners(learner, cache=LearnerCache(capacity))
    states: dict[str, DictState] = {}
    spent = []
    for rows in batches:
        by_key: dict[str, list[Row]] = {}
        for row in rows:
            by_key.setdefault(row.key, []).append(row)
        start = time.process_time()
        for key, some in by_key.items():
            learners.handle(key, some, states.setdefault(key, DictState()), 0)
        spent.append(time.process_time() - start)
    return spent


def processes_below(root: int) -> list[int]:
    """A process and all that it started, directly or not."""
    children: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            after = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        children.setdefault(int(after[1]), []).append(int(path.parent.name))
    found, waiting = [], [root]
    while waiting:
        found.append(waiting.pop())
        waiting += children.get(found[-1], [])
    return found


def processor_seconds(command: str | None = None) -> float:
    """Of this process and all below it, and of those that they have waited for.

    With a command, such as `java`, only of those that run it.
    """
    ticks = 0
    for process in processes_below(os.getpid()):
        try:
            before, _, rest = Path(f"/proc/{process}/stat").read_text().rpartition(")")
        except OSError:
            continue
        if command is None or before.partition("(")[2] == command:
            ticks += sum(map(int, rest.split()[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


class Spent(NamedTuple):
    """Seconds of a batch: of the processor, of it in Java, and by the clock."""

    cpu: float
    java: float
    wall: float


def spent() -> Spent:
    """So far."""
    return Spent(processor_seconds(), processor_seconds("java"), time.perf_counter())


def on_spark(spark: Any, source: Path, folder: Path, cache_bytes: int) -> list[Spent]:
    """What each batch takes."""
    from headwater.adapters.spark import SCHEMA, per_key

    rows = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(source))
    query = (
        per_key(rows, learner, cache_bytes=cache_bytes)
        .writeStream.format("noop")
        .option("checkpointLocation", str(folder))
        .trigger(availableNow=True)
        .start()
    )
    found, done = [], 0
    before = spent()
    while True:
        active = query.isActive
        if len(query.recentProgress) > done:
            done = len(query.recentProgress)
            now = spent()
            found.append(Spent(*(b - a for a, b in zip(before, now, strict=True))))
            before = now
        if not active:
            break
        time.sleep(0.02)
    query.awaitTermination()
    return found


def write(batches: list[list[Row]], folder: Path) -> None:
    """A file for each batch."""
    pa, pq = import_module("pyarrow"), import_module("pyarrow.parquet")
    folder.mkdir()
    for place, rows in enumerate(batches):
        columns = zip(Row._fields, zip(*rows, strict=True), strict=True)
        path = folder / f"{place:03}.parquet"
        pq.write_table(pa.table({field: list(column) for field, column in columns}), path)
        os.utime(path, (1_000_000 + place, 1_000_000 + place))


def session(cores: int) -> Any:
    """Spark on this machine."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    from pyspark.sql import SparkSession

    from headwater.adapters.spark import SETTINGS

    builder = SparkSession.builder.master(f"local[{cores}]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    builder = builder.config("spark.driver.memory", "3g")
    for name, value in {**SETTINGS, "spark.sql.shuffle.partitions": str(cores)}.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--keys", type=click.IntRange(min=20), default=10_000, show_default=True)
@click.option("--batches", type=click.IntRange(min=2), default=4, show_default=True)
@click.option("--cores", type=click.IntRange(min=1), default=2, show_default=True)
@click.option("--cached-only", is_flag=True, help="Leave out the run without a cache.")
def main(keys: int, batches: int, cores: int, cached_only: bool) -> None:
    """Measure what one learner per key costs on Spark and in a plain loop."""
    console = open_console()
    made = stream(keys, batches)
    counted = made[1:]
    rows = sum(map(len, counted))
    plain = sum(plain_loop(made)[1:])
    lines: list[tuple[str, ...]] = []

    def add(what: str, cpu: float, more: Spent | None = None) -> None:
        cost = 1e6 * cpu / keys / len(counted)
        cells = (f"{cost:.1f}", f"{1e6 * cpu / rows:.1f}", f"{cpu / plain:.1f}")
        rest = ("", "")
        if more is not None:
            rest = (f"{more.java / more.cpu:.0%}", f"{more.wall / len(counted):.1f}")
        lines.append((what, *cells, *rest))

    add("plain loop", plain)
    add("KeyedLearners, states in a dict", sum(keyed(made, 2**40)[1:]))
    add("KeyedLearners, every learner read", sum(keyed(made, 0)[1:]))
    start = processor_seconds(), time.perf_counter()
    spark = session(cores)
    up = processor_seconds() - start[0], time.perf_counter() - start[1]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(made, folder / "in")
        for what, cache_bytes in (("learners in memory", 2**40), ("every learner read", 0)):
            if cache_bytes or not cached_only:
                found = on_spark(
                    spark, folder / "in", folder / f"checkpoint{cache_bytes}", cache_bytes
                )
                total = Spent(*(sum(column) for column in zip(*found[1:batches], strict=True)))
                add(f"Spark, {what}", total.cpu, total)
    spark.stop()
    console.print(f"{machine()}; {versions('pyspark', 'pandas', 'pyarrow')}")
    console.print(
        f"{keys:,} keys, {len(counted)} counted batches, {rows:,} rows of {VALUES} values,"
        f" {cores} cores; a session is up after {up[1]:.1f} s ({up[0]:.1f} s of processor time)"
    )
    draw(console, "One learner per key", HEAD, lines)


if __name__ == "__main__":
    main()
