"""Spring with what was tried on it, in NumPy: learners for the studies beside this file.

    headwater study studies/spring-variants.toml

`Plain` is Spring by its equations (docs/spring.md has them; tests/test_spring_variants.py holds it
against the core). The others differ by what their first lines say; docs/spring-variants.md has what
came of them. A learner here has what a study calls: `simulate`, and `margin_many` for the test.
What an event looks like does not depend on labels, so it is worked out once for all learners.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import headwater as hw
from headwater.types import Rows, Trace

Floats = NDArray[np.float64]
Slots = NDArray[np.intp]

BIAS = 0.3
MEMORY = 200
REPLAY = 20
RECENT = 50
"""Events that `Mapped` keeps."""
GONE = 20
"""Events after which a regular feature that does not come is taken to have vanished."""


# What an event looks like


class Tracked:
    """A running mean and variance, forgetting no faster than it is told."""

    def __init__(self, slowest: float = 0.0, guard: float = 0.0) -> None:
        self.n, self.mean, self.var = 0, 0.0, 0.0
        self.slowest, self.guard = slowest, guard

    def follow(self, x: float) -> None:
        """Take up a number."""
        self.n += 1
        h = max(1 / self.n, self.slowest)
        delta = x - self.mean
        self.mean += h * delta
        self.var += h * (delta * (x - self.mean) - self.var)

    def std(self, x: float) -> float:
        """The number in deviations from the mean, cut at 3."""
        return min(max((x - self.mean) / math.sqrt(self.var + self.guard), -3.0), 3.0)


class View:
    """Steps 1 to 4 on every event of a stream, and what stored events need of each moment."""

    def __init__(self, X: Rows) -> None:
        self.slot = {name: place for place, name in enumerate(X.names)}
        d, T = len(self.slot), len(X.indptr) - 1
        self.t = 0
        self.n, self.mean, self.squares, self.runs, self.v = (np.zeros(d) for _ in range(5))
        self.first, self.last = np.zeros(d), np.full(d, -2.0)
        self.pool_weight = self.pool_log_size = 0.0
        self.energy, self.factor = Tracked(guard=1e-6), Tracked(0.005, 1e-12)
        self.usual = Tracked(0.005)
        self.slots: list[Slots] = []
        self.z: list[Floats] = []
        self.f = np.zeros((T, 3))
        self.blank: list[bool] = []
        self.looked: dict[tuple[int, int], tuple[Floats, Floats, bool]] = {}
        """Events outside the stream, at its end."""
        self.regular, self.loadings = np.zeros((T, d)), np.zeros((T, d))
        self.place_of_factor, self.size_of_factor = np.zeros(T), np.zeros(T)
        for row in range(T):
            span = slice(X.indptr[row], X.indptr[row + 1])
            self.show(X.indices[span].astype(np.intp), X.data[span])

    def show(self, slots: Slots, x: Floats) -> None:
        """The next event."""
        self.count(slots, x)
        z, f, blank = self.see(slots, x, learning=True)
        self.slots.append(slots)
        self.z.append(z)
        self.f[self.t] = f
        self.blank.append(blank)
        self.regular[self.t] = self.regularity(slice(None))
        self.loadings[self.t] = self.weights(slice(None))
        self.place_of_factor[self.t] = self.factor.mean
        self.size_of_factor[self.t] = math.sqrt(self.factor.var + self.factor.guard)
        self.t += 1

    def count(self, slots: Slots, x: Floats) -> None:
        """Step 1."""
        n, mean = self.n[slots], self.mean[slots]
        self.first[slots[n == 0]] = self.t
        self.runs[slots] += (n > 0) & (self.last[slots] == self.t - 1)
        reach = self.reach(n, self.squares[slots])
        x = np.minimum(np.maximum(x, mean - reach), mean + reach)
        delta = x - mean
        self.n[slots] = n + 1
        mean = mean + delta / (n + 1)
        self.mean[slots] = mean
        self.squares[slots] += delta * (x - mean)
        self.last[slots] = self.t
        self.pool(x, np.where(x != 0, (1 - self.regularity(slots)) ** 2, 0.0))

    def pool(self, x: Floats, k: Floats) -> None:
        """The mean size of values, which weigh k."""
        if (total := float(k.sum())) > 0:  # one value after the other comes to the same mean
            there = k > 0
            self.pool_weight += total
            size = float(np.log(np.abs(x[there])) @ k[there]) - self.pool_log_size * total
            self.pool_log_size += size / self.pool_weight

    def reach(self, n: Floats, squares: Floats) -> Floats:
        """How far from its mean a value may lie before it is cut."""
        known = (n >= 10) & (squares > 0)
        reach: Floats = np.where(known, 10 * np.sqrt(squares / np.maximum(n, 1)), np.inf)
        return reach

    def regularity(self, slots: Slots | slice) -> Floats:
        """How much a feature is a sensor and not a word."""
        a: Floats = np.minimum(1.0, 2 * self.runs[slots] / np.maximum(self.n[slots] - 1, 1)) ** 4
        return a

    def scale(self, slots: Slots) -> tuple[Floats, Floats]:
        """By what values are divided, 0 of a feature that has not moved; and rarity."""
        a, n, mean = self.regularity(slots), self.n[slots], self.mean[slots]
        variance = self.squares[slots] / n + (mean - a * mean) ** 2
        constant = variance <= 1e-24 * mean**2
        if self.pool_weight > 0:
            s = np.sqrt(variance)
            shared = np.minimum(10 * s, np.maximum(s / 10, math.exp(self.pool_log_size)))
            variance = variance + (1 - a) ** 2 * (shared**2 - variance)
        rarity = np.log(1 + np.maximum(1.0, (self.t + 1 - self.first[slots]) / n))
        return np.where(constant, 0.0, np.sqrt(variance)), rarity

    def scaled(self, slots: Slots, x: Floats) -> Floats:
        """Step 2 up to the length."""
        deviation, rarity = self.scale(slots)
        off = (x - self.regularity(slots) * self.mean[slots]) / np.where(
            deviation > 0, deviation, 1
        )
        cut = np.minimum(np.maximum(off, -3.0), 3.0)
        z: Floats = np.where(deviation > 0, cut * rarity, 0.0)
        return z

    def weights(self, slots: Slots | slice) -> Floats:
        """What a feature counts in the factor."""
        n = self.n[slots]
        weights: Floats = self.v[slots] * (n / (n + 10) * self.regularity(slots))
        return weights

    def length(self, squares: float, D: float) -> float:
        """What an event is divided by."""
        return math.sqrt(squares)

    def see(self, slots: Slots, x: Floats, learning: bool) -> tuple[Floats, Floats, bool]:
        """Steps 2 to 4: z, f, and whether there is nothing in z."""
        z = self.scaled(slots, x)
        a = self.regularity(slots)
        T, A, regular = float(z @ z), float(a.sum()), float(a @ z**2)
        D = 0.0 if T == 0 or A < 1 else regular / T
        log_energy = math.log(regular / A) if D > 0 else 0.0
        if learning:
            self.usual.follow(T)
        if T > 0:
            z = z / self.length(T, D)
        weights = self.weights(slots)
        norm = float(weights @ weights)
        u = float(weights @ z) / math.sqrt(norm) if norm > 1e-30 else None
        if learning and D > 0:
            self.energy.follow(log_energy)
        if learning and u is not None:
            self.factor.follow(u)
        f_energy = 0.3 * D * self.energy.std(log_energy) if D > 0 else 0.0
        f_factor = 0.0 if u is None else 0.5 * D * self.factor.std(u)
        if learning and T > 0:
            step = np.minimum(1.0, 3 / (self.n[slots] + 2))
            self.v[slots] += ((1.0 if u is None else u) * z - self.v[slots]) * step
        return z, np.array([f_factor, f_energy, BIAS]), T == 0

    def factors(self, t: int, rows: Floats, there: NDArray[np.bool_]) -> Floats:
        """The factors of stored events as they are after event t."""
        weights = self.loadings[t]
        norm = there @ weights**2
        known = norm > 1e-30
        u = rows @ weights / np.sqrt(np.where(known, norm, 1.0))
        deviations = (u - self.place_of_factor[t]) / self.size_of_factor[t]
        D = rows**2 @ self.regular[t]
        f: Floats = np.where(known, 0.5 * D * np.minimum(np.maximum(deviations, -3), 3), 0.0)
        return f


class SeldomView(View):
    """What is known of a feature is renewed seldom, and until then stands as it was."""

    def __init__(self, X: Rows) -> None:
        d = len(X.names)
        self.renewed, self.kept_regularity, self.inverse = (np.zeros(d) for _ in range(3))
        """`renewed` is n at the last renewal."""
        self.rarity, self.stale_after = np.zeros(d), np.zeros(d)
        self.sums, self.squares_since = np.zeros(d), np.zeros(d)
        """Of the deviations since then."""
        super().__init__(X)

    def count(self, slots: Slots, x: Floats) -> None:
        n = self.n[slots]
        self.first[slots[n == 0]] = self.t
        self.runs[slots] += (n > 0) & (self.last[slots] == self.t - 1)
        reach = self.reach(self.renewed[slots], self.squares[slots])
        delta = np.minimum(np.maximum(x - self.mean[slots], -reach), reach)
        self.n[slots] = n + 1
        self.sums[slots] += delta
        self.squares_since[slots] += delta**2
        self.last[slots] = self.t
        if (due := self.due(slots)).any():
            self.renew(slots[due], delta[due])

    def due(self, slots: Slots) -> NDArray[np.bool_]:
        """Whether a feature is renewed: n has at most five significant bits, or it is long ago."""
        significant, _ = np.frexp(self.n[slots])
        due: NDArray[np.bool_] = (32 * significant % 1 == 0) | (self.t > self.stale_after[slots])
        return due

    def renew(self, slots: Slots, delta: Floats) -> None:
        """Take up what came since the last renewal; delta is the last of it, and stands for all."""
        n, mean, sums = self.n[slots], self.mean[slots], self.sums[slots]
        x = mean + delta
        self.mean[slots] = mean + sums / n
        squares = self.squares[slots] + self.squares_since[slots] - sums * (sums / n)
        self.squares[slots] = np.maximum(0.0, squares)
        a = super().regularity(slots)
        self.kept_regularity[slots] = a
        k = np.where(x != 0, (1 - a) ** 2 * (n - self.renewed[slots]), 0.0)
        self.pool(x, k)
        self.sums[slots] = self.squares_since[slots] = 0.0
        self.renewed[slots] = n
        deviation, rarity = self.scale(slots)
        self.inverse[slots] = np.where(deviation > 0, 1 / np.where(deviation > 0, deviation, 1), 0)
        self.rarity[slots] = rarity
        self.stale_after[slots] = self.t + (self.t + 1 - self.first[slots]) / 8

    def regularity(self, slots: Slots | slice) -> Floats:
        a: Floats = self.kept_regularity[slots]
        return a

    def scaled(self, slots: Slots, x: Floats) -> Floats:
        deviations = (x - self.regularity(slots) * self.mean[slots]) * self.inverse[slots]
        z: Floats = np.minimum(np.maximum(deviations, -3.0), 3.0) * self.rarity[slots]
        return z

    def weights(self, slots: Slots | slice) -> Floats:
        n = self.renewed[slots]
        weights: Floats = self.v[slots] * (n / (n + 10) * self.regularity(slots))
        return weights


class SteadyView(View):
    """The length of an event's regular part is that of the mean event."""

    def length(self, squares: float, D: float) -> float:
        return math.sqrt(D * self.usual.mean + (1 - D) * squares)


