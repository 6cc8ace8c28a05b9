"""`headwater study`."""

from dataclasses import replace
from pathlib import Path

import click

from headwater.cli.help import Command
from headwater.cli.study_progress import carry_out_live, options
from headwater.errors import ParameterError


@click.command(cls=Command, example="headwater study own.toml --ranks --latex")
@click.argument("file")
@click.option("--latex", is_flag=True, help="Also write every table as LaTeX (booktabs).")
@click.option("--pdf", is_flag=True, help="Also write every figure as PDF.")
@click.option(
    "--ranks",
    is_flag=True,
    help="Rank the learners over the data sets: Friedman, Nemenyi, Wilcoxon with Holm, diagram.",
)
@options
def study(
    file: str,
    data: str | None,
    repeats: int | None,
    jobs: int,
    backend: str,
    out: Path | None,
    folder: Path | None,
    latex: bool,
    pdf: bool,
    ranks: bool,
) -> None:
    """Run a study: data sets, streams, learners and label rates.

    FILE is a TOML file, or the name of a study that comes with the package. A study that was
    stopped continues where it stopped.
    """
    from headwater.studies.own_modules import make_importable
    from headwater.studies.plan_file import read_study
    from headwater.studies.study import Extras, is_there, plan_path

    path = plan_path(file)
    plan = read_study(path)
    make_importable(plan, path.resolve().parent)
    if repeats is not None:
        plan = replace(plan, repeats=repeats)
    place = out or Path(f"{plan.name}-results")
    extras = Extras(latex, pdf, ranks)
    if (ranks or plan.compare) and not is_there("scipy"):
        raise ParameterError("study: tests need SciPy: pip install 'headwater[studies]'.")
    if pdf and not is_there("matplotlib"):
        raise ParameterError("--pdf: figures need matplotlib: pip install 'headwater[plots]'.")
    carry_out_live([plan], data, place, folder, jobs, backend, extras=extras)
