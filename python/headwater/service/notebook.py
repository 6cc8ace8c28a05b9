"""Label the rows of a frame from a notebook: a card in the output, and a link to the page."""

import html
import json
import math
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from headwater.errors import ParameterError
from headwater.inputs.columns import Columns
from headwater.inputs.files import open as open_file
from headwater.learners.base import Learner
from headwater.live import Card, Loop
from headwater.service.file_feed import STREAM, LabelledFile
from headwater.service.file_labels import outcome, sentences, write_labels
from headwater.service.file_stream import PORT, FileService, open_stream
from headwater.types import Label

MOST_FIELDS = 12
"""Fields that a card shows in a notebook; the page shows all."""
WAIT = 0.05


def label_frame(
    frame: Any,
    *,
    classes: Sequence[str] | None = None,
    columns: Columns | None = None,
    db: str | Path | None = None,
    budget: float | None = None,
    seed: int = 0,
    name: str | None = None,
    port: int = PORT,
) -> "FrameLabelling":
    """Label a frame by answering some questions about its rows; a model labels the rest.

    In a notebook the result is shown as the card of the next question, with a link to the labelling
    page, where one key answers. `answer` answers the card in Python.

    Parameters
    ----------
    frame
        A pandas, polars or pyarrow frame, or a list of dicts.
    classes
        The classes; None: they are met as they are given.
    columns
        What the columns are for; None: it is proposed from the first 1,000 rows.
    db
        The database that keeps the answers; the same one with the same frame goes on where it
        stopped. None: a temporary one, which is deleted by `close`.
    budget
        The share of rows to ask about; None: 0.05, or more for a small frame.
    seed
        The order of the rows follows from it.
    name
        Who labels; None: the name of the account.
    port
        The port of the page; another one if it is taken.

    Examples
    --------
    >>> import headwater as hw
    >>> rows = [{"id": n, "note": "warm" if n % 2 else "cold", "size": n} for n in range(40)]
    >>> columns = hw.Columns(id="id", category=["note"])
    >>> with hw.label_frame(rows, classes=["no", "yes"], columns=columns, port=0) as labelling:
    ...     for _ in range(10):
    ...         card = labelling.card()
    ...         _ = labelling.answer("yes" if "note=warm" in card.features else "no")
    ...     labels = labelling.labels()
    >>> labels[1]["label"], labels[2]["label"]
    ('yes', 'no')
    """
    rows = _rows(frame)
    folder = tempfile.TemporaryDirectory(prefix="headwater-") if db is None else None
    url = Path(db) if folder is None else Path(folder.name, "frame.db")  # type: ignore[arg-type]
    path = url.with_name(f"{url.name}.jsonl")
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    events = open_file(path, columns=Columns() if columns is None else columns)
    events.optional = True
    names = None if classes is None else tuple(map(str, classes))
    said: list[str] = []
    known = open_stream(events, url, names, budget, seed, said.append)
    pages = FileService(events, known, url, name, port)
    return FrameLabelling(events, known, url, pages, folder)