class UncutView(View):
    """Gross errors count in full."""

    def reach(self, n: Floats, squares: Floats) -> Floats:
        return np.full(len(n), np.inf)


class HistoricView(View):
    """Every moment's statistics are kept, so that an event can be seen again as it would be now."""

    def __init__(self, X: Rows) -> None:
        self.history: list[tuple[Any, ...]] = []
        super().__init__(X)

    def show(self, slots: Slots, x: Floats) -> None:
        super().show(slots, x)
        kept = (self.n, self.mean, self.squares, self.runs, self.first)
        pool = (self.pool_weight, self.pool_log_size)
        self.history.append((*(one.copy() for one in kept), *pool))

    def again(self, t: int, slots: Slots, x: Floats) -> Floats:
        """An event as it is seen once t others have been."""
        then = View.__new__(View)
        then.t = t
        then.n, then.mean, then.squares, then.runs, then.first, *pool = self.history[t - 1]
        then.pool_weight, then.pool_log_size = pool
        return to_length_1(then.scaled(slots, x))


_last: dict[type[View], tuple[Rows, View]] = {}


def view_of(kind: type[View], X: Rows) -> View:
    """The view of a stream; the last of each kind is kept."""
    if kind not in _last or _last[kind][0] is not X:
        _last[kind] = (X, kind(X))
    return _last[kind][1]


