"""Spring in plain Python: every equation in the order in which it is specified.

An input is a feature's value or its presence (`reference.scaler`); the learner's own features, the
common factor, the energy and a constant, have values only. Every input has a weight in each of six
columns, which are mixed by trust. Signs are y = +1 and −1. Everything is changed in place.
"""

from dataclasses import dataclass, field
from math import exp, log, log1p
from typing import Any, NamedTuple

from reference import query
from reference.bound import Bound, leaving, taken
from reference.bound import Row as Kept
from reference.dual import dual_alpha, sigma
from reference.random import Generator, generators, uniform
from reference.scaler import Name, Scaler, Seen, clip, read_scaler

VALUE, PRESENCE = 0, 1
Input = tuple[Name, int]
Inputs = dict[Input, float]

OWN: tuple[Name, Name, Name] = ("(factor)", "(energy)", "(intercept)")
CONSTANT = 0.3

A, B, MID, SHORT, CALM, FADING = range(6)  # A and B are LONG and SPARE, which exchange their places
DUAL = 4
COLUMNS = 6

STORED, NEWEST = 100, 20  # labelled events of a class in MID, and in SHORT
REPEATED, REPEATED_NEWEST = 15, 8  # steps on stored events a label
C = 2.0  # of a label, if both classes have as many
KEPT = 0.99  # of the certainty of FADING's weights at each label of their inputs
SHARE = 0.01  # of trust that is spread evenly at a label
LOST, BACK, REST = 0.1, 0.5, 30
REMEMBERED = 8  # changes
FIRST_QUESTION = 10


@dataclass
class Row:
    """What is known of an input: its weights, the variances of AROW's, its sums over the labels."""

    dual: list[float] = field(default_factory=lambda: [0.0] * DUAL)
    calm: float = 0.0
    variance: float = 1.0
    fading: float = 0.0
    fading_variance: float = 1.0
    positive: float = 0.0
    negative: float = 0.0
    squares: float = 0.0


@dataclass(eq=False)
class Stored:
    """A labelled event, its α in each dual column, and which columns have learned it."""

    number: int
    inputs: Inputs
    y: int
    alphas: list[float] = field(default_factory=lambda: [0.0] * DUAL)
    held: list[bool] = field(default_factory=lambda: [False] * DUAL)


class Margins(NamedTuple):
    dual: list[float]
    calm: float
    fading: float
    """Both before their slopes."""
    Q: float
    """Σρz², of the inputs whose features were learned."""


class Decided(NamedTuple):
    """A decision: what its answer is learned from is frozen."""

    number: int
    inputs: Inputs
    margin: float
    asked: bool
    query_probability: float
    gap: float
    """How far |q|/Q is from the threshold of the question, if there is one."""

    @property
    def weight(self) -> float:
        """How many events its label stands for."""
        return min(10.0, 1 / self.query_probability) if self.asked else 1.0


class Change(NamedTuple):
    number: int
    learned: int
    reason: str
    reign: int


def side_of(y: int) -> int:
    return int(y > 0)


def next_slope(slope: float, curve: float, q: float, y: int) -> tuple[float, float]:
    """A step on the log loss of κq, κ the slope."""
    wrong = sigma(-y * slope * q)
    curve = 0.998 * curve + q**2 * wrong * (1 - wrong)
    return clip(slope + y * q * wrong / (curve + 1), 0.5, 20.0), curve


def softplus(u: float) -> float:
    return log1p(exp(u)) if u < 30 else u + exp(-u)


