"""A study's report: the table for the terminal, as CSV, as Markdown, and a page with the figure."""

import csv
import io
import math
import statistics
from collections.abc import Iterable, Iterator
from html import escape
from itertools import product
from string import Template
from typing import NamedTuple

import numpy as np

from headwater.studies.baseline_tables import (
    beside_table,
    late_table,
    shortfall_table,
    standing_table,
)
from headwater.studies.comparison import Compared, compare, count
from headwater.studies.executor import is_installed
from headwater.studies.plan import Cell, LabelDelivery, Study
from headwater.studies.published import published_table, wins_table
from headwater.studies.ranking import p_value, rank_pairs_table, rankings, ranks_table
from headwater.studies.results import ResultStore, Summary
from headwater.studies.significance import holm, wilcoxon
from headwater.types import TextTable

STYLE = """\
body { font: 1rem/1.5 system-ui, sans-serif; color: #1a1a1a; background: #fff;
       max-width: 70rem; margin: 0 auto; padding: 1rem 1.1rem 3rem; }
h1 { font-size: 1.6rem; line-height: 1.25; } h2 { font-size: 1.2rem; margin-top: 2.5rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .88rem; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .55rem; border-bottom: 1px solid #e2e2e2; text-align: right; }
th { color: #555; vertical-align: bottom; }
.text { text-align: left; } td { white-space: nowrap; } td:last-child { white-space: normal; }
.agrees { color: #00664b; } .differs { color: #b03a00; }
summary { font-size: 1.1rem; font-weight: 600; margin: 1.5rem 0 .6rem; cursor: pointer; }
svg { width: 100%; height: auto; display: block; margin: 1rem 0; }
code { background: #f3f3f3; padding: .1rem .35rem; border-radius: .2rem; }
footer { margin-top: 2.5rem; color: #555; font-size: .9rem; }
"""
PAGE = Template("""\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title</title>
<style>
$style</style>
</head>
<body>
<h1>$title</h1>
$body
<footer>Made by <code>$command</code>.$rule</footer>
</body>
</html>
""")
RULE = """ Two numbers agree when they differ by at most one printed standard deviation, by three
standard errors of their difference, or by the tolerance that the study names. Fewer than ten
repeats may be too few to tell."""
LONG = 200
"""Rows of a table that is folded away at first."""
TEXT_COLUMNS = {
    *("data set", "algorithm", "setting", "stream", "labels come", "verdict", "reason"),
    *("paper", "where", "misprint", "table", "ours, paper's", "algorithm ours, paper's"),
    *("best published", "beside", "Nemenyi"),
}


class Part(NamedTuple):
    """A table of a report: the name of its file, its title, and what it says."""

    name: str
    title: str
    table: TextTable


def tables(study: Study, store: ResultStore, ranks: bool = False) -> list[Part]:
    """The study's tables: beside the paper's, or ours, what they come to before the numbers."""
    found = compare(study, store)
    shown = [Part("table", study.title, compared_table(study, found))] if found else []
    if study.compare and study.repeats > 1:
        title = f"Against {study.compare}, pair by pair"
        shown.append(Part("pairs", title, paired_table(study, store)))
    if study.reach:
        level = f"{study.compare} at {100 * study.reach:g} %"
        if study.repeats > 1:
            table = paired_table(study, store, study.reach)
            shown.append(Part("pairs-level", f"Against {level}, pair by pair", table))
        title = f"Labels needed for the score of {level}"
        shown.append(Part("labels-needed", title, reach_table(study, store)))
    if study.published:
        title = "Data sets on which it is above the best published number"
        shown.append(Part("wins", title, wins_table(study, store)))
        shown.append(Part("published", "Published numbers", published_table(study, store)))
    if study.baseline:
        shown += _baseline_parts(study, store)
    if ranks and (ranked := rankings(study, store)):
        shown.append(Part("ranks", "Mean ranks over the data sets", telling(ranks_table(ranked))))
        pairs = telling(rank_pairs_table(ranked))
        shown.append(Part("rank-pairs", "Pairs of learners over the data sets", pairs))
    if found:
        return shown
    return [*shown, Part("table", "Every number", own_table(study, store))]


def _baseline_parts(study: Study, store: ResultStore) -> Iterator[Part]:
    """What a study with a baseline shows."""
    name = study.baseline
    yield Part("standing", f"Beside {name}", standing_table(study, store))
    yield Part("short", "What falls short", shortfall_table(study, store))
    title = f"Every row beside {name}: {study.score.replace('_', ' ')} ± standard error"
    yield Part("beside", title, beside_table(study, store))
    if len(study.labels) > 1:
        yield Part("late", "Answers that come late or are wrong", late_table(study, store))


