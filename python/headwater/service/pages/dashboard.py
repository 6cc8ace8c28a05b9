"""The dashboard: is it still good, what does it cost, what happened to its features?"""

import threading
import time
from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from headwater.live import Loop
from headwater.register import FeatureFinding
from headwater.service.pages.drawing import CurvePoint, Mark, curve, strip
from headwater.service.pages.features import FeatureRow, Features, summary
from headwater.service.pages.known import findings_of
from headwater.service.pages.rendering import Renderer, base_of, in_thread
from headwater.service.pages.wording import ago, percent, plain, signed, span, stamp

RENEWED = 4.0
"""Seconds for which a view is good enough for everybody who looks."""
POINTS = 60
MOST_FINDINGS = 200
FINDINGS = 8
MOVED = 8
KEPT = 1_000
"""How many of the heaviest weights are compared."""
PAUSE = 60.0
"""Seconds between two times at which weights are noted."""
KINDS = {"born": "born", "back": "born", "silent": "silent", "gone": "gone"}
"""How findings are drawn; others are changes."""
LANES = {"born": "came", "silent": "silent", "changed": "changed", "gone": "gone"}
LONGEST_NAME = 24
LATELY = 24
"""So many of the last findings are drawn by name, over the time since the first of them."""
HOURS = 6 * 3_600
"""If there were several within so many seconds, only these are drawn."""


class Noted(NamedTuple):
    """The heaviest weights at a time."""

    time: float
    weights: dict[Any, float]


class Dashboard:
    """The page that says how a stream is doing."""

    def __init__(self, pages: Renderer) -> None:
        self.pages = pages
        self._features = Features(pages)
        self._views: dict[str, tuple[float, dict[str, Any]]] = {}
        self._noted: dict[str, deque[Noted]] = {}
        self._looking = threading.Lock()

    async def page(self, request: Request) -> Response:
        caller, loop = self.pages.enter(request, "read")
        view = await in_thread(self._view, loop)
        place = self.pages.place(caller, loop.stream)
        return self.pages.page(request, "dashboard.html", place=place, here="Dashboard", view=view)

    def _view(self, loop: Loop) -> dict[str, Any]:
        with self._looking:
            at, view = self._views.get(loop.stream, (0.0, {}))
            if not view or time.monotonic() - at > RENEWED:
                view = self._look(loop)
                self._views[loop.stream] = (time.monotonic(), view)
            return view

    def _look(self, loop: Loop) -> dict[str, Any]:
        status, known = loop.status(), self.pages.recent.features(loop)
        now = known.now()
        oldest = loop.desk.oldest()
        rows = self._features.rows(loop)
        findings = findings_of(loop, MOST_FINDINGS)
        return {
            "learner": status.learner,
            "events": status.events,
            "error": status.error,
            "interval": status.interval,
            "labels": status.labels,
            "allowance": loop.allowance,
            "asked": status.asked,
            "asked_share": status.asked / status.events if status.events else None,
            "waiting": loop.desk.waiting(),
            "oldest": "" if oldest is None else span(max(0.0, now - oldest)),
            "rate": known.rate(now),
            "last_event": f"the last one {ago(known.last, now)}" if status.events else "none yet",
            "states": summary(rows),
            "moved": self._moved(loop, rows, now),
            "findings": [self._finding(loop, one, now) for one in findings[:FINDINGS]],
            "lately": self._lately(findings, known.last),
            **self._curve(loop, findings, known.last),
        }

    def _curve(self, loop: Loop, findings: Sequence[FeatureFinding], end: float) -> dict[str, Any]:
        """The error over time; nothing if it cannot be drawn yet.

        Each point is about the events before it, and the points are at equal distances.
        """
        told = loop.quality_curve(POINTS)
        begin = told[0].since if told else end
        times = [begin + (end - begin) * (i + 1) / len(told) for i in range(len(told))]
        known = [
            (when, one.error, one)
            for when, one in zip(times, told, strict=True)
            if one.error is not None
        ]
        if len(known) < 2:
            return {"curve": "", "curve_rows": []}
        points = [CurvePoint(when, error, *one.interval) for when, error, one in known]
        marks = _marks(findings)
        first, last = percent(known[0][1], 1), percent(known[-1][1], 1)
        title = f"Error rate over time: first {first}, last {last}"
        return {
            "curve": curve(points, title=title, percent=True, marks=marks),
            "curve_rows": [
                (stamp(when, now=end), error, *one.interval, one.labels)
                for when, error, one in known
            ],
        }

    def _lately(self, findings: Sequence[FeatureFinding], end: float) -> str:
        """What happened to features lately; nothing if nothing did."""
        marks = _marks(findings[:LATELY])
        newest = [mark for mark in marks if mark.time > end - HOURS]
        marks = newest if len(newest) > 2 else marks
        if not marks:
            return ""
        begin = min(mark.time for mark in marks)
        begin -= (end - begin) * 0.02
        title = f"The last {len(marks)} findings about features, by kind and time"
        return strip(marks, begin=begin, end=end, lanes=LANES, title=title)

    def _moved(self, loop: Loop, rows: Sequence[FeatureRow], now: float) -> dict[str, Any]:
        """The weights that moved most: in the last hour, or in all if it was not looked at."""
        heaviest = sorted(rows, key=lambda row: -abs(row.weight or 0.0))[:KEPT]
        weights = {row.name: row.weight or 0.0 for row in heaviest}
        noted = self._noted.setdefault(loop.stream, deque(maxlen=60))
        before = noted[0] if noted else Noted(0.0, {})
        if not noted or now - noted[-1].time > PAUSE:
            noted.append(Noted(now, weights))
        changes = {
            name: weights.get(name, 0.0) - before.weights.get(name, 0.0)
            for name in {**before.weights, **weights}
        }
        most = sorted((name for name in changes if changes[name]), key=lambda n: -abs(changes[n]))
        address = f"{base_of(loop.stream)}/features?"
        return {
            "span": f"in {span(now - before.time)}" if noted[0] is before else "so far",
            "rows": [
                {
                    "name": name,
                    "address": address + urlencode({"q": name}),
                    "weight": weights.get(name, 0.0),
                    "moved": signed(changes[name]),
                }
                for name in most[:MOVED]
            ],
        }

    def _finding(self, loop: Loop, finding: FeatureFinding, now: float) -> dict[str, Any]:
        name = plain(finding.feature)
        other = "" if finding.other is None else f" by {plain(finding.other)}"
        return {
            "kind": finding.kind.split()[0],
            "word": finding.kind,
            "text": name + other,
            "address": f"{base_of(loop.stream)}/features?" + urlencode({"q": name}),
            "when": "" if finding.time is None else ago(finding.time, now),
        }


def _marks(findings: Sequence[FeatureFinding]) -> list[Mark]:
    """Findings as they are drawn; those without a time cannot be."""
    return [
        Mark(one.time, KINDS.get(one.kind, "changed"), _told(one), _short(one))
        for one in findings
        if one.time is not None
    ]


def _told(finding: FeatureFinding) -> str:
    other = "" if finding.other is None else f" by {plain(finding.other)}"
    return f"{finding.kind}: {plain(finding.feature)}{other}"


def _short(finding: FeatureFinding) -> str:
    """The name of a feature, cut if it is long."""
    name = plain(finding.feature)
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"
