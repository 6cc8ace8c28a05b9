"""The twelve steps of an engineer with a plant: by command line only, and the same in Python."""

import csv
import json
import random
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import headwater as hw
from headwater.cli import main
from headwater.errors import AnswerError


def measured(number: int) -> dict[str, float]:
    coin = random.Random(number)
    return {f"s{at}": round(coin.gauss(0, 1), 3) for at in range(1, 5)}


def broken(number: int) -> int:
    x = measured(number)
    return int(x["s1"] + x["s2"] > 0)


@pytest.fixture
def headwater(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)

    def command(*arguments: str, code: int | None = 0) -> str:
        done = CliRunner().invoke(main, [*arguments])
        assert done.exit_code in ((0, 3) if code is None else (code,)), done.output
        return done.output

    return command


def write(path: str, numbers: range, with_labels: bool) -> None:
    with Path(path).open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "at", *measured(0), *(["broken"] if with_labels else [])])
        for number in numbers:
            moment = f"2026-11-{2 + number // 200:02}T{number % 200 // 10:02}:{number % 10:02}:00Z"
            label = [broken(number)] if with_labels else []
            rows.writerow([f"e{number}", moment, *measured(number).values(), *label])


def test_by_command_line_only(headwater: Any) -> None:
    write("history.csv", range(200), with_labels=True)
    write("today.csv", range(200, 1000), with_labels=False)
    db = ("--db", "plant.db")
    roles = ("--id", "id", "--time", "at")

    # 1 train on history
    done = json.loads(
        headwater(
            *("run", "history.csv", *db, *roles, "--label", "broken"),
            *("--learner", "Spring", "--budget", "0.1", "--json"),
        )
    )
    assert (done["new"], done["labels"], done["asked"]) == (200, 200, 0)
    # 2 say what people can give
    assert "per day: 30" in headwater("budget", *db, "--per-day", "30", "--tz", "Europe/Berlin")
    # 3 score and ask: the file has no label
    done = json.loads(headwater("run", "today.csv", *db, *roles, "--json"))
    assert (done["new"], done["labels"]) == (800, 0)
    assert 60 <= done["asked"] <= 5 * 30
    # 4 hand the questions out as CSV
    Path("ask.csv").write_text(headwater("ask", *db, "--top", "50"))
    rows = list(csv.DictReader(Path("ask.csv").read_text().splitlines()))
    assert len(rows) == 50
    assert list(rows[0])[:6] == ["question", "event", "label", "prediction", "probability", "why"]
    assert set(measured(0)) <= set(rows[0])
    # 5 the answers come a day later; 6 one cell is bad, one is empty; 7 one is wrong
    right = {row["question"]: broken(int(row["event"][1:])) for row in rows}
    for row in rows:
        row["label"] = str(right[row["question"]])
    rows[0]["label"], rows[1]["label"] = "perhaps", ""
    wrong = rows[2]
    wrong["label"] = str(1 - right[wrong["question"]])
    with Path("ask.csv").open("w", newline="") as file:
        filled = csv.DictWriter(file, list(rows[0]))
        filled.writeheader()
        filled.writerows(rows)
    told = headwater("answer", *db, "ask.csv", "--by", "ada", code=2)
    assert "ask.csv, line 2: expected one of the labels 0 and 1, got 'perhaps'." in told
    assert "48 answers, 1 empty, 1 refused" in told
    # 8 the same file twice counts once
    again = headwater("answer", *db, "ask.csv", "--by", "ada", code=2)
    assert "0 answers, 48 repeated, 1 empty, 1 refused." in again
    # 9 the wrong one is corrected
    label = str(right[wrong["question"]])
    headwater("correct", *db, "--question", wrong["question"], "--label", label, "--by", "ada")
    # 10 a person who leaves is forgotten, the answers stay
    assert "ada is person 1 now" in headwater("forget", *db, "--person", "ada")
    # 11 a label comes unasked, for an event that was asked about
    Path("late.jsonl").write_text(
        json.dumps({"event": rows[1]["event"], "label": right[rows[1]["question"]]}) + "\n"
    )
    assert "1 answers." in headwater("answer", *db, "late.jsonl")
    # 12 how good is it? Every command was a restart.
    status = json.loads(headwater("status", *db, "--json"))
    assert (status["events"], status["labels"]) == (1000, 249)
    assert status["interval"][0] <= status["error"] <= status["interval"][1]
    assert status["recent"]["week"]["labels"] >= 49
    assert "above 0" in headwater("status", *db, "--alarm", "0", code=3) or status["error"] == 0
    model = hw.live.read("plant.db").learner()
    hits = [model.predict_one(measured(n)) == broken(n) for n in range(2000, 2500)]
    assert sum(hits) > 400
    expected = model.to_bytes()

    # The same in Python gives the same model.
    with hw.live.open("python.db", learner=hw.Spring(label_rate=0.1), clock="events") as plant:
        _same_in_python(plant, rows, wrong, right)
        assert plant.learner.to_bytes() == expected


