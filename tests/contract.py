"""The checks that every learner passes.

A check takes `make`, which makes a fresh learner of one kind (`seed` and `classes` may be given),
and a `Small` stream that fits it. "Bit for bit" means equal `to_bytes()` and equal decisions.
"""

import copy
import json
import math
import pickle
import random
import struct
import tempfile
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgpack  # type: ignore[import-untyped]
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pytest
import scipy.sparse  # type: ignore[import-untyped]
from numpy.typing import NDArray

import headwater as hw
from headwater.errors import AnswerError, LabelError, ParameterError, StepError
from headwater.types import Label, Name

Make = Callable[..., hw.Learner]
Event = dict[Name, Any]
Step = tuple[Label | None, float, float, bool]
"""Prediction, margin, query probability, asked."""

KEYS = tuple(f"k{column}" for column in range(8))


@dataclass(frozen=True)
class Small:
    """A few events, their labels, and names for the columns that their features are."""

    events: list[Event]
    labels: list[Label]
    columns: int = len(KEYS)

    @property
    def multiclass(self) -> bool:
        return isinstance(self.labels[0], str)

    @property
    def numbers(self) -> bool:
        """Whether the labels are numbers: a stream for regression."""
        return isinstance(self.labels[0], float)


def small(multiclass: bool, length: int = 70, numbers: bool = False) -> Small:
    """Features 0 to 7 emerge one by one, 1 is away for a while; zeros and an empty event occur."""
    rng = np.random.default_rng(20)
    values = rng.normal(size=(length, len(KEYS)))
    values[::11, 0] = 0.0
    truth = values @ rng.normal(size=(len(KEYS), 3)) + 0.3 * rng.normal(size=(length, 3))
    events: list[Event] = []
    for t, row in enumerate(values.tolist()):
        here = [c for c in range(len(KEYS)) if t >= 5 * c and not (c == 1 and 15 <= t < 40)]
        events.append({} if t == 30 else {column: row[column] for column in here})
    if multiclass:
        words = ("ham", "egg", "tea")
        return Small(events, [words[best] for best in truth.argmax(axis=1)])
    if numbers:
        return Small(events, (truth[:, 0] + 2).tolist())
    return Small(events, (truth[:, 0] > 0).tolist())


def plain(x: Mapping[Any, Any]) -> dict[Any, float]:
    """An event as numbers, in the way that every door takes it."""
    return {
        f"{name}={value}" if isinstance(value, str) else name: (
            1.0 if isinstance(value, str) else float(value)
        )
        for name, value in x.items()
        if value is not None and value == value
    }


def csr(events: Sequence[Event], columns: int) -> Any:
    """The events as SciPy's matrix; what an event does not carry is not stored, zeros are."""
    indptr = np.cumsum([0, *(len(event) for event in events)])
    indices = np.array([column for event in events for column in event], dtype=np.int32)
    data = np.array([value for event in events for value in event.values()], dtype=np.float64)
    return scipy.sparse.csr_matrix((data, indices, indptr), shape=(len(events), columns))


def dense(events: Sequence[Event], columns: int) -> NDArray[np.float64]:
    """The events as an array; what an event does not carry is NaN."""
    array = np.full((len(events), columns), np.nan)
    for row, event in enumerate(events):
        for column, value in event.items():
            array[row, int(column)] = value
    return array


def keyed(events: Iterable[Event]) -> list[Event]:
    """The events with text for names in place of columns."""
    return [{KEYS[int(column)]: value for column, value in event.items()} for event in events]


def follow(
    model: hw.Learner, events: Iterable[Event], labels: Iterable[Label | None]
) -> list[Step]:
    """The event loop: decide on each event, answer what was asked and has a label."""
    steps: list[Step] = []
    for event, label in zip(events, labels, strict=True):
        decision = model.decide_one(event)
        if decision.asked and label is not None:
            model.answer(decision, label)
        steps.append(step_of(decision))
    return steps


def step_of(decision: hw.Decision) -> Step:
    return decision.prediction, decision.margin, decision.query_probability, decision.asked


def steps_of(trace: hw.Trace) -> list[Step]:
    columns = (trace.prediction, trace.margin, trace.query_probability, trace.asked)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def halfway(make: Make, stream: Small) -> hw.Learner:
    """A learner that has followed the first half of the stream and learned both ends of it."""
    model = make()
    half = len(stream.events) // 2
    follow(model, stream.events[:half], stream.labels[:half])
    for position in (0, half, -1):
        model.learn_one(stream.events[position], stream.labels[position])
    return model


def rest_of(stream: Small) -> tuple[list[Event], list[Label]]:
    half = len(stream.events) // 2
    return stream.events[half:], stream.labels[half:]


def names_known(model: hw.Learner) -> list[Name]:
    return [feature.name for feature in model.features()]