def compared_table(study: Study, found: list[Compared]) -> TextTable:
    """Ours beside the paper's."""
    head = (
        *("table", "data set", "algorithm", "setting", "ours", "std", "labels %", "paper", "std"),
        *("difference", "in stds", "reference", "verdict", "reason"),
    )
    return TextTable(
        head,
        tuple(
            (
                str(one.printed.table),
                one.printed.dataset,
                one.printed.algorithm,
                setting(one, found),
                *_mean_and_std(study.score, one.ours),
                "" if one.label_rate is None else f"{100 * one.label_rate:.2f}",
                _number(study.score, one.printed.mean),
                "" if one.printed.std is None else _number(study.score, one.printed.std),
                "" if one.ours is None else _signed(study.score, one.difference),
                "" if math.isnan(one.in_stds) else f"{one.in_stds:+.1f}",
                "" if one.reference is None else _number(study.score, one.reference),
                one.verdict,
                one.reason,
            )
            for one in found
        ),
    )


def short_table(study: Study, found: list[Compared]) -> TextTable:
    """Ours beside the paper's as narrow as a terminal; the reasons are said below it."""
    rows = []
    for one in found:
        said = setting(one, found) if has_settings(found) else ""
        rows.append(
            (
                f"{one.printed.dataset}, {one.printed.algorithm} {said}".rstrip(),
                str(one.printed.table),
                _with_spread(study.score, one.ours.mean, one.ours.std) if one.ours else "",
                _with_spread(study.score, one.printed.mean, one.printed.std),
                "" if one.ours is None else _signed(study.score, one.difference),
                "" if math.isnan(one.in_stds) else f"{one.in_stds:+.1f}",
                one.verdict,
            )
        )
    head = ("cell", "table", "ours", "paper", "difference", "in stds", "verdict")
    return TextTable(head, tuple(rows))


def has_settings(found: list[Compared]) -> bool:
    """Whether some algorithm of some table stands there under several settings."""
    cells = [(one.printed.table, one.printed.dataset, one.printed.algorithm) for one in found]
    return len(set(cells)) < len(cells)


def setting(one: Compared, found: list[Compared]) -> str:
    """A cell's setting, and its metric where there are several."""
    several = len({other.printed.metric for other in found}) > 1
    metric = one.printed.metric.replace("_", " ")
    return f"{one.printed.setting}, {metric}" if several else one.printed.setting


def _with_spread(score: str, mean: float, std: float | None) -> str:
    known = std is not None and not math.isnan(std)
    return _number(score, mean) + (f" ({_number(score, std)})" if known and std is not None else "")


def reasons(found: list[Compared]) -> list[str]:
    """Why cells differ or are missing, and how many each reason speaks of."""
    said = [one.reason for one in found if one.reason]
    return [f"{said.count(reason)} × {reason}" for reason in dict.fromkeys(said)]


def own_table(study: Study, store: ResultStore) -> TextTable:
    """Ours alone."""
    head = ("data set", "stream", "algorithm", "labels come", study.score.replace("_", " "), "std")
    also = (*(score.replace("_", " ") for score in study.also), "standard error")
    shown = {(cell.data, cell.stream) for cell in study.cells()}
    several = len(shown) > len({data for data, _ in shown})
    rows = []
    for cell in study.cells():
        found, rate = store.summary(cell, study.score), store.summary(cell, "label_rate")
        stream = cell.stream if several else ""
        place = (cell.data, stream, cell.learner, str(cell.labels))
        plan = study.learner_plan(cell.learner)
        if found is None:
            if not is_installed(plan) and any(one.data == cell.data for one, _ in store.runs):
                rows.append((*place, f"needs {plan.needs}", *("",) * (len(also) + 2)))
            continue
        more = [store.summary(cell, score) for score in study.also]
        error = store.error(cell, study.score)
        rows.append(
            (
                *place,
                *_mean_and_std(study.score, found),
                *("" if one is None else _number("", one.mean) for one in more),
                "" if math.isnan(error) else _number(study.score, error),
                "" if rate is None else f"{100 * rate.mean:.2f}",
            )
        )
    return telling(TextTable((*head, *also, "labels %"), tuple(rows)))


def telling(table: TextTable) -> TextTable:
    """The table without the columns that say the same in every row and need not."""
    kept = [
        place
        for place, head in enumerate(table.head)
        if head not in ("stream", "labels come") or len({row[place] for row in table.rows}) > 1
    ]
    rows = (tuple(row[place] for place in kept) for row in table.rows)
    return TextTable(tuple(table.head[place] for place in kept), tuple(rows))


