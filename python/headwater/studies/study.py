"""A study from its file to its report, in a folder that a second call continues with.

The folder holds `choices.jsonl` and `runs.jsonl` (every number, in the order of the plan),
`table.csv` (and others), `report.md`, `index.html` and the figures as SVG, `plan.json` (what was
run: the plan, seeds, versions and checksums). `times.jsonl` and `machine.json` are separate
because they differ from run to run.
"""

import json
import os
import platform
import sys
from collections.abc import Iterable
from dataclasses import asdict, replace
from importlib import resources
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from headwater import datasets
from headwater._core import __version__
from headwater.display import html
from headwater.errors import ParameterError
from headwater.learners.atomic_file import write_file
from headwater.parameters import did_you_mean
from headwater.studies.comparison import our_cell
from headwater.studies.executor import Progress, available, execute
from headwater.studies.figures import as_pdf, as_svg, drawings
from headwater.studies.latex import as_latex
from headwater.studies.own_modules import make_importable
from headwater.studies.papers import read_table
from headwater.studies.plan import Study
from headwater.studies.plan_file import read_study
from headwater.studies.rank_diagram import rank_diagram
from headwater.studies.ranking import rankings
from headwater.studies.report import (
    RULE,
    TEXT_COLUMNS,
    as_csv,
    markdown,
    page,
    section,
    tables,
)
from headwater.studies.results import ResultStore
from headwater.types import TextTable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LIBRARIES = ("numpy", "scipy", "joblib", "matplotlib")


def packaged() -> dict[str, Path]:
    """The studies that come with the package, by name.

    Examples
    --------
    >>> "flls-tables-3-4" in packaged()
    True
    """
    folder = Path(str(resources.files("headwater.studies") / "plans"))
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}


def plan_path(file: str | os.PathLike[str]) -> Path:
    """The TOML file that is meant: a path, or the name of a study of the package."""
    name, known = os.fspath(file), packaged()
    path = known.get(name, Path(name))
    if not path.is_file():
        listed = f"; the package has {', '.join(known)}."
        raise ParameterError(
            f"study: there is no file {name}, and no study of that name"
            f"{did_you_mean(name, known, listed)}"
        )
    return path


def studies_of(paper: str, table: int | None = None) -> list[Study]:
    """The studies that stand beside a paper's tables and figures; of one table alone, if asked.

    Examples
    --------
    >>> [study.name for study in studies_of("flls", table=3)]
    ['flls-tables-3-4']
    """
    found = [read_study(path) for name, path in packaged().items() if name.startswith(f"{paper}-")]
    if table is None:
        return found
    narrowed = [of_table(study, table) for study in found if study.paper is not None]
    return [study for study in narrowed if study is not None]


def of_table(study: Study, table: int) -> Study | None:
    """The study with what one printed table needs; None if it has nothing to do with it."""
    paper = study.paper
    if paper is None or table not in paper.tables:
        return None
    paper = replace(paper, tables=(table,))
    study = replace(study, paper=paper)
    wanted = set()
    for printed in read_table(paper.name, table):
        for data in study.data:
            cell = our_cell(study, paper, printed, data.name)
            if cell is not None:
                wanted.add(cell.rate)
    return replace(study, label_rates=tuple(rate for rate in study.label_rates if rate in wanted))


def with_data(study: Study, names: Iterable[str]) -> Study:
    """The study with these data sets alone."""
    wanted = tuple(names)
    paper = None if study.paper is None else replace(study.paper, data=wanted)
    data = tuple(plan for plan in study.data if plan.name in wanted)
    return replace(study, data=data, paper=paper)


class Extras(NamedTuple):
    """What a report has beside the usual: tables as LaTeX, figures as PDF, ranks and tests."""

    latex: bool = False
    pdf: bool = False
    ranks: bool = False


USUAL = Extras()


class StudyResults(ResultStore):
    """The results of a study, as a notebook shows them."""

    def tables(self, ranks: bool = False) -> dict[str, TextTable]:
        """The tables by the names of their files; with `ranks`, also tests over the data sets."""
        return {part.name: part.table for part in tables(self.study, self, ranks)}

    def plot(self) -> "Figure":
        """The study's figure, drawn by matplotlib."""
        try:
            drawn = drawings(self.study, self)
        except ModuleNotFoundError as missing:
            if missing.name != "matplotlib":
                raise
            raise ImportError(
                "StudyResults.plot needs matplotlib: pip install 'headwater[plots]'."
            ) from None
        if not drawn:
            raise ParameterError(
                f"plot: the study {self.study.name} draws no figure; its key `figure` says which,"
                ' such as figure = "rates".'
            )
        return next(iter(drawn.values()))

    def _repr_html_(self) -> str:
        shown = tables(self.study, self)[-1]
        rows = [tuple(map(html.text, row)) for row in shown.table.rows[: 4 * html.MOST]]
        more = len(shown.table.rows) - len(rows)
        return html.table(
            self.study.title,
            [html.text(head) for head in shown.table.head],
            rows,
            f"and {more:,} rows more" if more else "",
        )


