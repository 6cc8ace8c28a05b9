"""`about` says what `pytest.approx` says."""

from math import inf, nan
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from about import about

SIZES = st.sampled_from([0.0, 1e-12, 1e-9, 1e-6, 0.1])
NUMBERS = st.one_of(
    st.sampled_from([0.0, 1.0, 1 + 1e-9, 1 - 1e-9, 1 + 1e-6, 2.0, 1e-12, -1e-9, inf, -inf, nan]),
    st.floats(),
)


@settings(derandomize=True, deadline=None)
@given(NUMBERS, NUMBERS, SIZES, SIZES)
def test_of_two_numbers(got: float, wanted: float, rel: float, abs: float) -> None:
    said = got == pytest.approx(wanted, rel=rel, abs=abs)
    assert (got == about(wanted, rel=rel, abs=abs)) is said
    assert ([1.0, got] == about([1.0, wanted], rel=rel, abs=abs)) is said
    assert ((got, 1.0) == about((wanted, 1.0), rel=rel, abs=abs)) is said
    assert ({"a": got} == about({"a": wanted}, rel=rel, abs=abs)) is said


@pytest.mark.parametrize(
    ("got", "wanted"),
    [([1.0], [1.0, 1.0]), ([1.0, 1.0], [1.0]), ({"a": 1.0}, {"b": 1.0}), ([1.0], [])],
)
def test_other_places_are_not_equal(got: Any, wanted: Any) -> None:
    assert got != pytest.approx(wanted)
    assert got != about(wanted)


def test_without_sizes_it_is_as_near_as_approx_without_a_share() -> None:
    for got in (1e-12, 1.1e-12, 0.9e-12):
        assert (got == about(0.0)) == (got == pytest.approx(0.0))
