"""Learners on Spark: one per key of a stream, and one model over the rows of a frame.

`per_key` runs on Structured Streaming's `transformWithStateInPandas`; what is done with the rows of
a key is in `headwater.adapters.keyed`. Spark's checkpoint makes it exact: after a crash a batch is
repeated from the state before it.
"""

import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

try:
    import pandas as pd
    import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
    from pyspark.sql import DataFrame, SparkSession, functions
    from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle
except ImportError as error:
    raise ImportError(
        "headwater.adapters.spark needs PySpark 4.1 or newer, pandas and pyarrow:"
        " pip install 'headwater[spark]'."
    ) from error

from headwater._core import read_event
from headwater.adapters.keyed import (
    NO_TIME,
    Early,
    Head,
    KeyedLearners,
    LearnerCache,
    Open,
    Row,
    read_body,
)
from headwater.errors import EventError, ParameterError
from headwater.learners.base import Learner, from_bytes, load
from headwater.types import Label

if TYPE_CHECKING:
    from pyspark.sql.streaming.stateful_processor import ExpiredTimerInfo, TimerValues

__all__ = ["COLUMNS", "SETTINGS", "models", "per_key", "score"]

COLUMNS = {"key": "string", "t": "bigint", "kind": "string", "id": "string", "body": "string"}
"""The columns of the rows that `per_key` takes and gives, with their types."""

SCHEMA = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
SETTINGS = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
}
"""What `per_key` needs of a session: `spark.conf.set(name, value)` for each.

Only RocksDB can keep the state. Timers would make Spark run one empty batch after another, and a
stream with `availableNow` would never end.
"""

CACHE = LearnerCache(0)
"""Of this Python worker, which Spark uses for task after task."""


def per_key(
    rows: DataFrame,
    learner: Learner | Callable[[str], Learner],
    *,
    early_seconds: float = 86_400.0,
    cache_bytes: int = 256 * 2**20,
) -> DataFrame:
    """One learner per key over a stream of events and answers.

    Parameters
    ----------
    rows
        A streaming frame with the columns `key` (string), `t` (bigint: rises from event to event of
        a key, as a producer's sequence number does), `kind` (`event` or `answer`), `id` (string: an
        answer has that of its event) and `body` (string: an event's features as a JSON object, an
        answer's label as JSON). Rows of a batch are handled in the order of `t` within their key.
    learner
        What every key begins with: a learner, or a function from key to learner.
    early_seconds
        How long an answer waits for its event, by Spark's processing time.
    cache_bytes
        How many bytes of learners a Python worker keeps in memory between batches, as they are
        saved; those used longest ago are dropped and read from the state when they are needed.

    Returns
    -------
    DataFrame
        The same columns. `kind` is `decision` (`body`: prediction, margin, query_probability,
        asked), `question` (`body`: the event), `learned` (`body`: the label), `late` (an event
        whose `t` was reached before, an answer whose question was not open in time; `body` holds
        the row and why) or `refused` (`body`: a sentence).

    Examples
    --------
    With a session `spark` and a topic or folder as `rows` (a whole program: docs/how-to/spark.md):

    >>> import headwater as hw
    >>> from headwater.adapters.spark import per_key
    >>> out = per_key(rows, hw.Spring(label_rate=0.05))  # doctest: +SKIP
    >>> to = out.writeStream.format("parquet").option("path", "out")  # doctest: +SKIP
    >>> query = to.option("checkpointLocation", "checkpoint").start()  # doctest: +SKIP
    """
    found = dict(rows.dtypes)
    wrong = [name for name, kind in COLUMNS.items() if found.get(name) != kind]
    if wrong:
        came = ", ".join(f"{name} {found.get(name, 'missing')}" for name in wrong)
        raise ParameterError(f"per_key: rows must have the columns {SCHEMA}, got {came}.")
    if not early_seconds >= 0:
        raise ParameterError(f"per_key: early_seconds must be at least 0, got {early_seconds!r}.")
    if cache_bytes < 0:
        raise ParameterError(f"per_key: cache_bytes must be at least 0, got {cache_bytes!r}.")
    if not isinstance(learner, Learner) and not callable(learner):
        raise ParameterError(
            "per_key: learner must be a learner or a function from key to learner,"
            f" got {type(learner).__name__}."
        )
    _check_session(rows.sparkSession)
    start = learner.to_bytes() if isinstance(learner, Learner) else learner
    sound = rows.select(
        functions.coalesce("key", functions.lit("")).alias("key"),
        functions.coalesce("t", functions.lit(NO_TIME)).alias(
            "t"
        ),  # a null would make floats of the batch
        functions.when(functions.col("key").isNull(), "row without a key")
        .otherwise(functions.col("kind"))
        .alias("kind"),
        "id",
        "body",
    )
    return sound.groupBy("key").transformWithStateInPandas(
        statefulProcessor=_Processor(start, int(1000 * early_seconds), cache_bytes),
        outputStructType=SCHEMA,
        outputMode="Append",
        timeMode="ProcessingTime",
    )


