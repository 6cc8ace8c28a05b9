"""One pass over a file for many learners."""

import dataclasses
import os
from collections.abc import Sequence

from headwater import _core
from headwater.errors import ParameterError
from headwater.inputs.columns import Columns
from headwater.inputs.files import EventFile, Format, OnError
from headwater.learners.base import Learner, file_run, opened
from headwater.learners.python_learner import PythonLearner
from headwater.types import FileRun


def sweep(
    learners: Sequence[Learner],
    file: EventFile | str | os.PathLike[str],
    *,
    format: Format | None = None,
    label: str | None = "y",
    id: str | None = None,
    columns: Columns | None = None,
    on_error: OnError = "raise",
) -> list[FileRun]:
    """Run many learners over a file in one pass: every line is read once, on all cores.

    Each learner decides, asks and learns exactly as by `simulate_file` alone, to the last bit, and
    has a `FileRun` of its own in the result. If one cannot use a line, it stops there as it would
    alone, the others go on to the end, and then the error is raised. Ctrl-C stops all of them after
    the same event.

    Parameters
    ----------
    learners
        The learners, none of them twice; those written in Python read files alone.
    file
        A path, or the result of `headwater.open`; the next five parameters are those of
        `headwater.open` and are used with a path.
    format
        As in `headwater.open`.
    label
        As in `headwater.open`.
    id
        As in `headwater.open`.
    columns
        As in `headwater.open`; the models keep them (`Learner.columns`).
    on_error
        As in `simulate_file`.

    Examples
    --------
    >>> import headwater as hw, pathlib, tempfile
    >>> models = [hw.OLSF(), hw.FLLS(), hw.Linear(update="arow")]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "days.jsonl")
    ...     _ = path.write_text('{"rain": 2.0, "wet": true}\\n{"rain": 1.0, "wet": true}\\n')
    ...     runs = hw.sweep(models, path, label="wet")
    >>> [(run.events, run.mistakes) for run in runs]
    [(2, 1), (2, 1), (2, 1)]
    """
    if isinstance(learners, Learner):
        raise ParameterError(
            f"learners: expected a list of learners, got one; write [{learners!r}]."
        )
    models = list(learners)
    for place, model in enumerate(models):
        if not isinstance(model, Learner):
            raise ParameterError(f"learners[{place}]: expected a learner, got {model!r}.")
        if isinstance(model, PythonLearner):
            raise ParameterError(
                f"learners[{place}]: a learner written in Python reads files alone; use its"
                " simulate_file."
            )
        if any(model is other for other in models[:place]):
            raise ParameterError(
                f"learners[{place}]: {model!r} is given twice; sweep a copy of it (copy.copy)."
            )
    source = opened(file, format, label, id, columns, on_error).source()
    runs = [file_run(*run) for run in _core.sweep_file(models, source)]
    if columns is not None:
        for model, run in zip(models, runs, strict=True):
            model._keep_columns(dataclasses.replace(columns, units=dict(run.units)))
    return runs
