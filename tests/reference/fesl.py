"""FESL and RFESL in plain form: weights by name, the map as a matrix.

Hou, Zhang and Zhou, *Learning with Feature Evolvable Streams*, NIPS 2017. The loss of a prediction
f is log2(1 + exp(−y f)) with y = ±1, or (y − f)²; every step is step/√t times its slope, t counted
from the begin of the period.
"""

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Name = str | int
Event = dict[Name, float]


@dataclass(frozen=True)
class Config:
    """`combine`: weights, draw, best, new, old, frozen. `switch_after`: T1, if it is given."""

    combine: str = "weights"
    loss: str = "logistic"
    step: float = 1.0
    ridge: float | None = None
    overlap: int = 10
    horizon: int | None = None
    clip_losses: bool = False
    switch_after: int | None = None


# Losses


def loss(kind: str, f: float, y: float) -> float:
    return math.log2(1 + math.exp(-y * f)) if kind == "logistic" else (y - f) ** 2


def slope(kind: str, f: float, y: float) -> float:
    if kind == "logistic":
        return -y / (math.log(2) * (1 + math.exp(y * f)))
    return -2 * (y - f)


# Trust


@dataclass(frozen=True)
class Trust:
    """α, the sums of losses of this epoch, its rounds so far and its length (0: never changes)."""

    alpha: tuple[float, float]
    sums: tuple[float, float]
    rounds: int
    length: int


def fresh(horizon: int | None) -> Trust:
    return Trust((0.5, 0.5), (0.0, 0.0), 0, horizon or 2)


SECOND = Trust((0.0, 1.0), (0.0, 0.0), 0, 0)


def entropy(x: float) -> float:
    return sum(-p * math.log(p) for p in (x, 1 - x) if p > 0)


def trust_after(trust: Trust, losses: tuple[float, float], config: Config) -> Trust:
    T = trust.length
    if T == 0:
        return trust
    if config.combine == "weights":
        eta = math.sqrt(8 * math.log(2) / T)
        sums = (trust.sums[0] + losses[0], trust.sums[1] + losses[1])
        least = min(sums)
        v = [math.exp(-eta * (L - least)) for L in sums]
    else:
        delta = 1 / (T - 1) if T > 2 else 1.0
        H = entropy(delta)
        eta = math.sqrt(8 / T * (2 * math.log(2) + (T - 1) * H))
        least = min(losses)
        u = [
            a * math.exp(-eta * (loss - least)) for a, loss in zip(trust.alpha, losses, strict=True)
        ]
        v = [delta * sum(u) / 2 + (1 - delta) * part for part in u]
        sums = (0.0, 0.0)
    alpha = (v[0] / sum(v), v[1] / sum(v))
    after = Trust(alpha, sums, trust.rounds + 1, T)
    if config.horizon is None and after.rounds == T:
        return replace(fresh(None), length=2 * T)
    return after


# The map


@dataclass
class Bridge:
    """The old model w1 and the map ψ(x) = Mᵀx, M = (X2ᵀX2 + εI)⁻¹X2ᵀX1."""

    new_names: list[Name]
    M: NDArray[np.float64]
    w1: NDArray[np.float64]

    def psi(self, x: Event) -> NDArray[np.float64]:
        row = np.array([x.get(name, 0.0) for name in self.new_names])
        image: NDArray[np.float64] = self.M.T @ row
        return image

    def weight(self, name: Name) -> float:
        if name not in self.new_names:
            return 0.0
        return float(self.M[self.new_names.index(name)] @ self.w1)


def ridge_map(
    X1: NDArray[np.float64], X2: NDArray[np.float64], ridge: float | None
) -> NDArray[np.float64]:
    if ridge is None:
        ridge = 1e-8 * float(np.trace(X2 @ X2.T)) / len(X2)
    A = X2.T @ X2 + ridge * np.eye(X2.shape[1])
    return np.linalg.solve(A, X2.T @ X1).astype(np.float64)


# The learner


@dataclass
class State:
    """A period: its weights, those before the kept lessons, when it met its names."""

    w: Event = field(default_factory=dict)
    lagged: Event = field(default_factory=dict)
    met: dict[Name, int] = field(default_factory=dict)
    kept: list[tuple[Event, float, float]] = field(default_factory=list)
    """Event, target, step."""
    born: int = 1
    begun: int = 0
    rounds: int = 0
    bridge: Bridge | None = None
    trust: Trust = SECOND
    period: int = 1