def paired_table(study: Study, store: ResultStore, level: float | None = None) -> TextTable:
    """Each learner against the one that the study names: means over the data sets, paired tests.

    With a level the other has that label rate; without one, the same. `better` and `worse` count
    the data sets with a difference, by a paired t-test over the repeats. `p` is that of Wilcoxon's
    test over the data sets (of a single one, of the t-test), `Holm p` corrected for all rows.
    """
    from headwater.evaluation import paired_t_test

    head = (
        *("algorithm", "stream", "labels come", "asked %", "data sets", "mean", study.compare),
        *("difference", "better", "worse"),
    )
    rows, p_values = [], []
    others = [plan.name for plan in study.learners if plan.name != study.compare]
    streams = [plan.name for plan in study.streams]
    for place in product(others, streams, study.label_rates, study.labels):
        pairs = list(_pairs(study, store, *place, level))
        if not pairs:
            continue
        learner, stream, rate, labels = place
        tests = [paired_t_test(one.values, other.values) for one, other in pairs]
        ours = sum(one.mean for one, _ in pairs) / len(pairs)
        theirs = sum(other.mean for _, other in pairs) / len(pairs)
        if len(pairs) == 1:
            p_values.append(tests[0].p)
        else:
            means = np.array([(one.mean, other.mean) for one, other in pairs]).T
            p_values.append(wilcoxon(*means))
        rows.append(
            (
                learner,
                stream,
                str(labels),
                "" if rate is None else f"{100 * rate:g}",
                str(len(pairs)),
                _number(study.score, ours),
                _number(study.score, theirs),
                _signed(study.score, ours - theirs),
                str(sum(test.p < 0.05 and test.difference > 0 for test in tests)),
                str(sum(test.p < 0.05 and test.difference < 0 for test in tests)),
            )
        )
    tested = zip(rows, p_values, holm(p_values), strict=True)
    whole = tuple((*row, p_value(p), p_value(corrected)) for row, p, corrected in tested)
    return telling(TextTable((*head, "p", "Holm p"), whole))


def _pairs(
    study: Study,
    store: ResultStore,
    learner: str,
    stream: str,
    rate: float | None,
    labels: LabelDelivery,
    level: float | None,
) -> Iterator[tuple[Summary, Summary]]:
    """A learner and the one it is compared with, a data set at a time."""
    for data in study.data:
        beside = Cell(data.name, stream, study.compare, level or rate, labels)
        one = store.summary(Cell(data.name, stream, learner, rate, labels), study.score)
        other = store.summary(beside, study.score)
        if one and other:
            yield one, other


def reach_table(study: Study, store: ResultStore) -> TextTable:
    """How few labels each learner needs for the score of `compare` at `reach`, in percent."""
    others = [plan.name for plan in study.learners if plan.name != study.compare]
    head = ("data set", "stream", study.score.replace("_", " "), f"{study.compare}, %")
    rows = []
    shares: dict[str, list[float]] = {name: [] for name in others}
    for data, stream, labels in product(study.data, study.streams, study.labels):
        level = store.summary(
            Cell(data.name, stream.name, study.compare, study.reach, labels), study.score
        )
        if level is None:
            continue
        asked = labels_needed(study, store, data.name, stream.name, study.compare, labels, None)
        row = []
        for name in others:
            curve = labels_needed(study, store, data.name, stream.name, name, labels, level.mean)
            row.append("not reached" if math.isnan(curve) else f"{100 * curve:.1f}")
            shares[name].append(curve / asked)
        texts = (_number(study.score, level.mean), f"{100 * asked:.1f}")
        rows.append((data.name, stream.name, *texts, *row))
    middle = [_share(_median(shares[name])) for name in others]
    found = telling(TextTable((*head, *(f"{name}, %" for name in others)), tuple(rows)))
    gap = ("",) * (len(found.head) - 1 - len(others))
    return TextTable(found.head, (*found.rows, ("median", *gap, *middle)))


def labels_needed(
    study: Study,
    store: ResultStore,
    data: str,
    stream: str,
    learner: str,
    labels: LabelDelivery,
    level: float | None,
) -> float:
    """The share of labels at which the learner's mean curve first reaches a level; NaN: nowhere.

    Between two rates the curve is a straight line; below the lowest one it is taken to be flat.
    Without a level: the share that it asked for at the rate `reach`.
    """
    points = []
    for rate in study.label_rates:
        cell = Cell(data, stream, learner, rate, labels)
        asked, score = store.summary(cell, "label_rate"), store.summary(cell, study.score)
        if asked and score:
            if level is None and rate == study.reach:
                return asked.mean
            points.append((asked.mean, score.mean))
    points.sort()
    return crossing(points, math.nan if level is None else level)


