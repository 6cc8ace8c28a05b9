"""DataFrames, brought into the shape that learners take."""

from typing import Any

from headwater.types import Name


def read_frame(frame: Any) -> tuple[Any, list[Name]]:
    """The values of a frame of numbers, null as NaN, and the names of its columns."""
    numeric = all(getattr(dtype, "kind", "O") in "biuf" for dtype in frame.dtypes)
    values = frame.to_numpy(dtype=float, na_value=float("nan")) if numeric else frame.to_numpy()
    return values, frame.columns.tolist()
