"""The same events by every format: the same decision files, models and counts, byte for byte."""

import csv
import json
import random
import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.feather as feather  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

import headwater as hw
from headwater.errors import OutputError

Event = dict[str, Any]

COLUMNS = ("rain", "site", "on", "count", "tiny")
WORDS = ("roof", "hof", "zähler")


def made(
    seed: int, labels: Callable[[float], Any], ids: Callable[[int], Any] | None
) -> list[Event]:
    """Events whose values, labels and ids come and go; all of them may be absent."""
    rng = random.Random(seed)
    events = []
    for t in range(600):
        event: Event = {} if ids is None else {"id": ids(t)}
        values: Event = {
            "rain": rng.choice([0.0, -2.5, rng.gauss(0, 3)]),
            "site": rng.choice(WORDS),
            "on": rng.random() < 0.5,
            "count": rng.randrange(-5, 6),
            "tiny": rng.gauss(0, 1e-7),
        }
        kept: Event = {name: values[name] if rng.random() < 0.7 else None for name in COLUMNS}
        total = (kept["rain"] or 0.0) + (kept["count"] or 0) + rng.gauss(0, 1)
        events.append({**event, **kept, "y": None if t % 9 == 4 else labels(total)})
    return events


# One writer per format


def as_jsonl(events: list[Event], path: Path) -> None:
    lines = (json.dumps(event, ensure_ascii=False) + "\n" for event in events)
    path.write_text("".join(lines), encoding="utf-8")


def as_sparse_jsonl(events: list[Event], path: Path) -> None:
    as_jsonl([{k: v for k, v in event.items() if v is not None} for event in events], path)


