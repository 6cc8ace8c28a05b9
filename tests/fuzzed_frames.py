"""What must hold for pyarrow's frames whose memory is altered behind pyarrow's back.

`run` makes a frame of bytes, alters its buffers, and lets a learner predict and learn it: the
outcome is a result or an error about the event, and the learner can be saved and loaded. `make
fuzz` lets libFuzzer look for bytes that break that; `test_fuzz.py` replays those found.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

import headwater as hw
from fuzzed_events import Bytes, assert_sentence
from headwater.errors import EventError, StepError

MODELS: list[Callable[[], hw.Learner]] = [
    lambda: hw.Linear(query="all"),
    lambda: hw.Spring(label_rate=0.5),
    lambda: hw.MPAA(),
    lambda: hw.OLVF(),
]
"""The number is part of an input's meaning, so new ones go to the end."""

TEXTS = ["", "b", "ä", "two words", "a longer text than a view holds in place", "b"]

INDICES = [pa.int8(), pa.uint8(), pa.int16(), pa.int32(), pa.uint32(), pa.int64(), pa.uint64()]

COLUMNS: list[Any] = [
    *(pa.string(), pa.large_string(), pa.string_view(), pa.bool_(), pa.null()),
    *(pa.float64(), pa.float32(), pa.float16(), pa.decimal128(7, 2)),
    *(pa.int8(), pa.int16(), pa.int32(), pa.int64()),
    *(pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()),
    *(pa.dictionary(index, pa.string()) for index in INDICES),
    *(pa.dictionary(pa.int32(), value) for value in (pa.large_string(), pa.float64(), pa.bool_())),
]
"""The types of columns, again by number."""

WILD = [0, 1, -1, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63), 2**32, 255, 0x7FF0 << 48]


