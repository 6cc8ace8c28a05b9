"""The redundant stream: which columns are copied, where the copies come, what they are called."""

import numpy as np
import pytest

from headwater.errors import ParameterError
from headwater.streams import Redundant, Trapezoid

VALUES = np.random.default_rng(0).normal(size=(60, 10))
LABELS = VALUES[:, 0] > 0


@pytest.mark.parametrize(("copied", "count"), [(0.25, 2), (0.3, 3), (0.5, 5), (1, 10)])
def test_so_many_columns_are_copied_once(copied: float, count: int) -> None:
    stream = Redundant(VALUES, LABELS, copied=copied)
    assert len(stream.copies) == len(set(stream.copies.values())) == count
    assert stream.names == (*range(10), *stream.copies)


def test_a_copy_has_the_value_of_its_original_and_never_comes_before_it() -> None:
    for permute_columns in (False, True):
        stream = Redundant(VALUES, LABELS, copied=1, permute_columns=permute_columns)
        met = 0
        for event, _ in stream:
            for copy, original in stream.copies.items():
                if copy in event:
                    assert event[copy] == event[original]
                    met += 1
        # Chunks of six rounds show 2, 4, ..., 20 columns, the first ten of them the table's.
        assert met == 6 * (2 + 4 + 6 + 8 + 10)


def test_the_widened_table_is_shown_as_a_trapezoid() -> None:
    stream = Redundant(VALUES, LABELS, copied=0.5)
    assert stream.shown == tuple(chunk * 15 // 10 for chunk in range(1, 11))
    assert [len(event) for event, _ in stream] == [n for n in stream.shown for _ in range(6)]
    assert Redundant(VALUES, LABELS, copied=0.5, chunks=1).shown == (15,)
    assert Redundant(VALUES, LABELS, copied=0.5, fractions=(0.2, 1)).shown == (3, 15)
    assert Redundant(VALUES, LABELS, copied=0.5, widening="olvf").shown[:2] == (2, 3)


def test_nothing_copied_is_the_trapezoid_itself() -> None:
    plain = Trapezoid(VALUES, LABELS, permute_columns=True, seed=8)
    same = Redundant(VALUES, LABELS, copied=0, permute_columns=True, seed=8)
    assert list(plain) == list(same)
    assert same.copies == {}


def test_the_rows_and_columns_come_in_the_order_of_the_trapezoid_of_the_same_seed() -> None:
    plain = Trapezoid(VALUES, LABELS, permute_columns=True, seed=9)
    stream = Redundant(VALUES, LABELS, permute_columns=True, seed=9)
    assert stream.names[:10] == plain.names
    assert stream.batch()[1].tolist() == plain.batch()[1].tolist()


def test_a_larger_share_copies_what_a_smaller_one_does() -> None:
    few, many = (Redundant(VALUES, LABELS, copied=share, seed=1).copies for share in (0.3, 0.8))
    assert few.items() < many.items()


def test_names_that_cannot_be_told_from_those_of_copies_are_refused() -> None:
    with pytest.raises(ParameterError, match="two columns would be called 'copy of 1'"):
        Redundant([[1.0, 2.0]], [True], copied=1, names=[1, "copy of 1"])
    with pytest.raises(ParameterError, match="two columns would be called 'copy of 1'"):
        Redundant([[1.0, 2.0]], [True], copied=1, names=[1, "1"])
