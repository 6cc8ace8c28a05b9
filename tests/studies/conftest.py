"""A small world of its own for studies: a module with a data set and a learner."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

MODULE = '''
import headwater as hw
import numpy as np

def network():
    """400 events of a sensor network: X and y."""
    X, y = hw.streams.SensorNetwork(400, seed=3).batch()
    return X, np.where(y, 1, -1)

def numbers():
    """A dense table with ten columns."""
    values = np.random.default_rng(7).normal(size=(300, 10))
    return values, np.where(values[:, 0] + values[:, 1] > 0, 1, -1)

def kinds():
    """A dense table of three classes."""
    values = np.random.default_rng(8).normal(size=(300, 10))
    return values, np.where(values[:, 0] > 0.5, 2, np.where(values[:, 1] > 0, 1, 0))

def cautious(rate=0.1, seed=0):
    """A learner: AROW with a small C."""
    return hw.Linear(update=hw.update.AROW(C=0.1), query=hw.query.Budget(rate), seed=seed)
'''

STUDY = """
title = "A small study"
held_out = 0.2
score = "test_balanced_accuracy"
label_rates = [0.1, 0.2]
repeats = 3
figure = "rates"
compare = "FLLS-II"
reach = 0.1

[data]
network = "small_world:network"
numbers = "small_world:numbers"

[streams.trapezoid]
kind = "Trapezoid"
chunks = 5

[learners.FLLS-II]
C = [0.1, 1]

[learners.cautious]
algorithm = "small_world:cautious"
"""


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with `small_world.py`, which this process and its children can import."""
    (tmp_path / "small_world.py").write_text(MODULE)
    (tmp_path / "small.toml").write_text(STUDY)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    yield tmp_path
    sys.modules.pop("small_world", None)
