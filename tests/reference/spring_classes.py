"""Spring for several classes in plain Python: every equation in the order in which it is specified.

Inputs, questions, late answers and eviction are those of `reference.spring`. Every input has one
weight for each class in each of four columns, LONG, SPARE, MID and SHORT, which are mixed by trust.
y is the index of a class, in the order in which they were met. Everything is changed in place.
"""

from dataclasses import dataclass, field
from math import exp, log
from typing import Any, NamedTuple

from reference.bound import Bound
from reference.scaler import clip, read_scaler
from reference.spring import (
    BACK,
    MID,
    OWN,
    PRESENCE,
    REMEMBERED,
    REPEATED,
    REPEATED_NEWEST,
    REST,
    SHARE,
    SHORT,
    VALUE,
    A,
    B,
    Change,
    Input,
    Inputs,
    Spring,
)

COLUMNS = 4
STORED, NEWEST = 100, 10
C = 4.0
LOST = 0.02
FADED = 1e-6


@dataclass
class Row:
    """What is known of an input: its weights by class and column, and its sums over the labels."""

    dual: list[list[float]] = field(default_factory=list)
    sums: list[float] = field(default_factory=list)
    squares: float = 0.0


@dataclass(eq=False)
class Stored:
    """A labelled event, its a by class and column, and which columns have learned it."""

    number: int
    inputs: Inputs
    y: int
    duals: list[list[float]]
    held: list[bool] = field(default_factory=lambda: [False] * COLUMNS)


class Logits(NamedTuple):
    """By column and class."""

    columns: list[list[float]]
    Q: float
    """Σρz²."""


def softmax(logits: list[float]) -> list[float]:
    top = max(logits)
    parts = [exp(q - top) for q in logits]
    return [part / sum(parts) for part in parts]


def log_loss(logits: list[float], y: int) -> float:
    top = max(logits)
    return top + log(sum(exp(q - top) for q in logits)) - logits[y]


def softmax_step(old: list[float], logits: list[float], y: int, Q: float, C: float) -> list[float]:
    """a = C(1[k = y] − p_k) with p the softmax of the logits that follow from it.

    With β = q − Qa these are l = β + Qa', so that ln p_k + QC p_k = β_k + QC 1[k = y] − λ for one
    λ that makes Σp = 1. The left side rises with p: p by Newton's method on ln p, λ by bisection
    and then Newton's method.
    """
    right = [q - Q * a + Q * C * (k == y) for k, (q, a) in enumerate(zip(logits, old, strict=True))]

    def share(total: float) -> float:
        """The p of ln p + QC p = total."""
        u = total if total < 0 else log(max(total, 1e-3) / (Q * C) + 1e-300)
        u = min(u, 0.0)
        for _ in range(100):
            step = (u + Q * C * exp(u) - total) / (1 + Q * C * exp(u))
            u -= step
            if abs(step) < 1e-15 * max(1.0, abs(u)):
                break
        return exp(u)

    top = max(right)
    low, high = top - Q * C - 1e-9, top + log(len(right)) + 1e-9  # Σp ≥ 1 at low, ≤ 1 at high
    middle = (low + high) / 2
    for _ in range(200):
        shares = [share(b - middle) for b in right]
        excess = sum(shares) - 1
        if excess > 0:
            low = middle
        else:
            high = middle
        slope = sum(p / (1 + Q * C * p) for p in shares)
        ahead = middle + excess / slope
        if abs(ahead - middle) < 1e-15 * max(1.0, abs(middle)):
            break
        middle = ahead if low < ahead < high else (low + high) / 2
    return [C * ((k == y) - p / sum(shares)) for k, p in enumerate(shares)]


