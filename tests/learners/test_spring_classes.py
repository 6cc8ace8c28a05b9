"""Spring for several classes: as its plain reference, one step at a time, and as users see it."""

import pickle
import random
from collections.abc import Iterator
from math import log
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import headwater as hw
from about import about
from effort import reduced
from headwater.errors import ModelFileError
from model_bytes import put_together, take_apart
from reference.bound import Bound
from reference.learner import NEAR
from reference.scaler import Name
from reference.spring import PRESENCE, Decided
from reference.spring_classes import (
    STORED,
    SpringClasses,
    read_spring_classes,
    softmax,
    softmax_step,
)
from reference.state import read_file

Event = dict[Name, float]
Labelled = tuple[Event, str]


def state_of(model: hw.Learner, rate: float) -> SpringClasses:
    return read_spring_classes(read_file(model.to_bytes())[1], rate)


def near(wanted: Any, size: float = 1.0) -> about:
    return about(wanted, rel=NEAR, abs=NEAR * max(1.0, size))


def assert_same(got: SpringClasses, wanted: SpringClasses) -> None:
    """Counts exactly, numbers to 1e-9 of the largest of their kind."""
    for key in ("seen", "asked", "learned", "coins", "K", "sizes", "cursors", "turns", "long"):
        assert getattr(got, key) == getattr(wanted, key), key
    for key in ("spared", "since", "reigns", "next_reign", "changes", "labels"):
        assert getattr(got, key) == getattr(wanted, key), key
    for key in ("trust", "odds", "calibration", "information", "strength", "relevance", "g", "b"):
        assert getattr(got, key) == near(getattr(wanted, key)), key
    for kind in (0, 1):
        assert got.class_sums[kind] == near(wanted.class_sums[kind])
    assert got.total_sums == near(wanted.total_sums)
    assert got.square_sums == near(wanted.square_sums)
    weights = [w for row in wanted.rows.values() for dual in row.dual for w in dual]
    largest = max(map(abs, weights), default=1.0)
    for one in got.rows.keys() | wanted.rows.keys():
        mine, theirs = got.rows.get(one, got.row()), wanted.rows.get(one, wanted.row())
        for k in range(wanted.K):
            assert mine.dual[k] == near(theirs.dual[k], largest), (one, k)
        assert mine.sums == near(theirs.sums)
        assert mine.squares == near(theirs.squares)
    for y in range(wanted.K):
        assert len(got.store[y]) == len(wanted.store[y])
        for stored, expected in zip(got.store[y], wanted.store[y], strict=True):
            assert (stored.number, stored.held) == (expected.number, expected.held)
            assert stored.inputs == near(expected.inputs)
            size = max(abs(a) for dual in expected.duals for a in dual)
            for k in range(wanted.K):
                assert stored.duals[k] == near(expected.duals[k], size)


# One step at a time: before each the reference starts from the core's own state


NAMES: list[Name] = ["a", "b", "c", 7, 8]
VALUES = st.one_of(
    st.just(0.0),
    st.sampled_from([1.0, 2.0, 5.0]),
    st.floats(1e-3, 1e3).flatmap(lambda size: st.sampled_from([size, -size])),
)
EVENTS = st.dictionaries(st.sampled_from(NAMES), VALUES)
FATES = st.sampled_from(["ask", "ask", "answer", "late", "learn"])
LABELS = st.sampled_from(["x", "y", "z", "w"])
Round = tuple[Event, str, str]


