"""A stream as a file of facts, and a database as one file: export, import, backup, restore.

An export is for people and other programs: JSON lines or Parquet, one fact each, with a first line
about the stream. A backup is an SQLite file with every table and every snapshot, whatever database
it was made from; it is consistent, also while a process writes.
"""

import base64
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection

from headwater._core import ARITHMETIC, EventNames
from headwater.errors import JournalError, ParameterError
from headwater.learners.atomic_file import atomic_file
from headwater.learners.base import from_bytes
from headwater.live import database as db
from headwater.live.database import REVISIONS, Database, migrate
from headwater.live.follower import write_learner
from headwater.live.holder import Holder
from headwater.live.journal import SETTLED, WAITING
from headwater.live.reading import begin_replay, fact_rows, plain_fact, stream_number
from headwater.live.replay import History, Kind, read_chances, read_names
from headwater.live.snapshots import CHUNK, SnapshotStore

FORM = 1
"""The version of exports."""
COLUMNS = tuple(column.name for column in db.facts.columns if column.name != "stream")
PAGE = 5_000


@contextmanager
def _reading(database: Database) -> Iterator[Connection]:
    """A connection to a database of this version, which sees it as it is now."""
    database.check()
    with database.reading() as connection:
        yield connection


# Export and import


def export_stream(
    url: str | os.PathLike[str], path: str | os.PathLike[str], stream: str = "main"
) -> int:
    """Write the facts of a stream to a file; return how many.

    The file is Parquet if its name ends in `.parquet`, else JSON lines. Features of an event are
    pairs in their order, so that `1` and `"1"` stay apart.
    """
    database = Database(url)
    with _reading(database) as connection:
        number = stream_number(connection, database, stream)
        if read_chances(connection, number) is not None:
            raise JournalError(
                f"{database.name}: deciders have decided on the events of stream {stream!r}, so its"
                " facts do not hold them all, and it cannot be exported; use a backup."
            )
        head = _head(database, connection, number)
        rows = _exported(connection, number)
        count = (
            _write_parquet(path, head, rows)
            if os.fspath(path).endswith(".parquet")
            else _write_lines(path, head, rows)
        )
    database.close()
    return count


def _head(database: Database, connection: Connection, stream: int) -> dict[str, Any]:
    s = db.streams.c
    row = connection.execute(sa.select(db.streams).where(s.stream == stream)).one()
    head = {
        "headwater": FORM,
        "stream": row.name,
        "learner": json.loads(row.learner),
        "settings": json.loads(row.settings),
        "arithmetic": row.arithmetic,
    }
    if head["settings"].get("trained"):
        store = SnapshotStore(database)
        first = [one for one in store.listed(connection, stream) if one.fact == 0]
        data = store.read(connection, first[0]) if first else None
        if data is None:
            raise JournalError(
                f"{database.name}: the model with which stream {row.name!r} began is no longer"
                " there, so the stream cannot be exported whole; use a backup."
            )
        head["first"] = base64.b64encode(data).decode()
    return head


def _exported(connection: Connection, stream: int) -> Iterator[dict[str, Any]]:
    names = read_names(connection, stream)
    p = db.people.c
    people = dict(tuple(row) for row in connection.execute(sa.select(p.person, p.name)))
    for row in fact_rows(connection, stream):
        fact = plain_fact(row, names)
        if "event" in fact:
            fact["event"] = list(fact["event"].items())
        if "person" in fact:
            fact["person"] = people.get(fact["person"]) or fact["person"]
        yield fact


def _write_lines(
    path: str | os.PathLike[str], head: dict[str, Any], rows: Iterable[dict[str, Any]]
) -> int:
    count = 0
    with atomic_file(path) as file:
        file.write(json.dumps(head, ensure_ascii=False).encode() + b"\n")
        for fact in rows:
            file.write(json.dumps(fact, ensure_ascii=False).encode() + b"\n")
            count += 1
    return count


