"""Comparison with a paper: every printed cell, the difference, a verdict and its reason.

Two numbers agree if they differ by at most one printed standard deviation, or by at most the
tolerance of the study, or by at most three standard errors of the difference (both deviations taken
as over our repeats). Fewer than ten repeats say little of the standard error, so that it cannot
show agreement, and shows a difference only beyond Student's bound for so few; between the two there
are too few repeats to tell. The reason for a differing cell is in `papers/reasons.csv`.
"""

import csv
import math
from fnmatch import fnmatchcase
from importlib import resources
from math import inf
from typing import Literal, NamedTuple

from headwater.studies.papers import PaperCell, read_datasets, read_table
from headwater.studies.plan import Cell, LearnerPlan, Paper, Study
from headwater.studies.results import ResultStore, Summary

Verdict = Literal["agrees", "differs", "too few repeats to tell", "no data"]

TOLERATED_ERRORS = 3.0
STUDENT = (inf, inf, 235.8, 19.21, 9.219, 6.620, 5.507, 4.904, 4.530, 4.277)
"""By number of repeats below ten: the standard errors beyond which it is as unlikely to come by
chance, 0.27 %, as beyond three if the standard error were known."""


class Compared(NamedTuple):
    """A printed cell, what we found, and what the difference means."""

    printed: PaperCell
    data: str
    ours: Summary | None
    label_rate: float | None
    reference: float | None
    """The number of an independent program for the same protocol, if it has been recorded."""
    verdict: Verdict
    reason: str

    @property
    def difference(self) -> float:
        """Ours minus the paper's."""
        return math.nan if self.ours is None else self.ours.mean - self.printed.mean

    @property
    def in_stds(self) -> float:
        """The difference in the paper's standard deviations; NaN where it prints none."""
        return self.difference / self.printed.std if self.printed.std else math.nan


class Reason(NamedTuple):
    """Why cells differ; `*` stands for anything."""

    paper: str
    table: str
    dataset: str
    algorithm: str
    reason: str

    def fits(self, cell: PaperCell) -> bool:
        """Whether it speaks of this cell."""
        said = (self.paper, self.table, self.dataset, self.algorithm)
        here = (cell.paper, str(cell.table), cell.dataset, cell.algorithm)
        return all(fnmatchcase(text, form) for text, form in zip(here, said, strict=True))


def read_reasons() -> list[Reason]:
    """Every known reason; the first that fits a cell applies to it.

    Examples
    --------
    >>> all(reason.reason for reason in read_reasons())
    True
    """
    return [Reason(**row) for row in _rows("reasons.csv")]


def read_references() -> dict[tuple[str, int, str, str, str], float]:
    """Numbers of an independent program, by paper, table, data set, algorithm and setting."""
    return {
        (row["paper"], int(row["table"]), row["dataset"], row["algorithm"], row["setting"]): float(
            row["value"]
        )
        for row in _rows("references.csv")
    }


def _rows(name: str) -> list[dict[str, str]]:
    text = (resources.files("headwater.studies.papers") / name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


def compare(study: Study, store: ResultStore) -> list[Compared]:
    """Every cell that the paper prints in the study's tables, in its order."""
    paper = study.paper
    if paper is None:
        return []
    reasons, references = read_reasons(), read_references()
    known = {(one.paper, one.printed): one for one in read_datasets()}
    found = []
    for table in paper.tables:
        for printed in read_table(paper.name, table):
            if not is_meant(paper, printed):
                continue
            dataset = known[printed.paper, printed.dataset]
            data = dataset.name
            if paper.data and data not in paper.data:
                continue
            cell = our_cell(study, paper, printed, data)
            ours = None if cell is None else store.summary(cell, study.score)
            rate = None if cell is None else store.summary(cell, "label_rate")
            verdict = judge(paper, printed, ours)
            reason = next((one.reason for one in reasons if one.fits(printed)), "")
            if verdict == "no data":
                reason = dataset.remark or "the file is not there"
            key = (paper.name, table, printed.dataset, printed.algorithm, printed.setting)
            found.append(
                Compared(
                    printed,
                    data or "",
                    ours,
                    rate.mean if rate else None,
                    references.get(key),
                    verdict,
                    reason if verdict in ("differs", "no data") else "",
                )
            )
    return found


def our_cell(study: Study, paper: Paper, printed: PaperCell, data: str | None) -> Cell | None:
    """The cell of the study that stands for a printed one."""
    for cell in study.cells():
        plan = study.learner_plan(cell.learner)
        if cell.data == data and plan.printed == printed.algorithm:
            setting = setting_of(paper, plan, cell)
            if setting is None or setting == printed.setting:
                return cell
    return None


def setting_of(paper: Paper, plan: LearnerPlan, cell: Cell) -> str | None:
    """How the paper would print a cell's setting; None: it does not matter."""
    form = plan.setting or paper.setting
    if form is None:
        return None
    return form.format(rate=cell.rate, stream=cell.stream)


def is_meant(paper: Paper, printed: PaperCell) -> bool:
    """Whether a study speaks of a printed cell: by its metric, and its setting if that is fixed."""
    fixed = paper.setting is not None and "{" not in paper.setting
    return printed.metric in paper.metrics and (not fixed or printed.setting == paper.setting)


def judge(paper: Paper, printed: PaperCell, ours: Summary | None) -> Verdict:
    """Whether ours and the paper's are the same number."""
    if ours is None:
        return "no data"
    theirs = printed.std or 0.0
    spread = 0.0 if math.isnan(ours.std) else ours.std
    repeats = len(ours.values)
    error = math.sqrt((spread**2 + theirs**2) / repeats)
    apart = abs(ours.mean - printed.mean)
    if apart <= max(paper.tolerance, theirs):
        return "agrees"
    if repeats >= len(STUDENT):
        return "agrees" if apart <= TOLERATED_ERRORS * error else "differs"
    if repeats == 1 or apart <= STUDENT[repeats] * error:
        return "too few repeats to tell"
    return "differs"


def count(found: list[Compared]) -> dict[str, int]:
    """How many cells there are of each verdict; those that differ by whether the reason is known.

    Examples
    --------
    >>> list(count([]))
    ['agrees', 'differs, reason known', 'differs, reason unknown', 'too few repeats', 'no data']
    """
    known = [one for one in found if one.verdict == "differs" and one.reason]
    differing = [one for one in found if one.verdict == "differs"]
    return {
        "agrees": sum(one.verdict == "agrees" for one in found),
        "differs, reason known": len(known),
        "differs, reason unknown": len(differing) - len(known),
        "too few repeats": sum(one.verdict == "too few repeats to tell" for one in found),
        "no data": sum(one.verdict == "no data" for one in found),
    }
