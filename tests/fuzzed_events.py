"""What must hold whatever objects come as events and labels: `run` makes them of bytes.

`make fuzz` lets libFuzzer look for bytes that break a promise; `test_fuzz.py` replays those found.
"""

import copy
import math
import pickle
from collections import OrderedDict
from collections.abc import Callable, ItemsView, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import numpy as np

import headwater as hw
from headwater.errors import EventError, HeadwaterError

MODELS: list[Callable[[], hw.Learner]] = [
    lambda: hw.FLLS(l1_radius=3.0, query_width=1.0),
    lambda: hw.Linear(query=hw.query.Budget(0.5)),
    lambda: hw.Spring(label_rate=0.5),
    lambda: hw.MPAA(),
    lambda: hw.Spring(label_rate=0.5, multiclass=True),
    lambda: hw.PARegressor(),
    lambda: hw.OLVF(),
    lambda: hw.FESL(),
    lambda: hw.OLSF(classes=("no", 1)),
    lambda: hw.Linear(update="pa1", query="all", scale=None, growth="closed"),
]
"""Of each kind one; the number is part of an input's meaning, so new ones go to the end."""

OWN_NAMES = {1: ["(intercept)"], 2: ["(factor)", "(energy)", "(intercept)"]}
OWN_NAMES[4] = OWN_NAMES[2]
OWN_NAMES[5] = OWN_NAMES[9] = OWN_NAMES[1]


class OwnText(str):
    """A text of another class."""


class OwnNumber(int):
    """An int of another class."""


class Index:
    """Has an index, and a `repr` of several lines."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __index__(self) -> int:
        return self.number

    def __repr__(self) -> str:
        return "Index(\n)"


class Raising:
    """Can be asked for nothing."""

    def __float__(self) -> float:
        raise RuntimeError("no number")

    def __repr__(self) -> str:
        raise RuntimeError("no repr")


class Clearing:
    """Clears the event that it is in while it is read."""

    def __init__(self) -> None:
        self.event: dict[Any, Any] = {}  # until it is in one

    def __float__(self) -> float:
        self.event.clear()
        self.event["late"] = 1.0
        return 4.0


class Pairs(Mapping[Any, Any]):
    """A mapping that may give a name twice."""

    def __init__(self, pairs: list[tuple[Any, Any]]) -> None:
        self.pairs = pairs

    def __getitem__(self, name: Any) -> Any:
        return dict(self.pairs)[name]

    def __iter__(self) -> Iterator[Any]:
        return (name for name, _ in self.pairs)

    def __len__(self) -> int:
        return len(self.pairs)

    def items(self) -> ItemsView[Any, Any]:
        return list(self.pairs)  # type: ignore[return-value]


NAMES: list[Any] = [
    *("a", "b", "c", "d", "a=b", "", "ä😀\n", "(intercept)", "(factor)", "\ud800", "x" * 80),
    *(0, 1, 2, -1, -(2**63), 2**63 - 1, 2**63, 10**30, True, None, 1.0, 1.5, b"a", ("a",)),
    *(OwnText("a"), OwnText("e"), OwnNumber(3), np.str_("f"), np.int64(4), np.uint8(5), np.True_),
    *(Index(6), Index(2**70), frozenset(), Raising(), np.float64(1.0), math.nan),
]
VALUES: list[Any] = [
    *(0.0, -0.0, 1.0, -1.0, 0.5, 3.0, 1e6, 1e-300, 5e-324, 1e154, -1e300, 1.7976931348623157e308),
    *(math.nan, math.inf, -math.inf, None, 0, 1, -7, 2**53 + 1, 10**400, True, False, 1j, b"1"),
    *("", "b", "ä", "\ud800", "x" * 80, "a\nb", OwnText("b"), OwnNumber(2), np.str_("g"), np.True_),
    *(np.float32(0.1), np.float64("nan"), np.int8(-3), np.datetime64("NaT"), np.zeros((2, 2))),
    *(Decimal("0.25"), Decimal("NaN"), Decimal("sNaN"), Decimal("1e999"), Fraction(1, 3)),
    *(
        Index(3),
        Index(10**400),
        Raising(),
        [],
        {},
        (),
        {"a": 1.0},
        object,
        ...,
        range(2),
        Clearing(),
    ),
]
LABELS: list[Any] = [
    *(False, True, False, True, 0, 1, -1, 2, "no", "yes", "", OwnText("no"), OwnNumber(1)),
    *(0.0, 1.0, -1.0, 0.5, -1e300, 2.0**53, 2.0**60, math.inf, math.nan, None, 10**30, 2**63 - 1),
    *(np.True_, np.int64(1), np.float64(1.0), np.float32(0.5), np.str_("no"), np.datetime64("NaT")),
    *(b"no", [], {}, object, "\ud800", Index(1), Index(2**70), Decimal(1), Raising(), np.zeros(2)),
]


class Bytes:
    """Bytes taken for decisions; when they have run out, zeros."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def more(self) -> bool:
        return self.at < len(self.data)

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1] if self.at <= len(self.data) else 0

    def of(self, things: list[Any]) -> Any:
        return things[self.byte() % len(things)]

    def event(self) -> tuple[Any, list[tuple[Any, Any]]]:
        """An event and its items."""
        kind = self.byte()
        pairs = []
        for _ in range(kind % 8):
            name = self.of(NAMES) if kind < 200 else f"w{self.byte()}"
            value = self.of(VALUES) if kind & 16 else self.byte() / 16 - 8
            pairs.append((name, value))
        match kind // 8 % 8:
            case 0:
                return Pairs(pairs), pairs
            case 1:
                given: Any = OrderedDict(pairs)
            case 2:
                given = MappingProxyType(dict(pairs))
            case 3 if kind > 250:
                return pairs, []  # no mapping
            case _:
                given = dict(pairs)
                for value in given.values():
                    if isinstance(value, Clearing):
                        value.event = given
        return given, list(given.items())


