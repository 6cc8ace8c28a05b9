"""What events of some lengths, numbers of classes, whole models and two cores cost.

An event's time is a fixed part and a part per value: two numbers, from events of 1 and of 200
values. The model that is saved, loaded and copied has a million text names; the time of pyarrow's
IPC for the same names and four columns of numbers is printed beside it.
"""

import copy
import os
import time
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from workloads import Csr, numbered, text

import headwater as hw

LENGTHS = (1, 10, 50, 200)
SEVERAL = (2, 10, 100, 1_000)
HEAD = ("what", "measured", "unit")


class Size(NamedTuple):
    """One line of the table."""

    what: str
    measured: float | None
    unit: str


def best(run: Callable[[], object], passes: int) -> float:
    """Seconds of the fastest pass."""
    times = []
    for _ in range(passes):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def measure(passes: int, share: float) -> list[Size]:
    """All lines; `share` makes them shorter."""
    return [*_lengths(passes, share), *_classes(passes, share), *_models(share), *_cores(share)]


def _sensors(events: int, values: int) -> tuple[Csr, list[dict[str, float]]]:
    data = np.random.default_rng(values).normal(size=(events, values))
    indices = np.tile(np.arange(values, dtype=np.int32), events)
    names = numbered("sensor", max(2, values))[:values]
    rows = [dict(zip(names, row, strict=True)) for row in data.tolist()]
    return Csr(np.arange(0, data.size + 1, values), indices, data.ravel()), rows


def _lengths(passes: int, share: float) -> list[Size]:
    found, costs = [], {}
    for values in LENGTHS:
        events = max(50, int(share * 200_000 / (values + 20)))
        csr, rows = _sensors(events, values)
        labels = np.random.default_rng(0).random(events) < 0.4
        for door in ("dict", "CSR"):
            model = hw.named("PA-I")
            model.simulate(csr, labels)

            def by_csr(model: hw.Learner = model, csr: Csr = csr) -> None:
                model.simulate(csr, labels)  # noqa: B023

            def by_dict(rows: list[dict[str, float]] = rows) -> None:
                model = hw.named("PA-I")
                for row, label in zip(rows, labels.tolist(), strict=True):  # noqa: B023
                    model.answer(model.decide_one(row), label)

            seconds = best(by_csr if door == "CSR" else by_dict, passes + 1)
            costs[door, values] = 1e9 * seconds / events
            found.append(
                Size(f"{door}, PA-I, {values} values", costs[door, values], "ns per event")
            )
    for door in ("dict", "CSR"):
        short, long = costs[door, 1], costs[door, 200]
        found.append(
            Size(
                f"{door}, PA-I, before the first value",
                short - (long - short) / 199,
                "ns per event",
            )
        )
        found.append(Size(f"{door}, PA-I, each value", (long - short) / 199, "ns per value"))
    return found


def _classes(passes: int, share: float) -> list[Size]:
    found = []
    csr, _ = _sensors(max(100, int(2_000 * share)), 50)
    events = len(csr.indptr) - 1
    for classes in SEVERAL:
        labels = np.arange(events) % classes
        model = hw.named("MPA-I")
        model.learn_many(csr, labels)
        seconds = best(lambda: model.simulate(csr, labels), passes)  # noqa: B023
        cost = 1e9 * seconds / len(csr.data) / classes
        found.append(Size(f"CSR, MPA-I, {classes} classes", cost, "ns per value and class"))
    return found


def _models(share: float) -> list[Size]:
    names = int(1_000_000 * share)
    model = hw.FLLS(kept_share=0.5)
    listed = hw.FeatureNames(numbered("part", names))
    indices = np.arange(names, dtype=np.int32)
    rows = np.arange(0, names + 1, names // 100)
    csr = Csr(rows, indices[: rows[-1]], np.ones(rows[-1]))
    model.learn_many(_Shaped(csr, names), np.arange(len(rows) - 1) % 2 == 0, names=listed)
    data = model.to_bytes()
    found = [
        Size(f"save {names:,} names", 1e3 * best(model.to_bytes, 2), "ms"),
        Size(f"load {names:,} names", 1e3 * best(lambda: hw.from_bytes(data), 2), "ms"),
        Size(f"copy {names:,} names", 1e3 * best(lambda: copy.copy(model), 2), "ms"),
        Size(f"features of {names:,} names", 1e3 * best(model.features, 1), "ms"),
    ]
    if find_spec("pyarrow") is not None:
        found.append(Size("Arrow IPC, the same columns", 1e3 * _arrow(list(listed)), "ms to read"))
    return found


class _Shaped:
    """CSR with as many columns as there are names."""

    def __init__(self, csr: Csr, columns: int) -> None:
        self.indptr, self.indices, self.data = csr
        self.shape = (len(csr.indptr) - 1, columns)


def _arrow(names: list[str | int]) -> float:
    pa: Any = import_module("pyarrow")
    numbers = np.arange(len(names), dtype=np.int64)
    table = pa.table({"name": names, "a": numbers, "b": numbers, "c": numbers, "w": numbers * 0.5})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    data = sink.getvalue().to_pybytes()
    return best(lambda: pa.ipc.open_stream(data).read_all()["name"].to_pylist(), 2)


def _cores(share: float) -> list[Size]:
    if not hasattr(os, "sched_setaffinity") or (os.cpu_count() or 1) < 2:
        return []
    stream = text(max(2_000, int(30_000 * share)))
    model = hw.named("PA-I")
    model.simulate(stream.csr, stream.labels)
    cores, times = os.sched_getaffinity(0), {}
    try:
        for count in (1, 2):
            os.sched_setaffinity(0, range(count))
            times[count] = best(lambda: model.margin_many(stream.csr), 5)
    finally:
        os.sched_setaffinity(0, cores)
    return [
        Size("margin_many, one core", 1e9 * times[1] / stream.values, "ns per value"),
        Size("margin_many, two cores", 1e9 * times[2] / stream.values, "ns per value"),
        Size("two cores beside one", times[1] / times[2], "times as fast"),
    ]
