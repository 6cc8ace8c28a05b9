"""What deciders and owners send each other, as bytes.

A report is one message: JSON, packed by zlib, with bytes in base64. A model may be longer than a
message can be, so it is sent in pieces, and as a delta to the model before where that is shorter.
"""

import base64
import json
import zlib
from typing import Any, NamedTuple

from headwater._core import write_delta
from headwater.errors import EventError, ModelFileError
from headwater.learners.base import apply_delta
from headwater.live.part import Told
from headwater.live.reported import Asked, Chances, Reported

PIECE = 500_000
"""Bytes of a model that are sent in one message."""
DELTAS = 20
"""A model is sent as a whole after so many deltas."""


def write_report(reported: Reported) -> bytes:
    """The bytes of a report.

    Examples
    --------
    >>> told = Reported("events/3", 17, 20, 0.0, Chances.of([0.5], 0.5), b"sums", [])
    >>> read_report(write_report(told)) == told
    True
    """
    asked = [
        {**one._asdict(), "decision": base64.b64encode(one.decision).decode()}
        for one in reported.asked
    ]
    report = base64.b64encode(reported.report).decode()
    return zlib.compress(
        json.dumps({**reported._asdict(), "report": report, "asked": asked}).encode(), 1
    )


def read_report(data: bytes) -> Reported:
    """The report that these bytes are; an EventError says that they are none."""
    try:
        read = json.loads(zlib.decompress(data))
        asked = [
            Asked(**{**one, "decision": base64.b64decode(one["decision"])}) for one in read["asked"]
        ]
        chances, report = Chances(*read["chances"]), base64.b64decode(read["report"])
        return Reported(**{**read, "chances": chances, "report": report, "asked": asked})
    except (zlib.error, ValueError, KeyError, TypeError):
        raise EventError(
            f"report: expected what a decider sends, got {len(data)} other bytes."
        ) from None


class Piece(NamedTuple):
    """A message with a piece of a model."""

    key: str
    about: dict[str, Any]
    body: bytes


class ModelWriter:
    """Makes the messages by which an owner lets deciders know its learner.

    Examples
    --------
    >>> import headwater as hw
    >>> owner, writer, reader = hw.PAA(), ModelWriter("a"), ModelReader()
    >>> for piece in writer.pieces(Told(owner.to_bytes(), 0, {"events/0": 7})):
    ...     reader.read(piece.about, piece.body)
    >>> reader.model.positions, hw.from_bytes(reader.model.state)
    ({'events/0': 7}, PAA())
    """

    def __init__(self, name: str) -> None:
        self._name = name  # of this writer, which nobody had before
        self._before = b""
        self._count = 0
        self.whole: int | None = None
        """Where the last whole begins in its topic, once that is known."""

    def pieces(self, told: Told) -> list[Piece]:
        """The messages of the learner as it is now."""
        before = self._before if self._count % DELTAS and self.whole is not None else b""
        delta = write_delta(before, told.state)
        kind = f"delta/{self._count % DELTAS}" if before else "whole"
        if not before:
            self.whole = None
        parts = [delta[at : at + PIECE] for at in range(0, len(delta), PIECE)]
        about = {
            "version": f"{self._name}/{self._count}",
            "fact": told.fact,
            "positions": told.positions,
            "delta": bool(before),
            "whole": self.whole,
            "of": len(parts),
        }
        self._before, self._count = told.state, self._count + 1
        return [
            Piece(f"{kind}/{number}", {**about, "piece": number}, part)
            for number, part in enumerate(parts)
        ]


class Model(NamedTuple):
    """A learner as its owner sent it."""

    state: bytes
    fact: int
    positions: dict[str, int]


class ModelReader:
    """Puts the pieces of models together again; what does not fit together is passed over."""

    def __init__(self) -> None:
        self.model: Model | None = None
        self._pieces: list[bytes] = []
        self._version: str | None = None

    def read(self, about: dict[str, Any], body: bytes) -> None:
        """Read the next message."""
        if about["piece"] == 0:
            self._version, self._pieces = about["version"], []
        if about["version"] != self._version or about["piece"] != len(self._pieces):
            self._version = None
            return
        self._pieces.append(body)
        if len(self._pieces) < about["of"]:
            return
        before = b"" if self.model is None or not about["delta"] else self.model.state
        try:
            state = apply_delta(before, b"".join(self._pieces))
        except ModelFileError:  # its beginning is missing; the next whole comes
            return
        self.model = Model(state, about["fact"], about["positions"])
