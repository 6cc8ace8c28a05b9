"""One step of a whole linear learner, from an explicit state to the next one.

`NEAR` is how closely two correct computations agree: a margin is known up to `NEAR` times the sum
of the sizes of its terms, a coin up to `NEAR` of itself.
"""

from collections.abc import Mapping, Sequence
from math import isnan, sqrt
from typing import Any, NamedTuple

from reference import class_odds, query, sparsify, update
from reference.random import uniform
from reference.state import KEEPS_VARIANCES, Component, Config, Label, Name, State

NEAR = 1e-9

Event = Mapping[Any, float | None]
"""Feature name (text or integer) to value; None and NaN are absent."""
Features = list[tuple[Name, float]]
Directions = list[tuple[int, int]]
"""Which weight vectors a label moves, and whether towards the event (1) or away from it (−1)."""


class Decided(NamedTuple):
    """What a learner says of an event; `uncertain`: within `NEAR`, the coin may fall otherwise.

    The blurs say how closely margin and probability are known.
    """

    prediction: Label | None
    margin: float
    margin_blur: float
    probability: float
    probability_blur: float
    asked: bool
    uncertain: bool
    state: State


class Cut(NamedTuple):
    """A truncation: the weights of one vector before it, and how many of them were kept."""

    weights: list[float]
    kept: int


class Learned(NamedTuple):
    """The state after a label was learned, and the truncations by weight vector."""

    state: State
    cuts: dict[int, Cut]


def decide(
    config: Config,
    state: State,
    event: Event,
    asked: bool | None = None,
    rate: float | None = None,
    outcome: tuple[bool, float] | None = None,
) -> Decided:
    """Predict and draw one coin; a given `asked` stands instead of what the coin says.

    `rate` is this event's, `outcome` (asked, probability) is what was logged of it.
    """
    after = state.copy()
    x = features(config, state, event)
    scores, blurs = scores_of(after, x)
    prediction: Label | None
    if config.multiclass:
        first = best(scores)
        second = best(scores, other_than=first)
        prediction = None if first is None else state.classes[first]
        margin = 0.0 if first is None or second is None else scores[first] - scores[second]
        blur = 2 * max(blurs, default=0.0)
        magnitude = margin
    else:
        margin, magnitude = margin_of(config, state, scores[0])
        slope = 1.0 if state.class_odds is None else state.class_odds.slope
        blur = slope * blurs[0] + (NEAR if state.class_odds else 0.0)
        prediction = margin > 0

    coin, after.coins = uniform(state.coins)
    after.seen += 1
    kind, parameters = config.query
    if rate is not None and kind in ("Quota", "Quantile"):
        after.given_events += 1
        after.given_rates += rate
    rate = parameters.get("rate") if rate is None else rate
    if kind == "SelAda" and parameters["by_norm"]:
        after.largest_norm = max(state.largest_norm, squared_norm(x))

    blank = not any(value and not isnan(value) for value in event.values())

    def said(magnitude: float, coin: float) -> tuple[float, bool]:
        if outcome is not None:
            return outcome[1], outcome[0]
        return ask(config, state, after, rate, magnitude, coin, blank)

    probability, answer = said(magnitude, coin)
    nearby = [
        said(max(0.0, magnitude + shift), min(coin * factor, 1 - 2**-53))
        for shift in (-blur, 0.0, blur)
        for factor in (1 - NEAR, 1.0, 1 + NEAR)
    ]
    if asked is None:
        asked = answer
    if kind == "Quantile" and rate is not None and 0 < rate < 1:
        after.mean_margin = query.next_quantile_mean(state.mean_margin, after.seen, magnitude)
        several = config.multiclass and len(state.classes) > 2
        first = query.first_questions(state.learned, several)
        if state.learned > 0 and state.asked >= first:
            after.tilt = query.next_quantile_tilt(state.tilt, rate, asked, state.asked)
    if kind == "Budget" and rate is not None and 0 < rate < 1:
        after.mean_margin = query.next_mean_margin(state.mean_margin, after.seen, magnitude)
        after.tilt = query.next_tilt(state.tilt, rate, asked)
    after.asked += asked
    return Decided(
        prediction=prediction,
        margin=margin,
        margin_blur=blur,
        probability=probability,
        probability_blur=max(abs(near - probability) for near, _ in nearby),
        asked=asked,
        uncertain=any(other != answer for _, other in nearby),
        state=after,
    )


