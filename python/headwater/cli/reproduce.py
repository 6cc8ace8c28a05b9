"""`headwater reproduce`."""

from dataclasses import replace
from pathlib import Path

import click

from headwater.cli.help import Command
from headwater.cli.study_progress import carry_out_live, options
from headwater.errors import ParameterError

PAPERS = ("flls", "olsf", "paa", "fesl", "olvf")


@click.command(cls=Command, example="headwater reproduce flls")
@click.argument("paper", type=click.Choice([*PAPERS, "all"], case_sensitive=False))
@click.option("--table", type=int, help="Only this printed table.")
@options
def reproduce(
    paper: str,
    table: int | None,
    data: str | None,
    repeats: int | None,
    jobs: int,
    backend: str,
    out: Path | None,
    folder: Path | None,
) -> None:
    """Reproduce a paper: our numbers beside the printed ones.

    `all` runs all papers. A run that was stopped continues where it stopped. Studies that only draw
    a figure never have more repeats than the study itself defines.
    """
    from headwater.studies.study import studies_of

    papers = PAPERS if paper == "all" else (paper,)
    studies = [study for one in papers for study in studies_of(one, table)]
    if not studies:
        raise ParameterError(f"--table: there is no study of {paper}'s table {table}.")
    if repeats is not None:
        studies = [
            replace(study, repeats=repeats if study.paper else min(repeats, study.repeats))
            for study in studies
        ]
    place = out or Path("reproduction")
    command = f"headwater reproduce {paper}"
    command += "" if table is None else f" --table {table}"
    command += "" if data is None else f" --data {data}"
    command += "" if repeats is None else f" --repeats {repeats}"
    carry_out_live(studies, data, place, folder, jobs, backend, command)
