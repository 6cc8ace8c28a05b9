"""What the service keeps beside the journal: tokens, people, sessions, invitations, webhooks.

One table of small JSON texts by kind and key, in the same database as the streams. The process that
holds the database is the only one that writes, so the copy in memory is what counts.
"""

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
        with self.database.connect() as connection:
            connection = connection.execution_options(read_only=True)
            with connection.begin():
                rows = connection.execute(found).all()
        return {key: msgspec.json.decode(value, type=form) for key, value in rows}

    def write(self, kind: str, key: str, value: msgspec.Struct) -> None:
        """Keep a record, in the place of one with the same key."""
        row = (kind, key, msgspec.json.encode(value).decode())
        with self.database.said(), self.database.engine.begin() as connection:
            self.database.insert(connection, records, [row], replace=True)

    def delete(self, kind: str, *keys: str) -> None:
        """Drop records."""
        which = (records.c.kind == kind) & records.c.key.in_(keys)
        with self.database.said(), self.database.engine.begin() as connection:
            connection.execute(sa.delete(records).where(which))