# Spring


class Plain:
    """Spring; of several C the model of the first is used."""

    Cs: tuple[float, ...] = (1.0,)
    view_kind: type[View] = View
    first_question = 10

    def __init__(
        self,
        label_rate: float = 0.05,
        seed: int = 0,
        coin: Callable[[], float] | None = None,
    ) -> None:
        self.rate = label_rate
        self.coin = coin or np.random.default_rng(seed).random
        self.t = self.asked = self.learned = 0
        self.g = self.b = 0.0
        self.used = 0
        """Which of the models predicts."""

    def begin(self, X: Rows) -> None:
        """Room for the features of a stream."""
        self.view = view_of(self.view_kind, X)
        d, models = len(X.names), len(self.Cs)
        self.w, self.omega = np.zeros((models, d)), [[0.0] * 3 for _ in self.Cs]
        self.z, self.there = np.zeros((MEMORY, d)), np.zeros((MEMORY, d), dtype=bool)
        self.f: list[list[float]] = []
        self.y: list[int] = []
        self.alpha: list[list[float]] = [[] for _ in self.Cs]
        self.counts = {1: 0, -1: 0}
        self.cursor = 0

    def strength(self) -> float:
        """How much of factor and energy is used."""
        return 1.0

    def note(self, slots: Slots, z: Floats) -> None:
        """Every event before it is decided on, for variants."""

    def margins(self, slots: Slots, z: Floats, f: list[float]) -> list[float]:
        """What each model says."""
        said = (self.w[:, slots] @ z).tolist()
        return [q + dot(omega, f) for q, omega in zip(said, self.omega, strict=True)]

    def margin(self, q: list[float]) -> float:
        """What is said."""
        return q[self.used]

    def asks(self, size: float, blank: bool) -> bool:
        """Step 6."""
        coin, A = self.coin(), self.asked
        self.t += 1
        self.g += (size - self.g) * max(1 / self.t, 0.005)
        if self.learned == 0:
            want = A < 3 and not blank and self.t >= self.first_question
        else:
            chance = self.rate if self.g == 0 else 0.05 * self.rate
            want = size < 1.5 * self.rate * self.g * math.exp(self.b) or coin < chance
            self.b = min(max(self.b + (self.rate - want) / math.sqrt(1 + A), -8.0), 8.0)
        due = self.rate * self.t
        free = due + 2 * math.sqrt(due) + 3 > A
        self.asked += want and free
        return bool(want and free)

    def learn(self, slots: Slots, z: Floats, f: list[float], y: int) -> None:
        """An answer: a dual step on its event and on those that are stored, in turn."""
        self.counts[y] += 1
        self.learned += 1
        if len(self.y) == MEMORY:  # the oldest leaves, the cursor stays with its event
            self.z[:-1], self.there[:-1] = self.z[1:], self.there[1:]
            for kept in (self.f, self.y, *self.alpha):
                del kept[0]  # type: ignore[attr-defined]
            self.cursor = max(0, self.cursor - 1)
        new = len(self.y)
        self.z[new], self.there[new] = 0.0, False
        self.z[new, slots], self.there[new, slots] = z, True
        self.f.append(f)
        self.y.append(y)
        for alphas in self.alpha:
            alphas.append(0.0)
        places = [new]
        for _ in range(REPLAY):
            self.cursor = self.cursor + 1 if self.cursor < new else 0
            places.append(self.cursor)
        self.steps(places)

    def steps(self, places: list[int]) -> None:
        """A dual step on each of these stored events, the first of which is new."""
        unique = {place: at for at, place in enumerate(dict.fromkeys(places))}
        order = list(unique)
        rows = self.z[order]
        factors = self.view.factors(self.t - 1, rows, self.there[order]) * self.strength()
        today = dict(zip(order, factors.tolist(), strict=True))
        today[places[0]] = self.f[places[0]][0]
        gram = rows @ rows.T
        squares = gram.diagonal().tolist()
        total = self.counts[1] + self.counts[-1] + 2
        weight = {sign: 0.5 * total / (self.counts[sign] + 1) for sign in (1, -1)}
        for model, C in enumerate(self.Cs):
            q, omega, alphas = rows @ self.w[model], self.omega[model], self.alpha[model]
            change, restated = [0.0] * len(order), set()
            for turn, place in enumerate(places):
                at, y, alpha, f = unique[place], self.y[place], alphas[place], self.f[place]
                now = [today[place], f[1], f[2]]
                if place not in restated:
                    omega[0] += alpha * y * (now[0] - f[0])
                    restated.add(place)
                Q = squares[at] + dot(now, now)
                beta = y * (float(q[at]) + dot(omega, now)) - Q * alpha
                self.judge(model, turn == 0, beta, weight[y])
                alphas[place] = solve(beta, Q, C * weight[y])
                by = (alphas[place] - alpha) * y
                change[at] += by
                q += by * gram[at]
                for place_in_f in range(3):
                    omega[place_in_f] += by * now[place_in_f]
            self.w[model] += np.array(change) @ rows
        for place in order:
            self.f[place] = [today[place], *self.f[place][1:]]
        self.decide()

    def judge(self, model: int, is_new: bool, beta: float, weight: float) -> None:
        """A model's margin of an answer, without what it has learned from it."""

    def decide(self) -> None:
        """Which model is used from now on."""

    def simulate(self, X: Rows, y: Any) -> Trace:
        """Learn from a stream and give every decision."""
        self.begin(X)
        view = self.view
        margin, asked = np.zeros(len(y)), np.zeros(len(y), dtype=bool)
        features = view.f.tolist()
        for row, label in enumerate(np.asarray(y).tolist()):
            slots, z = view.slots[row], view.z[row]
            f = self.weakened(features[row])
            self.note(slots, z)
            margin[row] = self.margin(self.margins(slots, z, f))
            asked[row] = self.asks(abs(margin[row]), view.blank[row])
            if asked[row]:
                self.learn(slots, z, f, int(label))
        return Trace(np.where(margin > 0, 1, -1).astype(object), margin, asked * 1.0, asked)

    def weakened(self, f: list[float]) -> list[float]:
        """Factor and energy by their strength."""
        strength = self.strength()
        return [strength * f[0], strength * f[1], f[2]]

    def margin_many(self, X: Rows) -> Floats:
        """What is said of events outside the stream."""
        view = self.view
        place = np.array([view.slot.get(name, -1) for name in X.names])
        found = []
        for row in range(len(X.indptr) - 1):
            span = slice(X.indptr[row], X.indptr[row + 1])
            slots = place[X.indices[span]]
            known = (slots >= 0) & (view.n[slots] > 0)
            key = (id(X), row)
            if key not in view.looked:
                view.looked[key] = view.see(slots[known], X.data[span][known], learning=False)
            z, f, _ = view.looked[key]
            found.append(self.margin(self.margins(slots[known], z, self.weakened(f.tolist()))))
        return np.array(found)


