"""The streams of the bench, made up by a seeded generator.

*sensor*: 50 sensors, five of them from the start and five more after every tenth of the events; an
event has all that are there. *text*: 75 different words an event out of 47,236, drawn by Zipf's
law. *url*: 115 different features an event out of three million, drawn by Zipf's law; nine of ten
are indicators of value 1.

Columns ascend within an event, and their names sort as their numbers do, so that by every door the
new features of an event get their slots in the same order. Frequent columns lie anywhere among the
others, as in an alphabet.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headwater.types import Name

BLOCK = 50  # dicts made at a time: few, so that an event is still in the caches in its turn
SENSORS, STEPS = 50, 10
WORDS, WORDS_AN_EVENT = 47_236, 75
PARTS, PARTS_AN_EVENT = 3_000_000, 115
INDICATORS = 0.9  # share of the features of *url* that are 1 wherever they are
CLASSES = 26
EVENTS = {"sensor": 100_000, "text": 100_000, "url": 200_000}


class Csr(NamedTuple):
    """The three arrays of CSR, and nothing else: columns are named by their numbers."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    data: NDArray[np.float64]


@dataclass(frozen=True)
class Stream:
    """Labelled events, as CSR and as dicts with names."""

    title: str
    csr: Csr
    labels: NDArray[np.bool_]
    names: list[str]  # of the columns
    classes: NDArray[np.int64] | None = None  # labels of the same events for several classes

    @property
    def events(self) -> int:
        """How many there are."""
        return len(self.labels)

    @property
    def values(self) -> int:
        """How many are stored."""
        return len(self.csr.data)

    def part(self, begin: int, end: int) -> "Stream":
        """Some of the events; nothing is copied but their starts."""
        starts = self.csr.indptr[begin : end + 1]
        stored = slice(starts[0], starts[-1])
        return Stream(
            title=self.title,
            csr=Csr(starts - starts[0], self.csr.indices[stored], self.csr.data[stored]),
            labels=self.labels[begin:end],
            names=self.names,
            classes=None if self.classes is None else self.classes[begin:end],
        )

    def thinned(self, events: int) -> "Stream":
        """So many of the events, evenly spaced, so that they look like the whole stream."""
        rows = np.linspace(0, self.events - 1, events).astype(np.int64)
        starts, ends = self.csr.indptr[rows], self.csr.indptr[rows + 1]
        stored = np.concatenate([np.arange(i, j) for i, j in zip(starts, ends, strict=True)])
        indptr = np.concatenate([[0], np.cumsum(ends - starts)])
        return Stream(
            title=self.title,
            csr=Csr(indptr, self.csr.indices[stored], self.csr.data[stored]),
            labels=self.labels[rows],
            names=self.names,
            classes=None if self.classes is None else self.classes[rows],
        )


class Block(NamedTuple):
    """A few events as dicts, with their labels."""

    events: list[dict[Name, float]]
    labels: list[bool]
    classes: list[int]


def blocks(stream: Stream, new_texts: bool = False) -> Iterator[Block]:
    """Fresh dicts, some at a time; their names are the very objects of `stream.names`, or copies
    never met, as a decoder makes them that does not remember."""
    for begin in range(0, stream.events, BLOCK):
        part = stream.part(begin, min(begin + BLOCK, stream.events))
        names = [part.names[column] for column in part.csr.indices.tolist()]
        if new_texts:
            names = [name[:1] + name[1:] for name in names]
        values, edges = part.csr.data.tolist(), part.csr.indptr.tolist()
        yield Block(
            events=[dict(zip(names[i:j], values[i:j], strict=True)) for i, j in pairwise(edges)],
            labels=part.labels.tolist(),
            classes=[] if part.classes is None else part.classes.tolist(),
        )


def numbered(word: str, columns: int) -> list[str]:
    """Names of one length, so that they sort as their numbers do."""
    digits = len(str(columns - 1))
    return [f"{word}-{column:0{digits}d}" for column in range(columns)]


