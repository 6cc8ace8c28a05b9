"""Whether a label is worth asking for.

Each rule returns the probability of asking and whether the coin u says so. |q| is the margin; with
several classes the lead of the first over the second. t counts the decisions, this one included.
r is this event's rate, R the sum of the rates of the first t events (rt, unless rates were given).
Sources: Gu, Qian, Hou (FLLS); Lu, Zhao, Hoi (PAA), MLJ (2016); Cesa-Bianchi et al., JMLR 7 (2006).
"""

from math import exp, floor, inf, sqrt

FIRST_QUESTIONS = 3  # are asked as soon as possible,
FIRST_UNGUIDED = 10  # and so many before the first answer, or with more than two classes


def first_questions(learned: int, several: bool) -> int:
    """How many questions are asked as soon as possible."""
    return FIRST_UNGUIDED if learned == 0 or several else FIRST_QUESTIONS


def ask_all() -> tuple[float, bool]:
    """Always."""
    return 1.0, True


def random(rate: float, coin: float) -> tuple[float, bool]:
    """u < r."""
    return rate, coin < rate


def quota_of(
    rate: float, total: int, decisions: int, asked: int, coin: float
) -> tuple[float, bool]:
    """u·(T − t + 1) < n − asked, n = floor(rT + ½); never when t > T."""
    left = total - decisions + 1
    if left <= 0:
        return 0.0, False
    wanted = floor(rate * total + 0.5) - asked
    return min(1.0, max(0.0, wanted / left)), coin * left < wanted


def expected(rate: float, decisions: int, given: int, given_rates: float) -> float:
    """R, if `given` of the decisions had rates of their own and all others this one."""
    return rate * (decisions - given) + given_rates


def quota(rate: float, before: float, after: float, phase: float) -> tuple[float, bool]:
    """floor(R + φ) > floor(R' + φ), R' without this event."""
    return rate, floor(after + phase) > floor(before + phase)


def margin(width: float, magnitude: float, coin: float) -> tuple[float, bool]:
    """u·(ρ + |q|) < ρ; always when ρ = ∞, never when ρ = 0."""
    if width == inf:
        return 1.0, True
    if width == 0:
        return 0.0, False
    return width / (width + magnitude), coin * (width + magnitude) < width


def margin_plus_one(width: float, magnitude: float, coin: float) -> tuple[float, bool]:
    """u·(ρ + 1 + |q|) < ρ."""
    return margin(width, 1 + magnitude, coin)


def sel_ada(width: float, mistakes: int, magnitude: float, coin: float) -> tuple[float, bool]:
    """`margin` with ρ√(1 + K), K the mistakes learned so far."""
    return margin(width * sqrt(1 + mistakes), magnitude, coin)


def sel_ada_by_norm(
    width: float, mistakes: int, largest_norm: float, magnitude: float, coin: float
) -> tuple[float, bool]:
    """`margin` with ρ√(1 + K)·max‖x‖² over all events shown, this one included."""
    if width == inf:
        return 1.0, True
    return margin(width * sqrt(1 + mistakes) * largest_norm, magnitude, coin)


def decaying(width: float, decisions: int, magnitude: float, coin: float) -> tuple[float, bool]:
    """`margin` with ρ/(t + 1)."""
    return margin(width / (decisions + 1), magnitude, coin)


def budget(
    rate: float, decisions: int, mean_margin: float, tilt: float, magnitude: float, coin: float
) -> tuple[float, bool]:
    """u·(κ + a) < κ or t = 1, with κ = r/(1−r)·e^b, a = max(|q|/μ, .01), or 1 if μ = 0.

    μ already follows this event (`next_mean_margin`); r ≥ 1: always, r ≤ 0: never.
    """
    if rate >= 1:
        return 1.0, True
    if rate <= 0:
        return 0.0, False
    if decisions == 1:
        return 1.0, True
    odds = rate / (1 - rate) * exp(tilt)
    relative = 1.0 if mean_margin == 0 else max(magnitude / mean_margin, 0.01)
    return odds / (odds + relative), coin * (odds + relative) < odds


def next_mean_margin(mean_margin: float, decisions: int, magnitude: float) -> float:
    """μ += (|q| − μ)·max(.02, 1/t)."""
    return mean_margin + (magnitude - mean_margin) * max(0.02, 1 / decisions)


def next_tilt(tilt: float, rate: float, asked: bool) -> float:
    """b = clip(b + .5(r − asked), ±8)."""
    return min(8.0, max(-8.0, tilt + 0.5 * (rate - asked)))


def quantile(
    rate: float,
    expected: float,
    asked: int,
    learned: int,
    blank: bool,
    mean_margin: float,
    tilt: float,
    magnitude: float,
    coin: float,
    several: bool = False,
) -> tuple[float, bool]:
    """κ < 1.5·r·g·e^b or u < .15r; the first ones as soon as R + 2√R allows.

    Those are about events that show something. After them and before the first answer: u < r.

    While g = 0: u < r. Never if A ≥ R + 2√R + 3. g already follows this event; r ≥ 1: always,
    r ≤ 0: never.
    """
    if rate >= 1:
        return 1.0, True
    if rate <= 0 or asked >= expected + 2 * sqrt(expected) + 3:
        return 0.0, False
    if asked < first_questions(learned, several):
        first = asked < expected + 2 * sqrt(expected) and not blank
        return float(first), first
    if learned == 0:
        return rate, coin < rate
    below = magnitude < quantile_threshold(rate, mean_margin, tilt)
    chance = quantile_chance(rate, mean_margin)
    return 1.0 if below else chance, below or coin < chance


def quantile_chance(rate: float, mean_margin: float) -> float:
    """How often events are asked for that are not below the threshold."""
    return rate if mean_margin == 0 else 0.15 * rate


def quantile_threshold(rate: float, mean_margin: float, tilt: float) -> float:
    """1.5·r·g·e^b."""
    return 1.5 * rate * mean_margin * exp(tilt)


def next_quantile_mean(mean_margin: float, decisions: int, magnitude: float) -> float:
    """g += (κ − g)·max(1/t, .005)."""
    return mean_margin + (magnitude - mean_margin) * max(1 / decisions, 0.005)


def next_quantile_tilt(tilt: float, rate: float, asks: bool, asked: int) -> float:
    """b = clip(b + (r − asks)/√(1 + A), ±8), A the questions before this event."""
    return min(8.0, max(-8.0, tilt + (rate - asks) / sqrt(1 + asked)))
