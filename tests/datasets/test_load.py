"""The registry, and data sets that are loaded by name."""

import dataclasses
import gzip
import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import headwater as hw
from headwater.datasets import Dataset, Entry, entries, entry, load
from headwater.datasets.registry import folder_of
from headwater.errors import DatasetError, ParameterError

TEXT = b"+1 1:0.5 3:2\n-1\n-1 2:1\n"
TINY = Entry(
    "tiny", n=3, d=4, classes=2, positives=1, nonzeros=3, sha256=hashlib.sha256(TEXT).hexdigest()
)


def written(folder: Path, text: bytes = TEXT, name: str = "tiny") -> Path:
    path = folder / f"{name}.svm.gz"
    path.write_bytes(gzip.compress(text))
    return path


def tiny(folder: Path, **changes: object) -> Dataset:
    written(folder)
    return load(dataclasses.replace(TINY, **changes), folder)  # type: ignore[arg-type]


# The registry


def test_every_entry_is_complete_and_makes_sense() -> None:
    names = [known.name for known in entries()]
    assert len(names) == len(set(names)) > 50
    assert names == sorted(names)
    for known in entries():
        assert known.source, known.name
        assert known.licence, known.name
        assert known.note, known.name
        assert entry(known.name) is known
        assert all(url.startswith("https://") for url in known.urls)
        if known.sha256 is not None:
            assert len(known.sha256) == 64
            assert None not in (known.n, known.d, known.classes, known.nonzeros)
            assert (known.positives is not None) == (known.classes == 2), known.name
        if known.urls:
            assert known.n is not None
            assert known.d is not None


def test_text_is_sparse_and_tables_are_dense() -> None:
    sparse = {known.name for known in entries() if known.sparse}
    assert {"pcmac", "basehock", "20newsgroups-bin", "imdb", "reuters1200.view3", "rcv1"} <= sparse
    assert not {"a8a", "a9a", "w8a-64700", "mushrooms", "phishing", "spambase"} & sparse


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(ParameterError, match=r"no data set 'spambse'\. The nearest: spambase"):
        load("spambse")
    with pytest.raises(ParameterError, match=r"no data set 'zzzzzzzz'\.$"):
        entry("zzzzzzzz")
    with pytest.raises(ParameterError, match=r"no data set \['a9a'\]\."):
        load(["a9a"])  # type: ignore[arg-type]


# What a data set is


def test_a_dense_set_carries_every_column(tmp_path: Path) -> None:
    data = tiny(tmp_path)
    assert data.names == [1, 2, 3, 4]
    assert isinstance(data.X, np.ndarray)
    assert data.X.tolist() == [[0.5, 0, 2, 0], [0, 0, 0, 0], [0, 1, 0, 0]]
    assert data.dense().tolist() == data.X.tolist()
    assert data.y.dtype == np.int64
    assert list(data) == [
        ({1: 0.5, 2: 0, 3: 2, 4: 0}, 1),
        ({1: 0, 2: 0, 3: 0, 4: 0}, -1),
        ({1: 0, 2: 1, 3: 0, 4: 0}, -1),
    ]


def test_a_sparse_set_carries_what_is_stored(tmp_path: Path) -> None:
    data = tiny(tmp_path, sparse=True)
    assert isinstance(data.X, hw.Rows)
    assert list(data) == [({1: 0.5, 3: 2.0}, 1), ({}, -1), ({2: 1.0}, -1)]
    assert data.dense().tolist() == [[0.5, 0, 2, 0], [0, 0, 0, 0], [0, 1, 0, 0]]


