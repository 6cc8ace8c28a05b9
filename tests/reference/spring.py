"""Spring in plain Python: every equation in the order in which it is specified.

z is the event's view (`reference.scaler`), f = (f_U, f_E, 0.3) its common factor, its energy and a
constant; w and ω are the weights of both. With several classes there is one weight vector a
class, everything else is shared. Nothing here is changed in place.
"""

from dataclasses import dataclass, replace
from math import log, sqrt
from typing import Any, NamedTuple

from reference import query
from reference.dual import DualState, Stored, Values, learn, read_dual, score, sigma, signs
from reference.random import Generator, uniform
from reference.scaler import (
    Name,
    ScalerState,
    Statistics,
    read_scaler,
    regularity,
    scaled,
    show,
    to_unit_length,
)

CONSTANT = 0.3
FIRST_QUESTION = 10
"""The view shows too little of the events before this one to ask about them."""
OWN: tuple[Name, Name, Name] = ("(factor)", "(energy)", "(intercept)")


class Track(NamedTuple):
    """A running mean and variance."""

    n: int
    mean: float
    var: float


class Frozen(NamedTuple):
    """An event as its question saw it."""

    z: dict[Name, float]
    f: tuple[float, float, float]


@dataclass(frozen=True)
class State:
    view: ScalerState
    loadings: dict[Name, float]
    factor: Track
    energy: Track
    dual: DualState
    """The weights, the answers by class, the store."""
    t: int
    asked: int
    learned: int
    g: float
    b: float
    coins: Generator


class Decided(NamedTuple):
    scores: list[float]
    margin: float
    prediction: int | None
    asked: bool
    probability: float
    gap: float
    """How far |q| is from the threshold of the question, if there is one."""
    frozen: Frozen
    state: State


def read_spring(saved: dict[str, Any]) -> State:
    """Spring in the state of a model file."""
    scaler = saved["scaler"]
    summary, query = scaler["summary"], saved["query"]["quantile"]
    return State(
        view=read_scaler(saved),
        loadings=dict(zip(scaler["names"], scaler["loadings"], strict=True)),
        factor=Track(*(summary["factor"][key] for key in ("n", "mean", "variance"))),
        energy=Track(*(summary["energy"][key] for key in ("n", "mean", "variance"))),
        dual=read_dual(saved),
        t=saved["seen"],
        asked=saved["asked"],
        learned=saved["learned"],
        g=query["mean_margin"],
        b=query["tilt"],
        coins=tuple(saved["coins"]),
    )


# 1.2 Every event


def clip(x: float, reach: float) -> float:
    return min(max(x, -reach), reach)


def track(one: Track, x: float, slowest: float = 0.0) -> Track:
    n = one.n + 1
    h = max(1 / n, slowest)
    delta = x - one.mean
    mean = one.mean + h * delta
    return Track(n, mean, one.var + h * (delta * (x - mean) - one.var))


def std(x: float, one: Track, guard: float) -> float:
    return clip((x - one.mean) / sqrt(one.var + guard), 3.0)


def loading(one: Statistics, v: float) -> float:
    """λ = v · n/(n + 10) · a."""
    return v * one.n / (one.n + 10) * regularity(one)


class Sight(NamedTuple):
    """z, and what factor and energy are made of: D, ℓ, and u (None: no loadings yet)."""

    z: dict[Name, float]
    D: float
    log_energy: float
    u: float | None


def sight(state: State, raw: dict[Name, float]) -> Sight:
    """The end of step 2, and u of step 4; `raw` is z before it is brought to length 1."""
    features = state.view.features
    z = to_unit_length(raw)
    a = {name: regularity(features[name]) for name in raw}
    T = sum(x**2 for x in raw.values())
    regular = sum(a[name] * raw[name] ** 2 for name in raw)
    D = 0.0 if T == 0 or sum(a.values()) < 1 else regular / T
    log_energy = log(regular / sum(a.values())) if D > 0 else 0.0
    return Sight(z, D, log_energy, factor_score(state, z))


def factor_score(state: State, z: dict[Name, float]) -> float | None:
    """u = Σλz/√Σλ²; None if Σλ² ≤ 1e-30."""
    features = state.view.features
    lambdas = {
        name: loading(features[name], state.loadings[name]) for name in z if name in features
    }
    squares = sum(x**2 for x in lambdas.values())
    if squares <= 1e-30:
        return None
    return sum(x * z[name] for name, x in lambdas.items()) / sqrt(squares)


def f_energy(D: float, log_energy: float, energy: Track) -> float:
    return 0.3 * D * std(log_energy, energy, 1e-6) if D > 0 else 0.0


def f_factor(D: float, u: float | None, factor: Track) -> float:
    return 0.0 if u is None else 0.5 * D * std(u, factor, 1e-12)


def look(state: State, event: dict[Name, float]) -> Frozen:
    """z and f of an event outside the stream: unknown features left out, nothing changes."""
    known = state.view.features
    raw = {name: scaled(known[name], x, state.view) for name, x in event.items() if name in known}
    z, D, log_energy, u = sight(state, raw)
    f = (f_factor(D, u, state.factor), f_energy(D, log_energy, state.energy), CONSTANT)
    return Frozen({name: z.get(name, 0.0) for name in event}, f)


