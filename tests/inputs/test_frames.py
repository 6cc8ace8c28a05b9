"""Frames: what pandas, polars and pyarrow hold is what the event loop would have learned."""

import itertools
import json
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headwater as hw
from effort import reduced
from forms import listed
from headwater.errors import EventError, LabelError
from headwater.testing.small_stream import Event, follow

Frame = Any

MAKERS: dict[str, Callable[[], hw.Learner]] = {
    "Linear": lambda: hw.Linear(query=hw.query.Budget(0.5)),
    "FLLS": hw.FLLS,
    "several": lambda: hw.Linear(multiclass=True, query="all", scale=None),
}
FRAMES: dict[str, Callable[[dict[str, Any]], Frame]] = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
    "record batch": pa.record_batch,
}
frames = pytest.mark.parametrize("make_frame", FRAMES.values(), ids=FRAMES)


def labels_for(count: int) -> list[bool]:
    return [row % 3 == 0 for row in range(count)]


def assert_is_the_loop(frame: Frame, events: list[dict[Any, Any]]) -> None:
    """Simulating the frame leaves the bytes that deciding on these events leaves."""
    labels = labels_for(len(events))
    for make in MAKERS.values():
        loop, batch = make(), make()
        steps = follow(loop, events, labels)
        trace = batch.simulate(frame, labels)
        assert listed(trace.margin) == [margin for _, margin, _, _ in steps]
        assert batch.to_bytes() == loop.to_bytes()


# What columns may hold

finite = st.floats(-1e6, 1e6) | st.just(float("nan"))
words = st.text(max_size=4)


def whole(bits: int, *, signed: bool) -> st.SearchStrategy[int]:
    if signed:
        return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    return st.integers(0, 2**bits - 1)


KINDS: dict[str, tuple[Any, st.SearchStrategy[Any]]] = {
    "double": (pa.float64(), finite),
    "float": (pa.float32(), st.floats(-1024, 1024, width=32) | st.just(float("nan"))),
    "half": (pa.float16(), st.floats(width=16, allow_infinity=False)),
    "bool": (pa.bool_(), st.booleans()),
    "int8": (pa.int8(), whole(8, signed=True)),
    "int16": (pa.int16(), whole(16, signed=True)),
    "int32": (pa.int32(), whole(32, signed=True)),
    "int64": (pa.int64(), whole(64, signed=True)),
    "uint8": (pa.uint8(), whole(8, signed=False)),
    "uint16": (pa.uint16(), whole(16, signed=False)),
    "uint32": (pa.uint32(), whole(32, signed=False)),
    "uint64": (pa.uint64(), whole(64, signed=False)),
    "string": (pa.string(), words),
    "large string": (pa.large_string(), words),
    "string view": (pa.string_view(), words),
    "words by byte": (pa.dictionary(pa.int8(), pa.string()), words),
    "words by word": (pa.dictionary(pa.uint32(), pa.large_string()), words),
    "numbers by byte": (pa.dictionary(pa.uint8(), pa.int64()), whole(16, signed=True)),
    "decimal": (pa.decimal128(12, 3), st.decimals(-(10**6), 10**6, places=3)),
    "nothing": (pa.null(), st.none()),
}


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    """Tables of up to five columns, cut from longer ones and put together from chunks."""
    rows = draw(st.integers(0, 12))
    kinds = draw(st.lists(st.sampled_from(sorted(KINDS)), max_size=5, unique=True))
    columns = {}
    for kind in kinds:
        arrow, values = KINDS[kind]
        cells = draw(st.lists(st.none() | values, min_size=rows, max_size=rows))
        columns[kind] = pa.array(cells, type=arrow)
    table = pa.table(columns)
    cuts = sorted(draw(st.lists(st.integers(0, rows), max_size=3)))
    pieces = [table.slice(a, b - a) for a, b in itertools.pairwise(cuts)]
    return pa.concat_tables(pieces) if pieces else table


@settings(max_examples=reduced(150), deadline=None)
@given(tables())
def test_a_table_is_the_event_loop_over_its_rows(table: pa.Table) -> None:
    if table.num_columns:
        assert_is_the_loop(table, table.to_pylist())


