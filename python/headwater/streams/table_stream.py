"""The base class of streams from a table: their shared parameters, described once."""

import inspect
from collections.abc import Sequence
from typing import Annotated, Any, TypedDict

from headwater.parameters import SEED, checked, described_parameters, with_parameters
from headwater.streams.base import Stream
from headwater.streams.table import labels_of, names_of, table_of
from headwater.types import Name


class TableOptions(TypedDict, total=False):
    """Parameters of every stream from a table besides the table, for the types of `__init__`."""

    shuffle: bool
    names: Sequence[Name] | None
    seed: int


class TableStream(Stream):
    """A table as a stream.

    A subclass adds its own parameters. Parameters that it does not describe are described here, and
    its signature lists the parameters that its `**options` stand for.

    Parameters
    ----------
    X
        The whole table: a dense array, in which NaN is absent and 0 is an observation, or anything
        with the three arrays of CSR, in which values that are not stored are absent.
    y
        One label per row.
    shuffle
        Take the rows in a random order instead of their own.
    names
        One name per column; None: the names of `X`, or the numbers 0, 1, ...
    seed
        The same seed and the same table give the same stream.
    """

    @checked
    def __init__(
        self,
        X: Any,
        y: Any,
        *,
        shuffle: bool = True,
        names: Sequence[Name] | None = None,
        seed: Annotated[int, SEED] = 0,
    ) -> None:
        owner = type(self).__name__
        self._table = table_of(owner, X)
        self._labels = labels_of(owner, y, self._table.height)
        self.names = tuple(names_of(owner, X, names, self._table.width))
        self._shuffle, self._seed = shuffle, seed

    def __init_subclass__(cls) -> None:
        described = described_parameters(cls.__mro__[1].__doc__)
        own = list(inspect.signature(cls.__init__).parameters.values())[1:]
        own = [one for one in own if one.kind is not inspect.Parameter.VAR_KEYWORD]
        known = {one.name for one in own}
        inherited = inspect.signature(cls.__mro__[1]).parameters.values()
        signature = inspect.Signature([*own, *(one for one in inherited if one.name not in known)])
        cls.__signature__ = signature  # type: ignore[attr-defined]
        cls.__doc__ = with_parameters(cls.__doc__, described, signature.parameters)
