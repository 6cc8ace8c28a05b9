"""The register: which features there are, which went silent, died, came back or changed.

It counts every event of a stream, labelled or not, with times or without.
`docs/concepts/register.md` says how it judges.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, Self, TypeAlias

import numpy as np

from headwater import _core
from headwater.display import html, plots
from headwater.errors import EventError, ModelFileError, ParameterError
from headwater.inputs import batches
from headwater.parameters import NOT_NEGATIVE, checked, whole_from
from headwater.types import Event, Name

if TYPE_CHECKING:
    from matplotlib.axes import Axes

State: TypeAlias = Literal["new", "live", "silent", "gone", "back"]
"""`new`: its rhythm is not known yet. `live`: it comes as usual. `silent`: it is absent for longer
than ever. `gone`: four times as long. `back`: it came again, a few times."""

FindingKind: TypeAlias = Literal[
    "born", "back", "changed scale", "stuck", "silent", "gone", "replaced"
]

DAY = 86_400.0
STATES: tuple[State, ...] = ("new", "live", "silent", "gone", "back")


class FeatureFinding(NamedTuple):
    """Something that happened to a feature.

    Attributes
    ----------
    number
        Findings are numbered from 1, in the order in which they were made.
    event, time
        The event, counted from 1, with which it was found, and its time (None without times).
    kind
        What happened.
    feature
        The feature's name.
    before, now
        `born`: `now` is the mean time between its arrivals (without times: events). `silent`,
        `gone`: the longest usual absence, and the absence so far. `back`: the absence after which
        it was silent, and its whole absence. `changed scale`: the level before, and the latest
        value. `stuck`: the longest usual run of equal values, and the value. `replaced`: `now` is
        the correlation with `other`.
    other
        `replaced`: the feature that measures the same.

    Examples
    --------
    >>> import headwater as hw
    >>> register = hw.Register()
    >>> for day in range(60):
    ...     register.observe_one({"rain": day % 7} if day < 40 else {"wind": day % 5})
    >>> [(one.event, one.kind, one.feature) for one in register.findings()]
    [(45, 'silent', 'rain'), (48, 'born', 'wind'), (57, 'gone', 'rain')]
    """

    number: int
    event: int
    time: float | None
    kind: FindingKind
    feature: Name
    before: float
    now: float
    other: Name | None


class FeatureLife(NamedTuple):
    """What a register knows of a feature.

    Attributes
    ----------
    name, state
        The feature, and `new`, `live`, `silent`, `gone` or `back`.
    first_event, first_time, last_event, last_time
        When it was first and last seen: events are counted from 1; times are None without times.
    arrivals
        How many events carried it.
    share
        The share of recent events that carry it: of those since the oldest of `values`.
    mean_gap, longest_gap
        The mean time between its arrivals, and its longest usual absence (without times: events);
        None before its second arrival.
    mean, spread
        Of `values`.
    mean_before, spread_before
        Before its scale changed; if it has not, over all its cycles so far. None before the first.
    stuck
        Whether it repeats one value and should not.
    values
        Its last 64 values, the oldest first.
    weight
        What a learner makes of it; None in a register alone.

    Examples
    --------
    >>> import headwater as hw
    >>> register = hw.Register()
    >>> for day in range(30):
    ...     register.observe_one({"rain": day % 7})
    >>> rain = register.feature("rain")
    >>> rain.state, rain.arrivals, rain.share, rain.longest_gap, rain.values[-3:]
    ('live', 30, 1.0, 1.0, (6.0, 0.0, 1.0))
    """

    name: Name
    state: State
    first_event: int
    first_time: float | None
    last_event: int
    last_time: float | None
    arrivals: int
    share: float
    mean_gap: float | None
    longest_gap: float | None
    mean: float
    spread: float
    mean_before: float | None
    spread_before: float | None
    stuck: bool
    values: tuple[float, ...]
    weight: Any = None


class Register(_core.Register):
    """Every feature of a stream: when it was seen, its rhythm and state, what happened to it.

    A feature is judged by its own rhythm, which is known after eight arrivals and two cycles. An
    event costs time in proportion to its features only. The order of an event's features does not
    matter. Learners keep one with `track=True`.

    Parameters
    ----------
    cycle
        Seconds after which values and absences repeat: a day. It is used if events have times.
    max_features
        The most features that are kept; beyond, those seen longest ago are dropped. None: no limit.

    Examples
    --------
    >>> import headwater as hw
    >>> plant = hw.streams.Plant(30, seed=1)
    >>> register = hw.Register()
    >>> for (event, _), time in zip(plant, plant.times):
    ...     register.observe_one(event, time)
    >>> died = next(one for one in plant.happenings if one.kind == "died")
    >>> register.state(died.sensor)
    'gone'
    >>> {"born", "silent"} <= {finding.kind for finding in register.findings()}
    True
    """

    @checked
    def __new__(
        cls,
        cycle: Annotated[float, NOT_NEGATIVE] = DAY,
        *,
        max_features: Annotated[int, whole_from(1, bits=32)] | None = None,
    ) -> Self:
        return super().__new__(cls, cycle, max_features)

    def __repr__(self) -> str:
        cycle = "" if self.cycle == DAY else f"cycle={self.cycle:g}"
        limit = "" if self.max_features is None else f"max_features={self.max_features}"
        return f"Register({', '.join(filter(None, [cycle, limit]))})"

    def observe_one(self, x: Event, time: float | datetime | None = None) -> None:
        """Count an event; its time is in seconds, or a `datetime`.

        Either all events have times or none. Time never runs backwards: an earlier time counts as
        that of the event before.

        Examples
        --------
        >>> import headwater as hw
        >>> register = hw.Register()
        >>> register.observe_one({"rain": 2.0}, time=1_767_225_600.0)
        >>> register.events, register.state("rain")
        (1, 'new')
        """
        self._observe_one(x, seconds(time))

    def observe_many(
        self,
        X: Any,
        times: Iterable[float | datetime] | None = None,
        *,
        names: Sequence[Name] | None = None,
    ) -> None:
        """`observe_one` on each row of a batch; `X` and `names` as in `Learner.simulate`.

        Examples
        --------
        >>> import headwater as hw
        >>> register = hw.Register()
        >>> register.observe_many([[1.0, float("nan")], [2.0, 5.0]], names=["rain", "wind"])
        >>> [feature.arrivals for feature in register.features()]
        [2, 1]
        """
        rows, columns = batches.read_rows(X, names)
        given = None
        if times is not None:
            if not isinstance(times, np.ndarray) or times.dtype != np.float64:
                times = np.array([seconds(time) for time in times], np.float64)
            given = np.ascontiguousarray(times)
        self._observe_many(rows, columns, given)

    def features(
        self,
        state: State | None = None,
        *,
        weights: Mapping[Name, Any] | None = None,
    ) -> list[FeatureLife]:
        """What is known of each feature, in the order in which they first appeared.

        Parameters
        ----------
        state
            Only features in this state.
        weights
            Their weights by name, to be shown beside them.

        Examples
        --------
        >>> import headwater as hw
        >>> register = hw.Register()
        >>> register.observe_one({"wind": 1.0, "rain": 2.0})
        >>> [feature.name for feature in register.features("new")]
        ['rain', 'wind']
        """
        if state is not None and state not in STATES:
            words = ", ".join(map(repr, STATES))
            raise ParameterError(f"features: state must be one of {words}, got {state!r}.")
        known = weights or {}
        lives = (self._life(row, known.get(row[0])) for row in self._features(None))
        return [life for life in lives if state in (None, life.state)]

    def feature(self, name: Name) -> FeatureLife | None:
        """What is known of one feature; None if it was never seen.

        Examples
        --------
        >>> import headwater as hw
        >>> hw.Register().feature("rain") is None
        True
        """
        rows = self._features(name)
        return self._life(rows[0], None) if rows else None

    def _life(self, row: tuple[Any, ...], weight: Any) -> FeatureLife:
        name, state, seen, arrivals, share, gaps, now, before, stuck, values = row
        first_event, first_time, last_event, last_time = seen
        timed = self.time is not None
        return FeatureLife(
            name,
            state,
            first_event,
            first_time if timed else None,
            last_event,
            last_time if timed else None,
            arrivals,
            share,
            gaps[0],
            gaps[1],
            now[0],
            now[1],
            before[0] if before else None,
            before[1] if before else None,
            stuck,
            tuple(values),
            weight,
        )

    def state(self, name: Name) -> State | None:
        """The state of a feature; None if it was never seen.

        Examples
        --------
        >>> import headwater as hw
        >>> register = hw.Register()
        >>> register.observe_one({"rain": 2.0})
        >>> register.state("rain"), register.state("wind")
        ('new', None)
        """
        return self._state(name)  # type: ignore[return-value]

    def states(self) -> dict[State, int]:
        """How many features are in each state.

        Examples
        --------
        >>> import headwater as hw
        >>> hw.Register().states()
        {'new': 0, 'live': 0, 'silent': 0, 'gone': 0, 'back': 0}
        """
        return dict(self._states())  # type: ignore[return-value]

    def findings(self, limit: int | None = None, *, since: int = 0) -> list[FeatureFinding]:
        """The findings after number `since`, the oldest first; with `limit` only the last of them.

        The last 10,000 are kept. To be told of new ones, ask again with the number of the last one.

        Examples
        --------
        >>> import headwater as hw
        >>> hw.Register().findings()
        []
        """
        return findings_of(self._findings(since), limit)

    def counts(self) -> dict[FindingKind, int]:
        """How many findings of each kind there were, kept or not.

        Examples
        --------
        >>> import headwater as hw
        >>> hw.Register().counts()["born"]
        0
        """
        return dict(self._counts())  # type: ignore[return-value]

    def plot(self, *, limit: int = 40, ax: Any = None) -> "Axes":
        """Draw the features' lives: a bar from the first to the last event that carried each.

        The colour is the state; marks show where a scale changed, a value got stuck, or a
        feature was replaced.

        Parameters
        ----------
        limit
            The most features that are drawn: those with the most arrivals.
        ax
            Axes of matplotlib to draw on; None: a new figure.

        Examples
        --------
        >>> import headwater as hw
        >>> register = hw.Register()
        >>> register.observe_many([[1.0, 2.0], [1.0, 3.0]], names=["rain", "wind"])
        >>> [text.get_text() for text in register.plot().get_yticklabels()]
        ['rain', 'wind']
        """
        lives = sorted(self.features(), key=lambda life: -life.arrivals)[:limit]
        lives.sort(key=lambda life: (life.first_event, str(life.name)))
        return plots.lives(ax, lives, self.findings(), self.events)

    def _repr_html_(self) -> str:
        title = f"{self!r}: {self.events:,} events, {len(self):,} features"
        known = sorted(self.features(), key=lambda life: -life.arrivals)[: html.MOST]
        rows = [
            (
                html.text(one.name),
                str(one.state),
                html.text(one.arrivals),
                f"{one.share:.0%}",
                html.text(one.mean),
            )
            for one in known
        ]
        if len(self) > len(rows):
            rows.append((f"… and {len(self) - len(rows):,} more", "", "", "", ""))
        return html.table(title, ("feature", "state", "arrivals", "share", "mean"), rows)

    def merge(self, later: "Register") -> None:
        """Go on with the register of a later part of the same stream.

        Counts, when features were first and last seen, and their last values are those of one
        register over both parts. Rhythm and scale of a feature are those of the later part where it
        knows them, else of this one; a birth that the other register found is dropped if this one
        knows the feature.

        Examples
        --------
        >>> import headwater as hw
        >>> monday, tuesday = hw.Register(), hw.Register()
        >>> monday.observe_one({"rain": 2.0})
        >>> tuesday.observe_one({"rain": 3.0})
        >>> monday.merge(tuesday)
        >>> monday.feature("rain").values
        (2.0, 3.0)
        """
        if not isinstance(later, Register):
            raise ParameterError(f"merge: later must be a Register, got {later!r}.")
        self._merge(later)

    @classmethod
    def from_bytes(cls, data: bytes) -> "Register":
        """The register whose `to_bytes` returned these bytes; it continues bit for bit.

        Examples
        --------
        >>> import headwater as hw
        >>> hw.Register.from_bytes(hw.Register(3_600.0).to_bytes())
        Register(cycle=3600)
        """
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise ModelFileError(f"register: expected bytes, got {type(data).__name__}.")
        register = cls()
        register._adopt(bytes(data))
        return register

    @classmethod
    def of(cls, kept: _core.Register) -> "Register":
        """The same register as the core keeps it."""
        register = cls()
        register._copy(kept)
        return register

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the whole state to a file, for `load`.

        Examples
        --------
        >>> import headwater as hw, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     hw.Register().save(f"{folder}/plant.register")
        ...     hw.Register.load(f"{folder}/plant.register")
        Register()
        """
        Path(path).write_bytes(self.to_bytes())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Register":
        """The register that was saved to this file."""
        try:
            return cls.from_bytes(Path(path).read_bytes())
        except ModelFileError as error:
            raise ModelFileError(f"{os.fspath(path)}: {error}") from None

    def __reduce__(self) -> tuple[Any, ...]:
        return Register.from_bytes, (self.to_bytes(),)

    def __copy__(self) -> "Register":
        return Register.of(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> "Register":
        return self.__copy__()


def findings_of(rows: list[tuple[Any, ...]], limit: int | None = None) -> list[FeatureFinding]:
    """Findings as the core gives them, the last ones if there is a limit."""
    start = 0 if limit is None else max(0, len(rows) - limit)
    return [FeatureFinding(*row) for row in rows[start:]]


def seconds(time: float | datetime | None) -> float | None:
    """A time in seconds."""
    if time is None:
        return None
    if isinstance(time, datetime):
        return time.timestamp()
    try:
        return float(time)
    except (TypeError, ValueError):
        raise EventError(
            f"time: expected a number of seconds or a datetime, got {time!r}."
        ) from None
