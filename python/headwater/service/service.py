"""The service without HTTP: its streams, and what is around them."""

import os
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
import sqlalchemy as sa

from headwater import live
from headwater.errors import NoSuchError
from headwater.inputs.config import Config
from headwater.learners.base import Learner
from headwater.live import Loop, Receipt
from headwater.live import database as db
from headwater.live.database import Database
from headwater.live.deletion import GONE, delete_marked
from headwater.service.access import Access
from headwater.service.limits import Limits
from headwater.service.metrics import Metrics
from headwater.service.records import Records
from headwater.service.settings import Settings
from headwater.service.stream_settings import StreamSettings, allowance_of, learner_named
from headwater.service.updates import Updates
from headwater.service.webhooks import Webhooks
from headwater.types import Id


class Address(msgspec.Struct, frozen=True):
    """Where a service listens, and which process it is."""

    url: str
    process: int
    host: str


class Service:
    """Every stream of a database, open for writing, with access, updates and settings.

    Streams are those of the database, those of `headwater.toml`, and those of `learners`; a new
    database without any gets the stream `main` with Spring and a register.
    """

    def __init__(self, settings: Settings, learners: Mapping[str, Learner] | None = None) -> None:
        self.settings = settings
        self.streams: dict[str, Loop] = {}
        self.is_stopping = False
        self.texts: Callable[[Id], Mapping[str, str]] = lambda event: {}
        """Fields of an event that cards show as texts, in the place of their words."""
        self.file = ""
        """The name of the file whose rows the events are: then pages show it, and no times."""
        self._changing = threading.Lock()
        self._database = Database(settings.database)
        try:
            self._open_streams(dict(learners or {}))
            delete_marked(self._database)
            self.records = Records(self._database)
            self.access = Access(self.records, settings)
            self.new_token = self.access.first_token()
        except BaseException:
            self.close()
            raise
        self.updates = Updates()
        self.limits = Limits(settings.requests_per_second)
        self.metrics = Metrics(self.streams)
        self.webhooks = Webhooks(self.records, self.streams, self.metrics)

    @property
    def config(self) -> Config:
        """What `headwater.toml` says."""
        return self.settings.config

    def stream(self, name: str) -> Loop:
        """A stream by its name."""
        loop = self.streams.get(name)
        if loop is None:
            raise NoSuchError(f"There is no stream {name!r}.")
        return loop

    def _open_streams(self, learners: dict[str, Learner]) -> None:
        told: Mapping[str, Any] = self.config.sections.get("streams", {})
        self.allowance = allowance_of(self.config)
        known = self._known_streams()
        names = list(dict.fromkeys([*known, *told, *learners]))
        if not names:
            names, learners = ["main"], {"main": learner_named("Spring", {"track": True})}
        for name in names:
            wanted = StreamSettings.from_config(name, told.get(name, {}), self.allowance)
            learner = learners.get(name)
            if learner is None and (name not in known or wanted.learner is not None):
                learner = wanted.build()
            self.open_stream(name, learner, wanted)

    def open_stream(self, name: str, learner: Learner | None, wanted: StreamSettings) -> Loop:
        """Open a stream, which may be new."""
        with self._changing:
            loop = live.open(
                self.settings.database, stream=name, learner=learner, **wanted.options()
            )
            self.streams[name] = loop
            return loop

    def note_address(self, port: int) -> None:
        """Keep where it listens, for whoever meets the database while it is held."""
        host = self.settings.host
        url = f"http://{'127.0.0.1' if host in ('0.0.0.0', '::') else host}:{port}"
        address = Address(url=url, process=os.getpid(), host=socket.gethostname())
        self.records.write(db.SERVICE, "address", address)

    def delete_stream(self, name: str) -> None:
        """Close a stream and delete everything about it."""
        with self._changing:
            loop = self.stream(name)
            del self.streams[name]
            loop.delete()

    def note_receipts(self, stream: str, receipts: Sequence[Receipt]) -> None:
        """Count events that were taken, and tell those who watch."""
        new = [one for one in receipts if not one.repeated]
        asked = [one for one in new if one.asked]
        self.metrics.events(stream, len(new), len(asked))
        if len(self.updates):
            self.updates.count(stream, len(new))
            for one in asked:
                question = f"{stream}:{one.number}"
                self.updates.publish(stream, "question.opened", question=question, event=one.id)

    def _known_streams(self) -> list[str]:
        if self._database.revision() is None:
            return []
        self._database.check()
        with self._database.connect() as connection:
            s = db.streams.c
            names = connection.scalars(sa.select(s.name).order_by(s.stream)).all()
        return [name for name in names if not name.startswith(GONE)]

    def stop(self) -> None:
        """Take no more; those who watch are told to go."""
        self.is_stopping = True
        self.updates.close()

    def close(self) -> None:
        """Make snapshots and close every stream."""
        for loop in self.streams.values():
            loop.close()
        self.streams.clear()
        self._database.close()