def ask(
    config: Config,
    before: State,
    state: State,
    rate: Any,
    magnitude: float,
    coin: float,
    blank: bool,
) -> tuple[float, bool]:
    """The query rule of `config`; `state` has counted this decision as seen, not yet as asked.

    `rate` is this event's, None for rules that have none; `before` is the state without the event.
    """
    kind, p = config.query

    def expected(then: State) -> float:
        return query.expected(p["rate"], then.seen, then.given_events, then.given_rates)

    match kind:
        case "All":
            return query.ask_all()
        case "Random":
            return query.random(rate, coin)
        case "Quota" if p["total"] is None:
            return query.quota(rate, expected(before), expected(state), state.phase)
        case "Quota":
            return query.quota_of(rate, p["total"], state.seen, state.asked, coin)
        case "Margin":
            return query.margin(p["width"], magnitude, coin)
        case "MarginPlusOne":
            return query.margin_plus_one(p["width"], magnitude, coin)
        case "SelAda" if p["by_norm"]:
            return query.sel_ada_by_norm(
                p["width"], state.mistakes, state.largest_norm, magnitude, coin
            )
        case "SelAda":
            return query.sel_ada(p["width"], state.mistakes, magnitude, coin)
        case "Decaying":
            return query.decaying(p["width"], state.seen, magnitude, coin)
        case "Budget":
            mean_margin = query.next_mean_margin(state.mean_margin, state.seen, magnitude)
            return query.budget(rate, state.seen, mean_margin, state.tilt, magnitude, coin)
        case "Quantile":
            mean_margin = query.next_quantile_mean(state.mean_margin, state.seen, magnitude)
            return query.quantile(
                rate,
                *(expected(state), state.asked, state.learned, blank),
                *(mean_margin, state.tilt, magnitude, coin),
                several=config.multiclass and len(state.classes) > 2,
            )
    raise ValueError(f"no query rule {kind}")


def learn(
    config: Config, state: State, event: Event, label: Label, nudges: Sequence[float] = ()
) -> Learned:
    """Move the weights; `nudges` shifts the score of each weight vector, in units of its blur."""
    after = state.copy()
    x = features(config, state, event)
    after.learned += 1
    meet_features(config, after, x)
    known_classes = len(after.classes)
    meet_label(config, after, label)

    scores, blurs = scores_of(after, x)
    for vector, nudge in enumerate(nudges):
        scores[vector] += nudge * blurs[vector]
    if config.multiclass:
        truth = after.classes.index(label)
        rival = best(scores, other_than=truth)
        directions = [] if rival is None else [(truth, 1), (rival, -1)]
        mistaken = best(scores[:known_classes]) != truth
    else:
        directions = [(0, 1 if label else -1)]
        mistaken = directions[0][1] * scores[0] <= 0
    if config.query[0] == "SelAda":
        wrong = mistaken
        if state.class_odds is not None:
            wrong = directions[0][1] * margin_of(config, state, scores[0])[0] <= 0
        after.mistakes += wrong
    if state.class_odds is not None:
        after.class_odds = class_odds.learn(state.class_odds, scores[0], bool(label))

    cuts = {}
    if directions and move(config, after, x, label, directions, scores, mistaken):
        for vector, _ in directions:
            cut = let_go(config, after, vector)
            if cut is not None:
                cuts[vector] = cut
    forgetting = config.update[1].get("forgetting", 0.998) if config.update[0] == "AROW" else None
    if forgetting is not None:
        forget(forgetting, after, x, directions)
    return Learned(after, cuts)


def margin_of(config: Config, state: State, product: float) -> tuple[float, float]:
    """The margin of two classes, and the size by which a query rule asks."""
    odds = state.class_odds
    if odds is None or config.class_weight is None:
        return product, abs(product)
    kind, p = config.class_weight
    match kind:
        case "Balanced":
            shift = class_odds.balanced(odds)
        case "Costs":
            shift = class_odds.of_costs(**p)
        case "Threshold":
            shift = class_odds.of_threshold(**p)
        case _:
            raise ValueError(f"no class weight {kind}")
    log_odds = odds.slope * product
    return log_odds + shift, abs(log_odds - class_odds.prior(odds))


