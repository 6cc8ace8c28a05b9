"""Tables of learners beside a baseline: every row, what falls short of it, and late answers."""

import math
from collections.abc import Callable
from typing import NamedTuple

from headwater.studies.executor import is_installed
from headwater.studies.plan import Cell, LabelDelivery, Study
from headwater.studies.results import ResultStore
from headwater.types import TextTable

NEAR_CHANCE = 0.55
"""A balanced accuracy below this one is hardly better than chance."""
SURE = 2.0
"""Standard errors of the difference beyond which a row is above or below the baseline."""


class Column(NamedTuple):
    """A learner at a label rate, with labels that come in some way."""

    learner: str
    rate: float | None
    labels: LabelDelivery

    def cell(self, data: str, stream: str) -> Cell:
        """Its cell in the row of a data set and a stream."""
        return Cell(data, stream, self.learner, self.rate, self.labels)

    @property
    def name(self) -> str:
        """The learner and its share of labels."""
        return self.learner + ("" if self.rate is None else f" {100 * self.rate:g} %")


class Compared(NamedTuple):
    """A row of one column, and the same row of the baseline."""

    data: str
    column: Column
    mean: float
    error: float
    baseline: float
    baseline_error: float

    @property
    def difference(self) -> float:
        """The column's mean minus the baseline's."""
        return self.mean - self.baseline

    @property
    def in_errors(self) -> float:
        """The difference in its standard errors; NaN if they are not known."""
        error = math.hypot(self.error, self.baseline_error)
        return self.difference / error if error else math.nan


def columns(study: Study, labels: LabelDelivery) -> list[Column]:
    """Every learner at every rate for which labels come so, the baseline first."""
    here = {
        Column(cell.learner, cell.rate, cell.labels): None
        for cell in study.cells()
        if cell.labels == labels
    }
    return sorted(here, key=lambda column: column.learner != study.baseline)


def rows(study: Study) -> list[tuple[str, str]]:
    """The data sets and streams that have a row."""
    return list(dict.fromkeys((cell.data, cell.stream) for cell in study.cells()))


def row_name(study: Study, data: str, stream: str) -> str:
    """What a row is called: the data set, and the stream if it has several."""
    several = sum(one == data for one, _ in rows(study)) > 1
    return f"{data}, {stream}" if several else data


def beside_table(study: Study, store: ResultStore) -> TextTable:
    """One row per data set, one column per learner and rate, labels as they come first."""
    return _wide(study, store, columns(study, study.labels[0]), lambda one: one.name)


def late_table(study: Study, store: ResultStore) -> TextTable:
    """One row per data set, one column per way in which labels come."""
    shown = [column for labels in study.labels for column in columns(study, labels)]
    limited = {rate for labels in study.labels[1:] for rate in labels.label_rates}
    shown = [
        column
        for column in shown
        if not limited or column.rate in limited or column.learner == study.baseline
    ]
    order = [plan.name for plan in study.learners]
    shown.sort(key=lambda column: order.index(column.learner))
    return _wide(study, store, shown, lambda column: f"{column.name}, {column.labels}")


def _wide(
    study: Study, store: ResultStore, shown: list[Column], head: Callable[[Column], str]
) -> TextTable:
    means: dict[Column, list[float]] = {column: [] for column in shown}
    table = []
    for data, stream in rows(study):
        texts = []
        for column in shown:
            found = store.summary(column.cell(data, stream), study.score)
            if found is None or math.isnan(found.mean):
                texts.append("")
                continue
            means[column].append(found.mean)
            error = store.error(column.cell(data, stream), study.score)
            spread = "" if math.isnan(error) else f" ± {error:.3f}"
            texts.append(f"{found.mean:.3f}{spread}")
        if any(texts):
            table.append((row_name(study, data, stream), *texts))
    if table:
        full = len(table)
        last = (
            f"{sum(found) / full:.3f}" if len(found) == full else "" for found in means.values()
        )
        table.append((f"mean of {full}", *last))
    kept = [
        place
        for place, column in enumerate(shown, 1)
        if means[column] or not is_installed(study.learner_plan(column.learner))
    ]
    heads = [head(column) for column in shown]
    for place, column in enumerate(shown):
        plan = study.learner_plan(column.learner)
        if not is_installed(plan):
            heads[place] += f" (needs {plan.needs}, which is not installed)"
    return TextTable(
        ("data set", *(heads[place - 1] for place in kept)),
        tuple((row[0], *(row[place] for place in kept)) for row in table),
    )


def compared(study: Study, store: ResultStore) -> list[Compared]:
    """Every row of every column beside the baseline, labels as they come first."""
    shown = columns(study, study.labels[0])
    bases = [column for column in shown if column.learner == study.baseline]
    found = []
    for column in shown:
        if column.learner == study.baseline:
            continue
        base = bases[0] if len(bases) == 1 else column._replace(learner=study.baseline)
        for data, stream in rows(study):
            ours, theirs = column.cell(data, stream), base.cell(data, stream)
            one = store.summary(ours, study.score)
            other = store.summary(theirs, study.score)
            if one is None or other is None or math.isnan(one.mean + other.mean):
                continue
            errors = store.error(ours, study.score), store.error(theirs, study.score)
            name = row_name(study, data, stream)
            found.append(Compared(name, column, one.mean, errors[0], other.mean, errors[1]))
    return found


def standing_table(study: Study, store: ResultStore) -> TextTable:
    """How many rows of each learner and rate are above the baseline, below it, or near chance."""
    found = compared(study, store)
    table = []
    for column in dict.fromkeys(one.column for one in found):
        here = [one for one in found if one.column == column]
        table.append(
            (
                column.learner,
                "" if column.rate is None else f"{100 * column.rate:g}",
                str(len(here)),
                f"{sum(one.mean for one in here) / len(here):.3f}",
                f"{sum(one.baseline for one in here) / len(here):.3f}",
                str(sum(one.difference > 0 for one in here)),
                str(sum(one.in_errors > SURE for one in here)),
                str(sum(one.in_errors < -SURE for one in here)),
                str(sum(one.mean < NEAR_CHANCE for one in here)),
            )
        )
    head = ("algorithm", "labels %", "rows", "mean", study.baseline, "above")
    return TextTable((*head, "surely above", "surely below", "near chance"), tuple(table))


def shortfall_table(study: Study, store: ResultStore) -> TextTable:
    """The rows that are surely below the baseline, or near chance, with their numbers."""
    return TextTable(
        ("data set", "algorithm", "labels %", "score", study.baseline, "difference", "in errors"),
        tuple(
            (
                one.data,
                one.column.learner,
                "" if one.column.rate is None else f"{100 * one.column.rate:g}",
                f"{one.mean:.3f}",
                f"{one.baseline:.3f}",
                f"{one.difference:+.3f}",
                "" if math.isnan(one.in_errors) else f"{one.in_errors:+.1f}",
            )
            for one in compared(study, store)
            if one.in_errors < -SURE or one.mean < NEAR_CHANCE
        ),
    )
