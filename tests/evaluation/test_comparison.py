"""The paired t-test, by hand and at its edges."""

import math

import numpy as np
import pytest

from headwater.errors import ParameterError
from headwater.evaluation import paired_t_test

pytest.importorskip("scipy")


def test_t_is_the_mean_difference_in_its_standard_errors() -> None:
    a, b = np.array([3.0, 5.0, 4.0, 8.0]), np.array([1.0, 4.0, 4.0, 5.0])  # differences 2 1 0 3
    test = paired_t_test(a, b)
    assert test.difference == 1.5
    assert test.t == pytest.approx(1.5 / (math.sqrt(5 / 3) / 2))
    assert 0.1 < test.p < 0.105  # t = 2.324, three degrees of freedom
    swapped = paired_t_test(b, a)
    assert (swapped.difference, swapped.t, swapped.p) == (-1.5, -test.t, test.p)


def test_without_a_difference_one_is_rejected_in_one_case_of_twenty() -> None:
    generator = np.random.default_rng(0)
    rejected = sum(
        paired_t_test(generator.normal(size=20), generator.normal(size=20)).p < 0.05
        for _ in range(1_000)
    )
    assert 30 < rejected < 72  # three standard deviations


def test_differences_without_spread_need_no_statistics() -> None:
    assert paired_t_test([1.0, 2.0], [1.0, 2.0]) == (0.0, 0.0, 1.0)
    assert paired_t_test([1.0, 2.0], [2.0, 3.0]) == (-1.0, -math.inf, 0.0)


def test_what_cannot_be_paired_is_refused() -> None:
    for a, b in (([1.0], [2.0]), ([1.0, 2.0], [1.0]), ([[1.0, 2.0]], [[1.0, 2.0]])):
        with pytest.raises(ParameterError, match="scores of the same repeats, at least two"):
            paired_t_test(a, b)
    with pytest.raises(ParameterError, match="finite"):
        paired_t_test([1.0, math.nan], [1.0, 2.0])
