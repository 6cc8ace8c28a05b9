"""What the service keeps beside the journal: tokens, people, sessions, invitations, webhooks.

One table of small JSON texts by kind and key, in the same database as the streams. The process that
holds the database is the only one that writes, so the copy in memory is what counts.
"""

from collections.abc import Mapping
from typing import TypeVar

import msgspec
import sqlalchemy as sa

from headwater.live.database import Database, records

T = TypeVar("T", bound=msgspec.Struct)


class Records:
    """The table of records."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def read(self, kind: str, form: type[T]) -> dict[str, T]:
        """Every record of a kind, by key."""
        found = sa.select(records.c.key, records.c.value).where(records.c.kind == kind)
        with self.database.reading() as connection:
            rows = connection.execute(found).all()
        return {key: msgspec.json.decode(value, type=form) for key, value in rows}

    def find(self, kind: str, key: str, form: type[T]) -> T | None:
        """One record, if it is there."""
        here = (records.c.kind == kind) & (records.c.key == key)
        with self.database.reading() as connection:
            value = connection.scalar(sa.select(records.c.value).where(here))
        return None if value is None else msgspec.json.decode(value, type=form)

    def write(self, kind: str, key: str, value: msgspec.Struct) -> None:
        """Keep a record, in the place of one with the same key."""
        self.write_many(kind, {key: value})

    def write_many(self, kind: str, values: Mapping[str, msgspec.Struct]) -> None:
        """Keep several records with one commit."""
        if not values:
            return
        rows = [(kind, key, msgspec.json.encode(value).decode()) for key, value in values.items()]
        with self.database.said(), self.database.engine.begin() as connection:
            self.database.insert(connection, records, rows, replace=True)

    def delete(self, kind: str, *keys: str) -> None:
        """Drop records."""
        which = (records.c.kind == kind) & records.c.key.in_(keys)
        with self.database.said(), self.database.engine.begin() as connection:
            connection.execute(sa.delete(records).where(which))
