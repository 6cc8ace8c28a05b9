"""The register in plain Python: what is known of each feature, and what happened to it.

At every event every feature is looked at, also those that are absent: the core must come to the
same findings without that. Everything is changed in place. A stream without times has the number of
the event as its time, and no cycle.
"""

from dataclasses import dataclass, field
from itertools import pairwise
from math import exp, inf, log, sqrt
from typing import Any

Name = str | int

ESTABLISHED = 8  # arrivals after which a rhythm is known,
CYCLES = 2.0  # if they span so many cycles
STEP = 1 / 64  # how fast the mean of gaps forgets
GENERATION = 64  # arrivals of a generation of the longest gap,
GENERATION_CYCLES = 7.0  # which spans so many cycles at least
LONGER = 2.0  # times the longest usual gap: a gap is unusual
SPREADS = 6.0  # and so many spreads above the mean gap,
SPREADS_DOUBLED = 0.7  # and more for each doubling of the number of features that are watched
FEWEST_EVENTS = 4.0
YOUNG = 7.0  # cycles: before, nobody knows how a feature spends its weekends,
YOUNG_PATIENCE = 3.0  # so it may be absent for so many cycles
GONE = 4.0  # times as long as it takes to be silent
SURPRISE = 8.0  # arrivals that a newborn would have had before, at its rate,
STRAY = 10.0  # and so many more for each stray arrival before,
STRAYS = 3  # of which there may be so many
KEPT = 64  # values

SETTLED = 16  # values after which the range is known
MARGIN = 0.5  # of the range: a value is outside
OUTSIDE = 8  # values in a row
BLOCK = 8  # values, and a cycle
BLOCK_UNTIMED = 32
BLOCKS = 3  # of a baseline
FORGET = 1 / 8  # how fast a baseline forgets
LEAST_LEVEL = 0.35  # of a block's spread, how much the levels of blocks differ at least
LEAST_SPREAD = 0.25  # how much the logarithms of their spreads differ at least
FAR = 6.0  # of these from the baseline
STRIKES = 2  # blocks in a row

RUN = 8  # equal values
RUN_LONGER = 2.0  # times the longest usual run
RUN_CHANCE = 1e-8
CHANGES = 4  # a value must have changed so often
COUNTED = 1_024  # values from which the chance of a repeat is known; then both counts are halved

NEWBORNS = 64  # watched at a time
WATCHED = 500  # arrivals of each
PAIRS = 12
CORRELATION = 0.7
STEPS_T = 4.0  # how sure the correlation of the steps must be, in its standard errors


@dataclass
class Gaps:
    """How long a feature is usually absent, in events or in time."""

    mean: float = 0.0
    variance: float = 0.0
    longest: float = 0.0
    longest_before: float = 0.0
    excused: float = 0.0

    def add(self, gap: float, n: int) -> None:
        """Count the nth gap."""
        step = max(1 / n, STEP)
        delta = gap - self.mean
        self.mean += step * delta
        self.variance = (1 - step) * (self.variance + step * delta * delta)
        self.longest = max(self.longest, gap)

    def excuse(self, gap: float) -> None:
        """A gap that was reported: it is usual only if it is the second of its kind."""
        self.longest = max(self.longest, min(gap, self.excused))
        self.excused = max(self.excused, gap)

    def usual(self) -> float:
        return max(self.longest, self.longest_before)

    def patience(self, spreads: float) -> float:
        return max(LONGER * self.usual(), self.mean + spreads * sqrt(self.variance))


@dataclass
class Moments:
    """Mean and variance of what a baseline knows of its blocks."""

    mean: float = 0.0
    variance: float = 0.0

    def add(self, x: float, n: int) -> None:
        step = max(1 / n, FORGET)
        delta = x - self.mean
        self.mean += step * delta
        self.variance = (1 - step) * (self.variance + step * delta * delta)


