"""A study's report: the table for the terminal, as CSV, as Markdown, and a page with the figure."""

import csv
import io
import math
from html import escape
from string import Template

from headwater.experiments.comparison import Compared, compare, count
from headwater.experiments.figures import figure
from headwater.experiments.plan import Cell, Study
from headwater.experiments.results import Store, Summary
from headwater.experiments.tables import Table

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
<footer>Made by <code>$command</code>. Two numbers agree when they differ by at most one printed
standard deviation, by three standard errors of their difference, or by the tolerance that the study
names.</footer>
</body>
</html>
""")
TEXT_COLUMNS = {"data set", "algorithm", "setting", "stream", "labels come", "verdict", "reason"}


def tables(study: Study, store: Store) -> list[tuple[str, Table]]:
    """The study's tables with their titles: beside the paper's, or ours alone, and the tests."""
    found = compare(study, store)
    if found:
        return [(study.title, compared_table(study, found))]
    shown = [(study.title, own_table(study, store))]
    if study.compare:
        shown.append((f"Against {study.compare}, pair by pair", paired_table(study, store)))
    return shown


def compared_table(study: Study, found: list[Compared]) -> Table:
    """Ours beside the paper's."""
    head = ("table", "data set", "algorithm", "setting", "ours", "std", "labels %", "paper", "std")
    head += ("difference", "in stds", "reference", "verdict", "reason")
    return Table(
        head,
        tuple(
            (
                str(one.printed.table),
                one.printed.dataset,
                one.printed.algorithm,
                one.printed.setting,
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


def own_table(study: Study, store: Store) -> Table:
    """Ours alone."""
    several_streams = len({cell.stream for cell in study.cells()}) > 1
    several_labels = len(study.labels) > 1
    head = ("data set", *["stream"] * several_streams, "algorithm")
    head += (*["labels come"] * several_labels, study.score.replace("_", " "), "std", "labels %")
    rows = []
    for cell in study.cells():
        rate = store.summary(cell, "label_rate")
        rows.append(
            (
                cell.data,
                *[cell.stream] * several_streams,
                cell.learner,
                *[str(cell.labels)] * several_labels,
                *_mean_and_std(study.score, store.summary(cell, study.score)),
                "" if rate is None else f"{100 * rate.mean:.2f}",
            )
        )
    return Table(head, tuple(rows))


def paired_table(study: Study, store: Store) -> Table:
    """Each learner against the one that the study names: means over the data sets, paired tests."""
    from headwater.evaluation import paired_t_test

    head = ("algorithm", "stream", "asked %", "data sets", "mean", f"{study.compare}")
    head += ("difference", "significantly better", "significantly worse")
    rows = []
    for learner in (plan.name for plan in study.learners if plan.name != study.compare):
        for stream in (plan.name for plan in study.streams):
            for rate in study.label_rates:
                for labels in study.labels:
                    pairs = []
                    for data in study.data:
                        one = store.summary(
                            Cell(data.name, stream, learner, rate, labels), study.score
                        )
                        other = store.summary(
                            Cell(data.name, stream, study.compare, rate, labels), study.score
                        )
                        if one and other:
                            pairs.append((one, other))
                    if not pairs:
                        continue
                    tests = [paired_t_test(one.values, other.values) for one, other in pairs]
                    ours = sum(one.mean for one, _ in pairs) / len(pairs)
                    theirs = sum(other.mean for _, other in pairs) / len(pairs)
                    better = sum(test.p < 0.05 and test.difference > 0 for test in tests)
                    worse = sum(test.p < 0.05 and test.difference < 0 for test in tests)
                    rows.append(
                        (
                            learner,
                            stream,
                            "" if rate is None else f"{100 * rate:g}",
                            str(len(pairs)),
                            _number(study.score, ours),
                            _number(study.score, theirs),
                            _signed(study.score, ours - theirs),
                            str(better),
                            str(worse),
                        )
                    )
    return Table(head, tuple(rows))


def _mean_and_std(score: str, found: Summary | None) -> tuple[str, str]:
    if found is None:
        return "", ""
    spread = "" if math.isnan(found.std) else _number(score, found.std)
    return _number(score, found.mean), spread


def _number(score: str, value: float) -> str:
    return f"{value:.1f}" if score == "errors" else f"{value:.3f}"


def _signed(score: str, value: float) -> str:
    return f"{value:+.1f}" if score == "errors" else f"{value:+.3f}"


def verdict(study: Study, store: Store) -> str:
    """What the comparison comes to, in a sentence; empty without a paper."""
    found = compare(study, store)
    if not found:
        return ""
    counts = count(found)
    return f"{len(found)} printed cells: " + ", ".join(f"{n} {word}" for word, n in counts.items())


def as_csv(table: Table) -> str:
    """The table as CSV.

    Examples
    --------
    >>> as_csv(Table(("a", "b"), (("1", "two, three"),)))
    'a,b\\n1,"two, three"\\n'
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.head)
    writer.writerows(table.rows)
    return text.getvalue()


def as_markdown(table: Table) -> str:
    """The table as Markdown.

    Examples
    --------
    >>> print(as_markdown(Table(("data set", "n"), (("vote", "435"),))))
    | data set | n |
    | --- | ---: |
    | vote | 435 |
    """
    rule = ("---" if head in TEXT_COLUMNS else "---:" for head in table.head)
    lines = (table.head, tuple(rule), *table.rows)
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in lines)


def as_html(table: Table) -> str:
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


def markdown(study: Study, store: Store) -> str:
    """The report as Markdown, without the figure."""
    parts = [study.note.strip(), verdict(study, store)]
    parts += [f"### {title}\n\n{as_markdown(table)}" for title, table in tables(study, store)]
    return "\n\n".join(part for part in parts if part) + "\n"


def section(study: Study, store: Store) -> str:
    """The report as part of a page."""
    parts = [f"<p>{escape(text)}</p>" for text in (study.note.strip(), verdict(study, store)) if text]
    parts.append(figure(study, store))
    for title, table in tables(study, store):
        parts += [f"<h2>{escape(title)}</h2>", as_html(table)]
    return "\n".join(part for part in parts if part)


def page(title: str, body: str, command: str) -> str:
    """A page that needs nothing else."""
    return PAGE.substitute(title=escape(title), style=STYLE, body=body, command=escape(command))
