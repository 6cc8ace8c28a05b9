"""Mistakes of the user: a sentence and exit code 2, no traceback."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

STOPPED = 130
"""The exit code after Ctrl-C, as shells have it."""


class Mistake(click.ClickException):
    """What the user can mend: the sentence is printed, no traceback."""

    exit_code = 2


@contextmanager
def disk(path: str | Path) -> Iterator[None]:
    """What the disk says no to is a sentence that names the file."""
    try:
        yield
    except OSError as error:
        if error.errno == errno.EPIPE:  # whoever read our output has had enough
            raise
        what = error.strerror or str(error)
        raise Mistake(f"{error.filename or path}: {what}.") from error
