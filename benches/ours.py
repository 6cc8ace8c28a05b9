"""Headwater in the bench, by dict and by CSR."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from floors import DICT_STREAMS
from turns import NEW_TEXTS, Contestant, Pass
from workloads import CLASSES, Stream, blocks

import headwater as hw
from headwater.types import Name

WHO = "Headwater"
Make = Callable[[], hw.Learner]


@dataclass(frozen=True)
class Entry:
    """A learner that takes part."""

    name: str
    make: Make
    several: bool = False  # whether it gets labels of 26 classes


SPARSE = "FLLS-I, half kept"
SEVERAL = f"PA-I, {CLASSES} classes"
FLLS = (
    Entry("PA-I", lambda: hw.named("PA-I")),
    Entry("FLLS-I, all kept", lambda: hw.FLLS(query_width=math.inf, kept_share=1.0)),
    Entry(SPARSE, lambda: hw.FLLS(query_width=math.inf, kept_share=0.5)),
    Entry("FLLS-I, 1 % kept", lambda: hw.FLLS(query_width=math.inf, kept_share=0.01)),
)
OTHERS = (
    Entry(SEVERAL, lambda: hw.named("MPA-I"), several=True),
    Entry("OLVF", hw.OLVF),
    Entry(
        "AROW",
        lambda: hw.Linear(
            update=hw.update.AROW(forgetting=None), query="all", scale=None, class_weight=None
        ),
    ),
    Entry("Linear()", hw.Linear),
    Entry("FLLS-II", lambda: hw.named("FLLS-II")),
    Entry("Spring()", hw.Spring),
)  # printed beside PA-I
CHUNKED = {1_000: "CSR, chunks of 1,000", 100: "CSR, chunks of 100"}  # doors
SLOWER = {"url": 20_000}  # events of *url* for these


def by_csr(make: Make, several: bool = False) -> Callable[[Stream], Pass]:
    """`simulate`."""

    def run(stream: Stream) -> Pass:
        learner = make()
        labels = stream.classes if several else stream.labels
        start = time.process_time()
        learner.simulate(stream.csr, labels)
        return Pass(time.process_time() - start, learner.learned / stream.events)

    return run


def by_chunks(make: Make, chunk: int) -> Callable[[Stream], Pass]:
    """`simulate` on so many rows at a time."""

    def run(stream: Stream) -> Pass:
        learner, seconds = make(), 0.0
        for begin in range(0, stream.events, chunk):
            part = stream.part(begin, min(begin + chunk, stream.events))
            start = time.process_time()
            learner.simulate(part.csr, part.labels)
            seconds += time.process_time() - start
        return Pass(seconds, learner.learned / stream.events)

    return run


Event = dict[Name, Any]
KINDS: dict[str, Callable[[Event, list[str]], Event]] = {
    "dict, None if absent": lambda event, names: {name: event.get(name) for name in names},
    "dict, a text and a bool": lambda event, names: event | {"site": "roof", "manned": True},
    "dict, NumPy's floats": lambda event, names: dict(
        zip(event, np.array(list(event.values())), strict=True)
    ),
    "dict, numbers as names": lambda event, names: dict(enumerate(event.values())),
}
"""Dicts as they come, made of the events of *sensor*."""


def by_kind(make: Make, kind: str) -> Callable[[Stream], Pass]:
    """`decide_one`, and `answer` if asked, on dicts of a kind."""

    def run(stream: Stream) -> Pass:
        learner, seconds = make(), 0.0
        for plain, labels, _ in blocks(stream):
            events = [KINDS[kind](event, stream.names) for event in plain]
            start = time.process_time()
            for event, label in zip(events, labels, strict=True):
                decision = learner.decide_one(event)
                if decision.asked:
                    learner.answer(decision, label)
            seconds += time.process_time() - start
        return Pass(seconds, learner.learned / stream.events)

    return run


def by_dict(make: Make, several: bool = False, new_texts: bool = False) -> Callable[[Stream], Pass]:
    """`decide_one`, and `answer` if asked."""

    def run(stream: Stream) -> Pass:
        learner, seconds = make(), 0.0
        for events, labels, classes in blocks(stream, new_texts):
            start = time.process_time()
            for event, label in zip(events, classes if several else labels, strict=True):
                decision = learner.decide_one(event)
                if decision.asked:
                    learner.answer(decision, label)
            seconds += time.process_time() - start
        return Pass(seconds, learner.learned / stream.events)

    return run


def contestants() -> list[Contestant]:
    """Headwater by each door; on dicts of *url* two learners are enough."""
    found = [
        Contestant(WHO, one.name, "dict", by_dict(one.make), one.name, only=DICT_STREAMS[one.name])
        for one in FLLS
    ]
    found += [
        Contestant(WHO, one.name, "dict", by_dict(one.make, one.several), only=("sensor", "text"))
        for one in OTHERS
    ]
    sparse = next(one for one in FLLS if one.name == SPARSE)
    fresh = by_dict(sparse.make, new_texts=True)
    found.append(Contestant(WHO, SPARSE, NEW_TEXTS, fresh, SPARSE, only=("sensor", "text")))
    for kind in KINDS:
        found.append(Contestant(WHO, SPARSE, kind, by_kind(sparse.make, kind), only=("sensor",)))
    found += [Contestant(WHO, one.name, "CSR", by_csr(one.make), one.name) for one in FLLS]
    for chunk, door in CHUNKED.items():
        found.append(Contestant(WHO, "PA-I", door, by_chunks(FLLS[0].make, chunk)))
    for one in OTHERS:
        streams = ("sensor", "text") if one.several else ()
        run = by_csr(one.make, one.several)
        found.append(Contestant(WHO, one.name, "CSR", run, most=SLOWER, only=streams))
    return found