def _write_parquet(
    path: str | os.PathLike[str], head: dict[str, Any], rows: Iterable[dict[str, Any]]
) -> int:
    pa, pq = _pyarrow()
    texts = ("kind", "id", "key", "person", "label", "prediction", "data", "event")
    fields = [(name, pa.string()) for name in texts]
    fields += [(name, pa.int64()) for name in ("number", "target", "answer", "since", "digest")]
    fields += [(name, pa.float64()) for name in ("time", "probability", "rate", "margin")]
    schema = pa.schema([*fields, ("asked", pa.bool_())], {"headwater": json.dumps(head)})
    count = 0
    with atomic_file(path) as file, pq.ParquetWriter(file, schema) as writer:
        page: list[dict[str, Any]] = []
        for fact in rows:
            said = {name: json.dumps(fact[name]) for name in texts[1:] if name in fact}
            page.append({**fact, **said})
            count += 1
            if len(page) == PAGE:
                writer.write_table(pa.Table.from_pylist(page, schema))
                page.clear()
        writer.write_table(pa.Table.from_pylist(page, schema))
    return count


def _pyarrow() -> Any:
    try:
        import pyarrow as pa  # type: ignore[import-untyped]
        import pyarrow.parquet as pq  # type: ignore[import-untyped]
    except ImportError:
        raise ParameterError('live: Parquet needs pip install "headwater[arrow]".') from None
    return pa, pq


def import_stream(
    url: str | os.PathLike[str], path: str | os.PathLike[str], stream: str | None = None
) -> int:
    """Make a new stream from an export; return how many facts it has.

    The model is replayed from the facts, and equals that of the stream that was exported. The
    stream has the name that it had, unless `stream` gives another.
    """
    with _read_export(path) as (head, facts):
        if head.get("headwater") != FORM:
            raise JournalError(
                f"{os.fspath(path)}: expected an export of headwater in form {FORM}, got another"
                " file."
            )
        database = Database(url)
        holder = Holder(database)
        try:
            with database.said(), database.engine.begin() as connection:
                number = _new_stream(database, connection, stream or head["stream"], head)
                return _import_facts(database, connection, number, facts)
        finally:
            holder.close()
            database.close()


def _new_stream(database: Database, connection: Connection, name: str, head: dict[str, Any]) -> int:
    """A stream with the learner and the settings of an export; its number."""
    s = db.streams.c
    if connection.scalar(sa.select(s.stream).where(s.name == name)) is not None:
        raise JournalError(
            f"{database.name}: there is a stream {name!r} already; give another name."
        )
    number = 1 + (connection.scalar(sa.select(sa.func.max(s.stream))) or 0)
    learner = json.dumps(head["learner"], ensure_ascii=False, sort_keys=True)
    row = (number, name, learner, json.dumps(head["settings"]), ARITHMETIC, 0.0)
    database.insert(connection, db.streams, [row])
    if "first" in head:
        first = from_bytes(base64.b64decode(head["first"]))
        made = write_learner(SnapshotStore(database), number, 0, first)
        snapshot = (number, 0, 0, ARITHMETIC, *made[:2], 0.0, made[2])
        database.insert(connection, db.snapshots, [snapshot])
    return int(number)


@contextmanager
def _read_export(
    path: str | os.PathLike[str],
) -> Iterator[tuple[dict[str, Any], Iterable[dict[str, Any]]]]:
    """What an export says of its stream, and its facts."""
    if os.fspath(path).endswith(".parquet"):
        _, pq = _pyarrow()
        with pq.ParquetFile(path) as file:
            metadata = file.schema_arrow.metadata or {}
            yield json.loads(metadata.get(b"headwater", b"{}")), _parquet_facts(file)
        return
    with Path(path).open(encoding="utf-8") as lines:
        try:
            head = json.loads(lines.readline())
        except ValueError:
            head = {}
        yield head if isinstance(head, dict) else {}, map(json.loads, lines)


def _parquet_facts(file: Any) -> Iterator[dict[str, Any]]:
    texts = ("id", "key", "person", "label", "prediction", "data", "event")
    for batch in file.iter_batches(PAGE):
        for row in batch.to_pylist():
            fact = {key: value for key, value in row.items() if value is not None}
            yield fact | {key: json.loads(fact[key]) for key in texts if key in fact}


