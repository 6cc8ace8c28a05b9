"""How a stream is kept, as its row in the database says."""

import json
from dataclasses import asdict, dataclass, field
from typing import Literal

import sqlalchemy as sa
from sqlalchemy import Connection

from headwater.live import database as db
from headwater.live.allowance import Allowance
from headwater.live.cards import DeskSettings

ClockKind = Literal["system", "events"]
Labels = Literal["asked", "all"]


@dataclass(frozen=True)
class Settings:
    """How a stream is kept; all but the last are parameters of `open`."""

    apply_after: float = 20.0
    snapshot_facts: int = 20_000
    snapshot_seconds: float = 600.0
    keep_events: float = 90 * 86_400.0
    answer_within: float = 0.0
    trained: bool = False  # whether the stream began with a learner that had learned
    desk: DeskSettings = field(default_factory=DeskSettings)
    allowance: Allowance | None = None
    clock: ClockKind = "system"
    labels: Labels = "asked"

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "Settings":
        kept = json.loads(text)
        kept["desk"] = DeskSettings(**kept.get("desk", {}))
        given = kept.get("allowance")
        kept["allowance"] = None if given is None else Allowance(**given)
        return cls(**kept)


def read_settings(connection: Connection, stream: int) -> Settings:
    """The settings of a stream."""
    s = db.streams.c
    found = sa.select(s.settings).where(s.stream == stream)
    return Settings.from_json(connection.scalars(found).one())
