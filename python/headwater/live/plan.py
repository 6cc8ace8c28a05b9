"""What an allowance would mean for a stream, before anybody is asked."""

import random
from collections import Counter, deque
from collections.abc import Sequence
from typing import NamedTuple

from headwater.errors import ParameterError
from headwater.live.allowance import Allowance, Spending

STEP = 60.0
"""Seconds; people answer so often."""


class BudgetPlan(NamedTuple):
    """What an allowance means for a stream: see `plan_budget`."""

    events: int
    days: int
    questions: int
    questions_per_day: float
    fewest: int
    """Questions of the day with the fewest, the first and the last day left out if there are
    others."""
    most: int
    used: float
    """The share of what is allowed."""
    longest_wait: float
    """Seconds."""


def plan_budget(
    times: Sequence[float], allowance: Allowance, people: int = 1, seed: int = 0
) -> BudgetPlan:
    """Ask about events by chance at the rate that an allowance gives, and let people answer.

    Examples
    --------
    >>> import headwater as hw
    >>> times = [3600.0 * 24 * 365 + 10 * n for n in range(5 * 8640)]  # five days
    >>> plan = plan_budget(times, hw.live.Allowance(per_day=100, tz="UTC"))
    >>> plan.days, plan.most <= 100, plan.used > 0.9
    (5, True, True)
    """
    if not times:
        raise ParameterError("budget plan: there is no event with a time.")
    if not allowance.limits_questions:
        raise ParameterError("budget plan: give per_day, per_hour or money_per_day.")
    coin, spending = random.Random(seed).random, Spending(allowance)
    per_step = _pace(allowance, people) * STEP / 3600
    waiting: deque[float] = deque()
    asked: Counter[float] = Counter()
    ready, longest, clock = 0.0, 0.0, times[0]
    days: dict[float, None] = {}
    now = times[0]
    for time in times:
        now = max(now, time)
        ready, longest, clock = _answer(waiting, allowance, per_step, clock, now, ready, longest)
        day = allowance.day(now)[0]
        days[day] = None
        rate = spending.rate(now) or 0.0
        spending.forecast.note(now)
        if coin() < rate:
            spending.opened(now, 1)
            waiting.append(now)
            asked[day] += 1
    _, longest, _ = _answer(waiting, allowance, per_step, clock, now + 7 * 86_400, ready, longest)
    inner = list(days)[1:-1] or list(days)
    counts = [asked[day] for day in inner]
    most_per_day = allowance.cards_per_day or 24 * (allowance.per_hour or 0)
    return BudgetPlan(
        events=len(times),
        days=len(days),
        questions=asked.total(),
        questions_per_day=sum(counts) / len(counts),
        fewest=min(counts),
        most=max(asked.values(), default=0),
        used=sum(counts) / len(counts) / most_per_day if most_per_day else 0.0,
        longest_wait=longest,
    )


def _pace(allowance: Allowance, people: int) -> float:
    """Answers per hour while people work: as many as each may get, or else what the day brings."""
    if allowance.per_person_per_hour is not None:
        return float(people * allowance.per_person_per_hour)
    if allowance.cards_per_day is None:
        return float(allowance.per_hour or 0)
    begins, _ = allowance.day(0.0)
    open_hours = sum(allowance.is_open(begins + 1800 * half) for half in range(48)) / 2
    return allowance.cards_per_day / max(0.5, open_hours) * people


def _answer(
    waiting: deque[float],
    allowance: Allowance,
    per_step: float,
    clock: float,
    until: float,
    ready: float,
    longest: float,
) -> tuple[float, float, float]:
    """Let people answer up to a moment; what they have time for, the longest wait, the moment."""
    while waiting and clock + STEP <= until:
        clock += STEP
        if allowance.is_open(clock):
            ready = min(1.0 + per_step, ready + per_step)
            while waiting and ready >= 1 and waiting[0] <= clock:
                longest = max(longest, clock - waiting.popleft())
                ready -= 1
    if not waiting:
        clock = max(clock, until - STEP)
    return ready, longest, clock
