"""Spring in plain Python: every equation in the order in which it is specified.

z is the event's view (`reference.view`), f = (f_U, f_E, 0.3) its common factor, its energy and a
constant. There is one weight vector w, ω for two classes and one a class for several, each of
which tells its class from the rest; everything else is shared. Nothing here is changed in place.
"""

from dataclasses import dataclass, replace
from math import exp, log, sqrt
from typing import Any, NamedTuple

from reference.random import Generator, uniform
from reference.view import (
    Name,
    Statistics,
    ViewState,
    read_view,
    regularity,
    scaled,
    show,
    to_unit_length,
)

CONSTANT = 0.3
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


class Stored(NamedTuple):
    """A labelled event: what was seen of it, its class, and its α in each weight vector."""

    seen: Frozen
    label: int
    alphas: list[float]


Weights = dict[Name, float]
"""w_i by name, and ω by the names of `OWN`."""


@dataclass(frozen=True)
class State:
    view: ViewState
    loadings: dict[Name, float]
    factor: Track
    energy: Track
    weights: list[Weights]
    counts: list[int]
    """Answers by class: N−, N+, or one a class."""
    store: list[Stored]
    cursor: int
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
    view, model = saved["view"], saved["model"]["linear"]
    names, dual = saved["names"], model["dual"]
    weights = [
        {name: scale * stored for name, stored in zip(names, vector, strict=True)}
        for scale, vector in zip(model["scales"], model["weights"], strict=True)
    ]
    store = []
    for one in dual["store"]:
        values = {names[slot]: x for slot, x in zip(one["slots"], one["values"], strict=True)}
        f = values.pop(OWN[0]), values.pop(OWN[1]), values.pop(OWN[2])
        alphas = one["alphas"] + [0.0] * (len(weights) - len(one["alphas"]))
        store.append(Stored(Frozen(values, f), one["class"], alphas))
    whole = view["whole"]
    return State(
        view=read_view(saved),
        loadings=dict(zip(view["names"], view["loadings"], strict=True)),
        factor=Track(*(whole["factor"][key] for key in ("n", "mean", "variance"))),
        energy=Track(*(whole["energy"][key] for key in ("n", "mean", "variance"))),
        weights=weights,
        counts=dual["counts"],
        store=store,
        cursor=dual["cursor"],
        t=saved["seen"],
        asked=saved["asked"],
        learned=saved["learned"],
        g=saved["query"]["mean_margin"],
        b=saved["query"]["tilt"],
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
    return Frozen(z, f), replace(
        state, view=view, loadings=loadings, factor=factor, energy=energy
    )


def scores_of(state: State, seen: Frozen) -> list[float]:
    """q = Σw_i z_i + ω·f of each weight vector."""
    values = seen.z | dict(zip(OWN, seen.f, strict=True))
    return [
        sum((weights.get(name, 0.0) * x for name, x in values.items()), 0.0)
        for weights in state.weights
    ]


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


def quantile(
    state: State, rate: float, magnitude: float, blank: bool, coin: float
) -> tuple[bool, float, float, State]:
    """Step 6, for 0 < rate < 1: whether to ask, the probability, the gap, and the state after."""
    A, t = state.asked, state.t
    g = state.g + (magnitude - state.g) * max(1 / (t + 1), 0.005)
    b = state.b
    gap = 1.0
    if state.learned == 0:
        want = A < 3 and not blank
        probability = 1.0 if want else 0.0
    else:
        threshold = 1.5 * rate * g * exp(b)
        gap = abs(magnitude - threshold)
        want = magnitude < threshold or coin < 0.05 * rate
        probability = 1.0 if magnitude < threshold else 0.05 * rate
        b = clip(b + (rate - want) / sqrt(1 + A), 8.0)
    allowed = A < rate * (t + 1) + 2 * sqrt(rate * (t + 1)) + 3
    asked = want and allowed
    after = replace(state, g=g, b=b, t=t + 1, asked=A + asked)
    return asked, probability if allowed else 0.0, gap, after


def decide(state: State, event: dict[Name, float], rate: float, multiclass: bool) -> Decided:
    """Steps 1 to 6."""
    frozen, state = observe(state, event)
    scores = scores_of(state, frozen)
    margin, prediction = margin_of(scores, multiclass)
    coin, coins = uniform(state.coins)
    blank = not any(frozen.z.values())
    asked, probability, gap, state = quantile(state, rate, abs(margin), blank, coin)
    return Decided(
        scores, margin, prediction, asked, probability, gap, frozen, replace(state, coins=coins)
    )


# 1.3 An answer


def sigma(u: float) -> float:
    return 1 / (1 + exp(-u)) if u > -700 else 0.0


def dual_alpha(alpha: float, signed_margin: float, Q: float, C: float) -> float:
    """h(u) = u + Q·C·σ(u) + β = 0 by Newton's method; α' = C·σ(u)."""
    beta = signed_margin - Q * alpha
    u = -beta / (1 + Q * C / 4)
    for _ in range(20):
        s = sigma(u)
        step = (u + Q * C * s + beta) / (1 + Q * C * s * (1 - s))
        u -= step
        if abs(step) < 1e-6:
            break
    return C * sigma(u)


def moved(weights: Weights, seen: Frozen, by: float) -> Weights:
    values = seen.z | dict(zip(OWN, seen.f, strict=True))
    return weights | {name: weights.get(name, 0.0) + by * x for name, x in values.items()}


def signs(label: int, vectors: int, multiclass: bool) -> list[int]:
    """y in each weight vector: of two classes the sign, of several whether it is its class."""
    if not multiclass:
        return [1 if label == 1 else -1]
    return [1 if label == vector else -1 for vector in range(vectors)]


def class_weight(counts: list[int], vector: int, sign: int, multiclass: bool, C: float) -> float:
    """C_y = C·½(N + 2)/(N_y + 1)."""
    N = sum(counts)
    positives = counts[vector if multiclass else 1]
    return C * 0.5 * (N + 2) / ((positives if sign > 0 else N - positives) + 1)


def dual_step(state: State, place: int, multiclass: bool, C: float) -> State:
    """One exact step of coordinate ascent on a stored event, in every weight vector."""
    if multiclass and len(state.weights) < 2:
        return state  # one class known: nothing to tell it from
    seen, label, alphas = state.store[place]
    Q = sum(x**2 for x in seen.z.values()) + sum(x**2 for x in seen.f)
    if Q == 0:
        return state
    weights, alphas = list(state.weights), list(alphas)
    scores = scores_of(state, seen)
    for vector, y in enumerate(signs(label, len(weights), multiclass)):
        C_y = class_weight(state.counts, vector, y, multiclass, C)
        alpha = dual_alpha(alphas[vector], y * scores[vector], Q, C_y)
        weights[vector] = moved(weights[vector], seen, (alpha - alphas[vector]) * y)
        alphas[vector] = alpha
    store = [*state.store]
    store[place] = Stored(seen, label, alphas)
    return replace(state, weights=weights, store=store)


def restate(state: State, place: int, multiclass: bool) -> State:
    """Bring the factor of a stored event up to date: ω_U += α y (f_U' − f_U)."""
    (z, f), label, alphas = state.store[place]
    known = state.view.features
    D = sum(regularity(known[name]) * x**2 for name, x in z.items() if name in known)
    new = f_factor(D, factor_score(state, z), state.factor)
    weights = list(state.weights)
    for vector, y in enumerate(signs(label, len(weights), multiclass)):
        old = weights[vector].get(OWN[0], 0.0)
        change = alphas[vector] * y * (new - f[0])
        weights[vector] = weights[vector] | {OWN[0]: old + change}
    store = [*state.store]
    store[place] = Stored(Frozen(z, (new, f[1], f[2])), label, alphas)
    return replace(state, weights=weights, store=store)


def answer(
    state: State,
    seen: Frozen,
    label: int,
    multiclass: bool,
    C: float = 1.0,
    replay: int = 20,
    memory: int = 200,
) -> State:
    """Learn an answer; `label` is the number of classes if the class is new."""
    counts, weights, store = list(state.counts), list(state.weights), list(state.store)
    if label == len(counts):
        counts.append(0)
        weights.append({})
        store = [Stored(one.seen, one.label, [*one.alphas, 0.0]) for one in store]
    counts[label] += 1
    store.append(Stored(seen, label, [0.0] * len(weights)))
    cursor = state.cursor
    if len(store) > memory:
        store = store[1:]
        cursor = max(0, cursor - 1)  # it stays with its event
    state = replace(
        state, counts=counts, weights=weights, store=store, learned=state.learned + 1
    )
    newest = len(store) - 1
    state = dual_step(state, newest, multiclass, C)
    for _ in range(replay):
        cursor = cursor + 1 if cursor + 1 < len(store) else 0
        if cursor != newest:
            state = restate(state, cursor, multiclass)
        state = dual_step(state, cursor, multiclass, C)
    return replace(state, cursor=cursor)


# Probabilities


def probabilities(state: State, scores: list[float], multiclass: bool) -> list[float]:
    """σ of each score moved back by the class weights, ln((N_y + 1)/(N − N_y + 1)); to sum 1."""
    N = sum(state.counts)
    if not multiclass:
        p = sigma(scores[0] + log((state.counts[1] + 1) / (state.counts[0] + 1)))
        return [1 - p, p]
    parts = [
        sigma(q + log((count + 1) / (N - count + 1)))
        for q, count in zip(scores, state.counts, strict=True)
    ]
    return [part / sum(parts) for part in parts]
