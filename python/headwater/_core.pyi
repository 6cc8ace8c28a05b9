"""The Rust core, as Python sees it."""

from collections.abc import Callable, Sequence
from typing import Any, Self, TypeAlias, final

import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

from headwater.types import Event, Id, Label, Name

__all__ = ["Decision", "EventReader", "Learner", "__version__", "split_model"]

__version__: str

_Arrays: TypeAlias = (
    tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64], int] | NDArray[np.float64]
)

_Source: TypeAlias = tuple[str, str, str | None, str | None, bool]
_Told: TypeAlias = tuple[int, int, int, float, int, int, int, int, list[str]]
_Batch: TypeAlias = tuple[
    NDArray[np.int64],
    NDArray[np.int32],
    NDArray[np.float64],
    list[Name],
    list[Label | None],
    list[Id | None],
]

def split_model(data: bytes) -> tuple[str, bytes]: ...

@final
class Decision:
    @property
    def prediction(self) -> Label | None: ...
    @property
    def margin(self) -> float: ...
    @property
    def query_probability(self) -> float: ...
    @property
    def asked(self) -> bool: ...
    @property
    def features(self) -> dict[Name, float]: ...
    @property
    def answered(self) -> bool: ...
    @staticmethod
    def _restore(
        prediction: Label | None,
        margin: float,
        query_probability: float,
        asked: bool,
        answered: bool,
        features: Event,
        seen_as: Sequence[float] | None,
    ) -> Decision: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class EventReader:
    def __new__(cls, source: _Source) -> Self: ...
    def next(self) -> tuple[Id | None, dict[Name, float], Label | None] | None: ...
    def batch(self, size: int) -> _Batch | None: ...
    @property
    def skipped(self) -> int: ...
    @property
    def problems(self) -> list[str]: ...

@disjoint_base
class Learner:
    def __new__(cls, *args: Any, **kwargs: Any) -> Self: ...
    def _build(
        self,
        *,
        model: dict[str, Any],
        query: tuple[str, dict[str, Any]],
        view: bool,
        closed: bool,
        intercept: bool,
        labels: str,
        classes: Sequence[Label] | None,
        seed: int,
        state: bytes | None = None,
    ) -> None: ...
    def _write(self, header: str) -> bytes: ...
    def predict_one(self, x: Event) -> Label | None: ...
    def predict_proba_one(self, x: Event) -> dict[Label, float]: ...
    def margin_one(self, x: Event) -> float: ...
    def query_one(self, x: Event) -> bool: ...
    def decide_one(self, x: Event) -> Decision: ...
    def learn_one(self, x: Event, y: Label) -> None: ...
    def answer(self, decision: Decision, y: Label) -> None: ...
    def weights(self) -> dict[Any, Any]: ...
    def _explain(
        self, x: Event
    ) -> tuple[Label | None, float, list[tuple[Name, float]], float, list[tuple[str, float]]]: ...
    def _note(self) -> str | None: ...
    def _features(self) -> list[tuple[Name, int, int, int, Any]]: ...
    def _simulate(
        self, rows: _Arrays, names: Sequence[Name] | None, y: Sequence[Label | None]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]: ...
    def _simulate_file(
        self,
        source: _Source,
        decisions: str | None,
        progress: Callable[..., object] | None,
    ) -> _Told: ...
    def _learn_many(
        self, rows: _Arrays, names: Sequence[Name] | None, y: Sequence[Label | None]
    ) -> None: ...
    def _predict_many(
        self, rows: _Arrays, names: Sequence[Name] | None
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]: ...
    def _predict_proba_many(
        self, rows: _Arrays, names: Sequence[Name] | None
    ) -> NDArray[np.float64]: ...
    @property
    def seen(self) -> int: ...
    @property
    def asked(self) -> int: ...
    @property
    def learned(self) -> int: ...
    @property
    def labels(self) -> tuple[Label, ...]: ...
