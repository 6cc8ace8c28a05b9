"""Events as bytes: what comes back, the same from every way in, and what is refused."""

import json
import math
import struct
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headwater as hw
from headwater._core import EventNames
from headwater.errors import EventError

NAMES = st.one_of(st.text(max_size=8), st.integers(-(2**63), 2**63 - 1))
VALUES = st.one_of(st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=8))


@settings(derandomize=True, max_examples=300, deadline=None)
@given(st.lists(st.dictionaries(NAMES, VALUES, max_size=8), max_size=6))
def test_events_come_back_in_their_order_with_every_bit(events: list[dict[Any, Any]]) -> None:
    names = EventNames()
    stored = [names.encode(event)[0] for event in events]
    later = EventNames(names.since(0))
    for event, data in zip(events, stored, strict=True):
        again = later.decode(data)
        assert list(again) == list(event)
        assert [type(name) for name in again] == [type(name) for name in event]
        assert again == event
        for name, value in event.items():
            if isinstance(value, float):
                assert math.copysign(1.0, again[name]) == math.copysign(1.0, value)  # type: ignore[arg-type]
        assert later.encode(again)[0] == data


def test_an_event_is_the_same_bytes_whatever_it_comes_as(tmp_path: Path) -> None:
    plain = {"rain": 2.0, "wind": 0.0, "site": "roof", "wet": 1.0}
    forms: list[Mapping[Any, Any]] = [
        plain,
        {"rain": 2, "gone": None, "wind": 0, "site": "roof", "wet": True, "lost": float("nan")},
        {"rain": np.float32(2), "wind": np.int8(0), "site": np.str_("roof"), "wet": np.True_},
        MappingProxyType(plain),
        json.loads('{"rain": 2, "wind": 0.0, "site": "roof", "wet": true}'),
    ]
    jsonl = tmp_path / "events.jsonl"
    jsonl.write_text('{"rain": 2, "none": null, "wind": 0, "site": "roof", "wet": true}\n')
    csv = tmp_path / "events.csv"
    csv.write_text("rain,wind,none,site,wet\n2,0,,roof,1\n")
    names = EventNames()
    expected = names.encode(plain)
    for form in forms:
        assert names.encode(form) == expected
    # A file's reader gives a text as its indicator, as the learner sees it.
    seen = names.encode({"rain": 2.0, "wind": 0.0, "site=roof": 1.0, "wet": 1.0})
    for path in (jsonl, csv):
        ((event, _),) = hw.open(path, label=None)
        assert names.encode(event) == seen


def plain_digest(event: dict[Any, Any]) -> int:
    """The digest of docs/operate/live.md."""
    state = 0

    def word(number: int) -> None:
        nonlocal state
        turned = (state << 23 | state >> 41) % 2**64
        state = ((turned ^ number) * 0x9E3779B97F4A7C15) % 2**64

    def text(value: str) -> None:
        data = value.encode()
        word(len(data))
        for start in range(0, len(data), 8):
            word(int.from_bytes(data[start : start + 8], "little"))

    for name, value in event.items():
        word(2 if isinstance(name, str) else 1)
        text(name) if isinstance(name, str) else word(name % 2**64)
        word(4 if isinstance(value, str) else 3)
        if isinstance(value, str):
            text(value)
        else:
            word(int.from_bytes(struct.pack("<d", value), "little"))
    return state - 2**64 if state >= 2**63 else state


def test_the_digest_tells_events_apart_and_does_not_depend_on_the_table() -> None:
    events: list[dict[Any, Any]] = [
        {"a": 1.0, "b": 2.0},
        {"b": 2.0, "a": 1.0},
        {"a": 1.0},
        {"a": -1.0, "b": 2.0},
        {"a": "1.0", "b": 2.0},
        {"ab": 2.0},
        {"a": "b2.0"},
        {1: 1.0},
        {"1": 1.0},
        {"a": 0.0},
        {"a": -0.0},
        {},
    ]
    names, others = EventNames(), EventNames([(7, "b"), (3, 1)])
    digests = [names.encode(event)[1] for event in events]
    assert len(set(digests)) == len(events)
    assert [others.encode(event)[1] for event in events] == digests
    assert digests == [plain_digest(event) for event in events]  # journals keep it


def test_a_table_with_holes_goes_on_after_its_largest_number() -> None:
    names = EventNames([(4, "a"), (1, 7)])
    assert len(names) == 5
    data, _ = names.encode({"new": 1.0, 7: 2.0})
    assert names.since(5) == [(5, "new")]
    assert names.used(data) == [5, 1]


@pytest.mark.parametrize(
    ("event", "part"),
    [
        ({"a": math.inf}, "finite"),
        ({"a": [1]}, "must be a number"),
        ({1.5: 1.0}, "must be a str or an int"),
        ({"a" * 2000: 1.0}, "at most 1024"),
        ({"\ud800": 1.0}, "not valid text"),
        ({"a": "\ud800"}, "not valid text"),
        ({2**63: 1.0}, "64 bits"),
        ([("a", 1.0)], "mapping"),
    ],
)
def test_what_is_no_event_is_refused_and_adds_no_name(event: Any, part: str) -> None:
    names = EventNames()
    with pytest.raises(EventError, match=part):
        names.encode(event)
    assert len(names) == 0


def test_damaged_bytes_and_unknown_names_are_refused() -> None:
    names = EventNames()
    data, _ = names.encode({"a": 1.0, "b": "x"})
    with pytest.raises(EventError, match="name number 0, which is not in the table"):
        EventNames().decode(data)
    for position in range(len(data)):
        with pytest.raises(EventError, match="stored bytes"):
            names.decode(data[:position] + bytes([data[position] ^ 1]) + data[position + 1 :])
        with pytest.raises(EventError, match="stored bytes"):
            names.decode(data[:position])
