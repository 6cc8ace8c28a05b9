"""Mistakes of the user: a sentence and exit code 2, no traceback."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

STOPPED = 130
"""The exit code after Ctrl-C, as shells have it."""


class Mistake(click.ClickException):
    """An error that the user can fix: the sentence is printed, without a traceback."""

    exit_code = 2


def check_writable(out: Path, option: str = "--out") -> None:
    """Raise unless a file can be written there; before the work, not after it."""
    existed = out.exists()
    try:
        out.open("a").close()
        if not existed:
            out.unlink()
    except OSError as error:
        raise Mistake(f"{option}: {out} cannot be written: {error.strerror}.") from error


def check_apart(option: str, out: Path, *inputs: str | Path) -> None:
    """Raise if what is to be written is also read: the input would be lost."""
    for path in map(Path, inputs):
        if out.exists() and path.exists() and out.samefile(path):
            raise Mistake(f"{option}: {out} is also read here; write to another file.")


@contextmanager
def disk(path: str | Path) -> Iterator[None]:
    """Turn errors of the file system into a sentence that names the file."""
    try:
        yield
    except OSError as error:
        if error.errno == errno.EPIPE:  # the reader of our output has closed it
            raise
        what = error.strerror or str(error)
        raise Mistake(f"{error.filename or path}: {what}.") from error
