"""svmlight text: a label, then `index:value` pairs, a row a line.

Indices count from 1 and ascend; zeros may be left out.
"""

import gzip
import warnings
import zlib
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headwater.errors import DatasetError


class Csr(NamedTuple):
    """The three arrays of CSR and a label a row."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    data: NDArray[np.float64]
    labels: NDArray[np.int64]


def read_svmlight(path: Path, d: int) -> Csr:
    """Read a file of gzipped svmlight text with `d` columns; column 1 becomes index 0."""
    try:
        with gzip.open(path) as file:
            text = file.read()
    except (OSError, EOFError, zlib.error) as reason:
        raise DatasetError(f"{path}: must be gzipped text: {reason}.") from reason
    return parse_svmlight(str(path), text, d)


def parse_svmlight(where: str, text: bytes, d: int) -> Csr:
    """The rows of svmlight text; an error names `where` and the line."""
    text = b"\n" + text.translate(bytes.maketrans(b"\r\t\v\f", b"    ")) + b"\n"
    letters = np.frombuffer(text, np.uint8)
    colon, newline = letters == ord(":"), letters == ord("\n")
    gap = colon | newline | (letters == ord(" "))
    starts = np.flatnonzero(gap[:-1] & ~gap[1:]) + 1  # where each number begins
    lines = np.flatnonzero(newline)

    def demand(right: NDArray[np.bool_], places: NDArray[np.intp], what: str) -> None:
        if not right.all():
            at = int(places[np.argmin(right)])
            got = text[at : at + 40].split()[0].decode("latin-1")
            line = int(np.searchsorted(lines, at))
            raise DatasetError(f"{where}, line {line}: {what}, got {got!r}.")

    heads = np.unique(np.searchsorted(starts, lines))  # the first number of each line
    heads = heads[heads < len(starts)]
    counts = np.diff(heads, append=len(starts))
    place = np.arange(len(starts)) - np.repeat(heads, counts)  # 0: label; then index, value, ...
    is_index, is_value = place % 2 == 1, (place % 2 == 0) & (place > 0)
    is_last = np.append(place[1:] == 0, True)[: len(place)]

    pairs = "must hold a label and index:value pairs"
    alone = (gap[:-2] | gap[2:])[colon[1:-1]]  # of each colon: no number on one of its sides
    demand(~alone, np.flatnonzero(colon), pairs)
    demand((colon[starts - 1] == is_value) & ~(is_index & is_last), starts, pairs)
    numbers = _numbers(text)
    if len(numbers) != len(starts):
        words = text.replace(b":", b" ").split()
        demand(np.array([_is_number(word) for word in words]), starts, "must hold numbers only")
    whole = numbers == np.rint(numbers)
    before = np.where(place > 2, np.roll(numbers, 2), 0)  # the index before an index
    demand(np.isfinite(numbers), starts, "must hold finite numbers only")
    demand(whole | (place > 0), starts, "a label must be a whole number")
    demand(
        ~is_index | (whole & (before < numbers) & (numbers <= d)),
        starts,
        f"indices must be whole numbers in 1..{d} that ascend",
    )
    return Csr(
        indptr=np.concatenate([np.zeros(1, np.int64), np.cumsum(counts // 2)]),
        indices=(numbers[is_index] - 1).astype(np.int32),
        data=numbers[is_value],
        labels=numbers[heads].astype(np.int64),
    )


def _numbers(text: bytes) -> NDArray[np.float64]:
    """All numbers of a text; none at all if something else is in it."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)  # how NumPy says so
        try:
            return np.fromstring(text.translate(bytes.maketrans(b":\n", b"  ")), sep=" ")
        except (DeprecationWarning, ValueError):
            return np.empty(0)


def _is_number(word: bytes) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return b"_" not in word


def format_svmlight(rows: Csr) -> bytes:
    """The text of rows: zeros left out, whole numbers without a point, +1 with its sign."""
    sign = "+d" if set(rows.labels.tolist()) <= {-1, 1} else "d"
    lines = []
    for (start, stop), label in zip(
        pairwise(rows.indptr.tolist()), rows.labels.tolist(), strict=True
    ):
        columns, values = rows.indices[start:stop].tolist(), rows.data[start:stop].tolist()
        pairs = [
            f"{column + 1}:{int(value) if value.is_integer() and abs(value) < 1e15 else value!r}"
            for column, value in zip(columns, values, strict=True)
            if value != 0
        ]
        lines.append(" ".join([f"{label:{sign}}", *pairs]))
    return "".join(f"{line}\n" for line in lines).encode()
