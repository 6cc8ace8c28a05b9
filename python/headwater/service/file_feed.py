"""A file that people label: its rows enter a live stream in random order, as fast as they answer.

What is in the database survives: the place in the file, and the texts of rows that were asked
about, which cards show as they are.
"""

import hashlib
import json
import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from headwater.errors import HeadwaterError, ParameterError
from headwater.inputs.files import EventFile
from headwater.inputs.random_order import FileRow, RandomOrder
from headwater.live import Loop, Receipt
from headwater.live.database import EVENT_TEXTS
from headwater.service.records import Records
from headwater.service.service import Service
from headwater.types import Id

STREAM = "main"
AHEAD = 30
"""Open questions that are ahead of those who answer: more than the pages of two people hold."""
PAGE = 500
"""The most rows that share a commit."""
PAUSE = 0.2
FILE, PLACE, TEXTS = "labelled file", "labelled file, place", EVENT_TEXTS
"""Kinds of records."""
EDGE = 1 << 16
"""Bytes at the beginning and at the end by which a file is known again."""


class LabelledFile(msgspec.Struct, frozen=True):
    """Which file it is, and how it is read."""

    size: int
    digest: str
    rows: int
    seed: int
    rate: float
    columns: dict[str, Any]


class Place(msgspec.Struct, frozen=True):
    """How many rows of the random order are in the stream."""

    rows: int


class Texts(msgspec.Struct, frozen=True):
    """The fields with the role text of a row that was asked about."""

    texts: dict[str, str]


def fingerprint(path: str) -> tuple[int, str]:
    """The size of a file, and a checksum of its edges."""
    with Path(path).open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        edges = file.read(EDGE)
        file.seek(max(0, size - EDGE))
        return size, hashlib.sha256(edges + file.read(EDGE)).hexdigest()


def known_file(records: Records, events: EventFile) -> LabelledFile | None:
    """What a database says of the file that it was made for; None if it is new."""
    found = records.find(FILE, "", LabelledFile)
    if found is None:
        return None
    if (found.size, found.digest) != fingerprint(events.path):
        raise ParameterError(
            f"{events.path}: it is not the file that the database was made for: it has changed, or"
            " the database is another file's; name a new one with --db."
        )
    return found


def event_id(events: EventFile, row: int, id: Id | None) -> Id:
    """The id of a row in the stream: its own, or the file's name and its number from 0."""
    return f"{Path(events.path).name}/{row}" if id is None else id


def texts_of(service: Service) -> Any:
    """A function from the id of an event to its texts, for cards."""

    def find(event: Id) -> Mapping[str, str]:
        found = service.records.find(TEXTS, json.dumps(event), Texts)
        return {} if found is None else found.texts

    return find


class FileFeed:
    """Sends the rows of a file to a stream, in a thread of its own, while questions are few.

    Parameters
    ----------
    service
        Where they are sent to, with a stream of the name `STREAM`.
    events
        The file.
    file
        Which file it is, and how it is read.
    """

    def __init__(self, service: Service, events: EventFile, file: LabelledFile) -> None:
        self.service, self.events, self.file = service, events, file
        self.failure: Exception | None = None
        self.is_done = False
        """Whether every row is in the stream."""
        place = service.records.find(PLACE, "", Place)
        self.place = 0 if place is None else place.rows
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="file", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def close(self) -> None:
        """Send nothing more."""
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join()

    def wait(self, seconds: float) -> None:
        """Wait until it is closed, or so long."""
        self._stop.wait(seconds)

    @property
    def is_finished(self) -> bool:
        """Whether every row is in the stream and no question is open."""
        return self.is_done and not self._loop.desk.waiting()

    @property
    def _loop(self) -> Loop:
        return self.service.streams[STREAM]

    def _run(self) -> None:
        try:
            self._send()
        except (HeadwaterError, OSError, KeyError) as error:
            if not (self._stop.is_set() or self.service.is_stopping):
                self.failure = error

    def _send(self) -> None:
        rows = RandomOrder(self.events, self.file.rows, self.file.seed).rows(self.place)
        page: list[FileRow] = []
        wanted = 0
        for row in rows:
            if not page:
                wanted = self._room()
            if not wanted:
                return
            page.append(row)
            if len(page) >= wanted:
                self._send_page(page)
                page = []
        if page:
            self._send_page(page)
        self.is_done = True

    def _room(self) -> int:
        """Wait until there is room for questions; for how many rows there is. 0: stop."""
        while not self._stop.is_set() and not self.service.is_stopping:
            room = AHEAD - self._loop.desk.waiting()
            if room > 0:
                return max(1, min(PAGE, int(room / self.file.rate)))
            self._stop.wait(PAUSE)
        return 0

    def _send_page(self, page: list[FileRow]) -> None:
        ids = [event_id(self.events, one.row, one.id) for one in page]
        written, coming = self.service.texts, dict(zip(ids, page, strict=True))
        # A card may be asked for before its text is written.
        self.service.texts = lambda id: written(id) or (coming[id].texts if id in coming else {})
        done = self._loop.receive_many(
            [one.x for one in page], ids=ids, labels=[one.y for one in page]
        )
        kept = {}
        for row, id, receipt in zip(page, ids, done, strict=True):
            if not isinstance(receipt, Receipt):
                raise ParameterError(f"{self.events.path}, row {row.row}: {receipt}")
            if receipt.asked and row.texts:
                kept[json.dumps(id)] = Texts(row.texts)
        self.service.records.write_many(TEXTS, kept)
        self.service.texts = written
        self.place += len(page)
        self.service.records.write(PLACE, "", Place(self.place))
        self.service.note_receipts(STREAM, [one for one in done if isinstance(one, Receipt)])
