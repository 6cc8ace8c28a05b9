"""Where commands write: files that are whole or not there, pipes and devices, standard output."""

import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from headwater.cli.mistakes import Mistake, disk
from headwater.learners.atomic_file import atomic_file, find_target, is_stream

STANDARD_OUTPUT = "standard output"
PIECE = 1 << 13
"""Characters at a time: a long write may hide that whoever reads the pipe has gone meanwhile."""


class TextOutput:
    """Takes text; what goes wrong names the output, not the file that is being read meanwhile."""

    def __init__(self, write: Callable[[str], object], name: str) -> None:
        self._write, self._name = write, name

    def write(self, text: str) -> None:
        """Write some text."""
        try:
            for start in range(0, len(text), PIECE):
                self._write(text[start : start + PIECE])
        except OSError as error:
            raise type(error)(error.errno, error.strerror, self._name) from None


@contextmanager
def text_output(out: Path | None) -> Iterator[TextOutput]:
    """A file for text in UTF-8, there whole or not at all; a pipe or a device; standard output."""
    if out is None:
        if sys.stdout is None:
            raise Mistake(f"{STANDARD_OUTPUT}: it is closed; --out names a file to write to.")
        yield TextOutput(sys.stdout.write, STANDARD_OUTPUT)
        return
    with disk(out):
        if is_stream(out):
            with out.open("w", newline="", encoding="utf-8") as stream:
                yield TextOutput(stream.write, str(out))
        else:
            with atomic_file(out) as file:
                yield TextOutput(lambda text: file.write(text.encode()), str(out))


def check_writable(
    out: Path, option: str = "--out", *, streams: bool = True, replaced: bool = True
) -> None:
    """Raise unless a file can be written there; before the work, not after it.

    `streams`: a pipe or a device will do. `replaced`: a file that is there will be replaced by
    another, for which its folder must be writable.
    """
    if streams and is_stream(out):
        return
    try:
        target, old = find_target(out)
        if replaced or old is None:
            tempfile.TemporaryFile(dir=target.parent).close()
    except OSError as error:
        raise Mistake(f"{option}: {out} cannot be written: {error.strerror}.") from error


def check_apart(option: str, out: Path, *inputs: str | Path) -> None:
    """Raise if what is to be written is also read: the input would be lost."""
    for path in map(Path, inputs):
        if out.exists() and path.exists() and out.samefile(path):
            raise Mistake(f"{option}: {out} is also read here; write to another file.")


def echo_json(told: Any) -> None:
    """Print JSON."""
    click.echo(json.dumps(told, indent=2, ensure_ascii=not is_unicode()))


def is_unicode() -> bool:
    """Whether standard output can take every character."""
    return (getattr(sys.stdout, "encoding", None) or "").lower().startswith("utf")
