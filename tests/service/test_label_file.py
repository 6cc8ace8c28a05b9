"""`headwater label`: a file is labelled by answering some questions about it."""

import csv
import json
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest
from click.testing import CliRunner

import headwater as hw
from headwater.cli import main
from headwater.service.app import create_app
from headwater.service.file_feed import AHEAD, STREAM, FileFeed, LabelledFile, fingerprint, texts_of
from headwater.service.file_stream import open_stream
from headwater.service.settings import Settings
from service.process import PROGRAM

GOOD = ("good", "great", "lovely", "warm")
BAD = ("bad", "awful", "cold", "broken")
OTHER = ("the", "room", "film", "was", "and", "very")
ROWS = 3_000


def truth(note: str) -> str:
    """The class of a note: its good words against its bad ones."""
    words = note.split()
    return "yes" if sum(w in GOOD for w in words) > sum(w in BAD for w in words) else "no"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Notes, all those of one class before those of the other."""
    coin = random.Random(5)
    notes: list[str] = []
    while len(notes) < ROWS:
        words = coin.choice((GOOD, BAD))
        note = [coin.choice(words if coin.random() < 0.4 else OTHER) for _ in range(10)]
        if any(word in words for word in note):
            notes.append(" ".join(note))
    notes.sort(key=truth)
    path = tmp_path / "notes.csv"
    with path.open("w", newline="") as out:
        csv.writer(out).writerows(
            [["note_id", "note"], *([f"n{row}", note] for row, note in enumerate(notes))]
        )
    return path


def notes_of(file: Path) -> dict[str, str]:
    with file.open(newline="") as lines:
        return {row["note_id"]: row["note"] for row in csv.DictReader(lines)}


class Person:
    """Somebody with a browser, who has logged in by a link."""

    def __init__(self, base: str, code: str) -> None:
        self.client = httpx.Client(base_url=base)
        told = self.client.post("/session", json={"code": code}).json()
        self.name = told["name"]
        self.headers = {"X-CSRF-Token": told["csrf"]}

    def post(self, path: str, body: dict[str, Any]) -> Any:
        reply = self.client.post(path, json=body, headers=self.headers)
        assert reply.status_code in (200, 201), reply.text
        return reply.json()

    def answer(self, answers: int, say: Callable[[str], str]) -> dict[str, str]:
        """Answer so many questions; what was said about which row."""
        said: dict[str, str] = {}
        limit = time.monotonic() + 60
        while len(said) < answers and time.monotonic() < limit:
            cards = self.post(f"/v1/streams/{STREAM}/questions/lease", {"n": 1})
            if not cards:
                time.sleep(0.05)
            for card in cards:
                label = say(card["event"])
                self.post(f"/v1/questions/{card['question']}/answer", {"label": label})
                said[card["event"]] = label
        assert len(said) == answers
        return said


class Labelling:
    """A running `headwater label`."""

    def __init__(self, file: Path, *options: str) -> None:
        words = ("label", file.name, "--port", "0", "--name", "ada", *options)
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *words],
            cwd=file.parent,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert self.process.stdout is not None
        self.said = ""
        link = None
        while link is None:
            line = self.process.stdout.readline()
            assert line, self.said
            self.said += line
            link = re.search(r"(http://127\.0\.0\.1:\d+)/login#(\S+)", line)
        self.base = link[1]
        self.people: list[Person] = []
        self.ada = self.log_in(link[2])

    def log_in(self, code: str) -> Person:
        """Somebody comes by a link."""
        self.people.append(Person(self.base, code))
        return self.people[-1]

    def stop(self, how: int = signal.SIGINT) -> str:
        """End it; what it said at the end."""
        for person in self.people:
            person.client.close()
        self.process.send_signal(how)
        said, _ = self.process.communicate(timeout=60)
        return said


@pytest.fixture
def start(file: Path) -> Iterator[Callable[..., Labelling]]:
    started: list[Labelling] = []

    def begin(*options: str) -> Labelling:
        started.append(Labelling(file, *options))
        return started[-1]

    yield begin
    for one in started:
        if one.process.poll() is None:
            one.stop(signal.SIGKILL)


def labels_in(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_two_people_answer_and_every_row_has_a_label_that_says_where_it_is_from(
    file: Path, start: Callable[..., Labelling]
) -> None:
    notes = notes_of(file)
    run = start("--classes", "no,yes", "--out", "labelled.jsonl", "--save", "model.hw")
    ada = run.ada
    ada.post("/v1/people", {"name": "bob", "roles": ["label"], "streams": [STREAM]})
    bob = run.log_in(ada.post("/v1/people/bob/invitation", {})["code"])
    said: dict[str, dict[str, str]] = {"ada": {}, "bob": {}}
    for _ in range(5):
        for person in (ada, bob):
            said[person.name] |= person.answer(24, lambda row: truth(notes[row]))
    assert not said["ada"].keys() & said["bob"].keys()
    end = run.stop()
    assert run.process.returncode == 0
    assert "240 answers about" in end
    assert "By ada 120, bob 120." in end
    assert re.search(r"wrong in [\d.]+% of the rows \([\d.]+% to [\d.]+% with 95 % confid", end)
    assert re.search(
        r"The last 100 answers changed [\d.]+% of the predictions\. Another hundred", end
    )

    lines = labels_in(file.with_name("labelled.jsonl"))
    assert [one["id"] for one in lines] == list(notes)
    assert [one["row"] for one in lines] == list(range(ROWS))
    given = {one["id"]: (one["label"], one["who"]) for one in lines if one["source"] == "given"}
    assert given == {row: (label, who) for who, told in said.items() for row, label in told.items()}
    predicted = [one for one in lines if one["source"] == "predicted"]
    assert len(predicted) == ROWS - 240
    assert all(0.5 <= one["probability"] <= 1 for one in predicted)
    right = sum(one["label"] == truth(notes[one["id"]]) for one in predicted)
    assert right > 0.9 * len(predicted)

    model = hw.load(file.with_name("model.hw"))
    assert model.columns == hw.Columns(id="note_id", text=["note"])
    guesses = {
        record.id: model.predict_one(record.x)
        for record in hw.open(file, columns=model.columns).records()
    }
    assert all(guesses[one["id"]] == one["label"] for one in predicted)


def test_after_a_kill_it_goes_on_with_every_answer_that_was_taken(
    file: Path, start: Callable[..., Labelling]
) -> None:
    notes = notes_of(file)
    said: dict[str, str] = {}
    for _ in range(3):
        run = start() if said else start("--classes", "no,yes")
        said |= run.ada.answer(15, lambda row: truth(notes[row]))
        run.stop(signal.SIGKILL)
    run = start("--out", "labelled.jsonl")
    assert "it goes on where it stopped" in run.said
    said |= run.ada.answer(15, lambda row: truth(notes[row]))
    assert len(said) == 60
    assert "60 answers about" in run.stop()
    lines = labels_in(file.with_name("labelled.jsonl"))
    given = {one["id"]: one["label"] for one in lines if one["source"] == "given"}
    assert given == said


def test_classes_may_be_named_as_they_are_met(file: Path, start: Callable[..., Labelling]) -> None:
    kinds = ("one", "two", "three")
    run = start("--out", "labelled.jsonl")
    run.ada.answer(30, lambda row: kinds[int(row[1:]) % 3])
    run.stop()
    lines = labels_in(file.with_name("labelled.jsonl"))
    assert {one["label"] for one in lines} == set(kinds)


def test_a_card_shows_a_text_as_it_is_and_not_its_words(
    file: Path, start: Callable[..., Labelling]
) -> None:
    notes = notes_of(file)
    ada = start("--classes", "no,yes").ada
    limit = time.monotonic() + 30
    cards: list[Any] = []
    while not cards and time.monotonic() < limit:
        cards = ada.post(f"/s/{STREAM}/label/cards", {"have": [], "wanted": 1})["cards"]
    html = cards[0]["html"]
    row = re.search(r'title="(n\d+)"', html)
    assert row is not None
    assert f"<bdi>{notes[row[1]]}</bdi>" in html
    assert "note:" not in html


def test_rows_wait_in_the_file_until_questions_are_answered(tmp_path: Path) -> None:
    path = tmp_path / "numbers.csv"
    path.write_text("a\n" + "".join(f"{row % 97}\n" for row in range(60_000)))
    events = hw.open(path, columns=hw.Columns())
    rate = 0.1
    learners = {STREAM: hw.Spring(label_rate=rate, classes=("no", "yes"))}
    service = create_app(Settings(database=str(tmp_path / "f.db")), learners).state.service
    file = LabelledFile(*fingerprint(str(path)), 60_000, 0, rate, {})
    feed = FileFeed(service, events, file)
    loop = service.streams[STREAM]
    try:
        feed.start()
        _wait_for(lambda: loop.desk.waiting() >= AHEAD)
        time.sleep(0.5)
        before = loop.status().events
        time.sleep(0.5)
        assert loop.status().events == before == feed.place
        assert before < 2 * AHEAD / rate
        for _ in range(5):
            (card,) = loop.desk.lease("ada")
            loop.desk.answer(card, "yes", by="ada")
        _wait_for(lambda: loop.status().events > before)
        assert feed.failure is None
        assert not feed.is_done
    finally:
        feed.close()
        service.close()


def test_labels_of_the_file_are_learned_and_not_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "half.jsonl"
    with path.open("w") as out:
        for row in range(200):
            known = {"y": ("no", "yes")[row % 2]} if row < 180 else {}
            print(json.dumps({"a": row % 2 * 2.0 - 1, "b": row % 7, **known}), file=out)
    events = hw.open(path)
    learners = {STREAM: hw.Spring(label_rate=1.0, classes=("no", "yes"))}
    service = create_app(Settings(database=str(tmp_path / "f.db")), learners).state.service
    feed = FileFeed(service, events, LabelledFile(*fingerprint(str(path)), 200, 0, 1.0, {}))
    loop = service.streams[STREAM]
    try:
        feed.start()
        _wait_for(lambda: feed.is_done)
        rows = {int(str(one.event).partition("/")[2]) for one in loop.desk.questions(None)}
        assert rows <= set(range(180, 200))
        assert loop.learner.learned == 180
        assert not feed.is_finished
        while cards := loop.desk.lease("ada"):
            loop.desk.answer(cards[0], "no", by="ada")
        assert feed.is_finished
        assert texts_of(service)("half.jsonl/190") == {}
    finally:
        feed.close()
        service.close()


def _wait_for(holds: Callable[[], bool], seconds: float = 30) -> None:
    limit = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < limit
        time.sleep(0.02)


def test_a_row_whose_id_came_before_is_named_and_nothing_is_served_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("twice.csv").write_text("id,a\n" + "".join(f"{row // 2},{row}\n" for row in range(40)))
    words = ["label", "twice.csv", "--classes", "no,yes", "--port", "0", "--id", "id"]
    said = CliRunner().invoke(main, words)
    assert said.exit_code == 2
    assert re.search(r"twice\.csv, row \d+: .*id", said.output)


def test_options_are_laid_over_the_roles_that_are_proposed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who names one column need not name all of them, now and when it goes on."""
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"r{row},a {row % 3},{row % 5}\n" for row in range(60))
    Path("notes.csv").write_text("id,note,size\n" + rows)
    plan = {"id": "id", "text": ["note"]}

    def lay(columns: hw.Columns) -> hw.Columns:
        return replace(columns, text=("note",), category=())

    for _ in range(2):
        events = hw.open("notes.csv", columns=hw.Columns())
        open_stream(events, Path("notes.db"), ("no", "yes"), None, 0, print, lay)
        assert events.columns.to_plain() == plan


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["-"], "it reads a file more than once"),
        (["nowhere.csv"], "nowhere.csv: No such file"),
        (["empty.csv"], "empty.csv: it is empty; expected a header"),
        (["header.csv"], "header.csv: it is empty; there are no rows to label."),
        (["days.csv", "--text", "bb"], "no column 'bb' for the role text in its first 1,000 rows"),
        (["days.csv", "--classes", "yes"], "classes: expected two names or more"),
        (["days.csv", "--classes", "yes,yes"], "classes: expected two names or more"),
        (["days.csv", "--budget", "2"], "label_rate"),
        (["days.csv", "--out", "days.csv"], "--out: days.csv is also read here"),
        (["days.csv", "--save", "no/model.hw"], "--save: no/model.hw cannot be written"),
        (["days.csv", "--db", "other.db"], "other.db: it is the database of something else"),
        (["days.csv", "--db", "known.db"], "days.csv: it is not the file that the database"),
        (["first.csv", "--db", "known.db", "--ignore", "a"], "it was begun with other roles"),
        (["first.csv", "--db", "known.db", "--classes", "a,b"], "leave learner out"),
    ],
)
def test_a_mistake_gets_a_sentence_and_makes_no_database(
    words: list[str], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty.csv").write_text("")
    Path("header.csv").write_text("a,b\n")
    Path("days.csv").write_text("a,b\n1,2\n3,4\n")
    Path("first.csv").write_text("a,b\n1,2\n3,5\n")
    with hw.live.open("other.db", learner=hw.PAA()) as plant:
        plant.receive({"rain": 1.0}, id="monday")
    events = hw.open("first.csv", columns=hw.Columns())
    open_stream(events, Path("known.db"), ("no", "yes"), None, 0, print)
    said = CliRunner().invoke(main, ["label", *words])
    assert said.exit_code == 2, said.output
    assert sentence in said.output
    assert not list(tmp_path.glob("*.csv.db"))