def dot(one: list[float], other: list[float]) -> float:
    """The product of two vectors of three numbers."""
    return one[0] * other[0] + one[1] * other[1] + one[2] * other[2]


def sigma(u: float) -> float:
    """1/(1 + e^−u)."""
    return 1 / (1 + math.exp(-u)) if u > -700 else 0.0


def solve(beta: float, Q: float, C: float) -> float:
    """The α of an exact dual step."""
    u = -beta / (1 + Q * C / 4)
    for _ in range(20):
        s = sigma(u)
        step = (u + Q * C * s + beta) / (1 + Q * C * s * (1 - s))
        u -= step
        if abs(step) < 1e-6:
            break
    return C * sigma(u)


def softplus(u: float) -> float:
    """ln(1 + e^u)."""
    return max(u, 0.0) + math.log1p(math.exp(-abs(u)))


# An online choice of C


class Bold(Plain):
    """C = 10 for all."""

    Cs = (10.0,)


class ByLoss(Plain):
    """C of 1 and 10: the one whose answers, before they were learned, cost less."""

    Cs: tuple[float, ...] = (1.0, 10.0)
    with_stored = False
    by_error = False

    def begin(self, X: Rows) -> None:
        super().begin(X)
        self.cost = [0.0] * len(self.Cs)
        self.judged = [0] * len(self.Cs)

    def judge(self, model: int, is_new: bool, beta: float, weight: float) -> None:
        if is_new or self.with_stored:
            self.judged[model] += 1
            loss = float(beta <= 0) if self.by_error else softplus(-beta)
            span = min(self.judged[model], 10 * MEMORY)
            self.cost[model] += (weight * loss - self.cost[model]) / span

    def decide(self) -> None:
        self.used = 0
        for model, cost in enumerate(self.cost):
            if cost < self.cost[self.used] - 1e-9:  # rounding decides nothing
                self.used = model


