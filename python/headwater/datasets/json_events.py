"""A stream in the order of time as JSON lines: `{"x": {name: value}, "y": label}`, one per event.

Only what was present is listed; other keys, such as the time, are not read.
"""

import gzip
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from headwater.errors import DatasetError


class JsonRows(NamedTuple):
    """The three arrays of CSR, one label per row, and the names of the columns."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    data: NDArray[np.float64]
    labels: NDArray[Any]
    names: list[str]


def read_events(path: Path) -> JsonRows:
    """Read a gzipped file; columns are numbered as they appear, labels 0 and 1 become −1 and +1."""
    columns: dict[str, int] = {}
    ends: list[int] = [0]
    indices: list[int] = []
    data: list[float] = []
    labels: list[int | str] = []
    try:
        with gzip.open(path, "rb") as lines:
            for row, line in enumerate(lines, 1):
                features, label = _event(path, row, line)
                indices += [columns.setdefault(name, len(columns)) for name in features]
                data += features.values()
                ends.append(len(indices))
                labels.append(label)
    except (OSError, EOFError) as reason:
        raise DatasetError(f"{path}: must be gzipped text: {reason}.") from None
    found = np.array(labels)
    if set(labels) == {0, 1}:
        found = np.where(found == 1, 1, -1)
    return JsonRows(
        np.array(ends, np.int64),
        np.array(indices, np.int32),
        np.array(data, np.float64),
        found,
        list(columns),
    )


def _event(path: Path, row: int, line: bytes) -> tuple[dict[str, float], int | str]:
    try:
        event = json.loads(line)
        features, label = event["x"], event["y"]
        numbers = all(type(value) in (int, float) for value in features.values())
    except (ValueError, LookupError, TypeError, AttributeError):
        numbers = False
    if not numbers or not isinstance(label, int | str):
        raise DatasetError(
            f'{path}, row {row}: must be {{"x": {{name: number}}, "y": label}}, got'
            f" {line[:60].decode(errors='replace').strip()}."
        )
    return features, label
