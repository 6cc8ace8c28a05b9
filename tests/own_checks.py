"""Checks beside the public ones: batches of other libraries, and what is saved byte for byte."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pytest
import scipy.sparse  # type: ignore[import-untyped]

from forms import csr, framed, listed
from headwater.errors import StepError
from headwater.testing import Check, Make, SmallStream
from headwater.testing.small_stream import Event, follow, halfway, steps_of
from model_bytes import state_of, take_apart, what_is_learned


def check_simulate_on_a_frame_is_the_event_loop(make: Make, stream: SmallStream) -> None:
    events = framed(stream)
    loop = make()
    steps = follow(loop, events, stream.labels)
    for frame in (pd.DataFrame(events), pl.DataFrame(events), pa.Table.from_pylist(events)):
        batch = make()
        trace = batch.simulate(frame, stream.labels)
        columns = (trace.prediction, trace.margin, trace.query_probability, trace.asked)
        assert {type(column).__module__.partition(".")[0] for column in columns} == {
            type(frame).__module__.partition(".")[0]
        }
        assert list(zip(*(listed(column) for column in columns), strict=True)) == steps
        assert batch.to_bytes() == loop.to_bytes()


def check_a_frame_by_every_other_verb_is_the_event_loop(make: Make, stream: SmallStream) -> None:
    events = framed(stream)
    loop = make()
    for event, label in zip(events, stream.labels, strict=True):
        loop.learn_one(event, label)
    for frame, labels in (
        (pd.DataFrame(events), pd.Series(stream.labels)),
        (pl.DataFrame(events), pl.Series(stream.labels)),
        (pa.Table.from_pylist(events), pa.array(stream.labels)),
    ):
        model = make()
        model.learn_many(frame, labels)
        assert model.to_bytes() == loop.to_bytes()
        assert listed(model.predict_many(frame)) == [loop.predict_one(event) for event in events]
        assert listed(model.margin_many(frame)) == [loop.margin_one(event) for event in events]
        if stream.task != "regression":
            shares = pa.table(model.predict_proba_many(frame)).to_pylist()
            expected = [loop.predict_proba_one(event) for event in events]
            assert shares == [{str(k): v for k, v in row.items()} for row in expected]


def check_scipy_matrices_of_any_index_type_are_the_same(make: Make, stream: SmallStream) -> None:
    loop = make()
    steps = follow(loop, stream.events, stream.labels)
    for kind in (scipy.sparse.csr_matrix, scipy.sparse.csr_array):
        for integer in (np.int32, np.int64):
            X = kind(csr(stream.events, stream.columns))
            X.indices, X.indptr = X.indices.astype(integer), X.indptr.astype(integer)
            assert X.indices.dtype == integer
            batch = make()
            assert steps_of(batch.simulate(X, stream.labels)) == steps
            assert batch.to_bytes() == loop.to_bytes()


def check_querying_changes_nothing_else_that_is_saved(make: Make, stream: SmallStream) -> None:
    asking, deciding = halfway(make, stream), halfway(make, stream)
    header, before = take_apart(asking.to_bytes())
    strange: list[Event] = [{"never seen": 1.0}]
    for event in stream.events + strange:
        assert asking.query_one(event) == deciding.decide_one(event).asked
    same_header, after = take_apart(asking.to_bytes())
    decided = state_of(deciding)
    assert {key: decided[key] for key in after if key != "open"} == (
        {key: value for key, value in after.items() if key != "open"}
    )
    assert same_header == header
    moved = {key for key in after if after[key] != before[key]}
    assert moved <= {"seen", "asked", "query", "coins"}
    assert "coins" in moved


def check_an_answer_nobody_asked_for_leaves_the_state_of_learn_one(
    make: Make, stream: SmallStream
) -> None:
    answering, learning = make(), make()
    for event, label in zip(stream.events, stream.labels, strict=True):
        answering.answer(answering.decide_one(event), label)
        learning.decide_one(event)
        learning.learn_one(event, label)
    assert what_is_learned(answering) == what_is_learned(learning)


def check_an_event_too_large_is_refused_whole(make: Make, stream: SmallStream) -> None:
    model = make()
    model.learn_one({"a": 1.0, "b": 1.0}, stream.labels[0])
    before = model.to_bytes()
    with pytest.raises(StepError, match=r"would not be a finite number|must lie between"):
        model.learn_one({"b": -1.0, "a": 1e200}, stream.labels[1])
    assert model.to_bytes() == before


OWN_CHECKS: list[Check] = [
    value for name, value in list(globals().items()) if name.startswith("check_")
]
UNSCALED: set[Any] = {
    check_querying_changes_nothing_else_that_is_saved,
    check_an_answer_nobody_asked_for_leaves_the_state_of_learn_one,
}
"""As in the public contract: a scaler counts decisions."""
IN_THE_CORE: set[Any] = {check_an_event_too_large_is_refused_whole}
"""A model written in Python says itself what is too large for it."""
