"""A fixed plan of events, answers and corrections, which any number of processes carry out in turn.

Every step has a key of its own, so a step that is carried out again changes nothing. What is left
in the end must not depend on where the processes died.
"""

import os
import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import sqlalchemy as sa

import headwater as hw
from headwater.live import database as db

LEARNERS: dict[str, Callable[[], hw.Learner]] = {
    "Spring": lambda: hw.Spring(label_rate=0.4, seed=1),
    "Linear": lambda: hw.Linear(query=hw.query.Budget(0.5), max_features=12, seed=2),
    "MPAA": lambda: hw.MPAA(seed=3),
}
OPTIONS: dict[str, Any] = {"apply_after": 1e9, "snapshot_facts": 40, "synchronous": "normal"}


def event(step: int) -> dict[Any, Any]:
    numbers = random.Random(step)
    names = [f"s{(step // 40 + i) % 30}" for i in range(numbers.randint(1, 6))]
    x: dict[Any, Any] = {name: numbers.gauss(0, 1) for name in names}
    if step % 7 == 0:
        x |= {"site": numbers.choice(["roof", "cellar"]), 5: -0.0, "none": None}
    return x


def truth(step: int, several: bool) -> Any:
    x = event(step)
    total = sum(value for value in x.values() if isinstance(value, float))
    return "high" if several and total > 1 else ("low" if several else total > 0)


def carry_out(loop: hw.live.Loop, first: int, last: int, done: Callable[[int], object]) -> None:
    """Steps `first` to `last - 1`; `done` is called after each."""
    several = loop.learner.task == "multiclass"
    questions: dict[int, int | None] = {}

    def question(step: int) -> int | None:
        if step not in questions:
            questions[step] = loop.receive(event(step), id=f"e{step}").question
        return questions[step]

    def answered(step: int, label: Any, by: str | None, key: str = "") -> None:
        number = question(step)
        if number is not None:
            loop.answer(number, label, by=by, key=key)

    for step in range(first, last):
        question(step)
        if step % 11 == 3:
            loop.receive(event(step), id=f"told{step}", label=truth(step, several))
        if step % 3 == 0 and step >= 6:  # late, of one of two people or of nobody
            answered(step - 6, truth(step - 6, several), [None, "ada", "bob"][step % 9 // 3])
        if step % 17 == 16 and step % 2 == 0 and question(step - 16) is not None:
            wrong = not truth(step - 16, several) if not several else "low"
            correct(loop, question(step - 16), wrong, f"c{step}")
        if step % 60 == 59:
            loop.snapshot()
        done(step)


def correct(loop: hw.live.Loop, number: int | None, label: Any, key: str) -> None:
    """Correct an answer if there is one, and wait until the model has it."""
    assert number is not None
    with suppress(hw.errors.AnswerError):  # there is none
        loop.correct(number, label, key=key)
    loop.wait()


def run(url: str, learner: str, first: int, last: int, pipe: int | None = None) -> bytes:
    """Carry out some steps, and write the number of each one that is done to a pipe."""
    with hw.live.open(url, learner=LEARNERS[learner](), **OPTIONS) as loop:
        carry_out(loop, first, last, lambda step: pipe and os.write(pipe, b"%d\n" % step))
        return loop.learner.to_bytes()


def content(url: str) -> list[Any]:
    """What the facts say, without their numbers, times and the marks of swaps."""
    database = db.Database(url)
    f = db.facts.c
    with database.connect() as connection:
        rows = connection.execute(
            sa.select(f.kind, f.key, f.label, f.asked, f.probability, f.margin, f.digest)
            .where(f.kind.in_((1, 2, 3, 4, 5)))
            .order_by(f.number)
        ).all()
    database.close()
    return [tuple(row) for row in rows]


def last_line(path: Path) -> int:
    lines = path.read_bytes().splitlines()
    return int(lines[-1]) if lines else -1
