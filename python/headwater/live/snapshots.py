"""Where snapshots lie: in a folder beside an SQLite file, in chunks of a table on PostgreSQL.

A snapshot is a model file. It counts once its row is in the table `snapshots`, with the fact that
it stands for and its checksum; one that is damaged or missing is passed over.
"""

import hashlib
import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy import Connection

from headwater.learners.atomic_file import write_file
from headwater.live import database as db
from headwater.live.database import Database

CHUNK = 1 << 20


class Snapshot(NamedTuple):
    """A row of the table `snapshots`."""

    stream: int
    fact: int
    through: int
    arithmetic: int
    size: int
    sha256: str
    time: float
    seconds: float

    def is_of(self, data: bytes) -> bool:
        """Whether these are its bytes."""
        return digest_of(data) == self.sha256


class SnapshotStore:
    """The snapshots of all streams of a database."""

    def __init__(self, database: Database) -> None:
        self.database = database

    @property
    def folder(self) -> Path:
        return Path(f"{self.database.path}.snapshots")

    def path(self, stream: int, fact: int) -> Path:
        return self.folder / f"{stream}-{fact}.hw"

    def write(self, stream: int, fact: int, data: bytes) -> None:
        """Keep the bytes; they do not count yet."""
        if self.database.is_sqlite:
            try:
                self.folder.mkdir(exist_ok=True)
                write_file(self.path(stream, fact), data)
            except OSError as error:
                raise self.database.explained(error) from error
            return
        with self.database.said():
            try:
                self._write_chunks(stream, fact, data)
            except sa.exc.IntegrityError:
                # Those of a process that was killed while the server still worked for it were not
                # there yet to be deleted. By now they are.
                self._write_chunks(stream, fact, data)

    def _write_chunks(self, stream: int, fact: int, data: bytes) -> None:
        with self.database.engine.begin() as connection:
            _delete_chunks(connection, stream, fact)
            parts = range(0, len(data), CHUNK)
            rows = [(stream, fact, n, data[at : at + CHUNK]) for n, at in enumerate(parts)]
            self.database.insert(connection, db.chunks, rows)

    def read(self, connection: Connection, snapshot: Snapshot) -> bytes | None:
        """The bytes of a snapshot; None if they are damaged or missing."""
        if self.database.is_sqlite:
            try:
                data = self.path(snapshot.stream, snapshot.fact).read_bytes()
            except OSError:
                return None
        else:
            c = db.chunks.c
            found = sa.select(c.data).where(c.stream == snapshot.stream, c.fact == snapshot.fact)
            data = b"".join(bytes(part) for part in connection.scalars(found.order_by(c.part)))
        return data if snapshot.is_of(data) else None

    def listed(self, connection: Connection, stream: int) -> list[Snapshot]:
        """The snapshots of a stream, newest first."""
        table = db.snapshots
        found = sa.select(table).where(table.c.stream == stream).order_by(table.c.fact.desc())
        return [Snapshot(*row) for row in connection.execute(found)]

    def drop(self, connection: Connection, stream: int, facts: list[int]) -> None:
        """Take the rows out; the files go by a `sweep` once that is committed."""
        table = db.snapshots
        for fact in facts:
            where = (table.c.stream == stream) & (table.c.fact == fact)
            connection.execute(sa.delete(table).where(where))
            if not self.database.is_sqlite:
                _delete_chunks(connection, stream, fact)

    def is_there(self, connection: Connection, snapshot: Snapshot) -> bool:
        """Whether its bytes lie where they should, by their number."""
        if self.database.is_sqlite:
            path = self.path(snapshot.stream, snapshot.fact)
            return path.is_file() and path.stat().st_size == snapshot.size
        c = db.chunks.c
        size = sa.select(sa.func.sum(sa.func.length(c.data)))
        found = size.where(c.stream == snapshot.stream, c.fact == snapshot.fact)
        return bool(connection.scalar(found) == snapshot.size)

    def sweep(self, connection: Connection, stream: int) -> None:
        """Remove bytes without a row: of dropped snapshots, and of processes that died."""
        s, c = db.snapshots.c, db.chunks.c
        kept = sa.select(s.fact).where(s.stream == stream)
        if not self.database.is_sqlite:
            gone = (c.stream == stream) & c.fact.not_in(kept)
            connection.execute(sa.delete(db.chunks).where(gone))
        elif self.folder.is_dir():
            names = {self.path(stream, fact).name for fact in connection.scalars(kept)}
            for entry in os.scandir(self.folder):
                if entry.name.startswith(f"{stream}-") and entry.name not in names:
                    with suppress(OSError):
                        os.unlink(entry.path)


def _delete_chunks(connection: Connection, stream: int, fact: int) -> None:
    c = db.chunks.c
    connection.execute(sa.delete(db.chunks).where((c.stream == stream) & (c.fact == fact)))


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
