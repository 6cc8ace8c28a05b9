"""Batches are the event loop, only faster."""

import json
import math
import tempfile
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from headwater.testing.expect import same
from headwater.testing.small_stream import (
    KEYS,
    Make,
    SmallStream,
    csr,
    dense,
    follow,
    halfway,
    keyed,
    steps_of,
)


def check_simulate_on_sparse_rows_is_the_event_loop(make: Make, stream: SmallStream) -> None:
    """`simulate` on the arrays of a sparse matrix is `decide_one` and `answer` in turn."""
    loop, batch = make(), make()
    steps = follow(loop, stream.events, stream.labels)
    same(steps_of(batch.simulate(csr(stream.events), stream.labels)), steps, "the decisions")
    same(batch.to_bytes(), loop.to_bytes(), "the state after simulate")


def check_simulate_on_a_dense_array_is_the_event_loop(make: Make, stream: SmallStream) -> None:
    """`simulate` on an array, where NaN is absent, is `decide_one` and `answer` in turn."""
    loop, batch = make(), make()
    steps = follow(loop, stream.events, stream.labels)
    trace = batch.simulate(dense(stream.events), np.array(stream.labels))
    same(steps_of(trace), steps, "the decisions")
    same(batch.to_bytes(), loop.to_bytes(), "the state after simulate")


def check_simulate_goes_on_where_it_stopped(make: Make, stream: SmallStream) -> None:
    """A stream in several batches gives what it gives as a whole."""
    loop, batch = make(), make()
    steps = follow(loop, stream.events, stream.labels)
    done = []
    for start in range(0, len(stream.events), 23):
        piece = slice(start, start + 23)
        done += steps_of(batch.simulate(csr(stream.events[piece]), stream.labels[piece]))
    same(done, steps, "the decisions")
    same(batch.to_bytes(), loop.to_bytes(), "the state after simulate")


def check_named_columns_are_the_keys_of_events(make: Make, stream: SmallStream) -> None:
    """The names of a batch's columns are the names of its features."""
    loop = make()
    steps = follow(loop, keyed(stream.events), stream.labels)
    forms: list[tuple[Any, dict[str, Any]]] = [
        (csr(stream.events), {"names": KEYS}),
        (dense(stream.events), {"names": list(KEYS)}),
        (csr(stream.events, KEYS), {}),
    ]
    for X, names in forms:
        batch = make()
        same(steps_of(batch.simulate(X, stream.labels, **names)), steps, "the decisions")
        same(batch.to_bytes(), loop.to_bytes(), "the state after simulate")


def check_simulate_on_a_file_is_the_event_loop(make: Make, stream: SmallStream) -> None:
    """`simulate_file` is `decide_one` and `answer` in turn over the lines of a file."""
    loop, run = make(), make()
    follow(loop, keyed(stream.events), stream.labels)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "events.jsonl")
        lines = zip(keyed(stream.events), stream.labels, strict=True)
        path.write_text("".join(json.dumps({**x, "y": y}) + "\n" for x, y in lines))
        told = run.simulate_file(path)
    same(run.to_bytes(), loop.to_bytes(), "the state after simulate_file")
    counted = (told.events, told.labelled, told.asked, told.learned)
    expected = (len(stream.events), len(stream.events), loop.asked, loop.learned)
    same(counted, expected, "the events, labels, questions and labels learned of the run")


def check_learn_many_is_learn_one_in_a_loop(make: Make, stream: SmallStream) -> None:
    """`learn_many` is `learn_one` on each row."""
    loop = make()
    for event, label in zip(stream.events, stream.labels, strict=True):
        loop.learn_one(event, label)
    for X in (csr(stream.events), dense(stream.events)):
        batch = make()
        batch.learn_many(X, stream.labels)
        same(batch.to_bytes(), loop.to_bytes(), "the state after learn_many")


def check_predicting_a_batch_is_predicting_each_event(make: Make, stream: SmallStream) -> None:
    """`predict_many`, `margin_many` and `predict_proba_many` are their verbs for one event."""
    model = halfway(make, stream)
    events, _ = stream.rest()
    for X in (csr(events), dense(events)):
        same(model.predict_many(X).tolist(), [model.predict_one(x) for x in events], "predict_many")
        same(model.margin_many(X).tolist(), [model.margin_one(x) for x in events], "margin_many")
        if stream.task != "regression":
            rows = model.predict_proba_many(X).tolist()
            by_label = [dict(zip(model.labels, row, strict=True)) for row in rows]
            expected = [model.predict_proba_one(x) for x in events]
            same(by_label, expected, "predict_proba_many")


def check_short_floats_count_as_what_they_are(make: Make, stream: SmallStream) -> None:
    """An array of 32-bit floats is the event loop over the same numbers."""
    short = [
        {name: float(np.float32(value)) for name, value in event.items()} for event in stream.events
    ]
    loop, batch = make(), make()
    steps = follow(loop, short, stream.labels)
    trace = batch.simulate(dense(short).astype(np.float32), stream.labels)
    same(steps_of(trace), steps, "the decisions")
    same(batch.to_bytes(), loop.to_bytes(), "the state after simulate")


def check_a_row_keeps_the_order_in_which_it_is_stored(make: Make, stream: SmallStream) -> None:
    """A sparse row whose columns do not rise is an event with its features in that order."""
    backwards = [dict(reversed(event.items())) for event in stream.events]
    loop, batch = make(), make()
    steps = follow(loop, backwards, stream.labels)
    same(steps_of(batch.simulate(csr(backwards), stream.labels)), steps, "the decisions")
    same(batch.to_bytes(), loop.to_bytes(), "the state after simulate")


def check_any_layout_of_an_array_is_the_same(make: Make, stream: SmallStream) -> None:
    """Columns first, every other column, nested lists, None for NaN: the same events."""
    array = dense(stream.events)
    expected = make()
    expected.learn_many(array, stream.labels)
    wide = np.zeros((len(array), 2 * stream.columns))
    wide[:, ::2] = array
    listed = [[None if math.isnan(cell) else cell for cell in row] for row in array.tolist()]
    for X in (np.asfortranarray(array), wide[:, ::2], array.tolist(), listed):
        model = make()
        model.learn_many(X, stream.labels)
        same(model.to_bytes(), expected.to_bytes(), "the state after learn_many")


def check_events_may_be_any_mapping_of_numpy_scalars(make: Make, stream: SmallStream) -> None:
    """An event may be any mapping, its names and values NumPy's."""
    plain, dressed = make(), make()
    for event, label in zip(stream.events, stream.labels, strict=True):
        plain.learn_one(event, label)
        scalars = {np.int64(name): np.float64(value) for name, value in event.items()}
        dressed.learn_one(MappingProxyType(scalars), label)
    same(dressed.to_bytes(), plain.to_bytes(), "the state after learn_one")
