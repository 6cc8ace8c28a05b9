"""The rows of a file in random order: all of them, once, and the same again."""

import csv
from pathlib import Path

import pytest

import headwater as hw
from headwater.inputs import random_order
from headwater.inputs.random_order import RandomOrder, count_rows

ROWS = 2_500
COLUMNS = hw.Columns(id="nr", text=["note"])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "notes.csv"
    with path.open("w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(["nr", "size", "note"])
        for row in range(ROWS):
            writer.writerow([f"n{row}", row * 2, f"Note {row},\nin two lines"])
    return path


def test_every_row_comes_once_with_its_own_values_and_its_text(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(random_order, "PART", 700)
    events = hw.open(file, columns=COLUMNS)
    assert count_rows(events) == ROWS
    rows = list(RandomOrder(events, ROWS, seed=1).rows())
    assert sorted(one.row for one in rows) == list(range(ROWS))
    assert [one.row for one in rows] != list(range(ROWS))
    for one in rows:
        assert one.id == f"n{one.row}"
        assert one.x["size"] == 2 * one.row
        assert one.texts == {"note": f"Note {one.row},\nin two lines"}


def test_its_events_are_those_of_the_file(file: Path) -> None:
    events = hw.open(file, columns=COLUMNS)
    of_file = [record.x for record in events.records()]
    for one in RandomOrder(events, ROWS, seed=2).rows(ROWS - 50):
        assert list(one.x.items()) == list(of_file[one.row].items())


def test_from_a_place_on_the_order_is_the_same_again(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = hw.open(file, columns=COLUMNS)
    whole = [one.row for one in RandomOrder(events, ROWS, seed=3).rows()]
    monkeypatch.setattr(random_order, "PART", 333)
    assert [one.row for one in RandomOrder(events, ROWS, seed=3).rows(1_000)] == whole[1_000:]
    assert [one.row for one in RandomOrder(events, ROWS, seed=4).rows()] != whole


def test_parquet_files_have_their_texts_too(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "notes.parquet"
    table = pa.table({"size": list(range(500)), "note": [f"the note {n}" for n in range(500)]})
    parquet.write_table(table, path, row_group_size=70)
    events = hw.open(path, columns=hw.Columns(text=["note"]))
    rows = list(RandomOrder(events, 500, seed=1).rows())
    assert len(rows) == 500
    for one in rows:
        assert one.x["size"] == one.row
        assert one.texts == {"note": f"the note {one.row}"}
