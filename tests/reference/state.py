"""Everything a linear learner knows, read from a model file (docs/internals/model-file.md)."""

import json
import struct
import zlib
from dataclasses import dataclass, replace
from typing import Any, Literal

import msgpack  # type: ignore[import-untyped]

from reference.class_odds import ClassOdds
from reference.random import Generator, generators, uniform

Name = str | int
Label = str | int | bool
Component = tuple[str, dict[str, Any]]
"""The class name and the parameters of a component."""

Growth = Literal["open", "restart", "closed"]
"""What a new name does: it is learned, it sets all weights to 0 first, or it is never used."""

KEEPS_VARIANCES = ("AROW", "CW")


@dataclass(frozen=True)
class Config:
    """What a learner is made of. `positive_margin` is a number, "balanced" or `Balanced`."""

    update: Component
    query: Component
    sparsify: Component | None = None
    growth: Growth = "open"
    intercept: bool = False
    multiclass: bool = False
    classes: tuple[Label, ...] = ()
    legacy: bool = False
    class_weight: Component | None = None
    """What is added to κ w·x: ("Balanced", {}), ("Costs", {...}), ("Threshold", {...})."""


@dataclass
class State:
    """The learner itself. All lists run in slot order; there is one weight vector a class.

    A binary learner has one vector only. `variances` is empty for rules that keep none.
    """

    names: list[Name]
    first: list[int]
    last: list[int]
    times: list[int]
    weights: list[list[float]]
    variances: list[list[float]]
    label_form: str
    classes: list[Label]
    positives: int
    negatives: int
    seen: int
    asked: int
    learned: int
    mean_margin: float
    tilt: float
    mistakes: int
    largest_norm: float
    phase: float
    given_events: int
    given_rates: float
    coins: Generator
    draws: Generator
    class_odds: ClassOdds | None = None

    def copy(self) -> "State":
        return replace(
            self,
            names=list(self.names),
            first=list(self.first),
            last=list(self.last),
            times=list(self.times),
            weights=[list(vector) for vector in self.weights],
            variances=[list(vector) for vector in self.variances],
            classes=list(self.classes),
        )


def start(config: Config, seed: int) -> State:
    """A learner that has seen nothing."""
    coins, draws = generators(seed)
    phase = 0.0
    if config.query[0] == "Quota" and config.query[1]["total"] is None:
        phase, draws = uniform(draws)
    vectors = len(config.classes) if config.multiclass else 1
    own: list[Name] = ["(intercept)"] if config.intercept else []
    zeros, ones = [[0.0] * len(own) for _ in range(vectors)], [[1.0] * len(own)] * vectors
    return State(
        names=own,
        first=[0] * len(own),
        last=[0] * len(own),
        times=[0] * len(own),
        weights=zeros,
        variances=[list(one) for one in ones] if config.update[0] in KEEPS_VARIANCES else [],
        label_form="open" if config.multiclass else "unknown",
        classes=list(config.classes),
        positives=0,
        negatives=0,
        seen=0,
        asked=0,
        learned=0,
        mean_margin=0.0,
        tilt=0.0,
        mistakes=0,
        largest_norm=0.0,
        phase=phase,
        given_events=0,
        given_rates=0.0,
        coins=coins,
        draws=draws,
        class_odds=None if config.class_weight is None else ClassOdds(),
    )


def read_file(file: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """The header and the state of a model file, as they are written."""
    (checksum,) = struct.unpack("<I", file[-4:])
    if zlib.crc32(file[:-4]) != checksum:
        raise ValueError("the checksum does not fit")
    magic, version, header_length = struct.unpack_from("<8sII", file, 0)
    if magic != b"HEADWATR" or version != 3:
        raise ValueError(f"expected HEADWATR version 3, got {magic!r} version {version}")
    header = file[16 : 16 + header_length]
    (state_length,) = struct.unpack_from("<Q", file, 16 + header_length)
    state = file[24 + header_length : -4]
    if len(state) != state_length:
        raise ValueError(f"expected {state_length} bytes of state, got {len(state)}")
    return json.loads(header), msgpack.unpackb(state)


def query_memory(saved: dict[str, Any]) -> dict[str, Any]:
    """What the query rule remembers; what only other rules remember is 0."""
    names = ("mean_margin", "tilt", "mistakes", "largest_norm", "phase")
    nothing = dict.fromkeys((*names, "given_events", "given_rates"), 0)
    written = saved["query"]  # "none", or the rule and what it remembers
    return nothing if isinstance(written, str) else nothing | next(iter(written.values()))


def read_state(file: bytes) -> State:
    """The learner in a model file, its weights multiplied out."""
    _, saved = read_file(file)
    model = saved["model"]["linear"]
    query, table, odds = query_memory(saved), model["weights"], model.get("class_odds")
    return State(
        names=saved["names"],
        first=saved["first"],
        last=saved["last"],
        times=saved["times"],
        weights=[
            [scale * stored for stored in vector]
            for scale, vector in zip(table["scales"], table["values"], strict=True)
        ],
        variances=table["variances"],
        label_form=saved["label_form"],
        classes=saved["classes"],
        positives=saved["positives"],
        negatives=saved["negatives"],
        seen=saved["seen"],
        asked=saved["asked"],
        learned=saved["learned"],
        mean_margin=query["mean_margin"],
        tilt=query["tilt"],
        mistakes=query["mistakes"],
        largest_norm=query["largest_norm"],
        phase=query["phase"],
        given_events=query["given_events"],
        given_rates=query["given_rates"],
        coins=tuple(saved["coins"]),
        draws=tuple(saved["draws"]),
        class_odds=odds and ClassOdds(odds["slope"], odds["curve"], *odds["odds"]),
    )
