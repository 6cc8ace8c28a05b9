"""How well the register finds what happens to the sensors of a simulated plant, and what it costs.

    python studies/register.py             # the plants that were not used before
    python studies/register.py --tuning    # the plants whose findings the constants were chosen by
    python studies/register.py --real      # real streams (HEADWATER_DATA)
    python studies/register.py --words     # a vocabulary of a million words
    python studies/register.py --cost      # the time of a learner with and without a register

A happening is found if the finding of its kind comes between it and the next happening of the
sensor. Every finding that no happening explains is a false alarm, also a return after a false
silence. A death and an outage explain `silent` and `gone`; a replacement without an overlap
explains nothing more. Delays are in units of the sensor's own interval, and in its longest usual
absence.
"""

import argparse
import gzip
import json
import os
import statistics
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

import headwater as hw

TUNING = range(8)
TEST = range(7000, 7020)
DAY = 86_400.0
FINDINGS = {
    "installed": "born",
    "died": "silent",
    "failed": "silent",
    "returned": "back",
    "changed unit": "changed scale",
    "stuck": "stuck",
    "replaced": "replaced",
}


class Judged(NamedTuple):
    """A happening that should have been found, and what was."""

    kind: str
    finding: hw.FeatureFinding | None
    delay: float
    """Seconds."""
    interval: float
    longest: float
    """The sensor's interval, and its longest usual absence."""


def judge(plant: hw.streams.Plant, register: hw.Register) -> tuple[list[Judged], list[Any]]:
    """Every happening with its finding, and the findings that no happening explains."""
    sensors = {sensor.name: sensor for sensor in plant.sensors}
    findings = register.findings()
    explained: set[int] = set()
    judged: list[Judged] = []
    for happening in plant.happenings:
        sensor = sensors[happening.sensor]
        if happening.kind not in FINDINGS:
            continue
        if happening.kind == "replaced" and sensors[happening.detail].overlap == 0:
            continue
        later = (
            one.event
            for one in plant.happenings
            if one.sensor == happening.sensor and one.event > happening.event
        )
        end = min(later, default=len(plant))
        kind = FINDINGS[happening.kind]
        other = happening.detail if kind == "replaced" else None
        hit = next(
            (
                one
                for one in findings
                if (one.kind, one.feature, one.other) == (kind, happening.sensor, other)
                and one.number not in explained
                and happening.event < one.event <= end + (kind == "silent")
            ),
            None,
        )
        if hit is not None:
            explained.add(hit.number)
        if kind == "silent":  # its consequence
            gone = (
                one.number
                for one in findings
                if one.kind == "gone"
                and one.feature == happening.sensor
                and happening.event < one.event <= end
            )
            explained.update(gone)
        pause = {"steady": 0.0, "daytime": DAY / 2, "weekdays": 2 * DAY, "irregular": 0.0}
        usual = sensor.interval * (5 if sensor.rhythm == "irregular" else 1)
        longest = max(pause[sensor.rhythm] + sensor.interval, usual)
        delay = 0.0 if hit is None or hit.time is None else hit.time - happening.time
        judged.append(Judged(kind, hit, delay, sensor.interval, longest))
    return judged, [one for one in findings if one.number not in explained]


def observed(plant: hw.streams.Plant) -> hw.Register:
    register = hw.Register()
    rows, _ = plant.batch()
    register.observe_many(rows, plant.times)
    return register


def plants(seeds: range) -> None:
    """Recall, delays and false alarms over the plants of these seeds."""
    judged: dict[str, list[Judged]] = defaultdict(list)
    false: Counter[str] = Counter()
    feature_days, worst = 0.0, (0.0, 0)
    for seed in seeds:
        plant = hw.streams.Plant(90, seed=seed)
        here, alarms = judge(plant, observed(plant))
        for one in here:
            judged[one.kind].append(one)
        false.update(alarm.kind for alarm in alarms)
        ends = (sensor.died or len(plant) - 1 for sensor in plant.sensors)
        lives = zip(plant.sensors, ends, strict=True)
        days = sum(plant.times[end] - plant.times[one.installed] for one, end in lives) / DAY
        feature_days += days
        worst = max(worst, (1_000 * len(alarms) / days, seed))
    print(f"{len(seeds)} plants of 90 days, seeds {seeds.start} to {seeds.stop - 1}")
    print(
        "finding        due found recall   delay/interval 50% 90%   delay/longest absence 50% 90%"
    )
    for kind in dict.fromkeys(FINDINGS.values()):
        due = judged[kind]
        found = [one for one in due if one.finding is not None]
        own = [one.delay / one.interval for one in found]
        longest = [one.delay / one.longest for one in found]
        shares = [
            f"{np.quantile(x, q):8.1f}" if x else "" for x in (own, longest) for q in (0.5, 0.9)
        ]
        recall = len(found) / len(due) if due else 0.0
        print(f"{kind:13} {len(due):4} {len(found):5}  {recall:.3f}        {'  '.join(shares)}")
    everything = [one for due in judged.values() for one in due]
    recall = statistics.mean(one.finding is not None for one in everything)
    print(f"recall {recall:.3f} of {len(everything)} happenings")
    rate = 1_000 * sum(false.values()) / feature_days
    print(
        f"false alarms {sum(false.values())} in {feature_days:,.0f} feature-days,"
        f" {rate:.2f} per 1,000"
    )
    print(f"of these {dict(false)}; the worst plant {worst[1]}: {worst[0]:.2f} per 1,000")