def read(saved: dict[str, Any], names: list[Name], bridge: Bridge | None) -> State:
    """The state in a model file; the map, which is kept there in another form, is handed on."""
    e = saved["experts"]
    return State(
        w=dict(zip(names, saved["weights"], strict=True)),
        lagged=dict(zip(names, saved["lagged"], strict=True)),
        met=dict(zip(names, saved["met"], strict=True)),
        kept=[
            (
                {names[i]: value for i, value in zip(k["ids"], k["values"], strict=True)},
                k["target"],
                k["step"],
            )
            for k in saved["stored"]
        ],
        born=saved["born"],
        begun=saved["begun"],
        rounds=saved["rounds"],
        bridge=bridge,
        trust=Trust(tuple(e["alpha"]), tuple(e["lead"]), e["rounds"], e["length"]),
        period=saved["period"],
    )


def is_old(state: State, name: Name, config: Config) -> bool:
    return state.born <= state.met.get(name, 0) <= state.rounds - config.overlap


def begins_period(state: State, x: Event, config: Config) -> bool:
    if config.switch_after is not None:
        return state.period == 1 and state.rounds == config.switch_after
    if state.rounds - state.begun < 2 * config.overlap or not x:
        return False
    return not any(is_old(state, name, config) for name in x)


def dot(w: Event, x: Event) -> float:
    return sum(w.get(name, 0.0) * value for name, value in x.items())


def switched(state: State, config: Config) -> State:
    """The state at the begin of the next period."""
    old = [name for name in state.met if is_old(state, name, config)]
    w1 = {name: state.lagged[name] for name in old}
    t = state.rounds - state.begun - len(state.kept)
    for x, y, _ in state.kept:  # once more, on the old names alone
        t += 1
        x1 = {name: value for name, value in x.items() if name in w1}
        pull = -slope(config.loss, dot(w1, x1), y) * config.step / math.sqrt(t)
        for name, value in x1.items():
            w1[name] += pull * value
    whole = [x for x, _, _ in state.kept if any(n in w1 for n in x) and any(n not in w1 for n in x)]
    new = sorted({name for x in whole for name in x if name not in w1}, key=str)
    bridge = None
    if whole and config.combine != "new":
        X1 = np.array([[x.get(name, 0.0) for name in old] for x in whole])
        X2 = np.array([[x.get(name, 0.0) for name in new] for x in whole])
        if (X2 != 0).any():
            M = ridge_map(X1, X2, config.ridge)
            bridge = Bridge(new, M, np.array([w1[name] for name in old]))
    young = {n for n in state.met if state.met[n] >= state.born and n not in old}
    w = {name: 0.0 if name in young else value for name, value in state.w.items()}
    return State(
        w=w,
        lagged=dict(w),
        met=dict(state.met),
        kept=[],
        born=state.rounds - config.overlap + 1,
        begun=state.rounds,
        rounds=state.rounds,
        bridge=bridge,
        trust=fresh(config.horizon) if bridge else SECOND,
        period=state.period + 1,
    )


def predictions(state: State, x: Event) -> tuple[float, float]:
    """f1 and f2."""
    f1 = 0.0 if state.bridge is None else float(state.bridge.w1 @ state.bridge.psi(x))
    return f1, dot(state.w, x)


def combined(state: State, f: tuple[float, float], config: Config, coin: float) -> float:
    a1, a2 = state.trust.alpha
    if state.bridge is None or config.combine == "new":
        return f[1]
    if config.combine in ("old", "frozen"):
        return f[0]
    if config.combine == "weights":
        return a1 * f[0] + a2 * f[1]
    if config.combine == "best":
        return f[0] if a1 >= a2 else f[1]
    return f[0] if coin < a1 / (a1 + a2) else f[1]


