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
from pathlib import Path
from typing import Any

from headwater import datasets
from headwater._core import __version__
from headwater.errors import ParameterError
from headwater.learners.whole_file import write_file
from headwater.studies.comparison import our_cell
from headwater.studies.executor import Progress, available, execute
from headwater.studies.figures import figures
from headwater.studies.papers import read_table
from headwater.studies.plan import Study
from headwater.studies.plan_file import read_study
from headwater.studies.report import RULE, as_csv, markdown, page, section, tables
from headwater.studies.results import ResultStore

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


def carry_out(
    study: Study,
    out: Path,
    folder: Path | None = None,
    jobs: int = 1,
    backend: str = "loky",
    progress: Progress = lambda share, what: None,
) -> ResultStore:
    """Run what has not been run yet, and write the report."""
    here = available(study, folder)
    contents = {
        plan.name: datasets.entry(plan.source).sha256 or ""
        for plan in here.data
        if ":" not in plan.source
    }
    store = ResultStore(out, here, contents)
    execute(here, store, folder, jobs, backend, progress)
    store.finish()
    write_report(study, store, contents)
    return store


def write_report(study: Study, store: ResultStore, contents: dict[str, str]) -> None:
    """Write all reports of a study, for people and programs."""
    out = store.folder
    for part in tables(study, store):
        write(out / f"{part.name}.csv", as_csv(part.table))
    write(out / "report.md", f"## {study.title}\n\n{markdown(study, store)}")
    drawn = figures_here(study, store)
    body = section(study, store, drawn.values())
    rule = RULE if study.paper is not None else ""
    write(out / "index.html", page(study.title, body, f"headwater study {study.name}", rule))
    for name, svg in drawn.items():
        write(out / f"{name}.svg", svg)
    plan = {
        "study": asdict(study),
        "seeds": list(range(study.repeats)),
        "headwater": __version__,
        "data": contents,
    }
    write(out / "plan.json", json.dumps(plan, indent=1, default=str) + "\n")
    write(out / "machine.json", json.dumps(machine(), indent=1) + "\n")


def figures_here(study: Study, store: ResultStore) -> dict[str, str]:
    """The figures; where there is no matplotlib, none."""
    try:
        return figures(study, store)
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
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, text.encode())
    except OSError as error:
        raise ParameterError(f"{path}: cannot be written: {error.strerror}.") from error
