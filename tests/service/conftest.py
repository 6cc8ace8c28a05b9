"""Databases for the tests of the service: a new SQLite file, or a new database of a real server."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from live import postgres as server
from service.running import Running, running

COUNT = itertools.count()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """A PostgreSQL server, for one process of the tests."""
    if server.programs() is None:
        pytest.skip("PostgreSQL is not installed")
    with server.server() as url:
        yield url


@pytest.fixture
def postgres(postgres_server: str) -> str:
    """The URL of a new database of the server."""
    name = f"s{next(COUNT)}"
    address = sa.make_url(postgres_server).set(drivername="postgresql+psycopg")
    engine = sa.create_engine(address, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}")
    engine.dispose()
    return postgres_server.replace("/postgres?", f"/{name}?")


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A new database of either kind."""
    if request.param == "sqlite":
        return str(tmp_path / "plant.db")
    url: str = request.getfixturevalue("postgres")
    return url


@pytest.fixture
def one(database: str) -> Iterator[Running]:
    """A service with one stream, on either kind of database."""
    with running(database) as service:
        yield service
