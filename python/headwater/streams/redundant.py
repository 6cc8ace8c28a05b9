"""The redundant stream: a trapezoid at whose end columns come that copy earlier ones.

Copies of round(copied·d) of the d columns, chosen at random, are appended to the table; the widened
table is then shown as a trapezoid, so that a copy never comes before what it copies.
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
    """A table shown as a trapezoid whose last columns tell nothing new.

    The copies are called `copy of ...`.

    Parameters
    ----------
    copied
        Share of the columns that are copied.
    chunks
        In how many steps the events widen, copies included; 1: all columns all the time.
    permute_columns
        Show the table's columns in a random order instead of their own; copies come after them.
    seed
        The same seed and the same table give the same stream. What a smaller share copies, a
        larger one copies too; the rows' order is `Trapezoid`'s.

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
    """Which column each copy copies, in the order in which they come."""

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
