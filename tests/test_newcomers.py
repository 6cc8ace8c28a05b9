"""What somebody writes who knows another library: the sentence says what to write instead."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headwater
from headwater.errors import EventError, ParameterError

hw: Any = headwater
"""Without its types, as in a notebook."""
EVENT = {"rain": 1.0}

MISTAKES: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: hw.Spring(0.05), TypeError, "by name, such as label_rate="),
    (lambda: hw.Spring(label_rate=5), ParameterError, "got 5; 5 % is 0.05."),
    (lambda: hw.Spring(budget=0.1), TypeError, "did you mean label_rate?"),
    (lambda: hw.Spring(n_classes=3), TypeError, "did you mean multiclass?"),
    (lambda: hw.Spring(random_state=1), TypeError, "did you mean seed?"),
    (lambda: hw.Linear(label_rate=0.1), TypeError, "did you mean query?"),
    (lambda: hw.Linear(query=0.1), ParameterError, "written query.Budget(0.1)."),
    (lambda: hw.Linear(update=hw.update.PA1), ParameterError, "write update.PA1()."),
    (lambda: hw.FLLS(rho=0.1), TypeError, "did you mean query_width?"),
    (lambda: hw.Sprin, AttributeError, "did you mean Spring?"),
    (lambda: hw.query.Budjet, AttributeError, "headwater.query: there is no 'Budjet'; did you"),
    (lambda: hw.update.PA11, AttributeError, "did you mean PA1?"),
    (lambda: hw.scale.Standard, AttributeError, "it has Running."),
    (lambda: hw.sparsify.Largest, AttributeError, "did you mean KeepLargest?"),
    (lambda: hw.streams.SensorsNetwork(9), AttributeError, "did you mean SensorNetwork?"),
    (lambda: hw.evaluation.progressive, AttributeError, "it has AtRate, "),
    (lambda: hw.labels.Orakel, AttributeError, "did you mean Oracle?"),
    (lambda: hw.datasets.get("a9a"), AttributeError, "it has Dataset, "),
    (lambda: hw.Spring().fit([[1.0]], [True]), AttributeError, "learn_many(X, y) learns a batch"),
    (lambda: hw.Spring().predict([[1.0]]), AttributeError, "predict_many(X) predicts"),
    (lambda: hw.Spring().explain(EVENT), AttributeError, "did you mean explain_one?"),
    (lambda: hw.Spring().xyz, AttributeError, "'Spring' object has no attribute 'xyz'"),
    (lambda: hw.Spring().predict_many(EVENT), EventError, "got one dict; put events into a list"),
    (
        lambda: hw.Spring().predict_many(event for event in [EVENT]),
        EventError,
        "got a generator; list(...) makes a list of it",
    ),
    (
        lambda: hw.Spring().predict_many(np.array([["a", 1.0]], dtype=object)),
        EventError,
        "got an array of object; a DataFrame can hold text.",
    ),
    (lambda: hw.Columns(lable="y"), TypeError, "did you mean label?"),
    (lambda: hw.open("days.csv", format="json"), ParameterError, "did you mean jsonl?"),
    (lambda: hw.Session(hw.Spring, None), ParameterError, "got the class Spring; write Spring()."),
    (lambda: hw.streams.SensorNetwork(9, sed=1), TypeError, "did you mean seed?"),
    (
        lambda: hw.evaluation.prequential(hw.Spring(), np.ones((99, 9))),
        ParameterError,
        "... (ndarray).",
    ),
]


@pytest.mark.parametrize(("call", "error", "says"), MISTAKES, ids=[says for *_, says in MISTAKES])
def test_the_sentence_says_what_to_write_instead(
    call: Callable[[], Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error) as caught:
        call()
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_parameter_that_is_set_afterwards_says_that_it_is_fixed() -> None:
    model = hw.Spring()
    with pytest.raises(dataclasses.FrozenInstanceError, match=r"another learner, Spring\(label_r"):
        model.label_rate = 0.1
    with pytest.raises(dataclasses.FrozenInstanceError, match="'rate' is no attribute"):
        model.rate = 0.1
    assert model.label_rate == 0.05


def test_what_python_itself_asks_for_is_not_there_without_a_sentence() -> None:
    model = hw.Spring()
    assert not hasattr(model, "__array__")
    assert not hasattr(model, "_ipython_display_")
    assert getattr(model, "fit", None) is None


def test_a_live_stream_of_a_class_says_so(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"got the class Spring; write Spring\(\)\."):
        hw.live.open(tmp_path / "x.db", learner=hw.Spring)
