"""Whether a label is worth asking for.

Every rule draws one random number u ~ U[0, 1) per event, even if it does not need one, so that
learners with the same seed use the same numbers. q is the margin; with several classes it is the
difference between the largest and the second largest score.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from headwater.parameters import ABOVE_ZERO, RATE, no_such_name, whole_from
from headwater.rules.component import Component


class Query(Component):
    """A query rule."""

    kind = "query"


@dataclass(frozen=True, repr=False)
class All(Query):
    """Ask for every label.

    Examples
    --------
    >>> All()
    query.All()
    """

    word = "all"


@dataclass(frozen=True, repr=False)
class Random(Query):
    """Ask for each label with the same probability.

    Parameters
    ----------
    rate
        The probability.

    Examples
    --------
    >>> Random(0.2)
    query.Random(rate=0.2)
    """

    word = "random"
    rate: Annotated[float, RATE] = 0.1


@dataclass(frozen=True, repr=False)
class Quota(Query):
    """Ask at random, for a fixed share of the labels.

    Parameters
    ----------
    rate
        Share of the labels asked for.
    total
        Length of the stream: exactly this share of it is asked for, and nothing afterwards.
        None: any length; the number of questions differs from the share by at most one at every
        moment.

    Examples
    --------
    >>> Quota(0.1, total=1000)
    query.Quota(rate=0.1, total=1000)
    """

    word = "quota"
    rate: Annotated[float, RATE] = 0.1
    total: Annotated[int, whole_from(1, bits=64)] | None = None


@dataclass(frozen=True, repr=False)
class Margin(Query):
    """Ask when unsure: P(ask) = width/(width + |q|).

    Parameters
    ----------
    width
        The larger, the more labels are asked for. Paper: ρ (FLLS), δ (PAA).

    Examples
    --------
    >>> Margin(0.25)
    query.Margin(width=0.25)
    """

    word = "margin"
    width: Annotated[float, ABOVE_ZERO] = 1.0


@dataclass(frozen=True, repr=False)
class MarginPlusOne(Query):
    """As `Margin`, with a guarantee for every width: P(ask) = width/(width + 1 + |q|).

    Parameters
    ----------
    width
        The larger, the more labels are asked for. Paper (PAA, Theorem 4): δ.

    Examples
    --------
    >>> MarginPlusOne(0.25)
    query.MarginPlusOne(width=0.25)
    """

    word = "margin_plus_one"
    width: Annotated[float, ABOVE_ZERO] = 1.0


@dataclass(frozen=True, repr=False)
class SelAda(Query):
    """As `Margin`, with a width that grows with each mistake learned: width·√(1 + mistakes).

    Parameters
    ----------
    width
        Initial width.

    Examples
    --------
    >>> SelAda()
    query.SelAda(width=1.0)
    """

    word = "sel_ada"
    width: Annotated[float, ABOVE_ZERO] = 1.0

    def for_core(self) -> tuple[str, dict[str, Any]]:
        """As every component's; the core can also multiply the width by the largest ‖x‖²."""
        return self.word, {**self.parameters(), "by_norm": False}


@dataclass(frozen=True, repr=False)
class Decaying(Query):
    """As `Margin`, with a width that shrinks with time: width/(t + 1) for event t = 1, 2, ...

    Parameters
    ----------
    width
        Initial width. Paper (CSPAA(a)): ρ_0.

    Examples
    --------
    >>> Decaying()
    query.Decaying(width=16384.0)
    """

    word = "decaying"
    width: Annotated[float, ABOVE_ZERO] = 16384.0


@dataclass(frozen=True, repr=False)
class Budget(Query):
    """As `Margin`, with a width that adapts to the stream so that a given share is asked for.

    Parameters
    ----------
    rate
        Share of the labels to ask for, over any long part of the stream.

    Examples
    --------
    >>> Budget(0.05)
    query.Budget(rate=0.05)
    """

    word = "budget"
    rate: Annotated[float, RATE] = 0.1


@dataclass(frozen=True, repr=False)
class Quantile(Query):
    """Ask for the share of the labels that the learner is least sure of, with a strict limit.

    The label is asked for if |q| is below a threshold that adapts to the stream. Other labels are
    asked for at random, with probability 0.15·rate. The first three questions come as early as
    rate·t + 2√(rate·t) allows, the first ten until an answer comes or if there are more than two
    classes; if there is still no answer then, questions are asked at random. There are never more
    than rate·t + 2√(rate·t) + 4 among t events.

    Parameters
    ----------
    rate
        Share of the labels to ask for; 0 never asks, 1 always asks.

    Examples
    --------
    >>> Quantile(0.02)
    query.Quantile(rate=0.02)
    """

    word = "quantile"
    rate: Annotated[float, RATE] = 0.05


if not TYPE_CHECKING:
    __getattr__ = no_such_name(
        "headwater.query", [rule.__name__ for rule in Query.__subclasses__()]
    )
