"""Events in the forms of other libraries, and back."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import scipy.sparse  # type: ignore[import-untyped]

from headwater.testing.small_stream import KEYS, Event, SmallStream, keyed
from headwater.testing.small_stream import csr as rows_of


def plain(x: Mapping[Any, Any]) -> dict[Any, float]:
    """An event as numbers, in the way that every door takes it."""
    return {
        f"{name}={value}" if isinstance(value, str) else name: (
            1.0 if isinstance(value, str) else float(value)
        )
        for name, value in x.items()
        if value is not None and value == value
    }


def csr(events: Sequence[Event], columns: int) -> Any:
    """The events as SciPy's matrix; what an event does not carry is not stored, zeros are."""
    rows = rows_of(events)
    return scipy.sparse.csr_matrix(
        (rows.data, rows.indices, rows.indptr), shape=(len(events), columns)
    )


def framed(stream: SmallStream) -> list[Event]:
    """The events with a key a column; None is absent."""
    return [{key: event.get(key) for key in KEYS} for event in keyed(stream.events)]


def listed(column: Any) -> list[Any]:
    """The values of a column of pandas, polars or pyarrow; a missing one is None."""
    if isinstance(column, pd.Series):
        return [None if gone else value for value, gone in zip(column, column.isna(), strict=True)]
    return list(column.to_pylist() if hasattr(column, "to_pylist") else column)
