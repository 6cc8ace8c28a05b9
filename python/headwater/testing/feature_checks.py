"""How features are read, and what a learner remembers of them."""

import math
import random
from typing import Any

import numpy as np

from headwater.errors import EventError, StepError
from headwater.testing.expect import refused, same, true
from headwater.testing.small_stream import (
    Event,
    Make,
    SmallStream,
    follow,
    halfway,
    keyed,
    known_names,
)
from headwater.testing.traits import is_closed, is_scaled, kind_of, own_names
from headwater.types import Name


def check_the_order_of_features_matters_by_rounding_only(make: Make, stream: SmallStream) -> None:
    """Features in another order give the same questions, and margins equal up to rounding."""
    straight, shuffled = make(), make()
    coin = random.Random(5)
    mixed = [dict(coin.sample(list(event.items()), len(event))) for event in stream.events]
    one = follow(straight, stream.events, stream.labels)
    other = follow(shuffled, mixed, stream.labels)
    margins = np.array([step[1] for step in one])
    apart = float(np.abs(margins - [step[1] for step in other]).max())
    most = 1e-9 * float(np.abs(margins).max())
    true(apart <= most, f"margins in another order: expected at most {most} apart, got {apart}")
    same([step[-1] for step in other], [step[-1] for step in one], "the questions")
    same(known_names(shuffled), known_names(straight), "the names")


def check_features_may_emerge_vanish_and_return(make: Make, stream: SmallStream) -> None:
    """A learner accepts new names at any time, and events without the old ones."""
    model = make()
    model.learn_one({"old": 1.0, "here": 1.0}, stream.labels[0])
    model.learn_one({"here": -1.0, "emerging": 0.5}, stream.labels[1])
    model.learn_one({}, stream.labels[2])
    model.learn_one({"old": 2.0}, stream.labels[3])
    known = {feature.name: feature[1:4] for feature in model.features()}
    same(known.get("old"), (1, 4, 2), "first, last and times learned of a feature that returned")
    same(known.get("here"), (1, 2, 2), "first, last and times learned of a feature that vanished")
    emerged = None if is_closed(model) else (2, 2, 1)
    same(known.get("emerging"), emerged, "first, last and times learned of a new feature")


def check_a_name_never_learned_adds_nothing(make: Make, stream: SmallStream) -> None:
    """A feature whose name was never learned does not move the margin."""
    model = halfway(make, stream)
    for event in stream.rest()[0]:
        wider = {**event, "never learned": 3.0}
        with_it, without = model.margin_one(wider), model.margin_one(event)
        if kind_of(model) == "second_order":  # there it makes every margin smaller
            true(abs(with_it) <= abs(without), "the margin: expected a smaller one")
        elif kind_of(model) != "ofs_partial":  # there another draw looks elsewhere
            same(with_it, without, "the margin")
        parts = model.explain_one(wider).contributions  # with a scaler it is no part at all
        same(parts.get("never learned", 0.0), 0.0, "the contribution of a name never learned")


def check_deciding_makes_no_feature_known(make: Make, stream: SmallStream) -> None:
    """Only learning makes names known."""
    model = make()
    for event in stream.events:
        model.decide_one(event)
    same(model.features(), [], "the features before the first label")
    true(not any(model.weights().values()), "the weights before the first label: expected none")


def check_none_and_nan_are_absent(make: Make, stream: SmallStream) -> None:
    """A feature whose value is None or NaN is not there."""
    plain, gappy = make(), make()
    one = follow(plain, stream.events, stream.labels)
    gaps: list[Event] = [{"gone": None, **event, 99: math.nan} for event in stream.events]
    same(follow(gappy, gaps, stream.labels), one, "the decisions")
    same(gappy.to_bytes(), plain.to_bytes(), "the state")
    same(gappy.decide_one(gaps[0]).features, stream.events[0], "the features of a decision")


def check_zero_is_an_observation(make: Make, stream: SmallStream) -> None:
    """A feature whose value is 0 is there: its name is learned."""
    with_zero, without = make(), make()
    for label in stream.labels[:2]:
        with_zero.learn_one({"a": 1.0, "zero": 0.0}, label)
        without.learn_one({"a": 1.0}, label)
    known = {feature.name: feature[1:4] for feature in with_zero.features()}
    same(known.get("zero"), (1, 2, 2), "first, last and times learned of a feature of value 0")
    same(known.keys() - {"zero"}, set(known_names(without)), "the other names")
    same(with_zero.decide_one({"zero": 0}).features, {"zero": 0.0}, "the features of a decision")


def check_a_bool_counts_as_zero_or_one(make: Make, stream: SmallStream) -> None:
    """True is 1 and False is 0."""
    truths, numbers = make(), make()
    for label in stream.labels[:8]:
        truths.learn_one({"on": True, "off": False, "np": np.True_, "x": 0.5}, label)
        numbers.learn_one({"on": 1, "off": 0, "np": 1.0, "x": 0.5}, label)
    same(truths.to_bytes(), numbers.to_bytes(), "the state")


