"""A live stream is a session whose model survives: the same bytes, ids that count once."""

import asyncio
import errno
import json
import os
import random
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

import headwater as hw
from headwater._core import ARITHMETIC
from headwater.errors import (
    AnswerError,
    EventError,
    HeldError,
    IdReusedError,
    JournalError,
    LabelError,
    ParameterError,
    TooOldError,
)
from headwater.live import database as db
from headwater.live import journal, snapshots
from headwater.testing import Make, stream_for
from live import plan
from test_contract import MAKERS

EVENT: dict[str, Any] = {"rain": 2.0, "site": "roof"}
FAST: dict[str, Any] = {"synchronous": "normal"}


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "plant.db")


def rows(path: str, table: Any) -> list[Any]:
    database = db.Database(path)
    with database.connect() as connection:
        found = connection.execute(sa.select(table)).all()
    database.close()
    return list(found)


# The model


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_the_same_stream_through_a_session_and_a_loop_gives_the_same_bytes(
    make: Make, path: str
) -> None:
    stream = stream_for(make)
    oracle = hw.labels.Oracle(stream.labels, delay=(0, 9), seed=4)
    session, loop = hw.Session(make(), oracle), hw.live.open(path, learner=make(), **FAST)
    with loop:
        questions = {}
        for number, event in enumerate(stream.events):
            decision = session.receive(event)
            receipt = loop.receive(event, id=number)
            questions[id(decision)] = receipt.question
            said = (decision.prediction, decision.margin, decision.query_probability)
            assert (receipt.prediction, receipt.margin, receipt.query_probability) == said
            for _, due, label in list(oracle.answers()):
                session.learner.answer(due, label)
                question = questions[id(due)]
                assert question is not None
                assert loop.answer(question, label).state == "applied"
        assert loop.learner.to_bytes() == session.learner.to_bytes()
    with hw.live.open(path, learner=make(), **FAST) as again:
        assert again.learner.to_bytes() == session.learner.to_bytes()


def test_a_stream_may_begin_with_a_learner_that_has_learned(path: str) -> None:
    trained = hw.PAA()
    trained.learn_one({"rain": 1.0}, True)
    with hw.live.open(path, learner=trained) as loop:
        assert loop.learner.to_bytes() == trained.to_bytes()
        loop.receive({"rain": 1.0}, label=False)
        expected = loop.learner.to_bytes()
        assert trained.learned == 1
    for file in Path(f"{path}.snapshots").glob("*-[1-9]*.hw"):
        file.unlink()  # so that it is replayed from its first model
    with hw.live.open(path) as loop:
        assert loop.learner.to_bytes() == expected
    for file in Path(f"{path}.snapshots").iterdir():
        file.write_bytes(b"damaged")
    with pytest.raises(JournalError, match="began is damaged or missing"):
        hw.live.open(path)


def test_another_learner_than_the_stream_s_is_refused(path: str) -> None:
    with pytest.raises(ParameterError, match="is new, so it needs a learner"):
        hw.live.open(path)
    hw.live.open(path, learner=hw.PAA(C=0.5)).close()
    with pytest.raises(ParameterError, match=r"has the learner PAA\(C=0.5\), got PAA\(\)"):
        hw.live.open(path, learner=hw.PAA())
    hw.live.open(path, learner=hw.PAA(C=0.5)).close()


def test_a_damaged_snapshot_is_passed_over(path: str) -> None:
    with hw.live.open(path, learner=hw.OLSF()) as loop:
        for number in range(5):
            loop.receive({"a": number + 1.0}, label=number % 2 == 0)
        expected = loop.learner.to_bytes()
    (snapshot,) = Path(f"{path}.snapshots").iterdir()
    snapshot.write_bytes(snapshot.read_bytes()[:-1])
    with hw.live.open(path) as loop:
        assert loop.learner.to_bytes() == expected


# Ids


def test_an_event_that_is_sent_again_gets_its_first_decision(path: str) -> None:
    with hw.live.open(path, learner=hw.PAA()) as loop:
        first = loop.receive(EVENT, id="monday")
        loop.answer(first.number, True)
        again = loop.receive({"rain": 2, "gone": None, "site": "roof"}, id="monday")
        assert again == first._replace(repeated=True)
        assert loop.learner.seen == 1
        with pytest.raises(IdReusedError, match="'monday' was used before"):
            loop.receive({**EVENT, "rain": 2.5}, id="monday")
        with pytest.raises(IdReusedError):
            loop.receive(EVENT, id="monday", label=True)
        assert loop.receive(EVENT, id="1").number != loop.receive(EVENT, id=1).number
        assert (loop.learner.seen, loop.receive(EVENT).id) == (3, "#6")
        for strange in ("#7", "", "x" * 513, 1.5, True):
            with pytest.raises(EventError, match="id"):
                loop.receive(EVENT, id=strange)  # type: ignore[arg-type]