def forget(forgetting: float, state: State, x: Features, directions: Directions) -> None:
    """The variances of the event's features go back towards 1, in the vectors of the label."""
    for vector, _ in directions:
        for name, _ in x:
            slot = state.names.index(name)
            variances = state.variances[vector]
            variances[slot] = update.forget(variances[slot], forgetting)


def features(config: Config, state: State, event: Event) -> Features:
    """What the learner may use of an event: None and NaN are absent, the intercept comes last.

    A closed learner uses the names of its first learned round only.
    """
    x = [(name, float(v)) for name, v in event.items() if v is not None and not isnan(v)]
    if config.intercept:
        x.append(("(intercept)", 1.0))
    if config.growth == "closed" and state.learned > 0:
        x = [(name, value) for name, value in x if name in state.names]
    return x


def squared_norm(x: Features) -> float:
    """‖x‖²."""
    return sum((value * value for _, value in x), 0.0)


def scores_of(state: State, x: Features) -> tuple[list[float], list[float]]:
    """w·x of each weight vector, over the features that have a weight, and its blur."""
    scores, blurs = [], []
    for weights in state.weights:
        weight_of = dict(zip(state.names, weights, strict=True))
        terms = [weight_of[name] * value for name, value in x if name in weight_of]
        scores.append(sum(terms, 0.0))
        blurs.append(NEAR * sum(abs(term) for term in terms))
    return scores, blurs


def best(scores: list[float], other_than: int | None = None) -> int | None:
    """Index of the highest score, the lowest among equals; None if there is none."""
    others = [index for index in range(len(scores)) if index != other_than]
    return max(others, key=lambda index: (scores[index], -index), default=None)


def meet_features(config: Config, state: State, x: Features) -> None:
    """Give new names their slots, in sorted order, and note in the register what is learned."""
    new = [name for name, _ in x if name not in state.names]
    if new and config.growth == "restart":
        state.weights = [[0.0] * len(weights) for weights in state.weights]
    for name in sorted(new, key=lambda name: (isinstance(name, str), name)):
        state.names.append(name)
        state.first.append(state.learned)
        state.last.append(state.learned)
        state.times.append(0)
        for weights in state.weights:
            weights.append(0.0)
        for variances in state.variances:
            variances.append(1.0)
    for name, _ in x:
        slot = state.names.index(name)
        if state.times[slot] == 0:
            state.first[slot] = state.learned
        state.last[slot] = state.learned
        state.times[slot] += 1


def meet_label(config: Config, state: State, label: Label) -> None:
    """Count a binary label; give a new class its weight vector."""
    if not config.multiclass:
        state.label_form = "bool"
        state.positives += bool(label)
        state.negatives += not label
    elif label not in state.classes:
        state.classes.append(label)
        state.weights.append([0.0] * len(state.names))
        if config.update[0] in KEEPS_VARIANCES:
            state.variances.append([1.0] * len(state.names))


def margins_of(config: Config, state: State, label: Label) -> tuple[float, float]:
    """m, the margin asked of this label, and ϱ, the margin asked of the positive class."""
    positive: float | str | Component = config.update[1].get("positive_margin", 1.0)
    if positive == "balanced":
        positive = ("Balanced", {"sensitivity_weight": 0.5})
    if isinstance(positive, tuple):
        weight = positive[1]["sensitivity_weight"]
        positive = update.balanced_margin(weight, state.positives, state.negatives)
    positive = float(positive)
    return (positive if label is True else 1.0), positive


