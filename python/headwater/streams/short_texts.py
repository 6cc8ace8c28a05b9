"""Short texts of two kinds: a few words each, of a large vocabulary.

Word k of V has the probability p_k ∝ 1/(k + 2.7) (Zipf and Mandelbrot). Some words tell: in one of
the two classes p_k is multiplied by e^s, in the other by e^−s, s ~ N(0, 0.5²).
"""

from collections.abc import Iterator
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from headwater.parameters import COUNT, INSIDE, SEED, SHARE, checked, number
from headwater.streams.base import Stream
from headwater.types import Rows

SLICE = 1_000  # texts made at a time
OFFSET = 2.7
STRENGTH = 0.5
LENGTH = number("1 or above", lambda v: 1 <= v < 1e6)


class ShortTexts(Stream):
    """Texts of a few words as events: the counts of the words that occur.

    Most words are rare: a learner meets new ones to the end, and hardly sees most of them twice.

    Parameters
    ----------
    events
        Length of the stream.
    vocabulary
        How many words there are.
    length
        Mean number of words in a text; it is one plus a Poisson number.
    telling
        Share of the words that are more frequent in one of the classes.
    positive_share
        Probability that a text is positive.
    seed
        The same seed gives the same vocabulary and texts.

    Examples
    --------
    >>> import headwater as hw
    >>> next(iter(hw.streams.ShortTexts(10, length=4)))
    ({'word 1': 1.0, 'word 9': 1.0, 'word 387': 1.0, 'word 4646': 1.0}, False)
    """

    @checked
    def __init__(
        self,
        events: Annotated[int, COUNT] = 10_000,
        *,
        vocabulary: Annotated[int, COUNT] = 5_000,
        length: Annotated[float, LENGTH] = 10.0,
        telling: Annotated[float, SHARE] = 0.3,
        positive_share: Annotated[float, INSIDE] = 0.5,
        seed: Annotated[int, SEED] = 0,
    ) -> None:
        self._events, self._length, self._seed = events, length, seed
        self._positive_share = positive_share
        self.names = tuple(f"word {word}" for word in range(vocabulary))
        world = self._generator(0)
        tells = world.random(vocabulary) < telling
        tilt = np.where(tells, STRENGTH * world.normal(size=vocabulary), 0.0)
        usual = 1 / (np.arange(vocabulary) + OFFSET)
        classes = usual * np.exp(np.stack([-tilt, tilt]))
        self._cumulated = np.cumsum(classes, axis=1) / classes.sum(axis=1, keepdims=True)

    def __len__(self) -> int:
        return self._events

    def slices(self) -> Iterator[tuple[Rows, NDArray[np.bool_]]]:
        """The stream by a thousand texts; no more than that is in memory at once."""
        for begin in range(0, self._events, SLICE):
            size = min(SLICE, self._events - begin)
            generator = self._generator(1, begin)
            labels = generator.random(SLICE)[:size] < self._positive_share
            lengths = 1 + generator.poisson(self._length - 1, SLICE)[:size]
            text = np.repeat(np.arange(size), lengths)
            places = generator.random(len(text))
            words = np.where(
                labels[text],
                np.searchsorted(self._cumulated[1], places, side="right"),
                np.searchsorted(self._cumulated[0], places, side="right"),
            ).clip(max=len(self.names) - 1)  # rounding may leave the last sum below 1
            cells, counts = np.unique(text * len(self.names) + words, return_counts=True)
            ends = np.cumsum(np.bincount(cells // len(self.names), minlength=size))
            yield (
                Rows(
                    np.concatenate([[0], ends]).astype(np.int64),
                    (cells % len(self.names)).astype(np.int32),
                    counts.astype(np.float64),
                    self.names,
                ),
                labels,
            )

    def _generator(self, *purpose: int) -> np.random.Generator:
        return np.random.default_rng(np.random.SeedSequence(self._seed, spawn_key=purpose))
