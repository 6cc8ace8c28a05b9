"""Labelling: one card, one decision, one key."""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from headwater.errors import HeadwaterError, JournalError
from headwater.live import AllowanceStatus, Card, Loop
from headwater.service.access import Caller
from headwater.service.errors import ServiceError
from headwater.service.pages.card import card_view
from headwater.service.pages.known import KnownFeatures
from headwater.service.pages.rendering import (
    Renderer,
    base_of,
    event_address,
    given,
    given_label,
    in_thread,
)
from headwater.service.pages.wording import number, percent, plain
from headwater.types import Label

MOST_AHEAD = 10
MOST_HELD = 1_000
MOST_ACTS = 1_000
MOST_DONE = 10_000
"""Acts whose replies are remembered, for pages that did not get them. An answer and an undo count
once beyond that too: the desk knows an answer's key, and an undo names its question."""
SEEN = "+guess"
"""The end of an answer's key if the person had looked at the model's guess before."""
LOW = 0.1
"""The share of the allowance below which what is left is shown as little."""


class Labelling:
    """The labelling page, and what its script asks for."""

    def __init__(self, pages: Renderer) -> None:
        self.pages = pages
        # Caches per stream and person; without them a line says less.
        self._handed: dict[tuple[str, str], dict[int, Card]] = {}
        self._last: dict[tuple[str, str], Given] = {}
        self._done: OrderedDict[tuple[str, str, str], dict[str, Any]] = OrderedDict()

    async def page(self, request: Request) -> Response:
        caller, loop = self.pages.enter(request, "label")
        place = self.pages.place(caller, loop.stream)
        address = f"{base_of(loop.stream)}/label"
        return self.pages.page(request, "label.html", place=place, here="Label", address=address)

    async def cards(self, request: Request) -> Response:
        """Cards ahead for a page that has some."""
        caller, loop = self.pages.enter(request, "label")
        body = await self.pages.body(request)
        return JSONResponse(await in_thread(self._cards, loop, caller, body))

    async def acts(self, request: Request) -> Response:
        """What a person did, in order, and then cards as in `cards`.

        An act may come again if its reply was lost: its key makes it count once.
        """
        caller, loop = self.pages.enter(request, "label")
        body = await self.pages.body(request)
        sent = given(body, "acts", list)
        if len(sent) > MOST_ACTS or not all(isinstance(one, dict) for one in sent):
            raise ServiceError(
                "bad_request", f"The body does not fit: acts are at most {MOST_ACTS} objects."
            )

        def perform() -> dict[str, Any]:
            done = [self._act(loop, caller, act) for act in sent]
            back = [one["question"] for one, act in zip(done, sent, strict=True) if is_undo(act)]
            return {"done": done, **self._cards(loop, caller, body, back)}

        return JSONResponse(await in_thread(perform))

    # Cards

    def _cards(
        self, loop: Loop, caller: Caller, body: dict[str, Any], back: Sequence[Any] = ()
    ) -> dict[str, Any]:
        """Cards so that a page has as many as it wants; `back` are those that undo gives back."""
        have = {one for one in given(body, "have", list) if isinstance(one, int)}
        wanted = min(MOST_AHEAD, max(0, given(body, "wanted", int)))
        most = min(MOST_HELD, max(wanted, len(have.union(back))))
        held = loop.desk.lease(caller.name, most) if wanted else []
        self._remember(loop, caller, held)
        known = self.pages.recent.features(loop)
        allowance = loop.allowance
        return {
            "classes": self._classes(loop),
            "cards": [self._card(loop, known, card) for card in held if card.question not in have],
            "gone": sorted(have - {card.question for card in held}) if wanted else [],
            "left": _left(allowance),
            "low": allowance is not None and allowance.left < LOW * allowance.allowed,
            "empty": _empty(loop, allowance) if not held else "",
        }

    def _classes(self, loop: Loop) -> list[dict[str, Any]]:
        """What can be answered, of a learner that meets classes as they come."""
        if loop.learner.task != "multiclass":
            return []
        return [one._asdict() for one in self.pages.layout.classes(loop.learner.labels)]

    def _remember(self, loop: Loop, caller: Caller, held: list[Card]) -> None:
        handed = self._handed.setdefault((loop.stream, caller.name), {})
        handed |= {card.question: card for card in held}
        for question in list(handed)[: -2 * MOST_AHEAD]:
            del handed[question]

    def _card(self, loop: Loop, known: KnownFeatures, card: Card) -> dict[str, Any]:
        layout = self.pages.layout
        view = card_view(
            card,
            known,
            layout=layout,
            address=event_address(loop.stream, card.event),
            now=known.now(),
            whole_texts=self.pages.service.texts(card.event),
            timed=not self.pages.service.file,
        )
        guess = "The model has no guess."
        if card.prediction is not None:
            guess = f"The model says {layout.label(card.prediction)}{_sure(card.probability)}."
        task = loop.learner.task
        return {
            "question": card.question,
            "html": self.pages.text("card.html", card=view),
            "why": plain(card.reason),
            "classes": [one._asdict() for one in layout.classes(card.classes)],
            "guess": guess,
            "several": task == "multiclass",
            "number": task == "regression",
        }

    # Acts

    def _act(self, loop: Loop, caller: Caller, act: dict[str, Any]) -> dict[str, Any]:
        """Perform one act, once; one that is refused says why and is done all the same."""
        key = given(act, "key", str)
        mark = (loop.stream, caller.name, key)
        if key and mark in self._done:
            return self._done[mark]
        done = self._act_now(loop, caller, act, key)
        self._done[mark] = done
        while len(self._done) > MOST_DONE:
            self._done.popitem(last=False)
        return done

    def _act_now(self, loop: Loop, caller: Caller, act: dict[str, Any], key: str) -> dict[str, Any]:
        kind = given(act, "act", str)
        question = act.get("question")
        done = {"key": key, "ok": True, "question": question}
        try:
            if kind == "undo":
                return done | self._undo(loop, caller, question)
            number = given(act, "question", int)
            text = self._perform(loop, caller, kind, number, act, key)
        except JournalError:
            raise  # the disk may be well again when the page tries again
        except HeadwaterError as error:
            return done | {"ok": False, "text": str(error)}
        return done | {"text": text}

    def _perform(
        self, loop: Loop, caller: Caller, kind: str, question: int, act: dict[str, Any], key: str
    ) -> str:
        desk, name = loop.desk, caller.name
        if kind == "answer":
            label = given_label(act)
            before = self._last_chance(loop, caller)
            seen = SEEN if act.get("seen") else ""
            desk.answer(question, label, by=name, key=key + seen)
            return self._changed(loop, caller, question, label, before)
        if kind == "skip":
            desk.skip(question, by=name)
            return "Skipped; somebody else may get it."
        if kind == "unsure":
            desk.unsure(question, by=name)
            return "Left open for others."
        if kind == "bad":
            desk.bad(question, by=name)
            self._last.pop((loop.stream, name), None)
            return "Marked as bad; the model is replayed without it."
        if kind == "release":
            desk.release(question, by=name)
            return ""
        raise ServiceError("bad_request", f"The body does not fit: there is no act {kind!r}.")

    def _undo(self, loop: Loop, caller: Caller, question: Any) -> dict[str, Any]:
        """Take the last act back, or the last about a question."""
        target = question if isinstance(question, int) else None
        undone = loop.desk.undo(by=caller.name, question=target)
        self._last.pop((loop.stream, caller.name), None)
        return {"question": undone.question, "text": "Taken back."}

    # What an answer changed

    def _last_chance(self, loop: Loop, caller: Caller) -> float | None:
        """How probable the person's answer before is to the model now, or the number it says."""
        last = self._last.get((loop.stream, caller.name))
        return None if last is None else _chance(loop, last.features, last.label)

    def _changed(
        self, loop: Loop, caller: Caller, question: int, label: Label, before: float | None
    ) -> str:
        """One line: the model's guess, and what the answer before did, which is learned by now."""
        layout, who = self.pages.layout, (loop.stream, caller.name)
        parts = [f"{layout.label(label)}."]
        card = self._handed.get(who, {}).get(question)
        is_number = loop.learner.task == "regression"
        if card is not None and card.prediction is not None:
            if is_number:
                said = f"had said {layout.label(card.prediction)}"
            else:
                said = "had said so too" if card.prediction == label else "had said otherwise"
            parts.append(f"The model {said}{_sure(card.probability)}.")
        after = self._last_chance(loop, caller)
        last = self._last.pop(who, None)
        if last is not None and before is not None and after is not None:
            if is_number:
                moved = f"{_short(before)} → {_short(after)}, you said {last.name}"
                parts.append(f"Learned from the card before: {moved}.")
            elif round(before, 2) == round(after, 2):
                parts.append(f"The card before changed little: {last.name} {percent(after)}.")
            else:
                moved = f"{last.name} {percent(before)} → {percent(after)}"
                parts.append(f"Learned from the card before: {moved}.")
        if card is not None:
            self._last[who] = Given(card.features, label, layout.label(label))
        return " ".join(parts)


