"""One thread writes: it takes everything that waits, carries it out, commits once, wakes all.

An error of the database, or a fault in the middle of a job, rolls the whole batch back: the models
in memory are thrown away and recovered from disk, and everybody in the batch is told that nothing
was taken. If the connection to a server breaks while it commits, nobody knows whether it did, and
that is said. What goes wrong after the commit is nobody's error: the facts are there.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Protocol

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from headwater.errors import HeadwaterError, HeldError, JournalError
from headwater.live.database import Database
from headwater.live.holder import Holder

IDLE = 0.2
"""Seconds after which a writer with nothing to do looks whether something is due."""


class Written(Protocol):
    """What a writer keeps: the journal of one stream and its learner."""

    name: str

    def begin(self, connection: Connection, jobs: "list[Job]") -> None: ...
    def flush(self, connection: Connection) -> None: ...
    def committed(self) -> None: ...
    def recover(self) -> None: ...
    def due(self) -> "list[Job]": ...


Call = Callable[[Connection], Any]
"""What a job does, in the transaction of its batch."""


class Job:
    """Something to be written, and what came of it."""

    __slots__ = ("call", "error", "keys", "loop", "result", "stream", "wake")

    def __init__(self, stream: Written, call: Call, keys: Sequence[str] = ()) -> None:
        self.stream = stream
        self.call = call
        self.keys = keys  # that may have been used before
        self.result: Any = None
        self.error: Exception | None = None
        self.wake: threading.Lock | asyncio.Future[None] | None = None
        self.loop: asyncio.AbstractEventLoop | None = None

    def outcome(self) -> Any:
        if self.error is not None:
            raise self.error
        return self.result


class ClosedError(JournalError):
    """Nobody writes to the database any more."""


class Refused(Exception):  # noqa: N818, it is no error of its own
    """A job that is refused and has changed nothing; `args[0]` is the reason."""


class Writer:
    """The thread that writes to one database, for all its streams or for those of one part."""

    def __init__(self, database: Database, part: str | None = None) -> None:
        self.database = database
        self.holder = Holder(database, part=part)
        self.streams: list[Written] = []
        self.commits = 0
        self.failure: Exception | None = None
        self._jobs: deque[Job] = deque()
        self._waiting = threading.Condition()
        self._stopping = False
        self._is_committing = False
        self._thread = threading.Thread(target=self._run, name="headwater-writer", daemon=True)
        self._thread.start()

    # For whoever has something to write

    def submit(self, job: Job) -> None:
        with self._waiting:
            if self._stopping:
                raise ClosedError(f"{self.database.name}: it is closed; open it again.")
            self._jobs.append(job)
            self._waiting.notify()

    def carry_out(self, job: Job) -> Any:
        """Write, wait until it is committed, and return the result."""
        if threading.current_thread() is self._thread:
            raise JournalError(
                f"{self.database.name}: the thread that writes cannot wait for itself; call the"
                " verbs of a stream from another thread than the one that tells findings."
            )
        wake = threading.Lock()
        wake.acquire()
        job.wake = wake
        self.submit(job)
        wake.acquire()
        return job.outcome()

    async def carry_out_async(self, job: Job) -> Any:
        """The same without a thread that waits."""
        loop = asyncio.get_running_loop()
        job.loop, future = loop, loop.create_future()
        job.wake = future
        self.submit(job)
        await future
        return job.outcome()

    def close(self) -> None:
        """Write what waits, and stop."""
        with self._waiting:
            self._stopping = True
            self._waiting.notify()
        self._thread.join()
        self.holder.close()
        self.database.close()

    # In the thread

    def _run(self) -> None:
        connection: Connection | None = None
        while True:
            jobs = self._take()
            if jobs is None:
                break
            try:
                if self.failure is not None:
                    self._recover()
                for stream in self.streams:
                    jobs += stream.due()
                if not jobs:
                    continue
                if connection is None:
                    connection = self.database.engine.connect()
                self._write(connection, jobs)
            except BaseException as error:
                self._fail(jobs, error)
                if connection is not None:
                    self._give_up(connection)
                    connection = None
                with suppress(Exception):  # it is tried again before the next batch
                    self._recover()
            self._wake(jobs)
        if connection is not None:
            self._give_up(connection)

    def _take(self) -> list[Job] | None:
        with self._waiting:
            if not self._jobs and not self._stopping:
                self._waiting.wait(IDLE)
            if not self._jobs and self._stopping:
                return None
            jobs = list(self._jobs)
            self._jobs.clear()
            return jobs

    def _write(self, connection: Connection, jobs: list[Job]) -> None:
        streams = list(dict.fromkeys(job.stream for job in jobs))
        self._is_committing = False
        with connection.begin():
            self.holder.check(connection)
            for stream in streams:
                stream.begin(connection, [job for job in jobs if job.stream is stream])
            for job in jobs:
                try:
                    job.result = job.call(connection)
                except Refused as refused:
                    job.error = refused.args[0]
            for stream in streams:
                stream.flush(connection)
            if self.database.is_sqlite and not _in_transaction(connection):
                # SQLite ends a transaction by itself in some errors, as when the disk is full.
                raise JournalError(f"{self.database.name}: the database ended the transaction.")
            self._is_committing = True
        self._is_committing = False
        self.commits += 1
        for stream in streams:
            try:
                stream.committed()
            except Exception as error:
                told = (type(error), error, error.__traceback__, self._thread)
                threading.excepthook(threading.ExceptHookArgs(told))

    def _fail(self, jobs: list[Job], error: BaseException) -> None:
        """Nothing of the batch was taken; the models in memory are recovered before the next."""
        if isinstance(error, SQLAlchemyError):
            error = self.database.explained(error)
        known = isinstance(error, HeadwaterError)
        said = str(error) if known else f"{self.database.name}: {error!r}."
        kind = type(error) if isinstance(error, JournalError) else JournalError
        end = "Nothing of this was taken."
        if self._is_committing and not self.database.is_sqlite:
            end = (
                "Whether this was taken is not known; sent again with the same id or key it counts"
                " once."
            )
        self._is_committing = False
        for job in jobs:
            job.result, job.error = None, kind(f"{said} {end}")
        self.failure = error if isinstance(error, Exception) else JournalError(said)

    def _recover(self) -> None:
        if isinstance(self.failure, HeldError):
            raise self.failure
        for stream in self.streams:
            stream.recover()
        self.failure = None

    def _give_up(self, connection: Connection) -> None:
        with suppress(Exception):  # it is of no use any more, whatever it says
            connection.invalidate()
            connection.close()

    def _wake(self, jobs: list[Job]) -> None:
        """Wake everybody; those of one event loop at once."""
        loops: dict[asyncio.AbstractEventLoop, list[asyncio.Future[None]]] = {}
        for job in jobs:
            match job.wake:
                case None:
                    pass
                case asyncio.Future() as future:
                    assert job.loop is not None
                    loops.setdefault(job.loop, []).append(future)
                case lock:
                    lock.release()
        for loop, futures in loops.items():
            with suppress(RuntimeError):  # the event loop is closed: nobody waits any more
                loop.call_soon_threadsafe(_set_all, futures)


def _set_all(futures: "list[asyncio.Future[None]]") -> None:
    for future in futures:
        if not future.done():
            future.set_result(None)


def _in_transaction(connection: Connection) -> bool:
    driver = connection.connection.driver_connection
    return bool(driver is not None and driver.in_transaction)
