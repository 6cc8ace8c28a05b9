"""Runs a study: many small runs on many cores, stored as they finish, in any order.

A task is a stream of a data set, some seeds, and every cell that runs on it, so that a stream is
made once for all learners. The results do not depend on the number of jobs or on interruptions,
because every run depends only on its cell and seed.
"""

import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from headwater import datasets
from headwater.catalogue import algorithm
from headwater.errors import ParameterError
from headwater.studies.own_modules import ModuleArchive, pack
from headwater.studies.plan import Cell, DataPlan, LearnerPlan, Study
from headwater.studies.protocol import load, split
from headwater.studies.results import Choices, ResultStore, Runs
from headwater.studies.trial import FOLDS, Chosen, TrialResult, choose, run

SECONDS_A_VALUE = 30e-9
"""Approximate cost of one value for a learner, used to plan tasks."""
SEARCH = 12
"""How many times a stream is run through to find a query width."""
WORTH = 0.3
"""Estimated seconds that a task should take: more than it costs to start it."""
Progress = Callable[[float, str], None]
"""Called with the share of the work done so far, and what is being done."""


class ChoiceTask(NamedTuple):
    """Choose a cell's parameters."""

    study: Study
    cell: Cell
    folder: Path | None
    cost: float

    def __call__(self) -> Choices:
        return {self.cell: choose(self.study, self.cell, self.folder)}


class RunTask(NamedTuple):
    """Run every cell of a stream, seed by seed."""

    study: Study
    chosen: dict[Cell, Chosen]
    seeds: tuple[int, ...]
    folder: Path | None
    cost: float

    def __call__(self) -> Runs:
        first = next(iter(self.chosen))
        preprocess = self.study.preprocess_for(first.learner)
        found: dict[tuple[Cell, int], TrialResult] = {}
        for seed in self.seeds:
            data = load(self.study.data_plan(first.data), preprocess, self.folder, seed)
            shown = split(self.study, data, self.study.stream_plan(first.stream), seed)
            for cell, chosen in self.chosen.items():
                found[cell, seed] = run(self.study, cell, chosen, shown, seed)
        return found


Task = ChoiceTask | RunTask


def is_there(plan: DataPlan, folder: Path | None) -> bool:
    """Whether a data set can be loaded."""
    if ":" in plan.source:
        return True
    return datasets.entry(plan.source).path(folder).is_file()


def missing(study: Study, folder: Path | None) -> list[str]:
    """The data sets of a study that are missing."""
    return [plan.name for plan in study.data if not is_there(plan, folder)]


def is_installed(plan: LearnerPlan) -> bool:
    """Whether the module that a learner needs is installed."""
    return not plan.needs or find_spec(plan.needs) is not None


def available(study: Study, folder: Path | None) -> Study:
    """The study with only the data sets that are present and the learners that can run."""
    return replace(
        study,
        data=tuple(plan for plan in study.data if is_there(plan, folder)),
        learners=tuple(plan for plan in study.learners if is_installed(plan)),
    )


def execute(
    study: Study,
    store: ResultStore,
    folder: Path | None = None,
    jobs: int = 1,
    backend: str = "loky",
    progress: Progress = lambda share, what: None,
) -> None:
    """Run everything that is not in the store yet."""
    cells = list(study.cells())
    undecided = [cell for cell in cells if needs_choice(study, cell) and cell not in store.choices]
    choosing: list[Task] = [
        ChoiceTask(study, cell, folder, choice_cost(study, cell)) for cell in undecided
    ]
    running_cost = sum(run_cost(study, cell) * study.repeats for cell in cells)
    total = sum(task.cost for task in choosing) + running_cost or 1.0
    done = 0.0
    for task, found in in_parallel(choosing, jobs, backend):
        store.add_choices(found)
        done += task.cost
        progress(done / total, "choosing parameters")
    tasks = run_tasks(study, store, folder)
    done = total - sum(task.cost for task in tasks)
    for task, outcomes in in_parallel(tasks, jobs, backend):
        store.add_runs(outcomes)
        done += task.cost
        progress(done / total, "repeats")


def run_tasks(study: Study, store: ResultStore, folder: Path | None) -> list[Task]:
    """The remaining runs, in groups of sufficient size."""
    tasks: list[Task] = []

    def shown(cell: Cell) -> tuple[str, str, str]:
        return cell.data, cell.stream, study.preprocess_for(cell.learner)

    for _, group in groupby(sorted(study.cells(), key=shown), key=shown):
        cells = list(group)
        missing: dict[tuple[Cell, ...], list[int]] = {}
        for seed in range(study.repeats):
            open_cells = tuple(cell for cell in cells if (cell, seed) not in store.runs)
            if open_cells:
                missing.setdefault(open_cells, []).append(seed)
        for open_cells, seeds in missing.items():
            chosen = {cell: store.choices.get(cell, Chosen({}, None)) for cell in open_cells}
            cost = sum(run_cost(study, cell) for cell in open_cells)
            size = max(1, round(WORTH / cost))
            for begin in range(0, len(seeds), size):
                some = tuple(seeds[begin : begin + size])
                tasks.append(RunTask(study, chosen, some, folder, cost * len(some)))
    return tasks


