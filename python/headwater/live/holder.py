"""One process writes to a database: a lock, and a number that fences off whoever lost it.

SQLite: a lock on the file `<database>.lock`, which the system releases when the process dies.
PostgreSQL: an advisory lock, which the server releases when the connection ends. Whoever takes the
lock raises the fence's number; every commit checks that it is still its own.
"""

import os
import socket
import sys
import time
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection

from headwater.errors import HeldError
from headwater.live import database as db
from headwater.live.database import Database

ADVISORY = 0x4845_4144_5741_5452 % 2**63
"""The number of the advisory lock, which is known to headwater only."""
PATIENCE = 3.0
"""Seconds in which a server notices that the holder's connection is gone."""


class Holder:
    """The right to write to a database, until it is closed; HeldError if another process has it.

    `prepare` creates the tables of a new database, and refuses tables of another version.
    """

    def __init__(self, database: Database, prepare: bool = True) -> None:
        self.database = database
        self._file: int | None = None
        self._connection: Any = None
        if database.path is not None:
            self._lock_file(f"{database.path}.lock")
        else:
            self._lock_server()
        try:
            if prepare:
                database.prepare()
            self.fence = self._raise_fence()
        except BaseException:
            self.close()
            raise

    def _lock_file(self, path: str) -> None:
        file = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o666)
        try:
            if sys.platform == "win32":
                import msvcrt

                msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
            else:
                import fcntl

                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(file)
            raise self._held() from None
        self._file = file

    def _lock_server(self) -> None:
        with self.database.said():
            connection = self.database.engine.connect().execution_options(
                isolation_level="AUTOCOMMIT"
            )
            deadline = time.monotonic() + PATIENCE
            while not connection.scalar(sa.select(sa.func.pg_try_advisory_lock(ADVISORY))):
                if time.monotonic() > deadline:
                    connection.close()
                    raise self._held()
                time.sleep(0.05)
        self._connection = connection

    def _held(self) -> HeldError:
        who = "another process"
        if self.database.revision() is not None:
            with self.database.connect() as connection:
                row = connection.execute(sa.select(db.holder.c.host, db.holder.c.process)).first()
            if row is not None:
                place = "" if row.host == socket.gethostname() else f" on {row.host}"
                who = f"process {row.process}{place}"
        return HeldError(f"{self.database.name} is held by {who}; stop it first.")

    def _raise_fence(self) -> int:
        with self.database.said(), self.database.engine.begin() as connection:
            fence = (connection.scalar(sa.select(db.holder.c.fence)) or 0) + 1
            row = (1, fence, socket.gethostname(), os.getpid())
            self.database.insert(connection, db.holder, [row], replace=True)
        return fence

    def check(self, connection: Connection) -> None:
        """Refuse a transaction of a writer whose place another one has taken."""
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
