"""The bench measures what it says: its streams, its floors in C, its goals."""

import importlib
import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headwater as hw

BENCHES = Path(__file__).parent.parent / "benches"
MODULES = (
    *("machine", "workloads", "turns", "floors", "ours", "peers", "from_files", "truncation"),
    *("sizes", "start", "goals", "report", "bench"),
)


class Modules:
    """The bench's modules, by attribute."""

    def __getattr__(self, name: str) -> Any:
        return importlib.import_module(name)


@pytest.fixture(scope="module")
def benches() -> Any:
    """The bench's modules; they lie in a folder of scripts, so the path is put back afterwards."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHES))
        yield Modules()
    for name in MODULES:
        sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def streams(benches: Any) -> dict[str, Any]:
    sizes = {"sensor": 800, "text": 300, "url": 200}
    return {title: benches.workloads.MAKERS[title](events) for title, events in sizes.items()}


@pytest.fixture(scope="module")
def compiled(benches: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    if benches.floors.compiler() is None:
        pytest.skip("there is no C compiler (cc) here")
    built = benches.floors.build(tmp_path_factory.mktemp("c"))
    assert not isinstance(built, str), built
    return built


# Streams


@pytest.mark.parametrize(
    ("title", "columns", "an_event"), [("text", 47_236, 75), ("url", 3_000_000, 115)]
)
def test_events_have_so_many_different_columns_in_order(
    streams: dict[str, Any], title: str, columns: int, an_event: int
) -> None:
    stream = streams[title]
    rows = stream.csr.indices.reshape(stream.events, an_event)
    assert (np.diff(rows, axis=1) > 0).all()
    assert rows.min() >= 0
    assert rows.max() < columns == len(stream.names)
    assert 0.2 < stream.labels.mean() < 0.8


def test_sensors_are_installed_in_ten_steps(streams: dict[str, Any]) -> None:
    stream = streams["sensor"]
    sizes = np.diff(stream.csr.indptr)
    assert sizes.tolist() == sorted(sizes.tolist())
    assert np.unique(sizes).tolist() == list(range(5, 51, 5))
    assert len(stream.names) == 50


def test_words_follow_the_law_of_zipf(benches: Any) -> None:
    """The k-th commonest column is drawn with probability ln(1+1/k)/ln(n+1)."""
    rows = benches.workloads._ranks(np.random.default_rng(1), 20_000, 1_000, 1)
    shares = np.bincount(rows[:, 0], minlength=1_000)[:5] / len(rows)
    expected = np.log1p(1 / np.arange(1, 6)) / math.log(1_001)
    assert shares == pytest.approx(expected, abs=0.01)


def test_nine_of_ten_values_of_urls_are_indicators(streams: dict[str, Any]) -> None:
    stream = streams["url"]
    per_column: dict[int, list[bool]] = {}
    for column, value in zip(stream.csr.indices.tolist(), stream.csr.data.tolist(), strict=True):
        per_column.setdefault(column, []).append(value == 1.0)
    shares = [np.mean(flags) for flags in per_column.values()]
    assert set(shares) <= {0.0, 1.0}  # a column is an indicator or it is not
    assert np.mean(shares) == pytest.approx(0.9, abs=0.03)


@pytest.mark.parametrize("title", ["sensor", "text"])
def test_a_seed_gives_one_stream_and_another_seed_another(benches: Any, title: str) -> None:
    make = benches.workloads.MAKERS[title]
    one, same, other = make(50, seed=1), make(50, seed=1), make(50, seed=2)
    for a, b in zip(
        (*one.csr, one.labels, one.classes), (*same.csr, same.labels, same.classes), strict=True
    ):
        assert (a == b).all()
    assert (one.csr.data != other.csr.data).any()


def test_a_thinned_stream_is_a_small_picture_of_the_whole(streams: dict[str, Any]) -> None:
    whole = streams["sensor"]
    few = whole.thinned(9)
    rows = [0, 99, 199, 299, 399, 499, 599, 699, 799]
    assert np.diff(few.csr.indptr).tolist() == np.diff(whole.csr.indptr)[rows].tolist()
    assert (few.labels == whole.labels[rows]).all()
    for place, row in enumerate(rows):
        small = few.csr.data[few.csr.indptr[place] : few.csr.indptr[place + 1]]
        large = whole.csr.data[whole.csr.indptr[row] : whole.csr.indptr[row + 1]]
        assert (small == large).all()


def test_dicts_hold_what_csr_holds(benches: Any, streams: dict[str, Any]) -> None:
    stream = streams["text"].part(100, 180)
    row = 0
    for events, labels, classes in benches.workloads.blocks(stream, new_texts=True):
        for event, label, which in zip(events, labels, classes, strict=True):
            inside = slice(stream.csr.indptr[row], stream.csr.indptr[row + 1])
            names = [stream.names[column] for column in stream.csr.indices[inside]]
            assert list(event) == names
            assert all(a is not b for a, b in zip(event, names, strict=True))
            assert list(event.values()) == stream.csr.data[inside].tolist()
            assert (label, which) == (stream.labels[row], stream.classes[row])
            row += 1
    assert row == 80


# Floors


WORKS = ("PA-I", "FLLS-I, all kept", "FLLS-I, half kept", "FLLS-I, 1 % kept")


def ours(benches: Any, name: str) -> hw.Learner:
    return next(one.make() for one in benches.ours.FLLS if one.name == name)  # type: ignore[no-any-return]


@pytest.mark.parametrize("title", ["sensor", "text", "url"])
@pytest.mark.parametrize("name", WORKS)
def test_c_computes_the_margins_that_headwater_computes(
    benches: Any, streams: dict[str, Any], compiled: Any, title: str, name: str
) -> None:
    stream, learner = streams[title], ours(benches, name)
    expected = learner.simulate(stream.csr, stream.labels).margin
    assert np.abs(expected).max() > 0.1
    work = benches.floors.WORKS[name]
    with benches.floors.Learner(compiled.csr, len(stream.names), work) as floor:
        assert floor.run(stream.csr, stream.labels) == pytest.approx(expected, abs=1e-9)
        assert floor.kept == len(learner.weights())
        assert floor.known == len(list(learner.features()))
    extension, margins = compiled.dicts.Learner(work.C, work.radius, work.share), []
    for events, labels, _ in benches.workloads.blocks(stream):
        for event, label in zip(events, labels, strict=True):
            decision = extension.decide(event)
            margins.append(decision.margin)
            extension.answer(decision, label)
    assert margins == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("name", WORKS[2:])
def test_selection_over_all_weights_keeps_what_the_heap_keeps(
    benches: Any, streams: dict[str, Any], compiled: Any, name: str
) -> None:
    stream, work = streams["url"], benches.floors.WORKS[name]
    margins = []
    for keeping in ("heap", "selection"):
        with benches.floors.Learner(compiled.csr, len(stream.names), work, keeping) as floor:
            margins.append(floor.run(stream.csr, stream.labels))
    assert margins[0] == pytest.approx(margins[1], abs=1e-12)


def test_the_bare_loop_is_pa(benches: Any, streams: dict[str, Any], compiled: Any) -> None:
    stream = streams["text"]
    expected = ours(benches, "PA-I").simulate(stream.csr, stream.labels).margin
    margins = benches.floors.bare(compiled.csr, len(stream.names), stream.csr, stream.labels)
    assert margins == pytest.approx(expected, abs=1e-9)


def test_the_extension_takes_answers_late_and_only_once(compiled: Any) -> None:
    learner, model = compiled.dicts.Learner(1.0, 30.0, 0.5), hw.FLLS(query_width=math.inf)
    first, second = {"a": 1.0, "b": 2.0}, {"b": -1.0, "c": 0.5}
    ones = [learner.decide(first), learner.decide(second)]
    others = [model.decide_one(first), model.decide_one(second)]
    for one, other, label in zip(reversed(ones), reversed(others), (True, False), strict=True):
        learner.answer(one, label)
        model.answer(other, label)
    assert learner.decide(first).margin == pytest.approx(model.margin_one(first), abs=1e-12)
    with pytest.raises(ValueError, match="answered before"):
        learner.answer(ones[0], True)
    with pytest.raises(TypeError, match="finite floats"):
        learner.decide({"a": math.inf})


def test_plain_python_is_pa_too(benches: Any, streams: dict[str, Any]) -> None:
    stream, model = streams["sensor"], benches.peers.DictPA()
    margins = []
    for events, labels, _ in benches.workloads.blocks(stream):
        for event, label in zip(events, labels, strict=True):
            margins.append(model.margin(event))
            model.learn(event, label)
    expected = ours(benches, "PA-I").simulate(stream.csr, stream.labels).margin
    assert margins == pytest.approx(expected, abs=1e-9)


# Turns


def test_who_is_missing_is_listed_with_the_reason(benches: Any, streams: dict[str, Any]) -> None:
    turns = benches.turns
    reason = benches.peers.why_not("a_library_that_nobody_wrote")
    assert "No module named" in reason
    there = turns.Contestant("us", "quick", "dict", lambda stream: turns.Pass(2.0))
    missing = turns.Contestant("them", "gone", "dict", None, why_not=reason)
    results = turns.measure(streams["sensor"], [there, missing], passes=1)
    assert [(one.who, one.missing) for one in results] == [("us", ""), ("them", reason)]
    assert results[0].events_per_second == 400.0
    assert f"missing: {reason}" in benches.report.row(results[1])


def test_a_library_that_is_not_there_is_listed_and_not_dropped(
    benches: Any, streams: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stream = streams["text"].part(0, 5)
    files = benches.from_files.write(stream, tmp_path)
    for module in ("river.linear_model", "sklearn.linear_model", "skactiveml.stream"):
        monkeypatch.setitem(sys.modules, module, None)
    for module in ("vowpalwabbit", "orjson"):
        monkeypatch.setitem(sys.modules, module, None)
    listed = benches.peers.contestants() + benches.from_files.contestants(files, stream)
    missing = {one.who for one in listed if one.run is None}
    assert missing == {"River", "scikit-learn", "scikit-activeml", "Vowpal Wabbit", "Headwater"}
    assert [one.name for one in listed if one.run is None and one.who == "Headwater"] == [
        benches.from_files.ORJSON
    ]
    assert all("ModuleNotFoundError" in one.why_not for one in listed if one.run is None)
    floors = benches.floors.contestants("there is no C compiler (cc) here")
    assert {one.why_not for one in floors} == {"there is no C compiler (cc) here"}
    assert all(one.run is None for one in floors)


def test_who_fails_is_listed_and_the_others_go_on(benches: Any, streams: dict[str, Any]) -> None:
    turns = benches.turns

    def fails(stream: Any) -> Any:
        raise RuntimeError("out of ideas")

    contestants = [
        turns.Contestant("us", "slow", "CSR", fails),
        turns.Contestant("us", "quick", "CSR", lambda stream: turns.Pass(1.0)),
    ]
    results = turns.measure(streams["sensor"], contestants, passes=2)
    assert results[0].missing == "RuntimeError: out of ideas"
    assert results[1].events_per_second == 800.0


def test_ratios_are_those_of_the_costs_of_a_value(benches: Any, streams: dict[str, Any]) -> None:
    turns = benches.turns
    contestants = [
        turns.Contestant("Headwater", "FLLS", "dict", lambda stream: turns.Pass(2.0), "FLLS"),
        turns.Contestant(turns.FLOOR, "FLLS", "dict", lambda stream: turns.Pass(1.0), "FLLS"),
        turns.Contestant(
            "River",
            "PAClassifier",
            "dict",
            lambda stream: turns.Pass(5.0 * stream.events / 800),
            most={"sensor": 80},
        ),
    ]
    results = turns.measure(streams["sensor"], contestants, passes=1)
    assert results[0].times_floor == pytest.approx(2.0)
    assert results[2].events == 80
    values = streams["sensor"].thinned(80).values
    assert results[2].ns_per_value == pytest.approx(1e9 * 0.5 / values)
    assert results[0].times_river == pytest.approx(
        (0.5 / values) / (2.0 / streams["sensor"].values)
    )


def test_memory_is_what_a_pass_needed(benches: Any) -> None:
    if not Path("/proc/self/status").exists():
        pytest.skip("there is no /proc here to read the memory from")
    turns = benches.turns

    def holds() -> Any:
        held = np.ones(10_000_000)
        return turns.Pass(float(held[0]))

    assert turns.apart(holds).memory == pytest.approx(80, abs=8)
    assert turns.apart(lambda: turns.Pass(1.0)).memory < 8


# Goals


def numbers(benches: Any, **given: float) -> Any:
    """Numbers of a run; a keyword is nanoseconds a value, or a ratio."""
    Result = benches.turns.Result

    def result(stream: str, who: str, name: str, door: str, cost: float, **more: Any) -> Any:
        return Result(stream, who, name, door, 1, 1.0, cost, **more)

    sparse, door = benches.ours.SPARSE, benches.from_files.DOOR
    return benches.goals.Numbers(
        results=[
            result("sensor", "Headwater", sparse, "dict", 40.0, times_river=13.0, times_floor=1.2),
            result("text", "Headwater", "PA-I", "CSR", 15.0, times_floor=1.4),
            result("text", "Headwater", "AROW", "CSR", 30.0),
            result("text", "Headwater", "Spring()", "CSR", 25.5),
            result("text", "Headwater", "PA-I", "CSR, chunks of 1,000", 16.0),
            result("text", "scikit-learn", benches.peers.CHUNKS[1_000], "CSR", 12.0),
            result("sensor", "Headwater", sparse, "dict, None if absent", 60.0),
            result("text", "Headwater", "PA-I", door["svm"], given["svm"]),
            result("text", "Vowpal Wabbit", benches.from_files.VW_DRIVER, door["vw"], 200.0),
            Result("url", "Headwater", sparse, "dict", missing="no room"),
        ],
        truncations=[
            benches.truncation.Truncation("text", 47_236, 0.5, 6.0, 2.0, 401.0, 400.0),
            benches.truncation.Truncation("url", 3_000_000, 0.5, 6.0, 2.0, 1_501.0, 1_500.0),
            benches.truncation.Truncation("url", 3_000_000, 0.01, 6.0, -0.1, 1_501.0, 1_500.0),
        ],
        start=benches.start.Start(20.0, 99.0, 301.0),
        sizes=[
            benches.sizes.Size("two cores beside one", 1.8, "times as fast"),
            benches.sizes.Size("load 1,000 names", 5.0, "ms"),
            benches.sizes.Size("Arrow IPC, the same columns", 2.0, "ms to read"),
        ],
    )


def found(benches: Any, path: str, stream: str, wanted: str, **given: float) -> tuple[str, str]:
    goals = benches.goals.goals(numbers(benches, **{"svm": 50.0, **given}))
    (goal,) = [
        one for one in goals if (one.path, one.stream) == (path, stream) and wanted in one.wanted
    ]
    return goal.measured, goal.verdict


def test_goals_are_judged_by_the_numbers(benches: Any) -> None:
    sparse = f"dict per event, {benches.ours.SPARSE}"
    assert found(benches, sparse, "sensor", "River") == ("13.0 ×", "not met")
    assert found(benches, sparse, "sensor", "C extension") == ("1.20 ×", "not met")
    assert found(benches, "CSR, PA-I", "text", "1.4 ×") == ("1.40 ×", "met")
    chunks = "CSR, chunks of 1,000, PA-I"
    assert found(benches, chunks, "text", "scikit-learn") == ("0.75 × as fast", "not met")
    assert found(benches, chunks, "text", "one call") == ("1.07 ×", "met")
    none = f"dict, None if absent, {benches.ours.SPARSE}"
    assert found(benches, none, "sensor", "plain") == ("1.50 ×", "not met")
    assert found(benches, "margin_many on two cores", "text", "1.7") == ("1.8 ×", "met")
    assert found(benches, "load text names", "", "Arrow") == ("2.50 ×", "met")
    svm = "svmlight file, PA-I"
    assert found(benches, svm, "text", "Vowpal") == ("4.0 ×", "met")
    assert found(benches, svm, "text", "Vowpal", svm=51.0) == ("3.9 ×", "not met")
    assert found(benches, "truncation alone, 0.5 kept", "text", "100 ×") == ("200.0 ×", "met")
    assert found(benches, "truncation alone, 0.5 kept", "url", "1,000 ×") == ("750.0 ×", "not met")
    assert found(benches, "import headwater", "", "100 ms") == ("99 ms", "met")
    assert found(benches, "headwater --help", "", "300 ms") == ("301 ms", "not met")
    shown = ("30.0 ns per value, 2.0 ×", "printed")
    assert found(benches, "CSR, AROW", "text", "beside") == shown
    assert found(benches, "CSR, Spring()", "text", "beside")[0] == "25.5 ns per value, 1.7 ×"


def test_a_goal_that_was_not_measured_is_neither_met_nor_not(benches: Any) -> None:
    sparse = f"dict per event, {benches.ours.SPARSE}"
    assert found(benches, sparse, "url", "River") == ("missing", "not measured")  # it failed
    assert found(benches, sparse, "text", "River") == ("missing", "not measured")  # it did not run
    assert found(benches, "truncation alone, 0.01 kept", "url", "1,000")[1] == "not measured"


def test_page_and_data_hold_every_number_and_who_is_missing(benches: Any) -> None:
    report, all_numbers = benches.report, numbers(benches, svm=50.0)
    about = report.About(
        *("2020-02-02", "a machine", 1, "cc 1", {"river": "missing"}, 2, False, {}, 3.0)
    )
    text = report.page(about, all_numbers, "picture.svg")
    assert "![Nanoseconds per value](picture.svg)" in text
    assert "river missing" in text
    assert "| Headwater | PA-I | CSR | 1 | 1.00 | 15.0 |" in text
    assert "missing: no room" in text
    sparse = f"dict per event, {benches.ours.SPARSE}"
    assert f"| {sparse} | sensor | 13.0 × | as fast as River's PA |" in text
    assert f"| {sparse} | sensor | 1.20 × | the cost of the C extension |" in text
    assert " met " not in text
    data = json.loads(json.dumps(report.as_json(about, all_numbers)))
    assert len(data["results"]) == len(all_numbers.results)


def test_the_picture_names_every_contestant(benches: Any) -> None:
    pytest.importorskip("matplotlib")
    svg = benches.report.picture(numbers(benches, svm=50.0))
    assert svg.startswith("<svg")
    for text in ("Headwater: AROW", "Vowpal Wabbit: driver, VW file", "sensor, dict by dict"):
        assert f">{text}<" in svg


# Files


def test_files_hold_the_events_of_the_stream(
    benches: Any, streams: dict[str, Any], tmp_path: Path
) -> None:
    stream = streams["text"].part(0, 60)
    files = benches.from_files.write(stream, tmp_path)
    for path, named in ((files.svm, False), (files.jsonl, True)):
        events = list(hw.open(path))
        assert len(events) == 60
        for row, (event, label) in enumerate(events):
            inside = slice(stream.csr.indptr[row], stream.csr.indptr[row + 1])
            columns = stream.csr.indices[inside].tolist()
            names = [stream.names[column] for column in columns] if named else columns
            assert list(event) == names
            assert list(event.values()) == pytest.approx(stream.csr.data[inside], rel=1e-5)
            assert (label == 1) == stream.labels[row]