def _same_in_python(
    plant: hw.live.Loop, rows: list[dict[str, str]], wrong: dict[str, str], right: dict[str, int]
) -> None:
    history = hw.open("history.csv", columns=hw.Columns(label="broken", id="id", time="at"))
    for record, time, _ in history.timed_records():
        plant.receive(record.x, id=record.id, label=record.y, time=time)
    plant.change_allowance(hw.live.Allowance(per_day=30, tz="Europe/Berlin"))
    today = hw.open("today.csv", columns=hw.Columns(id="id", time="at"))
    for record, time, _ in today.timed_records():
        plant.receive(record.x, id=record.id, time=time)
    for row in rows[2:]:
        plant.desk.answer(int(row["question"]), int(row["label"]), by="ada")
    plant.apply()
    for row in rows[2:]:
        assert plant.desk.answer(int(row["question"]), int(row["label"]), by="ada").repeated
    plant.correct(int(wrong["question"]), right[wrong["question"]], by="ada")
    plant.wait()
    plant.forget_person("ada")
    with pytest.raises(AnswerError):
        plant.desk.answer(int(rows[2]["question"]), 1, by="bob")
    plant.label(rows[1]["event"], right[rows[1]["question"]])


def test_the_commands_of_the_page_run_in_their_order(headwater: Any) -> None:
    write("history.csv", range(200), with_labels=True)
    write("today.csv", range(200, 1000), with_labels=False)
    page = Path(__file__).parents[2] / "docs" / "operate" / "desk.md"
    block = page.read_text().partition("```sh\n")[2].partition("```")[0]
    rows: list[dict[str, str]] = []
    ran = []
    for line in block.splitlines():
        command, _, file = line.partition("#")[0].removeprefix("headwater ").partition(">")
        arguments = shlex.split(command)
        ran.append(arguments[0])
        if "--question" in arguments:  # one of those that ada has answered
            arguments[arguments.index("--question") + 1] = rows[0]["question"]
        told = headwater(*arguments, code=None if arguments[0] == "status" else 0)
        if arguments[0] == "ask":
            rows = list(csv.DictReader(told.splitlines()))
            for row in rows[:-1]:
                row["label"] = str(broken(int(row["event"][1:])))
            with Path(file.strip()).open("w", newline="") as answered:
                filled = csv.DictWriter(answered, list(rows[0]))
                filled.writeheader()
                filled.writerows(rows)
            late = {"event": rows[-1]["event"], "label": 1}
            Path("late.jsonl").write_text(json.dumps(late) + "\n")
    assert ran == (
        ["run", "budget", "run", "ask", "answer", "answer", "correct", "forget", "answer", "status"]
    )
    status = json.loads(headwater("status", "--db", "plant.db", "--json"))
    assert (status["events"], status["labels"]) == (1000, 200 + len(rows))


def test_a_plan_says_how_many_questions_and_how_long_they_wait(headwater: Any) -> None:
    write("events.csv", range(1000), with_labels=False)
    given = ("--time", "at", "--per-day", "30", "--tz", "UTC", "--hours", "08:00-17:00")
    found = json.loads(headwater("budget", "plan", "events.csv", *given, "--json"))
    assert (found["events"], found["days"]) == (1000, 5)
    assert found["most"] <= 30
    assert 0.5 < found["used"] <= 1
    assert 0 < found["longest_wait"] < 3 * 86_400
    assert "questions a day" in headwater("budget", "plan", "events.csv", *given)
    assert "--time says which column" in headwater(
        *("budget", "plan", "events.csv", "--per-hour", "3"), code=2
    )


