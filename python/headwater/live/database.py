"""The tables of a live database, and how one is opened: SQLite by its path, PostgreSQL by its URL.

Every table has a stream's number from the start, so that one database holds many streams. SQLite
runs with a write-ahead log, `synchronous=FULL` and `secure_delete`.
"""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, TypeVar

import sqlalchemy as sa
from sqlalchemy import Column, Connection, Engine, Index, MetaData, Table, event
from sqlalchemy.dialects.sqlite.base import SQLiteCompiler
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from headwater.errors import JournalError, ParameterError

Synchronous = Literal["full", "normal"]

REVISIONS = ("0001", "0002", "0003", "0004")
"""The versions of the tables, oldest first: one file each in `migrations/versions`."""

REMOTE = re.compile(r"nfs\d?|cifs|smb\w*|smbfs|afs|ceph|glusterfs|lustre|fuse\.(sshfs|glusterfs)")
"""File systems on which SQLite's locks and its shared memory cannot be relied on."""

metadata = MetaData()

_number = sa.BigInteger()
_real: Any = sa.Double()
_keyed: dict[str, Any] = {"sqlite_with_rowid": False}


def _where(condition: str) -> dict[str, Any]:
    return {f"{dialect}_where": sa.text(condition) for dialect in ("sqlite", "postgresql")}