@settings(max_examples=reduced(80), deadline=None)
@given(tables())
def test_a_polars_frame_is_the_event_loop_over_its_rows(table: pa.Table) -> None:
    frame = pl.from_arrow(table.drop_columns([c for c in table.column_names if c == "half"]))
    assert isinstance(frame, pl.DataFrame)
    if frame.width:
        assert_is_the_loop(frame, frame.to_dicts())


@settings(max_examples=reduced(80), deadline=None)
@given(tables())
def test_a_pandas_frame_is_the_event_loop_over_its_rows(table: pa.Table) -> None:
    if table.num_columns:
        assert_is_the_loop(table.to_pandas(), table.to_pylist())


@frames
def test_columns_may_differ_from_batch_to_batch(make_frame: Callable[..., Frame]) -> None:
    batches: list[dict[str, list[Any]]] = [
        {"rain": [1.0, None], "site": ["roof", "yard"]},
        {"wind": [3, 4], "site": [None, "roof"], "wet": [True, False]},
        {"site": [1.5, 2.5]},  # a word before, a number now
        {"gone": [None, None]},
    ]
    loop, batch = hw.Linear(query="all"), hw.Linear(query="all")
    for columns in batches:
        cells = zip(*columns.values(), strict=True)
        rows: list[Event] = [dict(zip(columns, row, strict=True)) for row in cells]
        follow(loop, rows, [True, False])
        batch.simulate(make_frame(columns), [True, False])
    assert batch.to_bytes() == loop.to_bytes()
    names = {feature.name for feature in batch.features()}
    assert {"site=roof", "site=yard", "site", "wet", "rain"} <= names
    assert "gone" not in names


@frames
def test_a_frame_without_rows_changes_nothing(make_frame: Callable[..., Frame]) -> None:
    model = hw.OLSF()
    before = model.to_bytes()
    empty = pa.table({"a": pa.array([], pa.float64()), "b": pa.array([], pa.string())})
    frame = {
        pd.DataFrame: empty.to_pandas,
        pl.DataFrame: lambda: pl.from_arrow(empty),
        pa.table: lambda: empty,
        pa.record_batch: lambda: pa.RecordBatch.from_arrays([[], []], names=["a", "b"]),
    }[make_frame]()
    assert len(model.simulate(frame, [])) == 0
    assert len(model.predict_many(frame)) == 0
    assert model.predict_proba_many(frame).shape == (0, 2)
    model.learn_many(frame, [])
    assert model.to_bytes() == before


def test_offsets_into_validity_bitmaps_are_kept() -> None:
    cells = [1.0, None, 3.0, None, None, 6.0, 7.0, None, 9.0, 10.0, None]
    words = [None if cell is None else f"w{cell:.0f}" for cell in cells]
    truths = [None if cell is None else cell > 6 for cell in cells]
    whole_table = pa.table({"x": cells, "w": words, "t": truths})
    for start in range(len(cells)):
        part = whole_table.slice(start, 5)
        assert_is_the_loop(part, part.to_pylist())
        for batch in part.to_batches():
            assert_is_the_loop(batch, batch.to_pylist())


def test_dictionaries_may_differ_from_chunk_to_chunk() -> None:
    chunks = [["a", "b", None], ["b", "c"], [None], [], ["c", "a"]]
    column = pa.chunked_array([pa.array(c, pa.string()).dictionary_encode() for c in chunks])
    table = pa.table({"k": column})
    assert table.column("k").chunk(0).dictionary != table.column("k").chunk(1).dictionary
    assert_is_the_loop(table, table.to_pylist())


def test_a_null_in_a_dictionary_is_absent() -> None:
    keys = pa.array([0, 1, None, 1, 0], pa.int8())
    column = pa.DictionaryArray.from_arrays(keys, pa.array(["a", None]))
    events: list[dict[Any, Any]] = [{"k": "a"}, {}, {}, {}, {"k": "a"}]
    assert_is_the_loop(pa.table({"k": column}), events)


