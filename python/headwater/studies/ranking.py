"""The ranks of a study's learners over its data sets, as tables and as figures."""

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

from headwater.studies.plan import Cell, LabelDelivery, Study
from headwater.studies.results import ResultStore
from headwater.studies.significance import Significance, significance
from headwater.types import TextTable


class Ranking(NamedTuple):
    """The learners on one kind of stream, at one label rate, with labels that come in one way."""

    stream: str
    rate: float | None
    labels: LabelDelivery
    found: Significance

    @property
    def place(self) -> tuple[str, str, str]:
        """Stream, labels, and rate in percent, as tables say them."""
        return self.stream, str(self.labels), percent(self.rate)


def percent(rate: float | None) -> str:
    """A label rate in percent; empty if there is none."""
    return "" if rate is None else f"{100 * rate:g}"


def rankings(study: Study, store: ResultStore) -> list[Ranking]:
    """Every ranking that at least two data sets and two learners have results for."""
    lower = is_lower_better(study.score)
    found = []
    streams = [plan.name for plan in study.streams]
    for stream, rate, labels in product(streams, study.label_rates, study.labels):
        rows = []
        for data in study.data:
            cells = [Cell(data.name, stream, one.name, rate, labels) for one in study.learners]
            rows.append([store.summary(cell, study.score) for cell in cells])
        here = [place for place in range(len(study.learners)) if any(row[place] for row in rows)]
        table = [
            [one.mean for one in (row[place] for place in here) if one is not None] for row in rows
        ]
        whole = [row for row in table if len(row) == len(here)]
        if len(here) >= 2 and len(whole) >= 2:
            names = [study.learners[place].name for place in here]
            tested = significance(names, whole, lower_is_better=lower)
            found.append(Ranking(stream, rate, labels, tested))
    return found


def is_lower_better(score: str) -> bool:
    """Whether the smaller number is the better one: of errors, losses and costs.

    Examples
    --------
    >>> is_lower_better("errors"), is_lower_better("test_balanced_accuracy")
    (True, False)
    """
    return any(word in score for word in ("error", "loss", "cost"))


PLACE = ("stream", "labels come", "asked %")


def ranks_table(found: list[Ranking]) -> TextTable:
    """The mean rank of each learner, the best first, with Friedman's test."""
    head = (
        "algorithm",
        *PLACE,
        "data sets",
        "mean rank",
        "Friedman χ²",
        "p",
        "critical difference",
    )
    rows = []
    for one in found:
        tested = one.found
        order = sorted(range(len(tested.learners)), key=lambda place: tested.mean_ranks[place])
        for place in order:
            test = (f"{tested.statistic:.3f}", p_value(tested.p))
            rows.append(
                (
                    tested.learners[place],
                    *one.place,
                    str(tested.data_sets),
                    f"{tested.mean_ranks[place]:.3f}",
                    *(("", "") if tested.p != tested.p else test),
                    f"{tested.critical_difference:.3f}",
                )
            )
    return TextTable(head, tuple(rows))


def rank_pairs_table(found: list[Ranking]) -> TextTable:
    """Every pair of learners: Nemenyi's test, Wilcoxon's with Holm's correction."""
    head = ("algorithm", "beside", *PLACE, "data sets", "difference of ranks", "Nemenyi")
    rows = list(_pair_rows(found))
    return TextTable((*head, "Wilcoxon p", "Holm p"), tuple(rows))


def _pair_rows(found: list[Ranking]) -> Iterator[tuple[str, ...]]:
    for one in found:
        for pair in one.found.pairs:
            yield (
                pair.one,
                pair.other,
                *one.place,
                str(one.found.data_sets),
                f"{pair.rank_difference:+.3f}",
                "differ" if pair.nemenyi else "",
                p_value(pair.p),
                p_value(pair.holm),
            )


def p_value(p: float) -> str:
    """A p value for people; empty if there is none.

    Examples
    --------
    >>> p_value(0.03211), p_value(0.000012), p_value(1.0)
    ('0.0321', '1.2e-05', '1')
    """
    return "" if p != p else f"{p:.3g}"
