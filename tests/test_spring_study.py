"""The studies of Spring run, and what they count is what they say."""

import gzip
import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import headwater as hw

STUDIES = Path(__file__).parent.parent / "studies"


@pytest.fixture
def streams(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(STUDIES))
    return importlib.import_module("spring_streams")


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(STUDIES))
    return importlib.import_module("spring_parts")


def test_a_reversal_reverses_the_labels_from_the_middle_on(streams: Any) -> None:
    half = streams.EVENTS // 2
    calm, reversed_ = streams.changing("none", 3), streams.changing("reversed", 3)
    assert np.array_equal(calm.X, reversed_.X)
    assert np.array_equal(calm.y[:half], reversed_.y[:half])
    assert np.mean(calm.y[half:] != reversed_.y[half:]) > 0.8  # the noise is not reversed


def test_values_are_there_with_the_probability_asked_for(streams: Any) -> None:
    X, y = streams.coming_and_going(0.1, seed=0, events=2_000)
    assert abs(np.mean(~np.isnan(X)) - 0.1) < 0.005
    assert 0.4 < y.mean() < 0.6
    assert abs(streams.rare(0.01, seed=0).y.mean() - 0.01) < 1e-3


def test_average_precision_is_the_mean_precision_at_the_ranks_of_the_positives(
    streams: Any,
) -> None:
    score, y = np.array([4.0, 3.0, 2.0, 1.0]), np.array([False, True, False, True])
    assert streams.average_precision(score, y) == pytest.approx((1 / 2 + 2 / 4) / 2)
    assert streams.balanced(score > 1.5, y) == pytest.approx((0 + 1 / 2) / 2)


def test_the_study_of_streams_prints_its_tables_and_draws(
    streams: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(streams, "PRESENCE", (1.0, 0.5))
    monkeypatch.setattr(streams, "CHANGES", ("none", *["sudden"] * 6))
    monkeypatch.setattr(streams, "learners", lambda: (streams.SPRING, streams.LINEAR))
    for table, rows in (("changes", 7), ("presence", 2)):
        options = ["--repeats", "1", "--only", table, "--figures", str(tmp_path)]
        printed = CliRunner().invoke(streams.main, options, catch_exceptions=False)
        lines = printed.stdout.splitlines()
        assert sum(line.startswith("| ") for line in lines) == rows + 1
    drawn = [file.read_text("utf-8") for file in sorted(tmp_path.iterdir())]
    assert len(drawn) == 2
    assert all('role="img"' in svg for svg in drawn)
    assert "sudden" in drawn[0]


def test_a_part_that_is_left_out_is_left_out(parts: Any) -> None:
    stream = parts.sensors("presence", 400, 0)
    for part, expected in (("presence inputs", {0}), ("nothing", {0, 1})):
        with parts.left_out(part) as learner:
            model = learner(0.5, 0)
            for event, label in zip(*stream, strict=True):
                decided = model.decide(event)
                if decided.asked:
                    model.answer(decided, 1 if label else -1)
        assert {kind for _, kind in model.rows} == expected
    for part, column in (("mid", 2), ("short", 3), ("calm", 4), ("fading", 5)):
        with parts.left_out(part) as learner:
            model = learner(0.5, 0)
            for event, label in zip(stream.events[:60], stream.labels, strict=False):
                model.answer(model.decide(event), 1 if label else -1)
        assert model.trust[column] == 0.0
        assert sum(model.trust) == pytest.approx(1)
    before = parts.scaler.FAR_OFF
    with parts.left_out("forgetting of the scaler"):
        assert parts.scaler.FAR_OFF > 1e300
    assert before == parts.scaler.FAR_OFF


def test_the_whole_of_the_study_of_parts_is_the_reference(parts: Any) -> None:
    stream = parts.words(200, 1)
    plain, whole = parts.spring.Spring(0.2, 5), parts.Without(0.2, 5)
    for event, label in zip(*stream, strict=True):
        one, other = plain.decide(event), whole.decide(event)
        assert (one.margin, one.asked) == (other.margin, other.asked)
        if one.asked:
            plain.answer(one, 1 if label else -1)
            whole.answer(other, 1 if label else -1)


def test_the_study_of_parts_prints_a_row_a_part(
    parts: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = {name: parts.PARTS[name] for name in ("nothing", "replay", "spare")}
    monkeypatch.setattr(parts, "PARTS", kept)
    monkeypatch.setattr(parts, "STREAMS", {"words": parts.words})
    options = ["--repeats", "1", "--events", "200"]
    printed = CliRunner().invoke(parts.main, options, catch_exceptions=False)
    rows = [line for line in printed.output.splitlines() if line.startswith("| ")]
    assert [row.split("|")[1].strip() for row in rows] == ["left out", "nothing", "replay", "spare"]


def test_a_data_set_is_cut_and_its_devices_report_in_turn(parts: Any, tmp_path: Path) -> None:
    lines = "".join(f"{1 if i % 3 else -1} 1:{i} 2:1 3:{-i} 4:2\n" for i in range(1, 60))
    (tmp_path / "plant.svm.gz").write_bytes(gzip.compress(lines.encode()))
    table = parts.Table(hw.datasets.Entry("plant", d=4), devices=2)
    stream = table.stream(tmp_path, 40, seed=1)
    assert len(stream.events) == len(stream.labels) == 40
    first, second = ({name for event in stream.events[i::2] for name in event} for i in (0, 1))
    assert len(first) == len(second) == 2
    assert not first & second
    shown = [(event[0], bool(y)) for event, y in zip(*stream, strict=True) if 0 in event]
    assert len(shown) == len({value for value, _ in shown}) == 20  # rows as they were dealt
    assert all(positive == (value % 3 != 0) for value, positive in shown)
