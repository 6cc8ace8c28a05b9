"""What the project wants to reach, beside what a run measured."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from from_files import DOOR, ORJSON, VW_DRIVER
from ours import CHUNKED, KINDS, OTHERS, SPARSE, WHO
from peers import CHUNKS
from sizes import Size
from start import Start
from truncation import Truncation
from turns import NEW_TEXTS, Result


@dataclass(frozen=True)
class Goal:
    """One goal; `met` is None where nothing could be measured or nothing is demanded."""

    path: str
    stream: str
    wanted: str
    measured: str
    met: bool | None
    beside: str = ""
    """What `measured` is compared with, for the page; empty: not on the page."""

    @property
    def verdict(self) -> str:
        """In a word or two."""
        if self.met is None:
            return "printed" if self.wanted == PRINTED else "not measured"
        return "met" if self.met else "not met"


PRINTED = "printed beside PA-I"


@dataclass(frozen=True)
class Numbers:
    """Everything that a run measured."""

    results: list[Result]
    truncations: list[Truncation]
    start: Start | None
    sizes: list[Size] = field(default_factory=list)

    def size(self, what: str) -> float | None:
        """What was measured of the line that begins so."""
        return next((one.measured for one in self.sizes if one.what.startswith(what)), None)

    def of(self, stream: str, who: str, name: str, door: str) -> Result | None:
        """What a contestant needed; None if it did not run."""
        for one in self.results:
            if (one.stream, one.who, one.name, one.door) == (stream, who, name, door):
                return one if one.ns_per_value is not None else None
        return None


def goals(numbers: Numbers) -> list[Goal]:
    """Every goal with what was measured."""
    return [
        *_dicts(numbers),
        *_batches(numbers),
        *_files(numbers),
        *_truncation(numbers),
        *_others(numbers),
        *_sizes(numbers),
        *_start(numbers.start),
    ]


def _dicts(numbers: Numbers) -> Iterator[Goal]:
    path = f"dict per event, {SPARSE}"
    for stream, wanted in (("sensor", 15.0), ("text", 8.0), ("url", 5.0)):
        found = numbers.of(stream, WHO, SPARSE, "dict")
        yield _at_least(path, stream, wanted, found.times_river if found else None, "River's PA")
    for stream in ("sensor", "text", "url"):
        found = numbers.of(stream, WHO, SPARSE, "dict")
        times = found.times_floor if found else None
        wanted_here, beside = "≤ 0.9 × the C extension", "the cost of the C extension"
        yield _at_most(path, stream, wanted_here, 0.9, times, beside)
    plain = numbers.of("sensor", WHO, SPARSE, "dict")
    for kind in KINDS:
        times = _speedup(numbers.of("sensor", WHO, SPARSE, kind), plain)
        beside = "the cost of plain dicts"
        yield _at_most(f"{kind}, {SPARSE}", "sensor", "≤ 1.3 × plain dicts", 1.3, times, beside)
    river = numbers.of("sensor", "River", "PAClassifier", NEW_TEXTS)
    times = _speedup(river, numbers.of("sensor", WHO, SPARSE, NEW_TEXTS))
    yield _at_least(f"{NEW_TEXTS}, {SPARSE}", "sensor", 12.0, times, "River's PA")


def _batches(numbers: Numbers) -> Iterator[Goal]:
    for stream in ("sensor", "text", "url"):
        for learner, most in (("PA-I", 1.4), ("FLLS-I, half kept", 1.3), ("FLLS-I, 1 % kept", 1.3)):
            found = numbers.of(stream, WHO, learner, "CSR")
            wanted = f"≤ {most} × C doing the same work"
            times = found.times_floor if found else None
            beside = "the cost of C doing the same work"
            yield _at_most(f"CSR, {learner}", stream, wanted, most, times, beside)
    for stream in ("sensor", "text", "url"):
        whole = numbers.of(stream, WHO, "PA-I", "CSR")
        for chunk, door in CHUNKED.items():
            found = numbers.of(stream, WHO, "PA-I", door)
            path, beside = f"{door}, PA-I", "the cost of one call"
            if chunk == 1_000:
                times = _speedup(found, whole)
                yield _at_most(path, stream, "≤ 1.2 × one call", 1.2, times, beside)
            yield _goal(
                path,
                stream,
                "ahead of scikit-learn in the same chunks",
                _speedup(numbers.of(stream, "scikit-learn", CHUNKS[chunk], "CSR"), found),
                lambda times: f"{times:.2f} × as fast",
                lambda times: times > 1.0,
                "as fast as scikit-learn in the same chunks",
            )


def _files(numbers: Numbers) -> Iterator[Goal]:
    driver = numbers.of("text", "Vowpal Wabbit", VW_DRIVER, DOOR["vw"])
    found = numbers.of("text", WHO, "PA-I", DOOR["svm"])
    path, peer = "svmlight file, PA-I", "Vowpal Wabbit's driver on text"
    yield _at_least(path, "text", 4.0, _speedup(driver, found), peer)
    decoded = numbers.of("text", WHO, ORJSON, DOOR["jsonl"])
    found = numbers.of("text", WHO, SPARSE, DOOR["jsonl"])
    path = f"JSON lines, {SPARSE}"
    yield _at_least(path, "text", 6.0, _speedup(decoded, found), "orjson and our own calls")


def _truncation(numbers: Numbers) -> Iterator[Goal]:
    for stream, wanted in (("text", 100.0), ("url", 1_000.0)):
        for share in (0.5, 0.01):
            found = [
                one
                for one in numbers.truncations
                if (one.stream, one.kept_share) == (stream, share)
            ]
            ratio = found[0].ratio if found else None
            path = f"truncation alone, {share:g} kept"
            yield _at_least(path, stream, wanted, ratio, "selection over all weights")


def _others(numbers: Numbers) -> Iterator[Goal]:
    for stream in ("sensor", "text"):
        for one in OTHERS:
            found = numbers.of(stream, WHO, one.name, "CSR")
            plain = numbers.of(stream, WHO, "PA-I", "CSR")
            times = _speedup(found, plain)
            if found is None or times is None:
                yield Goal(f"CSR, {one.name}", stream, "ns per value", "missing", None)
                continue
            measured = f"{found.ns_per_value:.1f} ns per value, {times:.1f} ×"
            yield Goal(f"CSR, {one.name}", stream, PRINTED, measured, None, "the cost of PA-I")


def _sizes(numbers: Numbers) -> Iterator[Goal]:
    for door, most in (("CSR", 100.0), ("dict", 600.0)):
        yield _goal(
            f"{door}, PA-I, before the first value",
            "",
            f"≤ {most:.0f} ns per event",
            numbers.size(f"{door}, PA-I, before"),
            lambda cost: f"{cost:.0f} ns",
            lambda cost, most=most: cost <= most,  # type: ignore[misc]
        )
    times = numbers.size("two cores")
    yield _at_least("margin_many on two cores", "text", 1.7, times, "one core")
    load, arrow = numbers.size("load"), numbers.size("Arrow")
    times = load / arrow if load and arrow else None
    beside = "the time of Arrow IPC"
    yield _at_most("load text names", "", "≤ 3 × Arrow IPC", 3.0, times, beside)


def _start(start: Start | None) -> Iterator[Goal]:
    for path, wanted, taken in (
        ("import headwater", 100.0, start.importing if start else None),
        ("headwater --help", 300.0, start.help if start else None),
    ):
        yield _goal(
            path,
            "",
            f"below {wanted:.0f} ms",
            taken,
            lambda taken: f"{taken:.0f} ms",
            lambda taken, wanted=wanted: taken < wanted,  # type: ignore[misc]
        )


def _speedup(slow: Result | None, fast: Result | None) -> float | None:
    """How many times as fast, per value."""
    if slow is None or fast is None or slow.ns_per_value is None or fast.ns_per_value is None:
        return None
    return slow.ns_per_value / fast.ns_per_value


def _at_least(path: str, stream: str, wanted: float, times: float | None, peer: str) -> Goal:
    text, beside = f"≥ {wanted:,g} × {peer}", f"as fast as {peer}"
    return _goal(path, stream, text, times, lambda t: f"{t:,.1f} ×", lambda t: t >= wanted, beside)


def _at_most(
    path: str, stream: str, wanted: str, most: float, times: float | None, beside: str
) -> Goal:
    return _goal(path, stream, wanted, times, lambda t: f"{t:.2f} ×", lambda t: t <= most, beside)


def _goal(
    path: str,
    stream: str,
    wanted: str,
    number: float | None,
    shown: Callable[[float], str],
    is_met: Callable[[float], bool],
    beside: str = "",
) -> Goal:
    if number is None:
        return Goal(path, stream, wanted, "missing", None, beside)
    return Goal(path, stream, wanted, shown(number), is_met(number), beside)