def observe(state: State, event: dict[Name, float]) -> tuple[Frozen, State]:
    """Steps 1 to 4 of an event of the stream: z and f, and what has been learned from them."""
    _, view = show(state.view, event)
    loadings = {name: 0.0 for name in view.features} | state.loadings
    now = replace(state, view=replace(view, rounds=state.view.rounds), loadings=loadings)
    raw = {name: scaled(view.features[name], x, now.view) for name, x in event.items()}
    z, D, log_energy, u = sight(now, raw)

    energy = track(state.energy, log_energy) if D > 0 else state.energy
    factor = state.factor if u is None else track(state.factor, u, 0.005)
    f = (f_factor(D, u, factor), f_energy(D, log_energy, energy), CONSTANT)
    if any(z.values()):
        score = 1.0 if u is None else u
        for name, x in z.items():
            v, n = loadings[name], view.features[name].n
            loadings[name] = v + (score * x - v) * min(1.0, 3 / (n + 2))
    return Frozen(z, f), replace(state, view=view, loadings=loadings, factor=factor, energy=energy)


def values_of(seen: Frozen) -> Values:
    """z and f by name."""
    return seen.z | dict(zip(OWN, seen.f, strict=True))


def scores_of(state: State, seen: Frozen) -> list[float]:
    """q = Σw_i z_i + ω·f of each weight vector."""
    return [score(weights, values_of(seen)) for weights in state.dual.weights]


def best(scores: list[float], other_than: int | None = None) -> int | None:
    others = [index for index in range(len(scores)) if index != other_than]
    return max(others, key=lambda index: (scores[index], -index), default=None)


def margin_of(scores: list[float], multiclass: bool) -> tuple[float, int | None]:
    """The margin, with several classes the lead of the first over the second; the prediction."""
    if not multiclass:
        return scores[0], int(scores[0] > 0)
    first = best(scores)
    second = best(scores, other_than=first)
    lead = 0.0 if first is None or second is None else scores[first] - scores[second]
    return lead, first


def ask(
    state: State, rate: float, magnitude: float, blank: bool, coin: float
) -> tuple[bool, float, float, State]:
    """Step 6, for 0 < rate < 1: whether to ask, the probability, the gap, and the state after."""
    A, t = state.asked, state.t + 1
    g = query.next_quantile_mean(state.g, t, magnitude)
    threshold = query.quantile_threshold(rate, g, state.b)
    probability, asked = query.quantile(
        rate, t, A, state.learned, blank, g, state.b, magnitude, coin
    )
    b, gap = state.b, 1.0
    if state.learned > 0:
        gap = abs(magnitude - threshold)
        chance = query.quantile_chance(rate, g)
        wanted = magnitude < threshold or coin < chance  # also if there were too many
        b = query.next_quantile_tilt(b, rate, wanted, A)
    return asked, probability, gap, replace(state, g=g, b=b, t=t, asked=A + asked)


def decide(state: State, event: dict[Name, float], rate: float, multiclass: bool) -> Decided:
    """Steps 1 to 6."""
    frozen, state = observe(state, event)
    scores = scores_of(state, frozen)
    margin, prediction = margin_of(scores, multiclass)
    coin, coins = uniform(state.coins)
    blank = not any(frozen.z.values()) or state.t + 1 < FIRST_QUESTION
    asked, probability, gap, state = ask(state, rate, abs(margin), blank, coin)
    return Decided(
        scores, margin, prediction, asked, probability, gap, frozen, replace(state, coins=coins)
    )


# 1.3 An answer


def restated(state: State, dual: DualState, place: int, multiclass: bool) -> DualState:
    """Bring the factor of a stored event up to date: ω_U += α y (f_U' − f_U)."""
    values, label, alphas = dual.store[place]
    z = {name: x for name, x in values.items() if name not in OWN}
    known = state.view.features
    D = sum(regularity(known[name]) * x**2 for name, x in z.items() if name in known)
    new = f_factor(D, factor_score(state, z), state.factor)
    weights = list(dual.weights)
    for vector, y in enumerate(signs(label, len(weights), multiclass)):
        old = weights[vector].get(OWN[0], 0.0)
        change = alphas[vector] * y * (new - values[OWN[0]])
        weights[vector] = weights[vector] | {OWN[0]: old + change}
    store = list(dual.store)
    store[place] = Stored(values | {OWN[0]: new}, label, alphas)
    return replace(dual, weights=weights, store=store)


def answer(state: State, seen: Frozen, label: int, multiclass: bool, balance: bool = True) -> State:
    """Learn an answer; `label` is the number of classes if the class is new."""
    dual = learn(
        state.dual,
        values_of(seen),
        label,
        multiclass,
        balance=balance,
        restate=lambda dual, place: restated(state, dual, place, multiclass),
    )
    return replace(state, dual=dual, learned=state.learned + 1)


# Probabilities


def probabilities(
    state: State, scores: list[float], multiclass: bool, balance: bool = True
) -> list[float]:
    """σ of each score, to sum 1; moved back by the class weights, if there are any."""
    counts = state.dual.counts

    def moved_back(q: float, count: int) -> float:
        return q + log((count + 1) / (sum(counts) - count + 1)) if balance else q

    if not multiclass:
        p = sigma(moved_back(scores[0], counts[1]))
        return [1 - p, p]
    parts = [sigma(moved_back(q, count)) for q, count in zip(scores, counts, strict=True)]
    return [part / sum(parts) for part in parts]
