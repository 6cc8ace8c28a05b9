"""A file that is written whole or not at all: beside the old one, which it then replaces.

Whoever is killed while writing leaves a file `.hw-<process>-<random>.tmp` behind; the next one that
writes in the same folder removes it.
"""

import errno
import os
import re
import secrets
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

if sys.platform != "win32":
    import fcntl

LEFT_OVER = re.compile(r"\.hw-(\d+)-[0-9a-f]{16}\.tmp")
QUIET = 60
"""Seconds after which a file that nobody holds is left over, even if its process lives."""
KINDS = {
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
}
UNABLE = {errno.EACCES, errno.EPERM, errno.EINVAL, errno.ENOTSUP, errno.ENOSYS, errno.EBADF}
"""What a file system says that cannot do a thing, as opposed to one that fails at it."""


def write_file(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file such that a reader finds the old one or the new one, never half of it."""
    with atomic_file(path) as file:
        file.write(data)


@contextmanager
def atomic_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write to; it replaces the one at `path` at the end, unless there was an error.

    A symbolic link is followed and stays. The new file has the rights of the old one.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "numbers.txt")
    ...     with atomic_file(path) as file:
    ...         _ = file.write(b"1\\n")
    ...         before = path.exists()
    ...     before, path.read_text()
    (False, '1\\n')
    """
    target, old = find_target(path)
    folder = str(target.parent)
    _remove_left_overs(folder)
    partial = os.path.join(folder, f".hw-{os.getpid()}-{secrets.token_hex(8)}.tmp")
    try:
        with _open_new(partial, old) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, target)
        _sync_folder(folder)
    except OSError as error:
        if error.errno is None or error.filename not in (None, partial, folder):
            raise  # about another file, read meanwhile
        raise type(error)(error.errno, error.strerror, os.fspath(path)) from None
    finally:
        with suppress(OSError):
            os.unlink(partial)


def find_target(path: str | os.PathLike[str]) -> tuple[Path, os.stat_result | None]:
    """The file that a path leads to, and what is there; raises OSError if it is not to be replaced.

    Only a regular file that may be written to is.
    """
    given = str(Path(path))
    target = Path(os.path.realpath(given))
    try:
        old = os.stat(given)
    except FileNotFoundError:
        return target, None
    if stat.S_ISDIR(old.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), given)
    if not stat.S_ISREG(old.st_mode):
        kind = KINDS.get(stat.S_IFMT(old.st_mode), "no file")
        raise OSError(errno.EINVAL, f"expected a regular file or a new name, got {kind}", given)
    if not old.st_mode & 0o222 or not os.access(given, os.W_OK):  # the first binds root too
        raise PermissionError(errno.EACCES, "it is read-only", given)
    if not _leads_to(given, target):
        raise OSError(errno.EINVAL, "expected a file with a name, got one without", given)
    return target, old


def _leads_to(given: str, target: Path) -> bool:
    """Whether both paths name one file; `/proc/self/fd/3` of a removed file names none.

    Somebody else may replace the file between the two looks, so a difference is looked at again.
    """
    for _ in range(100):
        with suppress(FileNotFoundError):
            if os.path.samestat(os.stat(given), os.stat(target)):
                return True
    return False


def is_stream(path: str | os.PathLike[str]) -> bool:
    """Whether a path leads to a pipe, a device or a socket, which is written to as one goes."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def _open_new(partial: str, old: os.stat_result | None) -> BinaryIO:
    """A new file with the rights of the old one; without one, those of any new file."""
    binary = getattr(os, "O_BINARY", 0)
    rights = 0o666 if old is None else 0o600
    opened = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | binary, rights)
    file = open(opened, "wb")  # noqa: SIM115, the caller closes it
    try:
        if sys.platform != "win32":
            with suppress(OSError):  # a file system without locks
                fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if old is not None:
                for owner, group in ((-1, old.st_gid), (old.st_uid, -1)):
                    with suppress(PermissionError):  # only root gives files away
                        os.fchown(opened, owner, group)
                with suppress(PermissionError):  # a file system without rights
                    os.fchmod(opened, stat.S_IMODE(old.st_mode))
    except BaseException:
        file.close()
        raise
    return file


def _remove_left_overs(folder: str) -> None:
    """Remove the files of processes that died while they wrote."""
    if sys.platform == "win32":
        return
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            found = LEFT_OVER.fullmatch(entry.name)
            if found is not None:
                with suppress(OSError):
                    _remove_if_left_over(entry.path, int(found[1]))


def _remove_if_left_over(path: str, process: int) -> None:
    """Remove a file that nobody writes to any more; else raise OSError or do nothing.

    A writer holds a lock. Its process may be one of another container or machine, of which only
    the lock can be seen; and between making the file and locking it, only the process.
    """
    opened = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        quiet = time.time() - os.fstat(opened).st_mtime > QUIET
        if quiet or not _is_alive(process):
            os.unlink(path)
    finally:
        os.close(opened)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):  # somebody else's; no number of a process
        return True
    return True


def _sync_folder(folder: str) -> None:
    """Make a new name in a folder last through a power cut, where that can be done."""
    if sys.platform == "win32":
        return
    try:
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
    except OSError as error:
        if error.errno not in UNABLE:
            raise
