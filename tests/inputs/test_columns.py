"""Columns have roles: the same for files of every format, frames, lists and sessions."""

import csv
import datetime
import gzip
import json
import os
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pandas as pd
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.feather as feather  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

import headwater as hw
from headwater.errors import EventError, EventFileError, ParameterError
from headwater.inputs.config import SCHEMA, read_config, schema_table
from headwater.inputs.findings import Finding

Event = dict[str, Any]

COLUMNS = hw.Columns(
    label="fault",
    id="number",
    time="at",
    group="machine",
    ignore=["junk"],
    text=["note"],
    category=["zip"],
    number=["temperature"],
    time_features=["hour", "weekday", "since_last"],
    ngrams=2,
)
NOTES = ("Bearing hot, again!", "all fine", "Loud: smell of oil", "fine, nothing loud")


def made(count: int = 300) -> list[Event]:
    rng = random.Random(3)
    start = datetime.datetime(2026, 3, 2, 22, 0, tzinfo=datetime.UTC)
    events = []
    for n in range(count):
        fault = rng.random() < 0.4
        at = start + datetime.timedelta(seconds=rng.randrange(1, 60) + 300 * n)
        event = {
            "number": f"e-{n}",
            "at": at.isoformat().replace("+00:00", "Z"),
            "machine": rng.choice(["north", "south"]),
            "junk": f"never {rng.random()}",
            "note": rng.choice(NOTES[:2] if fault else NOTES[1:]),
            "zip": f"{rng.randrange(3):05}",
            "temperature": f"{rng.gauss(70 if fault else 60, 5):.1f} °C",
            "rain": rng.gauss(0, 1),
            "site": rng.choice(["roof", "yard"]),
            "fault": int(fault),
        }
        for name in ("note", "zip", "temperature", "rain", "fault", "at"):
            if rng.random() < 0.15:
                event[name] = None
        events.append(event)
    return events


def as_jsonl(events: list[Event], path: Path) -> None:
    path.write_text("".join(json.dumps(event) + "\n" for event in events))


def as_csv(events: list[Event], path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, list(events[0]))
        table.writeheader()
        table.writerows(events)


def as_table(events: list[Event]) -> pa.Table:
    columns = {name: [event[name] for event in events] for name in events[0]}
    times = [None if at is None else datetime.datetime.fromisoformat(at) for at in columns["at"]]
    return pa.table({**columns, "at": pa.array(times, pa.timestamp("ms", "UTC"))})


FORMATS: dict[str, Callable[[list[Event], Path], None]] = {
    "e.jsonl": as_jsonl,
    "e.csv": as_csv,
    "e.parquet": lambda events, path: pq.write_table(as_table(events), path),
    "e.arrow": lambda events, path: feather.write_feather(as_table(events), str(path)),
}


@pytest.mark.parametrize("verb", ["simulate_file", "learn_file"])
def test_the_same_events_with_roles_give_the_same_bytes_by_every_format(
    verb: str, tmp_path: Path
) -> None:
    events, written, models = made(), set(), set()
    for name, write in FORMATS.items():
        write(events, tmp_path / name)
        model = hw.Linear()
        out = tmp_path / "decisions.jsonl"
        run = getattr(model, verb)(tmp_path / name, columns=COLUMNS, decisions=out)
        assert (run.events, run.findings) == (300, ())
        assert run.units == (("temperature", "°C"),)
        written.add(out.read_bytes())
        models.add(model.to_bytes())
    assert len(written) == len(models) == 1
    loaded = hw.from_bytes(models.pop())
    assert loaded.columns == replace(COLUMNS, units={"temperature": "°C"})
    names = {str(feature.name) for feature in loaded.features()}
    assert {"note:hot", "note:all fine", "zip=00001", "temperature", "at.hour=23"} <= names
    assert {"at.weekday=tue", "at.since_last", "rain", "site=roof"} <= names
    assert not [name for name in names if name.startswith(("junk", "at=", "number", "machine"))]


def test_frames_lists_and_sessions_give_the_events_of_the_file(tmp_path: Path) -> None:
    events = made()
    as_jsonl(events, tmp_path / "e.jsonl")
    records = list(hw.open(tmp_path / "e.jsonl", columns=COLUMNS).records())
    frame = as_table(events)
    sources = [frame, pl.from_arrow(frame), frame.to_pandas(), events]
    for source in sources:
        X, y, ids = COLUMNS.read(source)
        assert (y, ids) == ([record.y for record in records], [record.id for record in records])
        for row, record in enumerate(records):
            place = slice(X.indptr[row], X.indptr[row + 1])
            names = [X.names[column] for column in X.indices[place]]
            assert dict(zip(names, X.data[place].tolist(), strict=True)) == record.x
    by_session, by_loop = hw.Linear(), hw.Linear()
    labels = {f"e-{n}": bool(event["fault"]) for n, event in enumerate(events)}
    session = hw.Session(by_session, hw.labels.Oracle(labels), columns=COLUMNS)
    for event, record in zip(events, records, strict=True):
        session.receive(event)
        session.settle()
        decision = by_loop.decide_one(record.x)
        if decision.asked:
            by_loop.answer(decision, labels[str(record.id)])
    assert by_session.to_bytes() == by_loop.to_bytes()


