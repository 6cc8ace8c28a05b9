"""Whether learners differ over many data sets: ranks, Friedman's test, Nemenyi's, Wilcoxon's.

On each of n data sets the k learners are ranked, the best 1, equals by their mean rank; R_j is a
learner's mean rank. Friedman's test asks whether all R_j could be equal:

    χ² = 12n / (k(k+1)) · (Σ R_j² − k(k+1)²/4), divided by a factor for equal scores, k−1 degrees.

By Nemenyi's test two learners differ if their mean ranks differ by at least
CD = q · √(k(k+1) / (6n)), where √2·q is a quantile of the studentized range of k groups. Wilcoxon's
signed-rank test compares two learners by their differences on the data sets; Holm's correction
makes the p values of several such tests valid together: sorted upwards, the i-th of m is multiplied
by m + 1 − i, and none is below the one before.
Demšar, *Statistical Comparisons of Classifiers over Multiple Data Sets*, JMLR 7 (2006).
"""

import math
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headwater.errors import ParameterError


class LearnerPair(NamedTuple):
    """Two learners over the same data sets.

    `rank_difference` is the difference of their mean ranks, below 0 if the first is better; `p` is
    Wilcoxon's, `holm` the same corrected for the number of pairs, `nemenyi` whether the ranks
    differ by the critical difference.
    """

    one: str
    other: str
    rank_difference: float
    p: float
    holm: float
    nemenyi: bool


class Significance(NamedTuple):
    """How learners stand over several data sets.

    Examples
    --------
    >>> found = significance(["a", "b", "c"], [[0.9, 0.8, 0.7]] * 8)
    >>> found.mean_ranks, round(found.statistic, 1), found.p < 0.01
    ((1.0, 2.0, 3.0), 16.0, True)
    """

    learners: tuple[str, ...]
    data_sets: int
    mean_ranks: tuple[float, ...]
    statistic: float
    """Friedman's χ²; NaN for fewer than three learners."""
    p: float
    critical_difference: float
    pairs: tuple[LearnerPair, ...]


def significance(
    learners: Sequence[str],
    scores: ArrayLike,
    *,
    lower_is_better: bool = False,
    alpha: float = 0.05,
) -> Significance:
    """Compare learners over data sets: one row of `scores` per data set, a column per learner.

    Examples
    --------
    >>> found = significance(["a", "b"], [[0.9, 0.8], [0.8, 0.7], [0.7, 0.6]])
    >>> found.pairs[0].p
    0.25
    """
    table = np.asarray(scores, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] != len(learners) or min(table.shape) < 2:
        raise ParameterError(
            "significance: expected at least two data sets and two learners, one column per"
            f" learner, got {table.shape} for {len(learners)} learners."
        )
    if not np.isfinite(table).all():
        raise ParameterError("significance: every score must be a finite number.")
    if not lower_is_better:
        table = -table
    count, width = table.shape
    ranks = mean_ranks(table)
    statistic, p = friedman(table)
    apart = critical_difference(width, count, alpha)
    pairs = list(combinations(range(width), 2))
    raw = [wilcoxon(table[:, i], table[:, j]) for i, j in pairs]
    compared = tuple(
        LearnerPair(
            learners[i],
            learners[j],
            ranks[i] - ranks[j],
            raw_p,
            corrected,
            abs(ranks[i] - ranks[j]) >= apart,
        )
        for (i, j), raw_p, corrected in zip(pairs, raw, holm(raw), strict=True)
    )
    return Significance(tuple(learners), count, tuple(ranks), statistic, p, apart, compared)


def mean_ranks(table: NDArray[np.float64]) -> list[float]:
    """The mean rank of each column; the smallest of a row has rank 1, equals share theirs.

    Examples
    --------
    >>> mean_ranks(np.array([[1.0, 2.0, 3.0], [1.0, 1.0, 2.0]]))
    [1.25, 1.75, 3.0]
    """
    from scipy.stats import rankdata  # type: ignore[import-untyped, unused-ignore]

    found: list[float] = rankdata(table, axis=1).mean(axis=0).tolist()
    return found


def friedman(table: NDArray[np.float64]) -> tuple[float, float]:
    """Friedman's χ² and its p value; of fewer than three columns there is none (NaN)."""
    if table.shape[1] < 3:
        return math.nan, math.nan
    if (table == table[:, :1]).all():  # all equal: nothing to tell apart
        return 0.0, 1.0
    from scipy.stats import friedmanchisquare

    found = friedmanchisquare(*table.T)
    return float(found.statistic), float(found.pvalue)


def critical_difference(learners: int, data_sets: int, alpha: float = 0.05) -> float:
    """By how much mean ranks must differ, by Nemenyi's test.

    Examples
    --------
    >>> round(critical_difference(5, 30), 3)  # 2.728·√(5·6/(6·30))
    1.114
    """
    from scipy.stats import studentized_range

    quantile = float(studentized_range.ppf(1 - alpha, learners, np.inf)) / math.sqrt(2)
    return quantile * math.sqrt(learners * (learners + 1) / (6 * data_sets))


def wilcoxon(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """The p value of Wilcoxon's signed-rank test, two-sided; 1 if there is no difference at all."""
    differences = one - other
    if not differences.any():
        return 1.0
    from scipy import stats  # type: ignore[import-untyped, unused-ignore]

    return float(stats.wilcoxon(differences).pvalue)


def holm(values: Sequence[float]) -> list[float]:
    """p values corrected for their number, in the order given; NaN stays and is not counted.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    known = sorted((p, place) for place, p in enumerate(values) if not math.isnan(p))
    found, largest = [math.nan] * len(values), 0.0
    for position, (p, place) in enumerate(known):
        largest = max(largest, min(1.0, (len(known) - position) * p))
        found[place] = largest
    return found
