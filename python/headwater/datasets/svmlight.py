"""svmlight text: a label, then `index:value` pairs, a row a line.

Indices count from 1 and ascend; zeros may be left out.
"""

import gzip
import warnings
import zlib
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
    text = b"\n" + text.translate(bytes.maketrans(b"\r\t", b"  ")) + b"\n"
    letters = np.frombuffer(text, np.uint8)
    colon = letters == ord(":")
    gap = colon | (letters == ord(" ")) | (letters == ord("\n"))
    starts = np.flatnonzero(gap[:-1] & ~gap[1:]) + 1  # of the numbers
    newlines = np.flatnonzero(letters == ord("\n"))

    def refuse(at: int, what: str) -> None:
        line = int(np.searchsorted(newlines, at))
        raise DatasetError(f"{where}, line {line}: {what}.")

    heads = np.unique(np.searchsorted(starts, newlines))  # the first number of each line
    heads = heads[heads < len(starts)]
    counts = np.diff(heads, append=len(starts))
    place = np.arange(len(starts)) - np.repeat(heads, counts)  # 0: label; then index, value, ...
    is_value = (place > 0) & (place % 2 == 0)
    paired = colon[starts - 1] == is_value
    loose = np.flatnonzero(colon[1:-1] & (gap[:-2] | gap[2:])) + 1
    if len(loose):
        refuse(int(loose[0]), "a ':' must stand between an index and a value")
    if not paired.all():
        refuse(int(starts[np.argmin(paired)]), "must hold a label and index:value pairs")
    if (counts % 2 == 0).any():
        last = heads[np.argmax(counts % 2 == 0)]
        refuse(int(starts[last]), "must hold a label and index:value pairs")

    numbers = _numbers(text)
    if numbers is None or len(numbers) != len(starts):
        words = text.replace(b":", b" ").split()
        wrong = next(place for place, word in enumerate(words) if not _is_number(word))
        refuse(
            int(starts[wrong]), f"must hold numbers only, got {words[wrong].decode('latin-1')!r}"
        )
    finite = np.isfinite(numbers)
    if not finite.all():
        refuse(int(starts[np.argmin(finite)]), "must hold finite numbers only")

    labels, columns = numbers[heads], numbers[place % 2 == 1]
    whole = labels == np.rint(labels)
    if not whole.all():
        row = np.argmin(whole)
        refuse(int(starts[heads[row]]), f"the label must be a whole number, got {labels[row]:g}")
    indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts // 2)])
    before = np.zeros(len(columns))
    before[1:] = columns[:-1]
    before[indptr[:-1][counts > 1]] = 0
    right = (columns == np.rint(columns)) & (before < columns) & (columns <= d)
    if not right.all():
        wrong = np.argmin(right)
        refuse(
            int(starts[place % 2 == 1][wrong]),
            f"indices must be whole, ascend and lie in 1..{d}, got {columns[wrong]:g}",
        )
    return Csr(indptr, (columns - 1).astype(np.int32), numbers[is_value], labels.astype(np.int64))


def _numbers(text: bytes) -> NDArray[np.float64] | None:
    """All numbers of a text; None if something in it is none."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)  # how NumPy says so
        try:
            return np.fromstring(text.translate(bytes.maketrans(b":\n", b"  ")), sep=" ")
        except (DeprecationWarning, ValueError):
            return None


def _is_number(word: bytes) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return b"_" not in word
