"""The same on PostgreSQL, on a real server that the tests start."""

import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import sqlalchemy as sa

import headwater as hw
from headwater.errors import HeldError, JournalError
from headwater.live import database as db
from headwater.live import reading
from headwater.live.snapshots import SnapshotStore
from live import plan, postgres
from live.test_kills import kill_often
from live.test_past import live, run_by_hand

FULL = bool(os.environ.get("HEADWATER_FULL"))
KILLS = 200 if FULL else 5

pytestmark = [
    pytest.mark.skipif(postgres.programs() is None, reason="PostgreSQL is not installed"),
    pytest.mark.xdist_group("postgres"),
]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with postgres.server() as url:
        yield url


COUNT = itertools.count()


@pytest.fixture
def url(server: str) -> str:
    """A new database of the server."""
    name = f"d{next(COUNT)}"
    engine = sa.create_engine(
        sa.make_url(server).set(drivername="postgresql+psycopg"), isolation_level="AUTOCOMMIT"
    )
    with engine.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}")
    engine.dispose()
    return server.replace("/postgres?", f"/{name}?")


def test_a_snapshot_that_the_server_still_writes_for_a_killed_process_is_written_over(
    url: str,
) -> None:
    with hw.live.open(url, learner=plan.LEARNERS["Linear"]()) as loop:
        plan.carry_out(loop, 0, 10, lambda step: None)
    database = db.Database(url)
    store = SnapshotStore(database)
    try:
        with database.engine.connect() as killed:
            database.insert(killed, db.chunks, [(1, 99, 0, b"of before"), (1, 99, 1, b", longer")])
            writing = Thread(target=store.write, args=(1, 99, b"the bytes of now"))
            writing.start()
            writing.join(0.5)
            assert writing.is_alive(), "it waits for the other's transaction"
            killed.commit()
            writing.join(30)
        with database.engine.connect() as connection:
            found = sa.select(db.chunks.c.part, db.chunks.c.data).where(db.chunks.c.fact == 99)
            assert [tuple(row) for row in connection.execute(found)] == [(0, b"the bytes of now")]
    finally:
        database.engine.dispose()


def test_the_bytes_are_those_of_sqlite(url: str, tmp_path: Path) -> None:
    for learner in plan.LEARNERS:
        name = f"{url}&application_name={learner}"  # an address of its own, the same database
        here, there = str(tmp_path / f"{learner}.db"), name
        with hw.live.open(there, stream=learner, learner=plan.LEARNERS[learner]()) as loop:
            plan.carry_out(loop, 0, 60, lambda step: None)
            got = loop.learner.to_bytes()
        with hw.live.open(here, learner=plan.LEARNERS[learner]()) as loop:
            plan.carry_out(loop, 0, 60, lambda step: None)
            assert loop.learner.to_bytes() == got


def test_processes_that_are_killed_lose_nothing(url: str, tmp_path: Path) -> None:
    steps = kill_often(url, "Spring", KILLS, tmp_path, seed=3)
    survived = plan.run(url, "Spring", max(0, steps - 20), steps + 20)
    undisturbed = str(tmp_path / "undisturbed.db")
    assert plan.run(undisturbed, "Spring", 0, steps + 20) == survived
    assert plan.content(url) == plan.content(undisturbed)


def test_corrections_and_forgetting(url: str) -> None:
    from headwater.testing import stream_for
    from test_contract import CLASSES

    make, stream = CLASSES["Spring(often)"], stream_for(hw.PAA)
    options: dict[str, Any] = {"apply_after": 0, "snapshot_facts": 30}
    with hw.live.open(url, learner=make(), **options) as loop:
        answered = live(loop, stream)
        secret = loop.receive({"iban-of-eve": 1.0}, id="eve-4711", label=True)
        loop.correct(answered[0], True)
        loop.wait()
        loop.forget("eve-4711")
        expected = run_by_hand(url, make(), {answered[0]: True}, {secret.number})
        assert loop.learner.to_bytes() == expected
    database = db.Database(url)
    with database.connect() as connection:
        for table in (db.facts, db.names, db.bodies, db.chunks):
            for row in connection.execute(sa.select(table)):
                said = str(row._mapping)
                assert "iban-of-eve" not in said
                assert "eve-4711" not in said
    database.close()
    with hw.live.open(url) as loop:
        assert loop.learner.to_bytes() == expected


def test_one_writer_and_a_fence(url: str) -> None:
    with hw.live.open(url, learner=hw.PAA()) as loop:
        loop.receive({"a": 1.0}, id=1)
        other = db.Database(url)
        from headwater.live import holder

        holder.PATIENCE, patience = 0.1, holder.PATIENCE
        try:
            with pytest.raises(HeldError, match="is held by process"):
                holder.Holder(other)
        finally:
            holder.PATIENCE = patience
        with other.engine.begin() as connection:
            connection.execute(sa.update(db.holder).values(fence=99))
        other.close()
        with pytest.raises(HeldError, match="another process has taken it over"):
            loop.receive({"a": 1.0}, id=2)
        with pytest.raises(HeldError):
            loop.close()


def test_a_connection_that_breaks_in_a_commit_leaves_it_open_whether_it_was_taken(url: str) -> None:
    with hw.live.open(url, learner=hw.PAA()) as loop:
        loop.receive({"a": 1.0}, id=1)
        writer = loop._writer
        commit = writer.database.engine.dialect.do_commit

        def break_after(connection: Any) -> None:
            writer.database.engine.dialect.do_commit = commit  # type: ignore[method-assign]
            commit(connection)
            raise writer.database.engine.dialect.loaded_dbapi.OperationalError("it was cut")

        writer.database.engine.dialect.do_commit = break_after  # type: ignore[assignment,method-assign]
        with pytest.raises(JournalError, match=r"cut\. Whether this was taken is not known; sent"):
            loop.receive({"a": 2.0}, id=2)
        assert loop.receive({"a": 2.0}, id=2).repeated
        assert loop.status().events == 2


def test_a_reader_sees_one_moment_whatever_is_committed_meanwhile(url: str) -> None:
    with hw.live.open(url, learner=hw.PAA()) as loop:
        loop.receive({"a": 1.0}, id=1)
        with loop._writer.database.reading() as connection:
            head, _ = reading.news(connection, 1, 0, 10)
            loop.receive({"b": 1.0}, id=2)
            assert reading.news(connection, 1, 0, 10)[0] == head
        assert len(loop.news(0)[0]) == 2


def test_a_backup_of_a_server_is_a_file_and_goes_back(url: str, tmp_path: Path) -> None:
    expected = plan.run(url, "Linear", 0, 70)
    hw.live.backup(url, tmp_path / "monday.hwdb")
    hw.live.restore(tmp_path / "monday.hwdb", tmp_path / "other.db")
    with hw.live.read(tmp_path / "other.db") as reader:
        assert reader.learner().to_bytes() == expected
    with pytest.raises(JournalError, match="it has streams already"):
        hw.live.restore(tmp_path / "monday.hwdb", url)