class Spring:
    def __init__(self, rate: float, seed: int = 0, bound: Bound | None = None) -> None:
        self.rate, self.bound = rate, bound
        self.scaler = Scaler()
        self.coins: Generator = generators(seed)[0]
        self.seen = self.asked = self.learned = 0
        self.g = self.b = 0.0
        self.rows: dict[Input, Row] = {}
        self.labels = [0.0, 0.0]  # N and P
        self.kinds = [
            [0.0] * 4 for _ in range(2)
        ]  # Σ of S+², S+S−, S−², R over the inputs of a kind
        self.strength, self.relevance = [0.0, 0.0], [1.0, 1.0]
        self.store: tuple[list[Stored], list[Stored]] = ([], [])  # by class, oldest first
        self.cursors = [[0, 0], [0, 0]]  # by class: among all, among the newest
        self.sizes = [[0.0, 0.0] for _ in range(DUAL)]
        self.long, self.spared = A, False
        self.trust = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]
        self.odds = [1.0, 1.0]
        self.slope, self.curve = 3.0, 1.0
        self.fading_slope, self.fading_curve = 3.0, 1.0
        self.since = 0
        self.calibration = (1.0, 0.0)  # slope and offset
        self.information = [0.0, 0.0, 0.0]
        self.expected = [0.5, 1.0]  # positives, and events, that the labels stand for
        self.reigns, self.next_reign = [0, 0], 1
        self.changes: list[Change] = []

    @property
    def several(self) -> bool:
        """Whether more than two classes are known."""
        return False

    @property
    def spare(self) -> int:
        return 1 - self.long

    # Every event

    def observe(self, event: dict[Name, float]) -> Inputs:
        """The inputs of the stream's next event; names without room are left out."""
        if self.bound is not None:
            here = taken(self.bound, self.scaler.features, list(event))
            event = {name: event[name] for name in here}
        return inputs_of(self.scaler.show(event))

    def decide(self, event: dict[Name, float]) -> Decided:
        inputs = self.observe(event)
        q, confidence = self.balanced(inputs), self.confidence(inputs)
        coin, self.coins = uniform(self.coins)
        self.seen += 1
        blank = self.seen < FIRST_QUESTION or not any(
            x for (name, _), x in inputs.items() if name not in OWN
        )
        self.g = query.next_quantile_mean(self.g, self.seen, confidence)
        probability, asked = query.quantile(
            *(self.rate, self.rate * self.seen, self.asked, self.learned, blank),
            *(self.g, self.b, confidence, coin, self.several),
        )
        gap = 1.0
        first = query.first_questions(self.learned, self.several)
        if self.learned > 0 and self.asked >= first:
            gap = abs(confidence - query.quantile_threshold(self.rate, self.g, self.b))
            self.b = query.next_quantile_tilt(self.b, self.rate, asked, self.asked)
        self.asked += asked
        self.evict()
        return Decided(self.seen, inputs, q + self.shift(), asked, probability, gap)

    def look(self, event: dict[Name, float]) -> Inputs:
        """The inputs of an event outside the stream."""
        return inputs_of(self.scaler.look(event))

    # Margins

    def rho(self, one: Input) -> float:
        """The prior variance of an input's dual weights."""
        name, kind = one
        row, (N, P), s = self.rows.get(one, Row()), self.labels, self.strength[kind]
        if name in OWN:
            return 1.0
        if row.squares <= 0 or s <= 0 or P == 0 or N == 0:
            return self.relevance[kind]
        L = P + N
        v = row.squares / L - ((row.positive + row.negative) / L) ** 2
        if v <= 1e-9 * row.squares / L:  # constant
            return self.relevance[kind]
        D = row.positive / P - row.negative / N
        explained = max(0.0, D * D / v - (1 / P + 1 / N))
        return self.relevance[kind] * clip((explained + s) / (2 * s), 0.1, 5.0)

    def margins(self, inputs: Inputs) -> Margins:
        dual, calm, fading, Q = [0.0] * DUAL, 0.0, 0.0, 0.0
        for one, z in inputs.items():
            if (one[0], VALUE) not in self.rows:
                continue  # its feature was never learned
            row, rho = self.rows.get(one, Row()), self.rho(one)
            dual = [q + rho * z * w for q, w in zip(dual, row.dual, strict=True)]
            calm += z * row.calm
            fading += z * row.fading
            Q += rho * z * z
        return Margins(dual, calm, fading, Q)

    def prior(self) -> float:
        return log(self.odds[1] / self.odds[0])

    def columns(self, margins: Margins) -> list[float]:
        """The margins of all columns, as if the classes were of one size."""
        calm, fading = self.slope * margins.calm, self.fading_slope * margins.fading
        return [*margins.dual, calm - self.prior(), fading - self.prior()]

    def mixed(self, columns: list[float]) -> float:
        return sum(trust * q for trust, q in zip(self.trust, columns, strict=True))

    def balanced(self, inputs: Inputs) -> float:
        """q, under classes that weigh the same."""
        return self.mixed(self.columns(self.margins(inputs)))

    def confidence(self, inputs: Inputs) -> float:
        """|q|/Q: the smaller, the more a question is worth."""
        Q = self.margins(inputs).Q
        return abs(self.balanced(inputs)) / Q if Q > 0 else 0.0

    def margin(self, inputs: Inputs) -> float:
        """Its sign predicts."""
        return self.balanced(inputs) + self.shift()

    def shift(self) -> float:
        """What makes up for the class of few labels being learned by heart."""
        N, P = self.labels
        qq, q1, one = self.information
        if N + P == 0 or qq == 0:
            return 0.0
        lean = (N - P) / (N + P)
        known = max(0.0, one - q1 * q1 / qq)
        share = clip(self.expected[0] / self.expected[1], 1e-4, 1 - 1e-4)
        slope, offset = self.calibration
        full = (offset - log(share / (1 - share))) / slope
        return lean**2 * known / (known + 10) * full if full * lean > 0 else 0.0

    def probability(self, q: float) -> float:
        """Of the positive class."""
        slope, offset = self.calibration
        return sigma(slope * q + offset)

    def weight(self, one: Input) -> float:
        """What an input adds to the margin, for a value of 1."""
        row = self.rows.get(one, Row())
        dual = sum(trust * w for trust, w in zip(self.trust[:DUAL], row.dual, strict=True))
        calm = self.trust[CALM] * self.slope * row.calm
        fading = self.trust[FADING] * self.fading_slope * row.fading
        return self.rho(one) * dual + calm + fading

    def parts(self, inputs: Inputs) -> Inputs:
        """The contributions to the margin; the constant's has the class odds and the shift."""
        parts = {one: self.weight(one) * z for one, z in inputs.items()}
        trust = self.trust[CALM] + self.trust[FADING]
        parts[OWN[2], VALUE] += self.shift() - trust * self.prior()
        return parts

    # A label

    def learn(self, event: dict[Name, float], y: int) -> None:
        """An event of the stream that comes with its label; it has no number of its own."""
        inputs = self.observe(event)
        self.evict()
        self.teach(self.seen, inputs, y, 1.0)

    def answer(self, decided: Decided, y: int) -> None:
        """Names that are not known any more are left out."""
        known = (*self.scaler.features, *OWN)
        inputs = {one: z for one, z in decided.inputs.items() if one[0] in known}
        self.teach(decided.number, inputs, y, decided.weight)

    def teach(self, number: int, inputs: Inputs, y: int, weight: float) -> None:
        self.learned += 1
        if self.changes and number < self.changes[-1].number:
            self.learn_old(number, inputs, y)
            return
        for one in inputs:
            self.rows.setdefault(one, Row())
        margins = self.margins(inputs)
        columns = self.columns(margins)
        self.calibrate(self.mixed(columns), y, weight)
        self.judge(columns, y)
        if self.spared and self.trust[self.spare] > BACK:
            self.long = self.spare
            newest = [one.number for mine in self.store for one in mine[-NEWEST:]]
            self.note_change(min(newest, default=0), "returned")
        self.move_slopes(margins, y)
        self.learn_calm(inputs, y)
        self.learn_fading(inputs, y)
        self.odds = [0.995 * odds + (side == side_of(y)) for side, odds in enumerate(self.odds)]
        self.count_label(inputs, y)
        event = Stored(number, inputs, y)
        self.keep(event)
        self.step(event)
        for turn in range(1, 1 + REPEATED + REPEATED_NEWEST):
            self.repeat(turn % 2, among_newest=turn > REPEATED)
        self.since += 1
        best = max(range(COLUMNS), key=lambda column: (self.trust[column], -column))
        lost = self.trust[self.long] + self.trust[CALM] < LOST
        if lost and best in (MID, SHORT) and self.since > REST:
            self.reset(best)

    def calibrate(self, q: float, y: int, weight: float) -> None:
        """A step of Newton's method on the log loss of σ(aq + b)."""
        p = self.probability(q)
        for i, part in enumerate((p, 1.0)):
            self.expected[i] = 0.998 * self.expected[i] + weight * part
        weight = min(weight, 3.0)
        v = weight * p * (1 - p)
        qq, q1, one = self.information
        self.information = [0.998 * qq + v * q * q, 0.998 * q1 + v * q, 0.998 * one + v]
        a, b, d = self.information[0] + 0.3, self.information[1], self.information[2] + 0.3
        error = weight * ((y > 0) - p)
        determinant = a * d - b * b
        slope, offset = self.calibration
        self.calibration = (
            clip(slope + clip((d * error * q - b * error) / determinant, -0.5, 0.5), 0.05, 20.0),
            clip(offset + clip((a * error - b * error * q) / determinant, -0.5, 0.5), -20.0, 20.0),
        )

    def judge(self, columns: list[float], y: int) -> None:
        """Trust by the loss of each column before the label is learned, class odds put back."""
        judged = [c for c in range(COLUMNS) if c != self.spare or self.spared]
        losses = {c: softplus(-y * (columns[c] + self.prior())) for c in judged}
        best = min(losses.values())
        parts = {c: self.trust[c] * exp(best - losses[c]) for c in judged}
        for c in judged:
            self.trust[c] = (1 - SHARE) * parts[c] / sum(parts.values()) + SHARE / len(judged)

    def move_slopes(self, margins: Margins, y: int) -> None:
        self.slope, self.curve = next_slope(self.slope, self.curve, margins.calm, y)
        self.fading_slope, self.fading_curve = next_slope(
            self.fading_slope, self.fading_curve, margins.fading, y
        )

    def learn_fading(self, inputs: Inputs, y: int) -> None:
        """AROW, after what is known of the event's inputs has faded."""
        rows = [(self.rows[one], z) for one, z in inputs.items() if one in self.rows]
        for row, _ in rows:
            row.fading_variance = 1 / (KEPT / row.fading_variance + (1 - KEPT))
        loss = 1 - y * sum(row.fading * z for row, z in rows)
        variance = sum(row.fading_variance * z * z for row, z in rows)
        if loss > 0 and variance > 0:
            for row, z in rows:
                reach = row.fading_variance * z
                row.fading += loss / (variance + 1) * y * reach
                row.fading_variance -= reach * reach / (variance + 1)

    def learn_calm(self, inputs: Inputs, y: int) -> None:
        """AROW."""
        rows = [(self.rows[one], z) for one, z in inputs.items() if one in self.rows]
        loss = 1 - y * sum(row.calm * z for row, z in rows)
        variance = sum(row.variance * z * z for row, z in rows)
        if loss > 0 and variance > 0:
            for row, z in rows:
                reach = row.variance * z
                row.calm += loss / (variance + 1) * y * reach
                row.variance -= reach * reach / (variance + 1)

    def count_label(self, inputs: Inputs, y: int) -> None:
        """What the inputs of a label say about its class."""
        self.labels[side_of(y)] += 1
        for one, z in inputs.items():
            if one[0] in OWN:
                continue
            row, sums = self.rows[one], self.kinds[one[1]]
            if y > 0:
                sums[0] += z * (2 * row.positive + z)
                sums[1] += z * row.negative
                row.positive += z
            else:
                sums[2] += z * (2 * row.negative + z)
                sums[1] += z * row.positive
                row.negative += z
            sums[3] += z * z
            row.squares += z * z
        N, P = self.labels
        if P == 0 or N == 0:
            return
        L, null, explained = P + N, 1 / P + 1 / N, [-1.0, -1.0]
        for kind, (pp, pn, nn, squares) in enumerate(self.kinds):
            v = squares / L - (pp + 2 * pn + nn) / L**2
            if v > 1e-12:
                D = pp / P**2 - 2 * pn / (P * N) + nn / N**2
                explained[kind] = max(0.0, (D - null * v) / v)
        top = max(explained) + 0.3 / L
        for kind, e in enumerate(explained):
            self.strength[kind] = e + 4 / L if e >= 0 else 0.0
            self.relevance[kind] = max(0.02, (e + 0.3 / L) / top) if e >= 0 else 1.0

    def keep(self, event: Stored) -> None:
        """Put a labelled event into its class's store; what leaves a window is taken back."""
        side = side_of(event.y)
        mine = self.store[side]
        event.held[self.long] = True
        self.sizes[self.long][side] += 1
        place = sum(one.number <= event.number for one in mine)
        if place == 0 and len(mine) == STORED:
            return  # older than all of a full store: LONG alone learns it
        mine.insert(place, event)
        if len(mine) > STORED:
            self.leave(mine.pop(0), MID)
            self.cursors[side] = [max(-1, cursor - 1) for cursor in self.cursors[side]]
        newest = mine[-NEWEST:]
        for one in mine:
            if one.held[SHORT] and one not in newest:
                self.leave(one, SHORT)
        for column in (MID, SHORT) if event in newest else (MID,):
            event.held[column] = True
            self.sizes[column][side] += 1

    def leave(self, event: Stored, column: int) -> None:
        self.move(event, column, -event.alphas[column])
        event.held[column] = False
        self.sizes[column][side_of(event.y)] -= 1

    def move(self, event: Stored, column: int, change: float) -> None:
        event.alphas[column] += change
        for one, z in event.inputs.items():
            if one in self.rows:
                self.rows[one].dual[column] += change * event.y * z

    def step(self, event: Stored) -> None:
        """An exact step of dual ascent in every column that learns and holds the event."""
        margins = self.margins(event.inputs)
        for column in (self.long, MID, SHORT):
            if event.held[column]:
                self.step_in(event, column, margins)

    def step_in(self, event: Stored, column: int, margins: Margins) -> None:
        if margins.Q > 0:
            sizes = self.sizes[column]
            weight = C * 0.5 * (sum(sizes) + 2) / (sizes[side_of(event.y)] + 1)
            old = event.alphas[column]
            alpha = dual_alpha(old, event.y * margins.dual[column], margins.Q, weight)
            self.move(event, column, alpha - old)

    def repeat(self, side: int, among_newest: bool) -> None:
        """A step on the next stored event of a class; of the other one, if this one has none."""
        side = side if self.store[side] else 1 - side
        mine, cursors = self.store[side], self.cursors[side]
        if mine:
            low = max(0, len(mine) - NEWEST) if among_newest else 0
            place = cursors[among_newest] + 1
            cursors[among_newest] = place if low <= place < len(mine) else low
            self.step(mine[cursors[among_newest]])

    def learn_old(self, number: int, inputs: Inputs, y: int) -> None:
        """The label of an event from before the last change teaches what reigned then."""
        reigned = [change.reign for change in self.changes if change.number <= number]
        if not reigned and len(self.changes) == REMEMBERED:
            return  # too long ago
        reign = reigned[-1] if reigned else 0
        for column in (A, B):
            if self.reigns[column] == reign and (column == self.long or self.spared):
                for one in inputs:
                    self.rows.setdefault(one, Row())
                self.sizes[column][side_of(y)] += 1
                self.step_in(Stored(number, inputs, y), column, self.margins(inputs))
                return

    # A change of concept

    def note_change(self, number: int, reason: str) -> None:
        if self.changes:
            number = max(number, self.changes[-1].number)
        self.changes.append(Change(number, self.learned, reason, self.reigns[self.long]))
        self.changes = self.changes[-REMEMBERED:]
        self.since = 0

    def reset(self, window: int) -> None:
        """The column of a window becomes LONG, LONG becomes SPARE, CALM begins again."""
        self.long, self.spared = self.spare, True
        self.reigns[self.long] = self.next_reign
        self.next_reign += 1
        for row in self.rows.values():
            row.dual[self.long], row.calm, row.variance = 0.0, 0.0, 1.0
            row.positive, row.negative, row.squares = (
                row.positive / 2,
                row.negative / 2,
                row.squares / 2,
            )
        self.labels = [count / 2 for count in self.labels]
        self.kinds = [[pp / 4, pn / 4, nn / 4, squares / 2] for pp, pn, nn, squares in self.kinds]
        self.sizes[self.long] = list(self.sizes[window])
        for mine in self.store:
            for one in mine:
                one.alphas[self.long], one.held[self.long] = 0.0, one.held[window]
        inside = [one for mine in self.store for one in mine if one.held[window]]
        inside.sort(key=lambda one: (one.number, one.y))
        for one in inside:
            self.move(one, self.long, one.alphas[window])
        for one in inside:
            self.learn_calm(one.inputs, one.y)
        self.trust[self.long] += self.trust[window]
        self.trust[window] = 0.0
        self.note_change(inside[0].number, "mid" if window == MID else "short")

    # Eviction

    def evict(self) -> None:
        """Let names go that there are too many of, none of the last event."""
        features = self.scaler.features
        if self.bound is None or len(features) <= self.bound.most:
            return
        kinds = (VALUE, PRESENCE)
        kept = [
            Kept(name, one.last, max(abs(self.weight((name, kind))) for kind in kinds))
            for name, one in features.items()
        ]
        for name in leaving(self.bound, kept, self.scaler.rounds - 1):
            del features[name]
            for kind in kinds:
                self.forget((name, kind))

    def forget(self, one: Input) -> None:
        row, sums = self.rows.pop(one, Row()), self.kinds[one[1]]
        sums[0] = max(0.0, sums[0] - row.positive**2)
        sums[1] -= row.positive * row.negative
        sums[2] = max(0.0, sums[2] - row.negative**2)
        sums[3] = max(0.0, sums[3] - row.squares)
        for mine in self.store:
            for event in mine:
                event.inputs.pop(one, None)