def _import_facts(
    database: Database, connection: Connection, stream: int, facts: Iterable[dict[str, Any]]
) -> int:
    names, people = EventNames(), _People(database, connection)
    rows: list[Any] = []
    bodies: list[Any] = []
    count = 0

    def flush() -> None:
        database.insert(connection, db.facts, rows)
        database.insert(connection, db.bodies, bodies)
        rows.clear()
        bodies.clear()

    for fact in facts:
        number = fact["number"]
        if "event" in fact:
            bodies.append((stream, number, names.encode(_features(fact["event"]))[0]))
        row = {name: fact.get(name) for name in COLUMNS}
        row["kind"] = int(Kind[fact["kind"].upper()])
        if "id" in fact:
            row["key"] = json.dumps(fact["id"])
        for name in ("label", "prediction"):
            if name in fact:
                row[name] = json.dumps(fact[name], ensure_ascii=False)
        if "person" in fact:
            row["person"] = people.number(fact["person"])
        rows.append((stream, *row.values()))
        count += 1
        if len(rows) == PAGE:
            flush()
    flush()
    kept = [(stream, number, json.dumps(name)) for number, name in names.since(0)]
    database.insert(connection, db.names, kept)
    _import_questions(database, connection, stream)
    return count


def _features(pairs: list[tuple[Any, Any]]) -> dict[Any, Any]:
    return {name: value for name, value in pairs}


class _People:
    """The numbers of people, some of whom may be new."""

    def __init__(self, database: Database, connection: Connection) -> None:
        p = db.people.c
        rows = connection.execute(sa.select(p.name, p.person)).all()
        self._known: dict[Any, int] = {name: person for name, person in rows if name}
        self._next = 1 + max((person for _, person in rows), default=0)
        self._database, self._connection = database, connection

    def number(self, name: Any) -> int:
        if name not in self._known:
            given = name if isinstance(name, str) else None  # a forgotten one stays a number
            self._database.insert(self._connection, db.people, [(self._next, given)])
            self._known[name], self._next = self._next, self._next + 1
        return self._known[name]


def _import_questions(database: Database, connection: Connection, stream: int) -> None:
    """Questions and the frozen inputs of open ones follow from the facts."""
    history = History.read(connection, stream)
    replayer = begin_replay(database, connection, stream, history)
    replayer.catch_up(connection)
    f = db.facts.c
    here = f.stream == stream
    states: dict[int, tuple[str, int | None]] = {}
    relevant = (
        *(Kind.EVENT, Kind.ANSWER, Kind.APPLIED, Kind.RETRACTION, Kind.REMOVAL),
        *(Kind.UNDONE, Kind.EXPIRED, Kind.DISPUTED),
    )
    columns = (f.number, f.kind, f.target, f.answer, f.asked, f.data)
    found = sa.select(*columns).where(here, f.kind.in_(relevant))
    settled: set[int] = set()
    for number, kind, target, answer, asked, data in connection.execute(found.order_by(f.number)):
        if kind == Kind.EVENT and asked:
            states[number] = ("open", None)
        elif target in states:
            if kind == Kind.ANSWER and data == SETTLED:
                settled.add(number)
            learned = "settled" if answer in settled else "applied"
            said: dict[int, tuple[str, int | None]] = {
                Kind.ANSWER: ("answered", number),
                Kind.APPLIED: ("refused" if target in replayer.refused else learned, answer),
                Kind.RETRACTION: ("open", None),
                Kind.REMOVAL: ("bad", None),
                Kind.EXPIRED: ("expired", None),
                Kind.DISPUTED: ("disputed", None),
            }
            if kind != Kind.UNDONE:
                states[target] = said[kind]
            elif states[target][0] in ("bad", "disputed"):
                states[target] = ("open", None)
    database.insert(connection, db.questions, [(stream, n, *row) for n, row in states.items()])
    decisions = [
        (stream, number, decision.to_bytes())
        for number, decision in replayer.open.items()
        if states.get(number, ("",))[0] in WAITING
    ]
    database.insert(connection, db.decisions, decisions)


# Backup and restore


def backup(url: str | os.PathLike[str], path: str | os.PathLike[str]) -> None:
    """Copy a database with its snapshots into one SQLite file, also while a process writes."""
    if os.path.exists(path):
        raise JournalError(f"{os.fspath(path)}: it exists; name a new file for the backup.")
    source = Database(url)
    partial = f"{os.fspath(path)}.partial"
    _remove(partial)
    target = Database(partial)
    try:
        migrate(target)
        with _reading(source) as origin, target.said(), target.engine.begin() as connection:
            _copy(source, origin, target, connection)
            _pack(source, origin, target, connection)
        with target.connect() as connection:
            driver: Any = connection.connection.driver_connection
            driver.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            driver.execute("PRAGMA journal_mode = DELETE")
        target.close()
        os.replace(partial, path)
    finally:
        target.close()
        source.close()
        _remove(partial)


