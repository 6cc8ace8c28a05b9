"""Fetch, check and store data sets whose public file is svmlight text."""

import bz2
import gzip
import hashlib
import lzma
import tempfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from headwater.datasets.dataset import check_counts, check_text, how_to_get, load
from headwater.datasets.registry import Entry, entry
from headwater.datasets.svmlight import SvmlightRows, format_svmlight, read_svmlight
from headwater.errors import DatasetError
from headwater.learners.atomic_file import write_file

if TYPE_CHECKING:
    from rich.progress import Progress

PACKED = {b"BZh": bz2.decompress, b"\xfd7zXZ": lzma.decompress, b"\x1f\x8b": gzip.decompress}
"""How a file begins, and what unpacks it."""
SECONDS = 30  # without an answer


def fetch(
    name: str | Entry,
    folder: str | Path | None = None,
    mirror: str | None = None,
    progress: bool = False,
) -> Path:
    """Fetch a data set and store it as a file that `load` finds; return its path.

    The rows are those of the public file, in its order. Two labels become −1 and +1 in their
    order, several 1, 2, ... The file is checked as `load` does before it is stored; a correct file
    that already exists is not fetched again. Needs pooch (`pip install "headwater[datasets]"`).

    Parameters
    ----------
    name
        A name that `entries` lists with an address and a checksum, or such an entry of your own.
    folder
        Where to store it; None: where `load` looks.
    mirror
        The address of a folder with the public files under their own names; None: the addresses of
        the entry.
    progress
        Whether to show a progress bar.

    Examples
    --------
    >>> import headwater as hw
    >>> hw.datasets.fetch("vote")
    Traceback (most recent call last):
    ...
    headwater.errors.DatasetError: vote: there is no public file of svmlight text. It comes ...
    """
    known = name if isinstance(name, Entry) else entry(name)
    if not known.urls or known.d is None:
        missing = "there is no public file of svmlight text"
        raise DatasetError(f"{known.name}: {missing}. {how_to_get(known)}")
    path = known.path(folder)
    if _is_there(known, folder):
        return path
    if not known.is_fetchable:
        missing = "its checksum (SHA-256) is not known, and nothing is fetched unchecked"
        raise DatasetError(f"{known.name}: {missing}. {how_to_get(known)}")
    urls = known.urls
    if mirror is not None:
        urls = tuple(f"{mirror.rstrip('/')}/{url.rpartition('/')[2]}" for url in urls)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent) as workshop:
            parts = _download(known, urls, Path(workshop), progress)
            whole = Path(workshop) / "whole.svm"
            whole.write_bytes(b"\n".join(map(_unpacked, urls, (p.read_bytes() for p in parts))))
            where = " + ".join(urls)
            rows = _with_our_labels(read_svmlight(whole, known.d, where))
            text = format_svmlight(rows)
            check_counts(known, where, rows)
            check_text(known, where, hashlib.sha256(text).hexdigest())
            write_file(path, gzip.compress(text, mtime=0))
    except OSError as reason:
        why = f"{path} cannot be written: {reason.strerror}"
        raise DatasetError(f"{known.name}: {why}.") from reason
    return path


def _is_there(entry: Entry, folder: str | Path | None) -> bool:
    try:
        load(entry, folder)
    except DatasetError:
        return False
    return True


def _download(entry: Entry, urls: tuple[str, ...], folder: Path, progress: bool) -> list[Path]:
    """The files at these addresses."""
    try:
        import pooch  # type: ignore[import-untyped]
        import requests
    except ModuleNotFoundError as missing:
        raise DatasetError(
            f'{entry.name}: fetching needs pooch; pip install "headwater[datasets]" brings it.'
        ) from missing
    from rich.console import Console
    from rich.progress import DownloadColumn, Progress

    pooch.get_logger().setLevel("ERROR")
    columns = (*Progress.get_default_columns(), DownloadColumn())
    files = []
    with Progress(*columns, console=Console(stderr=True), disable=not progress) as bars:
        for number, url in enumerate(urls):
            downloader = pooch.HTTPDownloader(_Bar(bars, url), chunk_size=1 << 16, timeout=SECONDS)
            try:
                file = pooch.retrieve(url, None, f"part-{number}", folder, downloader=downloader)
            except requests.HTTPError as answer:
                why = f"the server answers {str(answer).partition(' for url')[0]}"
            except requests.Timeout:
                why = f"there is no answer within {SECONDS} seconds"
            except requests.ConnectionError:
                why = "the server cannot be reached"
            except requests.RequestException as reason:
                why = str(reason).rstrip(".")
            else:
                files.append(Path(file))
                continue
            raise DatasetError(f"{entry.name}: {url} cannot be fetched: {why}.")
    return files


class _Bar:
    """A bar of rich, as pooch wants one; a step back to 0 is not shown."""

    def __init__(self, bars: "Progress", url: str) -> None:
        self._bars = bars
        self._task = bars.add_task(url.rpartition("/")[2], total=None)
        self.total = 0

    def update(self, size: int) -> None:
        self._bars.update(self._task, advance=size, total=self.total or None)

    def reset(self) -> None:
        self._bars.update(self._task, completed=0)

    def close(self) -> None:
        """Leave it as it is."""


def _unpacked(where: str, packed: bytes) -> bytes:
    """The text of a file that may be packed."""
    for beginning, unpack in PACKED.items():
        if packed.startswith(beginning):
            try:
                return unpack(packed)
            except (OSError, ValueError, EOFError, lzma.LZMAError, zlib.error) as reason:
                raise DatasetError(f"{where}: cannot be unpacked: {reason}.") from reason
    return packed


def _with_our_labels(rows: SvmlightRows) -> SvmlightRows:
    """Two labels become −1 and +1, several 1, 2, ..., in their order."""
    found, class_of = np.unique(rows.labels, return_inverse=True)
    ours = np.array([-1, 1]) if len(found) == 2 else np.arange(1, len(found) + 1)
    return rows._replace(labels=ours[class_of])