@settings(
    max_examples=reduced(40),
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(st.lists(st.tuples(EVENTS, LABELS, FATES), min_size=1, max_size=25))
def test_the_core_equals_the_reference_one_step_at_a_time(rounds: list[Round]) -> None:
    model = hw.Spring(label_rate=0.3, seed=5, multiclass=True)
    late: list[tuple[hw.Decision, Decided, str]] = []
    classes: list[str] = []

    def index(label: str) -> int:
        if label not in classes:
            classes.append(label)
        return classes.index(label)

    def answer(decision: hw.Decision, decided: Decided, label: str) -> None:
        expected = state_of(model, 0.3)
        expected.answer(decided, index(label))
        model.answer(pickle.loads(pickle.dumps(decision)), label)
        assert_same(state_of(model, 0.3), expected)

    for event, label, fate in rounds:
        expected = state_of(model, 0.3)
        check_outside(model, expected, event, classes)
        if fate == "learn":
            expected.learn(event, index(label))
            model.learn_one(event, label)
            assert_same(state_of(model, 0.3), expected)
            continue
        decided, decision = expected.decide(event), model.decide_one(event)
        assert decision.margin == near(decided.margin)
        if decided.gap <= NEAR:
            return  # on the boundary the question may fall either way
        assert (decision.asked, decision.query_probability) == (
            *(decided.asked, decided.query_probability),
        )
        if fate == "late":
            late.append((decision, decided, label))
        elif fate == "answer" or decision.asked:
            answer(decision, decided, label)
    for one in late:
        answer(*one)


def check_outside(model: hw.Spring, state: SpringClasses, event: Event, classes: list[str]) -> None:
    """Predictions, probabilities and explanations use what is known, and change nothing."""
    before = model.to_bytes()
    inputs = state.look(event)
    assert model.margin_one(event) == near(state.margin(inputs))
    scores = state.scores(inputs)
    if classes:
        shares = state.probabilities(scores)
        assert model.predict_proba_one(event) == near(dict(zip(classes, shares, strict=True)))
        ranked = sorted(scores, reverse=True)
        if len(ranked) == 1 or ranked[0] - ranked[1] > NEAR:
            assert model.predict_one(event) == classes[scores.index(max(scores))]
    explained = model.explain_one(event)
    assert explained.margin == near(sum(explained.contributions.values()))
    if len(set(scores)) == len(scores) > 1:
        parts = {
            f"{name} (present)" if kind == PRESENCE else name: part
            for (name, kind), part in state.parts(inputs).items()
        }
        assert explained.contributions == near(parts)
    trust = [state.trust[column] for column in (state.long, state.spare, 2, 3)]
    words = ("long", "spare", "mid", "short")
    assert model.status().trust == near(dict(zip(words, trust, strict=True)))
    assert model.to_bytes() == before


# Side by side, from the start


def blobs(
    seed: int, length: int, classes: Any = lambda t: ("p", "q", "r"), turn: Any = lambda t: 0
) -> Iterator[Labelled]:
    """Classes around centres, some sensors rarely there; `turn` moves the names on."""
    generator = random.Random(seed)
    centres = [[generator.gauss(0, 1.5) for _ in range(6)] for _ in range(12)]
    for t in range(length):
        names = classes(t)
        k = generator.randrange(len(names))
        event: Event = {
            f"s{i}": 10.0**i * (x + generator.gauss(0, 1))
            for i, x in enumerate(centres[k])
            if generator.random() < (1, 1, 0.9, 0.8, 0.4, 0.1)[i]
        }
        yield event, names[(k + turn(t)) % len(names)]


def topics(seed: int, length: int) -> Iterator[Labelled]:
    """A few of many words, of which some say the topic; the words change in the course of time."""
    generator = random.Random(seed)
    for t in range(length):
        topic = generator.randrange(4)
        event: Event = {f"w{int(80 * generator.random() ** 2) + t // 30}": 1.0 for _ in range(4)}
        if generator.random() < 0.7:
            event[f"of{topic}"] = 1.0
        yield event, f"topic {topic}"


class Both:
    """The core and the reference, side by side."""

    def __init__(self, rate: float, bound: Bound | None = None) -> None:
        limits: dict[str, Any] = {}
        if bound:
            limits = {"max_features": bound.most, "when_full": bound.when_full}
        self.core = hw.Spring(label_rate=rate, multiclass=True, **limits)
        self.plain, self.rate = SpringClasses(rate, 0, bound), rate
        self.classes: list[str] = []
        self.open: list[tuple[hw.Decision, Decided, str]] = []

    def index(self, label: str) -> int:
        if label not in self.classes:
            self.classes.append(label)
        return self.classes.index(label)

    def decide(self, event: Event, label: str) -> None:
        decision, decided = self.core.decide_one(event), self.plain.decide(event)
        assert decision.margin == near(decided.margin)
        assert decision.asked == decided.asked, decided.gap
        if decision.asked:
            self.open.append((decision, decided, label))

    def learn(self, event: Event, label: str) -> None:
        self.core.learn_one(event, label)
        self.plain.learn(event, self.index(label))

    def answer(self, place: int = 0) -> None:
        decision, decided, label = self.open.pop(place)
        self.core.answer(decision, label)
        self.plain.answer(decided, self.index(label))

    def check(self) -> None:
        assert_same(state_of(self.core, self.rate), self.plain)


def test_core_and_reference_agree_while_windows_overflow_and_a_class_is_born() -> None:
    both = Both(rate=0.5)
    stages = (("p", "q"), ("p", "q", "r"))
    for t, (event, label) in enumerate(blobs(3, 700, lambda t: stages[t >= 350])):
        both.decide(event, label)
        if both.open:
            both.answer()
        if t % 100 == 99:
            both.check()
    assert len(both.plain.store[0]) == STORED
    assert both.plain.K == 3


def test_core_and_reference_agree_while_concepts_change_and_return() -> None:
    """With labels told by chance and labels told with their event."""
    both = Both(rate=0.4)
    rows = blobs(4, 1300, turn=lambda t: 1 if 500 <= t < 800 else 0)
    for t, (event, label) in enumerate(rows):
        if t % 6 == 5:
            both.learn(event, label)
        else:
            both.decide(event, label)
        if both.open:
            both.answer()
        if t % 100 == 99:
            both.check()
    reasons = [change.reason for change in both.plain.changes]
    assert "returned" in reasons
    assert {"mid", "short"} & set(reasons)


@pytest.mark.parametrize("when_full", ["refuse", "oldest", "smallest"])
def test_core_and_reference_agree_while_features_are_evicted(when_full: str) -> None:
    """Answers come late, so that some of their features have gone, and some have come back."""
    both, generator = Both(0.4, Bound(24, when_full)), random.Random(2)
    for t, (event, label) in enumerate(topics(7, 250)):
        if t % 5 == 4:
            both.learn(event, label)
        else:
            both.decide(event, label)
        while len(both.open) > 15:
            both.answer(generator.randrange(len(both.open)))
        if t % 50 == 49:
            both.check()
    assert (both.core.evicted > 50) == (when_full != "refuse")


def test_answers_a_day_late_across_a_change_teach_what_reigned_then() -> None:
    """A day has 1,200 events; the concept changes at its noon. Answers come the next day."""
    both, generator = Both(rate=0.5), random.Random(9)
    day = list(blobs(5, 2_400, turn=lambda t: 0 if t < 600 else 1))
    for event, label in day[:1_200]:
        both.decide(event, label)
    morning = [one for one in both.open if one[1].number <= 500]
    held_back = morning[::4][:40]
    before, both.open = [one for one in both.open if one not in held_back], []
    for t, (event, label) in enumerate(day[1_200:]):
        both.decide(event, label)
        if t % 2 == 1 and before:
            both.open.insert(0, before.pop(generator.randrange(min(8, len(before)))))
            both.answer()
    assert both.plain.changes != []
    assert abs(both.plain.changes[0].number - 600) < 120
    trust = list(both.plain.trust)
    sizes = [sum(both.plain.sizes[column]) for column in (0, 1)]
    for one in held_back:  # the very last ones are about the morning
        both.open.insert(0, one)
        both.answer()
    both.check()
    assert both.plain.trust == trust, "what was before the change is no reason to doubt"
    assert sum(both.plain.sizes[column][k] for column in (0, 1) for k in range(3)) in (
        *(sum(sizes), sum(sizes) + 40),
    )


# The same by every way


def test_event_loop_batch_and_a_loaded_learner_give_the_same_bits() -> None:
    rows = list(blobs(11, 1_500, turn=lambda t: int(t >= 700)))
    names = sorted({name for event, _ in rows for name in event}, key=str)
    table = np.array([[event.get(name, np.nan) for name in names] for event, _ in rows])
    labels = [label for _, label in rows]
    make: Any = lambda: hw.Spring(label_rate=0.3, multiclass=True)  # noqa: E731
    loop, batch, stopped = make(), make(), make()
    for t, (event, label) in enumerate(rows):
        for model in (loop, stopped):
            decision = model.decide_one({name: event[name] for name in names if name in event})
            if decision.asked:
                model.answer(decision, label)
        if t % 250 == 249:
            stopped = hw.from_bytes(stopped.to_bytes())
    batch.simulate(table, labels, names=names)
    assert loop.to_bytes() == batch.to_bytes() == stopped.to_bytes()
    assert loop.status().changes != ()
    probabilities = batch.predict_proba_many(table[:50], names=names)
    again = stopped.predict_proba_many(table[:50], names=names)
    assert np.array_equal(probabilities, again)
    assert probabilities.sum(axis=1).tolist() == about([1.0] * 50)


# As users rely on it


def run(model: hw.Learner, rows: Iterator[Labelled]) -> list[tuple[str, bool, float | None]]:
    """Label, whether it was predicted, and log loss (none while the class is not known)."""
    seen = []
    for event, label in rows:
        shares = model.predict_proba_one(event) if model.labels else {}
        loss = -log(max(1e-15, shares[label])) if label in shares else None
        decision = model.decide_one(event)
        seen.append((label, decision.prediction == label, loss))
        if decision.asked:
            model.answer(decision, label)
    return seen


def recalls(seen: list[tuple[str, bool, float | None]]) -> dict[str, float]:
    return {
        label: float(np.mean([right for one, right, _ in seen if one == label]))
        for label in {one for one, *_ in seen}
    }


def test_a_class_that_is_born_in_the_middle_is_soon_predicted() -> None:
    stages = (("p", "q", "r"), ("p", "q", "r", "new"))
    model = hw.Spring(label_rate=0.1, multiclass=True)
    seen = run(model, blobs(2, 6_000, lambda t: stages[t >= 3_000]))
    assert min(recalls(seen[4_000:]).values()) > 0.75
    assert model.status().changes == ()


def test_a_class_that_dies_does_not_spoil_the_others() -> None:
    stages = (("p", "q", "r", "gone"), ("p", "q", "r"))
    model = hw.Spring(label_rate=0.1, multiclass=True)
    seen = run(model, blobs(2, 6_000, lambda t: stages[t >= 3_000]))
    assert min(recalls(seen[4_000:]).values()) > 0.75
    shares = [model.predict_proba_one(event)["gone"] for event, _ in blobs(2, 300)]
    assert np.mean(shares) < 0.05


def test_a_rare_class_is_predicted_and_its_probability_is_that_of_the_stream() -> None:
    generator = random.Random(4)

    def rare(length: int) -> Iterator[Labelled]:
        for _ in range(length):
            label = "rare" if generator.random() < 0.02 else generator.choice("ab")
            mean = {"a": (2, 0, 0), "b": (-2, 0, 0), "rare": (0, 2.5, 0)}[label]
            yield {n: m + generator.gauss(0, 1) for n, m in zip("xyz", mean, strict=True)}, label

    model = hw.Spring(label_rate=0.1, multiclass=True)
    run(model, rare(8_000))
    test = list(rare(4_000))
    right = [model.predict_one(event) == label for event, label in test if label == "rare"]
    assert np.mean(right) > 0.6
    shares = [model.predict_proba_one(event)["rare"] for event, _ in test]
    assert 0.008 < np.mean(shares) < 0.05


def test_after_the_classes_change_places_it_learns_them_anew() -> None:
    model = hw.Spring(label_rate=0.1, multiclass=True)
    seen = run(model, blobs(12, 8_000, turn=lambda t: int(t >= 4_000)))
    before = np.mean([right for _, right, _ in seen[3_000:4_000]])
    after = np.mean([right for _, right, _ in seen[6_000:]])
    assert before > 0.85
    assert after > before - 0.05
    change = model.status().changes[0]
    assert 390 < change.learned < 480  # some 400 labels came before the change
    assert 3_000 < change.event < 4_600
    assert "predicted better" in change.reason


def test_probabilities_are_those_of_the_stream() -> None:
    """Classes that overlap: the log loss is near that of the true probabilities."""
    generator = random.Random(3)
    centres = {"a": (1.0, 0.0), "b": (-0.5, 0.9), "c": (-0.5, -0.9)}
    share = {"a": 0.6, "b": 0.3, "c": 0.1}

    def draw(length: int) -> Iterator[Labelled]:
        for _ in range(length):
            (label,) = generator.choices(list(share), list(share.values()))
            yield (
                {n: m + generator.gauss(0, 1) for n, m in zip("xy", centres[label], strict=True)},
                label,
            )

    def truth(event: Event) -> list[float]:
        logits = [
            log(share[k])
            - sum((event[n] - m) ** 2 for n, m in zip("xy", centres[k], strict=True)) / 2
            for k in share
        ]
        return softmax(logits)

    model = hw.Spring(label_rate=0.1, multiclass=True)
    run(model, draw(10_000))
    test = list(draw(4_000))
    told = [model.predict_proba_one(event) for event, _ in test]
    ours = np.mean([-log(p[label]) for p, (_, label) in zip(told, test, strict=True)])
    best = np.mean([-log(truth(e)[list(share).index(label)]) for e, label in test])
    assert ours < best + 0.08
    for k, size in share.items():
        assert abs(np.mean([p[k] for p in told]) - size) < 0.08


# What is refused


def broken(key: str, value: Any) -> bytes:
    """A model file with one thing changed."""
    model = hw.Spring(multiclass=True)
    for event, label in blobs(1, 60):
        model.learn_one(event, label)
    header, state = take_apart(model.to_bytes())
    spring = state["model"]["spring_classes"]
    place = {
        "spring": spring,
        "rows": spring["rows"],
        "window": spring["windows"][1],
        "probability": spring["probability"],
    }
    part, _, name = key.partition(".")
    place[part][name] = value if not callable(value) else value(place[part][name])
    return put_together(header, state)


NAN = float("nan")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("spring.long", 2),
        ("spring.trust", [1.0, 1.0, 0.0, 0.0]),
        ("spring.trust", [NAN, 0.0, 0.0, 1.0]),
        ("spring.sizes", lambda sizes: [[0.0] * 4 for _ in sizes]),
        ("spring.odds", [1.0]),
        ("spring.odds", lambda odds: [-1.0, *odds[1:]]),
        ("spring.turns", [3, 0]),
        ("spring.since", 2**63),
        ("spring.windows", lambda windows: windows[:2]),
        ("rows.features", lambda features: [*features[:-1], 999]),
        ("rows.features", lambda features: features[::-1]),
        ("rows.dual", lambda dual: dual[:2]),
        ("rows.dual", lambda dual: [[[[NAN] * 4] * 2, *dual[0][1:]], *dual[1:]]),
        ("rows.sums", lambda sums: [sums[0][1:], *sums[1:]]),
        ("rows.labels", lambda labels: [-1.0, *labels[1:]]),
        ("rows.strengths", [[0.1, 0.0], [0.1, 1.0]]),
        ("window.numbers", lambda numbers: [10**6, *numbers[1:]]),
        ("window.cursors", [0, 500]),
        ("window.ids", lambda ids: [[999] * len(ids[0]), *ids[1:]]),
        ("window.values", lambda values: [[1e9] * len(values[0]), *values[1:]]),
        ("window.duals", lambda duals: [[[NAN] * 4], *duals[1:]]),
        ("window.duals", lambda duals: [[[0.0] * 4] * 9, *duals[1:]]),
        ("probability.slope", 0.0),
        ("probability.information", [1.0, 5.0, 1.0]),
    ],
)
def test_a_file_that_does_not_fit_is_refused(key: str, value: Any) -> None:
    with pytest.raises(ModelFileError):
        hw.from_bytes(broken(key, value))


def test_a_file_in_which_nothing_is_changed_is_taken() -> None:
    assert hw.from_bytes(broken("spring.since", 60)).learned == 60


# The reference itself, by hand


def test_the_reference_s_step_solves_its_equation() -> None:
    generator = random.Random(1)
    for _ in range(200):
        K, Q, weight = (
            generator.randint(2, 12),
            generator.uniform(0.01, 4),
            generator.uniform(0.1, 40),
        )
        old = [generator.gauss(0, 1) for _ in range(K)]
        logits = [generator.gauss(0, 4) for _ in range(K)]
        y = generator.randrange(K)
        new = softmax_step(old, logits, y, Q, weight)
        after = softmax([q + Q * (a - b) for q, a, b in zip(logits, new, old, strict=True)])
        wanted = [weight * ((k == y) - p) for k, p in enumerate(after)]
        assert new == about(wanted, rel=1e-9, abs=1e-9 * weight)
