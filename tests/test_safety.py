"""No Python program crashes the interpreter through us, or goes on with a half-changed learner."""

import enum
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pytest

import headwater as hw
from effort import FULL
from headwater.errors import BusyError, EventError, OutputError, PoisonedError, StepError

SECONDS = 30.0 if FULL else 1.0
"""How long threads race."""


@contextmanager
def meanwhile(*steps: Callable[[], object]) -> Iterator[None]:
    """Another thread that goes through these steps again and again, and hardly ever waits."""
    stopped = threading.Event()

    def work() -> None:
        while not stopped.is_set():
            for step in steps:
                step()

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()
        sys.setswitchinterval(before)


def race(attempt: Callable[[], object]) -> None:
    """Try again and again; the only error may be one about the event."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        with suppress(EventError):
            attempt()


# Memory that changes while it is read


def test_a_frame_whose_offsets_change_in_another_thread_is_read_as_it_was_checked() -> None:
    rows = 20_000
    good = np.arange(0, 4 * (rows + 1), 4, dtype=np.int32)
    offsets = good.copy()
    wild, far = good.copy(), good.copy()
    wild[1:-1] = np.random.default_rng(0).integers(-(2**31), 2**31 - 1, rows - 1)
    far[-1] = 2**31 - 1
    texts = [None, pa.py_buffer(offsets), pa.py_buffer(b"abcd" * rows)]
    table = pa.table({"c": pa.Array.from_buffers(pa.string(), rows, texts)})
    model = hw.Linear(query="all")
    changes = [lambda new=new: np.copyto(offsets, new) for new in (wild, good, far, good)]
    with meanwhile(*changes):
        race(lambda: model.predict_many(table))


@pytest.mark.parametrize("end", [9, 2**31 - 1, -1, 0])
def test_a_frame_whose_offsets_lie_is_refused(end: int) -> None:
    offsets = np.array([0, 1, 2], np.int32)
    texts = [None, pa.py_buffer(offsets), pa.py_buffer(b"ab")]
    plain = pa.Array.from_buffers(pa.string(), 2, texts)
    coded = pa.DictionaryArray.from_arrays(pa.array([0, 1]), plain)
    frames: list[Any] = []
    for column in (plain, coded):
        table = pa.table({"c": column})
        (batch,) = table.to_batches()
        rows = batch.to_struct_array()
        frames += [table, batch, rows, pa.chunked_array([rows]), table.to_reader()]
    offsets[2] = end  # behind pyarrow's back
    for frame in frames:
        with pytest.raises(EventError, match="X: its Arrow data cannot be read"):
            hw.Linear().predict_many(frame)


def test_arrays_that_change_in_another_thread_leave_a_model_that_can_be_loaded() -> None:
    rows, names = 2_000, [f"w{i}" for i in range(5_000)]
    good = np.tile(np.arange(5, dtype=np.int32), rows)
    good += np.repeat(np.arange(rows, dtype=np.int32) % 1_000 * 5, 5)
    wild = np.repeat(np.random.default_rng(0).integers(0, 5_000, rows), 5).astype(np.int32)
    indices, indptr = good.copy(), np.arange(0, 5 * (rows + 1), 5)
    X = SimpleNamespace(indptr=indptr, indices=indices, data=np.ones(5 * rows), shape=(rows, 5_000))

    def learn() -> None:
        model = hw.Linear(query="all")
        try:
            model.learn_many(X, [True, False] * (rows // 2), names=names)
        finally:
            assert hw.from_bytes(model.to_bytes()).learned == model.learned

    with meanwhile(lambda: np.copyto(indices, wild), lambda: np.copyto(indices, good)):
        race(learn)


def across_words(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The same numbers, none of them at an address that the processor likes."""
    raw = np.zeros(array.nbytes + 1, np.uint8)
    moved: np.ndarray[Any, Any] = raw[1:].view(array.dtype).reshape(array.shape)
    moved[...] = array
    assert not moved.flags.aligned
    return moved


