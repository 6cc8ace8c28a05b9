"""The stream of a file that people label: made once, found again, served on pages."""

import getpass
import os
import threading
import time
from collections.abc import Callable
from contextlib import redirect_stderr
from pathlib import Path

from headwater import live
from headwater.errors import ParameterError
from headwater.inputs.columns import Columns
from headwater.inputs.config import Config
from headwater.inputs.files import EventFile
from headwater.inputs.proposal import as_columns, propose
from headwater.inputs.random_order import count_rows
from headwater.learners.spring import Spring
from headwater.live.database import Database
from headwater.parameters import did_you_mean
from headwater.service.app import create_app
from headwater.service.file_feed import (
    FILE,
    STREAM,
    FileFeed,
    LabelledFile,
    fingerprint,
    known_file,
    texts_of,
)
from headwater.service.records import Records
from headwater.service.server import Server, free_port
from headwater.service.service import Service
from headwater.service.settings import Settings

SAMPLE = 1_000
RATE = 0.05
FEWEST = 1_200
"""Questions that a file should have in it, if it has as many rows: a thousand, and some to skip."""
QUIET = 25.0
"""Seconds without an open question after which all is done; an undo opens one again."""
PORT = 8420


def rate_for(rows: int) -> float:
    """The share of the rows to ask about, if nobody says another."""
    return max(RATE, min(1.0, FEWEST / rows))


def learner_for(classes: tuple[str, ...] | None, rate: float) -> Spring:
    """Spring for these classes; without any it meets them as they are typed."""
    if classes is None:
        return Spring(label_rate=rate, multiclass=True)
    if len(classes) < 2 or not all(classes) or len(set(classes)) < len(classes):
        raise ParameterError(
            f"classes: expected two names or more, such as no,yes, got {','.join(classes)!r}."
        )
    return Spring(label_rate=rate, classes=classes, multiclass=len(classes) > 2)


def open_stream(
    events: EventFile,
    url: Path,
    classes: tuple[str, ...] | None,
    budget: float | None,
    seed: int,
    say: Callable[[str], object],
    roles: Callable[[Columns], Columns] | None = None,
) -> LabelledFile:
    """Make the stream of a file in a database, or find the one that is there.

    `roles` lays what somebody said over the roles that are proposed, or over those that the
    database knows; without it the roles of `events` count, if there are any. `say` is told the
    roles that were proposed.
    """
    is_open = roles is not None or not events.columns.to_plain()
    events.optional = True
    known = _known(events, url)
    if known is not None:
        columns = Columns.from_plain(known.columns)
        wanted = roles(columns) if roles else columns if is_open else events.columns
        if wanted.to_plain() != known.columns:
            raise ParameterError(
                f"{url}: it was begun with other roles ({known.columns}); leave them out, or begin"
                " again with another database."
            )
        given = classes is not None or budget is not None
        learner = learner_for(classes, known.rate if budget is None else budget) if given else None
        live.open(url, stream=STREAM, learner=learner).close()
        say(f"{url}: it goes on where it stopped.")
    else:
        if is_open and events.format not in ("svmlight", "vw"):
            proposed, names = _proposed(events)
            events.columns = roles(proposed) if roles else proposed
            for role, name in events.columns.roles():
                if name not in names:
                    raise ParameterError(
                        f"{events.path}: there is no column {name!r} for the role {role} in its"
                        f" first {SAMPLE:,} rows{did_you_mean(name, names)}"
                    )
            told = "; ".join(f"{role} {name}" for role, name in events.columns.roles())
            say(f"Roles: {told or 'none, every column is a feature'}.")
        elif roles:
            events.columns = roles(events.columns)
        known = _made(events, url, classes, budget, seed)
    events.columns = Columns.from_plain(known.columns)
    return known


def _made(
    events: EventFile,
    url: Path,
    classes: tuple[str, ...] | None,
    budget: float | None,
    seed: int,
) -> LabelledFile:
    rows = count_rows(events)
    if not rows:
        raise ParameterError(f"{events.path}: it is empty; there are no rows to label.")
    rate = rate_for(rows) if budget is None else budget
    learner = learner_for(classes, rate)
    columns = events.columns.to_plain()
    made = LabelledFile(*fingerprint(events.path), rows, seed, rate, columns)
    with live.open(url, stream=STREAM, learner=learner):
        database = Database(url)
        try:
            Records(database).write(FILE, "", made)
        finally:
            database.close()
    return made


