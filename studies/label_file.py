"""Labelling a file by answering: how good are the labels of the rest?

    python studies/label_file.py --data FOLDER magic04 imdb reuters21578

Each file is labelled as `headwater label` does it: rows enter a live stream in random order while
fewer than 30 questions are open, somebody who is never wrong answers one card after the other, and
the model then labels all rows that nobody was asked about. `accuracy` is the share of these labels
that is right. Beside it the same learner with as many answers about rows chosen at random, and
about the first rows of the file. Seconds are of this process per answer, all in all.

    python studies/label_file.py --gain --data FOLDER magic04 imdb reuters21578

prints beside each other what `headwater label` expects of another hundred answers and what they
bring.
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
from headwater.service.file_feed import AHEAD, PAGE
from headwater.service.file_labels import HUNDRED, PROBE, effect_of_answers
from headwater.service.file_stream import rate_for

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


class Person:
    """Somebody who is never wrong, and the rows that enter a stream in this order."""

    def __init__(self, loop: hw.live.Loop, table: Table, order: Sequence[int]) -> None:
        self.loop, self.table, self.order = loop, table, order
        self.place = 0
        self.answered: set[int] = set()

    def answer(self, wanted: int) -> set[int]:
        """Answer until there are so many answers; the rows that were answered."""
        loop, rate = self.loop, rate_for(len(self.order))
        while len(self.answered) < wanted:
            room = AHEAD - loop.desk.waiting()
            if room > 0 and self.place < len(self.order):
                page = self.order[self.place : self.place + min(PAGE, int(room / rate))]
                self.place += len(page)
                ids = [int(row) for row in page]
                loop.receive_many([self.table.events[row] for row in ids], ids=ids)
            cards = loop.desk.lease(ADA)
            if not cards and self.place >= len(self.order):
                break
            for card in cards:
                loop.desk.answer(card, self.table.labels[int(card.event)], by=ADA)
                self.answered.add(int(card.event))
        loop.apply()
        return self.answered


def gains(table: Table, seed: int, answers: Sequence[int]) -> list[tuple[float, float]]:
    """What another hundred answers are expected to bring after so many, and what they bring."""
    order = np.random.default_rng(seed).permutation(len(table.labels)).tolist()
    probe = [table.events[row] for row in order[-PROBE:]]
    found = []
    with tempfile.TemporaryDirectory() as folder:
        url = str(Path(folder, "file.db"))
        with hw.live.open(url, learner=learner(table)) as loop:
            person = Person(loop, table, order)
            for wanted in answers:
                person.answer(wanted)
                effect = effect_of_answers(loop.learner, url, probe)
                assert effect is not None
                before = loop.learner.predict_many(table.events)
                answered = person.answer(wanted + HUNDRED)
                after = loop.learner.predict_many(table.events)
                rest = [row for row in range(len(order)) if row not in answered]
                right = [
                    (after[row] == table.labels[row]) * 1.0 - (before[row] == table.labels[row])
                    for row in rest
                ]
                found.append((effect.gain, float(np.mean(right))))
    return found


def by_questions(table: Table, order: Sequence[int], answers: Sequence[int]) -> Iterator[Result]:
    """Answer the questions of a live stream that the rows enter in this order."""
    with tempfile.TemporaryDirectory() as folder:
        url = str(Path(folder, "file.db"))
        with hw.live.open(url, learner=learner(table)) as loop:
            person, spent = Person(loop, table, order), 0.0
            for wanted in answers:
                start = time.process_time()
                answered = person.answer(wanted)
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


def print_gains(names: Sequence[str], data: Path, repeats: int) -> None:
    """Print a line per data set and number of answers."""
    click.echo("| file | answers | expected of the next 100 | true |\n| --- | --- | --- | --- |")
    for name in names:
        table = read(data, name)
        seeds = track(range(repeats), description=name, console=Console(stderr=True))
        found = np.array([gains(table, seed, ANSWERS[1:]) for seed in seeds]).mean(axis=0)
        for answers, (expected, true) in zip(ANSWERS[1:], found, strict=True):
            click.echo(f"| {name} | {answers:,} | {expected:+.1%} | {true:+.1%} |")


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("names", nargs=-1, required=True)
@click.option("--data", type=click.Path(path_type=Path), envvar="HEADWATER_DATA", required=True)
@click.option("--repeats", type=click.IntRange(min=1), default=3, show_default=True)
@click.option("--gain", is_flag=True, help="Print what another hundred answers bring.")
def main(names: tuple[str, ...], data: Path, repeats: int, gain: bool) -> None:
    """Print one line per data set and way: accuracy after so many answers, seconds per answer."""
    if gain:
        print_gains(names, data, repeats)
        return
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
