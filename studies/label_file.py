"""Labelling a file by answering: how good are the labels of the rest?

    python studies/label_file.py --data FOLDER magic04 imdb reuters21578

Each file is labelled as `headwater label` does it: rows enter a live stream in random order while
fewer than 30 questions are open, somebody who is never wrong answers one card after the other, and
the model then labels all rows that nobody was asked about. `accuracy` is the share of these labels
that is right. Beside it the same learner with as many answers about rows chosen at random, and
about the first rows of the file. Seconds are of this process per answer, all in all.
"""

import gzip
import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from rich.console import Console
from rich.progress import track

import headwater as hw
from headwater.cli.label import rate_for
from headwater.service.file_feed import AHEAD, PAGE

ANSWERS = (100, 200, 500, 1_000)
TOPICS = "reuters21578"
WAYS = ("headwater label", "random rows", "file order")
ADA = "ada"


class Table(NamedTuple):
    """A data set in memory: events and labels, in the order of its file."""

    events: list[dict[Any, float]]
    labels: list[Any]


class Result(NamedTuple):
    """What a number of answers led to; None if there were not so many questions."""

    accuracy: float | None
    seconds: float


def read(folder: Path, name: str) -> Table:
    """A data set by its name."""
    if name == TOPICS:
        with gzip.open(folder / "streams" / f"{name}.jsonl.gz", "rt") as lines:
            rows = [json.loads(line) for line in lines]
        return Table([row["x"] for row in rows], [row["y"] for row in rows])
    events, labels = zip(*hw.open(folder / f"{name}.svm.gz"), strict=True)
    return Table(list(events), list(labels))


def learner(table: Table) -> hw.Spring:
    """The learner of `headwater label`."""
    classes, rate = sorted(set(table.labels)), rate_for(len(table.labels))
    if len(classes) == 2:
        return hw.Spring(label_rate=rate, classes=tuple(classes))
    return hw.Spring(label_rate=rate, multiclass=True)


def accuracy(model: hw.Learner, table: Table, answered: set[int]) -> float:
    """The share of right labels among the rows that nobody was asked about."""
    guesses = model.predict_many(table.events)
    rest = [row for row in range(len(table.labels)) if row not in answered]
    return sum(bool(guesses[row] == table.labels[row]) for row in rest) / len(rest)


def by_questions(table: Table, order: Sequence[int], answers: Sequence[int]) -> Iterator[Result]:
    """Answer the questions of a live stream that the rows enter in this order."""
    with tempfile.TemporaryDirectory() as folder:
        url = str(Path(folder, "file.db"))
        with hw.live.open(url, learner=learner(table)) as loop:
            answered: set[int] = set()
            place, spent, rate = 0, 0.0, rate_for(len(order))
            for wanted in answers:
                start = time.process_time()
                while len(answered) < wanted:
                    room = AHEAD - loop.desk.waiting()
                    if room > 0 and place < len(order):
                        page = order[place : place + min(PAGE, int(room / rate))]
                        place += len(page)
                        ids = [int(row) for row in page]
                        loop.receive_many([table.events[row] for row in ids], ids=ids)
                    cards = loop.desk.lease(ADA)
                    if not cards and place >= len(order):
                        break
                    for card in cards:
                        loop.desk.answer(card, table.labels[int(card.event)], by=ADA)
                        answered.add(int(card.event))
                loop.apply()
                spent += time.process_time() - start
                if len(answered) < wanted:
                    yield Result(None, spent / max(1, len(answered)))
                else:
                    yield Result(accuracy(loop.learner, table, answered), spent / wanted)


def by_order(table: Table, order: Sequence[int], answers: Sequence[int]) -> Iterator[Result]:
    """Answer about the rows in this order."""
    model = learner(table)
    place, spent = 0, 0.0
    for wanted in answers:
        start = time.process_time()
        for row in order[place:wanted]:
            model.learn_one(table.events[row], table.labels[row])
        place = wanted
        spent += time.process_time() - start
        known = wanted < len(order)
        right = accuracy(model, table, set(order[:wanted])) if known else None
        yield Result(right, spent / min(wanted, len(order)))


def results(table: Table, seed: int, answers: Sequence[int]) -> dict[str, list[Result]]:
    """What each way led to."""
    rows = np.random.default_rng(seed).permutation(len(table.labels)).tolist()
    return {
        WAYS[0]: list(by_questions(table, rows, answers)),
        WAYS[1]: list(by_order(table, rows, answers)),
        WAYS[2]: list(by_order(table, range(len(rows)), answers)),
    }


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("names", nargs=-1, required=True)
@click.option("--data", type=click.Path(path_type=Path), envvar="HEADWATER_DATA", required=True)
@click.option("--repeats", type=click.IntRange(min=1), default=3, show_default=True)
def main(names: tuple[str, ...], data: Path, repeats: int) -> None:
    """Print one line per data set and way: accuracy after so many answers, seconds per answer."""
    click.echo("| file | rows | way | " + " | ".join(f"{n:,} answers" for n in ANSWERS), nl=False)
    click.echo(" | seconds per answer |\n" + "| --- " * (4 + len(ANSWERS)) + "|")
    for name in names:
        table = read(data, name)
        seeds = track(range(repeats), description=name, console=Console(stderr=True))
        found = [results(table, seed, ANSWERS) for seed in seeds]
        for way in WAYS:
            cells = []
            for place in range(len(ANSWERS)):
                values = [one[way][place].accuracy for one in found]
                known = [value for value in values if value is not None]
                cells.append(f"{np.mean(known):.1%}" if len(known) == len(values) else "–")
            seconds = np.mean([one[way][-1].seconds for one in found])
            head = f"| {name} | {len(table.labels):,} | {way} | "
            click.echo(f"{head}{' | '.join(cells)} | {seconds:.4f} |")


if __name__ == "__main__":
    main()
