"""Mistakes of the user: a sentence and exit code 2, no traceback."""

from pathlib import Path

import click


class Mistake(click.ClickException):
    """What the user can mend: the sentence is printed, no traceback."""

    exit_code = 2


def check_writable(out: Path) -> None:
    """Raise unless a file can be written there; before the work, not after it."""
    existed = out.exists()
    try:
        out.open("a").close()
        if not existed:
            out.unlink()
    except OSError as error:
        raise Mistake(f"--out: {out} cannot be written: {error.strerror}.") from error
