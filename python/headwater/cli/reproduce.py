"""`headwater reproduce`."""

from dataclasses import replace
from pathlib import Path

import click

from headwater.cli.study_progress import carry_out_live, options
from headwater.errors import ParameterError

PAPERS = ("flls", "olsf", "paa", "fesl", "olvf")
OURS = "spring"
"""Not a paper: what the specification of Spring, our own learner, says that it should reach."""


@click.command()
@click.argument("paper", type=click.Choice([*PAPERS, OURS, "all"], case_sensitive=False))
@click.option("--table", type=int, help="One printed table alone.")
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
    """Run a paper's experiments again: our tables and figures beside the printed ones.

    `spring` is our own learner beside what its specification expects; `all` is the papers alone.
    A run that was stopped goes on where it was. Studies that only draw a figure have no more
    repeats than their own.
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
