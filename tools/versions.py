"""Every locked version of a dependency, its age, and the newest one: `make audit`.

What the registries cannot be asked for (no network, no such package) is a dash, never an error.
The exit code is 1 if a locked version was withdrawn (yanked) by its authors.
"""

import json
import re
import sys
import tomllib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple
from urllib.error import URLError
from urllib.request import urlopen

PROJECT = Path(__file__).parent.parent
SECONDS = 10  # without an answer

Fetch = Callable[[str], bytes]


class Locked(NamedTuple):
    """A dependency as a lock file names it."""

    registry: str
    name: str
    version: str


class Known(NamedTuple):
    """What a registry says of a locked version."""

    released: datetime | None = None
    newest: str = "-"
    is_withdrawn: bool = False


def locked(project: Path = PROJECT) -> Iterator[Locked]:
    """What `constraints.txt` and `Cargo.lock` lock."""
    for line in (project / "constraints.txt").read_text().splitlines():
        if found := re.fullmatch(r"([\w.-]+)==([\w.+!]+)", line.partition("#")[0].strip()):
            yield Locked("PyPI", *found.groups())
    for package in tomllib.loads((project / "Cargo.lock").read_text())["package"]:
        if "source" in package:  # not one of our own
            yield Locked("crates.io", package["name"], package["version"])


def ask(one: Locked, fetch: Fetch) -> Known:
    """What the registry says; nothing if it does not answer."""
    try:
        return (_ask_pypi if one.registry == "PyPI" else _ask_crates)(one, fetch)
    except (URLError, OSError, ValueError, KeyError, IndexError):
        return Known()


def _ask_pypi(one: Locked, fetch: Fetch) -> Known:
    told = json.loads(fetch(f"https://pypi.org/pypi/{one.name}/json"))
    file = told["releases"][one.version][0]
    return Known(_time(file["upload_time_iso_8601"]), told["info"]["version"], file["yanked"])


def _ask_crates(one: Locked, fetch: Fetch) -> Known:
    name = one.name.lower()
    place = {1: "1", 2: "2", 3: f"3/{name[:1]}"}.get(len(name), f"{name[:2]}/{name[2:4]}")
    lines = fetch(f"https://index.crates.io/{place}/{name}").splitlines()
    every = [json.loads(line) for line in lines]
    [ours] = [version for version in every if version["vers"] == one.version]
    stable = [version for version in every if "-" not in version["vers"] and not version["yanked"]]
    newest = max(stable or every, key=lambda version: _order(version["vers"]))["vers"]
    return Known(_time(ours.get("pubtime")), newest, ours["yanked"])


def _order(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version.partition("+")[0])]


def _time(text: Any) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def rows(found: list[tuple[Locked, Known]], now: datetime) -> Iterator[tuple[str, ...]]:
    """A table, the oldest first."""
    yield "registry", "name", "locked", "age in days", "newest", ""
    for one, known in sorted(found, key=lambda pair: (pair[1].released or now, pair[0])):
        age = "-" if known.released is None else str((now - known.released).days)
        newest = "the same" if known.newest == one.version else known.newest
        yield *one, age, newest, "WITHDRAWN" if known.is_withdrawn else ""


def main(fetch: Fetch) -> int:
    every = list(locked())
    with ThreadPoolExecutor(16) as pool:
        found = list(zip(every, pool.map(lambda one: ask(one, fetch), every), strict=True))
    table = list(rows(found, datetime.now(UTC)))
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        print(
            "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        )
    unknown = sum(known == Known() for _, known in found)
    withdrawn = sum(known.is_withdrawn for _, known in found)
    print(
        f"{len(found)} locked, {withdrawn} withdrawn, {unknown} of which nothing could be learned."
    )
    return int(withdrawn > 0)


def _fetch(address: str) -> bytes:
    with urlopen(address, timeout=SECONDS) as answer:
        return bytes(answer.read())


if __name__ == "__main__":
    sys.exit(main(_fetch))
