"""The redundant stream: a trapezoid whose last columns are copies of earlier ones.

Copies of round(copied·d) of the d columns, chosen at random, are appended to the table. The wider
table is then used as a trapezoid, so that a copy never appears before its original.
Section 5.5 of the FLLS paper.
"""

from collections import Counter
from typing import Annotated, Any, Unpack

import numpy as np

from headwater.errors import ParameterError
from headwater.parameters import RATE, checked
from headwater.streams.trapezoid import Trapezoid, TrapezoidOptions
from headwater.types import Name


class Redundant(Trapezoid):
    """A table as a trapezoid whose last columns are copies and add no information.

    The copies are named `copy of ...`.

    Parameters
    ----------
    copied
        Share of the columns that are copied.
    chunks
        Number of steps in which columns are added, copies included; 1: all columns in every event.
    permute_columns
        Use the table's columns in a random order instead of their own; copies come after them.
    seed
        The same seed and the same table give the same stream. The columns copied with a smaller
        share are also copied with a larger one; the rows are in the order of `Trapezoid`.

    Examples
    --------
    >>> import headwater as hw
    >>> table, labels = [[1, 2, 3, 4], [5, 6, 7, 8]], [True, False]
    >>> stream = hw.streams.Redundant(table, labels, chunks=2, shuffle=False)
    >>> stream.copies
    {'copy of 1': 1, 'copy of 0': 0}
    >>> for event, label in stream:
    ...     print(event, label)
    {0: 1.0, 1: 2.0, 2: 3.0} True
    {0: 5.0, 1: 6.0, 2: 7.0, 3: 8.0, 'copy of 1': 6.0, 'copy of 0': 5.0} False
    """

    copies: dict[Name, Name]
    """The original column of each copy, in the order in which they appear."""

    @checked
    def __init__(
        self,
        X: Any,
        y: Any,
        *,
        copied: Annotated[float, RATE] = 0.5,
        **options: Unpack[TrapezoidOptions],
    ) -> None:
        super().__init__(X, y, **options)
        width = len(self._columns)
        name_of = dict(zip(self._columns.tolist(), self.names, strict=True))
        generator = np.random.default_rng(np.random.SeedSequence(self._seed).spawn(1)[0])
        chosen = generator.permutation(width)[: round(copied * width)]
        originals = [name_of[column] for column in chosen.tolist()]
        self.names = (*self.names, *(f"copy of {name}" for name in originals))
        name, times = Counter(self.names).most_common(1)[0] if width else ("", 1)
        if times > 1:
            raise ParameterError(
                f"Redundant: two columns would be called {name!r}, one of them a copy; rename the"
                " table's."
            )
        self.copies = dict(zip(self.names[width:], originals, strict=True))
        self._columns = np.concatenate([self._columns, chosen])