def meant(pairs: list[tuple[Any, Any]]) -> dict[Any, float] | None:
    """The features that an event's items mean, absent ones left out; None if it is refused."""
    features: dict[Any, float] = {}
    for given, value in pairs:
        name = plain_name(given)
        if name is None:
            return None
        if isinstance(value, str):
            if not is_text(value):
                return None
            name, number = f"{name}={value}", 1.0
        elif value is None:
            continue
        else:
            try:
                number = math.inf if isinstance(value, bytes) else float(value)
            except (TypeError, ValueError, OverflowError, RuntimeError):
                return None
        if math.isnan(number):
            continue
        if math.isinf(number) or name in features:
            return None
        features[name] = number
    return features


def plain_name(name: Any) -> str | int | None:
    """A feature's name as a plain text or number; None if it is none."""
    if isinstance(name, str):
        return str(name) if is_text(name) else None
    if isinstance(name, bool | np.bool_) or not hasattr(name, "__index__"):
        return None
    number = name.__index__()
    return number if -(2**63) <= number < 2**63 else None


def is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def assert_sentence(error: HeadwaterError) -> None:
    text = str(error)
    where, _, what = text.partition(": ")
    assert where, text
    assert what, text
    assert text[-1] in ".?", text
    assert text.isprintable(), repr(text)


def run(data: bytes) -> None:
    """A learner's life, and beside it that of another which is given the same in plain form."""
    bytes_ = Bytes(data)
    kind = bytes_.byte() % len(MODELS)
    model, plain = MODELS[kind](), MODELS[kind]()
    own = OWN_NAMES.get(kind, [])
    waiting: list[tuple[hw.Decision, hw.Decision]] = []
    while bytes_.more():
        before, verb = model.to_bytes(), bytes_.byte() % 8
        pure = verb in (5, 6)
        try:
            match verb:
                case 0 | 1:
                    event, features = read(bytes_, own)
                    decision = allowed(features, model.decide_one, event)
                    same = plain.decide_one(features or {})
                    assert decision.features == features, (decision.features, features)
                    assert repr(decision) == repr(same)
                    waiting.append((decision, same))
                case 2 if waiting:
                    answer(model, plain, *waiting.pop(0), bytes_)
                case 3 | 4:
                    event, features = read(bytes_, own)
                    label = bytes_.of(LABELS)
                    allowed(features, model.learn_one, event, label)
                    plain.learn_one(features or {}, label)
                case 5 | 6:
                    event, features = read(bytes_, own)
                    look(model, event, features, bytes_.byte())
                case 7:
                    model = copy.copy(model) if bytes_.byte() % 2 else pickled(model)
        except HeadwaterError as error:
            assert_sentence(error)
            pure = True
        after = model.to_bytes()
        assert after == before or not pure, "changed by what changes nothing"
        assert after == plain.to_bytes(), "in plain form the same is learned otherwise"


def read(bytes_: Bytes, own: list[str]) -> tuple[Any, dict[Any, float] | None]:
    """An event, and what it means."""
    event, pairs = bytes_.event()
    features = meant(list(pairs)) if isinstance(event, Mapping) else None
    for _, value in pairs:
        if isinstance(value, Clearing) and isinstance(event, dict):
            event.clear()
            event.update(pairs)
    refused = features is None or any(name in features for name in own)
    return event, None if refused else features


def allowed(features: dict[Any, float] | None, verb: Callable[..., Any], *given: Any) -> Any:
    """What a verb gives; an event that means nothing must be refused, and no other."""
    try:
        result = verb(*given)
    except EventError:
        assert features is None, (given, features)
        raise
    assert features is not None, f"{given} should be refused"
    return result


def answer(
    model: hw.Learner, plain: hw.Learner, decision: hw.Decision, same: hw.Decision, bytes_: Bytes
) -> None:
    label, way = bytes_.of(LABELS), bytes_.byte()
    if way & 1:
        decision = pickled(decision)
    model.answer(decision, label)
    plain.answer(same, label)
    assert decision.answered
    try:
        model.answer(decision, label)
    except HeadwaterError as error:
        assert_sentence(error)
    else:
        raise AssertionError("answered twice")


def look(model: hw.Learner, event: Any, features: dict[Any, float] | None, way: int) -> None:
    """What changes nothing."""
    if isinstance(event, dict) and any(isinstance(value, Clearing) for value in event.values()):
        return  # read once only
    margin = allowed(features, model.margin_one, event)
    assert margin == model.margin_one(features or {})
    assert model.predict_one(event) == model.predict_one(features or {})
    if way & 1:
        shares = model.predict_proba_one(event)
        assert not shares or math.isclose(sum(shares.values()), 1.0)
    if way & 2:
        assert model.explain_one(event).margin == margin
    if way & 4:
        assert len(model.features()) >= len(model.weights()) or model.labels


def pickled(thing: Any) -> Any:
    return pickle.loads(pickle.dumps(thing))