def test_commands_that_write_say_who_holds_the_database(headwater: Any) -> None:
    with hw.live.open("plant.db", learner=hw.OLSF()) as plant:
        plant.receive({"a": 1.0})
        rows = list(csv.DictReader(headwater("ask", "--db", "plant.db").splitlines()))
        assert rows[0]["event"] == "#1"  # reading goes on beside it
        assert "there is no allowance" in headwater("budget", "--db", "plant.db")
        Path("ask.csv").write_text("question,label\n1,1\n")
        code = "from headwater.cli import main; main()"
        arguments = ["answer", "--db", "plant.db", "ask.csv"]
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False
        )
        assert done.returncode == 2
        assert "plant.db is held by process" in done.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "expected the columns question (or event) and label, got nothing"),
        ("a,b\n1,2\n", "got a, b"),
        ('{"question": 1, "label"\n', "line 1: expected JSON"),
        ("question,label\nx,1\n", "line 2: question must be a number"),
        ("question;label\n99;1\n", "line 2: answer: there is no question 99"),
        ("event,label\nnobody,1\n", "line 2: live: there is no event 'nobody'"),
        ('{"question": 1}\n[1]\n', "line 2: expected JSON, one object per line, got '[1]'"),
        ("question,label\n123456789012345678901,1\n", "line 2: answer: there is no question"),
        ("question,label\n" + "1" * 200_000, "line 1: field larger than field limit"),
        ("question,label\n1,\xfc\n", "expected UTF-8, got the byte 0xfc at 17; save it as CSV"),
        (
            "event,label\ntold,1\n",
            "line 2: live: the event of fact 1 was not asked about, and this",
        ),
    ],
)
def test_what_is_wrong_in_a_file_of_answers_is_named(headwater: Any, text: str, said: str) -> None:
    learner = hw.Linear(query=hw.query.Random(1e-9))
    with hw.live.open("plant.db", learner=learner) as plant:
        plant.receive({"a": 1.0}, id="told")
    Path("ask.csv").write_text(text, encoding="latin-1")
    assert said in headwater("answer", "--db", "plant.db", "ask.csv", code=2)


def test_labels_of_events_that_nobody_was_asked_about_are_learned_within_their_days(
    headwater: Any,
) -> None:
    Path("events.jsonl").write_text('{"id": 7, "a": 1.0}\n{"id": "8", "a": -1.0}\n')
    rule = ("--learner", "Linear", "--set", "query=random", "--set", "query.rate=1e-9")
    run = ("run", "events.jsonl", "--db", "plant.db", "--id", "id", *rule)
    assert json.loads(headwater(*run, "--answer-within", "7", "--json"))["asked"] == 0
    Path("late.csv").write_text("event,label\n7,1\n8,0\n")
    assert "2 answers." in headwater("answer", "--db", "plant.db", "late.csv")
    assert "2 repeated." in headwater("answer", "--db", "plant.db", "late.csv")
    headwater("correct", "--db", "plant.db", "--event", "7", "--label", "0")
    assert json.loads(headwater("status", "--db", "plant.db", "--json"))["labels"] == 2
    assert hw.live.read("plant.db").learner().predict_one({"a": 1.0}) == 0
    headwater("forget", "--db", "plant.db", "--event", "7")
    assert "goes with --db" in headwater("run", "events.jsonl", "--answer-within", "7", code=2)


def test_budget_shows_changes_and_ends_an_allowance(headwater: Any) -> None:
    hw.live.open("plant.db", learner=hw.Spring()).close()
    db = ("--db", "plant.db")
    assert "no allowance" in headwater("budget", *db)
    assert "say which database" in headwater("budget", code=2)
    assert "need tz" in headwater("budget", *db, "--per-day", "5", code=2)
    headwater("budget", *db, "--per-day", "5", "--tz", "UTC")
    told = json.loads(headwater("budget", *db, "--per-hour", "2", "--json"))
    assert told["allowance"] == {"per_day": 5, "per_hour": 2, "tz": "UTC", "reserve": 0.3}
    assert told["status"]["left"] == 2
    assert "no allowance" in headwater("budget", *db, "--off")