streams = Table(
    "streams",
    metadata,
    Column("stream", sa.Integer, primary_key=True, autoincrement=False),
    Column("name", sa.Text, nullable=False, unique=True),
    Column("learner", sa.Text, nullable=False),  # the first one's class and parameters
    Column("settings", sa.Text, nullable=False),
    Column("arithmetic", sa.Integer, nullable=False),  # under which its model stands
    Column("created", _real, nullable=False),
)
facts = Table(
    "facts",
    metadata,
    Column("stream", sa.Integer, primary_key=True, autoincrement=False),
    Column("number", _number, primary_key=True, autoincrement=False),
    Column("kind", sa.SmallInteger, nullable=False),
    Column("time", _real, nullable=False),
    Column("key", sa.Text),
    Column("target", _number),
    Column("answer", _number),
    Column("since", _number),
    Column("person", sa.Integer),
    Column("label", sa.Text),
    Column("asked", sa.Boolean),
    Column("probability", _real),
    Column("rate", _real),
    Column("margin", _real),
    Column("prediction", sa.Text),
    Column("digest", _number),
    Column("data", sa.Text),
    Index("facts_by_key", "stream", "key", unique=True, **_where("key IS NOT NULL")),
    Index("facts_by_kind", "stream", "kind", "number", **_where("kind <> 1")),
    Index("facts_by_target", "stream", "target", **_where("target IS NOT NULL")),
    Index("facts_by_person", "stream", "person", "number", **_where("person IS NOT NULL")),
    **_keyed,
)
bodies = Table(
    "bodies",
    metadata,
    Column("stream", sa.Integer, primary_key=True, autoincrement=False),
    Column("number", _number, primary_key=True, autoincrement=False),
    Column("body", sa.LargeBinary, nullable=False),
    **_keyed,
)
names = Table(
    "names",
    metadata,
    Column("stream", sa.Integer, primary_key=True, autoincrement=False),
    Column("number", sa.Integer, primary_key=True, autoincrement=False),
    Column("name", sa.Text, nullable=False),  # JSON: a text or an integer
    **_keyed,
)
questions = Table(
    "questions",
    metadata,
    Column("stream", sa.Integer, primary_key=True, autoincrement=False),
    Column("number", _number, primary_key=True, autoincrement=False),  # that of its event
    Column("state", sa.Text, nullable=False),
    Column("answer", _number),  # the fact with the answer that counts
    Index("questions_by_state", "stream", "state", "number"),
    **_keyed,
)
decisions = Table(
    "decisions",
    metadata,
    Column("stream", sa.Integer, primary_key=True, autoincrement=False),
    Column("number", _number, primary_key=True, autoincrement=False),  # that of its event
    Column("decision", sa.LargeBinary, nullable=False),
    **_keyed,
)
people = Table(
    "people",
    metadata,
    Column("person", sa.Integer, primary_key=True, autoincrement=False),
    Column("name", sa.Text, unique=True),  # none once the person is forgotten
)
snapshots = Table(
    "snapshots",
    metadata,
    Column("stream", sa.Integer, primary_key=True, autoincrement=False),
    Column("fact", _number, primary_key=True, autoincrement=False),
    Column("through", _number, nullable=False),  # the last change of the past that it knows
    Column("arithmetic", sa.Integer, nullable=False),
    Column("bytes", _number, nullable=False),
    Column("sha256", sa.Text, nullable=False),
    Column("time", _real, nullable=False),
    Column("seconds", _real, nullable=False),  # what making it cost
)
chunks = Table(
    "chunks",
    metadata,
    Column("stream", sa.Integer, primary_key=True, autoincrement=False),
    Column("fact", _number, primary_key=True, autoincrement=False),
    Column("part", sa.Integer, primary_key=True, autoincrement=False),
    Column("data", sa.LargeBinary, nullable=False),
)
holder = Table(
    "holder",
    metadata,
    Column("id", sa.Integer, primary_key=True, autoincrement=False),
    Column("fence", _number, nullable=False),
    Column("host", sa.Text, nullable=False),
    Column("process", sa.Integer, nullable=False),
)
parts = Table(
    "parts",  # which workers share the database: each owns the streams of some parts
    metadata,
    Column("part", sa.Text, primary_key=True),
    Column("fence", _number, nullable=False),
    Column("host", sa.Text, nullable=False),
    Column("process", sa.Integer, nullable=False),
    Column("positions", sa.Text, nullable=False),  # JSON: the next message of each source
)
outbox = Table(
    "outbox",  # what is still to be sent, or was sent just now
    metadata,
    Column("part", sa.Text, primary_key=True),
    Column("number", _number, primary_key=True, autoincrement=False),
    Column("kind", sa.Text, nullable=False),
    Column("key", sa.Text),
    Column("value", sa.Text, nullable=False),  # JSON
)
early = Table(
    "early",  # answers whose event has not come yet
    metadata,
    Column("part", sa.Text, primary_key=True),
    Column("stream", sa.Text, primary_key=True),  # its name
    Column("event", sa.Text, primary_key=True),  # JSON: the event's id
    Column("time", _real, nullable=False),
    Column("answer", sa.Text, nullable=False),  # JSON
)
EVENT_TEXTS = "labelled file, texts"
"""The kind of records that hold texts of an event, by its id: they are erased with the event."""

SERVICE = "service"
"""The kind of the one record with the address and the process of the service, if there was one."""

records = Table(
    "records",  # what programs around the streams keep, such as the tokens of the service
    metadata,
    Column("kind", sa.Text, primary_key=True),
    Column("key", sa.Text, primary_key=True),
    Column("value", sa.Text, nullable=False),  # JSON
)


S = TypeVar("S", bound="sa.Select[Any]")


def by_index(statement: S, column: Literal["key", "kind", "target", "person"]) -> S:
    """Let SQLite find facts by the index of a column; by kind, facts that are no events.

    It has no statistics, and would read all facts of a stream instead.
    """
    statement = statement.with_hint(facts, f"INDEXED BY facts_by_{column}", "sqlite")
    return statement.where(sa.text("facts.kind <> 1")) if column == "kind" else statement


class SQLiteHints(SQLiteCompiler):
    """The compiler of statements for SQLite, which writes hints out."""

    def get_from_hint_text(self, table: Any, text: str | None) -> str | None:
        return text


