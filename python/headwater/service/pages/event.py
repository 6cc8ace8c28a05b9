"""Everything about one event."""

import json
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from headwater.errors import HeadwaterError
from headwater.live import EventRecord, Loop
from headwater.service.pages.card import written
from headwater.service.pages.drawing import spark
from headwater.service.pages.fields import Field
from headwater.service.pages.known import KnownFeatures
from headwater.service.pages.rendering import Renderer, given, given_label, in_thread
from headwater.service.pages.wording import ago, percent, plain, signed, stamp

CORRECTABLE = ("answered", "applied")
STATES = {
    "open": "waiting for an answer",
    "leased": "on somebody's screen",
    "answered": "learned in a moment",
    "applied": "learned",
    "bad": "bad event",
    "refused": "the model cannot learn it",
}
"""States of a question as the page says them; others are plain words already."""


class EventPage:
    """The page about an event: its values, what the model said, what people said."""

    def __init__(self, pages: Renderer) -> None:
        self.pages = pages

    async def page(self, request: Request) -> Response:
        caller, loop = self.pages.enter(request, "read")
        named = request.path_params["event"]
        event = int(named[1:]) if named[:1] == "~" and named[1:].isdigit() else named
        view = await in_thread(self._view, loop, event)
        view["may_correct"] = view["can_correct"] and caller.allows("admin", loop.stream)
        place = self.pages.place(caller, loop.stream)
        return self.pages.page(request, "event.html", place=place, view=view)

    async def correct(self, request: Request) -> Response:
        """Put another label in the place of an answer."""
        caller, loop = self.pages.enter(request, "admin")
        body = await self.pages.body(request)
        question, label = given(body, "question", int), given_label(body)
        await in_thread(loop.correct, question, label, by=caller.name)
        return JSONResponse({})

    def _view(self, loop: Loop, event: Any) -> dict[str, Any]:
        record, layout = loop.find(event), self.pages.layout
        features = record.features
        known = self.pages.recent.features(loop)
        now = known.now()
        return {
            "title": plain(record.id),
            "at": stamp(record.time, now=now),
            "ago": ago(record.time, now),
            "prediction": layout.label(record.prediction),
            "reason": _reason(record),
            "label": layout.label(_label(record)) if _label(record) is not None else "nothing yet",
            "state": STATES.get(record.state or "", record.state or ""),
            "acts": [
                {
                    "person": plain(one.person or "a program"),
                    "what": _what(one.kind, layout.label(one.label)),
                    "when": ago(one.time, now),
                }
                for one in record.answers
            ],
            "kept": features is not None,
            "can_correct": record.state in CORRECTABLE,
            "question": record.number,
            "is_number": loop.learner.task == "regression",
            "classes": [
                {"text": one.name, "json": json.dumps(one.label)}
                for one in layout.classes(loop.learner.labels)
                if one.label != _label(record)
            ],
            "rows": self._rows(loop, features or {}, known),
        }

    def _rows(self, loop: Loop, features: dict[Any, Any], known: KnownFeatures) -> list[Any]:
        layout = self.pages.layout
        try:
            adds = loop.learner.explain_one(features).contributions if features else {}
        except HeadwaterError:
            adds = {}
        rows = []
        for name, value in features.items():
            about, field = known.get(name), layout.field(name) or Field()
            is_number = isinstance(value, (int, float))
            recent = () if about is None else about.recent
            rows.append(
                {
                    "name": layout.title(name),
                    "state": "" if about is None else about.state,
                    "amount": plain(value) if isinstance(value, str) else written(value, field),
                    "unit": plain(field.unit),
                    "spark": spark(recent, float(value)) if is_number else "",
                    "usual": "" if about is None else about.usual,
                    "adds": signed(adds[name]) if name in adds else "",
                }
            )
        return rows


def _reason(record: EventRecord) -> str:
    if record.label is not None:
        return "It came with its label, so nobody was asked."
    chance = percent(record.query_probability, 1 if record.query_probability < 0.1 else 0)
    asked = f"It was asked about; the chance of that was {chance}."
    return asked if record.asked else "Nobody was asked about it."


def _label(record: EventRecord) -> Any:
    """The label that counts."""
    said = [one.label for one in record.answers if one.kind in ("answer", "correction")]
    if record.state in ("open", "reopening", "bad", "expired", "disputed"):
        return None
    return said[-1] if said else record.label


def _what(kind: str, label: str) -> str:
    words = {
        "answer": f"said {label}",
        "correction": f"corrected it to {label}",
        "retraction": "took the answer back",
        "removal": "called it a bad event",
        "forgotten": "had it forgotten",
    }
    return words.get(kind, kind)
