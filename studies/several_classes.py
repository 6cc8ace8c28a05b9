"""Spring with several classes beside MPAA-II and River's softmax regression with every label.

    python studies/several_classes.py --data FOLDER
    python studies/several_classes.py --data FOLDER --streams satimage,born --repeats 5
    python studies/several_classes.py --data FOLDER --learners "Spring 5 %,Spring 100 %"

Every event is first predicted, then its label may be asked for and learned. Spring asks for 5 % of
the labels and for all of them, MPAA-II for as many as it chooses, River learns every one. Accuracy,
balanced accuracy (the mean over the classes of their recalls) and log loss over all events; the log
loss leaves out events whose class had no label yet. Data sets come in the random order of a seed,
the topics of `reuters21578` in the order of time. In `born` a fourth class is born half-way.
"""

import gzip
import json
from collections.abc import Iterator
from functools import lru_cache
from math import log
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from protocol import check_data, file_of, in_order, read, study
from rich import box
from rich.console import Console
from rich.table import Table

import headwater as hw

TABLES = ("satimage", "letter", "usps", "dna3", "mnist10k")
TOPICS = "reuters21578"
BORN = "born"
STREAMS = (*TABLES, TOPICS, BORN)
LEARNERS = ("Spring 5 %", "Spring 100 %", "MPAA-II", "River 100 %")
LEAST = 1e-15  # probability
Labelled = tuple[dict[Any, float], str]


class Case(NamedTuple):
    """One stream and one learner."""

    folder: Path
    stream: str
    learner: str
    seed: int


class Outcome(NamedTuple):
    """What a run came to."""

    accuracy: float
    balanced: float
    log_loss: float
    labels: float
    """The share of the labels that were learned."""


@lru_cache(maxsize=2)
def table(path: Path) -> Any:
    """A data set as it lies in its file."""
    return read(path)


def events_of(case: Case) -> Iterator[Labelled]:
    """The events of a stream with their labels."""
    if case.stream == TOPICS:
        with gzip.open(case.folder / "streams" / f"{TOPICS}.jsonl.gz", "rt") as lines:
            for line in lines:
                row = json.loads(line)
                yield row["x"], row["y"]
    elif case.stream == BORN:
        yield from born(case.seed)
    else:
        values, labels = table(file_of(case.folder, case.stream))
        for place in np.random.default_rng(case.seed).permutation(len(labels)):
            yield dict(enumerate(values[place].tolist())), str(labels[place])


def born(seed: int, length: int = 8_000) -> Iterator[Labelled]:
    """Four normal clouds in ten sensors of other units; the fourth comes in the second half."""
    draw = np.random.default_rng(seed)
    centres = draw.normal(0, 1.2, (4, 10))
    for t in range(length):
        cloud = int(draw.integers(4 if t >= length // 2 else 3))
        values = (centres[cloud] + draw.normal(0, 1.6, 10)) * 10.0 ** (np.arange(10) % 4)
        yield {f"s{i}": float(x) for i, x in enumerate(values)}, f"cloud {cloud}"


class River:
    """River's running scaler and softmax regression."""

    def __init__(self) -> None:
        from river import linear_model, preprocessing

        self.model = preprocessing.StandardScaler() | linear_model.SoftmaxRegression()
        self.labels: tuple[str, ...] = ()

    def told(self, event: dict[Any, float]) -> dict[str, float]:
        """The probability of each class."""
        return dict(self.model.predict_proba_one(event))

    def next(self, event: dict[Any, float], label: str) -> tuple[str | None, bool]:
        """Predict, then learn."""
        prediction = self.model.predict_one(event)
        self.model.learn_one(event, label)
        self.labels = tuple({*self.labels, label})
        return prediction, True


class Ours:
    """A learner that asks for its labels."""

    def __init__(self, model: hw.Learner) -> None:
        self.model = model

    @property
    def labels(self) -> tuple[Any, ...]:
        """The classes with a label."""
        return self.model.labels

    def told(self, event: dict[Any, float]) -> dict[Any, float]:
        """The probability of each class."""
        return self.model.predict_proba_one(event)

    def next(self, event: dict[Any, float], label: str) -> tuple[Any, bool]:
        """Predict, ask, learn."""
        decision = self.model.decide_one(event)
        if decision.asked:
            self.model.answer(decision, label)
        return decision.prediction, decision.asked


def learner_of(case: Case) -> Ours | River:
    """A fresh learner."""
    if case.learner == "River 100 %":
        return River()
    if case.learner == "MPAA-II":
        return Ours(hw.named("MPAA-II", seed=case.seed))
    rate = 1.0 if case.learner == "Spring 100 %" else 0.05
    return Ours(hw.Spring(label_rate=rate, multiclass=True, seed=case.seed))


def run_case(case: Case) -> Outcome:
    """One pass."""
    model, losses, learned = learner_of(case), [], 0
    right: dict[str, list[bool]] = {}
    for event, label in events_of(case):
        if label in model.labels:
            losses.append(-log(max(LEAST, model.told(event).get(label, 0.0))))
        prediction, asked = model.next(event, label)
        learned += asked
        right.setdefault(label, []).append(prediction == label)
    every = [one for ones in right.values() for one in ones]
    balanced = float(np.mean([np.mean(ones) for ones in right.values()]))
    labels = learned / len(every)
    return Outcome(float(np.mean(every)), balanced, float(np.mean(losses)), labels)


def show(cases: list[Case], outcomes: list[Outcome]) -> None:
    """One row per stream and learner: the means over the seeds."""
    heads = ("stream", "learner", "labels", "accuracy", "balanced accuracy", "log loss")
    report = Table(*heads, box=box.MARKDOWN)
    by_row: dict[tuple[str, str], list[Outcome]] = {}
    for case, outcome in zip(cases, outcomes, strict=True):
        by_row.setdefault((case.stream, case.learner), []).append(outcome)
    for (stream, learner), ones in by_row.items():
        mean = Outcome(*np.mean(ones, axis=0).tolist())
        numbers = (f"{mean.accuracy:.3f}", f"{mean.balanced:.3f}", f"{mean.log_loss:.3f}")
        report.add_row(stream, learner, f"{100 * mean.labels:.1f} %", *numbers)
    Console(width=120).print(report)


@study(repeats=2)
@click.option("--streams", default=",".join(STREAMS), help="Which, separated by commas.")
@click.option("--learners", default=",".join(LEARNERS), help="Which, separated by commas.")
def main(data: Path | None, repeats: int, jobs: int, streams: str, learners: str) -> None:
    """Print accuracy, balanced accuracy and log loss of each learner on each stream."""
    chosen = streams.split(",")
    unknown = [one for one in chosen if one not in STREAMS]
    if unknown:
        raise click.UsageError(
            f"--streams: there is no {', '.join(unknown)}. Choose from {', '.join(STREAMS)}."
        )
    compared = learners.split(",")
    unknown = [one for one in compared if one not in LEARNERS]
    if unknown:
        raise click.UsageError(
            f"--learners: there is no {', '.join(unknown)}. Choose from {', '.join(LEARNERS)}."
        )
    folder = check_data(data, [one for one in chosen if one in TABLES])
    click.echo(f"The means over {repeats} seeds; {TOPICS} has one order and runs once.")
    cases = [
        Case(folder, stream, learner, seed)
        for stream in chosen
        for learner in compared
        for seed in range(1 if stream == TOPICS else repeats)
    ]
    show(cases, list(in_order(run_case, cases, jobs)))


if __name__ == "__main__":
    main()