def _check_session(spark: SparkSession) -> None:
    """Raise a sentence for what Spark would report in pages, or not at all."""
    for name, value in SETTINGS.items():
        if spark.conf.get(name, None) != value:
            raise ParameterError(
                f"per_key: the session must have {name}={value}, got {spark.conf.get(name, None)}:"
                " spark.conf.set(name, value) for each of headwater.adapters.spark.SETTINGS."
            )
    try:
        context = spark.sparkContext
    except Exception:  # Spark Connect: the workers are elsewhere
        return
    worker = shutil.which(context.pythonExec)
    local = context.master.startswith("local")
    if local and not _same_python(worker):
        raise ParameterError(
            f"per_key: Spark's workers run {context.pythonExec!r}, which is another Python than"
            f" this one: set PYSPARK_PYTHON={sys.executable} before the session starts."
        )


def _same_python(worker: str | None) -> bool:
    """Whether it is this Python, in this environment: two environments may link to one Python."""
    return (
        worker is not None
        and Path(worker).absolute().parent == Path(sys.executable).absolute().parent
        and os.path.samefile(worker, sys.executable)
    )


class _Processor(StatefulProcessor):
    """What Spark calls for each key of a batch."""

    def __init__(
        self, start: bytes | Callable[[str], Learner], early_ms: int, cache_bytes: int
    ) -> None:
        self.start, self.early_ms, self.cache_bytes = start, early_ms, cache_bytes

    def init(self, handle: StatefulProcessorHandle) -> None:
        CACHE.capacity = self.cache_bytes
        self.learners = KeyedLearners(self.start, self.early_ms, CACHE)
        self.state = _SparkState(handle)

    def handleInputRows(  # noqa: N802
        self, key: Any, rows: Iterator[pd.DataFrame], timerValues: "TimerValues"
    ) -> Iterator[pd.DataFrame]:
        came = [
            Row(*row)
            for frame in rows
            for row in zip(*(frame[name].tolist() for name in COLUMNS), strict=True)
        ]
        now = timerValues.getCurrentProcessingTimeInMs()
        self.state.timers.clear()
        yield from _frame(self.learners.handle(key[0], came, self.state, now))

    def handleExpiredTimer(  # noqa: N802
        self, key: Any, timerValues: "TimerValues", expiredTimerInfo: "ExpiredTimerInfo"
    ) -> Iterator[pd.DataFrame]:
        yield from _frame(
            self.learners.expire(key[0], self.state, expiredTimerInfo.getExpiryTimeInMs())
        )


def _frame(rows: list[Row]) -> Iterator[pd.DataFrame]:
    if rows:
        yield pd.DataFrame(dict(zip(COLUMNS, zip(*rows, strict=True), strict=True)))