def crossing(points: list[tuple[float, float]], level: float) -> float:
    """Where a line through the points first reaches a level; NaN: nowhere.

    Examples
    --------
    >>> crossing([(0.1, 0.5), (0.2, 0.7)], 0.6)
    0.15000000000000002
    """
    for place, (x, y) in enumerate(points):
        if y >= level:
            if place == 0:
                return x
            before, below = points[place - 1]
            return before + (x - before) * (level - below) / (y - below)
    return math.nan


def _share(share: float) -> str:
    return f"{100 * share:.0f} % of them" if math.isfinite(share) else "not reached"


def _median(shares: list[float]) -> float:
    """The median, where what is not reached counts as more than anything."""
    ordered = sorted(math.inf if math.isnan(share) else share for share in shares)
    return statistics.median(ordered) if ordered else math.nan


def _mean_and_std(score: str, found: Summary | None) -> tuple[str, str]:
    if found is None:
        return "", ""
    spread = "" if math.isnan(found.std) else _number(score, found.std)
    return _number(score, found.mean), spread


def _number(score: str, value: float) -> str:
    return f"{value:.1f}" if score == "errors" else f"{value:.3f}"


def _signed(score: str, value: float) -> str:
    return f"{value:+.1f}" if score == "errors" else f"{value:+.3f}"


def verdict(study: Study, store: ResultStore) -> str:
    """What the comparison comes to, in a sentence; empty without a paper."""
    found = compare(study, store)
    if not found:
        return ""
    return f"{len(found)} printed cells: {spoken(count(found))}."


def spoken(counts: dict[str, int]) -> str:
    """The counts in words.

    Examples
    --------
    >>> spoken({"agrees": 2, "differs, reason known": 1})
    '2 agree, 1 differs for a known reason'
    """
    words = {
        "agrees": ("agrees", "agree"),
        "differs, reason known": ("differs for a known reason", "differ for a known reason"),
        "differs, reason unknown": ("differs and we do not know why",) * 2,
        "too few repeats": ("has too few repeats to tell", "have too few repeats to tell"),
        "no data": ("has no data", "have no data"),
    }
    return ", ".join(f"{n} {words[key][n != 1]}" for key, n in counts.items() if n)


def as_csv(table: TextTable) -> str:
    """The table as CSV.

    Examples
    --------
    >>> as_csv(TextTable(("a", "b"), (("1", "two, three"),)))
    'a,b\\n1,"two, three"\\n'
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.head)
    writer.writerows(table.rows)
    return text.getvalue()


def as_markdown(table: TextTable) -> str:
    """The table as Markdown.

    Examples
    --------
    >>> print(as_markdown(TextTable(("data set", "n"), (("vote", "435"),))))
    | data set | n |
    | --- | ---: |
    | vote | 435 |
    """
    rule = ("---" if head in TEXT_COLUMNS else "---:" for head in table.head)
    lines = (table.head, tuple(rule), *table.rows)
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in lines
    )


def as_html(table: TextTable) -> str:
    """The table as HTML; the verdicts are coloured."""

    def cell(tag: str, head: str, text: str) -> str:
        classes = ["text"] * (head in TEXT_COLUMNS) + [text] * (text in ("agrees", "differs"))
        kind = f' class="{" ".join(classes)}"' if classes else ""
        return f"<{tag}{kind}>{escape(text)}</{tag}>"

    lines = [
        "<tr>" + "".join(cell("th", head, head) for head in table.head) + "</tr>",
        *(
            "<tr>"
            + "".join(cell("td", head, text) for head, text in zip(table.head, row, strict=True))
            + "</tr>"
            for row in table.rows
        ),
    ]
    return '<div class="wide"><table>\n' + "\n".join(lines) + "\n</table></div>"


def markdown(study: Study, store: ResultStore, ranks: bool = False) -> str:
    """The report as Markdown, without the figure."""
    parts = [study.note.strip(), verdict(study, store)]
    parts += [
        f"### {part.title}\n\n{as_markdown(part.table)}" for part in tables(study, store, ranks)
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def section(study: Study, store: ResultStore, drawn: Iterable[str], ranks: bool = False) -> str:
    """The report as part of a page, with its figures."""
    parts = [
        f"<p>{escape(text)}</p>" for text in (study.note.strip(), verdict(study, store)) if text
    ]
    parts += drawn
    for part in tables(study, store, ranks):
        if part.table.rows:
            parts.append(
                f"<details{' open' * (part.name != 'table' or len(part.table.rows) < LONG)}>"
                f"<summary>{escape(part.title)}</summary>{as_html(part.table)}</details>"
            )
    return "\n".join(part for part in parts if part)


def page(title: str, body: str, command: str, rule: str = RULE) -> str:
    """A page that needs nothing else; `rule` says what its verdicts mean."""
    shown = {"title": escape(title), "style": STYLE, "body": body, "command": escape(command)}
    return PAGE.substitute(shown, rule=rule)
