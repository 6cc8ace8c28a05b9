"""Runs migrations on the connection that `database.migrate` gives."""

from alembic import context

context.configure(connection=context.config.attributes["connection"])
context.run_migrations()
