"""How well the register finds what happens to the sensors of a simulated plant, and what it costs.

    python studies/register.py             # the plants that were not used before
    python studies/register.py --tuning    # the plants whose findings the constants were chosen by
    python studies/register.py --real      # real streams (HEADWATER_DATA)
    python studies/register.py --words     # a vocabulary of a million words
    python studies/register.py --cost      # instructions of a learner with and without a register

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
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import headwater as hw

TUNING = range(8)
TEST = range(100, 120)
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


def real() -> None:
    """Backblaze's and elec2's newborns, beijing-air's drop-outs, Reuters' words."""
    register = hw.Register()
    for row in stream("backblaze"):
        register.observe_one(row["x"], row["t"] * DAY)
    drives = [one for one in register.findings() if str(one.feature).startswith("smart_")]
    print("backblaze:", len(register), "features;", dict(register.counts()))
    for one in drives:
        day = np.datetime64(int(one.time or 0), "s").astype("datetime64[D]")
        print(f"  {day} event {one.event:,}: {one.feature} {one.kind}")
    register = hw.Register()
    for row in stream("elec2"):
        register.observe_one(row["x"])
    print("elec2:", dict(register.counts()))
    for one in register.findings():
        life = register.feature(one.feature)
        first = life.first_event if life else 0
        print(f"  event {one.event:,}: {one.feature} {one.kind} (first in event {first:,})")
    register, values = hw.Register(), defaultdict(list)
    for hour, row in enumerate(stream("beijing-air")):
        register.observe_one(row["x"], hour * 3_600.0)
        for name in row["x"]:
            values[name].append(hour + 1)
    print("beijing-air:", len(register), "features;", dict(register.counts()), register.states())
    silent = [
        one for one in register.findings() if one.kind == "silent" and "=" not in str(one.feature)
    ]
    step = max(1, len(silent) // 10)
    for one in silent[::step][:10]:
        seen = values[one.feature]
        before = [hour for hour in seen if hour <= one.event]
        after = [hour for hour in seen if hour > one.event]
        gaps = np.diff(before)
        back = f"back at {after[0]:,}" if after else "never back"
        print(
            f"  event {one.event:,}: {one.feature} silent since {before[-1]:,}, {back};"
            f" longest gap before {gaps.max()} h, median {np.median(gaps):.0f} h,"
            f" in all {len(seen):,}"
        )
    register = hw.Register()
    for row in stream("reuters21578"):
        register.observe_one(row["x"])
    print("reuters21578, words:", len(register), register.states(), dict(register.counts()))


def words(vocabulary: int = 1_000_000, events: int = 200_000) -> None:
    """Words by Zipf's law, at first one vocabulary, then 200 new words that are used often."""
    draw = np.random.default_rng(7)
    weights = 1 / np.arange(1, vocabulary + 1) ** 1.05
    edges = np.cumsum(weights) / weights.sum()
    register, values, began = hw.Register(), 0, time.perf_counter()
    for event in range(events):
        drawn = np.unique(np.searchsorted(edges, draw.random(60)))
        x = {f"w{word}": 1.0 for word in drawn.tolist()}
        if event > events // 2:
            x.update({f"new{word}": 1.0 for word in draw.integers(0, 200, 3).tolist()})
        values += len(x)
        register.observe_one(x)
    seconds = time.perf_counter() - began
    print(f"{events:,} texts, {values:,} words, {len(register):,} different; {seconds:.0f} s")
    counts = register.counts()
    print("states", register.states(), "findings", counts)
    found = register.findings()
    new = {
        one.feature for one in found if one.kind == "born" and str(one.feature).startswith("new")
    }
    print(f"of the 200 words that were new half-way, {len(new)} are found as born;")
    others = sum(one.kind == "born" and not str(one.feature).startswith("new") for one in found)
    print(f"of the {len(register) - 200:,} others {others}")


def cost() -> None:
    """Instructions per value, by valgrind, with a register and without."""
    for name, shape in (("sensors", (2_000, 100)), ("words", (2_000, 60))):
        per_value = {}
        for track in (False, True):
            counts = []
            for repeats in (1, 2):
                command = [sys.executable, __file__, "--one", name, str(int(track)), str(repeats)]
                tool = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
                done = subprocess.run([*tool, *command], capture_output=True, text=True, check=True)
                line = next(one for one in done.stderr.splitlines() if "Collected" in one)
                counts.append(int(line.split()[-1]))
            per_value[track] = (counts[1] - counts[0]) / (shape[0] * shape[1])
        with_, without = per_value[True], per_value[False]
        print(
            f"{name}: {without:.0f} instructions per value, with a register {with_:.0f}: "
            f"{with_ / without:.2f} times"
        )


def one_cost(name: str, track: bool, repeats: int) -> None:
    draw = np.random.default_rng(1)
    model = hw.Spring(track=track)
    labels = [None] * 2_000
    for _ in range(repeats + 1):
        if name == "sensors":
            X: Any = draw.normal(size=(2_000, 100))
        else:
            columns = np.sort(draw.zipf(1.3, (2_000, 60)) % 50_000 + np.arange(60) * 50_000)
            X = hw.Rows(
                indptr=np.arange(0, 120_001, 60),
                indices=columns.ravel().astype(np.int32),
                data=np.ones(120_000),
                names=range(3_000_000),
            )
        model.simulate(X, labels)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for flag in ("--tuning", "--real", "--words", "--cost"):
        parser.add_argument(flag, action="store_true")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        one_cost(given.one[0], given.one[1] == "1", int(given.one[2]))
    elif given.real:
        real()
    elif given.words:
        words()
    elif given.cost:
        cost()
    else:
        plants(TUNING if given.tuning else TEST)


if __name__ == "__main__":
    main()