def test_a_word_that_no_row_has_is_no_feature() -> None:
    frame = pd.DataFrame({"k": pd.Categorical(["a", "a"], categories=["a", "b", "c"])})
    model = hw.OLSF()
    model.learn_many(frame, [True, False])
    assert [feature.name for feature in model.features()] == ["k=a"]


def test_categories_that_are_all_missing_are_absent() -> None:
    frame = pd.DataFrame({"k": pd.Categorical([None, None]), "x": [1.0, 2.0]})
    assert_is_the_loop(frame, [{"x": 1.0}, {"x": 2.0}])


def test_polars_enums_and_categoricals_are_indicators() -> None:
    frame = pl.DataFrame(
        {
            "c": pl.Series(["x", None, "y"], dtype=pl.Categorical),
            "e": pl.Series(["lo", "hi", None], dtype=pl.Enum(["lo", "mid", "hi"])),
        }
    )
    assert_is_the_loop(frame, [{"c": "x", "e": "lo"}, {"e": "hi"}, {"c": "y"}])


def test_a_missing_row_of_structs_is_an_event_without_features() -> None:
    class Rows:
        def __arrow_c_array__(self, requested_schema: object = None) -> Any:
            return pa.array([{"x": 1.0}, None, {"x": None}]).__arrow_c_array__(requested_schema)

    assert_is_the_loop(Rows(), [{"x": 1.0}, {}, {}])


def test_a_reader_is_read_chunk_by_chunk() -> None:
    table = pa.table({"x": [1.0, 2.0, 3.0, 4.0, None]})
    reader = pa.RecordBatchReader.from_batches(table.schema, iter(table.to_batches(2)))
    model = hw.OLSF()
    assert listed(model.predict_many(reader)) == [False] * 5


def test_decimals_are_the_floats_nearest_to_them() -> None:
    cells = [Decimal("0.1"), Decimal("-123456789.123"), None]
    model = hw.OLSF()
    model.learn_many(pa.table({"x": cells[:1]}), [True])
    loop = hw.OLSF()
    loop.learn_one({"x": 0.1}, True)
    assert model.to_bytes() == loop.to_bytes()
    assert listed(model.margin_many(pa.table({"x": cells}))) == [
        loop.margin_one({"x": value}) for value in (0.1, -123456789.123, None)
    ]


# pandas' own ways


def test_a_pandas_frame_keeps_its_names_and_not_its_index() -> None:
    index = pd.Index(["u", "v"], name="event")
    frame = pd.DataFrame({0: [1.0, 2.0], "0": [3.0, 4.0], 7: ["p", "q"]}, index=index)
    model = hw.OLSF()
    model.learn_many(frame, [True, False])
    assert {f.name for f in model.features()} == {0, "0", "7=p", "7=q"}
    assert model.predict_many(frame).index.equals(index)
    assert model.margin_many(frame).index.equals(index)
    assert model.predict_proba_many(frame).index.equals(index)
    assert model.predict_proba_many(frame).columns.tolist() == [False, True]
    assert model.simulate(frame, [True, False]).asked.index.equals(index)


def test_a_pandas_frame_without_columns_has_its_rows() -> None:
    frame = pd.DataFrame(index=[5, 6])
    assert hw.Linear().predict_many(frame).to_dict() == {5: False, 6: False}


def test_a_subclass_of_a_pandas_frame_is_one() -> None:
    class Table(pd.DataFrame):  # type: ignore[misc]
        pass

    assert isinstance(hw.OLSF().predict_many(Table({"x": [1.0]})), pd.Series)


# Results in the caller's kind

