"""Learners beside the numbers that others have published for their own methods.

A cell counts only if the published set has as many rows as ours. A win is a mean above the best
published number. On sets of fewer than 1,000 rows the score moves by more than a point with the
values that happen to be missing, so that wins are counted with and without them.
"""

from typing import NamedTuple

from headwater import datasets
from headwater.studies.baseline_tables import columns
from headwater.studies.papers import PublishedCell, read_published
from headwater.studies.plan import Study
from headwater.studies.results import ResultStore, Summary
from headwater.types import TextTable

SMALL = 1_000
"""Sets of fewer rows are small."""


class Beside(NamedTuple):
    """A learner's score beside the best published one."""

    learner: str
    rate: float | None
    best: PublishedCell
    ours: Summary
    error: float
    our_rows: int | None

    @property
    def counts(self) -> bool:
        """Whether both are of the same rows."""
        return self.our_rows == self.best.rows

    @property
    def is_win(self) -> bool:
        """Whether ours is above the published number."""
        return self.ours.mean > self.best.value


def beside_published(study: Study, store: ResultStore) -> list[Beside]:
    """Every learner and rate beside the best published number of its cell."""
    best = {(one.name, one.setting): one for one in read_published(study.published) if one.is_best}
    found = []
    for (name, setting), printed in best.items():
        for column in columns(study, study.labels[0]):
            cell = column.cell(name, setting)
            ours = store.summary(cell, study.score)
            if ours is None:
                continue
            rows = datasets.entry(study.data_plan(name).source).n
            error = store.error(cell, study.score)
            found.append(Beside(column.learner, column.rate, printed, ours, error, rows))
    return found


def published_table(study: Study, store: ResultStore) -> TextTable:
    """Every cell: the best published method, ours, and whether ours is above."""
    rows = []
    for one in beside_published(study, store):
        verdict = "above" if one.is_win else "below"
        if not one.counts:
            verdict = f"not counted: {one.best.rows} rows there, {one.our_rows} here"
        rows.append(
            (
                one.best.dataset,
                str(one.best.rows),
                one.best.setting,
                one.best.method,
                f"{one.best.value:.3f}",
                one.learner,
                "" if one.rate is None else f"{100 * one.rate:g}",
                f"{one.ours.mean:.3f}",
                f"{one.error:.3f}",
                verdict,
            )
        )
    head = ("data set", "rows", "present", "best published", "its score", "algorithm", "labels %")
    return TextTable((*head, "ours", "standard error", "verdict"), tuple(rows))


def wins_table(study: Study, store: ResultStore) -> TextTable:
    """How many sets each learner is above the best published number on."""
    found = [one for one in beside_published(study, store) if one.counts]
    rows = []
    for learner, rate, setting in dict.fromkeys(
        (one.learner, one.rate, one.best.setting) for one in found
    ):
        here = [
            one
            for one in found
            if (one.learner, one.rate, one.best.setting) == (learner, rate, setting)
        ]
        large = [one for one in here if one.best.rows >= SMALL]
        rows.append(
            (
                learner,
                "" if rate is None else f"{100 * rate:g}",
                setting,
                f"{sum(one.is_win for one in here)} of {len(here)}",
                f"{sum(one.is_win for one in large)} of {len(large)}",
            )
        )
    rows.sort(key=lambda row: (row[0], -float(row[1] or 0), row[2]))
    head = ("algorithm", "labels %", "present", "wins")
    return TextTable((*head, f"of sets with {SMALL:,} rows or more"), tuple(rows))
