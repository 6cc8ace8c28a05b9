"""The core equals the plain reference: one step at a time, and along whole streams.

Before each step the reference starts from the core's own state, as its model file shows it. Then
weights agree to 1e-9 of the largest; whether a label is asked for, a step taken, a weight kept may
differ only where margin, coin or cut lies within 1e-9 of its boundary.
"""

from collections.abc import Callable
from itertools import cycle, islice, product
from math import copysign, inf, isfinite, nan
from random import Random
from typing import Any
from zlib import crc32

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

import headwater as hw
from about import about
from effort import FULL, reduced
from headwater.errors import StepError
from headwater.learners.replication import LegacyOLSF, SelAdaByNorm
from reference.learner import NEAR, Event, Learned, decide, features, learn
from reference.state import Component, Config, Growth, Label, State, read_file, read_state, start
from replicas import replica

Round = tuple[Event, Label, str]
"""An event, its label, and what happens to it: see `follow`."""

BALANCED = ("Balanced", {"sensitivity_weight": 0.8})

UPDATES: list[Component] = [
    ("Perceptron", {}),
    ("MarginPerceptron", {"positive_margin": 1.0}),
    ("MarginPerceptron", {"positive_margin": 3.0}),
    ("MarginPerceptron", {"positive_margin": "balanced"}),
    ("PA", {"positive_margin": 1.0}),
    ("PA", {"positive_margin": BALANCED}),
    ("PA1", {"C": 0.1, "positive_margin": 1.0}),
    ("PA1", {"C": inf, "positive_margin": 0.5}),
    ("PA1", {"C": None, "positive_margin": "balanced"}),
    ("PA2", {"C": 0.5, "positive_margin": 1.0}),
    ("PA2", {"C": None, "positive_margin": 4.0}),
    ("CPA", {"C": 1.0, "positive_margin": "balanced"}),
    ("CPA", {"C": None, "positive_margin": 9.0}),
    ("AROW", {"C": 1.0, "positive_margin": 1.0, "forgetting": None}),
    ("AROW", {"C": 1.0, "positive_margin": 1.0, "forgetting": 0.998}),
    ("AROW", {"C": 5.0, "positive_margin": 2.0, "forgetting": 0.3}),
    ("AROW", {"C": inf, "positive_margin": 2.0, "forgetting": None}),
    ("AROW", {"C": None, "positive_margin": BALANCED, "forgetting": None}),
    ("CW", {"confidence": 0.9, "form": "variance"}),
    ("CW", {"confidence": 0.7, "form": "stdev"}),
    ("Gradient", {"step": 0.2, "decay": 0.01}),
    ("Gradient", {"step": 0.5, "decay": 0.0}),
]

ON_BOUNDARIES: list[Component] = [
    ("Perceptron", {}),
    ("MarginPerceptron", {"positive_margin": 1.0}),
    ("MarginPerceptron", {"positive_margin": 3.0}),
    ("Gradient", {"step": 0.5, "decay": 0.0}),
]

MULTICLASS_UPDATES: list[Component] = [
    ("Perceptron", {}),
    ("MarginPerceptron", {"positive_margin": 1.0}),
    ("PA", {"positive_margin": 1.0}),
    ("PA1", {"C": 0.1, "positive_margin": 1.0}),
    ("PA2", {"C": 0.5, "positive_margin": 1.0}),
    ("AROW", {"C": 1.0, "positive_margin": 1.0, "forgetting": None}),
    ("AROW", {"C": 1.0, "positive_margin": 1.0, "forgetting": 0.9}),
]

QUERIES: list[Component] = [
    ("All", {}),
    ("Random", {"rate": 0.4}),
    ("Quota", {"rate": 0.5, "total": 5}),
    ("Quota", {"rate": 0.3, "total": None}),
    ("Margin", {"width": 0.5}),
    ("Margin", {"width": inf}),
    ("MarginPlusOne", {"width": 2.0}),
    ("SelAda", {"width": 0.5, "by_norm": False}),
    ("SelAda", {"width": 0.1, "by_norm": True}),
    ("Decaying", {"width": 4.0}),
    ("Budget", {"rate": 0.4}),
    ("Budget", {"rate": 0.0}),
    ("Budget", {"rate": 1.0}),
    ("Quantile", {"rate": 0.4}),
    ("Quantile", {"rate": 0.02}),
    ("Quantile", {"rate": 0.0}),
    ("Quantile", {"rate": 1.0}),
]