RESULTS = {
    "pandas": (pd.Series, pd.DataFrame),
    "polars": (pl.Series, pl.DataFrame),
    "pyarrow": (pa.Array, pa.Table),
    "record batch": (pa.Array, pa.RecordBatch),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_results_come_in_the_kind_of_the_frame(kind: str) -> None:
    frame = FRAMES[kind]({"x": [1.0, -2.0], "w": ["a", None]})
    column, table = RESULTS[kind]
    model = hw.MPAA(classes=("ham", "egg", "tea"))
    model.learn_many(frame, ["ham", "tea"])
    assert isinstance(model.predict_many(frame), column)
    assert isinstance(model.margin_many(frame), column)
    shares = model.predict_proba_many(frame)
    assert isinstance(shares, table)
    assert pa.table(shares).column_names == ["ham", "egg", "tea"]
    regressor = hw.PARegressor()
    regressor.learn_many(frame, [1.5, 2.5])
    assert isinstance(regressor.predict_many(frame), column)
    assert listed(regressor.predict_many(frame)) == listed(regressor.margin_many(frame))


def test_other_producers_of_arrow_get_arrays() -> None:
    class Rows:
        def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
            return pa.table({"x": [1.0]}).__arrow_c_stream__(requested_schema)

    assert isinstance(hw.OLSF().predict_many(Rows()), np.ndarray)
    assert isinstance(hw.OLSF().predict_proba_many(Rows()), np.ndarray)


@frames
def test_classes_that_no_column_can_hold_together_stay_an_array(
    make_frame: Callable[..., Frame],
) -> None:
    model = hw.MPAA()
    model.learn_one({"x": 1.0}, 1)
    model.learn_one({"x": -1.0}, "1")
    frame = make_frame({"x": [1.0, -1.0]})
    assert listed(model.predict_many(frame)) == [1, "1"]
    shares = model.predict_proba_many(frame)
    if not isinstance(shares, pd.DataFrame):
        assert pa.table(shares).column_names == ["1", "'1'"]


@frames
def test_no_class_known_is_null(make_frame: Callable[..., Frame]) -> None:
    assert listed(hw.MPAA().predict_many(make_frame({"x": [1.0]}))) == [None]


# Labels

LABELS: dict[str, Any] = {
    "pandas": pd.Series([True, None, False], index=[7, 8, 9], dtype="boolean"),
    "pandas objects": pd.Series([True, None, False]),
    "pandas categories": pd.Series([True, None, False], dtype="category"),
    "polars": pl.Series([True, None, False]),
    "pyarrow": pa.array([True, None, False]),
    "pyarrow chunks": pa.chunked_array([[True, None], [False]]),
}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_labels_may_be_a_column_with_missing_ones(labels: Any) -> None:
    frame = pa.table({"x": [1.0, 2.0, 3.0]})
    model, loop = hw.OLSF(), hw.OLSF()
    model.simulate(frame, labels)
    loop.simulate(frame, [True, None, False])
    assert model.to_bytes() == loop.to_bytes()
    assert model.learned == 2


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_a_frame_is_no_column_of_labels(kind: str) -> None:
    frame = FRAMES[kind]({"x": [1.0]})
    with pytest.raises(LabelError, match=r"y: expected one label per row, got a frame of shape"):
        hw.OLSF().learn_many(frame, frame)


# Errors, after which nothing has changed

WRONG: dict[str, tuple[Any, str]] = {
    "timestamps": (
        pa.table({"x": [1.0], "when": pa.array([0], pa.timestamp("us"))}),
        r"X: column 'when' must hold numbers, booleans or text, got Timestamp\(µs\)\.",
    ),
    "pandas timestamps": (
        pd.DataFrame({3: pd.to_datetime(["2026-01-01"])}),
        r"X: column 3 must hold numbers, booleans or text, got Timestamp",
    ),
    "dates": (pl.DataFrame({"day": [None]}, schema={"day": pl.Date}), "column 'day' .* got Date32"),
    "lists": (pl.DataFrame({"l": [[1.0]]}), r"column 'l' .* got LargeList\("),
    "structs": (pa.table({"s": [{"a": 1}]}), r"column 's' .* got Struct\("),
    "binary": (pa.table({"b": [b"x"]}), r"column 'b' .* got Binary"),
    "objects": (pd.DataFrame({"o": [1, "a"]}), r"column 'o' must hold .* got object: Could not"),
    "infinity": (pl.DataFrame({"x": [1.0, float("inf")]}), r"X, row 1: feature 'x' .* got inf\."),
    "twice": (pa.table([[1], [2]], names=["a", "a"]), r"X: column 'a' appears twice\."),
    "pandas twice": (pd.DataFrame([[1, 2]], columns=["a", "a"]), r"column 'a' appears twice\."),
    "an indicator twice": (
        pa.table({"a": ["b", "c"], "a=c": [1.0, 2.0]}),
        r"X, row 1: feature 'a=c' appears twice\.",
    ),
    "tuples for names": (
        pd.DataFrame({("a", 1): [1.0]}),
        r"names: a feature's name must be a str or an int, got \('a', 1\)",
    ),
    "a column": (pd.Series([1.0]), r"X: expected a table with named columns, got .* Float64"),
    "an array": (pa.array(["a"]), r"X: expected a table with named columns, got .* Utf8"),
    "no text": (
        pa.table(
            {
                "t": pa.Array.from_buffers(
                    pa.string(),
                    1,
                    [None, pa.py_buffer(np.array([0, 1], np.int32)), pa.py_buffer(b"\xff")],
                )
            }
        ),
        r"X: its Arrow data cannot be read: .*UTF8",
    ),
}


@pytest.mark.parametrize(("frame", "sentence"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_read_is_refused_and_nothing_has_changed(frame: Any, sentence: str) -> None:
    model = hw.Linear()
    model.learn_one({"x": 1.0, "a": 2.0}, True)
    before = model.to_bytes()
    labels = [True] * len(frame)
    for verb in (
        lambda: model.simulate(frame, labels),
        lambda: model.learn_many(frame, labels),
        lambda: model.predict_many(frame),
        lambda: model.predict_proba_many(frame),
        lambda: model.margin_many(frame),
    ):
        with pytest.raises(EventError, match=sentence):
            verb()
    assert model.to_bytes() == before


def test_a_source_that_fails_midway_changes_nothing() -> None:
    schema = pa.schema({"x": pa.float64()})

    def batches() -> Any:
        yield pa.record_batch({"x": [1.0, 2.0]}, schema=schema)
        raise OSError("the disk is gone")

    model = hw.OLSF()
    before = model.to_bytes()
    with pytest.raises(EventError, match="the disk is gone"):
        model.learn_many(pa.RecordBatchReader.from_batches(schema, batches()), [True] * 4)
    assert model.to_bytes() == before


def test_names_may_be_given_for_the_columns() -> None:
    table = pa.table({"x": [1.0], "y": ["w"]})
    model = hw.OLSF()
    model.learn_many(table, [True], names=["rain", 5])
    assert {f.name for f in model.features()} == {"rain", "5=w"}
    with pytest.raises(EventError, match=r"names: expected one per column, 2 in all, got 1\."):
        model.learn_many(table, [True], names=["rain"])
    with pytest.raises(EventError, match=r"X: column 'rain' appears twice\."):
        model.learn_many(table, [True], names=["rain", "rain"])


def test_a_label_too_few_is_refused() -> None:
    with pytest.raises(LabelError, match=r"y: expected one label per row, 2 in all, got 1\."):
        hw.OLSF().learn_many(pa.table({"x": [1.0, 2.0]}), [True])


# Who is imported


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_a_frame_brings_in_no_library_but_its_own(kind: str) -> None:
    make = {"pyarrow": "pyarrow.table", "pandas": "pandas.DataFrame", "polars": "polars.DataFrame"}
    program = f"""
import json, sys
import headwater as hw
before = [name for name in ("pandas", "polars", "pyarrow") if name in sys.modules]
import {kind}
frame = {make[kind]}({{"x": [1.0, 2.0]}})
own = set(sys.modules)
model = hw.OLSF()
model.learn_many(frame, [True, False])
model.predict_proba_many(frame), model.simulate(frame, [True, False]), model.predict_many(frame)
after = [name for name in ("pandas", "polars", "pyarrow") if name in sys.modules]
print(json.dumps([before, [name for name in after if name not in own]]))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    before, brought = json.loads(done.stdout or f'"{done.stderr}"')
    assert before == []
    assert brought in ([], ["pyarrow"] if kind == "pandas" else [])  # pandas' own way to Arrow