def as_csv(events: list[Event], path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(
            file, list(events[0]), delimiter="\t" if path.suffix == ".tsv" else ","
        )
        table.writeheader()
        table.writerows(events)


def as_svmlight(events: list[Event], path: Path) -> None:
    lines = (f"{_label(event)} {_features(event)}\n" for event in events)
    path.write_text("".join(lines), encoding="utf-8")


def as_vw(events: list[Event], path: Path) -> None:
    tags = (f"'{event['id']}" if "id" in event else "" for event in events)
    lines = (f"{_label(e)} {tag}| {_features(e)}\n" for e, tag in zip(events, tags, strict=True))
    path.write_text("".join(lines), encoding="utf-8")


def _label(event: Event) -> str:
    return "" if event["y"] is None else repr(event["y"])


def _features(event: Event) -> str:
    """`name:value` as svmlight and VW write it; a text is its indicator."""
    given = {name: event[name] for name in COLUMNS if event[name] is not None}
    texts = {f"{k}={v}" if isinstance(v, str) else k: v for k, v in given.items()}
    return " ".join(f"{k}:{1 if isinstance(v, str) else float(v)!r}" for k, v in texts.items())


def as_parquet(events: list[Event], path: Path) -> None:
    pq.write_table(_table(events), path, row_group_size=250)


def as_arrow(events: list[Event], path: Path) -> None:
    feather.write_feather(_table(events), str(path), chunksize=170)


def _table(events: list[Event]) -> pa.Table:
    return pa.table({name: [event[name] for event in events] for name in events[0]})


TYPED: dict[str, Callable[[list[Event], Path], None]] = {
    "events.jsonl": as_jsonl,
    "sparse.jsonl": as_sparse_jsonl,
    "events.csv": as_csv,
    "events.tsv": as_csv,
    "events.parquet": as_parquet,
    "events.arrow": as_arrow,
}
VW = {"events.vw": as_vw}
SVMLIGHT = {"events.svm": as_svmlight}

LEARNERS: dict[str, Callable[[], hw.Learner]] = {
    "Linear": lambda: hw.Linear(query=hw.query.Budget(0.5)),
    "Spring": lambda: hw.Spring(label_rate=0.5),
    "FLLS": hw.FLLS,
    "bounded": lambda: hw.Linear(max_features=3, when_full="oldest", query="all"),
}
STREAMS: dict[str, tuple[Callable[[], hw.Learner], list[Event], dict[str, Any]]] = {
    **{
        f"{name}, 0 and 1": (make, made(1, lambda total: int(total > 0), None), VW | SVMLIGHT)
        for name, make in LEARNERS.items()
    },
    "−1 and +1, whole numbers as ids": (
        hw.Linear,
        made(2, lambda total: 1 if total > 0 else -1, lambda t: 3 * t - 7),
        VW,
    ),
    "0 and 1, words as ids": (
        hw.FLLS,
        made(3, lambda total: int(total > 0), lambda t: f"zähler-{t}" if t % 3 else f"0{t}"),
        VW,
    ),
    "False and True, sentences as ids": (
        hw.Linear,
        made(4, lambda total: total > 0, lambda t: f'„{t}", he said,\nand \\ left\x0b'),
        {},
    ),
    "several classes": (
        hw.MPAA,
        made(5, lambda total: ("cölder, much", "same", "warmer")[(total > -2) + (total > 2)], None),
        {},
    ),
    "numbers": (hw.PARegressor, made(6, lambda total: total / 3, lambda t: t), VW),
}


@pytest.mark.parametrize("out", ["decisions.csv", "decisions.jsonl"])
@pytest.mark.parametrize("stream", STREAMS)
def test_the_same_events_give_the_same_decision_file(stream: str, out: str, tmp_path: Path) -> None:
    make, events, others = STREAMS[stream]
    written: dict[str, bytes] = {}
    models: dict[str, bytes] = {}
    runs: dict[str, hw.FileRun] = {}
    for name, write in (TYPED | others).items():
        path = tmp_path / name
        write(events, path)
        id = "id" if "id" in events[0] else None
        model = make()
        run = model.simulate_file(path, id=id, decisions=tmp_path / out)
        assert run.bytes == path.stat().st_size
        written[name] = (tmp_path / out).read_bytes()
        models[name], runs[name] = model.to_bytes(), replace(run, bytes=0)
    first = written["events.jsonl"]
    assert first.count(b"\n") >= len(events)
    assert {name for name, text in written.items() if text != first} == set()
    assert len(set(models.values())) == len(set(runs.values())) == 1


def test_the_decision_file_has_no_forms_of_its_own_for_any_format(tmp_path: Path) -> None:
    events = made(7, lambda total: int(total > 0), lambda t: f"ä{t}")
    as_parquet(events, tmp_path / "events.parquet")
    hw.FLLS().simulate_file(tmp_path / "events.parquet", id="id", decisions=tmp_path / "d.jsonl")
    text = (tmp_path / "d.jsonl").read_text(encoding="utf-8")
    assert '"id": "ä0"' in text
    predictions = [json.loads(line)["prediction"] for line in text.splitlines()]
    assert predictions[0] is False, "no label was seen yet"
    assert set(map(repr, predictions[50:])) == {"0", "1"}


def test_predictions_are_the_same_by_every_format(tmp_path: Path) -> None:
    from click.testing import CliRunner

    from headwater.cli import main

    events = made(8, lambda total: int(total > 0), lambda t: t)
    model = hw.Linear(query="all")
    as_jsonl(events, tmp_path / "events.jsonl")
    model.simulate_file(tmp_path / "events.jsonl", id="id")
    model.save(tmp_path / "model.hw")
    for flag in ([], ["--json"]):
        told = set()
        for name, write in (TYPED | VW).items():
            write(events, tmp_path / name)
            files = [str(tmp_path / "model.hw"), str(tmp_path / name)]
            named = ["--id", "id", "--label", "y"]
            result = CliRunner().invoke(main, ["predict", *files, *named, *flag])
            assert result.exit_code == 0, result.output
            told.add(result.stdout)
        assert len(told) == 1
    lines = [json.loads(line) for line in told.pop().splitlines()]
    for event, line in zip(events, lines, strict=True):
        x = {name: event[name] for name in COLUMNS}
        explained = model.explain_one(x)
        assert line == {
            "id": event["id"],
            "prediction": explained.prediction,
            "margin": explained.margin,
            "query_probability": explained.query_probability,
            "probabilities": {str(k): v for k, v in model.predict_proba_one(x).items()},
        }


# What cannot be learned or written


@pytest.mark.parametrize("name", ["events.jsonl", "events.csv", "events.parquet", "events.arrow"])
def test_a_refused_step_is_skipped_with_its_event(name: str, tmp_path: Path) -> None:
    events = made(9, lambda total: int(total > 0), lambda t: t)
    bad = [dict(event) for event in events]
    bad[17]["rain"], bad[400]["tiny"] = 1e200, -1e190
    TYPED[name](bad, tmp_path / name)
    model = hw.Linear(query="all")
    decisions = tmp_path / "decisions.csv"
    run = model.simulate_file(tmp_path / name, id="id", on_error="skip", decisions=decisions)
    assert (run.events, run.skipped) == (598, 2)
    place = {"events.jsonl": "line 18", "events.csv": "line 19"}.get(name, "row 18")
    assert f"{name}, {place}: values must lie" in run.problems[0]
    written = {row["id"] for row in csv.DictReader(decisions.read_text().splitlines())}
    assert written == {str(t) for t in range(600)} - {"17", "400"}
    clean = hw.Linear(query="all")
    as_jsonl([e for e in events if e["id"] not in (17, 400)], tmp_path / "clean.jsonl")
    clean.simulate_file(tmp_path / "clean.jsonl", id="id")
    assert model.to_bytes() == clean.to_bytes()


@pytest.mark.skipif(sys.platform == "win32", reason="a device of POSIX")
@pytest.mark.parametrize("name", ["events.jsonl", "events.parquet", "events.arrow"])
def test_a_decision_that_cannot_be_written_is_not_learned(name: str, tmp_path: Path) -> None:
    TYPED[name](made(10, lambda total: int(total > 0), None), tmp_path / name)
    model = hw.Linear(query="all")
    before = model.to_bytes()
    with pytest.raises(OutputError, match="'/dev/full': the decisions cannot be written"):
        model.simulate_file(tmp_path / name, decisions="/dev/full", on_error="skip")
    assert model.to_bytes() == before


# Files that pyarrow decodes


def test_progress_counts_the_bytes_of_a_columnar_file(tmp_path: Path) -> None:
    count = 300_000
    table = pa.table(
        {"a": [float(n % 7) for n in range(count)], "y": [n % 2 for n in range(count)]}
    )
    for name, write in {"e.parquet": pq.write_table, "e.arrow": feather.write_feather}.items():
        path = tmp_path / name
        write(table, str(path))
        told: list[hw.FileRun] = []
        hw.Spring().simulate_file(path, progress=told.append)
        assert told
        assert all(0 < run.bytes <= path.stat().st_size for run in told)
        assert all(a.bytes <= b.bytes for a, b in pairwise(told))

        def stop(run: hw.FileRun) -> None:
            raise RuntimeError("enough")

        model = hw.Spring()
        with pytest.raises(RuntimeError, match="enough"):
            model.simulate_file(path, progress=stop)
        assert 0 < model.seen < count


def test_whole_numbers_keep_all_their_digits_as_labels_and_ids(tmp_path: Path) -> None:
    large = 2**60 + 1
    path = tmp_path / "e.parquet"
    columns = {"id": pa.array([large, None]), "a": [1.0, 2.0], "y": pa.array([large, 7])}
    pq.write_table(pa.table(columns), path)
    records = list(hw.open(path, id="id").records())
    assert [(record.id, record.y) for record in records] == [(large, large), (None, 7)]
    pq.write_table(pa.table({**columns, "id": [1.0, 2.5]}), path)
    with pytest.raises(hw.errors.EventFileError, match=r"row 2: expected a text or an integer"):
        list(hw.open(path, id="id").records())
    pq.write_table(pa.table({**columns, "y": pa.array([2**64 - 1, 1], pa.uint64())}), path)
    assert [y for _, y in hw.open(path, id="id")] == [float(2**64 - 1), 1]


def test_a_damaged_file_is_named_behind_its_events(tmp_path: Path) -> None:
    path = tmp_path / "e.parquet"
    noise = random.Random(1)
    table = pa.table(
        {"a": [noise.random() for _ in range(20_000)], "y": [n % 2 for n in range(20_000)]}
    )
    pq.write_table(table, path, row_group_size=10_000, compression="zstd")
    data = bytearray(path.read_bytes())
    middle = len(data) // 2 + 5_000
    data[middle : middle + 30_000] = bytes(30_000)
    path.write_bytes(data)
    model = hw.Linear()
    with pytest.raises(
        hw.errors.EventFileError, match=r"e\.parquet: it cannot be read after row \d+: "
    ):
        model.simulate_file(path)
    assert 0 < model.seen < 20_000
