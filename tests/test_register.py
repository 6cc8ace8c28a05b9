"""The register: equal to its plain reference, by every way in, before and after saving."""

import copy
import pickle
import random
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headwater as hw
from headwater.errors import EventError, ModelFileError, ParameterError
from reference import register as reference

Timed = tuple[dict[Any, float], float | None]
KINDS = {"scale": "changed scale"}
DAY = 86_400.0


def made_up(seed: int, events: int, timed: bool) -> Iterator[Timed]:
    """A stream in which everything happens: rhythms, deaths, returns, jumps, repeats, copies."""
    draw = random.Random(seed)
    features: dict[Any, dict[str, Any]] = {}
    time = 1_000.0
    for event in range(events):
        time += draw.choice([60.0, 600.0, 3_600.0, 3_600.0, 40_000.0])
        if event == 0 or draw.random() < 12 / events:
            name = draw.choice([f"f{len(features)}", len(features)])
            features[name] = {
                "every": draw.choice([1, 1, 2, 5, 13]),
                "lost": draw.choice([0.0, 0.1, 0.5]),
                "factor": 1.0,
                "stuck": None,
                "alive": True,
                "copies": draw.choice([*features, None]) if draw.random() < 0.3 else None,
            }
        x: dict[Any, float] = {}
        for name, feature in features.items():
            for what in ("alive", "stuck", "factor"):
                if draw.random() < 4 / events:
                    now: dict[str, Any] = {
                        "alive": not feature["alive"],
                        "stuck": None if feature["stuck"] is not None else draw.random(),
                        "factor": draw.choice([1.0, 100.0, 0.3]),
                    }
                    feature[what] = now[what]
            if (
                feature["alive"]
                and event % feature["every"] == 0
                and draw.random() >= feature["lost"]
            ):
                level = 5.0 + draw.gauss(0.0, 1.0) if feature["copies"] is None else 0.0
                if feature["copies"] in x:
                    level = 2 * x[feature["copies"]] + draw.gauss(0.0, 0.1)
                value = level if feature["stuck"] is None else feature["stuck"]
                x[name] = round(feature["factor"] * value, 2)
        names = list(x)
        draw.shuffle(names)
        yield {name: x[name] for name in names}, time if timed else None


def observed(stream: list[Timed], **how: Any) -> hw.Register:
    register = hw.Register(**how)
    for x, time in stream:
        register.observe_one(x, time)
    return register


@pytest.mark.parametrize("timed", [True, False], ids=["times", "no times"])
@pytest.mark.parametrize("most", [None, 6])
@pytest.mark.parametrize("seed", range(4))
def test_the_core_equals_the_plain_reference(seed: int, most: int | None, timed: bool) -> None:
    stream = list(made_up(seed, 1_500, timed))
    core, plain = hw.Register(max_features=most), reference.Register(max_features=most)
    made = 0
    for x, time in stream:
        core.observe_one(x, time)
        plain.observe(x, time)
        states = (
            {life.name: life.state for life in core.features()} if plain.events % 97 == 0 else {}
        )
        assert states == {name: plain.state(name) for name in states}
        expected = plain.findings[made:]
        for finding, (event, moment, kind, name, before, now, other) in zip(
            core.findings(since=made), expected, strict=True
        ):
            assert (finding.event, finding.kind) == (event, KINDS.get(kind, kind))
            assert (finding.feature, finding.other) == (name, other)
            assert finding.time == (moment if timed else None)
            assert [finding.before, finding.now] == pytest.approx([before, now], rel=1e-9)
        made = len(plain.findings)
    assert core.evicted == plain.evicted
    for life, entry in zip(core.features(), plain.entries, strict=True):
        assert (life.name, life.arrivals) == (entry.name, entry.count)
        assert (life.first_event, life.last_event) == (entry.first_event, entry.last_event)
        assert life.values == tuple(value for _, value in entry.kept)
        if entry.count > 1:
            assert life.longest_gap == entry.times.usual()
            assert life.mean_gap == pytest.approx(entry.times.mean, rel=1e-12)
        assert life.stuck == entry.run.stuck


def test_the_made_up_streams_have_findings_of_every_kind() -> None:
    kinds: set[str] = set()
    for seed in range(4):
        kinds |= {one.kind for one in observed(list(made_up(seed, 1_500, True))).findings()}
    assert kinds == set(hw.Register().counts())


# Ways in


