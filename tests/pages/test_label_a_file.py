"""`headwater label` as somebody with a file meets it: the link, the text, one key per card."""

import csv
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("selenium", reason="no Selenium: it belongs to the group test")

from pages.browsers import chromium
from service.process import PROGRAM

GOOD = "What a warm and lovely place, {} out of ten, we will come again."
BAD = "The room was cold and the food was awful, {} people left early."


def test_a_file_is_labelled_by_keys_and_its_texts_are_shown(tmp_path: Path) -> None:
    """HEADWATER_PICTURE names a file for the picture of the page."""
    notes = [(GOOD if row % 2 else BAD).format(row) for row in range(60)]
    with (tmp_path / "reviews.csv").open("w", newline="") as file:
        rows = [[f"r{row}", note, row % 5 + 1] for row, note in enumerate(notes)]
        csv.writer(file).writerows([["id", "review", "stars"], *rows])
    words = ["label", "reviews.csv", "--classes", "no,yes", "--out", "labelled.jsonl"]
    command = [sys.executable, "-c", PROGRAM, *words, "--port", "0", "--name", "ada"]
    said: dict[str, str] = {}
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            link = next(line for line in process.stdout if line.startswith("Label:")).split()[1]
            with chromium() as browser:
                browser.open(link)
                for _ in range(6):
                    browser.card()
                    row = browser.text("#card-title")
                    assert browser.text(".card .texts dd") == notes[int(row[1:])]
                    is_good = "lovely" in browser.text(".card .texts dd")
                    if len(said) == 3 and "HEADWATER_PICTURE" in os.environ:
                        browser.driver.save_screenshot(os.environ["HEADWATER_PICTURE"])
                    browser.press("2" if is_good else "1")
                    browser.is_sent()
                    said[row] = "yes" if is_good else "no"
        finally:
            process.send_signal(signal.SIGINT)
        process.stdout.read()
    assert process.returncode == 0
    lines = map(json.loads, (tmp_path / "labelled.jsonl").read_text().splitlines())
    given = {one["id"]: (one["label"], one["who"]) for one in lines if one["source"] == "given"}
    assert given == {row: (label, "ada") for row, label in said.items()}
