"""The types of events, results and explanations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Name: TypeAlias = str | int
"""A feature's name; 1 and "1" are different names."""

Label: TypeAlias = str | int | bool | float
"""A class, as the user writes it; in regression a number."""

Task: TypeAlias = Literal["binary", "multiclass", "regression"]
"""What a learner predicts: one of two classes, one of several, or a number."""

Id: TypeAlias = str | int
"""Identifies an event for the label source."""

Event: TypeAlias = Mapping[Any, Any]
"""Name to value: a number, a bool, a text (an indicator), None or NaN (absent).

The key is not `Name` because mappings are invariant in it: a `dict[str, float]` would not fit.
"""


class Feature(NamedTuple):
    """What a learner knows about one feature.

    Rounds count the events learned, from 1. `weight` is a number, or with several classes
    one number per class.

    Examples
    --------
    >>> Feature("rain", first_learned=1, last_learned=9, times_learned=4, weight=0.5).name
    'rain'
    """

    name: Name
    first_learned: int
    last_learned: int
    times_learned: int
    weight: float | dict[Label, float]


class Explanation(NamedTuple):
    """Why a learner predicts what it predicts, and why it would ask.

    `contributions` holds weight times value by feature name, largest first; they add up to the
    margin. With several classes they are those of the predicted class minus those of the class with
    the second largest score. `details` holds further values by name: for `OLVF`, its confidences.

    Examples
    --------
    >>> import headwater as hw
    >>> model = hw.OLSF()
    >>> model.learn_one({"rain": 2.0}, True)
    >>> model.explain_one({"rain": 1.0}).contributions
    {'rain': 0.5}
    """

    prediction: Label | None
    margin: float
    contributions: dict[Name, float]
    query_probability: float
    reason: str
    details: dict[str, float] = {}  # noqa: RUF012 - a NamedTuple's default, never written to


@dataclass(frozen=True, eq=False)
class Trace:
    """The decisions on all events of a stream: `Decision`'s fields as arrays.

    If the stream was a frame of pandas, polars or pyarrow, they are columns of that library.

    Attributes
    ----------
    prediction
        The prediction made before the label was known; None if no class was known yet.
    margin
        Signed distance from the boundary (binary), or the difference between the largest and the
        second largest score (multi-class).
    query_probability
        The probability with which the label was asked for.
    asked
        Whether the label was asked for.

    Examples
    --------
    >>> import headwater as hw
    >>> trace = hw.OLSF().simulate([[1.0], [1.0]], [True, True])
    >>> trace.prediction.tolist(), len(trace)
    ([False, True], 2)
    """

    prediction: Any
    margin: Any
    query_probability: Any
    asked: Any

    def __len__(self) -> int:
        return len(self.margin)


@dataclass(frozen=True)
class FileRun:
    """The result of running a learner over a file: only counts, because a file may be long.

    Attributes
    ----------
    events
        Events decided on.
    labelled
        Events whose label is in the file, whether it was asked for or not.
    mistakes
        Labelled events that were predicted wrongly, before their label was learned; 0 in
        regression.
    absolute_error
        In regression the sum of |label - prediction| over the labelled events, otherwise 0.
    asked
        Events whose label was asked for.
    learned
        Events learned: with a label and, in `simulate_file`, asked for.
    skipped
        Lines that could not be used; always 0 with `on_error="raise"`.
    bytes
        Bytes read from the file, before decompression.
    problems
        Why the first ten of the skipped lines could not be used.
    findings
        What looks wrong in columns without a role: (kind, column, count, of how many, example).
    units
        The units that columns of numbers were in.

    Examples
    --------
    >>> run = FileRun(events=10, labelled=8, mistakes=2, asked=4, learned=3)
    >>> run.error_rate, run.asked_share
    (0.25, 0.4)
    """

    events: int = 0
    labelled: int = 0
    mistakes: int = 0
    absolute_error: float = 0.0
    asked: int = 0
    learned: int = 0
    skipped: int = 0
    bytes: int = 0
    problems: tuple[str, ...] = ()
    findings: tuple[tuple[str, str, int, int, str], ...] = ()
    units: tuple[tuple[str, str], ...] = ()

    @property
    def error_rate(self) -> float:
        """Mistakes per labelled event; NaN without any."""
        return self.mistakes / self.labelled if self.labelled else float("nan")

    @property
    def mean_absolute_error(self) -> float:
        """In regression: |label - prediction| on average; NaN without labels."""
        return self.absolute_error / self.labelled if self.labelled else float("nan")

    @property
    def asked_share(self) -> float:
        """Labels asked for per event; NaN without any."""
        return self.asked / self.events if self.events else float("nan")


@dataclass(frozen=True, eq=False)
class Rows:
    """Events as the three arrays of a sparse matrix, with the names of its columns.

    Values that are not stored are absent; a stored 0 is a 0. Any object with `indptr`, `indices`
    and `data` (such as SciPy's CSR) is accepted wherever `Rows` are.

    Attributes
    ----------
    indptr
        Row i is stored from `indptr[i]` to `indptr[i + 1]`.
    indices
        The column of each value.
    data
        The values.
    names
        One name per column.

    Examples
    --------
    >>> import headwater as hw, numpy as np
    >>> rows = Rows(np.array([0, 1, 3]), np.array([0, 0, 1]), np.ones(3), ["rain", "wind"])
    >>> len(rows), hw.OLSF().predict_many(rows).tolist()
    (2, [False, False])
    """

    indptr: NDArray[Any]
    indices: NDArray[Any]
    data: NDArray[np.float64]
    names: Sequence[Name]

    def __len__(self) -> int:
        return len(self.indptr) - 1


class TextTable(NamedTuple):
    """A table for people: a header and rows of text; the first column names the row."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
