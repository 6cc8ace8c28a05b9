"""What every bench needs to know of the machine: its name, its clock, its memory, its cores."""

import ctypes
import os
import platform
import resource
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

MEGABYTE = 1e6
WIDTH = 170


def pin() -> int | None:
    """Stay on one core, the last of those allowed: its number, or None where it cannot be."""
    if not hasattr(os, "sched_setaffinity"):
        return None
    core = max(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {core})
    return core


def resident() -> float:
    """Megabytes of the process in memory now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / MEGABYTE


def peak() -> float:
    """Megabytes of the process in memory at its largest so far (Linux counts in KiB)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / MEGABYTE


def trim() -> None:
    """Give back to the system what has been freed, where the C library can."""
    if sys.platform == "linux":
        give_back = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if give_back is not None:
            give_back(0)


def versions(*packages: str) -> dict[str, str]:
    """The versions of Python and of these packages; "missing" where one is not installed."""
    found = {"python": platform.python_version()}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "missing"
    return found


def machine() -> str:
    """The processor and the system."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        named = [line for line in cpuinfo.read_text().splitlines() if line.startswith("model name")]
        model = named[0].partition(":")[2].strip() if named else model
    return f"{model}, {os.cpu_count()} cores, {platform.system()} {platform.release()}"


def open_console() -> Console:
    """Where the tables go: wide enough for their numbers, whatever the terminal's width."""
    return Console(width=max(WIDTH, Console().width))


def draw(
    console: Console,
    title: str,
    head: tuple[str, ...],
    rows: list[tuple[str, ...]],
    texts: int = 1,
) -> None:
    """Print a table: the first columns are texts, the others are numbers. Markdown if piped."""
    style = box.SIMPLE_HEAD if console.is_terminal else box.MARKDOWN
    table = Table(title=title, title_justify="left", box=style)
    for place, name in enumerate(head):
        is_text = place < texts
        table.add_column(name, justify="left" if is_text else "right", no_wrap=is_text)
    for row in rows:
        table.add_row(*row)
    console.print(table)