def test_ids_count_inside_one_batch_too(path: str) -> None:
    with hw.live.open(path, learner=hw.PAA()) as loop:
        events: list[dict[str, Any]] = [
            EVENT,
            {"rain": 1.0},
            EVENT,
            {"rain": 3.0},
            {"rain": float("inf")},
        ]
        done = loop.receive_many(events, ids=["a", "b", "a", "b", "c"])
        assert isinstance(done[0], hw.live.Receipt)
        assert done[2] == done[0]._replace(repeated=True)
        assert isinstance(done[3], IdReusedError)
        assert isinstance(done[4], EventError)
        assert loop.learner.seen == 2
        with pytest.raises(EventError, match="5 events, got 1 ids"):
            loop.receive_many(events, ids=["a"])


def test_what_is_no_event_and_no_label_is_refused_and_nothing_is_kept(path: str) -> None:
    with hw.live.open(path, learner=hw.PAA()) as loop:
        before = loop.learner.to_bytes()
        for event in ({"a": float("inf")}, {"a": [1]}, {"a": "b", "a=b": 1.0}, {"a" * 2000: 1.0}):
            with pytest.raises(EventError):
                loop.receive(event)
        with pytest.raises(EventError, match="mapping"):
            loop.receive([1])  # type: ignore[arg-type]
        with pytest.raises(EventError, match="at most 100,000"):
            loop.receive(dict.fromkeys(range(100_001), 1.0))
        for label in ("wet", None, [1]):
            receipt = loop.receive({"a": 1.0}, id="a")
            before = loop.learner.to_bytes()
            with pytest.raises(LabelError):
                loop.answer(receipt.number, label)  # type: ignore[arg-type]
            if label == "wet":
                with pytest.raises(LabelError):
                    loop.receive({"a": 1.0}, label=label)
        assert loop.learner.to_bytes() == before
        assert loop.status().facts == 1


# Answers


def test_an_answer_that_is_sent_again_is_learned_once(path: str) -> None:
    with hw.live.open(path, learner=hw.PAA(), apply_after=0) as loop:
        question = loop.receive(EVENT).question
        assert question is not None
        first = loop.answer(question, True, by="ada")
        assert first.state == "applied"
        assert loop.answer(question, True, by="ada") == first._replace(repeated=True)
        with pytest.raises(IdReusedError, match="another label; use correct"):
            loop.answer(question, False, by="ada")
        assert loop.learner.learned == 1
        assert loop.answer(question, False, by="ada", key="2").state == "correcting"
        loop.wait()
        assert loop.learner._learned_of_each() == (1, 0)
        with pytest.raises(AnswerError, match="no question 99"):
            loop.answer(99, True)
        with pytest.raises(ParameterError, match="a card or its number"):
            loop.answer("17", True)  # type: ignore[arg-type]


def test_a_person_s_answer_waits_for_the_next_one_or_for_its_time(path: str) -> None:
    with hw.live.open(path, learner=hw.OLSF(), apply_after=1e6) as loop:
        numbers = [loop.receive({"a": float(n)}).number for n in range(1, 5)]
        assert loop.answer(numbers[0], True, by="ada").state == "answered"
        assert loop.answer(numbers[1], True, by="bob").state == "answered"
        assert loop.learner.learned == 0
        loop.answer(numbers[2], True, by="ada")
        assert loop.learner.learned == 1
        assert loop.status().questions == {"answered": 2, "applied": 1, "open": 1}
    with hw.live.open(path, apply_after=0) as loop:  # whose time has come
        for _ in range(100):
            if loop.learner.learned == 3:
                break
            threading.Event().wait(0.05)
        assert loop.learner.learned == 3