def test_dates_of_frames_and_dicts_are_times_with_the_role() -> None:
    days = [datetime.date(2026, 3, 2), datetime.date(2026, 3, 3)]
    columns = hw.Columns(time="day", time_features=["weekday"])
    for source in (
        pd.DataFrame({"day": days}),
        pl.DataFrame({"day": days}),
        [{"day": d} for d in days],
    ):
        assert columns.read(source).X.names == ["day.weekday=mon", "day.weekday=tue"]
    when = pd.DataFrame({"day": pd.to_datetime(days)})
    assert columns.read(when).X.names == ["day.weekday=mon", "day.weekday=tue"]
    assert columns.read([{"day": pd.NaT}]).X.names == []
    epochs = [{"day": 1772409600}, {"day": 1772496000000}]
    assert columns.read(epochs).X.names == ["day.weekday=mon", "day.weekday=tue"]


def test_a_column_of_times_or_ever_new_texts_is_named_with_the_cure(tmp_path: Path) -> None:
    events = [
        {
            "at": f"2026-03-02T00:{n % 60:02}:00",
            "code": f"x{n}y{n}",
            "price": f"{n},50",
            "t": f"{n} K",
            "y": n % 2,
        }
        for n in range(100)
    ]
    for name in ("e.jsonl", "e.csv", "e.parquet"):
        path = tmp_path / name
        if name == "e.parquet":
            pq.write_table(pa.Table.from_pylist(events), path)
        else:
            FORMATS[name](events, path)
        run = hw.Linear().simulate_file(path)
        said = [Finding(*parts).sentence() for parts in run.findings]
        assert [(kind, column) for kind, column, *_ in run.findings] == [
            ("times", "at"),
            ("ever_new", "code"),
            ("commas", "price"),
            ("units", "t"),
        ]
        assert "time='at' or ignore=['at']" in said[0]
        assert "100 different ones in 100" in said[1]
        assert "number=['price'] and decimal=','" in said[2]
        assert "100 of 100 texts, such as '99 K'" in said[3]
    columns = hw.Columns(label="y", time="at", ignore=["code"], number=["price", "t"], decimal=",")
    run = hw.Linear().simulate_file(tmp_path / "e.jsonl", columns=columns)
    assert [kind for kind, *_ in run.findings] == ["out_of_order"]
    values = columns.read(events[:1]).X
    assert dict(zip(values.names, values.data.tolist(), strict=True)) == {"price": 0.5, "t": 0.0}


def test_an_iso_time_costs_no_memory_with_its_role(tmp_path: Path) -> None:
    events = made(200)
    as_csv(events, tmp_path / "e.csv")
    model = hw.Linear()
    model.learn_file(tmp_path / "e.csv", columns=replace(COLUMNS, time_features=[]))
    assert not [f.name for f in model.features() if str(f.name).startswith("at")]


def test_the_words_of_a_text_are_as_good_as_their_counts(tmp_path: Path) -> None:
    rng = random.Random(4)
    vocabulary = [f"word{n}" for n in range(300)]
    counted, raw = [], []
    for _ in range(1_500):
        y = rng.random() < 0.5
        words = rng.choices(vocabulary[:200] if y else vocabulary[100:], k=12)
        counts = {word: words.count(word) for word in words}
        counted.append({**counts, "y": int(y)})
        raw.append({"note": " ".join(w for w, c in counts.items() for _ in range(c)), "y": int(y)})
    as_jsonl(counted, tmp_path / "counted.jsonl")
    as_jsonl(raw, tmp_path / "raw.jsonl")
    by_counts, by_words = hw.Linear(query="all"), hw.Linear(query="all")
    first = by_counts.simulate_file(tmp_path / "counted.jsonl")
    second = by_words.simulate_file(
        tmp_path / "raw.jsonl", columns=hw.Columns(label="y", text=["note"])
    )
    assert first.mistakes == second.mistakes
    assert {f"note:{k}" for k in by_counts.weights() if k != "(intercept)"} | {
        "(intercept)"
    } == set(by_words.weights())


STREAM = Path(os.environ.get("HEADWATER_DATA", "nowhere"), "streams", "spamassassin.jsonl.gz")


