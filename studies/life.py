"""Writes docs/papers/life.md: the studies life, change and haphazard as one page.

    python studies/life.py --data FOLDER --out life-results --docs docs/papers

The numbers are those of `headwater study life`, `headwater study change` and
`headwater study haphazard`; a folder that already has them is not run again. Data sets that are
not there, or are named by --without, are left out, and the page says which.
"""

from dataclasses import replace
from pathlib import Path

import click
from protocol import study

from headwater.studies.baseline_tables import (
    NEAR_CHANCE,
    beside_table,
    compared,
    late_table,
    shortfall_table,
    standing_table,
)
from headwater.studies.executor import missing
from headwater.studies.figures import figure
from headwater.studies.plan import Study
from headwater.studies.plan_file import read_study
from headwater.studies.published import published_table, wins_table
from headwater.studies.report import as_markdown, own_table
from headwater.studies.results import ResultStore
from headwater.studies.study import carry_out, packaged
from headwater.types import TextTable

OURS = "Spring"
RATE = 0.05
"""The share of labels that the page speaks of first."""
NAMES = ("life", "change", "haphazard")


def of(table: TextTable, words: tuple[str, ...], *columns: str) -> TextTable:
    """The rows in which one of some columns has one of these words; all if no column is named."""
    places = [table.head.index(column) for column in columns]
    rows = tuple(row for row in table.rows if any(row[place] in words for place in places))
    return TextTable(table.head, rows if places else table.rows)


def narrow(table: TextTable, *beginnings: str) -> TextTable:
    """The first column and those whose heads begin so."""
    kept = [
        place for place, head in enumerate(table.head) if not place or head.startswith(beginnings)
    ]
    rows = (tuple(row[place] for place in kept) for row in table.rows)
    return TextTable(tuple(table.head[place] for place in kept), tuple(rows))


def spoken(study: Study, store: ResultStore) -> str:
    """What the first table comes to at 5 % of the labels, and every row that falls short."""
    rows = [
        one
        for one in compared(study, store)
        if one.column.learner == OURS and one.column.rate == RATE
    ]
    if not rows:
        return f"{study.baseline} is not installed: there is nothing to compare with."
    mean = sum(one.mean for one in rows) / len(rows)
    base = sum(one.baseline for one in rows) / len(rows)
    above = sum(one.difference > 0 for one in rows)
    chance = [one.data for one in rows if one.mean < NEAR_CHANCE]
    below = sorted((one for one in rows if one.difference < 0), key=lambda one: one.difference)
    named = ", ".join(f"{one.data} ({one.difference:+.3f})" for one in below)
    text = (
        f"With {100 * RATE:g} % of the labels {OURS} has a mean of {mean:.3f} over {len(rows)}"
        f" rows, {study.baseline} with every label {base:.3f}. {OURS} is above it on {above} rows."
    )
    text += f" It falls short on {named}." if named else ""
    near = ", ".join(chance) if chance else "no row"
    return f"{text} A score below {NEAR_CHANCE}, near chance, has {near}."


def page(done: dict[str, tuple[Study, ResultStore]], absent: list[str]) -> str:
    """The page of the documentation."""
    life, change, field = (done[name] for name in NAMES)
    short = of(shortfall_table(*life), (OURS,), "algorithm")
    published = of(published_table(*field), (OURS,), "algorithm")
    parts = [
        "# Streams as they are in use",
        "How good is the recommended learner where features come and go, concepts change, classes"
        " are rare and answers come late? This report is written by `python studies/life.py`, from"
        " `headwater study life`, `headwater study change` and `headwater study haphazard`; each"
        " also writes a page with every number. The [streams](../how-to/streams.md) are part of the"
        " package, the [data sets](../how-to/datasets.md) are not.",
        "Left out: " + ", ".join(absent) + "." if absent else "",
        f"## Beside {life[0].baseline} with every label",
        life[0].note.strip(),
        spoken(*life),
        as_markdown(standing_table(*life)),
        "*Surely* above or below: by more than two standard errors of the difference.",
        "![Score against the share of labels, one panel per stream](life.svg)",
        as_markdown(narrow(beside_table(*life), life[0].baseline, OURS)),
        f"`Linear`, {OURS}'s faster and simpler relative:",
        as_markdown(narrow(beside_table(*life), "Linear")),
        "## What falls short",
        f"Every row on which {OURS} is surely below {life[0].baseline} with every label, or near"
        " chance, at any share of labels.",
        as_markdown(short),
        "## Answers that come late or are wrong",
        "A stream that is shorter than the delay gets no answer at all, and stays at chance.",
        as_markdown(narrow(late_table(*life), life[0].baseline, OURS)),
        as_markdown(narrow(late_table(*life), "Linear")),
        "## After a change",
        change[0].note.strip(),
        as_markdown(own_table(*change)),
        "## Beside published numbers of other methods",
        field[0].note.strip(),
        "Their numbers are means of five runs on one choice of missing values; ours of five"
        " choices, each with its own order of the rows. With 10 % of the labels the comparison is"
        " with methods that had all of them.",
        as_markdown(wins_table(*field)),
        as_markdown(published),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


@study(repeats=5)
@click.option("--out", type=click.Path(path_type=Path), default=Path("life-results"))
@click.option("--docs", type=click.Path(path_type=Path), default=Path("docs/papers"))
@click.option("--without", default="", help="Rows to leave out, separated by commas.")
@click.option("--events", type=click.IntRange(min=100), help="Shorter streams, for a quick look.")
def main(
    data: Path | None,
    repeats: int,
    jobs: int,
    out: Path,
    docs: Path,
    without: str,
    events: int | None,
) -> None:
    """Run the studies of streams as they are in use, and write the page about them."""
    done: dict[str, tuple[Study, ResultStore]] = {}
    absent: list[str] = []
    for name in NAMES:
        plan = replace(read_study(packaged()[name]), repeats=repeats)
        if events is not None:
            plan = shortened(plan, events)
        left = [one.name for one in plan.data if one.name in without.split(",")]
        plan = replace(plan, data=tuple(one for one in plan.data if one.name not in left))
        absent += [f"{one} ({name})" for one in (*left, *missing(plan, data))]
        done[name] = (plan, carry_out(plan, out / name, data, jobs))
    docs.mkdir(parents=True, exist_ok=True)
    (docs / "life.md").write_text(page(done, absent), encoding="utf-8")
    (docs / "life.svg").write_text(figure(*done["life"]), encoding="utf-8")
    click.echo(f"{docs / 'life.md'}")


def shortened(plan: Study, events: int) -> Study:
    """The study with streams of so many events."""
    data = (
        replace(one, limit=events, options={**one.options, "events": events})
        if one.options
        else replace(one, limit=events)
        for one in plan.data
    )
    return replace(plan, data=tuple(data), after=plan.after and events // 4)


if __name__ == "__main__":
    main()
