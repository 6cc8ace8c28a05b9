"""Whether a label is worth asking for.

Every rule draws one coin u ~ U[0, 1) per event, needed or not, so that learners with the same seed
see the same coins. q is the margin; with several classes the lead of the first over the second.
"""

from dataclasses import dataclass
from typing import Annotated, Any

from headwater.parameters import ABOVE_ZERO, RATE, whole_from
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
        That probability.

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
        Length of the stream: exactly that share of it is asked for, and nothing afterwards.
        None: any length; the questions are within one of the share at every moment.

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
        The wider, the more is asked. Paper: ρ (FLLS), δ (PAA).

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
        The wider, the more is asked. Paper (PAA, Theorem 4): δ.

    Examples
    --------
    >>> MarginPlusOne(0.25)
    query.MarginPlusOne(width=0.25)
    """

    word = "margin_plus_one"
    width: Annotated[float, ABOVE_ZERO] = 1.0


@dataclass(frozen=True, repr=False)
class SelAda(Query):
    """As `Margin`, wider after each mistake learned: width·√(1 + mistakes).

    Parameters
    ----------
    width
        Where the width starts.

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
    """As `Margin`, narrower with time: width/(t + 1) for event t = 1, 2, ...

    Parameters
    ----------
    width
        Where the width starts. Paper (CSPAA(a)): ρ_0.

    Examples
    --------
    >>> Decaying()
    query.Decaying(width=16384.0)
    """

    word = "decaying"
    width: Annotated[float, ABOVE_ZERO] = 16384.0


@dataclass(frozen=True, repr=False)
class Budget(Query):
    """As `Margin`, with a width that follows the stream so that a given share is asked for.

    Parameters
    ----------
    rate
        Share of the labels to ask for, over any long stretch of the stream.

    Examples
    --------
    >>> Budget(0.05)
    query.Budget(rate=0.05)
    """

    word = "budget"
    rate: Annotated[float, RATE] = 0.1


@dataclass(frozen=True, repr=False)
class Quantile(Query):
    """Ask for the share of the labels that the learner is least sure of, never for many more.

    The label is asked for when |q| is below a threshold that follows the stream, and one time in
    twenty of the rate by chance, however sure it is. Until the first answer at most three
    questions are open. There are never more than rate·t + 2√(rate·t) + 4 questions among t events.

    Parameters
    ----------
    rate
        Share of the labels to ask for; 0 asks never, 1 always.

    Examples
    --------
    >>> Quantile(0.02)
    query.Quantile(rate=0.02)
    """

    word = "quantile"
    rate: Annotated[float, RATE] = 0.05