def move(
    config: Config,
    state: State,
    x: Features,
    label: Label,
    directions: Directions,
    scores: list[float],
    mistaken: bool,
) -> bool:
    """Take the step of the update rule; return whether there was one."""
    kind, p = config.update
    if kind == "Gradient":
        shrinkage = 1 - p["step"] * p["decay"]
        state.weights = [[weight * shrinkage for weight in vector] for vector in state.weights]
    if squared_norm(x) == 0:
        return False
    signed_margin = sum(sign * scores[vector] for vector, sign in directions)
    required, positive_margin = margins_of(config, state, label)
    C = p.get("C")
    if C is None:
        C = positive_margin

    if kind in KEEPS_VARIANCES:
        return move_by_variance(config, state, x, directions, signed_margin, required, C)
    xx = len(directions) * squared_norm(x)
    if config.legacy:
        step = legacy_step(kind, signed_margin, xx, C)
    else:
        step = step_of(config, signed_margin, xx, C, required, mistaken)
    for vector, sign in directions:
        for name, value in x:
            state.weights[vector][state.names.index(name)] += sign * step * value
    return step != 0


def step_of(
    config: Config, signed_margin: float, xx: float, C: float, required: float, mistaken: bool
) -> float:
    """τ of the rules that keep no variances."""
    loss = max(0.0, required - signed_margin)
    kind, p = config.update
    match kind:
        case "Perceptron":
            return update.perceptron(mistaken)
        case "MarginPerceptron":
            return update.margin_perceptron(signed_margin, required)
        case "PA":
            return update.pa(loss, xx)
        case "PA1":
            return update.pa1(loss, xx, C)
        case "PA2":
            return update.pa2(loss, xx, C)
        case "CPA":
            return update.cpa(signed_margin, xx, C, required)
        case "Gradient":
            return update.gradient(signed_margin, p["step"])
    raise ValueError(f"no update rule {kind}")


def legacy_step(kind: str, signed_margin: float, xx: float, C: float) -> float:
    """τ as in the published code of OLSF."""
    match kind:
        case "Perceptron":
            return update.margin_perceptron(signed_margin, 1.0)
        case "PA":
            return update.legacy_pa(signed_margin, sqrt(xx))
        case "PA1":
            return update.legacy_pa1(signed_margin, sqrt(xx), C)
        case "PA2":
            return update.legacy_pa2(signed_margin, sqrt(xx), C)
    raise ValueError(f"no legacy update rule {kind}")


def move_by_variance(
    config: Config,
    state: State,
    x: Features,
    directions: Directions,
    signed_margin: float,
    required: float,
    C: float,
) -> bool:
    """Take the step of a rule that keeps variances: w_i += step·y·σ_i x_i, and σ_i shrinks."""
    variance = sum(
        state.variances[vector][state.names.index(name)] * value * value
        for vector, _ in directions
        for name, value in x
    )
    if variance == 0:
        return False
    kind, p = config.update
    shrink = update.shrink_by_difference
    if kind == "AROW":
        step, shrinkage = update.arow(max(0.0, required - signed_margin), variance, C)
    elif p["form"] == "stdev":
        step, shrinkage = update.cw_stdev(signed_margin, variance, p["confidence"])
    else:
        step, shrinkage = update.cw_variance(signed_margin, variance, p["confidence"])
        shrink = update.shrink_by_precision
    if step == 0:
        return False
    for vector, sign in directions:
        weights, variances = state.weights[vector], state.variances[vector]
        for name, value in x:
            slot = state.names.index(name)
            weights[slot] += sign * step * variances[slot] * value
            variances[slot] = shrink(variances[slot], value, shrinkage)
    return True


def let_go(config: Config, state: State, vector: int) -> Cut | None:
    """Sparsify one weight vector; return the truncation if there was one."""
    weights = [0.0 if abs(weight) < 1e-300 else weight for weight in state.weights[vector]]
    cut = None
    if config.sparsify is not None:
        kind, p = config.sparsify
        kept_of = sparsify.legacy_kept_of if config.legacy else sparsify.kept_of
        match kind:
            case "KeepLargest":
                weights = sparsify.scale_l1(weights, p["l1_radius"])
                cut = Cut(weights, kept_of(p["share"], len(weights)))
            case "KeepCount":
                weights = sparsify.scale_l2(weights, p["l2_radius"])
                cut = Cut(weights, p["count"])
            case "RandomShare":
                kept = kept_of(p["share"], len(weights))
                weights, state.draws = sparsify.keep_random(weights, kept, state.draws)
            case _:
                raise ValueError(f"no sparsifier {kind}")
    state.weights[vector] = weights if cut is None else sparsify.keep_largest(*cut)
    return cut
