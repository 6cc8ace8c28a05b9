"""OLVF, one round at a time, straight from its specification: O(d), no cleverness.

State: w (`weights`) and w̄ (`space`), both in slot order. S are the features of the event known
before, N the new ones, W all features known before.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp, floor, inf, isnan, log1p
from typing import Any, NamedTuple

from reference.state import Name, read_file

NEAR = 1e-9
Event = Mapping[Any, float | None]


@dataclass(frozen=True)
class Config:
    """The parameters: C, C̄, λ, B, and whether the confidences multiply or divide."""

    C: float
    C_space: float
    l1_radius: float
    kept_share: float
    confidence: str


@dataclass
class State:
    """What is learned."""

    names: list[Name]
    weights: list[float]
    space: list[float]


class Learned(NamedTuple):
    """The state after a round; `uncut` is that before truncation, of which `kept` are kept."""

    state: State
    uncut: State
    kept: int


def start() -> State:
    """Nothing learned."""
    return State([], [], [])


def read_state(file: bytes) -> State:
    """What a model file says, the weights multiplied out."""
    _, saved = read_file(file)
    model = saved["model"]["olvf"]
    weights = [model["scale"] * stored for stored in model["weights"]]
    return State(saved["names"], weights, model["space"])


def features(event: Event) -> list[tuple[Name, float]]:
    """None and NaN are absent; 0 is there."""
    return [(name, float(v)) for name, v in event.items() if v is not None and not isnan(v)]


def margin(state: State, event: Event) -> tuple[float, float]:
    """q = w·x over the known features, and how closely it is known."""
    weight_of = dict(zip(state.names, state.weights, strict=True))
    terms = [weight_of.get(name, 0.0) * value for name, value in features(event)]
    return sum(terms, 0.0), NEAR * sum(map(abs, terms))


def confidences(state: State, event: Event) -> tuple[float, float]:
    """p^w and p^x with the state as it is."""
    of = dict(zip(state.names, state.space, strict=True))
    return sigmoid(sum(state.space)), sigmoid(sum(of.get(name, 0.0) for name, _ in features(event)))


def learn(config: Config, state: State, event: Event, label: bool, nudge: float = 0.0) -> Learned:
    """One round; `nudge` shifts q, in units of how closely it is known."""
    x = features(event)
    if not x:
        return Learned(state, state, len(state.names))
    y = 1 if label else -1

    # 1. The margin, over the features that have a weight
    q, blur = margin(state, event)
    q += nudge * blur

    # New names get their slots, in sorted order; both weights are 0.
    new = [name for name, _ in x if name not in state.names]
    new.sort(key=lambda name: (isinstance(name, str), name))
    names = state.names + new
    w = state.weights + [0.0] * len(new)
    space = state.space + [0.0] * len(new)
    slots = [names.index(name) for name, _ in x]

    # 2. The feature space learns whether the prediction was right.
    c = 1 if y * q > 0 else -1
    s = sum(space[slot] for slot in slots)
    loss_space = max(-c * s, 0.0) + log1p(exp(-abs(c * s)))
    g = sigmoid(-c * s)
    step = config.C_space if config.C_space < inf else 1e300
    if step * g * g * len(x) > loss_space:
        step = loss_space / (g * g * len(x))
    for slot in slots:
        space[slot] += step * c * g

    # 3. The confidences
    p_w = sigmoid(sum(space[: len(state.names)]))
    p_x = sigmoid(sum(space[slot] for slot in slots))

    # 4. The values
    loss = max(0.0, 1 - y * q)
    known = {name: name in state.names for name, _ in x}
    xx_known = sum(value * value for name, value in x if known[name])
    xx_new = sum(value * value for name, value in x if not known[name])
    if config.confidence == "multiply":
        xx, on_known, on_new = xx_known + xx_new, p_w, p_x
    else:
        p_w, p_x = max(p_w, 1e-12), max(p_x, 1e-12)
        xx, on_known, on_new = xx_known / p_w + xx_new / p_x, 1 / p_w, 1 / p_x
    step = min(config.C, loss / xx) if xx > 0 else 0.0
    for slot, (name, value) in zip(slots, x, strict=True):
        w[slot] += step * (on_known if known[name] else on_new) * y * value

    uncut = State(names, w, space)
    if config.kept_share == 1:
        return Learned(uncut, uncut, len(names))

    # 5. w is scaled back if w·w̄ outgrows λ.
    a = sum(one * other for one, other in zip(w, space, strict=True))
    if a > config.l1_radius:
        w = [weight * config.l1_radius / a for weight in w]
    w = [0.0 if abs(weight) < 1e-300 else weight for weight in w]
    uncut = State(names, w, space)

    # 6. The k features of largest |w| keep both weights, the older ones among equals.
    k = max(1, floor(config.kept_share * len(names) + 1e-9))
    order = sorted(range(len(names)), key=lambda slot: (-abs(w[slot]), slot))
    stays = set(order[:k])
    return Learned(
        State(
            names,
            [weight if slot in stays else 0.0 for slot, weight in enumerate(w)],
            [weight if slot in stays else 0.0 for slot, weight in enumerate(space)],
        ),
        uncut,
        k,
    )


def sigmoid(z: float) -> float:
    """1/(1 + e^−z), without overflow."""
    return exp(z) / (1 + exp(z)) if z < 0 else 1 / (1 + exp(-z))
