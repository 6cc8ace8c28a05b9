"""Streams that run for months, durably: a journal in a database, and the model that it makes."""

try:
    import sqlalchemy as _  # noqa: F401
except ImportError:  # pragma: no cover
    raise ImportError('headwater.live needs pip install "headwater[live]".') from None

from headwater.live.allowance import Allowance, AllowanceStatus
from headwater.live.cards import Card, DeskSettings, Dispute, PersonStatus, QuestionRow
from headwater.live.desk import Desk
from headwater.live.event_record import AnswerRecord, EventRecord
from headwater.live.loop import Loop, open
from headwater.live.quality import Quality
from headwater.live.reading import Reader, StreamStatus, read
from headwater.live.results import Answered, Receipt
from headwater.live.transfer import backup, export_stream, import_stream, restore, upgrade
from headwater.live.weights import WeightsAt
from headwater.live.what_if import WhatIf, what_if

__all__ = [
    "Allowance",
    "AllowanceStatus",
    "AnswerRecord",
    "Answered",
    "Card",
    "Desk",
    "DeskSettings",
    "Dispute",
    "EventRecord",
    "Loop",
    "PersonStatus",
    "Quality",
    "QuestionRow",
    "Reader",
    "Receipt",
    "StreamStatus",
    "WeightsAt",
    "WhatIf",
    "backup",
    "export_stream",
    "import_stream",
    "open",
    "read",
    "restore",
    "upgrade",
    "what_if",
]
