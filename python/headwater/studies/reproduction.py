"""One report for several studies: which cells agree with the papers, which differ, and why."""

import csv
from collections.abc import Iterable
from html import escape
from importlib import resources
from pathlib import Path

from headwater._core import __version__
from headwater.studies.comparison import Compared, compare, count
from headwater.studies.figures import as_svg
from headwater.studies.plan import Study
from headwater.studies.report import as_csv, as_html, as_markdown, markdown, page, section
from headwater.studies.results import ResultStore
from headwater.studies.study import figures_here, write
from headwater.types import TextTable

Done = list[tuple[Study, ResultStore]]


def summarise(done: Done, out: Path, command: str) -> None:
    """Write `summary.csv`, `reproduction.md` (short), `report.md` (complete) and `index.html`."""
    compared = [one for study, store in done for one in compare(study, store)]
    counts = overview(compared)
    body = [as_html(counts)]
    text = ["# The papers' tables, reproduced", as_markdown(counts)]
    for study, store in done:
        drawn = figures_here(study, store).values()
        body += [
            f"<h2>{escape(study.title)}</h2>",
            section(study, store, [as_svg(one, study.title) for one in drawn]),
        ]
        text.append(f"## {study.title}\n\n{markdown(study, store)}")
    write(out / "summary.csv", as_csv(counts))
    write(out / "reproduction.md", in_short(compared, done, command))
    write(out / "report.md", "\n\n".join(text) + "\n")
    write(out / "index.html", page("The papers' tables, reproduced", "\n".join(body), command))


def overview(compared: list[Compared]) -> TextTable:
    """How many cells of each printed table agree, differ or have no data."""
    words = tuple(count([]))
    rows = []
    for paper, table in sorted({(one.printed.paper, one.printed.table) for one in compared}):
        cells = [
            one for one in compared if (one.printed.paper, one.printed.table) == (paper, table)
        ]
        rows.append((paper, str(table), *map(str, count(cells).values())))
    rows.append(("all", "", *map(str, count(compared).values())))
    return TextTable(("paper", "table", *words), tuple(rows))


def in_short(compared: list[Compared], done: Done, command: str) -> str:
    """The page for the documentation: counts, differences with their reasons, misprints."""
    repeats = sorted({study.repeats for study, _ in done if study.paper is not None})
    parts = [
        "# The papers' tables, reproduced",
        f"Written by `{command}`, version {__version__}; {' or '.join(map(str, repeats))} repeats"
        " per cell. The tables include every cell that the papers print. A cell agrees if our"
        " number differs by at most one printed standard deviation, by three standard errors of"
        " the difference, or by the tolerance of the study (0.01 for PAA). With fewer than ten"
        " repeats the standard error says too little: such a cell agrees by the other two rules,"
        " differs if it is far off, or has too few repeats to tell. The command also writes"
        " every number (`runs.jsonl`), the tables (`table.csv`, `report.md`) and a page with the"
        " figures (`index.html`).",
        as_markdown(overview(compared)),
        "## Differences and their reasons",
        as_markdown(differences(compared)),
        "## Cells without data",
        as_markdown(missing(compared)),
        "## Every cell that was run",
        as_markdown(cells_table(compared)),
        "## Misprints found in the papers",
        as_markdown(misprints()),
    ]
    return "\n\n".join(parts) + "\n"


def differences(compared: list[Compared]) -> TextTable:
    """The reasons, and the cells of each: ours | the paper's."""
    rows = []
    differing = [one for one in compared if one.verdict == "differs"]
    for paper, reason in dict.fromkeys((one.printed.paper, one.reason) for one in differing):
        cells = [one for one in differing if (one.printed.paper, one.reason) == (paper, reason)]
        rows.append((paper, reason or "not known", str(len(cells)), "; ".join(map(named, cells))))
    return TextTable(("paper", "reason", "cells", "ours, paper's"), tuple(rows))


def named(one: Compared) -> str:
    """A cell with its two numbers."""
    ours = "" if one.ours is None else figure(one, one.ours.mean)
    where = f"{one.printed.table}: {one.printed.dataset} {one.printed.algorithm}"
    return f"{where} {ours}, {figure(one, one.printed.mean)}"


def figure(one: Compared, value: float) -> str:
    """A number in the form in which the paper prints it."""
    return f"{value:.1f}" if one.printed.metric == "errors" else f"{value:.3f}"


def missing(compared: list[Compared]) -> TextTable:
    """The data sets that are missing."""
    gone = [one for one in compared if one.verdict == "no data"]
    keys = dict.fromkeys((one.printed.paper, one.reason) for one in gone)
    rows = []
    for paper, reason in keys:
        cells = [one for one in gone if (one.printed.paper, one.reason) == (paper, reason)]
        names = ", ".join(dict.fromkeys(one.printed.dataset for one in cells))
        rows.append((paper, names, str(len(cells)), reason))
    return TextTable(("paper", "data set", "cells", "reason"), tuple(rows))


def cells_table(compared: list[Compared]) -> TextTable:
    """Ours beside the paper's, one line per data set and setting."""
    run = [one for one in compared if one.ours is not None]
    rows: list[tuple[str, ...]] = []
    places = dict.fromkeys(
        (one.printed.paper, one.printed.table, one.printed.dataset, one.printed.setting)
        for one in run
    )
    for paper, table, dataset, setting in places:
        here = [
            one
            for one in run
            if (one.printed.paper, one.printed.table, one.printed.dataset, one.printed.setting)
            == (paper, table, dataset, setting)
        ]
        cells = "; ".join(
            f"{one.printed.algorithm} {_ours(one)}, {figure(one, one.printed.mean)}"
            + {"agrees": "", "differs": " ≠"}.get(one.verdict, " ?")
            for one in here
        )
        rows.append((f"{paper} {table}", dataset, setting, cells))
    return TextTable(("table", "data set", "setting", "algorithm ours, paper's"), tuple(rows))


def _ours(one: Compared) -> str:
    return "" if one.ours is None else figure(one, one.ours.mean)


def misprints() -> TextTable:
    """Errors in the printed papers."""
    file = resources.files("headwater.studies.papers") / "misprints.csv"
    rows: Iterable[dict[str, str]] = csv.DictReader(file.read_text(encoding="utf-8").splitlines())
    return TextTable(
        ("paper", "where", "misprint"),
        tuple((row["paper"], row["where"], row["misprint"]) for row in rows),
    )