SPARSIFIERS: list[Component | None] = [
    None,
    ("KeepLargest", {"share": 0.5, "l1_radius": 30.0}),
    ("KeepLargest", {"share": 0.29, "l1_radius": 0.5}),
    ("KeepLargest", {"share": 0.7, "l1_radius": inf}),
    ("KeepLargest", {"share": 1.0, "l1_radius": 1.0}),
    ("RandomShare", {"share": 0.5}),
    ("KeepCount", {"count": 2, "l2_radius": inf}),
    ("KeepCount", {"count": 3, "l2_radius": 1.0}),
]

LEGACY_UPDATES: list[Component] = [
    ("Perceptron", {}),
    ("PA", {"positive_margin": 1.0}),
    ("PA1", {"C": 0.1, "positive_margin": 1.0}),
    ("PA2", {"C": 2.0, "positive_margin": 1.0}),
]

LEGACY_SPARSIFIERS: list[Component | None] = [
    None,
    ("KeepLargest", {"share": 0.5, "l1_radius": 0.001**-0.5}),
    ("KeepLargest", {"share": 0.1, "l1_radius": 0.001**-0.5}),
    ("RandomShare", {"share": 0.3}),
]

CLASS_WEIGHTS: list[Component] = [
    ("Balanced", {}),
    ("Costs", {"negative": 1.0, "positive": 20.0}),
    ("Costs", {"negative": 3.0, "positive": 0.5}),
    ("Threshold", {"threshold": 0.05}),
    ("Threshold", {"threshold": 0.7}),
]

GROWTHS: list[Growth] = ["open", "restart", "closed"]
COLOURS = ("red", "green", "blue")
NAMES = ["a", "b", "ab", "B", "ä", "1", 1, -3, 10, 9, 0]


def name_of(value: object) -> str:
    """A parameter's name in a test's id."""
    if isinstance(value, Config):
        names = [name_of(one) for one in (value.update, value.query, value.sparsify)]
        names += [name_of(value.class_weight)] if value.class_weight else []
        return "-".join([*names, value.growth, "intercept" if value.intercept else "bare"])
    if isinstance(value, tuple):
        kind, parameters = value
        return "-".join([kind, *(str(parameter) for parameter in parameters.values())])
    return str(value)


# The learner under test


def model_of(config: Config, seed: int) -> Any:
    """The learner that `config` describes."""
    if config.legacy:
        update: Any = config.update[0].lower()
        kind, parameters = config.sparsify or ("all", {})
        keep: Any = {"KeepLargest": "largest", "RandomShare": "random", "all": "all"}[kind]
        return replica(
            LegacyOLSF,
            update=update,
            C=config.update[1].get("C", 1.0),
            keep=keep,
            kept_share=parameters.get("share", 1.0),
            legacy=True,
            seed=seed,
        )
    if is_sel_ada_by_norm(config):
        width = config.query[1]["width"]
        return hw.named("SEL-ada", by_norm=True, query_width=width, seed=seed)
    return hw.Linear(
        update=component_of(hw.update, config.update),
        query=query_of(config.query),
        sparsify=config.sparsify and component_of(hw.sparsify, config.sparsify),
        scale=None,
        growth=config.growth,
        intercept=config.intercept,
        multiclass=config.multiclass,
        classes=config.classes or None,
        seed=seed,
        **class_weight_of(config),
    )


def class_weight_of(config: Config) -> dict[str, Any]:
    """The parameters that stand for a class weight."""
    match config.class_weight:
        case None:
            return {"class_weight": None}
        case ("Balanced", _):
            return {"class_weight": "balanced"}
        case ("Costs", costs):
            return {"class_weight": (costs["negative"], costs["positive"])}
        case _, threshold:
            return threshold