def needs_choice(study: Study, cell: Cell) -> bool:
    """Whether something is to be chosen before a cell's repeats."""
    plan = study.learner_plan(cell.learner)
    widths = study.one_width and cell.rate is not None and asks_by_width(study, cell)
    return len(plan.choices()) > 1 or bool(widths)


def asks_by_width(study: Study, cell: Cell) -> bool:
    """Whether a query width has to be searched for the cell's label rate."""
    takes = algorithm(study.learner_plan(cell.learner).algorithm).parameters
    return cell.rate is not None and "query_width" in takes and "rate" not in takes


def run_cost(study: Study, cell: Cell) -> float:
    """About how many seconds a run takes."""
    entry = datasets.entry(cell_source(study, cell)) if is_known(study, cell) else None
    n, d = (entry.n or 10_000, entry.d or 100) if entry else (10_000, 100)
    limit = study.data_plan(cell.data).limit or n
    stored = study.preprocess_for(cell.learner) in ("raw", "rows")
    values = entry.nonzeros or n * d if entry and entry.sparse and stored else n * d
    price = SECONDS_A_VALUE * values + 1e-6 * n
    name = study.learner_plan(cell.learner).algorithm
    if name == "SEL-2nd":
        price += 4e-10 * n * d * d  # its matrix
    if cell.labels.delay or cell.labels.wrong or cell.labels.never:
        price += 1e-7 * values + 4e-6 * n
    if ":" in name:
        price += 2e-6 * values  # in Python
    searches = SEARCH if asks_by_width(study, cell) and not study.one_width else 1
    return price * searches * min(1.0, limit / n)


def choice_cost(study: Study, cell: Cell) -> float:
    """About how many seconds the choice of a cell's parameters takes."""
    searches = SEARCH if asks_by_width(study, cell) else 1
    once = run_cost(study, cell) / (searches if not study.one_width else 1)
    points = len(study.learner_plan(cell.learner).choices())
    folds = FOLDS if study.choose == "folds" else 1
    repeats = study.choice_repeats_for(cell.learner)
    trials = points * (repeats * folds + searches) if points > 1 else 0
    return once * (trials + searches * study.one_width)


def is_known(study: Study, cell: Cell) -> bool:
    """Whether a cell's data set is one of the registry."""
    return ":" not in cell_source(study, cell)


def cell_source(study: Study, cell: Cell) -> str:
    """Where a cell's data set comes from."""
    return study.data_plan(cell.data).source


def in_parallel(tasks: Iterable[Task], jobs: int, backend: str) -> Iterator[tuple[Task, Any]]:
    """Each task with its result as it finishes, the most expensive first."""
    order = sorted(tasks, key=lambda task: -task.cost)
    if not order or (jobs == 1 and backend == "loky"):
        yield from ((task, task()) for task in order)
    elif backend == "ray":
        yield from _on_ray(order, pack(order[0].study))
    else:
        archive = pack(order[0].study) if backend == "dask" else ModuleArchive(b"")
        yield from _by_joblib(order, jobs, backend, archive)


def _done(task: Task, archive: ModuleArchive) -> tuple[Task, Any]:
    archive.install()
    return task, task()


def _by_joblib(
    order: list[Task], jobs: int, backend: str, archive: ModuleArchive
) -> Iterator[tuple[Task, Any]]:
    joblib = _needed("joblib", "several jobs need joblib: pip install headwater[studies].")
    with (
        warnings.catch_warnings(),
        _cluster(backend, jobs),
        joblib.parallel_config(backend=backend, n_jobs=jobs),
    ):
        # Workers that have grown are replaced, which loses nothing and needs no warning.
        warnings.filterwarnings("ignore", message="A worker stopped while some jobs")
        work = joblib.Parallel(return_as="generator_unordered", pre_dispatch="3*n_jobs")
        yield from work(joblib.delayed(_done)(task, archive) for task in order)


def _on_ray(order: list[Task], archive: ModuleArchive) -> Iterator[tuple[Task, Any]]:
    """By Ray itself: joblib's way to it gives no result before the last."""
    ray = _needed("ray", "the backend ray needs it: pip install ray.")
    if not ray.is_initialized():
        ray.init(log_to_driver=False, logging_level="ERROR")
    remote = ray.remote(_done)
    waiting = [remote.remote(task, archive) for task in order]
    while waiting:
        ready, waiting = ray.wait(waiting)
        yield from ray.get(ready)


@contextmanager
def _cluster(backend: str, jobs: int) -> Iterator[None]:
    """The cluster that a backend runs on: the one that is set up, else one of our own, here."""
    if backend == "dask":
        distributed = _needed("distributed", "the backend dask needs it: pip install distributed.")
        address = os.environ.get("DASK_SCHEDULER_ADDRESS")
        own = {"address": address} if address else {"n_workers": jobs, "threads_per_worker": 1}
        try:
            distributed.default_client()
        except ValueError:
            with distributed.Client(**own, **({} if address else {"dashboard_address": None})):
                yield
            return
    yield


def _needed(module: str, otherwise: str) -> Any:
    try:
        return import_module(module)
    except ModuleNotFoundError as missing:
        raise ParameterError(f"--backend: {otherwise}") from missing