def is_closed(model: hw.Learner) -> bool:
    """Whether the learner uses the names of its first round only."""
    return model.parameters().get("growth") == "closed"


def own_names(model: hw.Learner) -> set[Name]:
    """The features that the learner adds to every event."""
    if isinstance(model, hw.Spring):
        return {"(factor)", "(energy)", "(intercept)"}
    return {"(intercept)"} if model.parameters().get("intercept") else set()


# Model files, read and written by hand (docs/model-file.md)


def take_apart(data: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """The header and the state of a model file."""
    magic, version, length = struct.unpack_from("<8sII", data, 0)
    assert (magic, version) == (b"HEADWATR", 2)
    header = json.loads(data[16 : 16 + length])
    (state_length,) = struct.unpack_from("<Q", data, 16 + length)
    start = 24 + length
    assert len(data) == start + state_length + 4
    assert struct.unpack("<I", data[-4:]) == (zlib.crc32(data[:-4]),)
    return header, msgpack.unpackb(data[start:-4])


def put_together(
    header: object, state: object, *, magic: bytes = b"HEADWATR", version: int = 2
) -> bytes:
    """A model file with a right checksum, whatever is in it; bytes are taken as they are."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    body = state if isinstance(state, bytes) else msgpack.packb(state)
    data = struct.pack("<8sII", magic, version, len(text)) + text
    data += struct.pack("<Q", len(body)) + body
    return data + struct.pack("<I", zlib.crc32(data))


def what_is_learned(model: hw.Learner) -> dict[str, Any]:
    """The state but for two things that tell an answer from a label that was given: the slope of
    the probabilities, for which an answer counts by the probability of its question
    (tests/test_calibration.py), and the questions that are open."""
    state = take_apart(model.to_bytes())[1]
    assert state.pop("calibration")
    state.pop("open", None)
    return state


# Doors: one event at a time, CSR, dense


def check_simulate_on_csr_is_the_event_loop(make: Make, stream: Small) -> None:
    loop, batch = make(), make()
    steps = follow(loop, stream.events, stream.labels)
    trace = batch.simulate(csr(stream.events, stream.columns), stream.labels)
    assert steps_of(trace) == steps
    assert batch.to_bytes() == loop.to_bytes()


def check_simulate_on_a_dense_array_is_the_event_loop(make: Make, stream: Small) -> None:
    loop, batch = make(), make()
    steps = follow(loop, stream.events, stream.labels)
    trace = batch.simulate(dense(stream.events, stream.columns), np.array(stream.labels))
    assert steps_of(trace) == steps
    assert batch.to_bytes() == loop.to_bytes()


def check_simulate_goes_on_where_it_stopped(make: Make, stream: Small) -> None:
    loop, batch = make(), make()
    steps = follow(loop, stream.events, stream.labels)
    done = []
    for start in range(0, len(stream.events), 23):
        piece = slice(start, start + 23)
        trace = batch.simulate(csr(stream.events[piece], stream.columns), stream.labels[piece])
        done += steps_of(trace)
    assert done == steps
    assert batch.to_bytes() == loop.to_bytes()


def check_named_columns_are_the_keys_of_events(make: Make, stream: Small) -> None:
    loop = make()
    steps = follow(loop, keyed(stream.events), stream.labels)
    sparse = csr(stream.events, stream.columns)
    rows = hw.Rows(sparse.indptr, sparse.indices, sparse.data, KEYS)
    doors: list[tuple[Any, dict[str, Any]]] = [
        (sparse, {"names": KEYS}),
        (dense(stream.events, stream.columns), {"names": list(KEYS)}),
        (rows, {}),
    ]
    for X, names in doors:
        batch = make()
        assert steps_of(batch.simulate(X, stream.labels, **names)) == steps
        assert batch.to_bytes() == loop.to_bytes()


def check_simulate_on_a_frame_is_the_event_loop(make: Make, stream: Small) -> None:
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


def check_a_frame_by_every_other_verb_is_the_event_loop(make: Make, stream: Small) -> None:
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
        if not stream.numbers:
            shares = pa.table(model.predict_proba_many(frame)).to_pylist()
            expected = [loop.predict_proba_one(event) for event in events]
            assert shares == [{str(k): v for k, v in row.items()} for row in expected]


def framed(stream: Small) -> list[Event]:
    """The events with a key a column; None is absent."""
    return [{key: event.get(key) for key in KEYS} for event in keyed(stream.events)]


def listed(column: Any) -> list[Any]:
    """The values of a column of pandas, polars or pyarrow; a missing one is None."""
    if isinstance(column, pd.Series):
        return [None if gone else value for value, gone in zip(column, column.isna(), strict=True)]
    return list(column.to_pylist() if hasattr(column, "to_pylist") else column)


def check_learn_many_is_learn_one_in_a_loop(make: Make, stream: Small) -> None:
    loop = make()
    for event, label in zip(stream.events, stream.labels, strict=True):
        loop.learn_one(event, label)
    for X in (csr(stream.events, stream.columns), dense(stream.events, stream.columns)):
        batch = make()
        batch.learn_many(X, stream.labels)
        assert batch.to_bytes() == loop.to_bytes()


def check_predicting_a_batch_is_predicting_each_event(make: Make, stream: Small) -> None:
    model = halfway(make, stream)
    events, _ = rest_of(stream)
    for X in (csr(events, stream.columns), dense(events, stream.columns)):
        assert model.predict_many(X).tolist() == [model.predict_one(x) for x in events]
        assert model.margin_many(X).tolist() == [model.margin_one(x) for x in events]
        if stream.numbers:
            continue
        by_label = [dict(zip(model.labels, row, strict=True)) for row in proba(model, X)]
        assert by_label == [model.predict_proba_one(x) for x in events]


def proba(model: hw.Learner, X: Any) -> list[list[float]]:
    rows: list[list[float]] = model.predict_proba_many(X).tolist()
    return rows


def check_scipy_matrices_of_any_index_type_are_the_same(make: Make, stream: Small) -> None:
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


def check_short_floats_count_as_what_they_are(make: Make, stream: Small) -> None:
    short = [
        {name: float(np.float32(value)) for name, value in event.items()} for event in stream.events
    ]
    loop = make()
    steps = follow(loop, short, stream.labels)
    for X in (csr(short, stream.columns), dense(short, stream.columns)):
        batch = make()
        assert steps_of(batch.simulate(X.astype(np.float32), stream.labels)) == steps
        assert batch.to_bytes() == loop.to_bytes()


def check_a_row_keeps_the_order_in_which_it_is_stored(make: Make, stream: Small) -> None:
    backwards = [dict(reversed(event.items())) for event in stream.events]
    loop, batch = make(), make()
    steps = follow(loop, backwards, stream.labels)
    assert steps_of(batch.simulate(csr(backwards, stream.columns), stream.labels)) == steps
    assert batch.to_bytes() == loop.to_bytes()


def check_any_layout_of_an_array_is_the_same(make: Make, stream: Small) -> None:
    array = dense(stream.events, stream.columns)
    expected = make()
    expected.learn_many(array, stream.labels)
    wide = np.zeros((len(array), 2 * stream.columns))
    wide[:, ::2] = array
    listed = [[None if math.isnan(cell) else cell for cell in row] for row in array.tolist()]
    for X in (np.asfortranarray(array), wide[:, ::2], array.tolist(), listed):
        model = make()
        model.learn_many(X, stream.labels)
        assert model.to_bytes() == expected.to_bytes()


def check_events_may_be_any_mapping_of_numpy_scalars(make: Make, stream: Small) -> None:
    plain, dressed = make(), make()
    for event, label in zip(stream.events, stream.labels, strict=True):
        plain.learn_one(event, label)
        scalars = {np.int64(name): np.float64(value) for name, value in event.items()}
        dressed.learn_one(MappingProxyType(scalars), label)
    assert dressed.to_bytes() == plain.to_bytes()


# State: what changes it, and what it survives


def check_a_saved_learner_goes_on_bit_for_bit(make: Make, stream: Small) -> None:
    events, labels = rest_of(stream)
    model = halfway(make, stream)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.hw")
        model.save(path)
        copies = [hw.load(path), hw.load(str(path))]
    copies += [hw.from_bytes(model.to_bytes()), pickle.loads(pickle.dumps(model))]
    copies += [copy.copy(model), copy.deepcopy(model)]
    assert all(type(other) is type(model) for other in copies)
    steps = follow(model, events, labels)
    for other in copies:
        assert follow(other, events, labels) == steps
        assert other.to_bytes() == model.to_bytes()


def check_a_copy_shares_nothing(make: Make, stream: Small) -> None:
    model = halfway(make, stream)
    before = model.to_bytes()
    for other in (copy.copy(model), copy.deepcopy(model)):
        follow(other, *rest_of(stream))
        assert other.to_bytes() != before
    assert model.to_bytes() == before


def check_saving_twice_gives_equal_bytes(make: Make, stream: Small) -> None:
    model = halfway(make, stream)
    assert model.to_bytes() == model.to_bytes()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.hw")
        model.save(path)
        assert path.read_bytes() == model.to_bytes()
        model.save(path)
        assert path.read_bytes() == model.to_bytes()


def check_equal_seeds_and_events_give_equal_bytes(make: Make, stream: Small) -> None:
    runs = []
    for _ in range(2):
        model = make(seed=7)
        runs.append((follow(model, stream.events, stream.labels), model.to_bytes()))
    assert runs[0] == runs[1]
    assert make(seed=8).to_bytes() != make(seed=7).to_bytes()


def check_predicting_changes_nothing(make: Make, stream: Small) -> None:
    for model in (make(), halfway(make, stream)):
        before, names = model.to_bytes(), names_known(model)
        strange: list[Event] = [{"never seen": 1.0, "site": "roof"}, {}]
        for event in stream.events + strange:
            model.predict_one(event)
            if not stream.numbers:
                model.predict_proba_one(event)
            model.margin_one(event)
            model.explain_one(event)
            model.weights()
        X = csr(stream.events, stream.columns)
        verbs = [model.predict_many, model.margin_many]
        for verb in verbs if stream.numbers else [*verbs, model.predict_proba_many]:
            verb(X, names=[f"new {column}" for column in range(stream.columns)])
        assert model.to_bytes() == before
        assert names_known(model) == names


def check_querying_moves_only_the_query_state(make: Make, stream: Small) -> None:
    asking, deciding = halfway(make, stream), halfway(make, stream)
    header, before = take_apart(asking.to_bytes())
    strange: list[Event] = [{"never seen": 1.0}]
    for event in stream.events + strange:
        assert asking.query_one(event) == deciding.decide_one(event).asked
    same_header, after = take_apart(asking.to_bytes())
    decided = take_apart(deciding.to_bytes())[1]
    assert {key: decided[key] for key in after if key != "open"} == (
        {key: value for key, value in after.items() if key != "open"}
    )
    assert same_header == header
    assert {key for key in after if after[key] != before[key]} <= {
        "seen",
        "asked",
        "query",
        "coins",
    }
    assert after["coins"] != before["coins"]


def check_a_decision_is_prediction_and_query_in_one(make: Make, stream: Small) -> None:
    model = halfway(make, stream)
    for event in rest_of(stream)[0]:
        explained = model.explain_one(event)
        expected = (model.predict_one(event), model.margin_one(event))
        decision = model.decide_one(event)
        assert (decision.prediction, decision.margin) == expected
        assert explained[:2] == expected
        assert explained.query_probability == decision.query_probability
        assert 0 <= decision.query_probability <= 1
        assert decision.features == event


def check_probabilities_agree_with_the_prediction(make: Make, stream: Small) -> None:
    model = halfway(make, stream)
    for event in stream.events:
        shares = model.predict_proba_one(event)
        assert tuple(shares) == model.labels
        assert math.isclose(sum(shares.values()), 1.0)
        prediction = model.predict_one(event)
        assert prediction is not None
        assert shares[prediction] == max(shares.values())


def check_counters_add_up(make: Make, stream: Small) -> None:
    model = make()
    assert (model.seen, model.asked, model.learned) == (0, 0, 0)
    steps = follow(model, stream.events, stream.labels)
    asked = sum(step[-1] for step in steps)
    assert asked > 0
    assert (model.seen, model.asked, model.learned) == (len(steps), asked, asked)
    model.learn_one(stream.events[0], stream.labels[0])
    assert (model.seen, model.asked, model.learned) == (len(steps), asked, asked + 1)
    asked += model.query_one(stream.events[0])
    assert (model.seen, model.asked) == (len(steps) + 1, asked)
    model.predict_one(stream.events[0])
    assert (model.seen, model.asked) == (len(steps) + 1, asked)


# Features


def check_the_order_of_features_matters_by_rounding_only(make: Make, stream: Small) -> None:
    straight, shuffled = make(), make()
    coin = random.Random(5)
    mixed = [dict(coin.sample(list(event.items()), len(event))) for event in stream.events]
    assert [list(event) for event in mixed] != [list(event) for event in stream.events]
    one = follow(straight, stream.events, stream.labels)
    other = follow(shuffled, mixed, stream.labels)
    margins = np.array([step[1] for step in one])
    tolerance = 1e-9 * np.abs(margins).max()
    np.testing.assert_allclose([step[1] for step in other], margins, rtol=1e-9, atol=tolerance)
    assert [step[-1] for step in other] == [step[-1] for step in one]
    assert names_known(shuffled) == names_known(straight)


def check_features_may_emerge_vanish_and_return(make: Make, stream: Small) -> None:
    model = make()
    model.learn_one({"old": 1.0, "here": 1.0}, stream.labels[0])
    model.learn_one({"here": -1.0, "emerging": 0.5}, stream.labels[1])
    model.learn_one({}, stream.labels[2])
    model.learn_one({"old": 2.0}, stream.labels[3])
    known = {feature.name: feature[1:4] for feature in model.features()}
    assert known["old"] == (1, 4, 2)
    assert known["here"] == (1, 2, 2)
    assert known.get("emerging") == (None if is_closed(model) else (2, 2, 1))


def check_a_name_never_learned_adds_nothing(make: Make, stream: Small) -> None:
    model = halfway(make, stream)
    for event in rest_of(stream)[0]:
        wider = {**event, "never learned": 3.0}
        if isinstance(model, hw.SEL2):  # there it makes every margin smaller
            assert abs(model.margin_one(wider)) <= abs(model.margin_one(event))
        elif not isinstance(model, hw.OFSP):  # there another draw looks elsewhere
            assert model.margin_one(wider) == model.margin_one(event)
        assert model.explain_one(wider).contributions["never learned"] == 0.0


def check_deciding_makes_no_feature_known(make: Make, stream: Small) -> None:
    model = make()
    for event in stream.events:
        model.decide_one(event)
    assert model.features() == []
    assert not any(model.weights().values())


def check_none_and_nan_are_absent(make: Make, stream: Small) -> None:
    plain, gappy = make(), make()
    one = follow(plain, stream.events, stream.labels)
    gaps: list[Event] = [{"gone": None, **event, 99: math.nan} for event in stream.events]
    assert follow(gappy, gaps, stream.labels) == one
    assert gappy.to_bytes() == plain.to_bytes()
    assert gappy.decide_one(gaps[0]).features == stream.events[0]


def check_zero_is_an_observation(make: Make, stream: Small) -> None:
    with_zero, without = make(), make()
    for label in stream.labels[:2]:
        with_zero.learn_one({"a": 1.0, "zero": 0.0}, label)
        without.learn_one({"a": 1.0}, label)
    known = {feature.name: feature for feature in with_zero.features()}
    assert known["zero"][1:4] == (1, 2, 2)
    assert known.keys() - {"zero"} == set(names_known(without))
    assert with_zero.decide_one({"zero": 0}).features == {"zero": 0.0}


def check_a_bool_counts_as_zero_or_one(make: Make, stream: Small) -> None:
    truths, numbers = make(), make()
    for label in stream.labels[:8]:
        truths.learn_one({"on": True, "off": False, "np": np.True_, "x": 0.5}, label)
        numbers.learn_one({"on": 1, "off": 0, "np": 1.0, "x": 0.5}, label)
    assert truths.to_bytes() == numbers.to_bytes()


def check_a_text_value_is_an_indicator(make: Make, stream: Small) -> None:
    texts, indicators = make(), make()
    for position, label in enumerate(stream.labels[:8]):
        place = "roof" if position % 2 else "cellar"
        texts.learn_one({"site": place, 7: np.str_("x"), "t": 0.5}, label)
        indicators.learn_one({f"site={place}": 1.0, "7=x": 1.0, "t": 0.5}, label)
    assert texts.to_bytes() == indicators.to_bytes()
    assert texts.decide_one({"site": "roof"}).features == {"site=roof": 1.0}


def check_a_number_and_its_text_are_different_names(make: Make, stream: Small) -> None:
    model = make()
    model.learn_one({"1": 2.0, 1: 1.0}, stream.labels[0])
    assert set(names_known(model)) - own_names(model) == {1, "1"}
    assert names_known(model).index(1) < names_known(model).index("1")


def check_the_register_tells_when_features_were_learned(make: Make, stream: Small) -> None:
    model = make()
    expected: dict[Name, list[int]] = {}
    rounds = 0
    for event, label in zip(keyed(stream.events), stream.labels, strict=True):
        if not model.query_one(event):
            continue
        model.learn_one(event, label)
        rounds += 1
        names = sorted([*event, *own_names(model)], key=str)
        for name in names:
            if name in expected:
                expected[name][1:] = [rounds, expected[name][2] + 1]
            elif rounds == 1 or not is_closed(model):
                expected[name] = [rounds, rounds, 1]
    assert {f.name: [*f[1:4]] for f in model.features()} == expected
    assert names_known(model) == list(expected), "in the order in which it met the names"


def check_weights_hold_no_zeros(make: Make, stream: Small) -> None:
    model = make()
    model.learn_one({"zero": 0.0, "x": 1.0}, stream.labels[0])
    follow(model, stream.events, stream.labels)
    weights, features = model.weights(), model.features()
    if stream.multiclass:
        assert tuple(weights) == model.labels
        for label in model.labels:
            listed = {f.name: f.weight[label] for f in features if isinstance(f.weight, dict)}
            assert weights[label] == {name: w for name, w in listed.items() if w != 0}
    else:
        assert weights == {f.name: f.weight for f in features if f.weight != 0}
    assert "zero" in names_known(model)


def check_explanations_add_up_to_the_margin(make: Make, stream: Small) -> None:
    model = halfway(make, stream)
    for event in stream.events:
        explanation = model.explain_one(event)
        parts = explanation.contributions
        sizes = [abs(part) for part in parts.values()]
        assert math.isclose(
            sum(parts.values()), explanation.margin, rel_tol=1e-9, abs_tol=1e-9 * sum(sizes)
        )
        assert sizes == sorted(sizes, reverse=True)
        assert set(parts) == {*event} | own_names(model)
        assert explanation.reason.endswith(".")


# Labels


def check_labels_not_asked_for_never_matter(make: Make, stream: Small) -> None:
    X = csr(stream.events, stream.columns)
    honest = make()
    trace = honest.simulate(X, stream.labels)
    known = sorted(set(stream.labels))
    other = dict(zip(known, [*known[1:], known[0]], strict=True))
    lies: list[Label] = []
    gaps: list[Label | None] = []
    for label, asked in zip(stream.labels, trace.asked, strict=True):
        lies.append(label if asked else other[label])
        gaps.append(label if asked else None)
    for labels in (lies, gaps):
        model = make()
        assert steps_of(model.simulate(X, labels)) == steps_of(trace)
        assert model.to_bytes() == honest.to_bytes()


def check_a_missing_label_is_asked_for_and_not_answered(make: Make, stream: Small) -> None:
    X = csr(stream.events, stream.columns)
    asked = np.flatnonzero(make().simulate(X, stream.labels).asked)
    for nothing in (None, math.nan, np.nan):
        labels: list[Any] = list(stream.labels)
        labels[asked[0]] = nothing  # asked for in this run too: the same coins up to here
        model, loop = make(), make()
        trace = model.simulate(X, labels)
        answers = [None if label is None or label != label else label for label in labels]
        assert steps_of(trace) == follow(loop, stream.events, answers)
        assert model.to_bytes() == loop.to_bytes()
        assert trace.asked[asked[0]]
        assert model.learned == model.asked - 1


def check_a_late_answer_learns_frozen_features_with_the_model_of_now(
    make: Make, stream: Small
) -> None:
    late, plain = make(), make()
    event: Event = {**stream.events[-1], "site": "roof"}
    original = dict(event)
    decision = late.decide_one(event)
    plain.decide_one(original)
    event["site"] = "cellar"
    event[0] = 1000.0
    for model in (late, plain):
        follow(model, stream.events, stream.labels)
    late.answer(decision, stream.labels[-1])
    plain.learn_one(original, stream.labels[-1])
    assert what_is_learned(late) == what_is_learned(plain)
    assert decision.features["site=roof"] == 1.0


def check_any_decision_may_be_answered(make: Make, stream: Small) -> None:
    answering, learning = make(), make()
    for event, label in zip(stream.events, stream.labels, strict=True):
        answering.answer(answering.decide_one(event), label)
        learning.decide_one(event)
        learning.learn_one(event, label)
    assert what_is_learned(answering) == what_is_learned(learning)
    assert answering.learned == len(stream.events)


def check_a_second_answer_is_refused(make: Make, stream: Small) -> None:
    model = make()
    decision = model.decide_one(stream.events[1])
    assert not decision.answered
    with pytest.raises(LabelError):
        model.answer(decision, "half" if stream.numbers else 0.5)
    assert not decision.answered, "a wrong label is no answer"
    model.answer(decision, stream.labels[1])
    before = model.to_bytes()
    assert decision.answered
    with pytest.raises(AnswerError, match="answered before"):
        model.answer(decision, stream.labels[1])
    with pytest.raises(AnswerError, match="answered before"):
        model.answer(pickle.loads(pickle.dumps(decision)), stream.labels[1])
    assert model.to_bytes() == before


def check_an_answer_is_learned_once_also_across_copies_saving_and_loading(
    make: Make, stream: Small
) -> None:
    model = make()
    asked = [d for event in stream.events if (d := model.decide_one(event)).asked]
    decision, label = asked[-1], stream.labels[0]
    copies = [copy.deepcopy(decision), pickle.loads(pickle.dumps(decision))]
    model.answer(decision, label)
    for learner in (model, copy.copy(model), hw.from_bytes(model.to_bytes())):
        before = learner.to_bytes()
        for again in copies:
            with pytest.raises(AnswerError, match="answered before"):
                learner.answer(again, label)
        assert learner.to_bytes() == before
    assert model.learned == 1


def check_a_decision_of_another_learner_is_refused(make: Make, stream: Small) -> None:
    model, stranger, twin = make(), make(seed=99), make()
    for event in stream.events:
        decision = model.decide_one(event)
        stranger.decide_one(event)
        twin.decide_one({"another": 5.0, **event})
        if decision.asked:
            break
    for other in (stranger, twin):  # other parameters; the same, but another stream
        before = other.to_bytes()
        with pytest.raises(AnswerError, match=r"another learner made|answered before"):
            other.answer(decision, stream.labels[0])
        assert other.to_bytes() == before


def check_decisions_pickle(make: Make, stream: Small) -> None:
    model = halfway(make, stream)
    decision = model.decide_one({**stream.events[-1], "site": "roof", "new": 0.0})
    other = copy.copy(model)
    thawed = pickle.loads(pickle.dumps(decision))
    assert repr(thawed) == repr(decision)
    assert step_of(thawed) == step_of(decision)
    assert thawed.features == decision.features
    assert list(thawed.features) == list(decision.features)
    assert not thawed.answered
    model.answer(decision, stream.labels[-1])
    other.answer(thawed, stream.labels[-1])
    assert other.to_bytes() == model.to_bytes()


def check_a_decision_may_be_answered_by_a_loaded_learner(make: Make, stream: Small) -> None:
    model = halfway(make, stream)
    decision = model.decide_one(stream.events[-1])
    loaded = hw.from_bytes(model.to_bytes())
    model.learn_one({"in between": 1.0}, stream.labels[0])
    loaded.learn_one({"aside": 1.0, "in between": 1.0}, stream.labels[0])
    expected = copy.copy(loaded)
    loaded.answer(decision, stream.labels[-1])
    expected.learn_one(stream.events[-1], stream.labels[-1])
    assert what_is_learned(loaded) == what_is_learned(expected)


def check_two_classes_may_be_written_in_many_ways(make: Make, stream: Small) -> None:
    plain = make()
    expected = both_then_follow(plain, stream, (False, True))
    forms: list[tuple[Any, Any, tuple[Label, Label]]] = [
        (0, 1, (0, 1)),
        (-1, 1, (-1, 1)),
        (0.0, 1.0, (0, 1)),
        (-1.0, 1.0, (-1, 1)),
        (np.False_, np.True_, (False, True)),
        (np.int64(0), np.int8(1), (0, 1)),
        (np.float32(-1), np.float64(1), (-1, 1)),
    ]
    for negative, positive, spoken in forms:
        model = make()
        assert both_then_follow(model, stream, (negative, positive)) == expected
        assert_speaks(model, plain, stream, spoken)
    for classes in (("ham", "spam"), (7, 3), (True, False), ("1", 1)):
        model = make(classes=classes)
        assert_speaks(model, make(), stream, classes)
        assert both_then_follow(model, stream, classes) == expected
        assert_speaks(model, plain, stream, classes)


def both_then_follow(model: hw.Learner, stream: Small, classes: tuple[Any, Any]) -> list[Any]:
    """Learn an event of each class, then follow the stream; everything but the predictions."""
    model.learn_one({0: 0.5}, classes[1])
    model.learn_one({0: -0.5}, classes[0])
    labels = [classes[bool(label)] for label in stream.labels]
    return [step[1:] for step in follow(model, stream.events, labels)]


def assert_speaks(
    model: hw.Learner, plain: hw.Learner, stream: Small, classes: tuple[Label, Label]
) -> None:
    """Answers name the classes in their own form, type included; `plain` has learned bools."""
    assert [repr(label) for label in model.labels] == [repr(label) for label in classes]
    X = csr(stream.events, stream.columns)
    expected = [repr(classes[bool(plain.predict_one(event))]) for event in stream.events]
    assert [repr(model.predict_one(event)) for event in stream.events] == expected
    assert [repr(label) for label in model.predict_many(X).tolist()] == expected
    assert tuple(model.predict_proba_one({})) == classes


def check_predictions_take_the_form_of_the_labels_learned(make: Make, stream: Small) -> None:
    model = make()
    assert model.predict_one({}) is False
    model.learn_one(stream.events[0], 1)
    assert repr(model.labels) == "(0, 1)", "the opposite of 1 is 0 until a label says otherwise"
    signed = copy.copy(model)
    signed.learn_one(stream.events[1], -1)
    assert signed.labels == (-1, 1)
    with pytest.raises(LabelError):
        signed.learn_one(stream.events[1], 0)
    model.learn_one(stream.events[1], 0)
    assert repr(model.labels) == "(0, 1)"
    with pytest.raises(LabelError):
        model.learn_one(stream.events[1], -1)


def check_classes_are_met_as_they_come(make: Make, stream: Small) -> None:
    model = make()
    assert model.labels == ()
    assert model.predict_one(stream.events[1]) is None
    assert model.margin_one(stream.events[1]) == 0.0
    assert model.predict_proba_one(stream.events[1]) == {}
    assert model.predict_many(csr(stream.events, stream.columns)).tolist() == [None] * 70
    model.learn_one({"red": 1.0}, "ham")
    assert (model.predict_one({"red": 1.0}), model.margin_one({"red": 1.0})) == ("ham", 0.0)
    assert model.weights() == {"ham": {}}
    model.learn_one({"blue": 1.0}, 3)
    model.learn_one({"green": 1.0}, True)
    assert repr(model.labels) == "('ham', 3, True)"
    assert repr(model.predict_one({"blue": 1.0})) in ("'ham'", "3", "True")


def check_classes_may_be_known_from_the_start(make: Make, stream: Small) -> None:
    model = make(classes=("tea", "ham", "egg"))
    assert list(model.labels) == ["tea", "ham", "egg"]
    assert model.predict_one({}) == "tea"
    follow(model, stream.events, stream.labels)
    model.learn_one({}, "jam")
    assert list(model.labels) == ["tea", "ham", "egg", "jam"]


def check_class_labels_of_any_kind_are_the_same(make: Make, stream: Small) -> None:
    words = make()
    expected = [step[1:] for step in follow(words, stream.events, stream.labels)]
    number = {word: place for place, word in enumerate(words.labels)}
    spellings: list[Callable[[int], Any]] = [int, float, np.int32, np.float32]
    for spell in spellings:
        labels = [spell(number[label]) for label in stream.labels]
        model = make()
        assert [step[1:] for step in follow(model, stream.events, labels)] == expected
        assert [type(label) for label in model.labels] == [int] * len(number)


def check_numbers_have_no_probabilities(make: Make, stream: Small) -> None:
    model = halfway(make, stream)
    assert model.labels == ()
    for ask in (lambda: model.predict_proba_one({}), lambda: model.predict_proba_many([[1.0]])):
        with pytest.raises(ParameterError, match="predicts a number"):
            ask()
    assert isinstance(model.predict_one(stream.events[1]), float)
    assert model.predict_many(dense(stream.events, stream.columns)).dtype == np.float64


# Parameters


def check_repr_rebuilds_the_learner(make: Make, stream: Small) -> None:
    classes = ("ham", "egg") if not stream.multiclass else ("ham", "egg", "tea")
    for model in (make(seed=3), make() if stream.numbers else make(classes=classes)):
        rebuilt = eval(repr(model), dict(vars(hw)))
        assert type(rebuilt) is type(model)
        assert repr(rebuilt) == repr(model)
        assert rebuilt.to_bytes() == model.to_bytes()
    model = make()
    learned = halfway(make, stream)
    assert repr(learned) == repr(model), "learning does not change the parameters"


def check_parameters_rebuild_the_learner(make: Make, stream: Small) -> None:
    model = make(seed=3)
    rebuilt = type(model)(**model.parameters())
    assert rebuilt.to_bytes() == model.to_bytes()
    assert hw.from_bytes(model.to_bytes()).parameters() == model.parameters()


def check_parameters_are_fixed(make: Make, stream: Small) -> None:
    model = make()
    before = model.to_bytes()
    for name, value in model.parameters().items():
        with pytest.raises(AttributeError):
            setattr(model, name, value)
        with pytest.raises(AttributeError):
            delattr(model, name)
    model.parameters()["seed"] = 5
    assert model.to_bytes() == before


def check_an_event_too_large_is_refused_whole(make: Make, stream: Small) -> None:
    model = make()
    model.learn_one({"a": 1.0, "b": 1.0}, stream.labels[0])
    before = model.to_bytes()
    with pytest.raises(StepError, match=r"would not be a finite number|must lie between"):
        model.learn_one({"b": -1.0, "a": 1e200}, stream.labels[1])
    assert model.to_bytes() == before


Check = Callable[[Make, Small], None]

FOR_TWO_CLASSES: set[Check] = {
    check_two_classes_may_be_written_in_many_ways,
    check_predictions_take_the_form_of_the_labels_learned,
}
FOR_SEVERAL_CLASSES: set[Check] = {
    check_classes_are_met_as_they_come,
    check_classes_may_be_known_from_the_start,
    check_class_labels_of_any_kind_are_the_same,
}
FOR_CLASSES: set[Check] = {check_probabilities_agree_with_the_prediction}
FOR_NUMBERS: set[Check] = {check_numbers_have_no_probabilities}
ALL_CHECKS: list[Check] = [
    value for name, value in list(globals().items()) if name.startswith("check_")
]


WITHOUT_VIEW = {
    check_querying_moves_only_the_query_state,
    check_any_decision_may_be_answered,
    check_a_late_answer_learns_frozen_features_with_the_model_of_now,
    check_a_decision_may_be_answered_by_a_loaded_learner,
    check_a_decision_is_prediction_and_query_in_one,
}


WITHOUT_BOUND = {
    check_the_register_tells_when_features_were_learned,
    check_weights_hold_no_zeros,
}
"""A bounded learner lets names go, which these checks look for: tests/test_bound.py says which."""


WITHOUT_CLASS_WEIGHTS = {check_probabilities_agree_with_the_prediction}
"""A learner that weighs classes predicts as if they were equally frequent; its probabilities do
not, and may say otherwise: tests/learners/test_spring.py."""


def checks_for(multiclass: bool, numbers: bool = False) -> list[Check]:
    """The checks that fit a learner for two classes, for several, or for numbers."""
    if numbers:
        others = FOR_TWO_CLASSES | FOR_SEVERAL_CLASSES | FOR_CLASSES
    else:
        others = (FOR_TWO_CLASSES if multiclass else FOR_SEVERAL_CLASSES) | FOR_NUMBERS
    return [check for check in ALL_CHECKS if check not in others]
