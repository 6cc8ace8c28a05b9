"""Sixty-four owners of learners, three of which are lost: what is repeated, what lags, what stays.

    python studies/owners.py

Keys are spread over partitions and partitions over owners. An owner reads its partitions batch by
batch with `KeyedLearners` (one learner per key) and commits a batch at once: the states of its keys
and the place in the partition. Every commit names the partition's fencing number, which rises
whenever the partition gets another owner.

Half-way three owners are lost inside a batch. Two are dead. The third is only cut off: it goes on
with its partitions and tries to commit, as a process does that wakes from a long pause. After the
time of detection the partitions go to the owners that have fewest.

Time is simulated, in ticks of a tenth of a second: an owner handles so many events per tick, and
the load is the share of that which arrives. Learners, states and bytes are real: at the end every
model is compared with that of a plain loop which nothing disturbed.
"""

import copy
import json
import random
from collections import Counter
from dataclasses import dataclass, field

import click

import headwater as hw
from headwater.adapters.keyed import DictState, KeyedLearners, LearnerCache, Row

TICK = 0.1


def start(key: str) -> hw.Learner:
    """What a key begins with."""
    return hw.Linear(query="margin", seed=int(key[1:]))


@dataclass
class Partition:
    """A log of rows, and what was committed of it."""

    keys: list[str]
    log: list[Row] = field(default_factory=list)
    states: dict[str, DictState] = field(default_factory=dict)
    place: int = 0
    fence: int = 0

    def commit(self, fence: int, states: dict[str, DictState], place: int) -> bool:
        """Keep a batch, all of it or nothing: nothing if the partition has another owner by now."""
        if fence != self.fence:
            return False
        self.states |= states
        self.place = place
        return True


@dataclass
class Owner:
    """A process: which partitions it holds by which fencing number, and learners in memory."""

    held: dict[int, int] = field(default_factory=dict)
    learners: KeyedLearners = field(
        default_factory=lambda: KeyedLearners(start, cache=LearnerCache(10**9))
    )

    def work(
        self, partitions: list[Partition], number: int, most: int
    ) -> tuple[int, list[Row], bool]:
        """Handle a batch of a partition: how many rows, what came out, whether it was committed."""
        partition = partitions[number]
        rows = partition.log[partition.place : partition.place + most]
        by_key: dict[str, list[Row]] = {}
        for row in rows:
            by_key.setdefault(row.key, []).append(row)
        out, states = list[Row](), dict[str, DictState]()
        for key, some in by_key.items():
            states[key] = copy.deepcopy(partition.states.get(key, DictState()))
            out += self.learners.handle(key, some, states[key], now=0)
        kept = partition.commit(self.held[number], states, partition.place + len(rows))
        return len(rows), out if kept else [], kept


def arriving(coin: random.Random, key: str, number: int) -> list[Row]:
    """An event of a key and its answer, which only counts if it was asked for."""
    features = {name: coin.gauss(0, 1) for name in coin.sample("abcdefghij", 4)}
    label = sum(features.values()) > 0
    event = Row(key, 2 * number, "event", f"e{number}", json.dumps(features))
    return [event, Row(key, 2 * number + 1, "answer", f"e{number}", json.dumps(label))]


@dataclass
class Outcome:
    """What came of a run."""

    events: int
    decided: Counter[tuple[str, str]]
    moved: int
    repeated: int
    refused: int
    lag: float
    caught_up: float
    different: int
    keys: int