def _known(events: EventFile, url: Path) -> LabelledFile | None:
    """The file as its database knows it; None if that has to be made."""
    if not url.exists():
        return None
    database = Database(url)
    try:
        database.check()
        known = known_file(Records(database), events)
    finally:
        database.close()
    if known is None:
        with live.read(url, STREAM) as reader:
            if reader.status().events:
                raise ParameterError(
                    f"{url}: it is the database of something else; name another one."
                )
    return known


def _proposed(events: EventFile) -> tuple[Columns, list[str]]:
    """The roles that a sample of the file suggests, and the columns that it has."""
    sample = events.sample(SAMPLE)
    if not sample:
        raise ParameterError(f"{events.path}: it is empty; there are no rows to label.")
    proposed = propose(sample)
    return as_columns(proposed), [one.column for one in proposed]


class FileService:
    """The pages of a file that people label, and what feeds them.

    Parameters
    ----------
    events, file
        The file, and which one it is.
    url
        Its database.
    name
        Who labels; None: the name of the account.
    port
        The port of the pages; another one if it is taken.
    config
        `[fields]` and `[labels]` say how cards look.
    """

    def __init__(
        self,
        events: EventFile,
        file: LabelledFile,
        url: Path,
        name: str | None = None,
        port: int = PORT,
        config: Config | None = None,
    ) -> None:
        sections = {} if config is None else config.sections
        shown = {one: sections[one] for one in ("fields", "labels") if one in sections}
        port = free_port("label", port)
        app = create_app(Settings(database=str(url), port=port, config=Config(sections=shown)))
        self.service: Service = app.state.service
        self.service.texts = texts_of(self.service)
        self.service.file = Path(events.path).name
        self.me = name or _account()
        self.feed = FileFeed(self.service, events, file)
        self.server = Server(app, self._ready)
        self.when_ready: Callable[[], object] = lambda: None
        """Called when the pages can be opened, by the thread that serves them."""
        self.address = f"http://127.0.0.1:{port}"
        self._is_up = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def link(self) -> str:
        """A new link that logs in once, within ten minutes."""
        access = self.service.access
        known = {one.name: one for one in access.grants("person")}
        person = known.get(self.me) or access.add_person(self.me, ["admin"])
        return f"{self.address}/login#{access.invite(person)[0]}"

    def run(self) -> None:
        """Serve the pages until all is answered or Ctrl-C is pressed."""
        watch = threading.Thread(target=self._watch, daemon=True)
        watch.start()
        with open(os.devnull, "w") as nowhere, redirect_stderr(nowhere):  # the log of requests
            self._serve()
        if self.feed.failure is not None:
            raise self.feed.failure

    def start(self) -> None:
        """Serve the pages in a thread of its own; `stop` ends it."""
        self._thread = threading.Thread(target=self._serve, name="pages", daemon=True)
        self._thread.start()
        if not self._is_up.wait(30):
            raise ParameterError(f"label: the pages did not start at {self.address}.")

    def stop(self) -> None:
        """End the thread of `start`; all answers are in the database."""
        self.server.should_exit = True
        if self._thread is not None:
            self._thread.join()

    def _serve(self) -> None:
        try:
            self.server.run()
        finally:
            self.feed.close()

    def _ready(self, port: int) -> None:
        self._is_up.set()
        self.when_ready()
        self.feed.start()

    def _watch(self) -> None:
        """Stop the server when all is done, or when the file cannot be read on."""
        quiet_since: float | None = None
        feed, server = self.feed, self.server
        while not server.should_exit:
            time.sleep(0.5)
            if feed.failure is not None:
                server.should_exit = True
            elif not feed.is_done or server.should_exit:
                continue
            elif not feed.is_finished:
                quiet_since = None
            elif quiet_since is None:
                quiet_since = time.monotonic()
            elif time.monotonic() - quiet_since > QUIET:
                server.should_exit = True


def _account() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return "you"