class ByLossOfThree(ByLoss):
    """C of 1, 0.3 and 10."""

    Cs = (1.0, 0.3, 10.0)


class ByError(ByLoss):
    """By mistakes in place of the logistic loss."""

    by_error = True


class ByLeavingOut(ByLoss):
    """By the loss of every replayed event too, its own share of the margin taken away."""

    with_stored = True


class ByErrorLeavingOut(ByLeavingOut):
    """By the mistakes on replayed events, their own share of the margin taken away."""

    by_error = True


class Mixed(ByLoss):
    """Both at once: their margins weighted by e to the minus summed loss."""

    def margin(self, q: list[float]) -> float:
        total = [cost * n for cost, n in zip(self.cost, self.judged, strict=True)]
        weights = [math.exp(min(total) - one) for one in total]
        said = sum(weight * one for weight, one in zip(weights, q, strict=True))
        return said / sum(weights)


# Vanished features


class Mapped(Plain):
    """FESL's map: when regular features vanish, what the model said by them passes to those there.

    Events that show both are kept among the last; the weights of the features that stay are moved
    so that they say of these events, by ridge regression, what the vanished ones said.
    """

    ridge = 1.0

    def begin(self, X: Rows) -> None:
        super().begin(X)
        self.recent: list[tuple[Slots, Floats]] = []
        self.last, self.times = np.full(len(X.names), -GONE - 1), np.zeros(len(X.names))

    def note(self, slots: Slots, z: Floats) -> None:
        self.last[slots] = self.t
        self.times[slots] += 1
        gone = np.flatnonzero(self.last == self.t - GONE)
        if len(gone):
            gone = gone[(self.times[gone] >= 10) & (self.view.regular[self.t][gone] > 0.5)]
        if len(gone):
            self.pass_on(gone, slots)
        self.recent = [*self.recent[-RECENT + 1 :], (slots, z)]

    def pass_on(self, gone: Slots, stays: Slots) -> None:
        """Teach the features that stay what the vanished ones said where both were there."""
        both = []
        for slots, z in self.recent:
            left, right = np.isin(slots, gone), np.isin(slots, stays)
            if left.any() and right.any():
                old, new = np.zeros(len(self.last)), np.zeros(len(self.last))
                old[slots[left]], new[slots[right]] = z[left], z[right]
                both.append((to_length_1(old), to_length_1(new)))
        if not both:
            return
        X1, X2 = (np.array(part) for part in zip(*both, strict=True))
        K = X2 @ X2.T + self.ridge * np.eye(len(both))
        for w in self.w:
            w += X2.T @ np.linalg.solve(K, X1 @ w - X2 @ w)