def test_every_way_in_gives_the_same_bytes(tmp_path: Path) -> None:
    stream = [(x, time) for x, time in made_up(1, 600, True)]
    texts = [({str(name): value for name, value in x.items()}, time) for x, time in stream]
    expected = observed(texts).to_bytes()
    times = [time for _, time in texts]
    events = [x for x, _ in texts]
    names = sorted({name for x in events for name in x})
    dense = np.array([[x.get(name, np.nan) for name in names] for x in events])
    present = ~np.isnan(dense)
    rows = hw.Rows(
        indptr=np.concatenate([[0], np.cumsum(present.sum(axis=1))]),
        indices=np.nonzero(present)[1].astype(np.int32),
        data=dense[present],
        names=names,
    )
    pd, pa = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    frame = pd.DataFrame(dense, columns=names)
    for X, how in [
        (events, {}),
        (dense, {"names": names}),
        (rows, {}),
        (frame, {}),
        (pa.Table.from_pandas(frame), {}),
    ]:
        register = hw.Register()
        register.observe_many(X, np.array(times), **how)
        assert register.to_bytes() == expected
    backwards = [(dict(reversed(x.items())), time) for x, time in texts]
    assert observed(backwards).to_bytes() == expected


def test_a_learner_tracks_what_a_register_alone_sees_by_dict_batch_and_file(tmp_path: Path) -> None:
    import json

    stream = [{str(k): v for k, v in x.items()} for x, _ in made_up(2, 500, False)]
    labels = [i % 3 == 0 for i in range(len(stream))]
    expected = observed([(x, None) for x in stream]).to_bytes()
    path = tmp_path / "events.jsonl"
    lines = [json.dumps({**x, "y": y}) for x, y in zip(stream, labels, strict=True)]
    path.write_text("\n".join(lines) + "\n")
    for make in (hw.Spring, hw.Linear, hw.FLLS, hw.OLVF, hw.PAA):
        by_event, by_batch, by_file = (make(track=True) for _ in range(3))
        for x, y in zip(stream, labels, strict=True):
            decision = by_event.decide_one(x)
            if decision.asked:
                by_event.answer(decision, y)
        by_batch.simulate(stream, labels)
        by_file.simulate_file(path)
        for model in (by_event, by_batch, by_file):
            assert model.register.to_bytes() == expected
        plain = make()
        plain.simulate(stream, labels)
        assert plain.weights() == by_event.weights()


def test_a_learner_goes_on_tracking_after_saving() -> None:
    stream = list(made_up(3, 400, True))
    whole: hw.Learner = hw.Spring(track=True)
    half: hw.Learner = hw.Spring(track=True)
    for number, (x, time) in enumerate(stream):
        if number == 200:
            half = hw.from_bytes(half.to_bytes())
        for model in (whole, half):
            model.tell_time(time or 0.0)
            model.decide_one(x)
    assert half.to_bytes() == whole.to_bytes()
    assert half.findings() == whole.findings() == observed(stream).findings()


def test_a_learner_without_a_register_says_how_to_get_one() -> None:
    model = hw.Spring()
    for call in (lambda: model.register, model.findings, lambda: model.tell_time(1.0)):
        with pytest.raises(ParameterError, match="track=True"):
            call()
    assert b"track" not in hw.Spring().to_bytes()
    assert repr(hw.Spring(track=True)) == "Spring(track=True)"


# State


@pytest.mark.parametrize("timed", [True, False])
def test_a_saved_register_goes_on_bit_for_bit(timed: bool) -> None:
    stream = list(made_up(5, 900, timed))
    whole = observed(stream, max_features=9)
    for cut in (0, 1, 300, 899):
        register = observed(stream[:cut], max_features=9)
        loaded = hw.Register.from_bytes(register.to_bytes())
        assert loaded.to_bytes() == register.to_bytes()
        for x, time in stream[cut:]:
            loaded.observe_one(x, time)
        assert loaded.to_bytes() == whole.to_bytes()


def test_a_register_is_copied_pickled_and_kept_in_a_file(tmp_path: Path) -> None:
    register = observed(list(made_up(6, 200, True)))
    register.save(tmp_path / "a.register")
    for same in (
        copy.copy(register),
        copy.deepcopy(register),
        pickle.loads(pickle.dumps(register)),
        hw.Register.load(tmp_path / "a.register"),
    ):
        assert same.to_bytes() == register.to_bytes()
        same.observe_one({"only here": 1.0}, 1e9)
    assert register.state("only here") is None


def test_bytes_that_were_cut_off_or_altered_are_refused(tmp_path: Path) -> None:
    data = observed(list(made_up(7, 120, True))).to_bytes()
    for length in range(0, len(data), 97):
        with pytest.raises(ModelFileError, match="register: "):
            hw.Register.from_bytes(data[:length])
    for place in range(0, len(data), 53):
        altered = bytearray(data)
        altered[place] ^= 4
        with pytest.raises(ModelFileError, match="register: "):
            hw.Register.from_bytes(bytes(altered))
    (tmp_path / "bad").write_bytes(data[:-1])
    with pytest.raises(ModelFileError, match="bad: register: "):
        hw.Register.load(tmp_path / "bad")


