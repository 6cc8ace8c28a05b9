"""Every door leads to the same learner: one stream, ten ways in, the same saved bytes."""

import csv
import json
import random
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
import scipy.sparse  # type: ignore[import-untyped]

import headwater as hw
from effort import FULL
from forms import plain

Event = dict[str, float | bool | str]
Stream = list[tuple[Event, int | None]]

EVENTS, COLUMNS, AT_ONCE, A_BATCH = 10_000 if FULL else 4_000, 80, 24, 500
LEARNERS: dict[str, Callable[[], hw.Learner]] = {
    "Linear": hw.Linear,
    "FLLS": hw.FLLS,
    "Spring": hw.Spring,
    "Linear(bounded)": lambda: hw.Linear(max_features=30, when_full="oldest"),
    "FLLS(bounded)": lambda: hw.FLLS(max_features=40, when_full="refuse"),
    "Spring(bounded)": lambda: hw.Spring(max_features=12, when_full="smallest"),
}


@cache
def stream() -> Stream:
    """Old columns go and new ones come; numbers, whole numbers, bools, words; a label or none."""
    rng = random.Random(11)
    listed: Stream = []
    for t in range(EVENTS):
        first = (COLUMNS - AT_ONCE) * t // EVENTS
        x: Event = {}
        for column in range(first, first + AT_ONCE):
            value = (
                rng.choice([0.0, rng.gauss(0, 3), rng.gauss(0, 1e-7)]),
                rng.randrange(-3, 4),
                rng.random() < 0.5,
                rng.choice(["red", "green", "blau"]),
                rng.gauss(100, 30),
            )[column % 5]
            if rng.random() < 0.6:
                x[f"s{column}"] = value
        total = sum(v for v in x.values() if isinstance(v, float) and abs(v) < 20)
        listed.append((x, None if t % 10 == 3 else int(total + rng.gauss(0, 1) > 0)))
    return listed


def columns_of(part: Stream) -> dict[str, list[Any]]:
    """The columns that occur in these events, in the order of their numbers."""
    met = {name for x, _ in part for name in x}
    return {
        name: [x.get(name) for x, _ in part] for name in sorted(met, key=lambda name: int(name[1:]))
    }


def parts() -> Iterator[Stream]:
    """The stream, a batch at a time."""
    return (stream()[start : start + A_BATCH] for start in range(0, EVENTS, A_BATCH))


def batches() -> Iterator[tuple[dict[str, list[Any]], list[int | None]]]:
    """Each batch as the columns that occur in it, and its labels."""
    for part in parts():
        yield columns_of(part), [y for _, y in part]


# The doors


def by_dicts(model: hw.Learner, folder: Path) -> None:
    for x, y in stream():
        decision = model.decide_one(x)
        if decision.asked and y is not None:
            model.answer(decision, y)


def by_csr(model: hw.Learner, folder: Path) -> None:
    for part in parts():
        rows = [plain(x) for x, _ in part]
        places: dict[str, int] = {}
        for row in rows:
            for name in row:
                places.setdefault(name, len(places))
        matrix = scipy.sparse.csr_array(
            (
                np.array([value for row in rows for value in row.values()]),
                np.array([places[name] for row in rows for name in row]),
                np.cumsum([0, *map(len, rows)]),
            ),
            shape=(len(rows), len(places)),
        )
        model.simulate(matrix, [y for _, y in part], names=list(places))


def by_pandas(model: hw.Learner, folder: Path) -> None:
    for columns, labels in batches():
        model.simulate(pd.DataFrame(columns), pd.Series(labels, dtype="Int64"))


def by_polars(model: hw.Learner, folder: Path) -> None:
    for columns, labels in batches():
        model.simulate(pl.DataFrame(columns), pl.Series(labels))


def by_pyarrow(model: hw.Learner, folder: Path) -> None:
    for columns, labels in batches():
        model.simulate(pa.table(columns), pa.array(labels))


