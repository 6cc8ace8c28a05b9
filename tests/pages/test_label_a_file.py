"""`headwater label` as somebody with a file meets it: the link, the text, one key per card."""

import csv
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("selenium", reason="no Selenium: it belongs to the group test")

from selenium.webdriver.common.keys import Keys

from pages.browsers import chromium
from service.process import PROGRAM

GOOD = "What a warm and lovely place, {} out of ten, we will come again."
BAD = "The room was cold and the food was awful, {} people left early."


@contextmanager
def labelling(folder: Path, *options: str) -> Iterator[tuple[list[str], str]]:
    """A running `headwater label` about sixty reviews; their texts, and the link that it prints."""
    notes = [(GOOD if row % 2 else BAD).format(row) for row in range(60)]
    with (folder / "reviews.csv").open("w", newline="") as file:
        rows = [[f"r{row}", note, row % 5 + 1] for row, note in enumerate(notes)]
        csv.writer(file).writerows([["id", "review", "stars"], *rows])
    words = ["label", "reviews.csv", "--out", "labelled.jsonl", "--port", "0", "--name", "ada"]
    command = [sys.executable, "-c", PROGRAM, *words, *options]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            link = next(line for line in process.stdout if line.startswith("Label:")).split()[1]
            yield notes, link
        finally:
            process.send_signal(signal.SIGINT)
            process.stdout.read()
    assert process.returncode == 0


def given_in(folder: Path) -> dict[str, tuple[str, str]]:
    """What was said about which row, and by whom."""
    lines = map(json.loads, (folder / "labelled.jsonl").read_text().splitlines())
    return {one["id"]: (one["label"], one["who"]) for one in lines if one["source"] == "given"}


def test_a_file_is_labelled_by_keys_and_its_texts_are_shown(tmp_path: Path) -> None:
    said: dict[str, str] = {}
    with labelling(tmp_path, "--classes", "no,yes") as (notes, link), chromium() as browser:
        browser.open(link)
        for _ in range(6):
            browser.card()
            row = browser.text("#card-title")
            assert browser.text(".card .texts dd") == notes[int(row[1:])]
            is_good = "lovely" in browser.text(".card .texts dd")
            browser.press("2" if is_good else "1")
            browser.is_sent()
            said[row] = "yes" if is_good else "no"
    assert given_in(tmp_path) == {row: (label, "ada") for row, label in said.items()}


def test_classes_are_typed_when_they_are_met(tmp_path: Path) -> None:
    said = {}
    with labelling(tmp_path) as (_, link), chromium() as browser:
        browser.open(link)
        for keys, name in (
            ((*"praise", Keys.ENTER), "praise"),  # the first is asked for at once
            (("n", *"blame", Keys.ENTER, Keys.ENTER), "blame"),
            (("1",), "praise"),  # and both have a key, also on cards that were here before
            (("2",), "blame"),
        ):
            browser.card()
            row = browser.text("#card-title")
            browser.press(*keys)
            browser.is_sent()
            said[row] = (name, "ada")
    assert given_in(tmp_path) == said
