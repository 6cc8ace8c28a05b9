"""What `study` and `reproduce` share: their options, the bar while they run, what they print."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headwater.cli.log_lines import LogLines, is_terminal
from headwater.errors import ParameterError

if TYPE_CHECKING:
    from headwater.studies.plan import Study
    from headwater.studies.results import ResultStore
    from headwater.studies.study import Extras

OPTIONS = (
    click.option("--data", help="Names of data sets, separated by commas; by default all."),
    click.option("--repeats", type=click.IntRange(min=1), help="Instead of the study's number."),
    click.option(
        "--jobs",
        type=click.IntRange(min=1),
        default=os.cpu_count() or 1,
        show_default="all cores",
        help="Number of processes; the results do not depend on it.",
    ),
    click.option(
        "--backend",
        type=click.Choice(["loky", "dask", "ray"]),
        default="loky",
        show_default=True,
        help="Where they run: on this machine, or on the configured Dask or Ray cluster.",
    ),
    click.option(
        "--out", type=click.Path(path_type=Path, file_okay=False), help="Folder for the results."
    ),
    click.option(
        "--folder",
        type=click.Path(path_type=Path, exists=True, file_okay=False),
        help="Folder of the data sets; by default HEADWATER_DATA, or the cache of `datasets`.",
    ),
)


def options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of every study."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def check_there(studies: list["Study"], folder: Path | None, is_needed: bool) -> None:
    """Say what is left out: learners whose library is missing, data sets; raise if none is left."""
    from headwater.studies.executor import is_installed, missing

    plans = {plan.name: plan for study in studies for plan in study.learners}
    for plan in plans.values():
        if not is_installed(plan):
            click.echo(f"{plan.name} is left out: it needs {plan.needs}.", err=True)
    gone = {name: None for study in studies for name in missing(study, folder)}
    if not gone:
        return
    said = f"{', '.join(gone)}; `headwater datasets` says where they come from."
    if is_needed and all(len(missing(study, folder)) == len(study.data) for study in studies):
        raise ParameterError(f"study: none of its data sets is there: {said}")
    click.echo(f"Data sets that are not there and left out: {said}", err=True)


def carry_out_live(
    studies: list["Study"],
    data: str | None,
    out: Path,
    folder: Path | None,
    jobs: int,
    backend: str,
    command: str = "",
    extras: "Extras | None" = None,
) -> None:
    """Run the studies with a bar each, print their tables, write their reports.

    In a log there is a line every half minute instead of the bars.
    With a command, which is printed at its end, there is one report for all studies.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from headwater.cli.model_tables import print_line
    from headwater.cli.printing import drawn
    from headwater.studies.comparison import compare
    from headwater.studies.report import reasons, short_table, tables, verdict
    from headwater.studies.reproduction import summarise
    from headwater.studies.study import carry_out, with_data

    if data is not None:
        names = [name.strip() for name in data.split(",") if name.strip()]
        known = {plan.name for study in studies for plan in study.data}
        unknown = [name for name in names if name not in known]
        if unknown:
            raise ParameterError(
                f"--data: no study here has {', '.join(unknown)}; they have"
                f" {', '.join(sorted(known))}."
            )
        studies = [with_data(study, names) for study in studies]
        studies = [study for study in studies if study.data]
    check_there(studies, folder, is_needed=not command)
    console = Console()
    bars = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.percentage:3.0f} %"),
        TextColumn("{task.fields[what]}"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        disable=not is_terminal(),
    )
    done: list[tuple[Study, ResultStore]] = []
    with bars:
        for study in studies:
            task = bars.add_task(study.name, total=1.0, what="")

            log = LogLines(f"study {study.name}")

            def show(share: float, what: str, task: Any = task, log: LogLines = log) -> None:
                bars.update(task, completed=share, what=what)
                log.show(share, what)

            place = out / study.name if command else out
            store: ResultStore = carry_out(study, place, folder, jobs, backend, show, extras)
            bars.update(task, completed=1.0, what="done")
            done.append((study, store))
    for study, store in done:
        found = compare(study, store)
        if found:
            console.print(drawn(short_table(study, found), study.title))
        ranks = extras is not None and extras.ranks
        parts = tables(study, store, ranks)
        for part in reversed(parts):
            if not found or part.name != "table":
                console.print(drawn(part.table, f"{study.title}. {part.title}"))
        if ranks and not any(part.name == "ranks" for part in parts):
            needs = "it needs two data sets and two learners"
            click.echo(f"--ranks: there is nothing to rank; {needs}.", err=True)
        for reason in reasons(found):
            print_line(console, reason)
        if said := verdict(study, store):
            print_line(console, said + "\n")
    if command:
        summarise(done, out, command)
    print_line(console, f"The report with the figures: {out / 'index.html'}")
