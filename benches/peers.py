"""Other libraries, and what one would write without a library.

Each predicts an event, then learns it. Those whose package is missing are listed so. River, the
plain dict and Vowpal Wabbit get dicts; scikit-learn and NumPy get rows of CSR; scikit-activeml gets
dense rows, the only ones it takes, so it takes part in *sensor* alone.
"""

import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray
from turns import NEW_TEXTS, Contestant, Pass
from workloads import BLOCK, Stream, blocks

from headwater.types import Name

CHUNKS = {1_000: "SGDClassifier, chunks of 1,000", 100: "SGDClassifier, chunks of 100"}
FEWER = {"sensor": 20_000, "text": 20_000, "url": 2_000}  # events in chunks of 100
NARROW = 1_000  # rows of fewer columns are handed over dense


def by_river(model: str, new_texts: bool = False) -> Callable[[Stream], Pass]:
    """`predict_one` and `learn_one`."""

    def run(stream: Stream) -> Pass:
        linear_model: Any = import_module("river.linear_model")
        made, seconds = RIVER_MODELS[model](linear_model), 0.0
        for events, labels, _ in blocks(stream, new_texts):
            start = time.process_time()
            for event, label in zip(events, labels, strict=True):
                made.predict_one(event)
                made.learn_one(event, label)
            seconds += time.process_time() - start
        return Pass(seconds)

    return run


RIVER_MODELS: dict[str, Callable[[Any], Any]] = {
    "PAClassifier": lambda linear_model: linear_model.PAClassifier(C=1.0, mode=1),
    "LogisticRegression": lambda linear_model: linear_model.LogisticRegression(),
}


class DictPA:
    """PA-I on a dict, in fifteen lines."""

    def __init__(self, C: float = 1.0) -> None:
        self.weights: dict[Name, float] = {}
        self.C = C

    def margin(self, x: dict[Name, float]) -> float:
        get = self.weights.get
        return sum(get(name, 0.0) * value for name, value in x.items())

    def learn(self, x: dict[Name, float], y: bool) -> None:
        sign = 1.0 if y else -1.0
        loss = 1.0 - sign * self.margin(x)
        if loss > 0 and (norm := sum(value * value for value in x.values())):
            step, weights = sign * min(self.C, loss / norm), self.weights
            for name, value in x.items():
                weights[name] = weights.get(name, 0.0) + step * value


def by_plain_python(stream: Stream) -> Pass:
    """The dict of fifteen lines."""
    model, seconds = DictPA(), 0.0
    for events, labels, _ in blocks(stream):
        start = time.process_time()
        for event, label in zip(events, labels, strict=True):
            model.margin(event)
            model.learn(event, label)
        seconds += time.process_time() - start
    return Pass(seconds)