def stream(name: str) -> Iterator[dict[str, Any]]:
    folder = os.environ.get("HEADWATER_DATA")
    if not folder:
        sys.exit("HEADWATER_DATA must be the folder with streams/*.jsonl.gz.")
    with gzip.open(Path(folder, "streams", f"{name}.jsonl.gz"), "rt") as lines:
        for line in lines:
            yield json.loads(line)


def backblaze() -> None:
    """Attributes of hard drives that some models report, others not, and more and more do."""
    register, first = hw.Register(), dict[Any, float]()
    events, carried = Counter[str](), Counter[tuple[str, str]]()
    for row in stream("backblaze"):
        register.observe_one(row["x"], row["t"] * DAY)
        month = day_of(row["t"] * DAY)[:7]
        events[month] += 1
        for name in row["x"]:
            first.setdefault(name, row["t"] * DAY)
            carried[name, month] += 1
    print("backblaze:", len(register), "features;", dict(register.counts()))
    for one in register.findings():
        if str(one.feature).startswith("smart_"):
            told = f"{one.feature} {one.kind}, first on {day_of(first[one.feature])}"
            print(f"  {day_of(one.time)} event {one.event:,}: {told}")
    born = [one.feature for one in register.findings() if one.kind == "born"]
    for name in [name for name in born if str(name).startswith("smart_")]:
        months = ("2013-08", "2013-12", "2014-01", "2014-02", "2014-03")
        shares = (f"{month} {carried[str(name), month] / events[month]:.1%}" for month in months)
        print(f"  {name}: part of the events:", ", ".join(shares))


def day_of(seconds: float | None) -> str:
    """A date."""
    return str(np.datetime64(int(seconds or 0), "s").astype("datetime64[D]"))


