"""People: how much they answer, how fast, and how well they agree."""

import json
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from headwater.live import Loop
from headwater.live.cards import Dispute, PersonStatus, QuestionRow
from headwater.service.access import Caller
from headwater.service.pages.rendering import (
    Renderer,
    event_address,
    given,
    given_label,
    in_thread,
)
from headwater.service.pages.wording import ago, number, plain

LAST = 12
"""How many of the last answers are listed."""


class People:
    """The page about those who answer, and the way to invite more."""

    def __init__(self, pages: Renderer) -> None:
        self.pages = pages

    async def page(self, request: Request) -> Response:
        caller, loop = self.pages.enter(request, "read")
        view = await in_thread(self._view, loop, caller)
        place = self.pages.place(caller, loop.stream)
        return self.pages.page(request, "people.html", place=place, here="People", view=view)

    def _view(self, loop: Loop, caller: Caller) -> dict[str, Any]:
        people, now = loop.desk.people(), self.pages.recent.features(loop).now()
        answers = sum(one.answers for one in people)
        by = "1 person" if len(people) == 1 else f"{len(people)} people"
        return {
            "summary": f"{number(answers)} {'answer' if answers == 1 else 'answers'} by {by}"
            if people
            else "",
            "rows": [self._row(one, now) for one in people],
            "agreed": any(one.agreement for one in people),
            "tested": any(one.known[1] for one in people),
            "disputes": [self._dispute(loop, one) for one in loop.desk.disputes()],
            "last": [self._answer(loop, one, now) for one in self._last(loop)],
            "may_invite": caller.allows("admin"),
        }

    def _last(self, loop: Loop) -> list[QuestionRow]:
        rows = [*loop.desk.questions("applied", LAST), *loop.desk.questions("answered", LAST)]
        return sorted(rows, key=lambda row: -row.question)[:LAST]

    def _answer(self, loop: Loop, row: QuestionRow, now: float) -> dict[str, Any]:
        layout = self.pages.layout
        return {
            "title": plain(row.event),
            "address": event_address(loop.stream, row.event),
            "label": layout.label(row.label),
            "person": plain(row.person or "a program"),
            "guess": layout.label(row.prediction),
            "agrees": row.label == row.prediction,
            "when": ago(row.time, now),
        }

    def _row(self, person: PersonStatus, now: float) -> dict[str, Any]:
        layout = self.pages.layout
        right, cards = person.known
        return {
            "name": plain(person.name),
            "answers": person.answers,
            "per_hour": number(round(person.per_hour)) if person.per_hour else "–",
            "last": ago(person.last, now),
            "agreement": [
                {"label": layout.label(label), "share": agreed / n, "cards": n}
                for label, (agreed, n) in person.agreement.items()
                if n
            ],
            "known": f"{right} of {cards} right" if cards else "none yet",
        }

    def _dispute(self, loop: Loop, dispute: Dispute) -> dict[str, Any]:
        layout = self.pages.layout
        labels = dict.fromkeys([*dispute.labels.values()])
        return {
            "question": dispute.question,
            "title": plain(dispute.event),
            "address": event_address(loop.stream, dispute.event),
            "votes": [(plain(who), layout.label(said)) for who, said in dispute.labels.items()],
            "labels": [{"text": layout.label(one), "json": json.dumps(one)} for one in labels],
        }

    async def settle(self, request: Request) -> Response:
        """Say which label counts of a question on which those asked do not agree."""
        caller, loop = self.pages.enter(request, "admin")
        body = await self.pages.body(request)
        question, label = given(body, "question", int), given_label(body)
        await in_thread(loop.desk.settle, question, label, by=caller.name)
        return JSONResponse({})

    async def invite(self, request: Request) -> Response:
        """A link for somebody new, or for somebody who is known: one login within ten minutes."""
        _, loop = self.pages.enter(request, "admin")
        name = given(await self.pages.body(request), "name", str).strip()
        access = self.pages.service.access

        def invited() -> str:
            known = next((one for one in access.grants("person") if one.name == name), None)
            grant = known or access.add_person(name, ["label", "read"], [loop.stream])
            return access.invite(grant)[0]

        code = await in_thread(invited)
        origin = f"{request.url.scheme}://{request.url.netloc}"
        return JSONResponse({"address": f"{origin}/login#{code}"})
