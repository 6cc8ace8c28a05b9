"""Compares two learners by their scores in the same repeats."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from headwater.errors import ParameterError


class PairedTest(NamedTuple):
    """Student's paired t-test.

    `difference` is the mean of a − b, `t` that mean in its standard errors, `p` the probability of
    a |t| at least as large if there were no difference.

    Examples
    --------
    >>> PairedTest(difference=0.02, t=3.1, p=0.006).p < 0.05
    True
    """

    difference: float
    t: float
    p: float


def paired_t_test(a: ArrayLike, b: ArrayLike) -> PairedTest:
    """Compare two learners by their scores in the same repeats. It needs SciPy.

    Parameters
    ----------
    a, b
        One score per repeat; the repeats of both in the same order, at least two.

    Examples
    --------
    >>> test = paired_t_test([0.82, 0.85, 0.84, 0.86], [0.80, 0.84, 0.81, 0.85])
    >>> round(test.difference, 4), round(test.t, 2), round(test.p, 3)
    (0.0175, 3.66, 0.035)
    """
    one, other = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if one.ndim != 1 or one.shape != other.shape or len(one) < 2:
        raise ParameterError(
            "paired_t_test: a and b must be scores of the same repeats, at least two, got shapes"
            f" {one.shape} and {other.shape}."
        )
    if not (np.isfinite(one).all() and np.isfinite(other).all()):
        raise ParameterError("paired_t_test: every score must be a finite number.")
    differences = one - other
    if np.ptp(differences) == 0:  # no spread: the same in every repeat
        sign = float(np.sign(differences[0]))
        return PairedTest(float(differences[0]), sign * math.inf if sign else 0.0, float(not sign))
    from scipy import stats  # type: ignore[import-untyped, unused-ignore]

    result = stats.ttest_rel(one, other)
    return PairedTest(float(differences.mean()), float(result.statistic), float(result.pvalue))