def test_arrays_that_lie_across_words_and_bools_of_any_byte_are_read_as_others() -> None:
    X = np.random.default_rng(3).normal(size=(50, 4))
    truth, numbers = X[:, 0] > 0, (X[:, 0] > 0).astype(np.int64)
    columns, ends = np.tile(np.arange(4, dtype=np.int32), 50), np.arange(0, 201, 4)
    csr = SimpleNamespace(
        indptr=across_words(ends),
        indices=across_words(columns),
        data=across_words(X.ravel()),
        shape=X.shape,
    )
    odd = np.where(truth, 2, 0).astype(np.uint8).view(np.bool_)
    for labels, plain in ((odd, truth), (across_words(numbers), numbers)):
        models = hw.Spring(), hw.Spring(), hw.Spring()
        models[0].learn_many(X, plain)
        models[1].learn_many(across_words(X), labels)
        models[2].learn_many(csr, labels)
        assert models[0].learned == 50
        assert models[0].to_bytes() == models[1].to_bytes() == models[2].to_bytes()


# A fault inside the core


def test_after_a_fault_in_the_middle_of_a_step_a_learner_refuses_further_use() -> None:
    model = hw.PAA()
    model.learn_one({"rain": 1.0}, True)
    saved = model.to_bytes()
    with pytest.raises(BaseException, match="on purpose"):
        model._panic()
    uses: list[Callable[[], object]] = [
        lambda: model.predict_one({"rain": 1.0}),
        lambda: model.learn_one({"rain": 1.0}, True),
        lambda: model.predict_many([[1.0]]),
        model.to_bytes,
        model.weights,
    ]
    for use in uses:
        with pytest.raises(PoisonedError, match="load the model that was saved last"):
            use()
    assert hw.from_bytes(saved).weights() == {"rain": 1.0}


# What a user's object raises


