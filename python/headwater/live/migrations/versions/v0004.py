"""Tables for workers that share a database: who owns which part, and what they have to send."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.create_table(
        "parts",
        sa.Column("part", sa.Text, primary_key=True),
        sa.Column("fence", sa.BigInteger, nullable=False),
        sa.Column("host", sa.Text, nullable=False),
        sa.Column("process", sa.Integer, nullable=False),
        sa.Column("positions", sa.Text, nullable=False),
    )
    op.create_table(
        "outbox",
        sa.Column("part", sa.Text, primary_key=True),
        sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("key", sa.Text),
        sa.Column("value", sa.Text, nullable=False),
    )
    op.create_table(
        "early",
        sa.Column("part", sa.Text, primary_key=True),
        sa.Column("stream", sa.Text, primary_key=True),
        sa.Column("event", sa.Text, primary_key=True),
        sa.Column("time", sa.Double, nullable=False),
        sa.Column("answer", sa.Text, nullable=False),
    )
