"""Timed sets: streams of named features in the order of time, as JSON lines."""

import gzip
import hashlib
import os
from pathlib import Path

import numpy as np
import pytest

from headwater.datasets import Entry, entries, load
from headwater.errors import DatasetError

TEXT = b"""{"t": 1, "x": {"rain": 0, "wind": 2.5}, "y": 0}
{"t": 2, "x": {}, "y": 1}
{"t": 3, "x": {"sun": 1, "rain": 4}, "y": 1}
"""
DOORS = Entry(
    "doors",
    n=3,
    d=3,
    classes=2,
    positives=2,
    nonzeros=3,
    sparse=True,
    timed=True,
    sha256=hashlib.sha256(TEXT).hexdigest(),
)
REAL_DATA = os.environ.get("HEADWATER_DATA")


def written(folder: Path, text: bytes = TEXT) -> Path:
    path = folder / "streams" / "doors.jsonl.gz"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(gzip.compress(text))
    return path


def test_events_keep_their_order_names_and_zeros(tmp_path: Path) -> None:
    written(tmp_path)
    data = load(DOORS, tmp_path)
    assert list(data) == [
        ({"rain": 0.0, "wind": 2.5}, -1),
        ({}, 1),
        ({"sun": 1.0, "rain": 4.0}, 1),
    ]
    assert data.names == ["rain", "wind", "sun"]
    assert repr(data) == "<Dataset doors: 3 × 3, timed>"


def test_labels_that_are_texts_stay_texts(tmp_path: Path) -> None:
    written(tmp_path, b'{"x": {"a": 1}, "y": "earn"}\n{"x": {"b": 1}, "y": "acq"}\n')
    assert load(Entry("doors", timed=True, sparse=True), tmp_path).y.tolist() == ["earn", "acq"]


@pytest.mark.parametrize(
    "line", [b"{}", b"[1]", b'{"x": {"a": "b"}, "y": 1}', b'{"x": {"a": 1}, "y": null}', b"{"]
)
def test_a_line_of_another_form_is_named(tmp_path: Path, line: bytes) -> None:
    written(tmp_path, b'{"x": {"a": 1}, "y": 1}\n' + line + b"\n")
    with pytest.raises(DatasetError, match=r"row 2: must be .*got"):
        load(Entry("doors", timed=True, sparse=True), tmp_path)


def test_a_set_of_other_features_or_contents_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, TEXT.replace(b"sun", b"rain2"))
    with pytest.raises(DatasetError, match="SHA-256"):
        load(DOORS, tmp_path)
    path.write_bytes(gzip.compress(TEXT.replace(b"sun", b"wind")))
    with pytest.raises(DatasetError, match="must have 3 features, got 2"):
        load(DOORS, tmp_path)
    path.write_bytes(b"plain")
    with pytest.raises(DatasetError, match="must be gzipped"):
        load(DOORS, tmp_path)


def test_a_missing_stream_says_where_it_comes_from_and_goes_to(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"JSON lines streams/elec2\.jsonl\.gz into the folder"):
        load("elec2", tmp_path)


@pytest.mark.skipif(not REAL_DATA, reason="HEADWATER_DATA names no folder of data sets")
@pytest.mark.parametrize("name", [known.name for known in entries() if known.timed])
def test_the_real_streams_are_as_the_registry_says(name: str) -> None:
    data = load(name)  # which checks counts and checksum
    assert np.isfinite(data.batch()[0].data).all()