class Database:
    """A database by its URL or path; `begin` gives a transaction that writes.

    Parameters
    ----------
    url
        A path (SQLite), or `postgresql://...`.
    synchronous
        SQLite only: `"full"` survives a power cut; `"normal"` is faster, survives the death of the
        process, and may lose the last commits in a power cut.
    """

    def __init__(self, url: str | os.PathLike[str], synchronous: Synchronous = "full") -> None:
        text = os.fspath(url)
        self.path: Path | None = None
        if "://" not in text or text.startswith("sqlite://"):
            self.path = Path(text.removeprefix("sqlite:///")).absolute()
            _refuse_remote(self.path)
            address = sa.URL.create("sqlite", database=str(self.path))
        elif text.startswith(("postgresql://", "postgres://", "postgresql+psycopg://")):
            address = sa.make_url(text).set(drivername="postgresql+psycopg")
        else:
            raise ParameterError(
                "live: url must be a path (SQLite) or begin with postgresql://, got"
                f" {text.partition('://')[0]}://."
            )
        shown = address.set(drivername="postgresql").render_as_string()
        self.name = str(url) if self.path is not None else shown
        options: dict[str, Any] = {"poolclass": sa.NullPool}
        self.engine: Engine = sa.create_engine(address, **options)
        if self.path is not None:
            self.engine.dialect.statement_compiler = SQLiteHints
            event.listen(self.engine, "connect", _set_up_sqlite(synchronous))
            event.listen(self.engine, "begin", _begin_sqlite)
        self._inserts: dict[str, str] = {}

    @property
    def url(self) -> str:
        """As it was given, with its password."""
        if self.path is not None:
            return str(self.path)
        return self.engine.url.render_as_string(hide_password=False)

    @property
    def is_sqlite(self) -> bool:
        return self.path is not None

    @contextmanager
    def connect(self) -> Iterator[Connection]:
        """A connection; errors of the database are a JournalError."""
        with self.said(), self.engine.connect() as connection:
            yield connection

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection that sees what is committed now, and nothing that comes later."""
        options: dict[str, Any] = {"read_only": True}
        if not self.is_sqlite:  # whose transactions would see each other's commits
            options |= {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
        with self.connect() as connection:
            connection = connection.execution_options(**options)
            with connection.begin():
                yield connection

    @contextmanager
    def said(self) -> Iterator[None]:
        """Raise errors of the database as one sentence."""
        try:
            yield
        except SQLAlchemyError as error:
            raise self.explained(error) from error

    def explained(self, error: Exception) -> JournalError:
        """One sentence about an error of the database."""
        cause = error.orig if isinstance(error, DBAPIError) else error
        said = cause.strerror if isinstance(cause, OSError) else None
        text = " ".join((said or str(cause)).split()).rstrip(".")
        cures = {
            "disk is full": "make room on the disk",
            "No space left": "make room on the disk",
            "database is locked": "another program has it locked; close that",
            "readonly": "it cannot be written to; look at its rights",
            "unable to open": "look at its folder and its rights",
            "malformed": "it is damaged; restore a backup",
            "not a database": "it is another kind of file; name another",
        }
        cure = next((cure for word, cure in cures.items() if word in text), None)
        end = f"; {cure}." if cure else "" if text.endswith("?") else "."
        return JournalError(f"{self.name}: {text}{end}")

    def insert(
        self,
        connection: Connection,
        table: "Table[Any]",
        rows: Sequence[Sequence[Any]],
        replace: bool = False,
    ) -> None:
        """Insert rows, tuples of all columns in their order; `replace` those with their key."""
        if not rows:
            return
        name = f"{table.name} {replace}"
        if name not in self._inserts:
            # A plain text: SQLAlchemy's own way costs more per row than the database does.
            marks = ", ".join(["?" if self.is_sqlite else "%s"] * len(table.columns))
            text = f"INSERT INTO {table.name} ({', '.join(table.columns.keys())}) VALUES ({marks})"
            if replace:
                key = ", ".join(column.name for column in table.primary_key)
                others = [column.name for column in table.columns if not column.primary_key]
                sets = ", ".join(f"{name} = excluded.{name}" for name in others)
                text += f" ON CONFLICT ({key}) DO UPDATE SET {sets}"
            self._inserts[name] = text
        connection.exec_driver_sql(self._inserts[name], [tuple(row) for row in rows])

    def serialise(self, connection: Connection, table: "Table[Any]") -> None:
        """Let nobody else add rows to a table before this transaction ends."""
        if not self.is_sqlite:  # whose transactions that write come one after the other anyway
            connection.exec_driver_sql(f"LOCK TABLE {table.name} IN SHARE ROW EXCLUSIVE MODE")

    def revision(self) -> str | None:
        """The version of its tables; None if it has none yet."""
        if self.path is not None and not self.path.exists():
            return None
        with self.connect() as connection:
            tables = sa.inspect(connection).get_table_names()
            if "alembic_version" in tables:
                found = connection.exec_driver_sql("SELECT version_num FROM alembic_version")
                return str(found.scalar_one())
            if tables:
                raise JournalError(
                    f"{self.name}: expected a live database or an empty one, got one with the"
                    f" table {sorted(tables)[0]!r}; name another."
                )
            return None

    def prepare(self) -> None:
        """Create the tables if there are none; refuse tables of another version."""
        revision = self.revision()
        if revision is None:
            migrate(self)
        else:
            self.check(revision)

    def check(self, revision: str | None = None) -> None:
        """Refuse a database without tables, and tables of another version."""
        revision = revision or self.revision()
        if revision is None:
            raise JournalError(f"{self.name}: there is no live database; `run --db` makes one.")
        if revision not in REVISIONS:
            raise JournalError(
                f"{self.name}: its tables have version {revision}, and this program knows versions"
                f" up to {REVISIONS[-1]}; use a newer headwater."
            )
        if revision != REVISIONS[-1]:
            raise JournalError(
                f"{self.name}: its tables have version {revision}, and this program needs"
                f" {REVISIONS[-1]}; make a backup, then `headwater upgrade --db` brings it there."
            )

    def close(self) -> None:
        self.engine.dispose()


def migrate(database: Database) -> None:
    """Bring the tables to the newest version: create them, or run what is missing."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).with_name("migrations")))
    with database.said(), database.engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def _set_up_sqlite(synchronous: Synchronous) -> Any:
    def set_up(connection: Any, record: Any) -> None:
        connection.isolation_level = None  # transactions begin where `_begin_sqlite` says
        for pragma in (
            "busy_timeout = 5000",
            "journal_mode = WAL",
            f"synchronous = {synchronous}",
            "secure_delete = ON",
        ):
            connection.execute(f"PRAGMA {pragma}").close()

    return set_up


def _begin_sqlite(connection: Connection) -> None:
    read_only = connection.get_execution_options().get("read_only")
    connection.exec_driver_sql("BEGIN" if read_only else "BEGIN IMMEDIATE")


def _refuse_remote(path: Path) -> None:
    """SQLite needs locks and shared memory, which network file systems only pretend to have."""
    kind = mounted_kind(path)
    if REMOTE.fullmatch(kind):
        raise JournalError(
            f"{path}: expected a local file system for SQLite, got {kind}; use a local folder, or"
            " PostgreSQL by its URL."
        )


def mounted_kind(path: Path) -> str:
    """The kind of file system that a path is on, where the system says so; else an empty text."""
    mounts = Path("/proc/self/mounts")
    if not mounts.exists():
        return ""
    folder, kind = "", ""
    for line in mounts.read_text(errors="replace").splitlines():
        _, mounted, form, *_ = line.split(" ")
        mounted = mounted.replace("\\040", " ")
        if path.is_relative_to(mounted) and len(mounted) >= len(folder):
            folder, kind = mounted, form
    return kind
