"""Features: a table that can be searched and sorted."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlencode

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from headwater.live import Loop, WeightsAt
from headwater.service.pages.drawing import spark
from headwater.service.pages.known import Known
from headwater.service.pages.rendering import Renderer, in_thread
from headwater.service.pages.wording import ago, number, percent, plain

MOST_ROWS = 500
STATES = ("new", "back", "live", "silent", "gone", "own")


class FeatureRow(NamedTuple):
    """A feature as the table shows it."""

    name: str
    key: Any
    about: Known | None
    unit: str
    learned: int
    weight: float | None
    weights: Sequence[float] = ()
    """What the weight was, at each snapshot at which it was among the heaviest."""

    @property
    def state(self) -> str:
        if self.about is None:
            return "own" if self.is_own else "gone"
        return self.about.state

    @property
    def is_own(self) -> bool:
        """Whether it is one of the learner's own, such as its intercept, and of no event."""
        return self.about is None and self.name.startswith("(") and self.name.endswith(")")

    @property
    def latest(self) -> str:
        return number(self.about.recent[-1]) if self.about and self.about.recent else ""

    @property
    def spark(self) -> Markup:
        return spark(self.about.recent if self.about else ())

    @property
    def weight_spark(self) -> Markup:
        return spark(self.weights)

    @property
    def mean(self) -> str:
        return self.about.usual if self.about else ""

    @property
    def rhythm(self) -> str:
        if self.about is None:
            return "the learner's own" if self.is_own else "in no recent event"
        return "every event" if self.about.share >= 1 else f"{percent(self.about.share)} of events"

    def seen(self, now: float) -> str:
        """When it was last there."""
        if self.about is None:
            return "" if self.is_own else "long ago"
        return ago(self.about.seen, now)


Order = Callable[[FeatureRow], Any]
COLUMNS: dict[str, tuple[str, bool, Order | None]] = {
    "name": ("Name", False, lambda row: row.name.lower()),
    "state": ("State", False, lambda row: STATES.index(row.state)),
    "latest": ("Latest", True, None),
    "recent": ("Recent values", False, None),
    "mean": ("Mean ± spread", True, None),
    "rhythm": ("Rhythm", False, lambda row: -(row.about.share if row.about else 0.0)),
    "learned": ("Learned", True, lambda row: -row.learned),
    "seen": ("Last seen", False, lambda row: -(row.about.seen if row.about else 0.0)),
    "weight": ("Weight", True, lambda row: -abs(row.weight or 0.0)),
    "weights": ("Weight over time", False, None),
}
"""Title, whether it is a number, and the order; the first click sorts so, the second backwards."""


class Features:
    """The page about the features of a stream."""

    def __init__(self, pages: Renderer) -> None:
        self.pages = pages

    async def page(self, request: Request) -> Response:
        caller, loop = self.pages.enter(request, "read")
        query = request.query_params.get("q", "")[:200]
        sort = request.query_params.get("sort", "weight")
        view = await in_thread(self._view, loop, query, sort)
        place = self.pages.place(caller, loop.stream)
        return self.pages.page(request, "features.html", place=place, here="Features", view=view)

    def _view(self, loop: Loop, query: str, sort: str) -> dict[str, Any]:
        rows = self.rows(loop)
        told = summary(rows)
        wanted = query.lower().strip()
        rows = [row for row in rows if wanted in row.name.lower() or wanted == row.state]
        backwards, by = sort.startswith("-"), sort.lstrip("-")
        order = COLUMNS.get(by, COLUMNS["weight"])[2]
        if order is not None:
            rows.sort(key=order, reverse=backwards)
        shown = with_weights(rows[:MOST_ROWS], loop.weights())
        has_weights = any(row.weights for row in shown)
        columns = [name for name in COLUMNS if has_weights or name != "weights"]
        return {
            "summary": told,
            "query": plain(query),
            "sort": plain(sort),
            "columns": [self._column(name, by, backwards, query) for name in columns],
            "rows": shown,
            "has_weights": has_weights,
            "more": max(0, len(rows) - MOST_ROWS),
            "now": self.pages.recent.features(loop).now(),
        }

    def _column(self, name: str, by: str, backwards: bool, query: str) -> dict[str, Any]:
        title, is_number, order = COLUMNS[name]
        here = by == name
        ascending = backwards if name in ("learned", "weight", "rhythm", "seen") else not backwards
        again = f"-{name}" if here and not backwards else name
        return {
            "title": title,
            "number": is_number,
            "sorted": ("ascending" if ascending else "descending") if here else "",
            "address": "?" + urlencode({"q": query, "sort": again}) if order else "",
        }

    def rows(self, loop: Loop) -> list[FeatureRow]:
        """Every feature that was learned or that a recent event has."""
        known = self.pages.recent.features(loop).all
        layout = self.pages.layout
        learned = {one.name: one for one in loop.learner.features()}
        return [
            FeatureRow(
                name=layout.title(name),
                key=name,
                about=known.get(name),
                unit=layout.unit(name),
                learned=learned[name].times_learned if name in learned else 0,
                weight=_weight(learned[name].weight) if name in learned else None,
            )
            for name in {**learned, **known}
        ]


def with_weights(rows: list[FeatureRow], moments: Sequence[WeightsAt]) -> list[FeatureRow]:
    """The same rows with their weights over time."""
    lists = {
        row.key: [one.weights[row.key] for one in moments if row.key in one.weights] for row in rows
    }
    return [row._replace(weights=lists[row.key]) for row in rows]


def summary(rows: Sequence[FeatureRow]) -> str:
    """How many features are in each state."""
    counts = Counter(row.state for row in rows)
    return ", ".join(f"{number(counts[one])} {one}" for one in STATES[:-1] if counts[one])


def _weight(weight: float | dict[Any, float]) -> float:
    """A weight as one number: with several classes, the largest."""
    return max(weight.values(), key=abs, default=0.0) if isinstance(weight, dict) else weight
