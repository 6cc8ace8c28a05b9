"""The stream of sudden replacements: some columns stop, and others replace them.

T rounds are divided at places s_1 < s_2 < ..., after T_k = ⌊s_k·T⌋ rounds. The columns that do not
last are divided evenly, in their order, into spaces, one more than there are places. The k-th space
is present up to round T_k and the next one from B rounds before that, so that B rounds have both.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, Any, Unpack

import numpy as np
from numpy.typing import NDArray

from headwater.errors import ParameterError
from headwater.parameters import RATE, Limit, checked, read_number, tuple_of, whole
from headwater.streams.masked_table import MaskedTable
from headwater.streams.table_stream import TableOptions
from headwater.types import Name

PLACES = Limit(
    tuple_of(read_number),
    lambda v: not v or (v[0] > 0 and v[-1] < 1 and list(v) == sorted(set(v))),
    "numbers in (0, 1), each above the one before",
)
OVERLAP = whole("a whole number, 0 or above", lambda v: v >= 0)


class Replacement(MaskedTable):
    """A table as a stream in which some columns are suddenly replaced by other columns.

    Parameters
    ----------
    places
        Where columns are replaced, as increasing shares of the stream; empty: they never are.
    overlap
        Number of rounds before each place that have both spaces.
    lasting
        Share of the columns that are always present; they are the first ones.
    permute_columns
        Assign the columns to the spaces in a random order instead of their own.

    Examples
    --------
    >>> import headwater as hw
    >>> table, labels = [[1, 2, 3, 4]] * 6, [True, False] * 3
    >>> stream = hw.streams.Replacement(table, labels, overlap=1)
    >>> stream.spaces, stream.spans
    (((0, 1), (2, 3)), ((0, 3), (2, 6)))
    >>> [list(event) for event, _ in stream]
    [[0, 1], [0, 1], [0, 1, 2, 3], [2, 3], [2, 3], [2, 3]]
    """

    spaces: tuple[tuple[Name, ...], ...]
    """The columns of each space, without those that last."""
    spans: tuple[tuple[int, int], ...]
    """When each space is present: from one event up to, not including, another, from 0."""

    @checked
    def __init__(
        self,
        X: Any,
        y: Any,
        *,
        places: Annotated[Sequence[float], PLACES] = (0.5,),
        overlap: Annotated[int, OVERLAP] = 10,
        lasting: Annotated[float, RATE] = 0.0,
        permute_columns: bool = False,
        **options: Unpack[TableOptions],
    ) -> None:
        super().__init__(X, y, **options)
        rounds, width = len(self), len(self.names)
        ends = [*(math.floor(place * rounds + 1e-9) for place in places), rounds]
        shortest = min((end - begin for begin, end in pairwise([0, *ends[:-1]])), default=rounds)
        if places and overlap >= shortest:
            raise ParameterError(
                "Replacement: overlap must be below the rounds of every space that is replaced,"
                f" {shortest}, got {overlap}."
            )
        begins = [0, *(end - overlap for end in ends[:-1])]
        self.spans = tuple(zip(begins, ends, strict=True))
        order = self._fate.permutation(width) if permute_columns else np.arange(width)
        lasts = round(lasting * width)
        self._begin, self._end = np.zeros(width, np.int64), np.full(width, rounds)
        spaces = []
        for space, (begin, end) in enumerate(self.spans):
            cuts = ((s * (width - lasts)) // len(ends) for s in (space, space + 1))
            columns = np.sort(order[lasts:][slice(*cuts)])
            self._begin[columns], self._end[columns] = begin, end
            spaces.append(tuple(self.names[column] for column in columns.tolist()))
        self.spaces = tuple(spaces)

    def _stays(
        self, rounds: NDArray[np.intp], columns: NDArray[np.int32], coins: np.random.Generator
    ) -> NDArray[np.bool_]:
        shown: NDArray[np.bool_] = (self._begin[columns] <= rounds) & (rounds < self._end[columns])
        return shown
