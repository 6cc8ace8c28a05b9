"""The shapes in which events, results and explanations travel."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Name: TypeAlias = str | int
"""A feature's name; 1 and "1" are different names."""

Label: TypeAlias = str | int | bool
"""A class, as the user writes it."""

Event: TypeAlias = Mapping[Name, Any]
"""Feature name to value: a number, a bool, a text (an indicator), None or NaN (absent)."""


class Feature(NamedTuple):
    """What a learner knows of one feature.

    Rounds count the events learned, from 1. `weight` is a number, or with several classes
    a number a class.
    """

    name: Name
    first_learned: int
    last_learned: int
    times_learned: int
    weight: float | dict[Label, float]


class Explanation(NamedTuple):
    """Why a learner predicts what it predicts, and why it would ask.

    `contributions` holds weight times value by feature name, largest first; they add up to the
    margin. With several classes they are those of the predicted class minus its rival's.
    `details` holds what else the learner can say of the event, by name: `OLVF` its confidences.
    """

    prediction: Label | None
    margin: float
    contributions: dict[Name, float]
    query_probability: float
    reason: str
    details: dict[str, float] = {}  # noqa: RUF012 - a NamedTuple's default, never written to


@dataclass(frozen=True, eq=False)
class Trace:
    """What happened to each event of a simulated stream: `Decision`'s fields as arrays.

    Attributes
    ----------
    prediction
        What was predicted before the label could be known; None where no class was known yet.
    margin
        Signed distance from the boundary (binary) or lead over the second class (multi-class).
    query_probability
        The probability with which the label was asked for.
    asked
        Whether it was.
    """

    prediction: NDArray[Any]
    margin: NDArray[np.float64]
    query_probability: NDArray[np.float64]
    asked: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.margin)


@dataclass(frozen=True, eq=False)
class Rows:
    """Events as the three arrays of a sparse matrix, with the names of its columns.

    What is not stored is absent; a stored 0 is a 0. Any object with `indptr`, `indices` and
    `data` (SciPy's CSR, say) is taken as well wherever `Rows` are.
    """

    indptr: NDArray[Any]
    indices: NDArray[Any]
    data: NDArray[np.float64]
    names: Sequence[Name]

    def __len__(self) -> int:
        return len(self.indptr) - 1
