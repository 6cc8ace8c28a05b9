"""Files of events: every format gives the events that are in it, or a sentence."""

import csv
import gzip
import io
import json
import math
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headwater as hw
from effort import reduced
from forms import plain
from headwater.errors import EventFileError, LabelError, ParameterError, StepError
from headwater.types import Label

Stream = list[tuple[dict[Any, Any], Any]]


def changing(events: int, seed: int = 7, columns: int = 60) -> Stream:
    """A stream whose columns come and go: numbers, bools, texts, nothing; a label or none."""
    rng = random.Random(seed)
    stream: Stream = []
    for t in range(events):
        first = columns * t // (2 * events)  # old columns go, new ones come
        x: dict[str, Any] = {}
        for column in range(first, first + columns // 2):
            chance = rng.random()
            if chance < 0.5:
                x[f"c{column}"] = rng.choice([0.0, 1.0, -2.5, rng.gauss(0, 3), rng.gauss(0, 1e-7)])
            elif chance < 0.55:
                x[f"c{column}"] = rng.choice(["red", "green", "blau, grün"])
            elif chance < 0.6:
                x[f"c{column}"] = rng.random() < 0.5
            elif chance < 0.65:
                x[f"c{column}"] = None
        total = sum(v for v in x.values() if isinstance(v, float))
        stream.append((x, None if t % 10 == 3 else total > 0))
    return stream


STREAM = changing(3_000)
COLUMNS = list(dict.fromkeys(f"c{column}" for column in range(60)))


def as_json(stream: Stream) -> str:
    lines = ({**x, "y": y} if y is not None else x for x, y in stream)
    return "".join(json.dumps(line) + "\n" for line in lines)


def as_csv(stream: Stream) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, [*COLUMNS, "y"], lineterminator="\n")
    writer.writeheader()
    for x, y in stream:
        writer.writerow({**x, "y": y})
    return text.getvalue()


def as_svmlight(stream: Stream) -> str:
    def line(x: dict[Any, Any], y: Any) -> str:
        head = "nan" if y is None else str(int(y))
        return " ".join([head, *(f"{name}:{value!r}" for name, value in plain(x).items())])

    return "".join(line(x, y) + "\n" for x, y in stream)


def as_vw(stream: Stream) -> str:
    def line(x: dict[Any, Any], y: Any) -> str:
        head = "" if y is None else str(int(y))
        return " ".join([head, "|", *(f"{name}:{value!r}" for name, value in plain(x).items())])

    return "".join(line(x, y) + "\n" for x, y in stream)


def by_events(model: hw.Learner, stream: Any) -> hw.Learner:
    for x, y in stream:
        decision = model.decide_one(x)
        if decision.asked and y is not None:
            model.answer(decision, y)
    return model


LEARNERS: dict[str, Callable[[], hw.Learner]] = {
    "FLLS": lambda: hw.FLLS(seed=3),
    "Linear": lambda: hw.Linear(seed=3),
    "Linear, several classes": lambda: hw.Linear(multiclass=True, seed=3),
    "OLVF": lambda: hw.OLVF(seed=3),
    "FESL": lambda: hw.FESL(seed=3),
    "OFSP": lambda: hw.OFSP(seed=3),
    "PARegressor": lambda: hw.PARegressor(seed=3, query="random"),
    "FLLS-I_SI": lambda: hw.named("FLLS-I_SI", seed=3),
}
WRITERS = {"jsonl": as_json, "csv": as_csv, "svm": as_svmlight, "vw": as_vw}


def without_spaces(stream: Stream) -> Stream:
    """The same with texts that svmlight and VW can hold."""
    return [
        ({k: v.partition(",")[0] if isinstance(v, str) else v for k, v in x.items()}, y)
        for x, y in stream
    ]


@pytest.mark.parametrize("suffix", WRITERS)
@pytest.mark.parametrize("learner", LEARNERS)
def test_a_file_gives_the_bytes_of_the_event_loop(
    learner: str, suffix: str, tmp_path: Path
) -> None:
    stream = without_spaces(STREAM[:2_000])
    if suffix in ("svm", "vw"):  # where a label is a number
        stream = [(x, None if y is None else int(y)) for x, y in stream]
    path = tmp_path / f"events.{suffix}"
    path.write_text(WRITERS[suffix](stream))
    make = LEARNERS[learner]
    try:
        expected = by_events(make(), stream).to_bytes()
    except StepError:
        pytest.skip("the learner does not take this stream")
    model = make()
    run = model.simulate_file(path)
    assert model.to_bytes() == expected
    assert (run.events, run.asked, run.learned) == (model.seen, model.asked, model.learned)
    in_batches = make()
    for X, y in hw.open(path).batches(300):
        in_batches.simulate(X, y)
    assert in_batches.to_bytes() == expected
    assert by_events(make(), hw.open(path)).to_bytes() == expected