def run(
    owners: int = 64,
    partitions: int = 256,
    keys: int = 512,
    seconds: int = 60,
    load: float = 0.7,
    detection: float = 10.0,
    lost: int = 3,
    seed: int = 0,
) -> Outcome:
    """Simulate; everything is decided by the seed."""
    coin = random.Random(seed)
    logs = [
        Partition([f"k{key}" for key in range(part, keys, partitions)])
        for part in range(partitions)
    ]
    people = [Owner() for _ in range(owners)]
    for number in range(partitions):
        people[number % owners].held[number] = 0
    events = Counter[str]()
    decided = Counter[tuple[str, str]]()
    ticks, crash = round(seconds / TICK), round(seconds / TICK / 2)
    back = crash + round(detection / TICK)
    rate = keys * TICK  # events per tick: one per key and second
    capacity = rate / owners / load
    gone = set(random.Random(seed).sample(range(owners), lost))  # rows are the same without it
    cut_off = min(gone) if gone else None
    zombie: Owner | None = None
    credit = [0.0] * owners
    moved = repeated = refused = 0
    lag, caught_up = 0.0, 0.0

    def behind() -> int:
        return max(len(part.log) - part.place for part in logs) // 2

    tick = 0
    while tick < ticks or behind():
        if tick < ticks:
            for number in coin.sample(range(keys), round(rate)):
                key = f"k{number}"
                logs[number % partitions].log += arriving(coin, key, events[key])
                events[key] += 1
        if tick == back:
            orphans = sorted(number for who in gone for number in people[who].held)
            zombie = copy.copy(people[cut_off]) if cut_off is not None else None
            if zombie is not None:
                zombie.held = dict(zombie.held)
            for who in gone:
                people[who].held = {}
            for number in orphans:
                logs[number].fence += 1
                living = [who for who in range(owners) if who not in gone]
                heir = min(living, key=lambda who: (len(people[who].held), who))
                people[heir].held[number] = logs[number].fence
                moved += 1
        for who, owner in enumerate(people):
            if crash <= tick and who in gone:
                if tick == crash:  # inside a batch: handled, not committed, lost
                    for number in owner.held:
                        copied = copy.deepcopy(logs[number])
                        rows, _, _ = owner.work([copied] * partitions, number, 40)
                        repeated += rows // 2
                continue
            credit[who] = min(credit[who] + capacity, 5 * capacity)
            for number in sorted(
                owner.held, key=lambda number: logs[number].place - len(logs[number].log)
            ):
                most = int(credit[who])
                if most and logs[number].place < len(logs[number].log):
                    rows, out, kept = owner.work(logs, number, 2 * most)
                    assert kept, "an owner was fenced off from its own partition"
                    credit[who] -= rows / 2
                    decided.update((row.key, row.id) for row in out if row.kind == "decision")
        if zombie is not None and tick == back + 1:
            for number in zombie.held:
                rows, _, kept = zombie.work(logs, number, 40)
                refused += not kept and rows > 0
                assert not kept, "the commit of an owner that was cut off was taken"
        now_behind = max((len(part.log) - part.place) / 2 / max(1, len(part.keys)) for part in logs)
        if tick < ticks:
            lag = max(lag, now_behind)
        if tick > back and now_behind > 2.0:
            caught_up = (tick - back) * TICK
        tick += 1

    different = 0
    for part in logs:
        plain = {key: start(key) for key in part.keys}
        asked: dict[tuple[str, str], hw.Decision] = {}
        for key, _, kind, id, body in part.log:
            if kind == "event":
                decision = plain[key].decide_one(json.loads(body))
                if decision.asked:
                    asked[key, id] = decision
            elif (key, id) in asked:
                plain[key].answer(asked.pop((key, id)), json.loads(body))
        different += sum(
            part.states[key].model() != model.to_bytes()
            for key, model in plain.items()
            if events[key]
        )
    return Outcome(
        events.total(), decided, moved, repeated, refused, lag, caught_up, different, len(events)
    )


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--owners", type=click.IntRange(min=4), default=64, show_default=True)
@click.option("--keys", type=click.IntRange(min=4), default=512, show_default=True)
@click.option("--seconds", type=click.IntRange(min=20), default=60, show_default=True)
@click.option("--load", type=click.FloatRange(0.1, 0.95), default=0.7, show_default=True)
@click.option("--detection", type=click.FloatRange(min=0), default=10.0, show_default=True)
@click.option("--lost", type=click.IntRange(min=0, max=3), default=3, show_default=True)
def main(owners: int, keys: int, seconds: int, load: float, detection: float, lost: int) -> None:
    """Simulate owners of which some are lost, with few and with many partitions per owner."""
    print(f"{owners} owners, {keys} keys, {seconds} s, {load:.0%} load, {lost} lost,", end=" ")
    print(f"noticed after {detection:g} s")
    head: tuple[str, ...] = (
        "partitions",
        "events",
        "decided once",
        "twice",
        "not",
        "keys",
        "models that differ",
    )
    head += (
        "partitions moved",
        "events repeated",
        "commits refused",
        "longest lag, s",
        "caught up, s",
    )
    print("| " + " | ".join(head) + " |")
    print("|" + " ---: |" * len(head))
    for partitions in (owners, 4 * owners, 16 * owners):
        if partitions > keys:
            continue
        found = run(owners, partitions, keys, seconds, load, detection, lost)
        once = sum(count == 1 for count in found.decided.values())
        twice = sum(count > 1 for count in found.decided.values())
        cells = (partitions, found.events, once, twice, found.events - len(found.decided))
        rest = (found.keys, found.different, found.moved, found.repeated, found.refused)
        times = (f"{found.lag:.1f}", f"{found.caught_up:.1f}")
        print("| " + " | ".join(map(str, (*cells, *rest, *times))) + " |")


if __name__ == "__main__":
    main()
