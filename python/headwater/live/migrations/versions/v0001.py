"""The first tables.

A migration stands for itself: it names its columns, and does not change when the tables do.
"""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    def key(name: str, kind: Any = sa.BigInteger) -> sa.Column[Any]:
        return sa.Column(name, kind, primary_key=True, autoincrement=False)

    def column(name: str, kind: Any, nullable: bool = False) -> sa.Column[Any]:
        return sa.Column(name, kind, nullable=nullable)

    op.create_table(
        "streams",
        key("stream", sa.Integer),
        sa.Column("name", sa.Text, nullable=False, unique=True),
        column("learner", sa.Text),
        column("settings", sa.Text),
        column("arithmetic", sa.Integer),
        column("created", sa.Double),
    )
    op.create_table(
        "facts",
        key("stream", sa.Integer),
        key("number"),
        column("kind", sa.SmallInteger),
        column("time", sa.Double),
        column("key", sa.Text, True),
        column("target", sa.BigInteger, True),
        column("answer", sa.BigInteger, True),
        column("since", sa.BigInteger, True),
        column("person", sa.Integer, True),
        column("label", sa.Text, True),
        column("asked", sa.Boolean, True),
        column("probability", sa.Double, True),
        column("rate", sa.Double, True),
        column("margin", sa.Double, True),
        column("prediction", sa.Text, True),
        column("digest", sa.BigInteger, True),
        column("data", sa.Text, True),
        sqlite_with_rowid=False,
    )
    for name, columns, condition in (
        ("facts_by_key", ["stream", "key"], "key IS NOT NULL"),
        ("facts_by_kind", ["stream", "kind", "number"], "kind <> 1"),
    ):
        only = sa.text(condition)
        op.create_index(
            name,
            "facts",
            columns,
            unique=name == "facts_by_key",
            sqlite_where=only,
            postgresql_where=only,
        )
    op.create_table(
        "bodies",
        key("stream", sa.Integer),
        key("number"),
        column("body", sa.LargeBinary),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "names",
        key("stream", sa.Integer),
        key("number", sa.Integer),
        column("name", sa.Text),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "questions",
        key("stream", sa.Integer),
        key("number"),
        column("state", sa.Text),
        column("answer", sa.BigInteger, True),
        sqlite_with_rowid=False,
    )
    op.create_index("questions_by_state", "questions", ["stream", "state", "number"])
    op.create_table(
        "decisions",
        key("stream", sa.Integer),
        key("number"),
        column("decision", sa.LargeBinary),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "people",
        key("person", sa.Integer),
        sa.Column("name", sa.Text, unique=True),
    )
    op.create_table(
        "snapshots",
        key("stream", sa.Integer),
        key("fact"),
        column("through", sa.BigInteger),
        column("arithmetic", sa.Integer),
        column("bytes", sa.BigInteger),
        column("sha256", sa.Text),
        column("time", sa.Double),
        column("seconds", sa.Double),
    )
    op.create_table(
        "chunks",
        key("stream", sa.Integer),
        key("fact"),
        key("part", sa.Integer),
        column("data", sa.LargeBinary),
    )
    op.create_table(
        "holder",
        key("id", sa.Integer),
        column("fence", sa.BigInteger),
        column("host", sa.Text),
        column("process", sa.Integer),
    )