def is_sel_ada_by_norm(config: Config) -> bool:
    """Whether it is the algorithm of that name with its switch."""
    return config == Config(("Perceptron", {}), config.query) and (
        config.query[0] == "SelAda" and config.query[1]["by_norm"]
    )


def query_of(rule: Component) -> Any:
    kind, parameters = rule
    if kind == "SelAda":
        return (SelAdaByNorm if parameters["by_norm"] else hw.query.SelAda)(parameters["width"])
    return component_of(hw.query, rule)


def component_of(module: Any, component: Component) -> Any:
    kind, parameters = component
    made = {
        key: component_of(module, value) if isinstance(value, tuple) else value
        for key, value in parameters.items()
    }
    return getattr(module, kind)(**made)


# One step


def check_decision(config: Config, model: Any, event: Event, **told: Any) -> Any:
    """Let the model decide; compare it with the reference from the same state.

    `told` is the event's rate or its logged outcome.
    """
    file = model.to_bytes()
    state = read_state(file)
    decision = model.decide_one(event, **told)
    expected = decide(config, state, event, **told)
    if expected.uncertain and decision.asked != expected.asked:
        expected = decide(config, state, event, asked=decision.asked, **told)

    assert decision.asked == expected.asked
    assert decision.margin == near(expected.margin, expected.margin_blur)
    assert decision.query_probability == near(expected.probability, expected.probability_blur)
    if abs(expected.margin) > expected.margin_blur or expected.margin_blur == 0:
        assert decision.prediction == expected.prediction
        assert type(decision.prediction) is type(expected.prediction)

    moved_file = model.to_bytes()
    before, after = read_file(file)[1], read_file(moved_file)[1]
    for saved in (before, after):
        for moved in ("seen", "asked", "coins", "query", "open"):
            saved.pop(moved, None)
    assert after == before, "a decision moved more than its query rule"
    core = read_state(moved_file)
    assert not differences(core, expected.state, expected.margin_blur)
    return decision


def check_learning(
    config: Config,
    model: Any,
    event: Event,
    label: Label,
    act: Callable[[], object],
    exact: bool = False,
) -> bool:
    """Let the model learn; compare it with the reference. False if it refused to overflow.

    `exact`: no number of the step is rounded, so a boundary is a boundary.
    """
    file = model.to_bytes()
    state = read_state(file)
    expected = learn(config, state, event, label)
    try:
        act()
    except StepError:
        assert model.to_bytes() == file, "a refused step changed the model"
        assert largest(expected.state) > 1e290, "refused a step that does not overflow"
        return False

    core = read_state(model.to_bytes())
    found = step_differences(core, state, expected)
    if found and not exact:
        # The core may have rounded its margins to the other side of a boundary.
        vectors = len(expected.state.weights)
        others = [
            learn(config, state, event, label, nudges)
            for nudges in product((-1, 0, 1), repeat=vectors)
        ]
        slack = max(variance_distance(other.state, expected.state) for other in others)
        if any(not step_differences(core, state, other, slack) for other in others):
            found = []
    assert not found
    stored = read_file(file)[1]["model"]["linear"]["weights"]["values"]
    for vector in expected.cuts:
        before = stored[vector] if vector < len(stored) else []
        check_ties(config, state, before, event, vector, core)
    return True


def near(number: float, blur: float = 0.0) -> about:
    return about(number, rel=NEAR, abs=blur + 1e-300)


def largest(state: State) -> float:
    """The largest |w|; infinity if a weight is no number."""
    sizes = [abs(weight) for weights in state.weights for weight in weights]
    return max((size if isfinite(size) else inf for size in sizes), default=0.0)


def differences(core: State, expected: State, margin_blur: float = 0.0) -> list[str]:
    """What differs between two states, weights and variances aside."""
    exact = (
        "names first last times label_form classes positives negatives"
        " seen asked learned mistakes phase given_events given_rates coins draws"
    )
    found = [
        f"{key}: {getattr(core, key)} is not {getattr(expected, key)}"
        for key in exact.split()
        if getattr(core, key) != getattr(expected, key)
    ]
    for key, blur in (("mean_margin", margin_blur), ("tilt", NEAR), ("largest_norm", 0.0)):
        if getattr(core, key) != near(getattr(expected, key), blur):
            found.append(f"{key}: {getattr(core, key)} is not {getattr(expected, key)}")
    if (core.class_odds is None) != (expected.class_odds is None):
        return [*found, f"class odds: {core.class_odds} is not {expected.class_odds}"]
    for got, wanted in zip(core.class_odds or (), expected.class_odds or (), strict=True):
        if got != near(wanted):
            found.append(f"class odds: {core.class_odds} is not {expected.class_odds}")
    return found