def inputs_of(seen: Seen) -> Inputs:
    inputs: Inputs = {}
    for name, z in seen.values.items():
        inputs[name, VALUE] = z
        if seen.presences[name]:
            inputs[name, PRESENCE] = seen.presences[name]
    own = zip(OWN, (seen.factor, seen.energy, CONSTANT), strict=True)
    return inputs | {(name, VALUE): x for name, x in own}


def read_spring(saved: dict[str, Any], rate: float) -> Spring:
    """Spring in the state of a model file."""
    model, names = saved["model"]["spring"], saved["names"]
    rows, probability = model["rows"], model["probability"]
    one = Spring(rate)
    one.scaler = read_scaler(saved)
    one.coins = tuple(saved["coins"])
    one.seen, one.asked, one.learned = saved["seen"], saved["asked"], saved["learned"]
    one.g, one.b = saved["query"]["quantile"]["mean_margin"], saved["query"]["quantile"]["tilt"]
    fadings = rows.get("fading", [])  # not there as long as nothing was learned
    columns = (rows["features"], rows["dual"], rows["calm"], fadings, rows["sums"])
    for feature, dual, calm, fading, sums in zip(*columns, strict=True):
        for kind in (VALUE, PRESENCE):
            one.rows[names[feature], kind] = Row(
                dual[kind], *calm[kind], *fading[kind], *sums[kind]
            )
    one.labels = rows["labels"][::-1]
    words = ("positive", "mixed", "negative", "squares")
    one.kinds = [[sums[word] for word in words] for sums in rows["kinds"]]
    one.strength = [strength for strength, _ in rows["strengths"]]
    one.relevance = [relevance for _, relevance in rows["strengths"]]
    for side, window in enumerate(model["windows"]):
        keys = ("numbers", "ids", "values", "alphas", "held")
        for place, (number, ids, values, alphas, held) in enumerate(
            zip(*(window[key] for key in keys), strict=True)
        ):
            inputs = {(names[i // 2], i % 2): z for i, z in zip(ids, values, strict=True)}
            short = place >= len(window["numbers"]) - NEWEST
            one.store[side].append(
                Stored(number, inputs, 1 if side else -1, alphas, [*held, True, short])
            )
        one.cursors[side] = window["cursors"]
    fading = model.get("fading", {"trust": 0.0, "slope": 3.0, "curve": 1.0})
    one.sizes, one.odds = model["sizes"], model["odds"]
    one.trust = [*model["trust"], fading["trust"]]
    one.fading_slope, one.fading_curve = fading["slope"], fading["curve"]
    one.long, one.spared = model["long"], model["spared"]
    one.slope, one.curve, one.since = model["slope"], model["curve"], model["since"]
    one.calibration = (probability["slope"], probability["offset"])
    one.information, one.expected = (
        probability["information"],
        probability.get("expected", [0.5, 1.0]),
    )
    one.reigns, one.next_reign = model["reigns"], model["next_reign"]
    one.changes = [Change(**change) for change in model["changes"]]
    return one
