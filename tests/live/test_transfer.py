"""Exports, backups, what-if replays and databases of earlier versions."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import headwater as hw
from headwater.errors import HeldError, JournalError, ParameterError
from headwater.live import database as db
from live import plan
from live.test_loop import rows

OLD = Path(__file__).parent / "databases"


@pytest.fixture
def made(tmp_path: Path) -> str:
    """A stream with answers, corrections, people and open questions."""
    url = str(tmp_path / "plant.db")
    plan.run(url, "Spring", 0, 130)
    return url


def model(url: str, stream: str = "main") -> bytes:
    with hw.live.read(url, stream) as reader:
        return reader.learner().to_bytes()


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_an_export_is_imported_as_the_same_stream(made: str, form: str, tmp_path: Path) -> None:
    file, other = tmp_path / f"facts.{form}", str(tmp_path / "other.db")
    count = hw.live.export_stream(made, file)
    assert hw.live.import_stream(other, file) == count
    assert hw.live.import_stream(other, file, "second") == count
    with pytest.raises(JournalError, match="there is a stream 'main' already"):
        hw.live.import_stream(other, file)
    assert model(other) == model(made) == model(other, "second")
    for table in (db.facts, db.questions):
        mine = [row for row in rows(other, table) if row.stream == 1]
        assert mine == rows(made, table)
    # Both go on in the same way, open questions included.
    assert plan.run(made, "Spring", 130, 170) == plan.run(other, "Spring", 130, 170)


def test_a_stream_that_began_with_a_trained_learner_is_exported_with_it(tmp_path: Path) -> None:
    trained = hw.PAA()
    trained.learn_one({"a": 1.0}, True)
    url, file = str(tmp_path / "plant.db"), tmp_path / "facts.jsonl"
    with hw.live.open(url, learner=trained) as loop:
        loop.receive({"a": 2.0}, label=False)
    hw.live.export_stream(url, file)
    hw.live.import_stream(str(tmp_path / "other.db"), file)
    assert model(str(tmp_path / "other.db")) == model(url)
    Path(file).write_text('{"x": 1}\n')
    with pytest.raises(JournalError, match="expected an export"):
        hw.live.import_stream(str(tmp_path / "third.db"), file)


def test_a_backup_is_made_while_a_process_writes_and_is_restored_whole(
    made: str, tmp_path: Path
) -> None:
    file, other = tmp_path / "monday.hwdb", str(tmp_path / "other.db")
    with hw.live.open(made, learner=plan.LEARNERS["Spring"](), **plan.OPTIONS) as loop:
        expected = loop.learner.to_bytes()
        hw.live.backup(made, file)
        plan.carry_out(loop, 130, 140, lambda step: None)
        with pytest.raises(HeldError):
            hw.live.restore(file, made)
    with pytest.raises(JournalError, match="it exists"):
        hw.live.backup(made, file)
    hw.live.restore(file, other)
    assert model(other) == expected
    assert rows(other, db.snapshots)
    assert plan.run(other, "Spring", 120, 140) == model(made)
    with pytest.raises(JournalError, match="it has streams already"):
        hw.live.restore(file, other)
    with pytest.raises(JournalError, match="no such backup"):
        hw.live.restore(tmp_path / "nothing", other)


def test_a_damaged_backup_is_refused(made: str, tmp_path: Path) -> None:
    file = tmp_path / "monday.hwdb"
    hw.live.backup(made, file)
    database = db.Database(file)
    with database.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE chunks SET data = X'00'")
    database.close()
    with pytest.raises(JournalError, match="is damaged; use another"):
        hw.live.restore(file, str(tmp_path / "other.db"))
    assert not rows(str(tmp_path / "other.db"), db.streams)


def test_a_database_of_the_newest_version_needs_no_upgrade(made: str, tmp_path: Path) -> None:
    assert hw.live.upgrade(made, tmp_path / "before") is None
    assert not (tmp_path / "before").exists()


@pytest.mark.parametrize("version", db.REVISIONS)
def test_a_database_of_an_earlier_version_opens(version: str, tmp_path: Path) -> None:
    """Each was made by the program of its time; `known.json` says what it held."""
    shutil.copytree(OLD / version, tmp_path / version)
    url = str(tmp_path / version / "plant.db")
    known = json.loads((tmp_path / version / "known.json").read_text())
    hw.live.upgrade(url, tmp_path / "before")
    with hw.live.open(url) as loop:
        status = loop.status()
        assert (status.events, status.asked, status.labels) == tuple(known["counts"])
        assert loop.learner.seen == known["seen"]
        assert loop.learner.predict_one({"s1": 3.0}) == known["prediction"]
        question = next(row.number for row in rows(url, db.questions) if row.state == "open")
        assert loop.answer(question, True).state == "applied"


# What if


def test_the_same_learner_told_the_same_questions_is_the_same_model(made: str) -> None:
    learner = plan.LEARNERS["Spring"]()
    found = hw.live.what_if(made, learner)
    assert learner.to_bytes() == model(made)
    with hw.live.read(made) as reader:
        status = reader.status()
    assert found.events == status.events
    assert found.error == pytest.approx(status.error)


def test_fewer_questions_bring_fewer_labels_and_more_are_refused(made: str) -> None:
    with hw.live.read(made) as reader:
        asked = reader.status().asked
    whole = hw.live.what_if(made, hw.PAA(), questions=asked)
    half = hw.live.what_if(made, hw.PAA(), questions=asked // 2)
    assert 0 < half.labels < whole.labels
    with pytest.raises(ParameterError, match="give at most as many"):
        hw.live.what_if(made, hw.PAA(), questions=asked + 1)
    with pytest.raises(ParameterError, match="learned nothing"):
        hw.live.what_if(made, half.learner)


def test_no_error_is_given_for_a_learner_that_would_have_asked_elsewhere(made: str) -> None:
    everything = hw.live.what_if(made, hw.Linear(query="all"))
    assert everything.unasked > 0.1 * everything.wished
    assert (everything.error, everything.interval) == (None, None)


# The command line


def test_the_commands_of_a_live_stream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from click.testing import CliRunner

    from headwater.cli import main

    monkeypatch.chdir(tmp_path)
    lines: list[dict[str, Any]] = [{"a": 1.0 + n % 3, "b": -1.0} for n in range(60)]
    for number in range(0, 60, 4):
        lines[number]["y"] = number % 3 == 0
    Path("events.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))

    def headwater(*arguments: str, code: int = 0) -> str:
        done = CliRunner().invoke(main, [*arguments])
        assert done.exit_code == code, done.output
        return done.output

    run = ("run", "events.jsonl", "--db", "plant.db", "--json")
    assert json.loads(headwater(*run)) | {"learner": ""} == {
        **{"learner": "", "events": 60, "new": 60, "labels": 15, "refused": 0, "stopped": False},
        "skipped": 0,
        "asked": model_asked("plant.db"),
    }
    assert json.loads(headwater(*run))["new"] == 0  # run again to continue
    with Path("events.jsonl").open("a") as file:
        file.write('{"a": 2.0}\n')
    assert json.loads(headwater(*run))["new"] == 1
    assert "leave out --resume" in headwater(*run, "--save", "x.hw", code=2)
    status = json.loads(headwater("status", "--db", "plant.db", "--json"))
    assert (status["events"], status["labels"], status["last"][0][1]) == (61, 15, "event")
    assert "labels learned" in headwater("status", "--db", "plant.db")
    assert "would have asked" in headwater("replay", "--db", "plant.db", "--learner", "PAA")
    assert "such as 2026-11-01" in headwater(
        *("replay", "--db", "plant.db", "--learner", "PAA", "--since", "soon"), code=2
    )
    assert headwater("export", "f.jsonl", "--db", "plant.db") == "f.jsonl: 61 facts.\n"
    assert headwater("import", "f.jsonl", "--db", "b.db") == "b.db: 61 facts.\n"
    headwater("backup", "monday.hwdb", "--db", "plant.db")
    headwater("restore", "monday.hwdb", "--db", "c.db")
    assert model("plant.db") == model("b.db") == model("c.db")
    assert "newest version" in headwater("upgrade", "--db", "plant.db")
    assert "is forgotten" in headwater("forget", "--db", "c.db", "--event", "events.jsonl/5")
    assert "either --event or --person" in headwater("forget", "--db", "c.db", code=2)
    assert "there is no stream 'x'" in headwater("status", "--db", "c.db", "--stream", "x", code=2)


def model_asked(url: str) -> int:
    with hw.live.read(url) as reader:
        return reader.learner().asked
