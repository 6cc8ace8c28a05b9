"""What letting go costs, alone: ours against a selection over all weights, on the same model.

Both learn all columns of the stream first, then some of its events, so that as many features are
known and as many weights kept as there ever will be; then the next events are timed, with
truncation and without (`kept_share=1`). The difference of the two, an event, is what truncation
costs: ours by `simulate`, the selection in C.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from floors import Compiled, Learner, Work
from turns import FailedError, Pass, apart
from workloads import Csr, Stream

import headwater as hw

Side = Literal["ours", "selection"]
AN_EVENT = 100  # columns learned at a time
SETTLE, TIMED = 2_000, 8_000  # events
SELECTED = {"text": 400, "url": 12}  # events that the selection gets
RADIUS = 1e9  # never reached: scaling back would let the first weights fade to 0


@dataclass(frozen=True)
class Truncation:
    """What it costs an event, in microseconds."""

    stream: str
    features: int
    kept_share: float
    ours: float  # the whole event
    ours_alone: float  # the truncation
    selection: float
    selection_alone: float
    missing: str = ""

    @property
    def ratio(self) -> float | None:
        """How many times cheaper ours is; None if it was too cheap to be measured."""
        if self.missing or self.ours_alone <= 0:
            return None
        return self.selection_alone / self.ours_alone


def every_column(columns: int) -> Csr:
    """Events that hold every column once, with small values of different sizes."""
    starts = np.append(np.arange(0, columns, AN_EVENT), columns)
    values = np.random.default_rng(0).uniform(0.005, 0.015, columns)
    return Csr(starts, np.arange(columns, dtype=np.int32), values)


def once(stream: Stream, side: Side, share: float, events: int, compiled: Compiled) -> Pass:
    """Processor seconds for `events` after all columns and some events were learned."""
    first = every_column(len(stream.names))
    signs = np.arange(len(first.indptr) - 1) % 2 == 0
    settle = stream.part(0, min(SETTLE, stream.events // 2))
    rest = stream.part(settle.events, min(settle.events + events, stream.events))
    if side == "ours":
        learner = hw.FLLS(query_width=math.inf, kept_share=share, l1_radius=RADIUS)
        learner.simulate(first, signs)
        learner.simulate(settle.csr, settle.labels)
        start = time.process_time()
        learner.simulate(rest.csr, rest.labels)
        return Pass((time.process_time() - start) / rest.events)
    work = Work(RADIUS, share)
    with Learner(compiled.csr, len(stream.names), work) as model:
        model.run(first, signs)
        model.run(settle.csr, settle.labels)
        if share < 1:
            model.select_from_now_on()
        start = time.process_time()
        model.run(rest.csr, rest.labels)
        return Pass((time.process_time() - start) / rest.events)


def measure(
    stream: Stream,
    compiled: Compiled | str,
    passes: int,
    share: float = 1.0,
    tell: Callable[[str], object] = lambda text: None,
) -> list[Truncation]:
    """For half of the weights kept and for one in a hundred."""
    nothing, features = math.nan, len(stream.names)
    if isinstance(compiled, str):
        return [
            Truncation(stream.title, features, kept, *(4 * (nothing,)), missing=compiled)
            for kept in (0.5, 0.01)
        ]
    few = max(3, int(share * SELECTED[stream.title]))
    cases: list[tuple[Side, float, int]] = [
        *(("ours", kept, TIMED) for kept in (1.0, 0.5, 0.01)),
        *(("selection", kept, few) for kept in (0.5, 0.01)),
        ("selection", 1.0, TIMED),
    ]
    best: dict[tuple[Side, float], float] = {}
    failed = ""
    for number in range(passes):
        for side, kept, events in cases:
            tell(f"{stream.title}, truncation, pass {number + 1}: {side}, {kept:g} kept")
            try:
                done = apart(
                    lambda side=side, kept=kept, events=events: once(  # type: ignore[misc]
                        stream, side, kept, events, compiled
                    )
                )
            except FailedError as error:
                failed = failed or str(error)
                continue
            best[side, kept] = min(done.seconds, best.get((side, kept), math.inf))
    micro = {key: 1e6 * seconds for key, seconds in best.items()}
    return [
        Truncation(
            stream=stream.title,
            features=features,
            kept_share=kept,
            ours=micro.get(("ours", kept), nothing),
            ours_alone=micro.get(("ours", kept), nothing) - micro.get(("ours", 1.0), nothing),
            selection=micro.get(("selection", kept), nothing),
            selection_alone=micro.get(("selection", kept), nothing)
            - micro.get(("selection", 1.0), nothing),
            missing=failed,
        )
        for kept in (0.5, 0.01)
    ]