def beijing(examples: int = 10, around: int = 36) -> None:
    """Measurements that drop out, of which some are shown hour by hour."""
    register, hours, values = hw.Register(), defaultdict(list), defaultdict(list)
    for hour, row in enumerate(stream("beijing-air"), 1):
        register.observe_one(row["x"], (hour - 1) * 3_600.0)
        for name, value in row["x"].items():
            hours[name].append(hour)
            values[name].append(value)
    print("beijing-air:", len(register), "features;", dict(register.counts()), register.states())
    silent = [
        one for one in register.findings() if one.kind == "silent" and "=" not in str(one.feature)
    ]
    away = []
    for one in silent:
        seen = np.array(hours[one.feature])
        place = int(np.searchsorted(seen, one.event, "right"))
        away.append((seen[place] if place < len(seen) else register.events) - seen[place - 1])
    failures = {(str(one.feature).partition(":")[0], one.event) for one in silent}
    print(f"  {len(silent):,} silences of measurements, at {len(failures):,} stations and hours")
    quarters = np.quantile(away, (0.1, 0.25, 0.5, 0.75, 0.9))
    print("  absences that were called silent, hours, 10 % to 90 %:", quarters.tolist())
    step = max(1, len(silent) // examples)
    for one in silent[::step][:examples]:
        seen = np.array(hours[one.feature])
        place = int(np.searchsorted(seen, one.event, "right"))
        last = int(seen[place - 1])
        gaps = np.diff(seen[:place])
        after = int(seen[place]) if place < len(seen) else None
        back = f"back at {after:,} after {after - last} h" if after else "never back"
        print(
            f"  event {one.event:,}: {one.feature} silent since {last:,}, {back}; in the week"
            f" before it came in {np.sum(seen[:place] > last - 168)} of 168 hours; longest gap"
            f" before {gaps.max()} h, median {np.median(gaps):.0f} h"
        )
        known = set(hours[one.feature])
        strip = "".join(
            ("|" if hour == one.event else "") + ("#" if hour in known else ".")
            for hour in range(max(1, last - around), last + 2 * around)
        )
        station = str(one.feature).partition(":")[0]
        others = {
            name.partition(":")[2]: sum(last < hour <= one.event for hour in hours[name])
            for name in hours
            if name.startswith(f"{station}:") and "=" not in name
        }
        print(f"    {strip}")
        print(f"    values before {values[one.feature][max(0, place - 6) : place]}", end="")
        print(f", after {values[one.feature][place : place + 4]}")
        print(f"    came meanwhile, of {one.event - last} h: {others}")


def real() -> None:
    """Backblaze's and elec2's newborns, beijing-air's drop-outs, Reuters' words."""
    backblaze()
    register = hw.Register()
    for row in stream("elec2"):
        register.observe_one(row["x"])
    print("elec2:", dict(register.counts()))
    for one in register.findings():
        life = register.feature(one.feature)
        first = life.first_event if life else 0
        print(f"  event {one.event:,}: {one.feature} {one.kind} (first in event {first:,})")
    beijing()
    register = hw.Register()
    for row in stream("reuters21578"):
        register.observe_one(row["x"])
    print("reuters21578, words:", len(register), register.states(), dict(register.counts()))


def words(vocabulary: int = 1_000_000, events: int = 200_000, batch: int = 20_000) -> None:
    """Words by Zipf's law, of one vocabulary; half-way 200 new words come that are used often."""
    draw = np.random.default_rng(7)
    weights = 1 / np.arange(1, vocabulary + 1) ** 1.05
    edges = np.cumsum(weights) / weights.sum()
    register, values, seconds = hw.Register(), 0, 0.0
    for start in range(0, events, batch):
        drawn = np.searchsorted(edges, draw.random((batch, 60)))
        if start >= events // 2:
            drawn[:, :3] = vocabulary + draw.integers(0, 200, (batch, 3))
        texts = [np.unique(text) for text in drawn]
        rows = SimpleNamespace(  # columns without names are named by their numbers
            indptr=np.concatenate([[0], np.cumsum([len(text) for text in texts])]),
            indices=np.concatenate(texts).astype(np.int32),
            data=np.ones(sum(map(len, texts))),
            shape=(batch, vocabulary + 200),
        )
        values += len(rows.data)
        began = time.perf_counter()
        register.observe_many(rows)
        seconds += time.perf_counter() - began
    print(f"{events:,} texts, {values:,} words, {len(register):,} different")
    print(f"{1e9 * seconds / values:.0f} ns per word, {len(register.to_bytes()):,} bytes")
    print("states", register.states())
    print("findings", register.counts())
    born = {one.feature for one in register.findings() if one.kind == "born"}
    new = sum(int(word) >= vocabulary for word in born)
    print(f"born: {new} of the 200 new words, {len(born) - new} of the others")


def cost(rounds: int = 9) -> None:
    """Seconds of the processor of Spring with a register and without, taken in turns."""
    draw = np.random.default_rng(1)
    sensors = [draw.normal(size=(1_000, 100)) for _ in range(rounds)]
    few = [np.sort(draw.zipf(1.3, (1_000, 60)) % 50_000, axis=1) for _ in range(rounds)]
    batches: dict[str, list[Any]] = {"sensors": sensors, "words": [_texts(rows) for rows in few]}
    for name, given in batches.items():
        models = {track: hw.Spring(track=track) for track in (False, True)}
        taken: dict[bool, list[float]] = {False: [], True: []}
        for X in given:
            for track, model in models.items():
                began = time.process_time()
                model.simulate(X, [None] * 1_000)
                taken[track].append(time.process_time() - began)
        values = statistics.median(X.size if name == "sensors" else len(X.data) for X in given)
        without, with_ = (1e9 * statistics.median(taken[track]) / values for track in models)
        print(
            f"{name}: {without:.0f} ns per value, with a register {with_:.0f} ns:"
            f" {with_ / without:.2f} times"
        )


def _texts(rows: Any) -> Any:
    texts = [np.unique(text) for text in rows]
    return SimpleNamespace(
        indptr=np.concatenate([[0], np.cumsum([len(text) for text in texts])]),
        indices=np.concatenate(texts).astype(np.int32),
        data=np.ones(sum(map(len, texts))),
        shape=(len(texts), 50_000),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for flag in ("--tuning", "--real", "--words", "--cost"):
        parser.add_argument(flag, action="store_true")
    given = parser.parse_args()
    if given.real:
        real()
    elif given.words:
        words()
    elif given.cost:
        cost()
    else:
        plants(TUNING if given.tuning else TEST)


if __name__ == "__main__":
    main()
