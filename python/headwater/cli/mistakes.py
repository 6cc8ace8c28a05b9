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