def test_what_merging_can_add_up_is_that_of_one_register() -> None:
    stream = list(made_up(8, 900, True))
    whole = observed(stream)
    first, second = observed(stream[:500]), observed(stream[500:])
    first.merge(second)
    assert first.events == whole.events
    for merged, one in zip(first.features(), whole.features(), strict=True):
        assert merged[:1] + merged[2:8] == one[:1] + one[2:8]
        assert merged.values == one.values
    again = hw.Register.from_bytes(first.to_bytes())
    for register in (first, again):
        register.observe_one(stream[-1][0], 1e9)
    assert again.to_bytes() == first.to_bytes()
    with pytest.raises(ParameterError, match="begin where this one ends"):
        second.merge(observed(stream[:500]))


# Times and mistakes


def test_a_datetime_is_a_time() -> None:
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    assert observed([({"a": 1.0}, moment)]).time == 1_767_225_600.0  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("x", "time", "said"),
    [
        ({"a": 1.0}, None, "the events before had times"),
        ({"a": 1.0}, float("nan"), "expected a finite number of seconds, got NaN"),
        ({"a": 1.0}, "noon", "expected a number of seconds or a datetime, got 'noon'"),
        ({"a": float("inf")}, 5.0, "feature 'a' must be a finite number"),
        ({"x" * 2_000: 1.0}, 5.0, "at most 1024 are allowed"),
    ],
)
def test_a_bad_event_is_refused_by_a_sentence_and_changes_nothing(
    x: dict[str, float], time: Any, said: str
) -> None:
    register = observed([({"b": 1.0}, 1.0)])
    before = register.to_bytes()
    with pytest.raises(EventError, match=said):
        register.observe_one(x, time)
    assert register.to_bytes() == before


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"cycle": -1}, "^Register: cycle must be a finite number, 0 or above, got -1"),
        ({"max_features": 0}, r"^Register: max_features must be a whole number from 1"),
    ],
)
def test_parameters_out_of_their_limits_are_named(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        hw.Register(**given)


def test_times_that_run_backwards_count_as_the_time_before() -> None:
    register = observed([({"a": 1.0}, 10.0), ({"a": 2.0}, 5.0)])
    assert register.time == 10.0


def test_times_must_be_as_many_as_rows() -> None:
    with pytest.raises(EventError, match="times: expected one per row, 2 in all, got 1"):
        hw.Register().observe_many([[1.0], [2.0]], [1.0])


# What is found


def daily(name: str, days: range, **others: float) -> list[Timed]:
    """Hourly events, of which one per day carries a feature."""
    return [
        (
            {**others, **({name: float(hour % 7)} if hour % 24 == 9 else {}), "clock": hour % 5},
            hour * 3_600.0,
        )
        for hour in range(days.start * 24, days.stop * 24)
    ]


def test_a_daily_feature_is_not_silent_after_an_hour_and_is_after_three_days() -> None:
    register = observed(daily("lab", range(20)))
    lab = register.feature("lab")
    assert lab is not None
    last = lab.last_time or 0.0
    for hour in range(20 * 24, 24 * 24):
        register.observe_one({"clock": hour % 5}, hour * 3_600.0)
        absent = hour * 3_600.0 - last
        assert register.state("lab") == ("silent" if absent > 2 * DAY else "live")


def test_a_feature_that_reports_by_day_only_is_not_silent_at_night() -> None:
    stream: list[Timed] = [
        (
            {"clock": hour % 5} | ({"sun": float(hour % 11)} if 6 <= hour % 24 < 18 else {}),
            hour * 3_600.0,
        )
        for hour in range(40 * 24)
    ]
    assert observed(stream).findings() == []


def test_a_pause_of_the_whole_stream_is_no_silence() -> None:
    stream: list[Timed] = [
        (
            {"a": i % 3, **({"b": i % 5} if i % 2 else {})},
            i * 600.0 + (90_000.0 if i > 1_500 else 0),
        )
        for i in range(3_000)
    ]
    assert observed(stream).findings() == []


def test_words_that_are_rare_are_not_reported() -> None:
    draw = np.random.default_rng(0)
    register = hw.Register()
    for words in draw.zipf(1.4, size=(3_000, 20)):
        register.observe_one({f"w{word}": 1.0 for word in set(words.tolist())})
    assert len(register) > 3_000
    assert len(register.findings()) < 0.02 * len(register)
