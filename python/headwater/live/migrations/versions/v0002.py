"""Indexes for the desk: what was done about a question, and what a person has done."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    for name, columns in (("target", ["target"]), ("person", ["person", "number"])):
        only = sa.text(f"{name} IS NOT NULL")
        op.create_index(
            f"facts_by_{name}",
            "facts",
            ["stream", *columns],
            sqlite_where=only,
            postgresql_where=only,
        )