def check_a_text_value_is_an_indicator(make: Make, stream: SmallStream) -> None:
    """A feature whose value is a text is the feature `name=text` of value 1."""
    texts, indicators = make(), make()
    for position, label in enumerate(stream.labels[:8]):
        place = "roof" if position % 2 else "cellar"
        texts.learn_one({"site": place, 7: np.str_("x"), "t": 0.5}, label)
        indicators.learn_one({f"site={place}": 1.0, "7=x": 1.0, "t": 0.5}, label)
    same(texts.to_bytes(), indicators.to_bytes(), "the state")
    same(texts.decide_one({"site": "roof"}).features, {"site=roof": 1.0}, "the features")


def check_a_number_and_its_text_are_different_names(make: Make, stream: SmallStream) -> None:
    """1 and "1" are two names, of which the number comes first."""
    model = make()
    model.learn_one({"1": 2.0, 1: 1.0}, stream.labels[0])
    same([name for name in known_names(model) if name not in own_names(model)], [1, "1"], "names")


def check_what_is_no_event_is_refused(make: Make, stream: SmallStream) -> None:
    """An infinity, a nested value or a name of another type is an error that changes nothing."""
    model = halfway(make, stream)
    before = model.to_bytes()
    wrong: list[object] = [{"a": math.inf}, {"a": [1.0]}, {("a",): 1.0}, {"a" * 1025: 1.0}, 3]
    for x in wrong:
        with refused(EventError, f"learn_one with {str(x)[:20]}"):
            model.learn_one(x, stream.labels[0])  # type: ignore[arg-type]
        with refused(EventError, f"decide_one with {str(x)[:20]}"):
            model.decide_one(x)  # type: ignore[arg-type]
    same(model.to_bytes(), before, "the state after an error")


def check_the_register_tells_when_features_were_learned(make: Make, stream: SmallStream) -> None:
    """`features()` lists names in the order of learning, with first, last and times learned."""
    model = make()
    expected: dict[Name, list[int]] = {}
    rounds = 0
    for event, label in zip(keyed(stream.events), stream.labels, strict=True):
        if not model.query_one(event):
            continue
        model.learn_one(event, label)
        rounds += 1
        for name in [*own_names(model), *sorted(event, key=str)]:
            if name in expected:
                expected[name][1:] = [rounds, expected[name][2] + 1]
            elif rounds == 1 or not is_closed(model):
                expected[name] = [rounds, rounds, 1]
    same({f.name: [*f[1:4]] for f in model.features()}, expected, "first, last, times learned")
    own = own_names(model)
    met = [name for name in expected if name not in own]
    known = [name for name in known_names(model) if name not in own]
    same(known, met, "the names in the order in which they were met")


def without_presences(weights: dict[Any, Any]) -> dict[Any, Any]:
    """The weights of values; a learner with a scaler also has one per presence of a feature."""
    return {name: weight for name, weight in weights.items() if "(present)" not in str(name)}


def check_weights_hold_no_zeros(make: Make, stream: SmallStream) -> None:
    """`weights()` holds what `features()` says and leaves out zeros."""
    model = make()
    model.learn_one({"zero": 0.0, "x": 1.0}, stream.labels[0])
    follow(model, stream.events, stream.labels)
    weights, features = model.weights(), model.features()
    if stream.task == "multiclass":
        if weights or kind_of(model) != "external":
            same(tuple(weights), model.labels, "the labels of the weights")
        for label in weights:
            listed = {f.name: f.weight[label] for f in features if isinstance(f.weight, dict)}
            expected = {n: w for n, w in listed.items() if w != 0}
            same(without_presences(weights[label]), expected, "the weights")
    else:
        listed_weights = {f.name: f.weight for f in features if f.weight != 0}
        same(without_presences(weights), listed_weights, "the weights")
    true("zero" in known_names(model), "the names: expected one whose value was 0")


def check_explanations_add_up_to_the_margin(make: Make, stream: SmallStream) -> None:
    """The contributions of all features, the largest first, add up to the margin."""
    model = halfway(make, stream)
    for event in stream.events:
        explanation = model.explain_one(event)
        parts = explanation.contributions
        true(explanation.reason.endswith("."), "the reason of an explanation: expected a sentence")
        if not parts and kind_of(model) == "external":  # which need not tell
            continue
        sizes = [abs(part) for part in parts.values()]
        apart = abs(sum(parts.values()) - explanation.margin)
        most = 1e-9 * max(sum(sizes), abs(explanation.margin))
        true(apart <= most, f"the contributions: expected a sum of {explanation.margin}")
        same(sizes, sorted(sizes, reverse=True), "the sizes of the contributions")
        named, told = set(without_presences(parts)), {*event, *own_names(model)}
        if is_scaled(model):  # what was never seen is left out
            seen = told & set(known_names(model))
            true(seen <= named <= told, f"the names of the contributions: expected {seen}")
        else:
            same(named, told, "the names of the contributions")


def check_a_huge_value_leaves_finite_numbers(make: Make, stream: SmallStream) -> None:
    """An event with a huge value is refused whole, or learned so that predictions stay finite."""
    model = make()
    model.learn_one({"a": 1.0, "b": 1.0}, stream.labels[0])
    before = model.to_bytes()
    try:
        model.learn_one({"b": -1.0, "a": 1e200}, stream.labels[1])
    except StepError:
        same(model.to_bytes(), before, "the state after an event that was refused")
    for event in ({"a": 1.0, "b": 1.0}, {"b": 1.0}):
        try:
            model.margin_one(event)
        except StepError as error:
            raise AssertionError(
                f"the margin afterwards: expected a finite number: {error}"
            ) from None