def step_differences(
    core: State, state: State, learned: Learned, variance_slack: float = 0.0
) -> list[str]:
    """What differs between the core and the reference after a label was learned."""
    expected, cuts = learned
    found = differences(core, expected)
    if found or len(core.weights) != len(expected.weights):
        return [*found, f"{len(core.weights)} weight vectors"]

    cut_weights = [abs(weight) for cut in cuts.values() for weight in cut.weights]
    tolerance = NEAR * max(largest(state), largest(expected), *cut_weights, 0.0)
    for vector, (got, wanted) in enumerate(zip(core.weights, expected.weights, strict=True)):
        if vector in cuts:
            found += cut_differences(got, *cuts[vector], tolerance)
        elif not close(got, wanted, tolerance):
            found.append(f"weights {vector}: {got} is not {wanted}")

    if len(core.variances) != len(expected.variances):
        found.append(f"{len(core.variances)} variance vectors")
    elif core.variances:
        distance = variance_distance(core, expected)
        if distance > NEAR * largest_variance(state, expected) + variance_slack:
            found.append(f"variances: {core.variances} is not {expected.variances}")
    return found


def close(got: list[float], wanted: list[float], tolerance: float) -> bool:
    return len(got) == len(wanted) and all(
        abs(a - b) <= tolerance for a, b in zip(got, wanted, strict=True)
    )


def largest_variance(state: State, expected: State) -> float:
    """The largest variance from which the step started."""
    grown = len(expected.names) > len(state.names) or len(expected.classes) > len(state.classes)
    return max((v for vector in state.variances for v in vector), default=0.0) if not grown else 1.0


def variance_distance(one: State, other: State) -> float:
    """The largest difference between variances."""
    return max(
        (
            abs(a - b)
            for vector, twin in zip(one.variances, other.variances, strict=True)
            for a, b in zip(vector, twin, strict=True)
        ),
        default=0.0,
    )


def cut_differences(got: list[float], uncut: list[float], kept: int, tolerance: float) -> list[str]:
    """What is wrong with a truncation of `uncut`; weights near the cut may stay or go."""
    sizes = sorted((abs(weight) for weight in uncut), reverse=True)
    cut = sizes[kept - 1] if 0 < kept <= len(sizes) else inf if kept == 0 else 0.0
    found = []
    for slot, (weight, wanted) in enumerate(zip(got, uncut, strict=True)):
        stays = abs(weight - wanted) <= tolerance
        goes = weight == 0
        if abs(wanted) > cut + tolerance and not stays:
            found.append(f"slot {slot}: {weight} is not {wanted}")
        elif abs(wanted) < cut - tolerance and not goes:
            found.append(f"slot {slot}: {weight} should be dropped")
        elif not stays and not goes:
            found.append(f"slot {slot}: {weight} is neither {wanted} nor 0")
    count = sum(weight != 0 for weight in got)
    if not min(kept, sum(size > tolerance for size in sizes)) <= count <= kept:
        found.append(f"{count} weights kept instead of {kept}")
    return found


def check_ties(
    config: Config, state: State, stored: list[float], event: Event, vector: int, core: State
) -> None:
    """Of weights that were equal to the bit and moved alike, the older slots are kept."""
    values = dict(features(config, state, event))
    restarted = config.growth == "restart" and len(core.names) > len(state.names)
    alike: dict[tuple[float, ...], list[bool]] = {}
    for slot, name in enumerate(core.names):
        weight = stored[slot] if slot < len(stored) and not restarted else 0.0
        value = values.get(name, 0.0)
        value = abs(value) if weight == 0 else copysign(1.0, weight) * value
        variance = 1.0
        if vector < len(state.variances) and slot < len(state.names):
            variance = state.variances[vector][slot]
        kept = core.weights[vector][slot] != 0
        alike.setdefault((abs(weight), value, variance), []).append(kept)
    for kept_by_age in alike.values():
        assert kept_by_age == sorted(kept_by_age, reverse=True), "a newer slot won a tie"