@pytest.mark.parametrize("sparse", [False, True])
def test_the_batch_holds_the_events_in_their_order(
    tmp_path: Path, sparse: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headwater.datasets.dataset.SLICE", 2)
    data = tiny(tmp_path, sparse=sparse)
    rows, labels = data.batch()
    assert len(list(data.slices())) == 2
    assert len(rows) == len(data) == 3
    assert labels.tolist() == [label for _, label in data]
    again = hw.streams.Varying(rows, labels, removed=0.0, shuffle=False)
    assert list(again) == list(data)


@pytest.mark.parametrize("sparse", [False, True])
def test_a_stream_and_a_learner_take_it_as_it_is(tmp_path: Path, sparse: bool) -> None:
    data = tiny(tmp_path, sparse=sparse)
    stream = hw.streams.Trapezoid(data.X, data.y, names=data.names, chunks=1, shuffle=False)
    assert list(stream) == list(data)
    one, many = hw.OLSF(), hw.OLSF()
    for event, label in data:
        one.learn_one(event, label)
    many.learn_many(data.X, data.y, names=data.names)
    assert one.weights() == many.weights() != {}


def test_nobody_can_spoil_what_others_have_loaded(tmp_path: Path) -> None:
    data = tiny(tmp_path)
    assert load(TINY, tmp_path) is data
    for array in (data.dense(), data.y):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 7
    sparse = tiny(tmp_path, sparse=True)
    assert isinstance(sparse.X, hw.Rows)
    with pytest.raises(ValueError, match="read-only"):
        sparse.X.data[0] = 7


def test_a_file_that_has_changed_is_read_anew(tmp_path: Path) -> None:
    loose = Entry("tiny", d=4)
    path = written(tmp_path)
    assert load(loose, tmp_path).y.tolist() == [1, -1, -1]
    written(tmp_path, b"5 1:1\n")
    os.utime(path, ns=(1, 1))
    assert load(loose, tmp_path).y.tolist() == [5]


# What is not as it should be


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"n": 4}, "must have 4 rows, got 3."),
        ({"classes": 3}, "must have 3 classes, got 2."),
        ({"positives": 2}, r"must have 2 labels \+1, got 1."),
        ({"nonzeros": 9}, "must have 9 values other than 0, got 3."),
        ({"sha256": "0" * 64}, f"must have SHA-256 {'0' * 64}, got {TINY.sha256}."),
        ({"d": 2}, r"row 1: indices must be whole numbers in 1\.\.2 that ascend, got 3\."),
    ],
)
def test_a_file_that_differs_from_its_entry_is_refused_by_name(
    tmp_path: Path, changes: dict[str, object], sentence: str
) -> None:
    with pytest.raises(DatasetError, match=sentence) as refused:
        tiny(tmp_path, **changes)
    assert str(tmp_path / "tiny.svm.gz") in str(refused.value)


def test_one_other_digit_is_noticed(tmp_path: Path) -> None:
    written(tmp_path, TEXT.replace(b"0.5", b"0.6"))
    with pytest.raises(DatasetError, match="must have SHA-256"):
        load(TINY, tmp_path)


def test_an_entry_without_a_width_cannot_be_loaded(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="tiny: its entry must say how many columns"):
        tiny(tmp_path, d=None)


def test_a_missing_file_that_can_be_fetched_says_how(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="headwater datasets fetch a9a") as refused:
        load("a9a", tmp_path)
    assert str(tmp_path / "a9a.svm.gz") in str(refused.value)


def test_a_missing_file_that_cannot_be_fetched_says_where_it_comes_from(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"UCI house-votes-84.*vote\.svm\.gz into the folder"):
        load("vote", tmp_path)


# Where files lie


def test_the_folder_is_the_argument_then_the_variable_then_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADWATER_DATA", str(tmp_path / "variable"))
    assert folder_of(tmp_path) == tmp_path
    assert folder_of() == tmp_path / "variable"
    assert TINY.path() == tmp_path / "variable" / "tiny.svm.gz"
    monkeypatch.delenv("HEADWATER_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    if sys.platform == "linux":
        assert folder_of() == tmp_path / "cache" / "headwater"
    assert folder_of().name == "headwater" or sys.platform == "win32"


def test_importing_the_package_does_not_import_what_fetching_needs() -> None:
    code = (
        "import sys, headwater; headwater.datasets.entries();"
        "sys.exit(bool({'pooch', 'requests', 'rich', 'platformdirs'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# The real files


@pytest.mark.skipif("HEADWATER_DATA" not in os.environ, reason="HEADWATER_DATA is not set")
@pytest.mark.parametrize("known", entries(), ids=lambda known: known.name)
def test_a_real_file_is_what_its_entry_says(known: Entry) -> None:
    if not known.path().exists():
        pytest.skip(f"{known.path()} is not there")
    data = load(known)
    assert (len(data), len(data.names)) == (known.n, known.d)
    if known.classes == 2:
        assert set(data.y.tolist()) == {-1, 1}
    else:
        assert set(data.y.tolist()) == set(range(1, (known.classes or 0) + 1))