class SpringClasses(Spring):
    """`reference.spring` with several classes: what differs."""

    rows: dict[Input, Row]  # type: ignore[assignment]
    store: list[list[Stored]]  # type: ignore[assignment]

    def __init__(self, rate: float, seed: int = 0, bound: Bound | None = None) -> None:
        super().__init__(rate, seed, bound)
        self.K = 0
        self.labels = []
        self.class_sums: list[list[float]] = [[], []]  # of a kind: ΣS_k² of each class
        self.total_sums = [0.0, 0.0]  # ΣT²
        self.square_sums = [0.0, 0.0]  # ΣR
        self.store, self.cursors, self.turns = [], [], [0, 0]
        self.sizes = [[] for _ in range(COLUMNS)]
        self.trust = [1.0, 0.0, 0.0, 0.0]
        self.odds = []
        self.calibration = (1.0, 1.0)  # slope and exponent

    @property
    def several(self) -> bool:
        return self.K > 2

    def add_class(self) -> None:
        self.K += 1
        self.labels.append(0.0)
        for sums in self.class_sums:
            sums.append(0.0)
        self.store.append([])
        self.cursors.append([0, 0])
        for sizes in self.sizes:
            sizes.append(0.0)
        self.odds.append(0.0)
        for row in self.rows.values():
            row.dual.append([0.0] * COLUMNS)
            row.sums.append(0.0)
        for mine in self.store:
            for event in mine:
                event.duals.append([0.0] * COLUMNS)

    def row(self) -> Row:
        return Row([[0.0] * COLUMNS for _ in range(self.K)], [0.0] * self.K)

    # Logits

    def effect(self, between: float, v: float) -> float:
        """What classes explain beyond chance, by the analysis of variance."""
        L, K = sum(self.labels), sum(n > FADED for n in self.labels)
        return 2 * K / (K - 1) * (between / (L * v) - (K - 1) / L)

    def between(self, squares: list[float], total: float) -> float:
        """B = ΣS_k²/N_k − T²/L, of the squares."""
        parts = [s / n for s, n in zip(squares, self.labels, strict=True) if n > FADED]
        return sum(parts) - total / sum(self.labels)

    def rho(self, one: Input) -> float:
        name, kind = one
        row, s = self.rows.get(one), self.strength[kind]
        if name in OWN:
            return 1.0
        if row is None or s <= 0 or sum(n > FADED for n in self.labels) < 2:
            return self.relevance[kind]
        L, T = sum(self.labels), sum(row.sums)
        v = row.squares / L - (T / L) ** 2
        if v <= 1e-9 * row.squares / L:  # constant
            return self.relevance[kind]
        effect = max(0.0, self.effect(self.between([S * S for S in row.sums], T * T), v))
        return self.relevance[kind] * clip((effect + s) / (2 * s), 0.1, 5.0)

    def logits(self, inputs: Inputs) -> Logits:
        columns, Q = [[0.0] * self.K for _ in range(COLUMNS)], 0.0
        for one, z in inputs.items():
            rho = self.rho(one)
            if one not in self.rows:
                continue
            Q += rho * z * z
            for k, weights in enumerate(self.rows[one].dual):
                for column, w in enumerate(weights):
                    columns[column][k] += rho * z * w
        return Logits(columns, Q)

    def mixed_logits(self, columns: list[list[float]]) -> list[float]:
        return [
            sum(trust * columns[c][k] for c, trust in enumerate(self.trust)) for k in range(self.K)
        ]

    def scores(self, inputs: Inputs) -> list[float]:
        return self.mixed_logits(self.logits(inputs).columns)

    def balanced(self, inputs: Inputs) -> float:
        """The lead of the first over the second."""
        ranked = sorted(self.scores(inputs), reverse=True)
        return ranked[0] - ranked[1] if len(ranked) > 1 else 0.0

    def confidence(self, inputs: Inputs) -> float:
        return self.balanced(inputs)

    def shift(self) -> float:
        return 0.0

    def log_odds(self) -> list[float]:
        return [log(odds + 0.1) for odds in self.odds]

    def probabilities(self, scores: list[float]) -> list[float]:
        slope, exponent = self.calibration
        both = zip(scores, self.log_odds(), strict=True)
        return softmax([slope * q + exponent * odds for q, odds in both])

    def class_weight(self, one: Input, k: int) -> float:
        """What an input adds to the logit of a class, for a value of 1."""
        if one not in self.rows:
            return 0.0
        both = zip(self.trust, self.rows[one].dual[k], strict=True)
        return self.rho(one) * sum(trust * w for trust, w in both)

    def weight(self, one: Input) -> float:
        """The largest of them."""
        return max((abs(self.class_weight(one, k)) for k in range(self.K)), default=0.0)

    def parts(self, inputs: Inputs) -> Inputs:
        """The contributions to the lead."""
        scores = self.scores(inputs)
        if len(scores) < 2:
            return dict.fromkeys(inputs, 0.0)
        first, second = sorted(range(self.K), key=lambda k: (-scores[k], k))[:2]
        return {
            one: z * (self.class_weight(one, first) - self.class_weight(one, second))
            for one, z in inputs.items()
        }

    # A label

    def teach(self, number: int, inputs: Inputs, y: int, weight: float) -> None:
        self.learned += 1
        known = y < self.K
        while y >= self.K:
            self.add_class()
        for one in inputs:
            self.rows.setdefault(one, self.row())
        if self.changes and number < self.changes[-1].number:
            self.learn_old(number, inputs, y)
            return
        if known and self.K > 1:
            columns = self.logits(inputs).columns
            self.calibrate_classes(self.mixed_logits(columns), y, weight)
            self.judge_classes(columns, y)
            if self.spared and self.trust[self.spare] > BACK and self.since > REST:
                self.long = self.spare
                newest = [one.number for mine in self.store for one in mine[-NEWEST:]]
                self.note_change(min(newest, default=0), "returned")
        self.odds = [0.995 * odds + (k == y) for k, odds in enumerate(self.odds)]
        self.count_label(inputs, y)
        event = Stored(number, inputs, y, [[0.0] * COLUMNS for _ in range(self.K)])
        self.keep_class(event)
        self.step_all(event)
        for turn in range(REPEATED + REPEATED_NEWEST):
            self.repeat_next(among_newest=turn >= REPEATED)
        self.since += 1
        best = max(range(COLUMNS), key=lambda column: (self.trust[column], -column))
        if self.trust[self.long] < LOST and best in (MID, SHORT) and self.since > REST:
            self.reset(best)

    def calibrate_classes(self, scores: list[float], y: int, weight: float) -> None:
        """A step of Newton's method on the log loss of softmax(aq + b ln odds)."""
        weight = min(weight, 3.0)
        p, odds = self.probabilities(scores), self.log_odds()
        q_mean = sum(share * q for share, q in zip(p, scores, strict=True))
        o_mean = sum(share * o for share, o in zip(p, odds, strict=True))
        centred = [
            (share, q - q_mean, o - o_mean) for share, q, o in zip(p, scores, odds, strict=True)
        ]
        spread = (
            sum(share * q * q for share, q, _ in centred),
            sum(share * q * o for share, q, o in centred),
            sum(share * o * o for share, _, o in centred),
        )
        self.information = [
            0.998 * known + weight * new
            for known, new in zip(self.information, spread, strict=True)
        ]
        a, b, d = self.information[0] + 0.3, self.information[1], self.information[2] + 0.3
        by_slope, by_exponent = weight * centred[y][1], weight * centred[y][2]
        determinant = a * d - b * b
        slope, exponent = self.calibration
        slope += clip((d * by_slope - b * by_exponent) / determinant, -0.5, 0.5)
        exponent += clip((a * by_exponent - b * by_slope) / determinant, -0.5, 0.5)
        self.calibration = (clip(slope, 0.05, 20.0), clip(exponent, -0.5, 3.0))

    def judge_classes(self, columns: list[list[float]], y: int) -> None:
        """Trust by the loss of each column before the label is learned, class odds put back."""
        judged = [c for c in range(COLUMNS) if c != self.spare or self.spared]
        odds = self.log_odds()
        losses = {
            c: log_loss([q + o for q, o in zip(columns[c], odds, strict=True)], y) for c in judged
        }
        best = min(losses.values())
        parts = {c: self.trust[c] * exp(best - losses[c]) for c in judged}
        for c in judged:
            self.trust[c] = (1 - SHARE) * parts[c] / sum(parts.values()) + SHARE / len(judged)

    def count_label(self, inputs: Inputs, y: int) -> None:
        """What the inputs of a label say about its class."""
        self.labels[y] += 1
        for (name, kind), z in inputs.items():
            if name in OWN:
                continue
            row = self.rows[name, kind]
            self.class_sums[kind][y] += z * (2 * row.sums[y] + z)
            self.total_sums[kind] += z * (2 * sum(row.sums) + z)
            self.square_sums[kind] += z * z
            row.sums[y] += z
            row.squares += z * z
        if sum(n > FADED for n in self.labels) < 2:
            return
        L, explained = sum(self.labels), [-1.0, -1.0]
        for kind in (VALUE, PRESENCE):
            v = self.square_sums[kind] / L - self.total_sums[kind] / L**2
            if v > 1e-12:
                between = self.between(self.class_sums[kind], self.total_sums[kind])
                explained[kind] = max(0.0, self.effect(between, v))
        top = max(explained) + 0.3 / L
        for kind, e in enumerate(explained):
            self.strength[kind] = e + 4 / L if e >= 0 else 0.0
            self.relevance[kind] = max(0.02, (e + 0.3 / L) / top) if e >= 0 else 1.0

    def keep_class(self, event: Stored) -> None:
        """Put a labelled event into its class's store; what leaves a window is taken back."""
        y = event.y
        mine = self.store[y]
        event.held[self.long] = True
        self.sizes[self.long][y] += 1
        place = sum(one.number <= event.number for one in mine)
        if place == 0 and len(mine) == STORED:
            return  # older than all of a full store: LONG alone learns it
        mine.insert(place, event)
        if len(mine) > STORED:
            self.leave_class(mine.pop(0), MID)
            self.cursors[y] = [max(-1, cursor - 1) for cursor in self.cursors[y]]
        newest = mine[-NEWEST:]
        for one in mine:
            if one.held[SHORT] and one not in newest:
                self.leave_class(one, SHORT)
        for column in (MID, SHORT) if event in newest else (MID,):
            event.held[column] = True
            self.sizes[column][y] += 1

    def leave_class(self, event: Stored, column: int) -> None:
        self.move_class(event, column, [-dual[column] for dual in event.duals])
        event.held[column] = False
        self.sizes[column][event.y] -= 1

    def move_class(self, event: Stored, column: int, changes: list[float]) -> None:
        for k, change in enumerate(changes):
            event.duals[k][column] += change
            for one, z in event.inputs.items():
                if one in self.rows:
                    self.rows[one].dual[k][column] += change * z

    def step_all(self, event: Stored) -> None:
        """An exact step of dual ascent in every column that learns and holds the event."""
        logits = self.logits(event.inputs)
        for column in (self.long, MID, SHORT):
            if event.held[column]:
                self.step_column(event, column, logits)

    def step_column(self, event: Stored, column: int, logits: Logits) -> None:
        if logits.Q <= 0 or self.K < 2:
            return
        sizes = self.sizes[column]
        weight = C * (sum(sizes) + self.K) / (self.K * (sizes[event.y] + 1))
        old = [dual[column] for dual in event.duals]
        new = softmax_step(old, logits.columns[column], event.y, logits.Q, weight)
        self.move_class(event, column, [a - b for a, b in zip(new, old, strict=True)])

    def repeat_next(self, among_newest: bool) -> None:
        """A step on the next stored event of the next class that has any."""
        turn = self.turns[among_newest]
        y = next(k for k in (*range(turn + 1, self.K), *range(turn + 1)) if self.store[k])
        self.turns[among_newest] = y
        mine, cursors = self.store[y], self.cursors[y]
        low = max(0, len(mine) - NEWEST) if among_newest else 0
        place = cursors[among_newest] + 1
        cursors[among_newest] = place if low <= place < len(mine) else low
        self.step_all(mine[cursors[among_newest]])

    def learn_old(self, number: int, inputs: Inputs, y: int) -> None:
        """The label of an event from before the last change teaches what reigned then."""
        reigned = [change.reign for change in self.changes if change.number <= number]
        if not reigned and len(self.changes) == REMEMBERED:
            return  # too long ago
        reign = reigned[-1] if reigned else 0
        for column in (A, B):
            if self.reigns[column] == reign and (column == self.long or self.spared):
                self.sizes[column][y] += 1
                event = Stored(number, inputs, y, [[0.0] * COLUMNS for _ in range(self.K)])
                self.step_column(event, column, self.logits(inputs))
                return

    # A change of concept

    def reset(self, window: int) -> None:
        """The column of a window becomes LONG, LONG becomes SPARE."""
        self.long, self.spared = self.spare, True
        self.reigns[self.long] = self.next_reign
        self.next_reign += 1
        for row in self.rows.values():
            for weights in row.dual:
                weights[self.long] = 0.0
            row.sums, row.squares = [S / 2 for S in row.sums], row.squares / 2
        self.labels = [count / 2 for count in self.labels]
        self.class_sums = [[s / 4 for s in sums] for sums in self.class_sums]
        self.total_sums = [s / 4 for s in self.total_sums]
        self.square_sums = [s / 2 for s in self.square_sums]
        self.sizes[self.long] = list(self.sizes[window])
        for mine in self.store:
            for one in mine:
                one.held[self.long] = one.held[window]
                for dual in one.duals:
                    dual[self.long] = 0.0
        inside = [one for mine in self.store for one in mine if one.held[window]]
        inside.sort(key=lambda one: (one.number, one.y))
        for one in inside:
            self.move_class(one, self.long, [dual[window] for dual in one.duals])
        self.trust[self.long] += self.trust[window]
        self.trust[window] = 0.0
        self.note_change(inside[0].number, "mid" if window == MID else "short")

    def forget(self, one: Input) -> None:
        row, kind = self.rows.pop(one, None) or self.row(), one[1]
        sums = self.class_sums[kind]
        self.class_sums[kind] = [max(0.0, s - S * S) for s, S in zip(sums, row.sums, strict=True)]
        self.total_sums[kind] = max(0.0, self.total_sums[kind] - sum(row.sums) ** 2)
        self.square_sums[kind] = max(0.0, self.square_sums[kind] - row.squares)
        for mine in self.store:
            for event in mine:
                event.inputs.pop(one, None)


