"""A PostgreSQL server for tests: started by an unprivileged user, on a socket in its own folder."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def programs() -> Path | None:
    """The folder of the server's programs."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).parent
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return versions[-1].parent if versions else None


def user() -> str | None:
    """Somebody who is not root, which the server refuses to be; None if we are nobody special."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            pwd.getpwnam(name)
        except KeyError:
            continue
        return name
    return None


@contextmanager
def server() -> Iterator[str]:
    """The URL of a server's empty database; the server ends with the block."""
    folder = Path(tempfile.mkdtemp(prefix="hw-pg-", dir="/tmp"))
    account = user()
    if account is not None:
        entry = pwd.getpwnam(account)
        os.chown(folder, entry.pw_uid, entry.pw_gid)

    def run(program: str, *arguments: str) -> None:
        path = programs()
        assert path is not None
        command = [str(path / program), *arguments]
        done = subprocess.run(
            command,
            user=account,
            group=None if account is None else pwd.getpwnam(account).pw_gid,
            extra_groups=None if account is None else [],
            cwd=folder,
            env={**os.environ, "HOME": str(folder)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr

    data = str(folder / "data")
    run("initdb", "-D", data, "-U", "hw", "-A", "trust", "-E", "UTF8", "--no-locale")
    options = f"-c listen_addresses='' -c unix_socket_directories={folder} -c max_connections=50"
    run("pg_ctl", "-D", data, "-w", "-l", str(folder / "log"), "-o", options, "start")
    try:
        yield f"postgresql://hw@/postgres?host={folder}"
    finally:
        run("pg_ctl", "-D", data, "-m", "immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)