def is_undo(act: dict[str, Any]) -> bool:
    """Whether an act takes another one back."""
    return act.get("act") == "undo"


class Given(NamedTuple):
    """The last answer of a person, to see what it changes once it is learned."""

    features: dict[Any, Any]
    label: Label
    name: str


def _chance(loop: Loop, features: dict[Any, Any], label: Label) -> float | None:
    """How probable a label of an event is to the model, or the number it says of it; or None."""
    try:
        if loop.learner.task == "regression":
            said = loop.learner.predict_one(features)
            return None if said is None else float(said)
        return loop.learner.predict_proba_one(features).get(label)
    except HeadwaterError:
        return None


def _short(value: float) -> str:
    """A number of the model with three digits: it is not exact anyway."""
    return number(float(f"{value:.3g}"))


def _sure(probability: float | None) -> str:
    return "" if probability is None else f", {percent(probability)} sure"


def _left(allowance: AllowanceStatus | None) -> str:
    """What is left of the allowance."""
    if allowance is None:
        return ""
    window = {"day": "today", "hour": "this hour"}.get(allowance.window, "now")
    return f"{number(allowance.left)} of {number(allowance.allowed)} questions left {window}"


def _empty(loop: Loop, allowance: AllowanceStatus | None) -> str:
    """Why there is no card."""
    waiting = loop.desk.waiting()
    if waiting:
        those = "1 question waits" if waiting == 1 else f"{number(waiting)} questions wait"
        return f"{those} for other people. The next card for you comes by itself."
    if allowance is not None and allowance.left <= 0:
        return f"All questions of this {allowance.window} have been asked. More come by themselves."
    return "Every question is answered. The next card comes by itself."
