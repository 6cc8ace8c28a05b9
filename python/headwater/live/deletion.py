"""Deleting a whole stream: in small transactions, so that other streams go on meanwhile."""

from contextlib import suppress

import sqlalchemy as sa

from headwater.live import database as db
from headwater.live.database import Database
from headwater.live.snapshots import SnapshotStore
from headwater.live.weights import drop_weights

PAGE = 5_000
"""Numbers of facts whose rows go with one commit."""
GONE = "deleted/"
"""How the name of a stream begins that is being deleted."""


def mark_deleted(database: Database, name: str) -> None:
    """From now on the stream is not there any more, whatever happens."""
    s = db.streams.c
    with database.said(), database.engine.begin() as connection:
        number = connection.scalar(sa.select(s.stream).where(s.name == name))
        renamed = sa.update(db.streams).where(s.name == name)
        connection.execute(renamed.values(name=f"{GONE}{number}"))
        connection.execute(sa.delete(db.early).where(db.early.c.stream == name))


def delete_marked(database: Database) -> None:
    """Delete every row and file of the streams that are marked."""
    s = db.streams.c
    with database.connect() as connection:
        numbers = connection.scalars(sa.select(s.stream).where(s.name.startswith(GONE))).all()
    for number in numbers:
        _delete(database, number)


def _delete(database: Database, stream: int) -> None:
    f = db.facts.c
    with database.connect() as connection:
        last = connection.scalar(sa.select(sa.func.max(f.number)).where(f.stream == stream)) or 0
    for start in range(0, last + 1, PAGE):
        with database.said(), database.engine.begin() as connection:
            for table in (db.bodies, db.decisions, db.questions, db.facts):
                some = table.c.number.between(start, start + PAGE - 1)
                connection.execute(sa.delete(table).where(table.c.stream == stream, some))
    if database.is_sqlite:
        for path in SnapshotStore(database).folder.glob(f"{stream}-*.hw"):
            with suppress(FileNotFoundError):
                path.unlink()
    with database.said(), database.engine.begin() as connection:
        for table in db.metadata.sorted_tables:
            if "stream" in table.c and table not in (db.streams, db.early):
                connection.execute(sa.delete(table).where(table.c.stream == stream))
        drop_weights(connection, stream)
        connection.execute(sa.delete(db.streams).where(db.streams.c.stream == stream))