# Parquet and Arrow


def as_table(stream: Stream) -> Any:
    pa = pytest.importorskip("pyarrow")
    kinds = {"c0": pa.float64(), "c1": pa.dictionary(pa.int32(), pa.string()), "c2": pa.bool_()}
    columns = {
        name: pa.array([x.get(name) for x, _ in stream], kind) for name, kind in kinds.items()
    }
    columns["c3"] = pa.array([x.get("c3") for x, _ in stream], pa.int32())
    columns["c4"] = pa.array([x.get("c4") for x, _ in stream], pa.string())
    columns["y"] = pa.array([y for _, y in stream])
    columns["id"] = pa.array([f"e{t}" for t in range(len(stream))])
    return pa.table(columns)


def columnar_stream(events: int) -> Stream:
    rng = random.Random(5)
    stream: Stream = []
    for t in range(events):
        x: dict[str, Any] = {
            "c0": rng.gauss(0, 1),
            "c1": rng.choice(["red", "green"]),
            "c2": rng.random() < 0.5,
            "c3": rng.randrange(-3, 4),
            "c4": rng.choice(["a", "b", "c"]) if t > events // 3 else None,
        }
        x = {name: value for name, value in x.items() if rng.random() < 0.8}
        y = None if t % 10 == 3 else x.get("c0", 0) + x.get("c3", 0) > 0
        stream.append((x, y))
    return stream


def write_columnar(stream: Stream, path: Path) -> None:
    table = as_table(stream)
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq  # type: ignore[import-untyped, unused-ignore]

        pq.write_table(table, path, row_group_size=3_000)
    else:
        import pyarrow.feather as feather  # type: ignore[import-untyped, unused-ignore]

        feather.write_feather(table, str(path), chunksize=3_000)


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "feather"])
@pytest.mark.parametrize("learner", ["Linear", "FLLS", "Linear, several classes", "PARegressor"])
def test_parquet_and_arrow_give_the_bytes_of_the_event_loop(
    learner: str, suffix: str, tmp_path: Path
) -> None:
    pytest.importorskip("pyarrow")
    stream = columnar_stream(10_000)
    path = tmp_path / f"events.{suffix}"
    write_columnar(stream, path)
    make = LEARNERS[learner]
    expected = by_events(make(), stream)
    model = make()
    run = model.simulate_file(path, id="id")
    assert model.to_bytes() == expected.to_bytes()
    # The same counts as for a file that the core reads.
    (tmp_path / "events.jsonl").write_text(as_json(stream))
    other = make().simulate_file(tmp_path / "events.jsonl")
    assert run.absolute_error == pytest.approx(other.absolute_error)
    for count in ("events", "labelled", "mistakes", "asked", "learned", "skipped"):
        assert getattr(run, count) == getattr(other, count), count
    first = next(hw.open(path, id="id").records())
    assert first == hw.Record("e0", plain(stream[0][0]), stream[0][1])
    assert sum(len(y) for _, y in hw.open(path, id="id").batches(777)) == len(stream)