@dataclass
class Scale:
    """On which scale a feature's values lie: their range, and the level and spread of blocks."""

    since: float
    changes: int = 0  # of the scale, before: each makes the next less likely to be believed
    values: int = 0
    lowest: float = inf
    highest: float = -inf
    outside: int = 0
    welcome: int = 0  # values that extend the range whatever they are
    block_since: float = 0.0
    block_values: int = 0
    block_first: float = 0.0  # from which the block's values are counted
    block_sum: float = 0.0
    block_squares: float = 0.0
    blocks: int = 0
    levels: Moments = field(default_factory=Moments)
    spreads: Moments = field(default_factory=Moments)
    strikes: int = 0

    def add(self, x: float, time: float, cycle: float, timed: bool) -> bool:
        """Whether the scale has changed with this value."""
        return self.add_to_range(x, time, cycle) or self.add_to_block(x, time, cycle, timed)

    def add_to_range(self, x: float, time: float, cycle: float) -> bool:
        width = self.highest - self.lowest
        settled = self.values >= SETTLED and time - self.since >= CYCLES * cycle and width > 0
        margin = MARGIN * width
        inside = self.lowest - margin <= x <= self.highest + margin
        if settled and self.welcome == 0 and not inside:
            self.outside += 1
            return self.outside >= OUTSIDE * (1 + self.changes)
        self.welcome = max(self.welcome - 1, 0)
        self.outside = 0
        self.values += 1
        self.lowest, self.highest = min(self.lowest, x), max(self.highest, x)
        return False

    def add_to_block(self, x: float, time: float, cycle: float, timed: bool) -> bool:
        if self.block_values == 0:
            self.block_since, self.block_first = time, x
        self.block_values += 1
        away = x - self.block_first
        self.block_sum += away
        self.block_squares += away * away
        full = BLOCK if timed else BLOCK_UNTIMED
        if self.block_values < full or time - self.block_since < cycle:
            return False
        away = self.block_sum / self.block_values
        level = self.block_first + away
        spread = sqrt(max(self.block_squares / self.block_values - away * away, 0.0))
        self.block_values, self.block_sum, self.block_squares = 0, 0.0, 0.0
        if spread == 0:
            return False
        if self.blocks >= BLOCKS and self.distance(level, log(spread)) > FAR * (1 + self.changes):
            self.strikes += 1
            return self.strikes >= STRIKES
        self.strikes = 0
        self.blocks += 1
        self.levels.add(level, self.blocks)
        self.spreads.add(log(spread), self.blocks)
        return False

    def distance(self, level: float, log_spread: float) -> float:
        """How far a block is from the baseline."""
        usual = exp(self.spreads.mean)
        apart = max(sqrt(self.levels.variance), LEAST_LEVEL * usual)
        away = (level - self.levels.mean) / apart
        other = (log_spread - self.spreads.mean) / max(sqrt(self.spreads.variance), LEAST_SPREAD)
        return sqrt(away * away + other * other)


@dataclass
class Run:
    """How often a feature repeats its value."""

    values: int = 0
    repeats: int = 0
    changes: int = 0
    length: int = 1
    longest: int = 1
    excused: int = 1
    chance: float = 1.0
    of_a_repeat: float = 0.0
    stuck: bool = False

    def add(self, repeated: bool, watched: int, established: bool) -> bool:
        """Whether the feature is stuck since this value."""
        if not repeated:
            if self.stuck:
                self.longest = max(self.longest, min(self.length, self.excused))
                self.excused = max(self.excused, self.length)
            else:
                self.longest = max(self.longest, self.length)
            self.changes += 1
            self.length, self.chance, self.stuck = 1, 1.0, False
        else:
            if self.length == 1:
                self.of_a_repeat = (self.repeats + 1) / (self.values + 2)
            self.length += 1
            self.chance *= self.of_a_repeat
        if not self.stuck:
            self.values += 1
            self.repeats += int(repeated)
            if self.values >= COUNTED:
                self.values //= 2
                self.repeats //= 2
        if self.stuck or not established or self.changes < CHANGES or self.length < RUN:
            return False
        if self.length <= RUN_LONGER * self.longest or self.chance * watched >= RUN_CHANCE:
            return False
        self.stuck = True
        return True