def follow(config: Config, rounds: list[Round], seed: int, exact: bool = False) -> None:
    """Take a stream step by step. What happens to an event after the decision:

    "ask": it is answered if asked for; "answer": it is answered; "late": it is answered after the
    last event; "learn": there is no decision, it is learned at once.
    """
    model = model_of(config, seed)
    assert read_state(model.to_bytes()) == start(config, seed)
    late = []
    for event, label, fate in rounds:
        if fate == "learn":
            act = partial_call(model.learn_one, event, label)
            check_learning(config, model, event, label, act, exact)
            continue
        decision = check_decision(config, model, event)
        if fate == "late":
            late.append((decision, event, label))
        elif fate == "answer" or decision.asked:
            act = partial_call(model.answer, decision, label)
            check_learning(config, model, event, label, act, exact)
    for decision, event, label in late:
        act = partial_call(model.answer, decision, label)
        check_learning(config, model, event, label, act, exact)


def partial_call(verb: Callable[..., object], *arguments: object) -> Callable[[], object]:
    return lambda: verb(*arguments)


# Streams


def values(largest_value: float) -> st.SearchStrategy[Any]:
    """Few round numbers, so that ties happen; any size; absent values and zeros."""
    return st.one_of(
        st.sampled_from([1.0, -1.0, 2.0, 0.5, -0.5, 3, -2, True]),
        st.floats(1e-6, largest_value),
        st.floats(1e-6, largest_value).map(lambda value: -value),
        st.sampled_from([0.0, 0, None, nan]),
    )


VALUES = values(1e6)