class NumPyFLLS:
    """PA-I, an L1 radius and the largest half by `argpartition`, on an array."""

    def __init__(self, columns: int, C: float = 1.0, radius: float = 30.0) -> None:
        self.weights = np.zeros(columns)
        self.C, self.radius, self.kept = C, radius, max(1, columns // 2)

    def step(self, columns: NDArray[np.int32], x: NDArray[np.float64], y: bool) -> float:
        weights, sign = self.weights, 1.0 if y else -1.0
        margin = float(weights[columns] @ x)
        loss, norm = 1.0 - sign * margin, float(x @ x)
        if loss > 0 and norm:
            weights[columns] += sign * min(self.C, loss / norm) * x
            sizes = np.abs(weights)
            if (size := float(sizes.sum())) > self.radius:
                weights *= self.radius / size
            smallest = len(weights) - self.kept
            weights[np.argpartition(sizes, smallest)[:smallest]] = 0.0
        return margin


def by_numpy(stream: Stream) -> Pass:
    """The array, row by row."""
    indptr, indices, data = stream.csr
    model, labels = NumPyFLLS(len(stream.names)), stream.labels.tolist()
    start = time.process_time()
    for row, label in enumerate(labels):
        inside = slice(indptr[row], indptr[row + 1])
        model.step(indices[inside], data[inside], label)
    return Pass(time.process_time() - start)


def by_sklearn(rows: int) -> Callable[[Stream], Pass]:
    """`decision_function` and `partial_fit` of PA-I; making the rows is not timed."""

    def run(stream: Stream) -> Pass:
        linear_model: Any = import_module("sklearn.linear_model")
        model = linear_model.SGDClassifier(
            loss="hinge", penalty=None, learning_rate="pa1", eta0=1.0, shuffle=False
        )
        seconds, both = 0.0, np.array([False, True])
        model.partial_fit(next(matrices(stream, 1))[0], stream.labels[:1], classes=both)
        for matrix, labels in matrices(stream, rows):
            start = time.process_time()
            model.decision_function(matrix)
            model.partial_fit(matrix, labels)
            seconds += time.process_time() - start
        return Pass(seconds)

    return run


def matrices(stream: Stream, rows: int) -> Iterator[tuple[Any, NDArray[np.bool_]]]:
    """So many rows at a time, as scikit-learn likes them best; several are made ahead."""
    sparse: Any = import_module("scipy.sparse")
    ahead = max(1, BLOCK // rows)
    for begin in range(0, stream.events, rows * ahead):
        made = []
        for first in range(begin, min(begin + rows * ahead, stream.events), rows):
            part = stream.part(first, min(first + rows, stream.events))
            arrays = part.csr.data, part.csr.indices, part.csr.indptr.astype(np.int32)
            matrix = sparse.csr_matrix(arrays, shape=(part.events, len(stream.names)))
            narrow = len(stream.names) < NARROW
            made.append((matrix.toarray() if narrow else matrix, part.labels))
        yield from made


def by_vowpal_wabbit(stream: Stream) -> Pass:
    """An example made of the dict, then `learn`, which predicts on the way."""
    vowpalwabbit: Any = import_module("vowpalwabbit")
    model, seconds = vowpalwabbit.Workspace(vw_options(stream)), 0.0
    for events, labels, _ in blocks(stream):
        start = time.process_time()
        for event, label in zip(events, labels, strict=True):
            example = vowpalwabbit.Example(model, {"f": list(event.items())})
            example.set_label_string("1" if label else "-1")
            model.learn(example)
            example.get_simplelabel_prediction()
            model.finish_example(example)
        seconds += time.process_time() - start
    model.finish()
    return Pass(seconds)


def vw_options(stream: Stream) -> str:
    """Hinge loss, room for every column, else as it comes."""
    bits = max(18, len(stream.names).bit_length())
    return f"--quiet --loss_function hinge -b {bits}"


def by_activeml(strategy: str, stream: Stream) -> Pass:
    """`query` and `update` of a strategy, `partial_fit` if asked: a tenth of the labels."""
    strategies: Any = import_module("skactiveml.stream")
    classifier: Any = import_module("skactiveml.classifier")
    linear_model: Any = import_module("sklearn.linear_model")
    kind = getattr(strategies, strategy)
    classes = {"classes": [0, 1]} if "classes" in signature(kind).parameters else {}
    asks = kind(budget=0.1, random_state=0, **classes)
    model = classifier.SklearnClassifier(
        linear_model.SGDClassifier(loss="log_loss"), classes=[0, 1], random_state=0
    )
    rows = list(matrices(stream, 1))
    model.partial_fit(rows[0][0], rows[0][1].astype(int))
    judge: dict[str, Any] = {"clf": model} if "clf" in signature(asks.query).parameters else {}
    learned = 0
    start = time.process_time()
    for row, labels in rows:
        model.predict(row)
        asked = asks.query(candidates=row, **judge)
        asks.update(candidates=row, queried_indices=asked)
        if len(asked):
            model.partial_fit(row, labels.astype(int))
            learned += 1
    return Pass(time.process_time() - start, learned / stream.events)


def why_not(module: str) -> str:
    """Why a package cannot be used; empty if it can. It is imported here, once for all passes."""
    try:
        import_module(module)
    except Exception as error:
        return f"{type(error).__name__}: {error}".splitlines()[0]
    return ""


def contestants() -> list[Contestant]:
    """Every peer; slow ones get fewer events."""

    def peer(
        module: str, who: str, name: str, door: str, run: Callable[[Stream], Pass], **more: Any
    ) -> Contestant:
        reason = why_not(module)
        return Contestant(who, name, door, None if reason else run, why_not=reason, **more)

    dicts, river, sklearn = "FLLS-I, half kept", "river.linear_model", "sklearn.linear_model"
    some = {"text": 15_000, "url": 8_000}
    plain_pa = by_river("PAClassifier")
    fresh_pa = by_river("PAClassifier", new_texts=True)
    logistic = by_river("LogisticRegression")
    found = [
        peer(river, "River", "PAClassifier", "dict", plain_pa, floor=dicts),
        peer(
            *(river, "River", "PAClassifier", NEW_TEXTS),
            fresh_pa,
            floor=dicts,
            only=("sensor", "text"),
        ),
        peer(river, "River", "LogisticRegression", "dict", logistic, floor=dicts, most=some),
        peer(
            *("vowpalwabbit", "Vowpal Wabbit", "Python object", "dict"),
            by_vowpal_wabbit,
            floor=dicts,
            most=some,
        ),
        Contestant(
            *("plain Python", "PA-I in 15 lines", "dict"), by_plain_python, floor=dicts, most=some
        ),
        Contestant(
            *("NumPy", "FLLS-I, half kept, argpartition", "CSR"),
            by_numpy,
            floor="FLLS-I, half kept",
            most={"text": 1_000, "url": 20},
        ),
        peer(
            *(sklearn, "scikit-learn", "SGDClassifier, by row", "CSR"),
            by_sklearn(1),
            most={"sensor": 2_000, "text": 1_000, "url": 50},
        ),
        peer(sklearn, "scikit-learn", CHUNKS[1_000], "CSR", by_sklearn(1_000)),
        peer(sklearn, "scikit-learn", CHUNKS[100], "CSR", by_sklearn(100), most=FEWER),
    ]
    for strategy in ("StreamRandomSampling", "FixedUncertainty", "VariableUncertainty", "Split"):
        found.append(
            peer(
                *("skactiveml.stream", "scikit-activeml", strategy, "dense rows"),
                partial(by_activeml, strategy),
                only=("sensor",),
                most={"sensor": 300},
            )
        )
    return found
