"""`headwater demo`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from headwater.cli.help import Command
from headwater.cli.outputs import check_writable, text_output
from headwater.cli.printing import drawn

if TYPE_CHECKING:
    from rich.console import Console

    from headwater.demo.five_learners import Demo

PLANT_SEED = 7
"""A plant in which there is much to see within three minutes."""


@click.command(cls=Command, example="headwater demo --seed 1")
@click.option(
    "--seed",
    type=click.IntRange(0, 2**63 - 1),
    default=0,
    show_default=True,
    help="The same seed gives the same network and the same result.",
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
    help="Where the page with the picture is written.",
)
@click.option("--live", is_flag=True, help="A simulated plant that you can help, in a browser.")
@click.option(
    "--minutes",
    type=click.FloatRange(min=0, min_open=True),
    help="With --live: stop after so many minutes.  [default: at Ctrl-C]",
)
@click.option(
    "--speed",
    type=click.FloatRange(min=1),
    default=60.0,
    show_default=True,
    help="With --live: how much faster than in life time passes.",
)
@click.option(
    "--port", type=int, default=8420, show_default=True, help="With --live: the port of the pages."
)
def demo(
    seed: int,
    events: int,
    out: Path,
    live: bool,
    minutes: float | None,
    speed: float,
    port: int,
) -> None:
    """Watch five learners on a sensor network that grows.

    One gets every label, one chooses a tenth of them. Three get one label in fifty: chosen, drawn
    at random, and chosen but deaf to new sensors. Prints what each of them cost and achieved, and
    writes a page with a picture.

    With --live: a plant whose sensors come and go, at sixty times real time. Simulated experts
    answer most questions; you answer others in a browser, and overrule them.
    """
    if live:
        from headwater.cli.demo_live import run_plant

        run_plant(seed or PLANT_SEED, minutes, speed, port)
        return
    from rich.console import Console

    from headwater.demo.tables import learner_table, sensor_table, verdict

    check_writable(out)
    console = Console()
    finished = _run_live(events, seed, console)
    title = f"{events:,} events; accuracy and AUC on further events, every sensor running"
    console.print(drawn(learner_table(finished), title))
    console.print(drawn(sensor_table(finished), "The running sensors that matter most to Spring"))
    console.print(verdict(finished))
    _write_page(finished, out, console)


def _run_live(events: int, seed: int, console: "Console") -> "Demo":
    """The demo, with one bar per learner while it runs."""
    from rich.progress import BarColumn, Progress, TextColumn

    from headwater.demo.five_learners import NAMES, run

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


def _write_page(finished: "Demo", out: Path, console: "Console") -> None:
    from headwater.demo.page import page

    command = f"headwater demo --seed {finished.seed} --events {finished.events}"
    try:
        text = page(finished, command)
    except ModuleNotFoundError as missing:
        if missing.name != "matplotlib":
            raise
        console.print("No page was written: its picture needs matplotlib (pip install matplotlib).")
        return
    with text_output(out) as file:
        file.write(text)
    console.print(f"The page with the picture: {out}", soft_wrap=True, markup=False)