@pytest.mark.skipif(not STREAM.is_file(), reason="HEADWATER_DATA is not set")
def test_raw_mail_reaches_what_its_word_counts_reach(tmp_path: Path) -> None:
    counted, raw = [], []
    with gzip.open(STREAM, "rt") as file:
        for line in map(json.loads, file):
            counted.append({**line["x"], "y": line["y"]})
            fields: dict[str, list[str]] = {"subject": [], "body": []}
            for word, count in line["x"].items():
                field, _, rest = word.rpartition(":")
                fields[field or "body"] += [rest] * int(count)
            raw.append({**{k: " ".join(v) for k, v in fields.items()}, "y": line["y"]})
    as_jsonl(counted, tmp_path / "counted.jsonl")
    as_jsonl(raw, tmp_path / "raw.jsonl")
    columns = hw.Columns(label="y", text=["subject", "body"])
    by_counts = hw.Spring().learn_file(tmp_path / "counted.jsonl")
    by_words = hw.Spring().learn_file(tmp_path / "raw.jsonl", columns=columns)
    assert by_words.error_rate < by_counts.error_rate + 0.005


def test_a_model_keeps_its_columns_through_files_copies_and_pickles(tmp_path: Path) -> None:
    import copy
    import pickle

    as_csv(made(50), tmp_path / "e.csv")
    model = hw.Linear()
    assert model.columns is None
    model.learn_file(tmp_path / "e.csv", columns=COLUMNS)
    kept = model.columns
    assert kept is not None
    assert kept.units == {"temperature": "°C"}
    model.save(tmp_path / "m.hw")
    others = [hw.load(tmp_path / "m.hw"), copy.deepcopy(model), pickle.loads(pickle.dumps(model))]
    assert [other.columns for other in others] == [kept] * 3
    (tmp_path / "f.jsonl").write_text('{"temperature": "70 °F"}\n')
    with pytest.raises(EventFileError, match="column 'temperature' is in '°C', got '70 °F'"):
        list(hw.open(tmp_path / "f.jsonl", columns=kept))


# What is wrong


def columns(**given: Any) -> Callable[[], Any]:
    return lambda: hw.Columns(**given)


def reading(x: Any, **given: Any) -> Callable[[], Any]:
    return lambda: hw.Columns(**given).read(x)


WRONG: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (columns(label=3), ParameterError, "label must be the name of a column or None, got 3."),
    (columns(id=""), ParameterError, "id must be the name of a column or None, got ''."),
    (columns(ignore=3), ParameterError, "ignore must be a list of names, got 3."),
    (columns(text=["a", 1]), ParameterError, "text must be a list of names, got ['a', 1]."),
    (columns(label="a", text="a"), ParameterError, "'a' has two roles, label and text"),
    (columns(ignore=["a", "a"]), ParameterError, "'a' has two roles, ignore and ignore"),
    (columns(time_features=["hour"]), ParameterError, "time_features need a column with the role"),
    (
        columns(time="a", time_features="minute"),
        ParameterError,
        "some of hour, weekday, since_last, got",
    ),
    (columns(ngrams=0), ParameterError, "ngrams must be a whole number from 1 to 5, got 0."),
    (columns(ngrams=True), ParameterError, "ngrams must be a whole number from 1 to 5, got True."),
    (columns(decimal=";"), ParameterError, "decimal must be ',' or '.', got ';'."),
    (columns(units={"a": "m"}), ParameterError, "units names 'a', which does not have the role"),
    (columns(number=["a"], units={"a": 3}), ParameterError, "units must map columns to units"),
    (reading(3, label="y"), EventError, "X: expected a frame or a list of dicts, got int."),
    (reading([3]), EventError, "X, row 0: expected a mapping from field to value, got int."),
    (
        reading([{"a": "x"}], number="a"),
        EventError,
        "X, row 0: column 'a' must hold numbers, got 'x'.",
    ),
    (reading([{"a": "1,5"}], number="a"), EventError, "say whether its comma is the decimal sign"),
    (
        reading([{"a": "1 m"}, {"a": "1 km"}], number="a"),
        EventError,
        "row 1: column 'a' is in 'm', got '1 km'",
    ),
    (reading([{"a": "soon"}], time="a"), EventError, "column 'a' must hold times"),
    (reading([{"a": True}], time="a"), EventError, "column 'a' must hold times"),
    (
        reading([{"a": 1.5}], id="a"),
        EventError,
        "expected a text or an integer as the id, got 1.5.",
    ),
    (
        reading([{"a": True}], group="a"),
        EventError,
        "expected a text or an integer as the group, got true.",
    ),
    (
        reading([{"a": [1]}]),
        EventError,
        "expected a number, a bool, a str, a time, None or NaN, got [1]",
    ),
    (reading([{"a": "b", "a=b": 1}]), EventError, "feature 'a=b' appears twice."),
    (reading([{"a": float("inf")}]), EventError, "feature 'a' must be a finite number, got inf."),
    (
        reading([{"a": datetime.date(2026, 1, 1)}]),
        EventError,
        "column 'a' holds times; give it the role time or ignore.",
    ),
    (
        reading(pd.DataFrame({"a": [1]}), label="y"),
        EventError,
        "X: there is no column 'y'; it has 'a'.",
    ),
    (
        reading(pl.DataFrame({"a": [datetime.date(2026, 1, 1)]})),
        EventError,
        "column 'a' holds times (Date32); give it the role",
    ),
    (
        reading(pa.table({"a": [[1]]})),
        EventError,
        "got List(Int64); the role ignore leaves it out.",
    ),
    (
        lambda: hw.open("e.csv", columns=cast("Any", "y")),
        ParameterError,
        "columns must be hw.Columns or None, got 'y'.",
    ),
    (
        lambda: hw.open("e.csv", label="a", columns=hw.Columns()),
        ParameterError,
        "leave label= and id= out",
    ),
    (
        lambda: hw.open("e.svm", columns=hw.Columns(time="t")),
        ParameterError,
        "svmlight has no columns, so there are no roles",
    ),
    (
        lambda: hw.Session(hw.Linear(), hw.labels.Oracle([]), columns=cast("Any", "a")),
        ParameterError,
        "Session: columns must be",
    ),
]


