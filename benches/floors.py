"""What hand-written C needs for the same work, compiled on the spot by the system's compiler.

`c/model.h` holds the learner, `c/csr.c` its loops over CSR, `c/dicts.c` a C extension with the same
two calls on dicts. They compute the same margins as Headwater; `tests/test_bench.py` checks it.
"""

import ctypes
import importlib.util
import math
import os
import shutil
import subprocess
import sysconfig
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from turns import FLOOR, NEW_TEXTS, Contestant, Pass
from workloads import Csr, Stream, blocks

SOURCES = Path(__file__).parent / "c"
FLAGS = ("-O3", "-march=native", "-shared", "-fPIC")
Keeping = Literal["all", "scaled", "heap", "selection"]
MODES: tuple[Keeping, ...] = ("all", "scaled", "heap", "selection")  # as the enum of model.h


class Work(NamedTuple):
    """What a floor does: PA-I, an L1 radius, a share of the weights kept."""

    radius: float
    share: float
    C: float = 1.0

    @property
    def keeping(self) -> Keeping:
        """How the largest are kept."""
        if self.share < 1:
            return "heap"
        return "all" if math.isinf(self.radius) else "scaled"


WORKS = {
    "PA-I": Work(math.inf, 1.0),
    "FLLS-I, all kept": Work(30.0, 1.0),
    "FLLS-I, half kept": Work(30.0, 0.5),
    "FLLS-I, 1 % kept": Work(30.0, 0.01),
}
DICT_STREAMS: dict[str, tuple[str, ...]] = {
    "PA-I": ("sensor", "text"),
    "FLLS-I, all kept": ("sensor", "text"),
    "FLLS-I, half kept": (),
    "FLLS-I, 1 % kept": (),
}  # of dicts of *url* two are enough


@dataclass(frozen=True)
class Compiled:
    """The libraries."""

    csr: ctypes.CDLL
    dicts: Any  # the extension module
    compiler: str


def compiler() -> str | None:
    """The system's C compiler."""
    return shutil.which(os.environ.get("CC", "cc"))


