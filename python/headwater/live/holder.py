"""One process writes to a database: a lock, and a number that fences off whoever lost it.

SQLite: a lock on the file `<database>.lock`, which the system releases when the process dies.
PostgreSQL: an advisory lock, which the server releases when the connection ends. Whoever takes the
lock raises the fence's number; every commit checks that it is still its own.

Workers share a database: they hold the same lock together, which keeps whoever wants the whole
database out, and each owns parts of it. Who owns a part is decided elsewhere, as by the group of a
broker, so a part has no lock but a fence of its own: whoever takes it raises the number, and the
commits of the owner before fail.
"""

import json
import os
import socket
import sys
import time
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection

from headwater.errors import HeldError, JournalError
from headwater.live import database as db
from headwater.live.database import Database

ADVISORY = 0x4845_4144_5741_5452 % 2**63
"""The number of the advisory lock, which is known to headwater only."""
PATIENCE = 3.0
"""Seconds in which a server notices that the holder's connection is gone."""
FENCES = "h.fence, p.fence FROM holder h, parts p"


class Holder:
    """The right to write to a database, until it is closed; HeldError if another process has it.

    `prepare` creates the tables of a new database, and refuses tables of another version. With a
    `part`, the right to write to the streams of this part of it, until another process takes it.
    """

    def __init__(self, database: Database, prepare: bool = True, part: str | None = None) -> None:
        self.database = database
        self.part = part
        self._file: int | None = None
        self._connection: Any = None
        if part is not None:
            _create_once(database)
        if database.path is not None:
            self._lock_file(f"{database.path}.lock")
        else:
            self._lock_server()
        try:
            if prepare:
                database.prepare()
            self.fence = self._raise_fence() if part is None else 0
            self.fences = (self.fence, 0) if part is None else self._take_part(part)
        except BaseException:
            self.close()
            raise

    def _lock_file(self, path: str) -> None:
        try:
            file = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o666)
        except OSError as error:
            raise JournalError(
                f"{self.database.name}: {error.strerror}; look at its folder and its rights."
            ) from error
        deadline = time.monotonic() + (0 if self.part is None else PATIENCE)
        while True:
            try:
                if sys.platform == "win32":
                    import msvcrt

                    msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
                else:
                    import fcntl

                    kind = fcntl.LOCK_EX if self.part is None else fcntl.LOCK_SH
                    fcntl.flock(file, kind | fcntl.LOCK_NB)
                break
            except OSError:
                if time.monotonic() >= deadline:
                    os.close(file)
                    raise self._held() from None
            time.sleep(0.05)
        self._file = file

    def _lock_server(self) -> None:
        with self.database.said():
            connection = self.database.engine.connect().execution_options(
                isolation_level="AUTOCOMMIT"
            )
            deadline = time.monotonic() + PATIENCE
            lock = sa.func.pg_try_advisory_lock
            if self.part is not None:
                lock = sa.func.pg_try_advisory_lock_shared
            while not connection.scalar(sa.select(lock(ADVISORY))):
                if time.monotonic() > deadline:
                    connection.close()
                    raise self._held()
                time.sleep(0.05)
        self._connection = connection

    def _held(self) -> HeldError:
        who, cure = "another process", "stop it first"
        if self.database.revision() is not None:
            with self.database.connect() as connection:
                row = connection.execute(sa.select(db.holder.c.host, db.holder.c.process)).first()
                found = sa.select(db.records.c.value).where(db.records.c.kind == db.SERVICE)
                served = connection.scalar(found)
            if row is not None:
                place = "" if row.host == socket.gethostname() else f" on {row.host}"
                who = f"process {row.process}{place}" if row.process else "workers"
                address = json.loads(served or "{}")
                if address.get("process") == row.process and address.get("host") == row.host:
                    who += f", which serves {address['url']}"
                    cure = "stop it first, or send to that address"
        return HeldError(f"{self.database.name} is held by {who}; {cure}.")

    def _raise_fence(self) -> int:
        with self.database.said(), self.database.engine.begin() as connection:
            fence = (connection.scalar(sa.select(db.holder.c.fence)) or 0) + 1
            row = (1, fence, socket.gethostname(), os.getpid())
            self.database.insert(connection, db.holder, [row], replace=True)
        return fence

    def _take_part(self, part: str) -> tuple[int, int]:
        """Raise the part's fence; the first part that is taken raises that of the database too, so
        that a writer of the whole database that lost its lock is fenced off."""
        here = {"part": part, "host": socket.gethostname(), "process": os.getpid()}
        with self.database.said(), self.database.engine.begin() as connection:
            for statement in (
                "INSERT INTO holder VALUES (1, 0, '', 0) ON CONFLICT DO NOTHING",
                "UPDATE holder SET fence = fence + 1, host = '', process = 0"
                " WHERE id = 1 AND process <> 0",
                "INSERT INTO parts VALUES (:part, 1, :host, :process, '{}') ON CONFLICT (part)"
                " DO UPDATE SET fence = parts.fence + 1, host = excluded.host,"
                " process = excluded.process",
            ):
                connection.execute(sa.text(statement), here)
            found = sa.text(f"SELECT {FENCES} WHERE h.id = 1 AND p.part = :part")
            first, second = connection.execute(found, here).one()
        return first, second

    def _check_part(self, connection: Connection) -> None:
        statement = f"SELECT {FENCES} WHERE h.id = 1 AND p.part = :part"
        if not self.database.is_sqlite:
            statement += " FOR UPDATE OF p FOR SHARE OF h"
        found = connection.execute(sa.text(statement), {"part": self.part}).first()
        if found is None or tuple(found) != self.fences:
            raise HeldError(
                f"{self.database.name}: another process has taken {self.part} over; this one can no"
                " longer write to it."
            )

    def check(self, connection: Connection) -> None:
        """Refuse a transaction of a writer whose place another one has taken."""
        if self.part is not None:
            self._check_part(connection)
            return
        statement = "SELECT fence FROM holder WHERE id = 1"
        if not self.database.is_sqlite:
            statement += " FOR SHARE"  # nobody raises it before this commit
        if connection.exec_driver_sql(statement).scalar() != self.fence:
            raise HeldError(
                f"{self.database.name}: another process has taken it over; this one can no longer"
                " write. Open it again."
            )

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _create_once(database: Database) -> None:
    """Create the tables of a new database; of several workers that begin together, one does."""
    deadline = time.monotonic() + PATIENCE
    while database.revision() is None:
        try:
            Holder(database).close()
        except HeldError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