@pytest.mark.parametrize(("call", "error", "sentence"), WRONG, ids=[row[2][:40] for row in WRONG])
def test_what_is_wrong_is_a_sentence(
    call: Callable[[], Any], error: type[Exception], sentence: str
) -> None:
    with pytest.raises(error) as raised:
        call()
    text = str(raised.value)
    assert sentence in text
    assert text.endswith(".")
    assert "\n" not in text


# headwater.toml

BAD_CONFIGS = [
    ("[columns]\nlabel = 3\n", "[columns]: label must be a text, got 3."),
    ("[columns]\nignore = 'a'\n", "[columns]: ignore must be a list of texts, got 'a'."),
    ("[columns]\nlable = 'y'\n", "[columns]: there is no key 'lable'; did you mean label."),
    ("[column]\nlabel = 'y'\n", "there is no section [column]; did you mean columns."),
    ("[columns]\nlabel = 'a'\nid = 'a'\n", "[columns]: 'a' has two roles, label and id"),
    ("[columns]\nngrams = 9\n", "[columns]: ngrams must be a whole number from 1 to 5, got 9."),
    ("[allowance]\nper_day = 'many'\n", "[allowance]: per_day must be a whole number, got 'many'."),
    (
        "[streams]\nlearner = 'Spring'\n",
        "each is a section of its own, [streams.NAME], got 'learner'.",
    ),
    (
        "[streams.plant]\nlerner = 'Spring'\n",
        "[streams.plant]: there is no key 'lerner'; did you mean learner.",
    ),
    ("[serve]\nport = true\n", "[serve]: port must be a whole number, got True."),
    ("columns = 3\n", "columns must be a section, [columns], got 3."),
    ("label = \n", "it is not TOML: "),
]


@pytest.mark.parametrize(("text", "sentence"), BAD_CONFIGS)
def test_a_config_that_is_wrong_is_a_sentence(text: str, sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "headwater.toml"
    path.write_text(text)
    with pytest.raises(ParameterError) as raised:
        read_config(path)
    said = str(raised.value)
    assert said.startswith(str(path))
    assert sentence in said
    assert said.endswith(".")


def test_a_config_holds_columns_and_what_is_read_later(tmp_path: Path) -> None:
    path = tmp_path / "headwater.toml"
    path.write_text(
        '[columns]\nlabel = "y"\nnumber = ["t"]\nunits = {t = "K"}\n[labels]\nyes = "faulty"\n'
        '[streams.plant]\nlearner = "Spring"\n[allowance]\nper_day = 20\n[serve]\nport = 80\n'
    )
    config = read_config(path)
    assert config.columns == hw.Columns(label="y", number=["t"], units={"t": "K"})
    assert set(config.sections) == {"labels", "streams", "allowance", "serve"}
    assert set(SCHEMA["columns"].keys) == set(vars(config.columns))


def test_the_schema_on_its_page_is_the_one_that_checks() -> None:
    page = Path(__file__).parents[2] / "docs" / "reference" / "configuration.md"
    assert schema_table() in page.read_text(encoding="utf-8")