@dataclass
class Entry:
    """What is known of a feature."""

    name: Name
    id: int
    first_event: int
    first_time: float
    value: float
    last_event: int = 0
    last_time: float = 0.0
    count: int = 1
    events: Gaps = field(default_factory=Gaps)
    times: Gaps = field(default_factory=Gaps)
    generation: int = 0
    generation_since: float = 0.0
    watched: bool = False
    silent: bool = False
    gone: bool = False
    since_back: int = 0  # arrivals until it counts as live again
    scale: Scale = field(default_factory=lambda: Scale(0.0))
    run: Run = field(default_factory=Run)
    kept: list[tuple[int, float]] = field(default_factory=list)
    early: list[tuple[int, float]] = field(default_factory=list)  # event and time


class Register:
    """Every feature of a stream, and the findings."""

    def __init__(self, cycle: float = 86_400.0, max_features: int | None = None) -> None:
        self.cycle, self.max_features = cycle, max_features
        self.entries: list[Entry] = []
        self.events, self.time, self.start = 0, -inf, 0.0
        self.timed: bool | None = None
        self.watched = 0  # features whose absence is looked at,
        self.watched_before = 0  # before this event: the order of its features does not matter
        self.evicted = 0
        self.newborns: dict[Name, list[tuple[int, float]]] = {}
        self.new: list[tuple[Name, list[tuple[int, float]]]] = []  # newborns of this event
        self.findings: list[tuple[Any, ...]] = []

    def observe(self, x: dict[Name, float], time: float | None = None) -> None:
        self.events += 1
        self.watched_before = self.watched
        if self.timed is None:
            self.timed = time is not None
            self.cycle = self.cycle if self.timed else 0.0
        now = float(self.events) if time is None else max(time, self.time)
        self.start = now if self.events == 1 else self.start
        self.time = now
        by_name = {entry.name: entry for entry in self.entries}
        new = sorted((name for name in x if name not in by_name), key=order)
        if self.max_features is not None:
            new = new[: max(0, self.max_features - (len(x) - len(new)))]
        found: list[tuple[Any, ...]] = []
        for name in new:
            entry = Entry(name, len(self.entries), self.events, now, x[name])
            entry.scale = Scale(now)
            self.entries.append(entry)
            by_name[name] = entry
        for name in sorted((name for name in x if name in by_name), key=lambda n: by_name[n].id):
            entry = by_name[name]
            found += self.arrive(entry, x[name], now, name in new)
            self.watch_newborn(entry, x[name], now)
        for name, seen in self.new:  # after those that are newborns already
            if len(self.newborns) >= NEWBORNS:
                del self.newborns[self.oldest_first()[0]]
            self.newborns[name] = seen
        self.new.clear()
        for entry in self.entries:
            found += self.look_at_absent(entry, now)
        kinds = ["born", "back", "scale", "stuck", "silent", "gone", "replaced"]
        found.sort(key=lambda one: (one[3], kinds.index(one[2])))
        for event, moment, kind, _, name, *rest in found:
            self.findings.append((event, moment, kind, name, *rest))
        self.evict(x)

    def arrive(self, entry: Entry, value: float, now: float, new: bool) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = []

        def find(kind: str, before: float, current: float) -> None:
            found.append((self.events, now, kind, entry.id, entry.name, before, current, None))

        if new:
            entry.generation_since = now
            entry.scale.add(value, now, self.cycle, bool(self.timed))
            entry.run.values = 1
            entry.early = [(self.events, now)]
        else:
            gap, pause = float(self.events - entry.last_event), now - entry.last_time
            was_silent, patience = entry.silent, self.patience_in_time(entry)
            entry.count += 1
            n = entry.count - 1
            if was_silent:
                entry.events.excuse(gap)
                entry.times.excuse(pause)
                entry.silent = entry.gone = False
                entry.since_back = ESTABLISHED
                entry.scale.welcome = ESTABLISHED
                find("back", patience, pause)
            else:
                entry.events.add(gap, n)
                entry.times.add(pause, n)
                entry.since_back = max(entry.since_back - 1, 0)
            self.turn_generation(entry, now)
            if entry.count <= ESTABLISHED:
                entry.early.append((self.events, now))
            if entry.count == ESTABLISHED and self.is_born(entry, now):
                find("born", 0.0, entry.times.mean)
            established = self.established(entry, now)
            if established and not entry.watched:
                entry.watched = True
                self.watched += 1
            level = entry.scale.levels.mean
            held = entry.run.stuck and value == entry.value
            if not held and entry.scale.add(value, now, self.cycle, bool(self.timed)):
                if entry.scale.blocks == 0:
                    level = (entry.scale.lowest + entry.scale.highest) / 2
                entry.scale = Scale(now, entry.scale.changes + 1)
                entry.scale.add(value, now, self.cycle, bool(self.timed))
                if established:
                    find("scale", level, value)
            if entry.run.add(value == entry.value, self.watched_before, established):
                find("stuck", float(entry.run.longest), value)
        entry.value = value
        entry.last_event, entry.last_time = self.events, now
        entry.kept = [*entry.kept, (self.events, value)][-KEPT:]
        return found

    def spreads(self) -> float:
        return SPREADS + SPREADS_DOUBLED * (max(self.watched_before, 1).bit_length() - 1)

    def patience_in_events(self, entry: Entry) -> float:
        """A longer absence is unusual."""
        return max(entry.events.patience(self.spreads()), FEWEST_EVENTS)

    def patience_in_time(self, entry: Entry) -> float:
        patience = entry.times.patience(self.spreads())
        if entry.last_time - entry.first_time < YOUNG * self.cycle:
            return max(patience, YOUNG_PATIENCE * self.cycle)
        return patience

    def turn_generation(self, entry: Entry, now: float) -> None:
        entry.generation += 1
        since = now - entry.generation_since
        if entry.generation >= GENERATION and since >= GENERATION_CYCLES * self.cycle:
            for gaps in (entry.events, entry.times):
                gaps.longest_before, gaps.longest = gaps.longest, 0.0
            entry.generation, entry.generation_since = 0, now

    def established(self, entry: Entry, now: float) -> bool:
        return entry.count >= ESTABLISHED and now - entry.first_time >= CYCLES * self.cycle

    def is_late(self, event: int, time: float) -> bool:
        return event > 1 and time - self.start >= CYCLES * self.cycle

    def is_born(self, entry: Entry, now: float) -> bool:
        """Whether it would have been seen before, had it been there; but for a few strays."""
        known = len(self.entries).bit_length() - 1
        surprise = SURPRISE + SPREADS_DOUBLED * known
        for strays in range(STRAYS + 1):
            event, time = entry.early[strays]
            arrivals = ESTABLISHED - 1 - strays
            missed = (event - 1) * (arrivals / float(self.events - event))
            if self.is_late(event, time) and missed >= surprise + STRAY * strays:
                return True
        return False

    def watch_newborn(self, entry: Entry, value: float, now: float) -> None:
        if entry.count > WATCHED or not self.is_late(entry.first_event, entry.first_time):
            return
        if entry.count == ESTABLISHED:
            self.new.append((entry.name, list(entry.kept)))
        elif entry.name in self.newborns:
            seen = self.newborns.pop(entry.name)
            self.newborns[entry.name] = [*seen, (self.events, value)]

    def oldest_first(self) -> list[Name]:
        """The newborns, those seen longest ago first."""
        ids = {entry.name: entry.id for entry in self.entries}
        return sorted(self.newborns, key=lambda name: (self.newborns[name][-1][0], ids[name]))

    def look_at_absent(self, entry: Entry, now: float) -> list[tuple[Any, ...]]:
        if not entry.watched or entry.last_event == self.events:
            return []
        gap, pause = float(self.events - entry.last_event), now - entry.last_time

        def beyond(factor: float) -> bool:
            late = gap > factor * self.patience_in_events(entry)
            return late and pause > factor * self.patience_in_time(entry)

        found: list[tuple[Any, ...]] = []

        def find(kind: str, before: float, current: float, other: Name | None = None) -> None:
            found.append((self.events, now, kind, entry.id, entry.name, before, current, other))

        if not entry.silent and beyond(1.0):
            entry.silent = True
            find("silent", entry.times.usual(), pause)
            best = self.successor(entry)
            if best is not None:
                find("replaced", 0.0, best[0], best[1])
        if entry.silent and not entry.gone and beyond(GONE):
            entry.gone = True
            find("gone", entry.times.usual(), pause)
        return found

    def successor(self, entry: Entry) -> tuple[float, Name] | None:
        """The newborn that measures what a silent feature measured."""
        best: tuple[float, Name] | None = None
        for name in self.oldest_first():
            if name == entry.name:
                continue
            by_event = dict(self.newborns[name])
            pairs = [(x, by_event[event]) for event, x in entry.kept if event in by_event]
            r = likeness(pairs)
            if r is not None and (best is None or abs(r) > abs(best[0])):
                best = (r, name)
        return best

    def evict(self, x: dict[Name, float]) -> None:
        most = self.max_features
        if most is None or len(self.entries) <= most:
            return
        others = [entry for entry in self.entries if entry.last_event < self.events]
        others.sort(key=lambda entry: (entry.last_event, entry.id))
        count = min(max(len(self.entries) - most, most // 8), len(others))
        dropped = {entry.name for entry in others[:count]}
        self.watched -= sum(entry.watched for entry in others[:count])
        self.evicted += count
        self.entries = [entry for entry in self.entries if entry.name not in dropped]
        for id, entry in enumerate(self.entries):
            entry.id = id
        for name in dropped:
            self.newborns.pop(name, None)

    def state(self, name: Name) -> str:
        entry = next(entry for entry in self.entries if entry.name == name)
        if entry.silent:
            return "gone" if entry.gone else "silent"
        if not entry.watched:
            gap, pause = self.events - entry.last_event, self.time - entry.last_time
            seen, span = entry.last_event - entry.first_event, entry.last_time - entry.first_time
            past = gap > max(1_000, 10 * seen) and pause > max(CYCLES * self.cycle, 10 * span)
            return "gone" if past else "new"
        return "back" if entry.since_back > 0 else "live"


def likeness(pairs: list[tuple[float, float]]) -> float | None:
    """The correlation of two features, if it is one of their steps too."""
    if len(pairs) < PAIRS:
        return None
    r = correlation(pairs)
    steps = [(b[0] - a[0], b[1] - a[1]) for a, b in pairwise(pairs)]
    s = correlation(steps)
    if abs(r) < CORRELATION or r * s <= 0:
        return None
    sure = s * s * len(steps) >= STEPS_T * STEPS_T * (1 - s * s)
    return r if sure else None


def correlation(pairs: list[tuple[float, float]]) -> float:
    n = len(pairs)
    mean_x = mean_y = 0.0
    for x, y in pairs:
        mean_x += x
        mean_y += y
    mean_x, mean_y = mean_x / n, mean_y / n
    xx = yy = xy = 0.0
    for x, y in pairs:
        dx, dy = x - mean_x, y - mean_y
        xx += dx * dx
        yy += dy * dy
        xy += dx * dy
    return 0.0 if xx == 0 or yy == 0 else xy / sqrt(xx * yy)


def order(name: Name) -> tuple[int, Any]:
    """Numbers first, then texts by code point."""
    return (0, name) if isinstance(name, int) else (1, name)