def test_an_undo_at_once_costs_no_replay(path: str) -> None:
    with hw.live.open(path, learner=hw.OLSF(), apply_after=1e6) as loop:
        question = loop.receive(EVENT).number
        before = loop.learner.to_bytes()
        loop.answer(question, True, by="ada")
        assert loop.retract(question, by="ada").state == "open"
        loop.answer(question, False, by="ada")
        assert loop.correct(question, True, by="ada").state == "answered"
        assert loop.learner.to_bytes() == before
        assert loop._live.past.replays == 0
        loop.answer(loop.receive(EVENT).number, True, by="ada")
        assert loop.learner.learned == 1


def test_a_label_that_comes_with_its_event_is_learned_and_asks_nothing(path: str) -> None:
    learner, plain = hw.Spring(label_rate=0.5), hw.Spring(label_rate=0.5)
    with hw.live.open(path, learner=learner) as loop:
        for number in range(30):
            event = {"a": 1.0 + number % 3, "b": -1.0}
            receipt = loop.receive(event, id=number, label=number % 2 == 0)
            assert (receipt.asked, receipt.query_probability) == (False, 0.0)
            plain.answer(plain.decide_one(event, rate=0.0), number % 2 == 0)
        assert loop.learner.to_bytes() == plain.to_bytes()
        assert loop.learner.asked == 0
        assert loop.status().labels == 30
        assert loop.label(3, True).state == "correcting"
        loop.wait()
        assert loop.learner._learned_of_each() == (14, 16)


def test_a_late_label_without_a_question_is_learned_within_its_time(path: str) -> None:
    never = hw.query.Random(0.0)
    with hw.live.open(path, learner=hw.Linear(query=never), answer_within=1e6) as loop:
        for number in range(20):
            loop.receive({"a": float(number)}, id=f"e{number}")
        assert loop.label("e3", True).state == "applied"
        assert loop.label("e3", True).repeated
        assert loop.label("#5", False).state == "applied"
        assert loop.learner.learned == 2
        expected = loop.learner.to_bytes()
    for file in Path(f"{path}.snapshots").iterdir():
        file.unlink()
    with hw.live.open(path, answer_within=0) as loop:
        assert loop.learner.to_bytes() == expected
        with pytest.raises(JournalError, match="there is no event 'nothing'"):
            loop.label("nothing", True)
    other = path + "2"
    with hw.live.open(other, learner=hw.Linear(query=never)) as loop:
        loop.receive({"a": 1.0}, id="x")
        with pytest.raises(TooOldError, match="answer_within"):
            loop.label("x", True)


# Streams, threads, coroutines


def test_streams_of_one_database_are_apart_and_share_commits(path: str) -> None:
    with (
        hw.live.open(path, stream="north", learner=hw.PAA()) as north,
        hw.live.open(path, stream="south", learner=hw.OLSF()) as south,
    ):
        with pytest.raises(JournalError, match="'north' is open already"):
            hw.live.open(path, stream="north")
        north.receive(EVENT, id=1, label=True)
        south.receive({"other": 1.0}, id=1, label=False)
        assert (north.learner.learned, south.learner.learned) == (1, 1)
        assert set(south.learner.weights()) == {"other"}
    with hw.live.open(path, stream="south") as south:
        assert south.learner.weights() == {"other": -1.0}


