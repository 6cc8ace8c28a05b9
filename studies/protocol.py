"""What every study needs: data sets, repeats in several processes, the command line."""

import multiprocessing
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click
import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track

from headwater.studies.protocol import unit_rows, z_scores

TOLERATED_ERRORS = 3.0  # standard errors by which numbers that agree may differ


class Data(NamedTuple):
    """A data set, scaled as in the papers."""

    values: NDArray[np.float64]
    labels: NDArray[np.int64]


def file_of(folder: Path, name: str) -> Path:
    """Where a data set lies."""
    return folder / f"{name}.svm.gz"


@lru_cache(maxsize=2)
def load(path: Path) -> Data:
    """Read a binary data set and scale it: z-scores by column, then unit rows."""
    raw = read(path)
    return raw._replace(values=scaled(raw.values))


def read(path: Path) -> Data:
    """A data set as it lies in its file."""
    from sklearn.datasets import load_svmlight_file  # type: ignore[import-untyped, unused-ignore]

    X, y = load_svmlight_file(path, zero_based=False)
    return Data(X.toarray(), y.astype(np.int64))


def scaled(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The z-scores by column, then each row of length 1."""
    return unit_rows(z_scores(values))


Work = TypeVar("Work")
Result = TypeVar("Result")


def in_order(task: Callable[[Work], Result], work: list[Work], jobs: int) -> Iterator[Result]:
    """The results in the order of the work, with a bar while it is done."""
    bar = {"description": "repeats", "total": len(work), "console": Console(stderr=True)}
    if jobs == 1:
        yield from track(map(task, work), **bar)  # type: ignore[arg-type]
        return
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=fresh) as pool:
        yield from track(pool.map(task, work), **bar)  # type: ignore[arg-type]


def check_data(folder: Path | None, names: Iterable[str]) -> Path:
    """The folder, once it is known to hold every data set."""
    if folder is None:
        raise click.UsageError("--data: say where the data sets lie, or set HEADWATER_DATA.")
    if not folder.is_dir():
        raise click.UsageError(f"--data: there is no folder {folder}.")
    files = dict.fromkeys(file_of(folder, name) for name in names)
    missing = [file.name for file in files if not file.is_file()]
    if missing:
        raise click.UsageError(f"--data: {folder} lacks {', '.join(missing)}.")
    return folder


def check_reader() -> None:
    """Raise unless scikit-learn, which reads the files, is there."""
    if find_spec("sklearn") is None:
        raise click.ClickException("The data sets are read with scikit-learn: install it first.")


def study(repeats: int) -> Callable[[Callable[..., None]], click.Command]:
    """A command with the options of every study: --data, --repeats, --jobs."""

    def command(main: Callable[..., None]) -> click.Command:
        options: list[Any] = [
            click.option(
                "--data",
                type=click.Path(path_type=Path),
                envvar="HEADWATER_DATA",
                help="Folder with NAME.svm.gz files. Default: the variable HEADWATER_DATA.",
            ),
            click.option(
                "--repeats", type=click.IntRange(min=2), default=repeats, show_default=True
            ),
            click.option(
                "--jobs",
                type=click.IntRange(min=1),
                default=2,
                show_default=True,
                help="Processes; the numbers are the same for every number of them.",
            ),
        ]
        for option in reversed(options):
            main = option(main)
        return click.command(context_settings={"help_option_names": ["-h", "--help"]})(main)

    return command