class Stubborn:
    """A number that raises when it is read."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __float__(self) -> float:
        raise self.error

    def __index__(self) -> int:
        raise self.error

    def __hash__(self) -> int:
        return 1


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, MemoryError, RecursionError])
def test_a_wish_to_stop_while_a_value_is_read_is_not_swallowed(kind: type[BaseException]) -> None:
    model = hw.PAA()
    before = model.to_bytes()
    uses: list[Callable[[Any], object]] = [
        lambda odd: model.predict_one({"rain": odd}),
        lambda odd: model.decide_one({odd: 1.0}),
        lambda odd: model.learn_one({"rain": 1.0}, odd),
    ]
    for use in uses:
        with pytest.raises(kind):
            use(Stubborn(kind()))
    assert model.to_bytes() == before


def test_another_error_while_a_value_is_read_is_one_about_the_event() -> None:
    with pytest.raises(EventError, match="feature 'rain' must be a number"):
        hw.PAA().predict_one({"rain": Stubborn(ZeroDivisionError())})


class Color(str, enum.Enum):  # noqa: UP042 - a StrEnum has another `str`
    """Names that are texts and more than that."""

    RED = "red"


def test_a_name_that_is_a_subclass_of_str_is_its_text_whatever_its_value_is() -> None:
    model = hw.PAA()
    model.learn_one({Color.RED: 1.0}, True)
    model.learn_one({Color.RED: "warm"}, True)
    model.learn_one({"shade": Color.RED}, True)
    assert set(model.weights()) == {"red", "red=warm", "shade=red"}


# Processes


def in_child(work: Callable[[], None]) -> int:
    """Fork, work, and say how the child ended; one that hangs is ended."""
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        try:
            work()
        except BaseException:
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_learner_forked_during_a_batch_of_another_thread_says_so_in_the_child() -> None:
    model = hw.Spring()
    X = np.random.default_rng(0).normal(size=(60_000, 50))
    thread = threading.Thread(target=lambda: model.learn_many(X, X[:, 0] > 0))
    thread.start()
    time.sleep(0.1)

    def use() -> None:
        with pytest.raises(BusyError, match="forked"):
            model.predict_one({"rain": 1.0})

    ended = in_child(use)
    assert thread.is_alive(), "the batch must last longer"
    thread.join()
    assert ended == 0
    assert model.learned == len(X)


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_packed_file_opened_before_a_fork_says_so_in_the_child(tmp_path: Path) -> None:
    import gzip

    path = tmp_path / "events.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"rain": 1.0, "y": true}\n' * 200_000))
    events = iter(hw.open(path))
    next(events)

    def use() -> None:
        with pytest.raises(hw.errors.EventFileError, match="fork"):
            for _ in events:
                pass

    assert in_child(use) == 0
    assert sum(1 for _ in events) == 199_999


# A step is all or nothing


@pytest.mark.parametrize("scale", [None, "running"])
def test_a_row_that_is_refused_changes_nothing(scale: str | None) -> None:
    rows = [[1.0], [2.0], [1e200], [3.0]]
    model, loop = (hw.Linear(scale=scale, query="all") for _ in range(2))
    with pytest.raises(StepError, match=r"X, row 2: .* The rows before it were done\."):
        model.simulate(rows, [True, False, True, False])
    for row, label in zip(rows[:2], [True, False], strict=True):
        loop.answer(loop.decide_one({0: row[0]}), label)
    assert model.to_bytes() == loop.to_bytes()
    assert (model.seen, model.asked, model.learned) == (2, 2, 2)


@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_a_full_disk_ends_the_run_and_what_is_written_is_what_was_learned(
    tmp_path: Path, on_error: Any
) -> None:
    lines = [
        f'{{"a": {i % 7}, "b": {i % 5}, "y": {str(i % 3 == 0).lower()}}}' for i in range(2_000)
    ]
    events, decisions = tmp_path / "events.jsonl", tmp_path / "decisions.csv"
    events.write_text("\n".join(lines) + "\n")

    def run() -> None:
        import resource

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))  # as a disk that is full
        model = hw.Linear(query="all")
        with pytest.raises(OutputError, match=r"decisions\.csv': the decisions cannot be written"):
            model.simulate_file(events, on_error=on_error, decisions=decisions)
        written = decisions.read_text().splitlines()[1:]
        assert 0 < len(written) < 2_000
        assert all(line.endswith(",true") for line in written)
        plain = hw.Linear(query="all")
        for line in lines[: len(written)]:
            event = json.loads(line)
            label = event.pop("y")
            plain.answer(plain.decide_one(event), label)
        assert model.to_bytes() == plain.to_bytes()

    assert in_child(run) == 0


WANT_OF_MEMORY = """
import os, resource, sys
from pathlib import Path
from types import SimpleNamespace
import numpy as np
import headwater as hw

falling = np.tile(np.arange(50, dtype=np.int32)[::-1], 100_000)  # which has to be copied
ends = np.arange(0, falling.size + 1, 50)
ones = np.ones(falling.size)
rows = SimpleNamespace(indptr=ends, indices=falling, data=ones, shape=(100_000, 50))
used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
resource.setrlimit(resource.RLIMIT_AS, (used + 30_000_000, used + 30_000_000))
model = hw.PAA()
before = model.to_bytes()
for work in (lambda: model.predict_many(rows), lambda: model.simulate_file(sys.argv[1])):
    try:
        work()
    except MemoryError as error:
        print(error)
assert model.to_bytes() == before
"""


def test_want_of_memory_is_an_error_and_not_the_end_of_the_process(tmp_path: Path) -> None:
    long_line = tmp_path / "long.svm"
    long_line.write_bytes(b"1 " + b"1:1 " * 12_000_000)  # 48 MB without a line end
    # A process of its own: in another one earlier work may have left free memory behind.
    done = subprocess.run(
        [sys.executable, "-c", WANT_OF_MEMORY, str(long_line)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    copy, line = done.stdout.splitlines()
    assert copy.startswith("X: there is no memory for a copy")
    assert line.endswith("long.svm, line 1: there is not enough memory for it.")