def restore(path: str | os.PathLike[str], url: str | os.PathLike[str]) -> None:
    """Make a database from a backup, after checking it; the database must be new or empty."""
    if not os.path.exists(path):
        raise JournalError(f"{os.fspath(path)}: there is no such backup.")
    source, target = Database(path), Database(url)
    try:
        source.check()
        holder = Holder(target)
        try:
            with _reading(source) as origin, target.said(), target.engine.begin() as connection:
                bad = origin.exec_driver_sql("PRAGMA integrity_check").scalar()
                if bad != "ok":
                    raise JournalError(f"{os.fspath(path)}: it is damaged: {bad}.")
                if connection.scalar(sa.select(sa.func.count()).select_from(db.streams)):
                    raise JournalError(
                        f"{target.name}: it has streams already; restore into a new database."
                    )
                _copy(source, origin, target, connection)
                _unpack(source, origin, target)
        finally:
            holder.close()
    finally:
        source.close()
        target.close()


def upgrade(url: str | os.PathLike[str], backup_to: str | os.PathLike[str]) -> str | None:
    """Bring the tables to the newest version, after a backup; return the version before."""
    database = Database(url)
    try:
        revision = database.revision()
        if revision == REVISIONS[-1]:
            return None
        if revision not in REVISIONS:
            database.check()
        holder = Holder(database, prepare=False)
        try:
            copy_file(database, backup_to)
            migrate(database)
        finally:
            holder.close()
        return revision
    finally:
        database.close()


def copy_file(database: Database, path: str | os.PathLike[str]) -> None:
    """A plain copy of an SQLite file, whatever the version of its tables."""
    if database.path is None:
        return  # a server's own tools make backups of older tables
    with database.connect() as connection:
        driver: Any = connection.connection.driver_connection
        driver.execute("VACUUM INTO ?", (os.fspath(path),))


def _copy(source: Database, origin: Connection, target: Database, connection: Connection) -> None:
    """Every row of every table but the lock's and the snapshots' bytes."""
    for table in db.metadata.sorted_tables:
        if table in (db.holder, db.chunks):
            continue
        rows = origin.execution_options(yield_per=PAGE).execute(sa.select(table))
        for page in rows.partitions(PAGE):
            target.insert(connection, table, [tuple(row) for row in page])


def _pack(source: Database, origin: Connection, target: Database, connection: Connection) -> None:
    """The snapshots' bytes; one that went meanwhile is left out."""
    store = SnapshotStore(source)
    for stream in origin.scalars(sa.select(db.streams.c.stream)).all():
        for snapshot in store.listed(origin, stream):
            data = store.read(origin, snapshot)
            if data is None:
                where = (db.snapshots.c.stream == stream) & (db.snapshots.c.fact == snapshot.fact)
                connection.execute(sa.delete(db.snapshots).where(where))
                continue
            parts = range(0, len(data), CHUNK)
            rows = [(stream, snapshot.fact, n, data[at : at + CHUNK]) for n, at in enumerate(parts)]
            target.insert(connection, db.chunks, rows)


def _unpack(source: Database, origin: Connection, target: Database) -> None:
    """The snapshots of a backup where the target keeps them; each must be whole."""
    c = db.chunks.c
    store, packed = SnapshotStore(target), SnapshotStore(source)
    for stream in origin.scalars(sa.select(db.streams.c.stream)).all():
        for snapshot in packed.listed(origin, stream):
            found = sa.select(c.data).where(c.stream == stream, c.fact == snapshot.fact)
            data = b"".join(bytes(part) for part in origin.scalars(found.order_by(c.part)))
            if not snapshot.is_of(data):
                raise JournalError(
                    f"{source.name}: the snapshot of fact {snapshot.fact} is damaged; use another"
                    " backup."
                )
            store.write(stream, snapshot.fact, data)


def _remove(path: str) -> None:
    for name in (path, f"{path}-wal", f"{path}-shm"):
        Path(name).unlink(missing_ok=True)