def carry_out(
    study: Study,
    out: Path,
    folder: Path | None = None,
    jobs: int = 1,
    backend: str = "loky",
    progress: Progress = lambda share, what: None,
    extras: Extras | None = None,
) -> StudyResults:
    """Run what has not been run yet, and write the report."""
    here = available(study, folder)
    contents = {
        plan.name: datasets.entry(plan.source).sha256 or ""
        for plan in here.data
        if ":" not in plan.source
    }
    store = StudyResults(out, here, contents)
    execute(here, store, folder, jobs, backend, progress)
    store.finish()
    write_report(study, store, contents, extras or USUAL)
    return store


def run_study(
    file: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    *,
    repeats: int | None = None,
    folder: str | os.PathLike[str] | None = None,
    jobs: int = 1,
) -> StudyResults:
    """`headwater study FILE` in Python: run what has not been run yet, and return the results.

    Parameters
    ----------
    file
        A TOML file, or the name of a study that comes with the package.
    out
        Folder for the results; None: named after the study, here.
    repeats
        Instead of the study's number.
    folder
        Folder of the data sets; None: `HEADWATER_DATA`, or the cache of `headwater datasets`.
    jobs
        Number of processes; the results do not depend on it.
    """
    path = plan_path(file)
    study = read_study(path)
    make_importable(study, path.resolve().parent)
    if repeats is not None:
        study = replace(study, repeats=repeats)
    place = Path(out) if out is not None else Path(f"{study.name}-results")
    return carry_out(study, place, None if folder is None else Path(folder), jobs)


def write_report(
    study: Study, store: ResultStore, contents: dict[str, str], extras: Extras = USUAL
) -> None:
    """Write all reports of a study, for people and programs."""
    out, ranks = store.folder, extras.ranks
    for part in tables(study, store, ranks):
        write(out / f"{part.name}.csv", as_csv(part.table))
        if extras.latex:
            label = f"{study.name}-{part.name}"
            text = as_latex(part.table, part.title, label, frozenset(TEXT_COLUMNS))
            write(out / f"{part.name}.tex", text)
    write(out / "report.md", f"## {study.title}\n\n{markdown(study, store, ranks)}")
    pictures = figures_here(study, store) | (diagrams_here(study, store) if ranks else {})
    if extras.pdf and not pictures:
        raise ParameterError(
            "--pdf: there is no figure; the study's key `figure` says which to draw, such as"
            ' figure = "rates", and --ranks draws the ranks of its learners.'
        )
    drawn = {name: as_svg(one, study.title) for name, one in pictures.items()}
    body = section(study, store, drawn.values(), ranks)
    rule = RULE if study.paper is not None else ""
    write(out / "index.html", page(study.title, body, f"headwater study {study.name}", rule))
    for name, svg in drawn.items():
        write(out / f"{name}.svg", svg)
        if extras.pdf:
            write_bytes(out / f"{name}.pdf", as_pdf(pictures[name]))
    plan = {
        "study": asdict(study),
        "seeds": list(range(study.repeats)),
        "headwater": __version__,
        "data": contents,
    }
    write(out / "plan.json", json.dumps(plan, indent=1, default=str) + "\n")
    write(out / "machine.json", json.dumps(machine(), indent=1) + "\n")


def diagrams_here(study: Study, store: ResultStore) -> dict[str, "Figure"]:
    """Critical-difference diagrams of the learners' ranks."""
    if not is_there("matplotlib"):
        return {}
    found = rankings(study, store)
    drawn = {}
    for one in found:
        stream, labels, rate = one.place
        several = [
            *([stream] if len({other.stream for other in found}) > 1 else []),
            *([f"{rate} % of the labels"] if rate else []),
            *([labels] if len({other.labels for other in found}) > 1 else []),
        ]
        name = "-".join(["ranks", *several]).replace(" % of the labels", "").replace(" ", "-")
        score = study.score.replace("_", " ")
        title = f"Mean ranks by {score}, {one.found.data_sets} data sets"
        drawn[name if len(found) > 1 else "ranks"] = rank_diagram(
            one.found, ", ".join([title, *several])
        )
    return drawn


def is_there(library: str) -> bool:
    """Whether a library is installed."""
    return find_spec(library) is not None


def figures_here(study: Study, store: ResultStore) -> dict[str, "Figure"]:
    """The figures; where there is no matplotlib, none."""
    try:
        return drawings(study, store)
    except ModuleNotFoundError as missing:
        if missing.name != "matplotlib":
            raise
        return {}


def machine() -> dict[str, Any]:
    """What the study ran on."""
    return {
        "system": platform.platform(),
        "processor": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "python": sys.version.split()[0],
        "libraries": {name: _version(name) for name in LIBRARIES},
    }


def _version(library: str) -> str | None:
    try:
        return version(library)
    except PackageNotFoundError:
        return None


def write(path: Path, text: str) -> None:
    """Write a text, or say why it cannot be written."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Write bytes, or say why they cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, content)
    except OSError as error:
        raise ParameterError(f"{path}: cannot be written: {error.strerror}.") from error
