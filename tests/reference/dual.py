"""Dual steps of logistic regression, repeated on stored events; classes are balanced, or not.

min ½‖w‖² + Σ_j C_j ln(1 + e^{−y_j q_j}), 0 < α_j < C_j, w = Σα_j y_j x_j. There is one weight
vector for two classes and one a class for several, each of which tells its class from the rest.
With a scaler every feature is two inputs, its value and its presence, which has a name of its own.
Nothing is changed in place.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import exp, log
from typing import Any, NamedTuple

Name = str | int
Values = dict[Name, float]


class Stored(NamedTuple):
    """A labelled event: its values, its class, and its α in each weight vector."""

    values: Values
    label: int
    alphas: list[float]


@dataclass(frozen=True)
class DualState:
    weights: list[Values]
    counts: list[int]
    """Answers by class: N−, N+, or one a class."""
    store: list[Stored]
    cursor: int


def input_names(saved: dict[str, Any]) -> list[Name]:
    """The names of a model's inputs."""
    names: list[Name] = saved["names"]
    if saved["scaler"] is None:
        return names
    return [one for name in names for one in (name, f"{name} (present)")]


def read_dual(saved: dict[str, Any]) -> DualState:
    """The weights and the store in the state of a model file."""
    model, names = saved["model"]["dual_logistic"], input_names(saved)
    table = model["weights"]
    weights = [
        {name: scale * stored for name, stored in zip(names, vector, strict=True)}
        for scale, vector in zip(table["scales"], table["values"], strict=True)
    ]
    store = []
    for one in model["store"]:
        values = {names[i]: x for i, x in zip(one["ids"], one["values"], strict=True)}
        alphas = one["alphas"] + [0.0] * (len(weights) - len(one["alphas"]))
        store.append(Stored(values, one["class"], alphas))
    return DualState(weights, model["counts"], store, model["cursor"])


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
        if abs(step) < 1e-10:
            break
    return C * sigma(u)


def score(weights: Values, values: Values) -> float:
    return sum((weights.get(name, 0.0) * x for name, x in values.items()), 0.0)


def moved(weights: Values, values: Values, by: float) -> Values:
    return weights | {name: weights.get(name, 0.0) + by * x for name, x in values.items()}


def signs(label: int, vectors: int, multiclass: bool) -> list[int]:
    """y in each weight vector: of two classes the sign, of several whether it is its class."""
    if not multiclass:
        return [1 if label == 1 else -1]
    return [1 if label == vector else -1 for vector in range(vectors)]


def class_weight(
    counts: list[int], vector: int, sign: int, multiclass: bool, C: float, balance: bool
) -> float:
    """C_y = C·½(N + 2)/(N_y + 1); without balance C."""
    if not balance:
        return C
    N = sum(counts)
    positives = counts[vector if multiclass else 1]
    return C * 0.5 * (N + 2) / ((positives if sign > 0 else N - positives) + 1)


def keep_all(weights: Values) -> Values:
    return weights


def dual_step(
    state: DualState,
    place: int,
    multiclass: bool,
    C: float,
    balance: bool = True,
    let_go: Callable[[Values], Values] = keep_all,
) -> DualState:
    """One exact step of coordinate ascent on a stored event, in every weight vector."""
    if multiclass and len(state.weights) < 2:
        return state  # one class known: nothing to tell it from
    values, label, old = state.store[place]
    Q = sum(x**2 for x in values.values())
    if Q == 0:
        return state
    weights, alphas = list(state.weights), list(old)
    for vector, y in enumerate(signs(label, len(weights), multiclass)):
        C_y = class_weight(state.counts, vector, y, multiclass, C, balance)
        alphas[vector] = dual_alpha(old[vector], y * score(weights[vector], values), Q, C_y)
        by = (alphas[vector] - old[vector]) * y
        weights[vector] = let_go(moved(weights[vector], values, by))
    store = list(state.store)
    store[place] = Stored(values, label, alphas)
    return replace(state, weights=weights, store=store)


def learn(
    state: DualState,
    values: Values,
    label: int,
    multiclass: bool,
    C: float = 1.0,
    replay: int = 20,
    memory: int = 200,
    balance: bool = True,
    let_go: Callable[[Values], Values] = keep_all,
) -> DualState:
    """Learn a label, which is the number of classes if its class is new; `let_go` ends a step."""
    counts, weights, store = list(state.counts), list(state.weights), list(state.store)
    if label == len(counts):
        counts.append(0)
        weights.append({})
        store = [Stored(one.values, one.label, [*one.alphas, 0.0]) for one in store]
    counts[label] += 1
    store.append(Stored(values, label, [0.0] * len(weights)))
    cursor = state.cursor
    if len(store) > memory:
        store = store[1:]
        cursor = max(0, cursor - 1)  # it stays with its event
    state = DualState(weights, counts, store, cursor)
    newest = len(store) - 1
    state = dual_step(state, newest, multiclass, C, balance, let_go)
    for _ in range(replay):
        cursor = cursor + 1 if cursor + 1 < len(store) else 0
        state = dual_step(state, cursor, multiclass, C, balance, let_go)
    return replace(state, cursor=cursor)


def probabilities(
    counts: list[int], scores: list[float], multiclass: bool, balance: bool = True
) -> list[float]:
    """σ of each score, to sum 1; moved back by the class weights, if there are any."""

    def moved_back(q: float, count: int) -> float:
        return q + log((count + 1) / (sum(counts) - count + 1)) if balance else q

    if not multiclass:
        p = sigma(moved_back(scores[0], counts[1]))
        return [1 - p, p]
    parts = [sigma(moved_back(q, count)) for q, count in zip(scores, counts, strict=True)]
    return [part / sum(parts) for part in parts]