def by_svmlight(model: hw.Learner, folder: Path) -> None:
    with (folder / "events.svm").open("w") as file:
        for x, y in stream():
            pairs = [f"{name}:{value!r}" for name, value in plain(x).items()]
            print("nan" if y is None else y, *pairs, file=file)
    model.simulate_file(folder / "events.svm")


def by_vw(model: hw.Learner, folder: Path) -> None:
    with (folder / "events.vw").open("w") as file:
        for x, y in stream():
            pairs = [f"{name}:{value!r}" for name, value in plain(x).items()]
            print("" if y is None else y, "|", *pairs, file=file)
    model.simulate_file(folder / "events.vw")


def by_json_lines(model: hw.Learner, folder: Path) -> None:
    with (folder / "events.jsonl").open("w") as file:
        for x, y in stream():
            print(json.dumps(x if y is None else {"y": y, **x}), file=file)
    model.simulate_file(folder / "events.jsonl")


def by_csv(model: hw.Learner, folder: Path) -> None:
    with (folder / "events.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, [*columns_of(stream()), "y"])
        writer.writeheader()
        writer.writerows({**x, "y": y} for x, y in stream())
    model.simulate_file(folder / "events.csv")


def by_parquet(model: hw.Learner, folder: Path) -> None:
    table = pa.table({**columns_of(stream()), "y": [y for _, y in stream()]})
    pq.write_table(table, folder / "events.parquet", row_group_size=3_000)
    model.simulate_file(folder / "events.parquet")


DOORS = [
    *(by_csr, by_pandas, by_polars, by_pyarrow),
    *(by_svmlight, by_vw, by_json_lines, by_csv, by_parquet),
]


@cache
def expected(learner: str) -> bytes:
    """What the event loop leaves behind."""
    model = LEARNERS[learner]()
    by_dicts(model, Path())
    assert 0 < model.learned < model.asked < EVENTS
    return model.to_bytes()


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
@pytest.mark.parametrize("learner", LEARNERS)
def test_every_door_gives_the_saved_bytes_of_the_event_loop(
    learner: str, door: Callable[[hw.Learner, Path], None], tmp_path: Path
) -> None:
    model = LEARNERS[learner]()
    door(model, tmp_path)
    model.save(tmp_path / "model.hw")
    assert (tmp_path / "model.hw").read_bytes() == expected(learner)


def test_the_columns_of_the_stream_change_from_batch_to_batch() -> None:
    met = [set(columns) for columns, _ in batches()]
    assert sum(len(columns) for columns, _ in batches()) < len(met) * COLUMNS / 2
    assert all(before != after for before, after in pairwise(met))
    assert not met[0] & met[-1]


@pytest.mark.parametrize(
    "array",
    [
        np.array([True, False, True, True, False, True]),
        np.array([1, 0, 1, 1, 0, 1], dtype=np.int8),
        np.array([1, -1, 1, 1, -1, 1], dtype=">i4"),
        np.array([1, 0, 1, 1, 0, 1], dtype=np.uint8),
        np.array([1, 9, 0, 9, 1, 9, 1, 9, 0, 9, 1, 9])[::2],
        np.array(["yes", "no", "yes", "yes", "no", "yes"]),
        np.ma.MaskedArray(
            [True, False, True, True, False, True], mask=[False, True, False, False, True, False]
        ),
    ],
    ids=["bool", "int8", "big-endian", "unsigned", "strided", "text", "masked"],
)
def test_labels_in_an_array_are_those_of_its_list(array: Any) -> None:
    rows = np.random.default_rng(4).normal(size=(6, 3))
    listed = array.tolist()
    classes = ("no", "yes") if "yes" in listed else None
    by_array, by_list = (hw.Linear(query="all", classes=classes) for _ in range(2))
    by_array.simulate(rows, array)
    by_list.simulate(rows, listed)
    assert by_array.learned == sum(label is not None for label in listed)
    assert by_array.to_bytes() == by_list.to_bytes()
    if None not in listed:
        by_array.learn_many(rows, array)
        by_list.learn_many(rows, listed)
        assert by_array.to_bytes() == by_list.to_bytes()
