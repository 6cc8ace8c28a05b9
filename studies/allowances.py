"""Are allowances kept, and how much of them is used? A thousand weeks of streams, simulated.

Each week has its own seed: events by day and night, weekends, bursts, outages, clocks set back and
forward, weeks with a change of summer time, people who leave (their cards expire and return), and
an allowance of its own. Questions are drawn by chance at the rate that the allowance gives.

`python studies/allowances.py --weeks 1000` prints the most that any window exceeded its allowance
(never above 0), and the share that was used.
"""

import argparse
import heapq
import math
import random
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from headwater.live.allowance import Allowance, Spending

ZONES = ("Europe/Berlin", "America/New_York", "Asia/Kolkata", "UTC")
STARTS = (1_774_137_600, 1_792_886_400, 1_794_000_000)
"""Weeks with a change to summer time, with one back, and with neither."""
DAY = 86_400.0


class Week(NamedTuple):
    """What came of a week."""

    events: int
    questions: int
    excess: int
    """The most that the cards of a window, less those returned in it, were above the allowance."""
    used: float
    """The share of the allowance of the longest window that was used, where one had questions."""
    dark: float
    """The share of events that could not be asked about, because nothing was left."""


def arrivals(coin: random.Random, start: float, days: int = 7) -> Iterator[float]:
    """The times of events: by day and night, with weekends, bursts and outages."""
    per_hour = math.exp(coin.uniform(math.log(5), math.log(400)))
    night, weekend = coin.choice([1.0, 0.3, 0.0]), coin.choice([1.0, 0.2])
    outage = start + coin.uniform(0, days) * DAY
    now = start
    while now < start + days * DAY:
        hour, day = now // 3600 % 24, int((now - start) // DAY) % 7
        pace = per_hour * (1.0 if 7 <= hour < 19 else night) * (weekend if day >= 5 else 1.0)
        if outage <= now < outage + 6 * 3600 or pace == 0:
            now = (now // 3600 + 1) * 3600
            continue
        if coin.random() < 0.0005:  # a burst
            for _ in range(coin.randrange(50, 400)):
                now += coin.expovariate(2.0)
                yield now
        now += coin.expovariate(pace / 3600)
        yield now


def one_week(seed: int) -> Week:
    """Simulate a week, and count what every window saw."""
    coin = random.Random(seed)
    start = float(coin.choice(STARTS))
    overlap = coin.choice([1, 1, 1, 2, 3])
    allowance = Allowance(
        per_day=coin.choice([None, 20, 100, 200]),
        per_hour=coin.choice([6, 15, 40]),
        burst=coin.choice([None, 3, 6]),
        tz=coin.choice(ZONES),
        reserve=0.1,
    )
    deadline = coin.choice([math.inf, 3600.0, 6 * 3600.0])
    absent = coin.uniform(0, 1) if coin.random() < 0.5 else 0.0  # of the cards nobody answers
    spending = Spending(allowance, overlap)
    opened: Counter[tuple[str, float]] = Counter()
    returned: Counter[tuple[str, float]] = Counter()
    expiring: list[float] = []
    events = questions = dark = excess = 0
    now = skew = 0.0
    for time in arrivals(coin, start):
        if coin.random() < 0.0002:
            skew = coin.choice([-7200.0, 0.0, 7200.0])  # the clock is set
        now = max(now, time + skew)
        while expiring and expiring[0] <= now:
            heapq.heappop(expiring)
            spending.returned(now, overlap)
            for window in allowance.windows(now):
                returned[window.name, window.begins] += overlap
        rate = spending.rate(now) or 0.0
        spending.forecast.note(now)
        events += 1
        dark += rate == 0
        if coin.random() < rate:
            questions += 1
            spending.opened(now, overlap)
            if deadline < math.inf and coin.random() < absent:
                heapq.heappush(expiring, now + deadline)
            for window in allowance.windows(now):
                key = window.name, window.begins
                opened[key] += overlap
                excess = max(excess, opened[key] - returned[key] - window.allowed)
    longest = "day" if allowance.per_day else "hour"
    spent = [n for (name, _), n in opened.items() if name == longest]
    allowed = allowance.per_day or allowance.per_hour or 1
    used = sum(spent) / (allowed * max(1, len(spent)))
    return Week(events, questions, excess, used, dark / max(1, events))


def main(weeks: int, seed: int) -> list[Week]:
    """Simulate, print, return."""
    found = [one_week(seed + number) for number in range(weeks)]
    worst = max(one.excess for one in found)
    used = sorted(one.used for one in found)
    print(f"weeks {weeks}, events {sum(one.events for one in found):,}")
    print(f"questions {sum(one.questions for one in found):,}")
    print(f"most cards above an allowance: {worst}")
    print(f"share used where there were events: median {used[len(used) // 2]:.3f}")
    print(f"events with nothing left: {sum(one.dark for one in found) / weeks:.3f} of a week")
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weeks", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    main(given.weeks, given.seed)