def to_length_1(z: Floats) -> Floats:
    """The vector, of length 1 unless it is 0."""
    length = float(np.linalg.norm(z))
    return z / length if length > 0 else z


class MappedFreely(Mapped):
    """With hardly any ridge, as FESL does it."""

    ridge = 1e-6


class MappedFirmly(Mapped):
    """With a ridge of 10."""

    ridge = 10.0


# Rare classes


class Faded(Plain):
    """Factor and energy count less the rarer the rarer class is among the answers."""

    def strength(self) -> float:
        rarer = min(self.counts.values()) + 1
        return rarer / (0.5 * sum(self.counts.values()) + 1)


class Without(Plain):
    """No factor and no energy."""

    def strength(self) -> float:
        return 0.0


# Renewal


class Seldom(Plain):
    """What is known of a feature is renewed seldom."""

    view_kind = SeldomView


# Gross errors


class Uncut(Plain):
    """Values far off are counted as they are."""

    view_kind = UncutView


# Missing values


class Steady(Plain):
    """An event's regular part has its length in terms of the mean event, not of its own."""

    view_kind = SteadyView


class Restated(Plain):
    """Stored events are replayed with z from the current statistics, not only with their factor."""

    view_kind = HistoricView

    def begin(self, X: Rows) -> None:
        super().begin(X)
        self.raw: list[Floats] = []
        self.X = X

    def learn(self, slots: Slots, z: Floats, f: list[float], y: int) -> None:
        if len(self.raw) == MEMORY:
            del self.raw[0]
        self.raw.append(self.X.data[self.X.indptr[self.t - 1] : self.X.indptr[self.t]])
        super().learn(slots, z, f, y)

    def steps(self, places: list[int]) -> None:
        assert isinstance(self.view, HistoricView)
        for place in dict.fromkeys(places[1:]):
            if place == places[0]:
                continue
            slots = np.flatnonzero(self.there[place])
            z = self.view.again(self.t, slots, self.raw[place])
            moved = (z - self.z[place, slots]) * self.y[place]
            for model, alphas in enumerate(self.alpha):
                self.w[model, slots] += alphas[place] * moved
            self.z[place, slots] = z
        super().steps(places)


# The first question


class Hasty(Plain):
    """The first question is about the first event that shows something, as was specified."""

    first_question = 1


# Data with a rare class


def rare(name: str) -> tuple[Any, NDArray[np.int64]]:
    """A data set of which 5 % of the rows are left positive, by chance."""
    data = hw.datasets.load(name)
    y = np.asarray(data.y)
    negative, positive = np.flatnonzero(y < 0), np.flatnonzero(y > 0)
    kept = np.random.default_rng(0).permutation(positive)[: round(len(negative) / 19)]
    rows = np.sort(np.concatenate([negative, kept]))
    return np.asarray(data.X)[rows], y[rows]


def rare_splice() -> tuple[Any, NDArray[np.int64]]:
    """Splice with 5 % positives."""
    return rare("splice")


def rare_kr() -> tuple[Any, NDArray[np.int64]]:
    """Kr-vs-kp with 5 % positives."""
    return rare("kr-vs-kp")


def rare_spambase() -> tuple[Any, NDArray[np.int64]]:
    """Spambase with 5 % positives."""
    return rare("spambase")
