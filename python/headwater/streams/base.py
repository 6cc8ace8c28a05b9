"""The base class of streams: labelled events in slices, read one by one or all at once."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headwater.types import Label, Name, Rows


class Stream(ABC):
    """Labelled events in order. Every iteration gives the same events, bit for bit."""

    names: Sequence[Name]
    """Every feature that any of its events may carry."""
    first_scored: int = 0
    """The first event of the part that matters: after the change, if something changes. Studies
    score the events from there on."""

    @abstractmethod
    def __len__(self) -> int:
        """How many events there are."""

    @abstractmethod
    def slices(self) -> Iterator[tuple[Rows, NDArray[Any]]]:
        """The stream in consecutive pieces, each with its events and labels."""

    def __iter__(self) -> Iterator[tuple[dict[Name, float], Label]]:
        """One event and its label at a time."""
        for rows, labels in self.slices():
            yield from zip(events_of(rows), labels.tolist(), strict=True)

    def batch(self) -> tuple[Rows, NDArray[Any]]:
        """All events and their labels at once."""
        pieces, labels = zip(*self.slices(), strict=True)
        return joined(pieces), np.concatenate(labels)


def rows_of(values: NDArray[np.float64], names: Sequence[Name]) -> Rows:
    """The rows of a dense array; NaN is absent, 0 is a value."""
    present = ~np.isnan(values)
    ends = np.cumsum(present.sum(axis=1), dtype=np.int64)
    return Rows(
        indptr=np.concatenate([np.zeros(1, np.int64), ends]),
        indices=np.nonzero(present)[1].astype(np.int32),
        data=values[present],
        names=names,
    )


def events_of(rows: Rows) -> Iterator[dict[Name, float]]:
    """The rows as dicts, features in the order in which they are stored."""
    names = list(rows.names)
    for start, stop in pairwise(rows.indptr.tolist()):
        columns = rows.indices[start:stop].tolist()
        values = rows.data[start:stop].tolist()
        yield {names[column]: value for column, value in zip(columns, values, strict=True)}


def joined(pieces: Sequence[Rows]) -> Rows:
    """Pieces with the same columns, one below the other."""
    lengths = np.concatenate([np.diff(piece.indptr) for piece in pieces])
    return Rows(
        indptr=np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)]),
        indices=np.concatenate([piece.indices for piece in pieces]),
        data=np.concatenate([piece.data for piece in pieces]),
        names=pieces[0].names,
    )


def filled(rows: Rows, width: int) -> NDArray[np.float64]:
    """The rows as a dense array of so many columns; what is absent is 0."""
    values = np.zeros((len(rows), width))
    values[np.repeat(np.arange(len(rows)), np.diff(rows.indptr)), rows.indices] = rows.data
    return values
