"""Runs a learner over a Parquet or Arrow file, a few thousand rows at a time."""

import csv
import io
import json
import re
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from headwater import _core
from headwater.errors import EventError, LabelError, StepError
from headwater.inputs import batches
from headwater.inputs.files import EventFile
from headwater.inputs.records import EventBatch
from headwater.types import FileRun, Id, Label, Rows, Task, Trace

AT_A_TIME = 4_096
FIELDS = ("id", "prediction", "margin", "query_probability", "asked")


def simulate_columnar(
    learner: _core.Learner,
    task: Task,
    file: EventFile,
    decisions: str | None,
    progress: Callable[[FileRun], object] | None,
) -> FileRun:
    """`Learner.simulate_file` for a file that pyarrow reads."""
    from headwater.inputs.columnar import ColumnarReader

    reader = ColumnarReader(file.source())
    run = FileRun()
    with ExitStack() as stack:
        write = _writer(stack, decisions)
        while (batch := reader.batch(AT_A_TIME)) is not None:
            waiting = [(0, len(batch.labels))]
            while waiting:
                start, stop = waiting.pop()
                rows, labels = _part(batch, start, stop), batch.labels[start:stop]
                try:
                    found = learner._simulate(*batches.read_rows(rows, None), labels)
                except (LabelError, EventError) as error:
                    # Nothing has changed. Halves are tried until the one row is found.
                    if stop - start > 1:
                        middle = (start + stop) // 2
                        waiting += [(middle, stop), (start, middle)]
                        continue
                    reason = str(error).partition(": ")[2].removeprefix("event: ")
                    reader.skip(type(error)(f"{file.path}, row {reader.rows[start]}: {reason}"))
                    continue
                except StepError as error:
                    raise _of_the_file(error, file.path, reader.rows[start:stop]) from None
                predicted = batches.predictions(task, *found[:2], learner.labels)
                trace = Trace(predicted, *found[1:])
                write(batch.ids[start:stop], trace, run.events)
                run = _counted(run, task, learner.labels, found[0], labels, trace)
            if progress is not None:
                progress(replace(run, skipped=reader.skipped, problems=tuple(reader.problems)))
    return replace(run, skipped=reader.skipped, problems=tuple(reader.problems))


def _of_the_file(error: StepError, path: str, rows: Sequence[int]) -> StepError:
    """An error of a batch, which counts its rows from 0, as one of the file."""
    found = re.match(r"X, row (\d+): (?:event: )?", str(error))
    if found is None:
        return error
    return StepError(f"{path}, row {rows[int(found[1])]}: {str(error)[found.end() :]}")


def _part(batch: EventBatch, start: int, stop: int) -> Rows:
    """Some rows of a batch, with only the columns that they use."""
    first, last = batch.indptr[start], batch.indptr[stop]
    used, indices = np.unique(batch.indices[first:last], return_inverse=True)
    names = [batch.names[column] for column in used.tolist()]
    return Rows(batch.indptr[start : stop + 1] - first, indices, batch.data[first:last], names)


def _counted(
    run: FileRun,
    task: Task,
    known: tuple[Label, ...],
    classes: NDArray[np.int64],
    labels: list[Label | None],
    trace: Trace,
) -> FileRun:
    """The run with these events counted as well."""
    missing = np.array([label is None or label != label for label in labels], bool)
    mistakes, error = 0, 0.0
    if known:  # in regression there are none
        places = {label: place for place, label in enumerate(known)}
        binary = task == "binary"
        for place, label, skip in zip(classes.tolist(), labels, missing.tolist(), strict=True):
            if not skip:
                right = int(label == known[1]) if binary else places.get(label, -2)  # type: ignore[arg-type]
                mistakes += place != right
    elif task == "regression":
        truth = np.array([np.nan if label is None else label for label in labels], float)
        error = float(np.nansum(np.abs(truth - trace.margin)))
    else:
        mistakes = int((~missing).sum())
    return replace(
        run,
        events=run.events + len(labels),
        labelled=run.labelled + int((~missing).sum()),
        mistakes=run.mistakes + mistakes,
        absolute_error=run.absolute_error + error,
        asked=run.asked + int(trace.asked.sum()),
        learned=run.learned + int((trace.asked & ~missing).sum()),
    )


def _writer(
    stack: ExitStack, path: str | None
) -> Callable[[Sequence[Id | None], Trace, int], None]:
    """What writes decisions to a file, as the core does for other files."""
    if path is None:
        return lambda ids, trace, first: None
    file = stack.enter_context(Path(path).open("wb", buffering=0))  # noqa: SIM115
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n") if path.lower().endswith(".csv") else None
    if table is not None:
        table.writerow(FIELDS)
    whole = 0

    def hand_over() -> None:
        """Write the text so far; if that fails, what is there of it is taken back."""
        nonlocal whole
        data = text.getvalue().encode()
        text.seek(0)
        text.truncate()
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[file.write(rest) :]
        except OSError as error:
            with suppress(OSError):
                file.truncate(whole)
            raise type(error)(error.errno, error.strerror, path) from None
        whole += len(data)

    def write(ids: Sequence[Id | None], trace: Trace, first: int) -> None:
        columns = trace.prediction, trace.margin, trace.query_probability, trace.asked
        rows = zip(ids, *(column.tolist() for column in columns), strict=True)
        for number, (id, *fields) in enumerate(rows, first):
            line = [number if id is None else id, *fields]
            if table is None:
                text.write(json.dumps(dict(zip(FIELDS, line, strict=True))) + "\n")
            else:
                words = {True: "true", False: "false"}
                table.writerow([words[f] if isinstance(f, bool) else f for f in line])
        hand_over()

    hand_over()
    return write