class FrameLabelling:
    """A frame that is being labelled; made by `label_frame`."""

    def __init__(
        self,
        events: Any,
        file: LabelledFile,
        url: Path,
        pages: FileService,
        folder: "tempfile.TemporaryDirectory[str] | None",
    ) -> None:
        self._events, self._file, self._url = events, file, url
        self._pages, self._folder = pages, folder
        self._card: Card | None = None
        pages.start()

    @property
    def link(self) -> str:
        """A new link to the labelling page, which logs in once, within ten minutes."""
        return self._pages.link

    @property
    def model(self) -> Learner:
        """The model, which learns with every answer."""
        return self._loop.learner

    @property
    def _loop(self) -> Loop:
        loop = self._pages.service.streams.get(STREAM)
        if loop is None:
            raise ParameterError("label_frame: it is closed; call label_frame again.")
        return loop

    def card(self) -> Card | None:
        """The next question; None when there is none left."""
        while self._card is None:
            cards = self._loop.desk.lease(self._pages.me)
            if cards:
                self._card = cards[0]
            elif self._pages.feed.failure is not None:
                raise self._pages.feed.failure
            elif self._pages.feed.is_done and not self._loop.desk.waiting(self._pages.me):
                return None
            else:
                self._pages.feed.wait(WAIT)
        return self._card

    def answer(self, label: Label) -> Self:
        """Answer the card; the next one takes its place. In a notebook it is shown."""
        self._settle(lambda card: self._loop.desk.answer(card, label, by=self._pages.me))
        return self

    def skip(self) -> Self:
        """Leave the card to others."""
        self._settle(lambda card: self._loop.desk.skip(card, by=self._pages.me))
        return self

    def _settle(self, act: Callable[[Card], object]) -> None:
        card = self.card()
        if card is None:
            raise ParameterError("label_frame: there is no question left to answer.")
        act(card)
        self._card = None

    def labels(self) -> list[dict[str, Any]]:
        """One dict per row: its label, whether it was given or predicted, by whom, how surely."""
        lines: list[str] = []
        self._loop.apply()
        write_labels(self._loop, self._events, lines.append)
        return [json.loads(line) for line in "".join(lines).splitlines()]

    def summary(self) -> str:
        """How many answers there are, how good the labels are, whether more answers would help."""
        self._loop.apply()
        found = outcome(self._loop, str(self._url), self._events, self._file)
        return "\n".join(sentences(found))

    def close(self) -> None:
        """End the page. Answers are kept in the database, unless it was a temporary one."""
        self._pages.stop()
        if self._folder is not None:
            self._folder.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        status = self._loop.status()
        return f"<{status.asked:,} questions, {self.model.learned:,} answers learned>"

    def _repr_html_(self) -> str:
        """The card as a form without scripts: its buttons lead to the page."""
        card = self.card()
        link = html.escape(self.link, quote=True)
        if card is None:
            return f'<p>All questions are answered. <a href="{link}">The page</a></p>'
        texts = self._pages.service.texts(card.event)
        shown: list[tuple[str, Any]] = list(texts.items())
        shown += [
            (str(name), value)
            for name, value in card.features.items()
            if str(name).partition(":")[0] not in texts
        ]
        rows = "".join(
            f"<tr><th style='text-align:left;vertical-align:top'><bdi>{html.escape(name)}</bdi>"
            f"</th><td style='text-align:left;white-space:normal'><bdi>{html.escape(str(value))}"
            "</bdi></td></tr>"
            for name, value in shown[:MOST_FIELDS]
        )
        more = len(shown) - MOST_FIELDS
        rest = f"<p>and {more} more fields</p>" if more > 0 else ""
        buttons = "".join(
            f'<a href="{link}" target="_blank" rel="noopener" style="display:inline-block;margin:'
            "0 .5em .5em 0;padding:.4em 1em;border:1px solid currentColor;border-radius:.4em;"
            f'text-decoration:none">{html.escape(str(one))}</a>'
            for one in card.classes
        )
        return (
            '<div style="max-width:42em;border:1px solid #8888;border-radius:.6em;padding:1em">'
            f"<p><b><bdi>{html.escape(str(card.event))}</bdi></b><br>{html.escape(card.reason)}</p>"
            f"<table>{rows}</table>{rest}<p>{buttons}</p>"
            f'<p><a href="{link}" target="_blank" rel="noopener">Answer on the labelling page</a>'
            ", one key per card, or call <code>answer(label)</code> here.</p></div>"
        )


def _rows(frame: Any) -> list[dict[str, Any]]:
    """A frame as dicts of plain values; absent ones are left out."""
    if isinstance(frame, (list, tuple)):
        rows = list(frame)
    elif hasattr(frame, "to_dicts"):  # polars
        rows = frame.to_dicts()
    elif hasattr(frame, "to_pylist"):  # pyarrow
        rows = frame.to_pylist()
    elif hasattr(frame, "to_dict") and hasattr(frame, "columns"):  # pandas
        rows = frame.to_dict("records")
    else:
        raise ParameterError(
            "label_frame: expected a pandas, polars or pyarrow frame, or a list of dicts, got"
            f" {type(frame).__name__}."
        )
    if not rows:
        raise ParameterError("label_frame: the frame is empty; there are no rows to label.")
    for at, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise ParameterError(
                f"label_frame, row {at}: expected a dict, got {type(row).__name__}."
            )
    return [{str(name): _plain(value) for name, value in row.items()} for row in rows]


def _plain(value: Any) -> Any:
    """A value as JSON has it; a time as its ISO text."""
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and math.isnan(value):
        return None
    return value if isinstance(value, (bool, int, float, str)) or value is None else str(value)
