"""A card as the labelling page shows it: the event, not the vector."""

import math
from collections.abc import Mapping
from datetime import tzinfo
from typing import Any, NamedTuple

from markupsafe import Markup

from headwater.live import Card
from headwater.service.pages.drawing import spark
from headwater.service.pages.fields import CardLayout, Field
from headwater.service.pages.known import Known, KnownFeatures
from headwater.service.pages.wording import ago, number, plain, stamp

MOST_VALUES = 24
"""Values on a card; of more than that, the most unusual are shown."""
MOST_ABSENT = 4
FEW, SOME = 8, 16
"""Values up to which each has a large line of its own, and up to which two stand in a line."""
LONG_TEXT = 40
"""A text of more characters gets lines of its own."""
UNUSUAL = 3.0
"""How many spreads from its mean a value is called unusual."""


class ValueView(NamedTuple):
    """One value of a card."""

    name: str
    title: str
    amount: str
    unit: str = ""
    is_new: bool = False
    zero: bool = False
    absent: bool = False
    unusual: str = ""
    recent: str = ""
    spark: Markup = Markup()

    @property
    def kinds(self) -> str:
        kinds = {"zero": self.zero, "absent": self.absent, "unusual": bool(self.unusual)}
        return " ".join(name for name, holds in kinds.items() if holds)


class TextView(NamedTuple):
    """A long text of a card."""

    name: str
    text: str


class CardView(NamedTuple):
    """A card, ready to be written."""

    question: int
    title: str
    at: Markup
    ago: str
    group: str
    copies: int
    address: str
    texts: list[TextView]
    values: list[ValueView]
    left_out: int

    @property
    def density(self) -> str:
        """How close its values stand: with few of them each has a large line of its own."""
        if self.texts or len(self.values) > SOME:
            return "many"
        return "few" if len(self.values) <= FEW else "some"


def card_view(
    card: Card,
    known: KnownFeatures,
    *,
    layout: CardLayout,
    address: str = "",
    now: float,
    zone: tzinfo | None = None,
    whole_texts: Mapping[str, str] | None = None,
    timed: bool = True,
) -> CardView:
    """What a page shows of a card; `whole_texts` stand in the place of their words.

    `timed`: whether it says when the event came.
    """
    values, how_unusual = [], []
    texts = [TextView(layout.title(n), plain(text)) for n, text in (whole_texts or {}).items()]
    shown = set()
    words = tuple(f"{name}:" for name in whole_texts or {})
    for name, value in card.features.items():
        column, category = indicated(name, value)
        field = layout.field(name) or layout.field(column) or Field()
        if field.hidden or _is_word(name, words):
            continue
        if isinstance(value, str) and len(value) > LONG_TEXT:
            texts.append(TextView(layout.title(name), plain(value)))
            continue
        about = known.get(name)
        if category:
            shown.add(column)
            if len(category) > LONG_TEXT:
                texts.append(TextView(layout.title(column), plain(category)))
                continue
            values.append(_category(name, column, category, about, layout))
            how_unusual.append(math.inf if about is None else 0.0)
            continue
        values.append(_value(name, value, about, field, layout))
        how_unusual.append(math.inf if about is None else about.spreads(value))
    left_out = len(values) - MOST_VALUES
    if left_out > 0:
        ranked = sorted(range(len(values)), key=lambda i: (-how_unusual[i], i))
        values = [values[i] for i in sorted(ranked[:MOST_VALUES])]
    missed = [
        name
        for name in known.usual()
        if name not in card.features and indicated(name, 1.0)[0] not in shown
    ]
    for name in missed[:MOST_ABSENT]:
        if not (layout.field(name) or Field()).hidden and not _is_word(name, words):
            values.append(_absent(name, known.get(name), layout))
    return CardView(
        question=card.question,
        title=plain(card.event),
        at=stamp(card.time, zone, now) if timed else Markup(),
        ago=ago(card.time, now),
        group="" if card.group is None else plain(card.group),
        copies=card.copies,
        address=address,
        texts=texts,
        values=values,
        left_out=max(0, left_out),
    )


def _is_word(name: Any, beginnings: tuple[str, ...]) -> bool:
    """Whether a feature is a word of a text that is shown whole."""
    return isinstance(name, str) and name.startswith(beginnings)


def _value(
    name: Any, value: Any, about: Known | None, field: Field, layout: CardLayout
) -> ValueView:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    unusual, recent = "", ""
    drawn = Markup()
    if is_number:
        drawn = spark(() if about is None else about.recent, float(value))
    if about is not None and is_number:
        spreads = about.spreads(value)
        if spreads > UNUSUAL:
            side = "above" if value > about.mean else "below"
            unusual = f"{min(spreads, 999):.1f} spreads {side} its mean"
        if len(about.recent) > 1:
            recent = f"recently {number(min(about.recent))} to {number(max(about.recent))}"
            recent += f"; {unusual}" if unusual else ""
    return ValueView(
        name=layout.title(name),
        title=plain(name),
        amount=written(value, field),
        unit=plain(field.unit),
        is_new=about is None or about.state == "new",
        zero=is_number and value == 0,
        unusual=unusual,
        recent=recent,
        spark=drawn,
    )


def indicated(name: Any, value: Any) -> tuple[Any, str]:
    """The column and the category that an indicator stands for; otherwise the name and nothing.

    Examples
    --------
    >>> indicated("town=Ulm", 1.0), indicated("size", 1.0), indicated("a=b", 2.0)
    (('town', 'Ulm'), ('size', ''), ('a=b', ''))
    """
    if not isinstance(name, str) or isinstance(value, str) or value != 1:
        return name, ""
    column, _, category = name.partition("=")
    return (column, category) if column and category else (name, "")


def _category(
    name: str, column: str, category: str, about: Known | None, layout: CardLayout
) -> ValueView:
    return ValueView(
        name=layout.title(column),
        title=plain(name),
        amount=plain(category),
        is_new=about is None or about.state == "new",
    )


def _absent(name: Any, about: Known | None, layout: CardLayout) -> ValueView:
    return ValueView(
        name=layout.title(name),
        title=plain(name),
        amount="",
        absent=True,
        recent="most events have it",
        spark=spark(() if about is None else about.recent),
    )


def written(value: Any, field: Field) -> str:
    """A value with the format of its field, if it has one that fits."""
    if field.format and isinstance(value, (int, float)):
        try:
            return format(value, field.format).replace("-", "−")
        except (ValueError, OverflowError):
            pass
    return number(value)