def learn(state: State, x: Event, y: float, config: Config, coin: float) -> tuple[float, State]:
    """The prediction of an event, and the state after its lesson."""
    if begins_period(state, x, config):
        state = switched(state, config)
    t = state.rounds - state.begun + 1
    f = predictions(state, x)
    margin = combined(state, f, config, coin)
    pulls = [-slope(config.loss, part, y) * config.step / math.sqrt(t) for part in f]
    losses = [loss(config.loss, part, y) for part in f]
    if config.clip_losses:
        losses = [min(1.0, part) for part in losses]

    bridge = state.bridge
    if bridge is not None and config.combine != "frozen":
        bridge = replace(bridge, w1=bridge.w1 + pulls[0] * bridge.psi(x))
    w, lagged, met = dict(state.w), dict(state.lagged), dict(state.met)
    for name, value in x.items():
        w[name] = w.get(name, 0.0) + pulls[1] * value
        lagged.setdefault(name, 0.0)
        if met.get(name, 0) < state.born:
            met[name] = state.rounds + 1
    kept = [*state.kept, (x, y, pulls[1])]
    if len(kept) > config.overlap:
        past, _, step = kept.pop(0)
        for name, value in past.items():
            lagged[name] += step * value
    trust = trust_after(state.trust, (losses[0], losses[1]), config)
    after = replace(
        state,
        w=w,
        lagged=lagged,
        met=met,
        kept=kept,
        rounds=state.rounds + 1,
        bridge=bridge,
        trust=trust,
    )
    return margin, after


# The paper, word for word: both spaces and the schedule are known


def paper(
    S1: NDArray[np.float64],
    S2: NDArray[np.float64],
    y: NDArray[np.float64],
    T1: int,
    config: Config,
) -> list[float]:
    """The predictions f1, f2 mixed by FESL-c over phase 2, or those of NOGD, ROGD-u, ROGD-f."""
    B, T2 = config.overlap, len(y) - T1
    w1 = np.zeros(S1.shape[1])
    for t in range(T1):
        w1 -= config.step / math.sqrt(t + 1) * slope(config.loss, float(w1 @ S1[t]), y[t]) * S1[t]
    M = ridge_map(S1[T1 - B : T1], S2[T1 - B : T1], config.ridge)
    w2 = np.zeros(S2.shape[1])
    trust = fresh(T2)
    known = replace(config, horizon=T2)
    made = []
    for t in range(T2):
        x, label = S2[T1 + t], y[T1 + t]
        psi = M.T @ x
        f = (float(w1 @ psi), float(w2 @ x))
        a1, a2 = {"new": (0, 1), "old": (1, 0), "frozen": (1, 0)}.get(config.combine, trust.alpha)
        made.append(a1 * f[0] + a2 * f[1])
        rate = config.step / math.sqrt(t + 1)
        if config.combine != "frozen":
            w1 = w1 - rate * slope(config.loss, f[0], label) * psi
        w2 -= rate * slope(config.loss, f[1], label) * x
        losses = (loss(config.loss, f[0], label), loss(config.loss, f[1], label))
        trust = trust_after(trust, losses, known)
    return made


# RFESL


@dataclass
class Growing:
    """w1 on the names known before the period, w2 on all, the lessons of the period."""

    w1: Event = field(default_factory=dict)
    w2: Event = field(default_factory=dict)
    rounds: int = 0
    trust: Trust = SECOND


def read_growing(saved: dict[str, Any], names: list[Name]) -> Growing:
    e = saved["experts"]
    return Growing(
        w1=dict(zip(names, saved["old"], strict=False)),
        w2=dict(zip(names, saved["new"], strict=True)),
        rounds=saved["rounds"],
        trust=Trust(tuple(e["alpha"]), tuple(e["lead"]), e["rounds"], e["length"]),
    )


def learn_growing(state: Growing, x: Event, y: float, config: Config) -> Growing:
    """The state after a lesson."""
    if any(name not in state.w2 for name in x):
        a1, a2 = state.trust.alpha
        mixed = {n: a1 * state.w1.get(n, 0.0) + a2 * w for n, w in state.w2.items()}
        w2 = dict.fromkeys([*state.w2, *x], 0.0)
        state = Growing(mixed, w2, 0, fresh(config.horizon) if mixed else SECOND)
    w1, w2 = dict(state.w1), dict(state.w2)
    f = (dot(w1, x), dot(w2, x))
    rate = config.step / math.sqrt(state.rounds + 1)
    for w, part in ((w1, f[0]), (w2, f[1])):
        for name, value in x.items():
            if name in w:
                w[name] -= rate * slope("logistic", part, y) * value
    losses = (loss("logistic", f[0], y), loss("logistic", f[1], y))
    return Growing(w1, w2, state.rounds + 1, trust_after(state.trust, losses, config))