def sensor(events: int, seed: int = 0) -> Stream:
    """Sensors that are installed in ten steps; the label is a noisy linear rule."""
    generator = np.random.default_rng(seed)
    values = generator.normal(size=(events, SENSORS))
    installed = SENSORS // STEPS * (1 + np.arange(events) * STEPS // events)
    there = np.arange(SENSORS) < installed[:, None]
    rules = generator.normal(size=(SENSORS, 1 + CLASSES))
    scores = np.where(there, values, 0.0) @ rules / np.sqrt(installed)[:, None]
    scores += 0.5 * generator.normal(size=scores.shape)
    csr = Csr(
        indptr=np.concatenate([[0], np.cumsum(installed)]),
        indices=np.nonzero(there)[1].astype(np.int32),
        data=values[there],
    )
    classes = scores[:, 1:].argmax(axis=1)
    return Stream("sensor", csr, scores[:, 0] > 0, numbered("sensor", SENSORS), classes)


def text(events: int, seed: int = 0) -> Stream:
    """Words with weights, each event of length 1; the label is a noisy linear rule."""
    generator = np.random.default_rng(seed)
    indices = different(generator, events, WORDS, WORDS_AN_EVENT)
    values = generator.exponential(size=indices.shape)
    values /= np.linalg.norm(values, axis=1, keepdims=True)
    scores = _scores(generator, indices, values, WORDS, 1 + CLASSES)
    scores += 0.3 * generator.normal(size=scores.shape)
    classes = scores[:, 1:].argmax(axis=1)
    names = numbered("word", WORDS)
    return Stream("text", _csr(indices, values), scores[:, 0] > 0, names, classes)


def url(events: int, seed: int = 0) -> Stream:
    """Parts of addresses; the label is a noisy linear rule."""
    generator = np.random.default_rng(seed)
    indices = different(generator, events, PARTS, PARTS_AN_EVENT)
    measured = generator.random(PARTS) >= INDICATORS
    values = np.ones(indices.shape)
    there = measured[indices]
    values[there] = generator.random(int(there.sum()))
    scores = _scores(generator, indices, values, PARTS, 1)[:, 0] / math.sqrt(PARTS_AN_EVENT)
    labels = scores + 0.3 * generator.normal(size=events) > 0
    return Stream("url", _csr(indices, values), labels, numbered("part", PARTS))


MAKERS = {"sensor": sensor, "text": text, "url": url}


def different(
    generator: np.random.Generator, events: int, columns: int, an_event: int
) -> NDArray[np.int32]:
    """A row an event: `an_event` different columns by Zipf's law, one after the other, sorted."""
    shuffled = generator.permutation(columns).astype(np.int32)
    rows = np.empty((events, an_event), np.int32)
    for begin in range(0, events, 5_000):
        end = min(begin + 5_000, events)
        rows[begin:end] = np.sort(shuffled[_ranks(generator, end - begin, columns, an_event)])
    return rows


def _ranks(
    generator: np.random.Generator, events: int, columns: int, an_event: int
) -> NDArray[np.int32]:
    """The first different ranks of each row. ⌊(n+1)^u⌋ is k with probability ln(1+1/k)/ln(n+1)."""
    draws = 3 * an_event
    while True:
        drawn = np.power(columns + 1.0, generator.random((events, draws))).astype(np.int32) - 1
        keys = np.sort((drawn.astype(np.int64) << 12) | np.arange(draws))  # by rank, then by time
        new = np.ones(keys.shape, bool)
        new[:, 1:] = (keys[:, 1:] >> 12) != (keys[:, :-1] >> 12)
        if new.sum(axis=1).min() >= an_event:
            times = np.where(new, keys & 4095, draws)
            kept = np.sort(np.partition(times, an_event - 1)[:, :an_event])
            return np.take_along_axis(drawn, kept, axis=1)
        draws *= 2


def _csr(indices: NDArray[np.int32], values: NDArray[np.float64]) -> Csr:
    starts = np.arange(0, values.size + 1, values.shape[1])
    return Csr(starts, indices.ravel(), values.ravel())


def _scores(
    generator: np.random.Generator,
    indices: NDArray[np.int32],
    values: NDArray[np.float64],
    columns: int,
    rules: int,
) -> NDArray[np.float64]:
    """What some random linear rules say of every event."""
    weights = generator.normal(size=(columns, rules))
    scores = np.empty((len(indices), rules))
    for begin in range(0, len(indices), 1_000):
        part = slice(begin, begin + 1_000)
        scores[part] = np.einsum("ij,ijk->ik", values[part], weights[indices[part]])
    return scores
