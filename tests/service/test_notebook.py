"""Labelling the rows of a frame from a notebook."""

from pathlib import Path
from typing import Any

import httpx2 as httpx
import pandas as pd
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pytest

import headwater as hw
from headwater.errors import ParameterError

GOOD, BAD = "A warm and quiet place, room {}", "A cold and noisy place, room {}"
ROWS = [
    {"name": f"r{n}", "text": (GOOD if n % 2 else BAD).format(n), "stars": n % 5 + 1.0}
    for n in range(60)
]
COLUMNS = hw.Columns(id="name", text=["text"])


def label(frame: Any, **more: Any) -> Any:
    given = {"classes": ["no", "yes"], "columns": COLUMNS, "name": "ada", "port": 0, **more}
    return hw.label_frame(frame, **given)


def said(card: hw.live.Card) -> str:
    return "yes" if "text:warm" in card.features else "no"


@pytest.mark.parametrize("make", [list, pd.DataFrame, pl.DataFrame, pa.Table.from_pylist])
def test_a_frame_of_any_library_is_labelled_by_answering_cards(make: Any) -> None:
    with label(make(ROWS)) as labelling:
        given = {}
        for _ in range(20):
            card = labelling.card()
            given[card.event] = said(card)
            labelling.answer(given[card.event])
        labels = {one["id"]: one for one in labelling.labels()}
        assert labelling.model.learned == 20
    assert len(labels) == 60
    for name, label_ in given.items():
        assert (labels[name]["label"], labels[name]["who"]) == (label_, "ada")
    right = [labels[f"r{n}"]["label"] == ("yes" if n % 2 else "no") for n in range(60)]
    assert sum(right) >= 55


def test_the_card_is_html_without_scripts_whose_texts_are_harmless() -> None:
    rows = [{"text": f"<script>alert({n})</script> warm", "a<b": float(n)} for n in range(30)]
    with label(rows, columns=hw.Columns(text=["text"])) as labelling:
        shown = labelling._repr_html_()
        assert "<script" not in shown
        assert "&lt;script&gt;alert(" in shown
        assert "a&lt;b" in shown
        assert labelling._pages.address in shown
        assert ">yes</a>" in shown


def test_the_link_leads_to_the_same_card() -> None:
    with label(ROWS) as labelling:
        card = labelling.card()
        address, code = labelling.link.split("/login#")
        with httpx.Client(base_url=address) as browser:
            told = browser.post("/session", json={"code": code}).json()
            assert told["name"] == "ada"
            headers = {"X-CSRF-Token": told["csrf"]}
            lease = "/v1/streams/main/questions/lease"
            (shown,) = browser.post(lease, json={"n": 1}, headers=headers).json()
            assert shown["event"] == card.event


def test_the_same_frame_and_database_go_on_where_they_stopped(tmp_path: Path) -> None:
    with label(ROWS, db=tmp_path / "notes.db") as labelling:
        for _ in range(5):
            labelling.answer(said(labelling.card()))
    with hw.label_frame(ROWS, db=tmp_path / "notes.db", port=0) as again:
        assert "5 answers" in again.summary()
        assert again.model.learned == 5
    with pytest.raises(ParameterError, match="not the file that the database was made for"):
        hw.label_frame(ROWS[:-1], db=tmp_path / "notes.db", port=0)


def test_skipping_leaves_the_card_to_others_and_at_the_end_there_is_none() -> None:
    rows = [{"size": float(n)} for n in range(3)]
    with label(rows, columns=hw.Columns(number=["size"])) as labelling:
        for _ in range(3):
            labelling.skip()
        assert labelling.card() is None
        assert "All questions are answered" in labelling._repr_html_()
        with pytest.raises(ParameterError, match="no question left"):
            labelling.answer("yes")


@pytest.mark.parametrize(
    ("frame", "sentence"),
    [
        ([], "the frame is empty"),
        ([1], "row 0: expected a dict, got int"),
        (3, "expected a pandas, polars or pyarrow frame, or a list of dicts, got int"),
    ],
)
def test_what_is_no_frame_is_refused_by_a_sentence(frame: Any, sentence: str) -> None:
    with pytest.raises(ParameterError, match=sentence):
        label(frame)


def test_after_closing_a_sentence_says_so() -> None:
    with label(ROWS) as labelling:
        pass
    with pytest.raises(ParameterError, match="it is closed"):
        labelling.card()