def test_many_threads_and_coroutines_share_commits_and_each_gets_its_own_reply(path: str) -> None:
    with hw.live.open(path, learner=hw.Linear(), **FAST) as loop:
        before = loop._writer.commits

        async def many() -> list[hw.live.Receipt]:
            sent = (loop.receive_async({"a": float(n)}, id=n) for n in range(200))
            return await asyncio.gather(*sent)

        receipts = asyncio.run(many())
        assert [receipt.id for receipt in receipts] == list(range(200))
        assert sorted(receipt.number for receipt in receipts) == list(range(1, 201))
        assert loop._writer.commits - before < 100

        found: list[Any] = []
        threads = [
            threading.Thread(target=lambda n=n: found.append(loop.receive({"b": 1.0}, id=f"t{n}")))
            for n in range(20)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len({receipt.number for receipt in found}) == 20
    with pytest.raises(JournalError, match="it is closed"):
        loop.receive(EVENT)


# One writer

SECOND = """
import sys
import headwater as hw
try:
    hw.live.open(sys.argv[1])
except hw.errors.HeldError as error:
    print(error)
"""


def test_a_second_process_is_refused_by_a_sentence_and_may_read(path: str) -> None:
    with hw.live.open(path, learner=hw.PAA()) as loop:
        loop.receive(EVENT, id=1)
        run = [sys.executable, "-c", SECOND, path]
        said = subprocess.run(run, capture_output=True, text=True, check=True).stdout
        assert said == f"{path} is held by process {os.getpid()}; stop it first.\n"
        with hw.live.read(path) as reader:
            assert reader.status().events == 1
            assert reader.learner().seen == 1
        loop.receive(EVENT, id=2)
    hw.live.open(path).close()


def test_a_writer_whose_place_was_taken_cannot_commit(path: str) -> None:
    with hw.live.open(path, learner=hw.PAA()) as loop:
        loop.receive(EVENT, id=1)
        database = db.Database(path)
        with database.engine.begin() as connection:
            connection.execute(sa.update(db.holder).values(fence=99))
        for number in (2, 3):
            with pytest.raises(HeldError, match=r"taken it over.* Nothing of this was taken"):
                loop.receive(EVENT, id=number)
        with pytest.raises(HeldError):
            loop.snapshot()
        database.close()
        with pytest.raises(HeldError):
            loop.close()
    assert [row.key for row in rows(path, db.facts)] == ["1"]


def test_a_network_file_system_is_refused(monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    monkeypatch.setattr(db, "mounted_kind", lambda path: "nfs4")
    with pytest.raises(JournalError, match="expected a local file system for SQLite, got nfs4"):
        hw.live.open(path, learner=hw.PAA())
    with pytest.raises(ParameterError, match="must be a path"):
        hw.live.open("mysql://somewhere/db", learner=hw.PAA())


# What fails below


@pytest.fixture
def loop(path: str) -> Iterator[hw.live.Loop]:
    with hw.live.open(path, learner=hw.Spring(label_rate=0.5), apply_after=0) as loop:
        for number in range(30):
            receipt = loop.receive({"a": float(number % 7), "b": 1.0}, id=number)
            if receipt.asked:
                loop.answer(receipt.number, number % 2 == 0)
        yield loop


def check_nothing_is_lost(loop: hw.live.Loop, path: str) -> None:
    """After a failure the model is that of the journal, and the loop goes on."""
    receipt = loop.receive({"a": 2.0}, id="after")
    assert not receipt.repeated
    expected = loop.learner.to_bytes()
    loop.close()
    for file in Path(f"{path}.snapshots").iterdir():
        file.unlink()
    with hw.live.open(path) as again:
        assert again.learner.to_bytes() == expected
        assert again.learner.seen == 31


def set_up_writer(loop: hw.live.Loop, pragma: str) -> None:
    """Change the writer's connection; after a failure it gets another one."""
    loop._do(lambda connection: connection.exec_driver_sql(f"PRAGMA {pragma}").close())


def test_a_full_disk_is_a_sentence_and_nothing_is_lost(loop: hw.live.Loop, path: str) -> None:
    before = loop.learner.to_bytes()
    large = {f"name {n}": 1.0 for n in range(3_000)}
    for _ in range(2):
        set_up_writer(loop, "max_page_count = 1")  # as many as there are
        with pytest.raises(JournalError, match=r"full; make room.* Nothing of this was taken"):
            loop.receive(large, id="large")
    assert loop.status().events == 30
    assert loop.learner.to_bytes() == before
    check_nothing_is_lost(loop, path)


def test_a_snapshot_that_finds_no_room_is_a_warning_and_no_fact_is_lost(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, data: bytes) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    loop = hw.live.open(path, learner=hw.PAA(), **FAST)
    loop.receive({"a": 1.0}, id=1, label=True)
    monkeypatch.setattr(snapshots, "write_file", full)
    with pytest.raises(JournalError, match=r"plant.db: No space left on device; make room"):
        loop.snapshot()
    assert loop.receive({"a": 2.0}, id=2, label=True).prediction is True
    assert loop.behind == 2
    expected = loop.learner.to_bytes()
    with pytest.warns(UserWarning, match=r"No snapshot was made.*No fact is lost"):
        loop.close()
    monkeypatch.undo()
    with hw.live.open(path) as again:
        assert again.learner.to_bytes() == expected


def test_a_read_only_database_is_a_sentence(loop: hw.live.Loop, path: str) -> None:
    set_up_writer(loop, "query_only = ON")
    with pytest.raises(JournalError, match=r"readonly database; it cannot be written to"):
        loop.receive({"a": 1.0}, id="no")
    check_nothing_is_lost(loop, path)


def test_a_locked_database_is_a_sentence(loop: hw.live.Loop, path: str) -> None:
    set_up_writer(loop, "busy_timeout = 50")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(JournalError, match="database is locked; another program"):
        loop.receive({"a": 1.0}, id="no")
    other.execute("ROLLBACK")
    other.close()
    check_nothing_is_lost(loop, path)


def test_a_fault_in_the_middle_of_a_batch_takes_nothing(loop: hw.live.Loop, path: str) -> None:
    names = loop._journal.names

    class Faulty:
        def encode(self, x: Any) -> Any:
            raise ZeroDivisionError

        def __getattr__(self, name: str) -> Any:
            return getattr(names, name)

    loop._journal.names = Faulty()  # type: ignore[assignment]
    with pytest.raises(JournalError, match=r"ZeroDivisionError.*Nothing of this was taken"):
        loop.receive({"a": 1.0}, id="no")
    check_nothing_is_lost(loop, path)


def test_a_clock_that_is_set_back_stops_nothing_and_time_does_not_run_back(path: str) -> None:
    with hw.live.open(path, learner=hw.OLSF(), apply_after=50) as loop:
        now = [1_000.0]
        loop._journal.clock = lambda: now[0]
        question = loop.receive({"a": 1.0}).number
        loop.answer(question, True, by="ada")
        now[0] = 400.0
        loop.receive({"a": 2.0})
        for _ in range(100):
            if loop.learner.learned:
                break
            threading.Event().wait(0.05)
        assert loop.learner.learned == 1  # it waits no longer than it should
        times = [row.time for row in rows(path, db.facts)]
        assert times == [1_000.0] * len(times)


# Versions


def test_another_arithmetic_is_noted_with_a_snapshot(path: str) -> None:
    with hw.live.open(path, learner=hw.PAA()) as loop:
        for number in range(5):
            loop.receive({"a": number + 1.0}, label=number % 2 == 0)
        expected = loop.learner.to_bytes()
    database = db.Database(path)
    with database.engine.begin() as connection:
        connection.execute(sa.update(db.streams).values(arithmetic=0))
        connection.execute(sa.delete(db.snapshots))
    database.close()
    with hw.live.open(path) as loop:
        assert loop.learner.to_bytes() == expected
        assert loop.status().last[0][1] == "upgraded"
    (stream,) = rows(path, db.streams)
    assert stream.arithmetic == ARITHMETIC
    (fact,) = [row for row in rows(path, db.facts) if row.kind == 10]
    assert json.loads(fact.data) == [0, ARITHMETIC]
    assert [row.fact for row in rows(path, db.snapshots)] == [6]


def test_tables_of_other_versions_and_other_databases_are_refused(path: str) -> None:
    hw.live.open(path, learner=hw.PAA()).close()
    database = db.Database(path)
    for version, sentence in (("9999", "use a newer headwater"), ("0000", "use a newer")):
        with database.engine.begin() as connection:
            connection.exec_driver_sql(f"UPDATE alembic_version SET version_num = '{version}'")
        with pytest.raises(JournalError, match=sentence):
            hw.live.open(path)
    with database.engine.begin() as connection:
        connection.exec_driver_sql("DROP TABLE alembic_version")
    with pytest.raises(JournalError, match="expected a live database or an empty one"):
        hw.live.open(path)
    database.close()
    Path(path + "3").write_text("not a database at all, but long enough to look at " * 100)
    with pytest.raises(JournalError, match="another kind of file"):
        hw.live.open(path + "3", learner=hw.PAA())


def test_the_migrations_make_the_tables_that_the_program_uses(path: str) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    hw.live.open(path, learner=hw.PAA()).close()
    database = db.Database(path)
    with database.connect() as connection:
        context = MigrationContext.configure(connection)
        differences = compare_metadata(context, db.metadata)
    database.close()
    assert differences == []
    versions = Path(db.__file__).parent / "migrations" / "versions"
    assert [f.stem.removeprefix("v") for f in sorted(versions.glob("v*.py"))] == [*db.REVISIONS]


# Retention


def test_old_events_go_once_a_snapshot_stands_for_them(path: str) -> None:
    learner = hw.OLSF(kept_share=1.0)
    with hw.live.open(path, learner=learner, keep_events=100, apply_after=0) as loop:
        now = [1_000.0]
        loop._journal.clock = lambda: now[0]
        first = loop.receive({"a": 1.0}, id="first").number
        waiting = loop.receive({"a": 2.0}, id="waiting").number
        loop.answer(first, True)
        loop.snapshot()
        now[0] = 2_000.0
        late = loop.receive({"b": 1.0}, id="late").number
        loop.answer(late, True)
        loop.snapshot()
        assert [row.number for row in rows(path, db.bodies)] == [waiting, late]
        with pytest.raises(TooOldError, match="too old to be changed"):
            loop.correct(first, False)
        with pytest.raises(TooOldError, match="begin a new stream"):
            loop.change_learner(hw.PAA())
        loop.correct(late, False)
        loop.wait()
        assert loop.learner.weights() == {"a": 1.0, "b": -1.0}
        assert loop.answer(waiting, True).state == "applied"
        assert loop.receive({"a": 1.0}, id="first").repeated
        with pytest.raises(IdReusedError):
            loop.receive({"a": 1.5}, id="first")


def test_few_snapshots_are_kept_however_many_are_made(path: str) -> None:
    numbers = random.Random(1)
    with hw.live.open(path, learner=hw.OLSF(), **FAST) as loop:
        for number in range(300):
            loop.receive({"a": numbers.random()}, id=number, label=number % 2 == 0)
            if number % 5 == 0:
                loop.snapshot()
        facts = [one[0] for one in loop.status().snapshots]
        assert len(facts) <= 12
        assert facts[0] == 296
        loop.correct(facts[-1] + 2, True)
        loop.wait()
    files = {file.name for file in Path(f"{path}.snapshots").iterdir()}
    assert files == {f"1-{row.fact}.hw" for row in rows(path, db.snapshots)}


# How much is kept in memory and read


def test_decisions_that_are_not_in_memory_are_those_of_the_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for learner in plan.LEARNERS:
        expected = plan.run(str(tmp_path / f"{learner}.db"), learner, 0, 120)
        with monkeypatch.context() as few:
            few.setattr(journal, "MOST_DECISIONS", 2)
            assert plan.run(str(tmp_path / f"{learner}-few.db"), learner, 0, 120) == expected


def test_no_verb_reads_a_whole_stream(path: str) -> None:
    """SQLite has no statistics: without being told which index to take, it would."""
    ran: dict[str, Any] = {}

    def note(connection: Any, cursor: Any, statement: str, parameters: Any, *rest: Any) -> None:
        if statement.startswith("SELECT"):
            ran[statement] = parameters

    desk = hw.live.DeskSettings(known_share=0.5)
    allowance = hw.live.Allowance(per_hour=60, per_person_per_hour=500)
    learner = hw.Linear(query=hw.query.Random(0.5))
    options: dict[str, Any] = {"desk": desk, "allowance": allowance, "answer_within": 1e9, **FAST}
    with hw.live.open(path, learner=learner, **options) as plant:
        sa.event.listen(plant._writer.database.engine, "before_cursor_execute", note)
        plant.receive_many([{"a": float(n)} for n in range(100)], ids=list(range(100)))
        for _ in range(3):
            for card in plant.desk.lease("ada", 5):
                plant.desk.answer(card, True, by="ada", key="k")
        plant.desk.skip(plant.desk.lease("bob")[0], by="bob")
        plant.desk.undo(by="bob")
        plant.desk.undo(by="ada")
        answered = plant.desk.questions("applied")[-1].question
        plant.correct(answered, False)
        plant.retract(answered)
        unasked = next(n for n in range(1, 99) if plant.find(f"#{n}").state is None)
        plant.label(f"#{unasked}", True)
        plant.wait()
        plant.snapshot()
        plant.remove(unasked)
        plant.desk.disputes()
        plant.desk.people()
        plant.quality("day")
        plant.news(0)
    with hw.live.open(path) as plant:
        plant.receive({"a": 1.0}, id="again")
    assert len(ran) > 40
    database = sqlite3.connect(path)
    stops_early = ("max(", "LIMIT")  # at an end of the stream
    sums = ("sum(", "count(")  # of quality
    whole = []
    for statement, parameters in ran.items():
        plan = database.execute(f"EXPLAIN QUERY PLAN {statement}", parameters).fetchall()
        reads_all = any("facts USING PRIMARY KEY (stream=?)" in row[3] for row in plan)
        if reads_all and not any(word in statement for word in stops_early + sums):
            whole.append(statement)
    database.close()
    assert whole == []