def visible(shape: str, names: list[Any], t: int, length: int) -> list[Any]:
    """The names that event t of a stream shows."""
    match shape:
        case "growing":
            return names[: 1 + t * len(names) // length]
        case "vanishing":
            return names[t * len(names) // length :]
        case "returning":
            return names[t % 2 :: 2]
    return names[::-1] if t % 2 else names


@st.composite
def streams(
    draw: st.DrawFn,
    labels: tuple[Label, ...] = (True, False),
    longest: int = 7,
    value: st.SearchStrategy[Any] = VALUES,
) -> list[Round]:
    """Streams that are dense or sparse, whose features grow, vanish or come and go."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=6, unique=True))
    shape = draw(st.sampled_from(["sparse", "dense", "growing", "vanishing", "returning"]))
    length = draw(st.integers(1, longest))
    rounds: list[Round] = []
    for t in range(length):
        shown = visible(shape, names, t, length)
        if shape == "sparse":
            shown = [name for name in names if draw(st.booleans())]
        event = {name: draw(value) for name in shown}
        fate = draw(st.sampled_from(["ask", "ask", "answer", "late", "learn"]))
        rounds.append((event, draw(st.sampled_from(labels)), fate))
    return rounds


def examples(count: int) -> settings:
    return settings(
        max_examples=reduced(count),
        derandomize=True,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )


@pytest.mark.parametrize("sparsify", SPARSIFIERS, ids=name_of)
@pytest.mark.parametrize("update", UPDATES, ids=name_of)
def test_every_step_of_every_binary_combination(
    update: Component, sparsify: Component | None
) -> None:
    @seed(crc32(repr((update, sparsify)).encode()))
    @examples(6)
    @given(streams(), st.sampled_from(GROWTHS), st.booleans(), st.integers(0, 2**64 - 1))
    def every_query(rounds: list[Round], growth: Growth, intercept: bool, coins: int) -> None:
        for query in QUERIES:
            follow(Config(update, query, sparsify, growth, intercept), rounds, coins)

    every_query()


WEIGHED_UPDATES = [update for update in UPDATES if update[1].get("positive_margin", 1.0) == 1.0]
"""Rules that do not weigh the classes themselves."""


@pytest.mark.parametrize("class_weight", CLASS_WEIGHTS, ids=name_of)
@pytest.mark.parametrize("update", WEIGHED_UPDATES, ids=name_of)
def test_every_step_with_class_weights(update: Component, class_weight: Component) -> None:
    @seed(crc32(repr((update, class_weight)).encode()))
    @examples(20)
    @given(
        streams(longest=12, value=values(1e3)),
        st.sampled_from(QUERIES),
        st.sampled_from(SPARSIFIERS),
        st.sampled_from(GROWTHS),
        st.integers(0, 2**64 - 1),
    )
    def steps(
        rounds: list[Round],
        query: Component,
        sparsify: Component | None,
        growth: Growth,
        coins: int,
    ) -> None:
        config = Config(update, query, sparsify, growth, True, class_weight=class_weight)
        follow(config, rounds, coins)

    steps()


@pytest.mark.parametrize("sparsify", SPARSIFIERS, ids=name_of)
@pytest.mark.parametrize("update", MULTICLASS_UPDATES, ids=name_of)
def test_every_step_of_every_multiclass_combination(
    update: Component, sparsify: Component | None
) -> None:
    @seed(crc32(repr((update, sparsify)).encode()))
    @examples(6)
    @given(
        streams(COLOURS),
        st.sampled_from(GROWTHS),
        st.booleans(),
        st.sampled_from([(), ("blue",), COLOURS]),
        st.integers(0, 2**64 - 1),
    )
    def every_query(
        rounds: list[Round], growth: Growth, intercept: bool, classes: tuple[Label, ...], coins: int
    ) -> None:
        for query in QUERIES:
            config = Config(update, query, sparsify, growth, intercept, True, classes)
            follow(config, rounds, coins)

    every_query()


@pytest.mark.parametrize("sparsify", LEGACY_SPARSIFIERS, ids=name_of)
@pytest.mark.parametrize("update", LEGACY_UPDATES, ids=name_of)
def test_every_step_of_the_legacy_olsf(update: Component, sparsify: Component | None) -> None:
    config = Config(update, ("All", {}), sparsify, legacy=True)

    @seed(crc32(repr(config).encode()))
    @examples(25)
    @given(streams(value=values(1e3)), st.integers(0, 2**64 - 1))
    def steps(rounds: list[Round], coins: int) -> None:
        follow(config, rounds, coins)

    steps()


@pytest.mark.parametrize("multiclass", [False, True])
@pytest.mark.parametrize("sparsify", [SPARSIFIERS[i] for i in (0, 3, 5, 6)], ids=name_of)
@pytest.mark.parametrize("update", ON_BOUNDARIES, ids=name_of)
def test_margins_exactly_on_a_boundary(
    update: Component, sparsify: Component | None, multiclass: bool
) -> None:
    if multiclass and update not in MULTICLASS_UPDATES:
        return
    config = Config(update, ("All", {}), sparsify, multiclass=multiclass)
    round_numbers = st.sampled_from([1.0, -1.0, 2.0, -2.0, 0.5, 0.0])

    @seed(crc32(repr(config).encode()))
    @examples(20)
    @given(streams(COLOURS if multiclass else (True, False), 12, round_numbers))
    def steps(rounds: list[Round]) -> None:
        follow(config, rounds, seed=0, exact=True)

    steps()


@examples(200)
@given(
    streams(longest=20),
    st.sampled_from(UPDATES),
    st.sampled_from(QUERIES),
    st.sampled_from(SPARSIFIERS),
    st.sampled_from(GROWTHS),
    st.booleans(),
    st.integers(0, 2**64 - 1),
)
def test_every_step_of_longer_streams(
    rounds: list[Round],
    update: Component,
    query: Component,
    sparsify: Component | None,
    growth: Growth,
    intercept: bool,
    coins: int,
) -> None:
    follow(Config(update, query, sparsify, growth, intercept), rounds, coins)


TOLD: list[dict[str, Any]] = [
    *({"rate": rate} for rate in (0.0, 0.3, 0.02, 1.0)),
    *({"outcome": outcome} for outcome in ((True, 0.25), (False, 0.5), (False, 0.0), (True, 1.0))),
    {"rate": 0.4, "outcome": (True, 0.1)},
    {"rate": 0.0, "outcome": (False, 0.0)},
]
RATED = ("Random", "Budget", "Quantile")


@pytest.mark.parametrize("query", QUERIES, ids=name_of)
def test_every_step_with_given_rates_and_logged_outcomes(query: Component) -> None:
    rated = query[0] in RATED or (query[0] == "Quota" and query[1]["total"] is None)
    choices = [{}, *(told for told in TOLD if rated or "rate" not in told)]

    @seed(crc32(repr(query).encode()))
    @examples(60)
    @given(streams(longest=12), st.lists(st.sampled_from(choices), min_size=12, max_size=12))
    def steps(rounds: list[Round], tellings: list[dict[str, Any]]) -> None:
        config = Config(("PA1", {"C": 0.1, "positive_margin": 1.0}), query)
        model = model_of(config, seed=3)
        for (event, label, fate), told in zip(rounds, tellings, strict=False):
            decision = check_decision(config, model, event, **told)
            if fate != "late":
                act = partial_call(model.answer, decision, label)
                check_learning(config, model, event, label, act)

    steps()


# Whole streams


def gaussian(seed: int, length: int, labels: tuple[Label, ...] = (False, True)) -> list[Any]:
    """Events of continuous values whose features come and go; labels that depend on them."""
    numbers = Random(seed)
    true_weights = {f"f{i}" if i % 3 else i: numbers.gauss(0, 1) for i in range(20)}
    rounds = []
    for t in range(length):
        known = list(true_weights)[: 4 + 16 * t // length]
        event = {name: numbers.gauss(0, 1) for name in numbers.sample(known, 4)}
        score = sum(true_weights[name] * value for name, value in event.items())
        rank = sum(score + numbers.gauss(0, 0.3) > cut for cut in (0.0, 1.5)[: len(labels) - 1])
        rounds.append((event, labels[rank]))
    return rounds


def follow_alone(config: Config, rounds: list[Any], seed: int) -> State:
    """Core and reference each on its own from the start: same decisions, same supports."""
    model, state = model_of(config, seed), start(config, seed)
    for event, label in rounds:
        decision, decided = model.decide_one(event), decide(config, state, event)
        assert (decision.asked, decision.prediction) == (decided.asked, decided.prediction)
        assert decision.margin == about(decided.margin, rel=1e-6, abs=1e-9)
        state = decided.state
        if decided.asked:
            model.answer(decision, label)
            state = learn(config, state, event, label).state
    core = read_state(model.to_bytes())
    assert not differences(core, state, margin_blur=1e-6)
    rounding = 1e-12 * largest(state)
    for got, wanted in zip(core.weights, state.weights, strict=True):
        assert [abs(w) > rounding for w in got] == [abs(w) > rounding for w in wanted]
        assert close(got, wanted, 1e-6 * largest(state))
    return state


DISCRETE = ("Perceptron", "MarginPerceptron", "Gradient")
"""Rules that give an intercept whole steps, so that margins can lie exactly on a boundary."""

GROWTH_CYCLE: list[Growth] = ["open", "open", "closed", "open", "restart"]

BINARY_STREAMS = [
    Config(update, query, sparsify, growth, intercept and update[0] not in DISCRETE)
    for (update, sparsify), query, growth, intercept in zip(
        product(UPDATES, SPARSIFIERS),
        cycle(QUERIES),
        cycle(GROWTH_CYCLE),
        cycle([False, True, False]),
        strict=False,
    )
] + [Config(UPDATES[4], query, sparsify) for query, sparsify in product(QUERIES, SPARSIFIERS[:2])]

MULTICLASS_STREAMS = [
    Config(
        update,
        query,
        sparsify,
        intercept=intercept and update[0] not in DISCRETE,
        multiclass=True,
        classes=classes,
    )
    for (update, sparsify), query, intercept, classes in zip(
        product(MULTICLASS_UPDATES, SPARSIFIERS),
        cycle(QUERIES),
        cycle([False, True, True, False, False]),
        cycle([(), COLOURS, ("blue", "red")]),
        strict=False,
    )
]

WEIGHED_STREAMS = [
    Config(update, query, None, intercept=True, class_weight=class_weight)
    for update, query, class_weight in zip(
        [rule for rule in WEIGHED_UPDATES if rule[0] not in DISCRETE] * 4,
        cycle(QUERIES),
        cycle(CLASS_WEIGHTS),
        strict=False,
    )
]

LEGACY_STREAMS = [
    Config(update, ("All", {}), sparsify, legacy=True)
    for update, sparsify in product(LEGACY_UPDATES[:3], LEGACY_SPARSIFIERS)
]


@pytest.mark.parametrize("config", BINARY_STREAMS + WEIGHED_STREAMS + LEGACY_STREAMS, ids=name_of)
def test_a_whole_binary_stream(config: Config) -> None:
    follow_alone(config, gaussian(seed=1, length=250 if FULL else 120), seed=2)


@pytest.mark.parametrize("config", MULTICLASS_STREAMS, ids=name_of)
def test_a_whole_multiclass_stream(config: Config) -> None:
    follow_alone(config, gaussian(seed=3, length=250 if FULL else 120, labels=COLOURS), seed=4)


def test_a_stream_so_long_that_the_scale_is_folded_and_the_norm_summed_afresh() -> None:
    tiny = Config(UPDATES[4], ("All", {}), ("KeepLargest", {"share": 0.5, "l1_radius": 1e-3}))
    state = follow_alone(tiny, gaussian(seed=5, length=9000), seed=6)
    assert state.learned == 9000


# SelAda counts mistakes, and a margin of 0 is one for a binary learner only.
@pytest.mark.parametrize("share", [1.0, 0.5])
@pytest.mark.parametrize("query", [q for q in QUERIES if q[0] != "SelAda"], ids=name_of)
@pytest.mark.parametrize("kind", ["PA", "PA1", "PA2"])
def test_two_classes_are_the_binary_algorithm(kind: str, query: Component, share: float) -> None:
    def learner(multiclass: bool) -> Any:
        half = 0.5 if multiclass else 1.0
        limit = {} if kind == "PA" else {"C": 0.3 * half}
        config = Config(
            (kind, limit | {"positive_margin": 1.0}),
            query,
            ("KeepLargest", {"share": share, "l1_radius": 3.0 * half}),
            multiclass=multiclass,
            classes=("no", "yes") if multiclass else (),
        )
        return model_of(config, seed=8)

    one, two = learner(False), learner(True)
    for event, label in gaussian(seed=7, length=200):
        single, double = one.decide_one(event), two.decide_one(event)
        assert single.asked == double.asked
        assert single.prediction == (double.prediction == "yes")
        assert double.margin == about(abs(single.margin), rel=1e-9, abs=1e-12)
        if single.asked:
            one.answer(single, label)
            two.answer(double, "yes" if label else "no")
    (weights,) = read_state(one.to_bytes()).weights
    against, towards = read_state(two.to_bytes()).weights
    assert [up - down for up, down in zip(towards, against, strict=True)] == pytest.approx(
        weights, rel=1e-9, abs=1e-12
    )


def test_a_step_that_would_overflow_is_refused_and_changes_nothing() -> None:
    config = Config(UPDATES[4], ("All", {}), legacy=True)
    model, event = model_of(config, seed=0), {"a": 1e6}
    for label in islice(cycle([True, False]), 100):
        act = partial_call(model.learn_one, event, label)
        if not check_learning(config, model, event, label, act):
            return
    pytest.fail("100 steps, each a million times the one before, and none was refused")


def test_the_combinations_hold_every_rule_there_is() -> None:
    for module, base, components in (
        (hw.update, hw.update.Update, [*UPDATES, ("DualLogistic", {})]),  # in test_spring.py
        (hw.query, hw.query.Query, QUERIES),
        (hw.sparsify, hw.sparsify.Sparsify, islice(SPARSIFIERS, 1, None)),
    ):
        rules = {
            rule.__name__ for rule in base.__subclasses__() if rule.__module__ == module.__name__
        }
        assert rules == {one[0] for one in components if one is not None}
