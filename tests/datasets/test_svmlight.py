"""svmlight text, read and written: as scikit-learn reads it, and nothing that is not svmlight."""

import gzip
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_svmlight_file

from headwater.datasets import svmlight
from headwater.datasets.svmlight import SvmlightRows, format_svmlight, read_svmlight
from headwater.errors import DatasetError


def parsed(text: bytes, d: int = 9) -> SvmlightRows:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.svm"
        path.write_bytes(text)
        return read_svmlight(path, d, "here")


def test_rows_are_read_as_they_are_written() -> None:
    rows = parsed(b"+1 1:0.5 3:-2e-3\n-1\n2 9:.25\n")
    assert rows.labels.tolist() == [1, -1, 2]
    assert rows.indptr.tolist() == [0, 2, 2, 3]
    assert rows.indices.tolist() == [0, 2, 8]
    assert rows.data.tolist() == [0.5, -0.002, 0.25]


@pytest.mark.parametrize(
    "text",
    [
        b"1 1:2 2:3 \n-1 2:4\t\n",
        b"1 1:2 2:3\r\n-1 2:4\r\n",
        b"\n  1  1:2   2:3\n\n-1 2:4",
        b"1\t1:2 2:3 # a remark\n-1 2:4\n",
    ],
)
def test_white_space_and_empty_lines_make_no_difference(text: bytes) -> None:
    plain = parsed(b"1 1:2 2:3\n-1 2:4\n")
    assert [part.tolist() for part in parsed(text)] == [part.tolist() for part in plain]


def test_no_text_is_no_rows() -> None:
    assert [array.tolist() for array in parsed(b"")] == [[0], [], [], []]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"1 1:2\n1 1:2 3\n", "line 2: expected name:value, value a number, got '3'"),
        (b"1 1:\n", "line 1: expected name:value, value a number, got '1:'"),
        (b"1 :2\n", "line 1: expected name:value, value a number, got ':2'"),
        (b"1 1:2\n\n1 1:two\n", "line 3: expected name:value, value a number, got '1:two'"),
        (b"1 1:1_0\n", "line 1: expected name:value, value a number, got '1:1_0'"),
        (b"one 1:2\n", "line 1: expected a number as the label, got 'one'"),
        (b"1 1:1e999\n", "line 1: feature 1 must be a finite number, got inf"),
        (b"1 3:1 3:2\n", "line 1: feature 3 appears twice"),
        (b"1:2\n", "row 1: a label must be a whole number, got None"),
        (b"1\n0.5 1:2\n", "row 2: a label must be a whole number, got 0.5"),
        (b"1 0:2\n", "row 1: indices must be whole numbers in 1..9 that ascend, got 0"),
        (b"1 -1:2\n", "row 1: indices must be whole numbers in 1..9 that ascend, got -1"),
        (b"1 1.5:2\n", "row 1: indices must be whole numbers in 1..9 that ascend, got '1.5'"),
        (b"1 1:2:3\n", "row 1: indices must be whole numbers in 1..9 that ascend, got '1:2'"),
        (b"1 9:1\n1 10:2\n", "row 2: indices must be whole numbers in 1..9 that ascend, got 10"),
        (b"1\n1 3:1 2:2\n", "row 2: indices must be whole numbers in 1..9 that ascend, got 2"),
    ],
)
def test_what_is_not_svmlight_is_refused_with_its_line_or_row(text: bytes, says: str) -> None:
    with pytest.raises(DatasetError) as refused:
        parsed(text)
    assert str(refused.value) == f"here, {says}."


def test_rows_are_counted_on_from_batch_to_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    text = b"1 1:1 2:5\n-1\n2 9:3\n" * 5
    whole = parsed(text)
    monkeypatch.setattr(svmlight, "AT_ONCE", 4)
    assert [part.tolist() for part in parsed(text)] == [part.tolist() for part in whole]
    with pytest.raises(DatasetError, match="here, row 16: indices"):
        parsed(text + b"1 10:1\n")


@given(
    st.lists(
        st.tuples(
            st.sampled_from([-1, 1]),
            st.dictionaries(st.integers(1, 30), st.floats(allow_nan=False, allow_infinity=False)),
        ),
        min_size=1,
        max_size=8,
    )
)
def test_what_is_written_is_read_again_bit_for_bit(
    events: list[tuple[int, dict[int, float]]],
) -> None:
    columns = [sorted(event) for _, event in events]
    values = [event[column] for _, event in events for column in sorted(event)]
    rows = SvmlightRows(
        np.cumsum([0, *map(len, columns)]),
        np.array([column - 1 for there in columns for column in there], np.int32),
        np.array(values, np.float64),
        np.array([label for label, _ in events]),
    )
    again = parsed(format_svmlight(rows), 30)
    kept = rows.data != 0
    assert again.labels.tolist() == rows.labels.tolist()
    assert again.indices.tolist() == rows.indices[kept].tolist()
    assert again.data.tobytes() == rows.data[kept].tobytes()


def test_a_text_is_written_in_one_form_only() -> None:
    assert (
        format_svmlight(parsed(b"1 1:2.0 2:0.0 3:0.50\n-1 1:1e3 \n"))
        == b"+1 1:2 3:0.5\n-1 1:1000\n"
    )
    assert format_svmlight(parsed(b"3 1:1e20\n1\n")) == b"3 1:1e+20\n1\n"


def test_it_reads_what_scikit_learn_reads(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    lines = []
    for label in rng.integers(1, 5, size=200):
        columns = np.flatnonzero(rng.random(40) < 0.2) + 1
        pairs = [f"{column}:{float(rng.normal())!r}" for column in columns]
        lines.append(" ".join([str(label), *pairs]))
    path = tmp_path / "random.svm.gz"
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    X, y = load_svmlight_file(str(path), n_features=40, zero_based=False)
    rows = read_svmlight(path, 40)
    assert rows.indptr.tolist() == X.indptr.tolist()
    assert rows.indices.tolist() == X.indices.tolist()
    assert rows.data.tobytes() == X.data.tobytes()
    assert rows.labels.tolist() == y.tolist()


@pytest.mark.parametrize(
    "damage", [gzip.compress(b"1 1:2\n" * 99)[:-9], b"\x1f\x8b"], ids=["cut", "begun"]
)
def test_a_file_that_cannot_be_unpacked_is_refused_by_name(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "odd.svm.gz"
    path.write_bytes(damage)
    with pytest.raises(DatasetError, match=r"odd\.svm\.gz: it cannot be read after .*\.$"):
        read_svmlight(path, 3)