def read_spring_classes(saved: dict[str, Any], rate: float) -> SpringClasses:
    """Spring in the state of a model file."""
    model, names = saved["model"]["spring_classes"], saved["names"]
    rows, probability = model["rows"], model["probability"]
    one = SpringClasses(rate)
    for _ in model["odds"]:
        one.add_class()
    one.scaler = read_scaler(saved)
    one.coins = tuple(saved["coins"])
    one.seen, one.asked, one.learned = saved["seen"], saved["asked"], saved["learned"]
    one.g, one.b = saved["query"]["quantile"]["mean_margin"], saved["query"]["quantile"]["tilt"]
    for place, feature in enumerate(rows["features"]):
        for kind in (VALUE, PRESENCE):
            dual = [list(of_class[place][kind]) for of_class in rows["dual"]]
            sums = [of_class[place][kind] for of_class in rows["sums"]]
            one.rows[names[feature], kind] = Row(dual, sums, rows["squares"][place][kind])
    one.labels = rows["labels"]
    one.class_sums = [list(kind["classes"]) for kind in rows["kinds"]]
    one.total_sums = [kind["total"] for kind in rows["kinds"]]
    one.square_sums = [kind["squares"] for kind in rows["kinds"]]
    one.strength = [strength for strength, _ in rows["strengths"]]
    one.relevance = [relevance for _, relevance in rows["strengths"]]
    for y, window in enumerate(model["windows"]):
        keys = ("numbers", "ids", "values", "duals", "held")
        for place, (number, ids, values, duals, held) in enumerate(
            zip(*(window[key] for key in keys), strict=True)
        ):
            inputs = {(names[i // 2], i % 2): z for i, z in zip(ids, values, strict=True)}
            short = place >= len(window["numbers"]) - NEWEST
            missing = [[0.0] * COLUMNS for _ in range(one.K - len(duals))]
            duals = [list(dual) for dual in duals] + missing
            one.store[y].append(Stored(number, inputs, y, duals, [*held, True, short]))
        one.cursors[y] = window["cursors"]
    one.sizes = [[sizes[column] for sizes in model["sizes"]] for column in range(COLUMNS)]
    one.turns, one.odds, one.trust = model["turns"], model["odds"], model["trust"]
    one.long, one.spared, one.since = model["long"], model["spared"], model["since"]
    one.calibration = (probability["slope"], probability["exponent"])
    one.information = probability["information"]
    one.reigns, one.next_reign = model["reigns"], model["next_reign"]
    one.changes = [Change(**change) for change in model["changes"]]
    return one
