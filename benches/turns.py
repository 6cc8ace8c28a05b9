"""Who takes part, and how they are measured.

Every pass runs in a process of its own, forked from one that holds the stream, with a fresh model.
Its time is processor time of all its threads, on the one core that the bench is pinned to; its
memory is by how much the process outgrew what it was when it began (VmHWM over VmRSS, Linux). The
contestants take turns, and the best pass of each counts.
"""

import gc
import math
import multiprocessing
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

from machine import MEGABYTE, trim
from workloads import Stream


class Pass(NamedTuple):
    """One pass over a stream."""

    seconds: float
    learned: float = 1.0  # share of the events
    memory: float | None = None  # megabytes, filled in by `apart`


class FailedError(Exception):
    """A contestant could not finish its pass."""


@dataclass(frozen=True)
class Contestant:
    """Someone who takes part; `why_not` says why it cannot."""

    who: str
    name: str
    door: str
    run: Callable[[Stream], Pass] | None
    floor: str = "PA-I"  # the name of what does the same work in C by the same door
    most: Mapping[str, int] = field(default_factory=dict)  # events by stream, where not all
    only: tuple[str, ...] = ()  # streams, where not all
    why_not: str = ""


@dataclass(frozen=True)
class Result:
    """What a contestant needed on a stream; `missing` says why there are no numbers."""

    stream: str
    who: str
    name: str
    door: str
    events: int = 0
    events_per_second: float | None = None
    ns_per_value: float | None = None
    memory: float | None = None
    times_floor: float | None = None
    times_river: float | None = None
    learned: float | None = None
    missing: str = ""


FLOOR, RIVER = "C, same work", ("River", "PAClassifier", "dict")
NEW_TEXTS = "dict, new texts"  # the door of dicts whose names are objects never met


def apart(run: Callable[[], Pass]) -> Pass:
    """One pass in a process of its own."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    gc.collect()
    trim()  # or a child would find room that it did not have to ask for
    gc.freeze()  # or the collector of each child would copy what it only looks at
    process = context.Process(target=_report, args=(run, sender))
    with warnings.catch_warnings():  # the parent has no threads of its own that hold anything
        warnings.simplefilter("ignore", DeprecationWarning)
        process.start()
    sender.close()
    try:
        result: Pass | str = receiver.recv()
    except EOFError:
        result = "its process ended"
    process.join()
    receiver.close()
    if isinstance(result, str):
        raise FailedError(result)
    return result


def _report(run: Callable[[], Pass], sender: Connection) -> None:
    before = _status("VmRSS")
    try:
        done = run()
    except Exception as error:
        sender.send(f"{type(error).__name__}: {error}".splitlines()[0])
        return
    peak = _status("VmHWM")
    memory = None if before is None or peak is None else max(0.0, peak - before)
    sender.send(done._replace(memory=memory))


def _status(field: str) -> float | None:
    """Megabytes, as /proc tells them of this process."""
    path = Path("/proc/self/status")
    lines = path.read_text().splitlines() if path.exists() else []
    found = [line for line in lines if line.startswith(f"{field}:")]
    return int(found[0].split()[1]) * 1024 / MEGABYTE if found else None


def measure(
    stream: Stream,
    contestants: list[Contestant],
    passes: int,
    share: float = 1.0,
    tell: Callable[[str], object] = lambda text: None,
) -> list[Result]:
    """The best pass of every contestant. `share` shortens the streams of those who get but some."""
    taking_part = [c for c in contestants if not c.only or stream.title in c.only]
    parts = {id(c): _part(c, stream, share) for c in taking_part}
    best: dict[int, Pass] = {}
    failed = {id(c): c.why_not for c in taking_part if c.run is None}
    for number in range(passes):
        for contestant in taking_part:
            key, run = id(contestant), contestant.run
            if run is None or key in failed:
                continue
            tell(f"{stream.title}, pass {number + 1}: {contestant.who} {contestant.name}")
            try:
                done = apart(lambda run=run, key=key: run(parts[key]))  # type: ignore[misc]
            except FailedError as error:
                failed[key] = str(error)
                continue
            old = best.get(key, Pass(math.inf))
            memory = max(done.memory or 0.0, old.memory or 0.0) or None
            best[key] = min(done, old, key=lambda one: one.seconds)._replace(memory=memory)
    costs = {
        (c.who, c.name, c.door): 1e9 * best[id(c)].seconds / parts[id(c)].values
        for c in taking_part
        if id(c) in best and id(c) not in failed
    }
    return [_result(c, parts[id(c)], best, failed, costs) for c in taking_part]


def _part(contestant: Contestant, stream: Stream, share: float) -> Stream:
    most = contestant.most.get(stream.title)
    if most is None or (events := max(10, int(share * most))) >= stream.events:
        return stream
    return stream.thinned(events)


def _result(
    contestant: Contestant,
    part: Stream,
    best: dict[int, Pass],
    failed: dict[int, str],
    costs: dict[tuple[str, str, str], float],
) -> Result:
    who, name, door = contestant.who, contestant.name, contestant.door
    if id(contestant) in failed:
        return Result(part.title, who, name, door, missing=failed[id(contestant)])
    done, cost = best[id(contestant)], costs[who, name, door]
    floor, river = costs.get((FLOOR, contestant.floor, door)), costs.get(RIVER)
    return Result(
        stream=part.title,
        who=who,
        name=name,
        door=door,
        events=part.events,
        events_per_second=part.events / done.seconds,
        ns_per_value=cost,
        memory=done.memory,
        times_floor=cost / floor if floor else None,
        times_river=river / cost if river else None,
        learned=done.learned,
    )