def test_a_step_that_is_refused_names_the_row_of_the_file_once(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    path = tmp_path / "events.parquet"
    values = [float(n % 5) for n in range(5_000)]
    values[4_500] = 1e200
    pq.write_table(pa.table({"a": values, "y": [n % 2 for n in range(5_000)]}), path)
    with pytest.raises(StepError, match=r"events\.parquet, row 4501: values must lie"):
        hw.Linear().simulate_file(path)


def test_a_bad_row_of_parquet_is_named_and_those_before_it_are_learned(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    path = tmp_path / "events.parquet"
    values, labels = [1.0, 2.0, math.inf, 3.0], ["ham", "spam", "ham", "egg"]
    pq.write_table(pa.table({"a": values, "y": labels}), path)
    model = hw.OLSF(classes=("ham", "spam"))
    with pytest.raises(EventFileError, match=r"parquet, row 3: feature 'a' must be a finite"):
        model.simulate_file(path)
    assert model.seen == 2
    model = hw.OLSF(classes=("ham", "spam"))
    run = model.simulate_file(path, on_error="skip")
    assert (run.events, run.skipped) == (2, 2)
    assert "row 3: feature 'a' must be a finite" in run.problems[0]
    assert "row 4: label: expected 'ham' or 'spam', got 'egg'" in run.problems[1]
    with pytest.raises(EventFileError, match="there is no column 'wet'; it has 'a', 'y'"):
        model.simulate_file(path, label="wet")
    pq.write_table(pa.table({"a": [[1.0]], "y": [1]}), path)
    with pytest.raises(EventFileError, match="column 'a' must hold numbers, booleans or text"):
        model.simulate_file(path)


def test_a_column_may_not_be_named_as_the_indicator_of_another(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    path = tmp_path / "events.parquet"
    columns = {"a": ["b", "c", "c=d"], "a=b": [1.0, 2.0, None], "a=c": [None, None, "d"]}
    pq.write_table(pa.table({**columns, "y": [0, 1, 1]}), path)
    assert list(hw.open(path, on_error="skip")) == [({"a=c": 1.0, "a=b": 2.0}, 1)]
    file = hw.open(path, on_error="skip")
    assert len(list(file.batches())) == 1
    assert [problem.partition(", ")[2] for problem in file.problems] == [
        "row 1: feature 'a=b' appears twice.",
        "row 3: feature 'a=c=d' appears twice.",
    ]


def test_rows_without_features_are_events(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    path = tmp_path / "events.parquet"
    pq.write_table(pa.table({"y": [True, None]}), path)
    assert list(hw.open(path)) == [({}, True), ({}, None)]
    path.write_bytes(b"junk")
    with pytest.raises(EventFileError, match="cannot be read"):
        list(hw.open(path))


# Packed files


def test_packed_files_are_the_same_whatever_they_are_called(tmp_path: Path) -> None:
    text = as_json(STREAM[:3_000]).encode()
    plain, packed = tmp_path / "events.jsonl", tmp_path / "events.jsonl.gz"
    plain.write_bytes(text)
    half = text.index(b"\n", len(text) // 2) + 1
    packed.write_bytes(gzip.compress(text[:half]) + gzip.compress(text[half:]))
    disguised = tmp_path / "disguised.jsonl"
    disguised.write_bytes(gzip.compress(text))
    states = set()
    for path in (plain, packed, disguised):
        model = hw.FLLS()
        run = model.simulate_file(path)
        states.add(model.to_bytes())
        assert run.events == 3_000
        assert run.bytes == path.stat().st_size
    assert len(states) == 1


def test_zstd_is_unpacked(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    text = as_json(STREAM[:3_000]).encode()
    path = tmp_path / "events.jsonl.zst"
    with pa.CompressedOutputStream(str(path), "zstd") as out:
        out.write(text)
    assert path.read_bytes()[:4] == b"\x28\xb5\x2f\xfd"
    model, other = hw.FLLS(), hw.FLLS()
    model.simulate_file(path)
    (tmp_path / "events.jsonl").write_bytes(text)
    other.simulate_file(tmp_path / "events.jsonl")
    assert model.to_bytes() == other.to_bytes()


def test_a_packed_file_that_is_cut_off_is_refused_behind_its_events(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl.gz"
    packed = gzip.compress(as_json(STREAM[:3_000]).encode())
    path.write_bytes(packed[: len(packed) // 2])
    model = hw.FLLS()
    with pytest.raises(EventFileError, match="cannot be read after line") as caught:
        model.simulate_file(path)
    assert 0 < model.seen < 3_000
    assert f"after line {model.seen}:" in str(caught.value)


# Wrong input


BAD = [
    ("jsonl", '{"a": 1, "y": true', "line 3: expected a comma or a closing brace, got the end"),
    ("jsonl", "\0\1\2", "line 3: expected a JSON object, got"),
    ("jsonl", '{"a": Infinity}', "line 3: feature 'a' must be a finite number, got inf"),
    ("jsonl", '{"a": 1, "a": 1}', "line 3: feature 'a' appears twice"),
    ("jsonl", '{"(intercept)": 1}', r"line 3: feature '\(intercept\)' is the learner's own"),
    ("svm", "1 a", "line 3: expected name:value, value a number, got 'a'"),
    ("svm", "spam a:1", "line 3: expected a number as the label, got 'spam'"),
    ("svm", "1 a:1 a:2", "line 3: feature 'a' appears twice"),
    ("svm", "1 new:1 new:2", "line 3: feature 'new' appears twice"),
    ("vw", "1 a", "line 3: expected a bar before the features"),
    ("vw", "1 | a:-inf", "line 3: feature 'a' must be a finite number, got -inf"),
]


@pytest.mark.parametrize(("suffix", "line", "sentence"), BAD)
def test_a_bad_line_is_named_and_the_events_before_it_are_learned(
    suffix: str, line: str, sentence: str, tmp_path: Path
) -> None:
    good = {
        "jsonl": '{"a": 1, "y": 1}\n{"a": -1, "b": 1, "y": 0}\n',
        "svm": "1 a:1\n0 a:-1 b:1\n",
        "vw": "1 | a:1\n0 | a:-1 b:1\n",
    }[suffix]
    path = tmp_path / f"events.{suffix}"
    path.write_text(f"{good}{line}\n{good}")

    def make() -> hw.Learner:
        return hw.Linear(query="all")

    two = by_events(make(), [({"a": 1.0}, 1), ({"a": -1.0, "b": 1.0}, 0)])
    model = make()
    with pytest.raises(EventFileError, match=sentence) as caught:
        model.simulate_file(path)
    assert str(caught.value).startswith(str(path))
    assert model.to_bytes() == two.to_bytes()
    run = model.simulate_file(path, on_error="skip")
    assert (run.events, run.skipped) == (4, 1)
    assert run.problems == (str(caught.value),)
    if "intercept" in line:
        return  # a fine name for those who have no intercept of their own
    with pytest.raises(EventFileError, match=sentence):
        list(hw.open(path))
    walk = iter(hw.open(path))
    assert [x for x, _ in (next(walk), next(walk))] == [{"a": 1.0}, {"a": -1.0, "b": 1.0}]
    batches = hw.open(path).batches(10)
    assert len(next(batches)[1]) == 2
    with pytest.raises(EventFileError, match=sentence):
        next(batches)
    file = hw.open(path, on_error="skip")
    assert (len(list(file)), file.skipped, file.problems) == (4, 1, [str(caught.value)])
    assert [len(y) for _, y in hw.open(path, on_error="skip").batches(3)] == [3, 1]


def test_bytes_that_are_no_text_are_named(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(b'{"a": 1}\n' + bytes(range(128, 256)) + b"\n")
    with pytest.raises(EventFileError, match="line 2: expected text in UTF-8, got byte 0x80 at 1"):
        hw.PAA().simulate_file(path)
    path.write_bytes(random.Random(1).randbytes(100_000).replace(b"\x1f\x8b", b""))
    with pytest.raises(EventFileError, match="line 1: "):
        hw.PAA().simulate_file(path)


def test_a_csv_file_needs_its_header_and_its_label(tmp_path: Path) -> None:
    path = tmp_path / "events.csv"
    path.write_text("")
    with pytest.raises(EventFileError, match=r"events\.csv: it is empty; expected a header"):
        hw.PAA().simulate_file(path)
    path.write_text("a,b\n1,2\n")
    with pytest.raises(EventFileError, match="there is no column 'y'; its header has 'a', 'b'"):
        hw.PAA().simulate_file(path)
    assert list(hw.open(path, label=None)) == [({"a": 1.0, "b": 2.0}, None)]
    path.write_text("a,y\n1,True\n2\n")
    model = hw.PAA()
    with pytest.raises(EventFileError, match="line 3: expected 2 cells, got 1"):
        model.simulate_file(path)
    assert model.learned == 1


@pytest.mark.parametrize("suffix", ["jsonl", "svm", "vw", "jsonl.gz"])
def test_an_empty_file_has_no_events(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"events.{suffix}"
    path.write_bytes(gzip.compress(b"") if suffix.endswith("gz") else b"")
    assert hw.PAA().simulate_file(path).events == 0
    assert list(hw.open(path)) == []
    assert list(hw.open(path).batches()) == []


def test_a_file_that_is_not_there_is_pythons_own_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"gone\.csv"):
        hw.PAA().simulate_file(tmp_path / "gone.csv")
    with pytest.raises(IsADirectoryError):
        list(hw.open(tmp_path, format="csv"))
    path = tmp_path / "events.svm"
    path.write_text("1 1:1\n")
    with pytest.raises(FileNotFoundError):
        hw.PAA().simulate_file(path, decisions=tmp_path / "no folder" / "decisions.csv")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"path": "events"}, "its name does not say its format"),
        ({"path": "events.txt.gz"}, "its name does not say its format"),
        ({"path": 3}, "path must be a path, got 3"),
        ({"path": "e.csv", "format": "xml"}, "format must be one of arrow, csv, .*, got 'xml'"),
        ({"path": "e.csv", "on_error": "ignore"}, "on_error must be 'raise' or 'skip'"),
        ({"path": "e.csv", "label": 3}, "label must be a str or None, got 3"),
        ({"path": "e.csv", "id": 3}, "id must be a str or None, got 3"),
        ({"path": "e.csv", "id": "y"}, "label and id must differ, got 'y'"),
    ],
)
def test_open_refuses_what_makes_no_sense(arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ParameterError, match=sentence):
        hw.open(**arguments)


@pytest.mark.parametrize("size", [0, -1, 1.5, True, "many"])
def test_a_batch_has_a_size(size: Any, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="size must be a whole number of at least 1"):
        next(hw.open(tmp_path / "e.csv").batches(size))


def test_labels_that_do_not_fit_are_named_before_they_do_harm(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text('{"a": 1, "y": 1}\n{"a": 1, "y": 0}\n{"a": 1, "y": -1}\n{"a": 1, "y": 1}\n')
    model = hw.OLSF()
    with pytest.raises(LabelError, match=r"line 3: label: the labels so far were 0 or 1, got -1"):
        model.simulate_file(path)
    assert model.seen == 2
    run = hw.OLSF().simulate_file(path, on_error="skip")
    assert (run.events, run.skipped) == (3, 1)


def test_a_step_that_is_refused_is_named(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text('{"a": 1, "y": 1}\n{"a": 1e300, "y": 0}\n{"a": 1, "y": 0}\n')
    model = hw.OLSF()
    with pytest.raises(StepError, match="line 2: "):
        model.simulate_file(path)
    assert model.learned == 1
    run = hw.OLSF().simulate_file(path, on_error="skip")
    assert (run.learned, run.skipped) == (2, 1)


# What is told


def test_a_run_counts_what_happened(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text(as_json(STREAM[:2_000]))
    model, seen = hw.Linear(seed=2), []
    for x, y in STREAM[:2_000]:
        decision = model.decide_one(x)
        seen.append((decision.prediction, y))
        if decision.asked and y is not None:
            model.answer(decision, y)
    run = hw.Linear(seed=2).simulate_file(path)
    labelled = [(guess, truth) for guess, truth in seen if truth is not None]
    assert run.labelled == len(labelled)
    assert run.mistakes == sum(guess != truth for guess, truth in labelled)
    assert run.error_rate == run.mistakes / run.labelled
    assert run.asked_share == model.asked / 2_000
    assert run.bytes == path.stat().st_size
    path.write_text("")
    assert math.isnan(hw.Linear().simulate_file(path).error_rate)


def test_a_regressors_errors_are_summed(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text('{"a": 1, "y": 2.5}\n{"a": 1}\n{"b": 1, "y": -1}\n')
    run = hw.PARegressor(intercept=False).simulate_file(path)
    assert (run.labelled, run.mistakes, run.absolute_error) == (2, 0, 3.5)
    assert run.mean_absolute_error == 1.75


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
@pytest.mark.parametrize("out", ["decisions.jsonl", "decisions.csv"])
def test_decisions_are_written_as_they_are_made(suffix: str, out: str, tmp_path: Path) -> None:
    stream = columnar_stream(500)
    path, written = tmp_path / f"events.{suffix}", tmp_path / out
    if suffix == "parquet":
        pytest.importorskip("pyarrow")
        write_columnar(stream, path)
    else:
        lines = ({"id": f"e{t}", **x, "y": y} for t, (x, y) in enumerate(stream))
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    hw.FLLS(seed=4).simulate_file(path, id="id", decisions=written)
    if out.endswith("csv"):
        with written.open(newline="") as file:
            rows = list(csv.DictReader(file))
        fields = [{k: v if k == "id" else json.loads(v) for k, v in row.items()} for row in rows]
    else:
        fields = [json.loads(line) for line in written.read_text().splitlines()]
    assert len(fields) == len(stream)
    model = hw.FLLS(seed=4)
    for t, ((x, y), found) in enumerate(zip(stream, fields, strict=True)):
        decision = model.decide_one(x)
        assert found["id"] == f"e{t}"
        for field in ("prediction", "margin", "query_probability", "asked"):
            assert found[field] == getattr(decision, field)
        if decision.asked and y is not None:
            model.answer(decision, y)


def test_an_event_without_an_id_is_known_by_its_number(tmp_path: Path) -> None:
    path, written = tmp_path / "events.svm", tmp_path / "decisions.jsonl"
    path.write_text("1 1:1\n-1 2:1\n")
    hw.PAA().simulate_file(path, decisions=written)
    assert [json.loads(line)["id"] for line in written.read_text().splitlines()] == [0, 1]


def test_progress_is_told_and_may_stop_the_run(tmp_path: Path) -> None:
    path = tmp_path / "events.svm"
    path.write_text("1 1:1 2:0.5 3:0.25\n-1 2:1 4:2\n" * 400_000)
    told: list[hw.FileRun] = []
    model = hw.Linear()
    model.simulate_file(path, progress=told.append)
    assert told
    assert all(a.events < b.events and a.bytes <= b.bytes for a, b in pairwise(told))
    assert all(run.asked <= run.events <= 800_000 for run in told)

    def stop(run: hw.FileRun) -> None:
        raise RuntimeError("enough")

    model = hw.Linear()
    with pytest.raises(RuntimeError, match="enough"):
        model.simulate_file(path, progress=stop)
    assert 0 < model.seen < 800_000


def test_ctrl_c_stops_a_run_after_a_whole_event(tmp_path: Path) -> None:
    path = tmp_path / "events.svm"
    path.write_text("1 1:1 2:0.5 3:0.25\n-1 2:1 4:2\n" * 1_000_000)
    model = hw.Linear()
    timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        [model.simulate_file(path) for _ in range(100)]
    timer.join()
    assert model.seen > 0
    x = {1: 1.0, 2: 0.5, 3: 0.25}
    assert model.decide_one(x).prediction in (1, -1)


PROGRAM = """
import sys, headwater as hw
print("ready", file=sys.stderr, flush=True)
if sys.argv[1] == "run":
    print(hw.PAA().simulate_file("-", format="jsonl").events)
else:
    file = hw.open("-", format="jsonl")
    print(sum(1 for _ in file))
"""


@pytest.mark.parametrize("verb", ["run", "walk"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_standard_input_is_read(verb: str, pack: Callable[[bytes], bytes]) -> None:
    text = pack(b'{"a": 1, "y": 1}\n{"a": 2, "y": 0}\n')
    command = [sys.executable, "-c", PROGRAM, verb]
    done = subprocess.run(command, input=text, capture_output=True, check=True)
    assert done.stdout.strip() == b"2"


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX's")
@pytest.mark.parametrize("verb", ["run", "walk"])
@pytest.mark.parametrize("begun", [b"", b'{"a": 1, "y": 1}\n'], ids=["silent", "begun"])
def test_ctrl_c_is_heard_while_standard_input_says_nothing(verb: str, begun: bytes) -> None:
    command = [sys.executable, "-c", PROGRAM, verb]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write(begun)
        process.stdin.flush()
        assert process.stderr.readline() == b"ready\n"
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        try:
            process.wait(timeout=20)
        finally:
            process.kill()
        assert b"KeyboardInterrupt" in process.stderr.read()


@pytest.mark.skipif(sys.platform == "win32", reason="named pipes are POSIX's")
def test_a_named_pipe_is_read_once(tmp_path: Path) -> None:
    path = tmp_path / "events.svm"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=["1 1:1\n-1 2:1\n"])
    writer.start()
    assert hw.PAA().simulate_file(path).events == 2
    writer.join()


@pytest.mark.skipif(sys.platform == "win32", reason="named pipes are POSIX's")
def test_a_header_that_comes_slowly_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "events.csv"
    os.mkfifo(path)
    packed = gzip.compress(b"a,y\n1,True\n2,False\n")

    def write() -> None:
        with path.open("wb", buffering=0) as pipe:
            pipe.write(packed[:10])
            time.sleep(0.3)
            pipe.write(packed[10:])

    writer = threading.Thread(target=write)
    writer.start()
    assert hw.PAA().simulate_file(path, label="y").events == 2
    writer.join()


# A file says what a dict says

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.floats().filter(lambda v: not 1e150 < abs(v) < math.inf),
    st.integers(-(2**70), 2**70),
    st.text(max_size=8),
)
events = st.dictionaries(st.text(max_size=8).filter(lambda name: name != "y"), scalars, max_size=8)


@settings(max_examples=reduced(300), deadline=None)
@given(st.lists(st.tuples(events, st.sampled_from([True, False, None])), max_size=5))
def test_what_json_writes_is_read_as_the_dict_it_was(
    tmp_path_factory: pytest.TempPathFactory, stream: list[tuple[dict[str, Any], Any]]
) -> None:
    path = tmp_path_factory.mktemp("json") / "events.jsonl"
    lines: list[str] = []
    for x, y in stream:
        try:
            lines.append(json.dumps({**x, "y": y}, ensure_ascii=len(lines) % 2 == 0))
        except UnicodeEncodeError:  # pragma: no cover
            return
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")
    found = iter(hw.open(path))
    for x, y in stream:
        try:
            expected = hw.PAA().decide_one(x).features
        except hw.errors.EventError:
            with pytest.raises(EventFileError):
                next(found)
            return
        features, label = next(found)
        assert (features, label) == (expected, y)
        assert list(features) == list(expected)
    assert next(found, None) is None


@settings(max_examples=reduced(300), deadline=None)
@given(
    st.lists(
        st.lists(st.text(max_size=6).filter(lambda t: "\0" not in t), min_size=3, max_size=3),
        max_size=4,
    )
)
def test_csv_cells_are_those_that_python_reads(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]]
) -> None:
    path = tmp_path_factory.mktemp("csv") / "events.csv"
    text = io.StringIO()
    csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows([["a", "b", "c"], *rows])
    path.write_text(text.getvalue(), encoding="utf-8", newline="")
    found = iter(hw.open(path, label=None))
    for row in rows:
        expected: dict[str, float] = {}
        for name, cell in zip("abc", row, strict=True):
            word = cell.strip(" \t")
            if not word:
                continue
            if word.lower() in ("true", "false") and word in (
                "true",
                "True",
                "TRUE",
                "false",
                "False",
                "FALSE",
            ):
                expected[name] = float(word.lower() == "true")
                continue
            try:
                number = float(word) if word.isascii() and "_" not in word else None
            except ValueError:
                number = None
            if number is None:
                expected[f"{name}={cell}"] = 1.0
            elif math.isfinite(number):
                expected[name] = number
            elif math.isinf(number):
                with pytest.raises(EventFileError, match="finite"):
                    next(found)
                return
        assert next(found)[0] == expected
    assert next(found, None) is None


@settings(max_examples=reduced(200), deadline=None)
@given(st.binary(max_size=300), st.sampled_from(["svm", "vw", "jsonl", "csv", "tsv"]))
def test_no_bytes_make_a_reader_fall_over(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, suffix: str
) -> None:
    path = tmp_path_factory.mktemp("junk") / f"events.{suffix}"
    path.write_bytes(content)
    try:
        run = hw.PAA().simulate_file(path, on_error="skip")
    except EventFileError:
        return
    file = hw.open(path, on_error="skip")
    walked: list[tuple[dict[Any, float], Label | None]] = list(file)
    assert len(walked) >= run.events


# Memory


def test_the_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    chunk = as_json(STREAM[:2_000])
    times = 50_000_000 // len(chunk)
    with path.open("w") as file:
        for _ in range(times):
            file.write(chunk)
    program = (
        "import resource, sys, headwater as hw\n"
        "model = hw.FLLS()\n"
        "model.simulate_file(sys.argv[2])\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "run = model.simulate_file(sys.argv[1])\n"
        "after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "print(run.events, after - before)\n"
    )
    small = tmp_path / "small.jsonl"
    small.write_text(chunk)
    command = [sys.executable, "-c", program, str(path), str(small)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    events, grown = map(int, done.stdout.split())
    assert events == 2_000 * times
    assert grown * (1 if sys.platform == "darwin" else 1024) < 4_000_000
