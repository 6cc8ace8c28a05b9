"""The types of events, results and explanations."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from headwater.display import html, plots

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

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


class Features(Sequence[Feature]):
    """What a learner knows about its features, kept as columns.

    It is a sequence of `Feature`, made one by one when they are asked for. In a notebook it is
    shown as a table with the largest weights first.

    Examples
    --------
    >>> import headwater as hw
    >>> model = hw.PAA()
    >>> model.learn_one({"rain": 2.0, "wind": -1.0}, True)
    >>> model.features()
    <2 features: rain, wind>
    >>> model.features()[0].name, model.features().columns()["weight"].tolist()
    ('rain', [0.4, -0.2])
    """

    def __init__(
        self,
        names: Sequence[Name],
        history: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
        labels: Sequence[Label] | None,
        weights: Sequence[NDArray[np.float64]],
    ) -> None:
        self._names, self._history, self._labels = names, history, labels
        self._weights = weights

    def __len__(self) -> int:
        return len(self._names)

    @overload
    def __getitem__(self, place: int) -> Feature: ...
    @overload
    def __getitem__(self, place: slice) -> list[Feature]: ...
    def __getitem__(self, place: int | slice) -> Feature | list[Feature]:
        if isinstance(place, slice):
            return [self[one] for one in range(*place.indices(len(self)))]
        first, last, times = (int(column[place]) for column in self._history)
        return Feature(self._names[place], first, last, times, self._weight(place))

    def _weight(self, place: int) -> float | dict[Label, float]:
        if self._labels is None:
            return float(self._weights[0][place])
        columns = zip(self._labels, self._weights, strict=True)
        return {label: float(column[place]) for label, column in columns}

    def __iter__(self) -> Iterator[Feature]:
        rounds = [column.tolist() for column in self._history]
        weights: Any = [column.tolist() for column in self._weights]
        if self._labels is None:
            weights = weights[0]
        else:
            labels, rows = self._labels, list(zip(*weights, strict=True))
            weights = [dict(zip(labels, row, strict=True)) for row in rows] or [{}] * len(self)
        return map(Feature, self._names, *rounds, weights)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ", ".join(map(str, self._names[:5])) + (", ..." if len(self) > 5 else "")
        return f"<{len(self)} features{': ' if shown else ''}{shown}>"

    def columns(self) -> dict[str, Any]:
        """The columns by name: `name`, `first_learned`, `last_learned`, `times_learned`, `weight`.

        With several classes there is a column `weight of LABEL` for each of them. Any library of
        frames takes the dict: `polars.DataFrame(model.features().columns())`.

        Examples
        --------
        >>> import headwater as hw
        >>> list(hw.PAA().features().columns())
        ['name', 'first_learned', 'last_learned', 'times_learned', 'weight']
        """
        first, last, times = self._history
        found: dict[str, Any] = {"name": list(self._names), "first_learned": first}
        found |= {"last_learned": last, "times_learned": times}
        if self._labels is None:
            return {**found, "weight": self._weights[0]}
        columns = zip(self._labels, self._weights, strict=True)
        return found | {f"weight of {label}": column for label, column in columns}

    def to_frame(self) -> "pd.DataFrame":
        """The columns as a DataFrame of pandas, with the names as its index.

        Examples
        --------
        >>> import headwater as hw
        >>> model = hw.PAA()
        >>> model.learn_one({"rain": 2.0}, True)
        >>> model.features().to_frame().loc["rain", "weight"].item()
        0.5
        """
        try:
            import pandas as pd
        except ImportError:
            raise ImportError(
                "Features.to_frame needs pandas: pip install pandas; columns() needs nothing."
            ) from None
        return pd.DataFrame(self.columns()).set_index("name")

    def html(self) -> str:
        """A table of the largest weights, for notebooks."""
        if len(self._weights) == 1 and self._labels is None:
            order = np.argsort(-np.abs(self._weights[0]), kind="stable")[: html.MOST].tolist()
            largest = {self._names[place]: float(self._weights[0][place]) for place in order}
            return html.weighed("", ("feature", "weight"), largest, total=len(self))
        size = np.sum(np.abs(np.array(self._weights)), axis=0) if len(self._weights) else []
        order = np.argsort(-np.asarray(size), kind="stable").tolist()[: html.MOST]
        head = ("feature", *(html.text(label) for label in self._labels or ()))
        rows = [
            (html.text(self._names[place]), *(html.text(column[place]) for column in self._weights))
            for place in order
        ]
        if len(self) > len(rows):
            rows.append((f"… and {len(self) - len(rows):,} more", *[""] * len(self._weights)))
        return html.table("", head, rows)

    def _repr_html_(self) -> str:
        return self.html()


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

    def _repr_html_(self) -> str:
        return html.explanation(self)


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

    def plot(self, y: Any = None, *, window: int | None = None, ax: Any = None) -> "Axes":
        """Draw the share of labels asked for and, with labels `y`, of wrong predictions.

        Parameters
        ----------
        y
            The label of each event, as `simulate` was given them; None: only the questions.
        window
            The shares are those of so many latest events; None: a twentieth of them.
        ax
            Axes of matplotlib to draw on; None: a new figure.

        Examples
        --------
        >>> import headwater as hw
        >>> X, y = hw.streams.SensorNetwork(500).batch()
        >>> hw.Spring().simulate(X, y).plot(y).get_xlabel()
        'events'
        """
        wrong = None
        if y is not None:
            pairs = zip(html.listed(self.prediction), html.listed(y), strict=True)
            wrong = [said != wanted for said, wanted in pairs]
        asked = html.listed(self.asked)
        return plots.trace(ax, asked, wrong, window or max(1, len(asked) // 20))

    def _repr_html_(self) -> str:
        return html.trace(self)


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