def build(folder: Path) -> Compiled | str:
    """Compile into a folder, or say why it cannot be."""
    cc = compiler()
    if cc is None:
        return "there is no C compiler (cc) here"
    made = {name: folder / f"{name}.so" for name in ("csr", "dicts")}
    include = f"-I{sysconfig.get_path('include')}"
    for name, target in made.items():
        source = f"{name}.c"
        command = [cc, *FLAGS, include, str(SOURCES / source), "-o", str(target), "-lm"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            return f"{source} does not compile: {(done.stderr.splitlines() or ['?'])[0]}"
    version = subprocess.run([cc, "--version"], capture_output=True, text=True, check=False).stdout
    return Compiled(
        csr=_csr_library(made["csr"]),
        dicts=_extension(made["dicts"]),
        compiler=version.splitlines()[0],
    )


def _csr_library(path: Path) -> ctypes.CDLL:
    library = ctypes.CDLL(str(path))
    number, real, pointer = ctypes.c_size_t, ctypes.c_double, ctypes.c_void_p
    rows: list[Any] = [number, pointer, pointer, pointer, pointer]
    library.bare.argtypes = [*rows, real, pointer, pointer]
    library.bare.restype = None
    library.learner_new.argtypes = [number, ctypes.c_int, real, real, real]
    library.learner_new.restype = pointer
    library.learner_run.argtypes = [pointer, *rows, pointer]
    library.learner_run.restype = None
    for name in ("learner_known", "learner_kept"):
        getattr(library, name).argtypes = [pointer]
        getattr(library, name).restype = number
    for name in ("learner_select", "learner_free"):
        getattr(library, name).argtypes = [pointer]
        getattr(library, name).restype = None
    return library


def _extension(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location("dicts", path)
    if spec is None or spec.loader is None:
        raise ImportError(str(path))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Learner:
    """The C learner on CSR."""

    def __init__(
        self, library: ctypes.CDLL, columns: int, work: Work, keeping: Keeping | None = None
    ) -> None:
        self._library = library
        mode = MODES.index(keeping or work.keeping)
        self._learner = library.learner_new(columns, mode, work.C, work.radius, work.share)

    def __enter__(self) -> "Learner":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._library.learner_free(self._learner)

    def run(self, csr: Csr, labels: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Predict and learn every event: the margins."""
        margins = np.empty(len(labels))
        self._library.learner_run(self._learner, *_rows(csr, labels), margins.ctypes.data)
        return margins

    def select_from_now_on(self) -> None:
        """Keep the largest by a selection over all weights instead of the heap."""
        self._library.learner_select(self._learner)

    @property
    def known(self) -> int:
        """Features met."""
        return int(self._library.learner_known(self._learner))

    @property
    def kept(self) -> int:
        """Weights that are not 0."""
        return int(self._library.learner_kept(self._learner))


def bare(
    library: ctypes.CDLL, columns: int, csr: Csr, labels: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """PA-I and nothing else: the margins."""
    margins, weights = np.empty(len(labels)), np.zeros(columns)
    rows = _rows(csr, labels)
    library.bare(*rows, 1.0, weights.ctypes.data, margins.ctypes.data)
    return margins


def _rows(csr: Csr, labels: NDArray[np.bool_]) -> tuple[int, ...]:
    """Number of events and the addresses of the arrays."""
    kinds = (np.int64, np.int32, np.float64, np.bool_)
    arrays: tuple[NDArray[Any], ...] = (*csr, labels)
    for array, kind in zip(arrays, kinds, strict=True):
        if array.dtype != kind or not array.flags.c_contiguous:
            raise TypeError(f"expected contiguous {kind}, got {array.dtype}")
    return (len(labels), *(array.ctypes.data for array in arrays))


def _there(compiled: Compiled | str) -> Compiled:
    if isinstance(compiled, str):
        raise RuntimeError(compiled)
    return compiled


def _by_csr(
    compiled: Compiled | str, work: Work, keeping: Keeping | None = None
) -> Callable[[Stream], Pass]:
    def run(stream: Stream) -> Pass:
        library = _there(compiled).csr
        start = time.process_time()
        with Learner(library, len(stream.names), work, keeping) as learner:
            learner.run(stream.csr, stream.labels)
        return Pass(time.process_time() - start)

    return run


def _by_bare_loop(compiled: Compiled | str) -> Callable[[Stream], Pass]:
    def run(stream: Stream) -> Pass:
        library = _there(compiled).csr
        start = time.process_time()
        bare(library, len(stream.names), stream.csr, stream.labels)
        return Pass(time.process_time() - start)

    return run


def _by_dict(
    compiled: Compiled | str, work: Work, new_texts: bool = False
) -> Callable[[Stream], Pass]:
    def run(stream: Stream) -> Pass:
        learner, seconds = _there(compiled).dicts.Learner(work.C, work.radius, work.share), 0.0
        for events, labels, _ in blocks(stream, new_texts):
            start = time.process_time()
            for event, label in zip(events, labels, strict=True):
                decision = learner.decide(event)
                if decision.asked:
                    learner.answer(decision, label)
            seconds += time.process_time() - start
        return Pass(seconds)

    return run


def contestants(compiled: Compiled | str) -> list[Contestant]:
    """The floors by each door; without a compiler all of them are missing."""
    found = [
        Contestant(FLOOR, name, "dict", _by_dict(compiled, work), name, only=DICT_STREAMS[name])
        for name, work in WORKS.items()
    ]
    name, work = "FLLS-I, half kept", WORKS["FLLS-I, half kept"]
    fresh = _by_dict(compiled, work, new_texts=True)
    found.append(Contestant(FLOOR, name, NEW_TEXTS, fresh, name, only=("sensor", "text")))
    found.append(Contestant("C, bare loop", "PA-I", "CSR", _by_bare_loop(compiled)))
    found += [
        Contestant(FLOOR, name, "CSR", _by_csr(compiled, work), name)
        for name, work in WORKS.items()
    ]
    selection, few = _by_csr(compiled, work, "selection"), {"text": 2_000, "url": 100}
    found.append(Contestant("C, selection over all", name, "CSR", selection, name, few))
    if isinstance(compiled, str):
        return [replace(one, run=None, why_not=compiled) for one in found]
    return found