class Memory:
    """The buffers of a frame, each in NumPy's memory."""

    def __init__(self) -> None:
        self.parts: list[Any] = []
        self.validity: list[bool] = []
        """Of each, whether it says which cells are null."""
        self.altered = False

    def array(self, source: Any) -> Any:
        """The same array over memory that can be altered."""
        if pa.types.is_dictionary(source.type):
            indices = self.array(source.indices)
            return pa.DictionaryArray.from_arrays(
                indices, self.array(source.dictionary), safe=False
            )
        buffers = [None if part is None else self.add(part) for part in source.buffers()]
        if buffers and buffers[0] is not None:
            self.validity[len(self.validity) - sum(part is not None for part in buffers)] = True
        return pa.Array.from_buffers(source.type, len(source), buffers, -1, source.offset)

    def add(self, buffer: Any) -> Any:
        part = np.frombuffer(buffer, np.uint8).copy()
        self.parts.append(part)
        self.validity.append(False)
        return pa.py_buffer(part)

    def alter(self, bytes_: Bytes) -> bool:
        """Change some bytes; whether some of them say what is null."""
        touched = False
        while self.parts and bytes_.more():
            number = bytes_.byte() % len(self.parts)
            part, way, at = self.parts[number], bytes_.byte(), bytes_.byte()
            touched |= self.validity[number]
            if not len(part):
                continue
            self.altered = True
            if way < 128:
                part[at % len(part)] = bytes_.byte()
                continue
            size = 4 if way & 1 else 8
            wild = np.array([WILD[way // 2 % len(WILD)]], np.int64).view(np.uint8)[:size]
            start = at % (len(part) // size + 1) * size
            part[start : start + size] = wild[: len(part[start : start + size])]
        return touched


def cells(kind: Any, bytes_: Bytes, rows: int) -> Any:
    """A column of sound cells, some of them null."""
    is_coded = pa.types.is_dictionary(kind)
    value = kind.value_type if is_coded else kind
    nulls = bytes_.byte()
    plain: list[Any] = []
    for row in range(rows):
        byte = 0 if pa.types.is_null(value) else bytes_.byte()
        if pa.types.is_null(value) or nulls >> row % 8 & 1:
            plain.append(None)
        elif pa.types.is_boolean(value):
            plain.append(bool(byte & 1))
        elif pa.types.is_integer(value):
            plain.append(byte % 128)
        elif pa.types.is_floating(value) or pa.types.is_decimal(value):
            plain.append(byte / 16 - 8)
        else:
            plain.append(TEXTS[byte % len(TEXTS)])
    if pa.types.is_decimal(value):
        return pa.array([None if x is None else round(x, 1) for x in plain]).cast(kind)
    if pa.types.is_float16(value):
        return pa.array([None if x is None else np.float16(x) for x in plain], kind)
    column = pa.array(plain, value)
    if not is_coded:
        return column
    coded = column.dictionary_encode()
    return pa.DictionaryArray.from_arrays(coded.indices.cast(kind.index_type), coded.dictionary)


def frame(bytes_: Bytes, memory: Memory) -> Any:
    """A table, perhaps a slice of one or of several pieces."""
    shape = bytes_.byte()
    rows, width = shape % 9, 1 + shape // 9 % 4
    columns = []
    for _ in range(width):
        column = memory.array(cells(COLUMNS[bytes_.byte() % len(COLUMNS)], bytes_, rows))
        columns.append(column)
    table = pa.table(dict(zip("abcd", columns, strict=False)))
    if shape & 128:
        table = table.slice(1, max(rows - 2, 0))
    if shape & 64:
        table = pa.concat_tables([table, table])
    return table


def as_other(table: Any, way: int) -> Any:
    """The table in another of pyarrow's forms, over the same memory."""
    match way % 8:
        case 1 if table.num_rows and len(batches := table.to_batches()) == 1:
            return batches[0]
        case 2 if table.num_rows and len(batches := table.to_batches()) == 1:
            return batches[0].to_struct_array()
        case 3:
            return pa.RecordBatchReader.from_batches(table.schema, table.to_batches())
        case 4:
            return pa.chunked_array(
                [batch.to_struct_array() for batch in table.to_batches()],
                pa.struct(list(table.schema)),
            )
    return table


def complaint(table: Any) -> str:
    """What pyarrow objects to when it looks at every byte."""
    try:
        table.validate(full=True)
    except (pa.ArrowException, ValueError) as error:
        return str(error)
    return ""


def events_of(table: Any) -> list[dict[str, Any]]:
    return [
        {name: cell for name, cell in row.items() if cell is not None} for row in table.to_pylist()
    ]


def attempt(use: Callable[[], Any]) -> tuple[Any, Exception | None]:
    """A result, or the only errors that may come."""
    try:
        return use(), None
    except (EventError, StepError) as error:
        assert_sentence(error)
        return None, error


def run(data: bytes) -> None:
    bytes_ = Bytes(data)
    model = MODELS[bytes_.byte() % len(MODELS)]()
    form, memory = bytes_.byte(), Memory()
    table = frame(bytes_, memory)
    labels = [row % 3 == 0 for row in range(table.num_rows)]
    model.learn_many(table, labels)
    saved = model.to_bytes()
    X = as_other(table, form)
    nulls_altered = memory.alter(bytes_)
    wrong = complaint(table)
    if form & 128:
        given, error = attempt(lambda: model.margin_many(X))
    else:
        given, error = attempt(lambda: model.learn_many(X, labels))
    after = model.to_bytes()
    assert hw.from_bytes(after).to_bytes() == after
    if form & 128 or (error is not None and "Arrow data" in str(error)):
        assert after == saved, "changed by what changes nothing"
    if nulls_altered or not labels or "does not fit in precision" in wrong:
        # pyarrow counted the nulls before, does not look at what has no rows, and refuses decimals
        # that are only too long
        return
    if wrong:
        assert isinstance(error, EventError), f"memory that lies was read: {wrong}"
        return
    if memory.altered and error is not None and "Arrow data" in str(error):
        return  # refused because of cells that are null
    events = events_of(table)
    again = hw.from_bytes(saved)
    if form & 128:
        wanted, expected = attempt(lambda: [again.margin_one(event) for event in events])
        assert (error is None) == (expected is None), (error, expected)
        if wanted is not None:
            assert len(given) == len(wanted)
            for one, other in zip(given, wanted, strict=True):
                assert one == other or math.isclose(one, other), (one, other)
    else:

        def learn() -> None:
            for event, label in zip(events, labels, strict=True):
                again.learn_one(event, label)

        _, expected = attempt(learn)
        assert (error is None) == (expected is None), (error, expected)
        if isinstance(error, EventError):
            assert after == saved, "changed by a frame that is refused"
        else:
            assert after == again.to_bytes(), "as a frame it is learned otherwise"