class _SparkState:
    """The state of the key that Spark is at."""

    def __init__(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self.timers: set[int] = set()  # of this key in this batch
        self._head = handle.getValueState("head", "digest binary, t bigint, early bigint")
        self._model = handle.getValueState("model", "model binary")
        self._open = handle.getMapState("open", "id string", "decision binary, event string")
        self._early = handle.getMapState(
            "early", "id string", "t bigint, label string, until bigint"
        )

    def head(self) -> Head | None:
        found = self._head.get()
        return None if found is None else Head(bytes(found[0]), *found[1:])

    def model(self) -> bytes:
        found = self._model.get()
        assert found is not None, "a head without a model"
        return bytes(found[0])

    def keep(self, head: Head, model: bytes | None) -> None:
        self._head.update(tuple(head))
        if model is not None:
            self._model.update((model,))

    def open(self, id: str) -> Open | None:
        found = self._open.getValue((id,))
        return None if found is None else Open(bytes(found[0]), found[1])

    def keep_open(self, id: str, question: Open) -> None:
        self._open.updateValue((id,), tuple(question))

    def close(self, id: str) -> None:
        self._open.removeKey((id,))

    def early(self, id: str) -> Early | None:
        found = self._early.getValue((id,))
        return None if found is None else Early(*found)

    def all_early(self) -> list[tuple[str, Early]]:
        return [(id, Early(*found)) for (id,), found in self._early.iterator()]

    def keep_early(self, id: str, answer: Early) -> None:
        self._early.updateValue((id,), tuple(answer))
        if answer.until not in self.timers:
            self._handle.registerTimer(answer.until)
            self.timers.add(answer.until)

    def drop_early(self, id: str) -> None:
        self._early.removeKey((id,))


def models(
    checkpoint: str | os.PathLike[str], *, spark: "SparkSession | None" = None
) -> Iterator[tuple[str, Learner]]:
    """The keys of a `per_key` query and their learners, as its checkpoint holds them.

    They come in the order of the keys, one by one; each continues where the query stands.

    Parameters
    ----------
    checkpoint
        The query's `checkpointLocation`. The query may run; what its last whole batch left is read.
    spark
        The session; None: the active one.

    Examples
    --------
    >>> from headwater.adapters.spark import models
    >>> for key, learner in models("checkpoint"):  # doctest: +SKIP
    ...     print(key, learner.learned, learner.weights())
    """
    session = SparkSession.getActiveSession() if spark is None else spark
    if session is None:
        raise ParameterError("models: there is no active session of Spark; give one by spark=.")
    frame = (
        session.read.format("statestore")
        .option("stateVarName", "model")
        .load(os.fspath(checkpoint))
        .select("key.key", "value.model")
        .orderBy("key")
    )
    for row in frame.toLocalIterator():
        yield row.key, from_bytes(bytes(row.model))


def score(
    frame: DataFrame,
    learner: Learner | str | os.PathLike[str],
    *,
    keep: Sequence[str] = (),
    body: str | None = None,
) -> DataFrame:
    """What a learner predicts for every row of a frame, on every core; nothing is learned.

    Parameters
    ----------
    frame
        Any frame; null is an absent feature. Columns that the learner does not know count for
        nothing, as they do in `predict_one`.
    learner
        The learner as it is now, or the file of one.
    keep
        Columns that are kept and are no features.
    body
        The column that holds the event as a JSON object; None: every column that is not in `keep`
        is a feature. With it each row may have features of its own.

    Returns
    -------
    DataFrame
        The columns of `keep`, then `prediction` (of the labels' type) and `margin`, both null for a
        body that is no event.

    Examples
    --------
    >>> from headwater.adapters.spark import score
    >>> score(frame, "model.hw", keep=["id"]).write.parquet("scores")  # doctest: +SKIP
    """
    names = frame.columns
    for name in [*keep, *([] if body is None else [body])]:
        if name not in names:
            raise ParameterError(f"score: expected a column {name!r}, got {', '.join(names)}.")
    model = learner if isinstance(learner, Learner) else load(learner)
    kinds = {"double" if model.task == "regression" else _kind(label) for label in model.labels}
    kind = kinds.pop() if len(kinds) == 1 else "string"
    kept = [f"`{name}` {dict(frame.dtypes)[name]}" for name in keep]
    schema = ", ".join([*kept, f"prediction {kind}", "margin double"])
    used = [name for name in names if name not in keep] if body is None else [body]
    data = frame.sparkSession.sparkContext.broadcast(model.to_bytes())
    digest = blake2b(data.value, digest_size=16).digest()

    def scored(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        known = SCORERS.get(digest)
        if known is None:
            SCORERS.clear()
            known = SCORERS[digest] = from_bytes(data.value)
        for batch in batches:
            columns = [batch.column(name) for name in keep]
            columns += _scores(known, batch.select(used), body, kind)
            yield pa.RecordBatch.from_arrays(columns, [*keep, "prediction", "margin"])

    return frame.select(*keep, *(name for name in used if name not in keep)).mapInArrow(
        scored, schema
    )


SCORERS: dict[bytes, Learner] = {}
"""The learner that this Python worker scored with last, by the digest of its bytes."""

TYPES = {"boolean": pa.bool_(), "bigint": pa.int64(), "double": pa.float64(), "string": pa.string()}


def _kind(label: Label) -> str:
    if isinstance(label, bool):
        return "boolean"
    return "bigint" if isinstance(label, int) else "string"


def _scores(learner: Learner, batch: pa.RecordBatch, body: str | None, kind: str) -> list[pa.Array]:
    """Predictions and margins of a batch."""
    rows: Any = batch
    sound = None
    if body is not None:
        events = [_event(text) for text in batch.column(body).to_pylist()]
        sound = [event is not None for event in events]
        rows = [{} if event is None else event for event in events]
    found = [learner.predict_many(rows), learner.margin_many(rows)]
    arrays = []
    for values, type_ in zip(found, (TYPES[kind], pa.float64()), strict=True):
        listed = values.to_pylist() if hasattr(values, "to_pylist") else values.tolist()
        if kind == "string" and type_ == pa.string():
            listed = [None if value is None else str(value) for value in listed]
        if sound is not None:
            listed = [value if ok else None for value, ok in zip(listed, sound, strict=True)]
        arrays.append(pa.array(listed, type_))
    return arrays


def _event(text: str | None) -> Any:
    """The event of a body; None if it is none."""
    try:
        event = read_body(text)
        read_event(event)
    except EventError:
        return None
    return event
