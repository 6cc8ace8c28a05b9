"""The command `headwater`: parse, call, print. A mistake of the user is a sentence and exit code 2.

What is heavy is imported by the command that needs it, so that `--help` answers at once.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headwater.errors import HeadwaterError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as RichTable

    from headwater.experiments.demo import Demo
    from headwater.experiments.tables import Table


class Mistake(click.ClickException):
    """What the user can mend: the sentence is printed, no traceback."""

    exit_code = 2


class Commands(click.Group):
    """Commands whose errors of this package are mistakes of the user."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except HeadwaterError as error:
            raise Mistake(str(error)) from error


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="headwater", message="%(prog)s %(version)s")
def main() -> None:
    """Learn from streams whose features come and go and whose labels are scarce."""


@main.command()
@click.option(
    "--seed",
    type=click.IntRange(0, 2**63 - 1),
    default=0,
    show_default=True,
    help="Same seed, same network, same outcome.",
)
@click.option(
    "--events",
    type=click.IntRange(min=1_000),
    default=50_000,
    show_default=True,
    help="Length of the stream.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("demo.html"),
    show_default=True,
    help="Where the page with the plots is written.",
)
def demo(seed: int, events: int, out: Path) -> None:
    """Watch four learners on a sensor network that is built while it runs.

    One is told every label, one a random tenth of them, and two choose which tenth to ask for.
    Prints what each of them cost and achieved, and writes a page with plots.
    """
    from rich.console import Console

    from headwater.experiments.tables import learner_table, sensor_table, verdict

    check_writable(out)
    console = Console()
    finished = _run_live(events, seed, console)
    title = f"{events:,} events; accuracy and AUC on events never met, every sensor running"
    console.print(_rich(learner_table(finished), title))
    console.print(_rich(sensor_table(finished), "The running sensors that matter most to Linear"))
    console.print(verdict(finished))
    _write_page(finished, out, console)


def _run_live(events: int, seed: int, console: "Console") -> "Demo":
    """The demo, with a bar a learner while it runs."""
    from rich.progress import BarColumn, Progress, TextColumn

    from headwater.experiments.demo import NAMES, run

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,} events"),
        TextColumn("{task.fields[errors]:,} errors"),
        TextColumn("{task.fields[labels]:,} labels"),
    )
    with Progress(*columns, console=console) as bars:
        tasks = {name: bars.add_task(name, total=events, errors=0, labels=0) for name in NAMES}

        def show(name: str, seen: int, errors: int, labels: int) -> None:
            bars.update(tasks[name], completed=seen, errors=errors, labels=labels)

        return run(events, seed, show)


def _rich(table: "Table", title: str) -> "RichTable":
    from rich.box import SIMPLE_HEAD
    from rich.table import Table as RichTable

    drawn = RichTable(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 0, 0, 1))
    for place, head in enumerate(table.head):
        if place == 0:
            drawn.add_column(head, vertical="bottom", no_wrap=True)
        else:
            drawn.add_column(head, vertical="bottom", justify="right")
    for row in table.rows:
        drawn.add_row(*row)
    return drawn


def _write_page(finished: "Demo", out: Path, console: "Console") -> None:
    from headwater.experiments.page import page

    command = f"headwater demo --seed {finished.seed} --events {finished.events}"
    try:
        text = page(finished, command)
    except ModuleNotFoundError as missing:
        if missing.name != "matplotlib":
            raise
        console.print("No page was written: its plots need matplotlib (pip install matplotlib).")
        return
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Mistake(f"--out: {out} cannot be written: {error.strerror}.") from error
    console.print(f"The page with the plots: {out}", soft_wrap=True)


def check_writable(out: Path) -> None:
    """Raise unless a file can be written there; before the work, not after it."""
    existed = out.exists()
    try:
        out.open("a").close()
        if not existed:
            out.unlink()
    except OSError as error:
        raise Mistake(f"--out: {out} cannot be written: {error.strerror}.") from error
