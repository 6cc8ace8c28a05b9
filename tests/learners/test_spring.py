"""Spring: as its plain reference, one step at a time, and as its users rely on it."""

import pickle
import random
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from math import cos, exp, pi, sin, sqrt
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import headwater as hw
from about import about
from effort import reduced
from headwater.errors import EventError, LabelError, ModelFileError, ParameterError, StepError
from model_bytes import put_together, take_apart
from reference.bound import Bound
from reference.learner import NEAR
from reference.scaler import Name
from reference.spring import (
    NEWEST,
    OWN,
    PRESENCE,
    STORED,
    Decided,
    Inputs,
    Row,
    Spring,
    inputs_of,
    read_spring,
)
from reference.state import read_file

Event = dict[Name, float]
Labelled = tuple[Event, bool]


def state_of(model: hw.Learner, rate: float) -> Spring:
    return read_spring(read_file(model.to_bytes())[1], rate)


def sign(label: bool) -> int:
    return 1 if label else -1


def assert_same(got: Spring, wanted: Spring) -> None:
    """Counts exactly, numbers to 1e-9 of the largest of their kind."""
    for key in ("seen", "asked", "learned", "coins", "sizes", "cursors", "long", "spared"):
        assert getattr(got, key) == getattr(wanted, key), key
    for key in ("since", "reigns", "next_reign", "changes", "labels"):
        assert getattr(got, key) == getattr(wanted, key), key
    assert list(got.scaler.features) == list(wanted.scaler.features)
    for name, one in wanted.scaler.features.items():
        other = got.scaler.features[name]
        assert (other.n, other.last, other.far_off) == (one.n, one.last, one.far_off)
        assert (other.mean, other.loading) == near((one.mean, one.loading))
    numbers = [
        *("trust", "odds", "calibration", "information", "strength", "relevance"),
        *("g", "b", "slope", "curve", "fading_slope", "fading_curve"),
    ]
    for key in numbers:
        assert getattr(got, key) == near(getattr(wanted, key)), key
    for kind in (0, 1):
        assert got.kinds[kind] == near(wanted.kinds[kind])
    largest = max((abs(w) for row in wanted.rows.values() for w in row.dual), default=1.0)
    for one_input in got.rows.keys() | wanted.rows.keys():
        mine, theirs = got.rows.get(one_input, Row()), wanted.rows.get(one_input, Row())
        assert mine.dual == near(theirs.dual, largest), one_input
        weights = ("calm", "variance", "fading", "fading_variance")
        for key in (*weights, "positive", "negative", "squares"):
            assert getattr(mine, key) == near(getattr(theirs, key)), (one_input, key)
    for side in (0, 1):
        assert len(got.store[side]) == len(wanted.store[side])
        for stored, expected in zip(got.store[side], wanted.store[side], strict=True):
            assert (stored.number, stored.held) == (expected.number, expected.held)
            assert stored.inputs == near(expected.inputs)
            assert stored.alphas == near(expected.alphas)


def near(wanted: Any, size: float = 1.0) -> about:
    return about(wanted, rel=NEAR, abs=NEAR * max(1.0, size))


# One step at a time: before each the reference starts from the core's own state


NAMES: list[Name] = ["a", "b", "c", 7, 8]
VALUES = st.one_of(
    st.just(0.0),
    st.sampled_from([1.0, 2.0, 5.0]),
    st.floats(1e-3, 1e3).flatmap(lambda size: st.sampled_from([size, -size])),
)
SPARSE = st.dictionaries(st.sampled_from(NAMES), VALUES)
DENSE = st.lists(VALUES, min_size=5, max_size=5).map(lambda x: dict(zip(NAMES, x, strict=True)))
FATES = st.sampled_from(["ask", "ask", "answer", "late", "learn"])
Round = tuple[Event, bool, str]


@st.composite
def streams(draw: st.DrawFn) -> list[Round]:
    """Dense or sparse events, or such whose features grow or vanish."""
    shape = draw(st.sampled_from(["sparse", "dense", "growing", "vanishing"]))
    length = draw(st.integers(1, 30))
    rounds = []
    for t in range(length):
        event = draw(SPARSE if shape == "sparse" else DENSE)
        if shape == "growing":
            event = dict(list(event.items())[: 1 + t * 5 // length])
        if shape == "vanishing":
            event = dict(list(event.items())[t * 5 // length :])
        rounds.append((event, draw(st.booleans()), draw(FATES)))
    return rounds


def examples(count: int) -> settings:
    return settings(
        max_examples=reduced(count),
        derandomize=True,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )


@examples(50)
@given(streams())
def test_the_core_equals_the_reference_one_step_at_a_time(rounds: list[Round]) -> None:
    model = hw.Spring(label_rate=0.3, seed=5)
    late: list[tuple[hw.Decision, Decided, bool]] = []

    def answer(decision: hw.Decision, decided: Decided, label: bool) -> None:
        expected = state_of(model, 0.3)
        expected.answer(decided, sign(label))
        model.answer(pickle.loads(pickle.dumps(decision)), label)
        assert_same(state_of(model, 0.3), expected)

    for event, label, fate in rounds:
        expected = state_of(model, 0.3)
        check_outside(model, expected, event)
        if fate == "learn":
            expected.learn(event, sign(label))
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
        assert_same(state_of(model, 0.3), expected)
        if fate == "late":
            late.append((decision, decided, label))
        elif fate == "answer" or decision.asked:
            answer(decision, decided, label)
    for one in late:
        answer(*one)


def check_outside(model: hw.Spring, state: Spring, event: Event) -> None:
    """Predictions and explanations use what is known, and change nothing."""
    before = model.to_bytes()
    inputs = state.look(event)
    margin = state.margin(inputs)
    assert model.margin_one(event) == near(margin)
    p = state.probability(state.balanced(inputs))
    assert model.predict_proba_one(event) == near({False: 1 - p, True: p})
    explained = model.explain_one(event)
    assert explained.margin == near(sum(explained.contributions.values()))
    parts = {
        f"{name} (present)" if kind == PRESENCE else name: part
        for (name, kind), part in state.parts(inputs).items()
    }
    assert explained.contributions == near(parts)
    trust = [state.trust[column] for column in (state.long, state.spare, 2, 3, 4, 5)]
    words = ("long", "spare", "mid", "short", "calm", "fading")
    assert explained.details == near(dict(zip(words, trust, strict=True)))
    assert model.status().trust == explained.details
    assert model.to_bytes() == before


# Side by side, from the start


def sensors(seed: int, length: int, concept: Callable[[int], int]) -> Iterator[Labelled]:
    """Sensors that move together, some of them rarely there; the concept is +1 or −1."""
    generator = random.Random(seed)
    for t in range(length):
        common = generator.gauss(0, 1)
        here = [place for place in range(5) if generator.random() < (1, 0.9, 0.4, 0.1, 0.02)[place]]
        event: Event = {
            f"s{place}": 10.0**place * (3 + common * (-1) ** place + generator.gauss(0, 0.5))
            for place in here
        }
        yield event, concept(t) * (common + 0.3 * generator.gauss(0, 1)) > 0


def steady(t: int) -> int:
    return 1


def text(seed: int, length: int) -> Iterator[Labelled]:
    """A few of many words, of which some say the class; the words change in the course of time."""
    generator = random.Random(seed)
    for t in range(length):
        label = generator.random() < 0.5
        event: Event = {f"w{int(80 * generator.random() ** 2) + t // 30}": 1.0 for _ in range(4)}
        if generator.random() < 0.7:
            event["good" if label else "bad"] = 1.0
        yield event, label


def rare(seed: int, length: int, share: float) -> Iterator[Labelled]:
    """Events of which a small share is positive, and whose P(positive) is known."""
    generator = random.Random(seed)
    for _ in range(length):
        label = generator.random() < share
        yield {name: generator.gauss(1.5 if label else 0.0, 1) for name in "abc"}, label


class Both:
    """The core and the reference, side by side."""

    def __init__(self, rate: float, bound: Bound | None = None) -> None:
        limits: dict[str, Any] = {}
        if bound:
            limits = {"max_features": bound.most, "when_full": bound.when_full}
        self.core, self.rate = hw.Spring(label_rate=rate, **limits), rate
        self.plain = Spring(rate, 0, bound)
        self.open: list[tuple[hw.Decision, Decided, bool]] = []

    def decide(self, event: Event, label: bool) -> None:
        decision, decided = self.core.decide_one(event), self.plain.decide(event)
        assert decision.margin == near(decided.margin)
        assert decision.asked == decided.asked, decided.gap
        if decision.asked:
            self.open.append((decision, decided, label))

    def learn(self, event: Event, label: bool) -> None:
        self.core.learn_one(event, label)
        self.plain.learn(event, sign(label))

    def answer(self, place: int = 0) -> None:
        decision, decided, label = self.open.pop(place)
        self.core.answer(decision, label)
        self.plain.answer(decided, sign(label))

    def check(self) -> None:
        assert_same(state_of(self.core, self.rate), self.plain)


def test_core_and_reference_agree_while_the_windows_fill_and_overflow() -> None:
    both = Both(rate=0.5)
    for t, (event, label) in enumerate(sensors(3, 900, steady)):
        both.decide(event, label)
        if both.open:
            both.answer()
        if t % 90 == 89:
            both.check()
    assert [len(mine) for mine in both.plain.store] == [STORED, STORED]
    assert both.plain.changes == []


def test_core_and_reference_agree_while_concepts_change_and_return() -> None:
    """With labels told by chance and labels told with their event."""
    both = Both(rate=0.4)
    rows = sensors(4, 1600, lambda t: -1 if 500 <= t < 900 or t >= 1300 else 1)
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
    assert len(reasons) >= 3
    assert "returned" in reasons
    assert {"mid", "short"} & set(reasons)


@pytest.mark.parametrize("stream", [text, partial(rare, share=0.05)], ids=["text", "rare class"])
def test_core_and_reference_agree_on_words_and_on_a_rare_class(stream: Any) -> None:
    both = Both(rate=0.5)
    for t, (event, label) in enumerate(stream(6, 500)):
        both.decide(event, label)
        while both.open:
            both.answer()
        if t % 100 == 99:
            both.check()


@pytest.mark.parametrize("when_full", ["refuse", "oldest", "smallest"])
def test_core_and_reference_agree_while_features_are_evicted(when_full: str) -> None:
    """Answers come late, so that some of their features have gone, and some have come back."""
    both, generator = Both(0.4, Bound(24, when_full)), random.Random(2)
    for t, (event, label) in enumerate(text(7, 450)):
        if t % 5 == 4:
            both.learn(event, label)
        else:
            both.decide(event, label)
        while len(both.open) > 15:
            both.answer(generator.randrange(len(both.open)))
        if t % 50 == 49:
            both.check()
    assert (both.core.evicted > 100) == (when_full != "refuse")
    assert (both.core.refused > 0) == (when_full == "refuse") or both.core.refused > 0


def test_two_thousand_answers_a_day_late_across_a_change() -> None:
    """A day has 4,000 events; the concept changes at its noon. Answers come the next day, in any
    order among eight: those about the morning teach the column that reigned then."""
    both, generator = Both(rate=0.5), random.Random(9)
    day = list(sensors(5, 8_000, lambda t: 1 if t < 2_000 else -1))
    for event, label in day[:4_000]:
        both.decide(event, label)
    asked = len(both.open)
    assert 1_900 < asked < 2_100
    morning = [one for one in both.open if one[1].number <= 1_800]
    held_back = morning[::3]
    assert len(held_back) > 200
    before, both.open = [one for one in both.open if one not in held_back], []
    for t, (event, label) in enumerate(day[4_000:]):
        both.decide(event, label)
        if t % 2 == 1 and before:
            both.open.insert(0, before.pop(generator.randrange(min(8, len(before)))))
            both.answer()
    both.check()
    assert [change.reason for change in both.plain.changes] != []
    assert abs(both.plain.changes[0].number - 2_000) < 200
    while before:
        both.open.insert(0, before.pop())
        both.answer()
    trust, long = list(both.plain.trust), both.plain.long
    sizes = [sum(both.plain.sizes[column]) for column in (0, 1)]
    for one in held_back:  # the very last ones are about the morning
        both.open.insert(0, one)
        both.answer()
    both.check()
    assert both.plain.trust == trust, "what was before the change is no reason to doubt"
    assert sum(both.plain.sizes[long]) == sizes[long]
    assert sum(both.plain.sizes[1 - long]) == sizes[1 - long] + len(held_back)
    fresh = list(sensors(6, 1_000, lambda t: -1))
    assert np.mean([both.core.predict_one(event) == label for event, label in fresh]) > 0.85


def test_an_answer_from_before_all_changes_that_are_remembered_is_not_learned() -> None:
    """It counts as learned; nothing else is known of its time."""
    both = Both(rate=0.5)
    rows = list(sensors(8, 4_000, lambda t: 1 if t // 350 % 2 else -1))
    for event, label in rows[:60]:
        both.decide(event, label)
    old, both.open = both.open, []
    for event, label in rows[60:]:
        both.decide(event, label)
        while both.open:
            both.answer()
        if len(both.plain.changes) == 8:
            break
    assert len(both.plain.changes) == 8
    before = both.core.weights()
    both.open = old
    while both.open:
        both.answer()
    both.check()
    assert both.core.weights() == before


# The same by every way


def test_event_loop_batch_and_a_loaded_learner_give_the_same_bits() -> None:
    rows = list(sensors(11, 2_000, lambda t: 1 if t < 1_000 else -1))
    names = sorted({name for event, _ in rows for name in event}, key=str)
    table = np.array([[event.get(name, np.nan) for name in names] for event, _ in rows])
    labels = [label for _, label in rows]
    loop, batch = hw.Spring(label_rate=0.3), hw.Spring(label_rate=0.3)
    stopped: hw.Learner = hw.Spring(label_rate=0.3)
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
    taught_one, taught_many = hw.Spring(), hw.Spring()
    for event, label in rows:
        taught_one.learn_one({name: event[name] for name in names if name in event}, label)
    taught_many.learn_many(table, labels, names=names)
    assert taught_one.to_bytes() == taught_many.to_bytes()
    probabilities = taught_many.predict_proba_many(table[:50], names=names)
    again = hw.from_bytes(taught_one.to_bytes()).predict_proba_many(table[:50], names=names)
    assert np.array_equal(probabilities, again)


def test_learning_is_deciding_and_answering() -> None:
    deciding, learning = hw.Spring(), hw.Spring()
    for event, label in sensors(6, 250, steady):
        deciding.answer(deciding.decide_one(event), label)
        learning.learn_one(event, label)
    assert deciding.weights() == learning.weights()
    assert deciding.status().trust == learning.status().trust


def test_a_late_answer_learns_what_its_question_saw() -> None:
    both = Both(rate=0.05)
    rows = list(sensors(9, 300, steady))
    for event, label in rows[:101]:
        both.decide(event, label)
    decision, decided, _ = both.open[-1]
    kept = pickle.loads(pickle.dumps(decision))
    for event, label in rows[101:]:
        both.decide(event, label)
    twin = pickle.loads(pickle.dumps(both.core))
    both.core.answer(decision, True)
    twin.answer(kept, True)
    assert both.core.to_bytes() == twin.to_bytes()
    stored = state_of(both.core, 0.05).store[1][0]
    assert stored.inputs == near(decided.inputs)
    assert stored.inputs["(factor)", 0] != 0
    assert stored.number == decided.number


def test_events_never_labelled_teach_the_factor() -> None:
    rows = list(sensors(8, 400, steady))
    plain, primed = hw.Spring(), hw.Spring()
    for event, _ in rows[:300]:
        primed.decide_one(event)
    assert primed.learned == 0
    assert primed.features() == []
    features = state_of(primed, 0.05).scaler.features
    assert features["s0"].loading * features["s1"].loading < 0  # as they move
    for event, label in rows[300:304]:
        primed.learn_one(event, label)
        plain.learn_one(event, label)

    def right(model: hw.Learner) -> int:
        return sum(model.predict_one(event) == label for event, label in rows[304:])

    assert right(primed) > right(plain)


# The bound on questions, and that they never stop


def allowed(rate: float, t: int) -> float:
    return rate * t + 2 * sqrt(rate * t) + 4


def empty(t: int) -> Event:
    return {}


def constant(t: int) -> Event:
    return {"a": 1.0, "b": 2.0}


def shrinking(t: int) -> Event:
    """Margins that shrink: every event is less sure than those before."""
    return {"a": (-1.0) ** t * exp(-t / 50), "b": 1.0 / (t + 1)}


def new_words(t: int) -> Event:
    return {f"w{t}": 1.0, f"w{t % 7}x": 2.0}


def noise(t: int) -> Event:
    generator = random.Random(t)
    return {name: generator.gauss(0, 1) for name in "abc"}


@examples(100)
@given(
    shapes=st.lists(
        st.tuples(
            st.sampled_from([empty, constant, shrinking, new_words, noise]), st.integers(1, 120)
        ),
        min_size=1,
        max_size=5,
    ),
    rate=st.sampled_from([0.001, 0.01, 0.05, 0.3, 0.9]),
    answers=st.sampled_from(["at once", "never", "late", "one class", "some"]),
    seed=st.integers(0, 1000),
)
def test_there_are_never_more_questions_than_promised(
    shapes: list[tuple[Any, int]], rate: float, answers: str, seed: int
) -> None:
    """Whatever comes: equal margins, empty events, one class, answers that never come."""
    coin = random.Random(seed)
    model = hw.Spring(label_rate=rate, seed=seed)
    late: list[hw.Decision] = []
    t = 0
    for shape, length in shapes:
        for _ in range(length):
            decision = model.decide_one(shape(t))
            t += 1
            assert model.asked <= allowed(rate, t)
            if not decision.asked or answers == "never":
                continue
            late.append(decision)
            if answers == "late" and len(late) < 4:
                continue
            if answers == "some" and coin.random() < 0.5:
                continue
            for one in late:
                if not one.answered:
                    model.answer(one, answers == "one class" or coin.random() < 0.5)
            late.clear()


@pytest.mark.parametrize("make", [hw.Linear, hw.OLVF, hw.FESL])
def test_other_learners_keep_the_promise_too(make: Any) -> None:
    model = make(query=hw.query.Quantile(0.02))
    for t in range(3000):
        decision = model.decide_one(noise(t) if t % 3 else empty(t))
        assert model.asked <= allowed(0.02, t + 1)
        if decision.asked:
            model.answer(decision, t % 2 == 0)
    assert model.asked > 0.015 * 3000


LATE = 10_000


@pytest.mark.parametrize("rate", [0.01, 0.05])
@pytest.mark.parametrize("delay", [0, LATE, None], ids=["at once", "10,000 events late", "never"])
def test_it_never_stalls_and_asks_as_much_as_a_budget_would(rate: float, delay: int | None) -> None:
    spring = hw.Spring(label_rate=rate)
    budget = hw.Linear(query=hw.query.Budget(rate))
    events = [noise(t) for t in range(500)]
    waiting: list[tuple[int, hw.Decision, bool]] = []
    counts = []
    for t in range(14_000):
        event = events[t * 7 % 500]
        for model in (spring, budget):
            decision = model.decide_one(event)
            if decision.asked and delay is not None and model is spring:
                waiting.append((t + delay, decision, event["a"] > 0))
            elif decision.asked and delay == 0:
                model.answer(decision, event["a"] > 0)
        while waiting and waiting[0][0] <= t:
            _, decision, label = waiting.pop(0)
            spring.answer(decision, label)
        assert spring.asked <= allowed(rate, t + 1)
        counts.append((spring.asked, budget.asked))
    for t in (500, 2_000, 9_999, 13_999):
        asked, usual = counts[t]
        assert asked >= min(usual, rate * t) - 2 * sqrt(rate * t), (t, asked, usual)


def test_the_first_questions_come_as_early_as_the_promise_allows() -> None:
    """Answers or not, from the tenth event on; none about events that say nothing."""
    model, still = hw.Spring(), hw.Spring()
    for _ in range(10):
        assert model.decide_one({}).query_probability == 0.0
    for _ in range(30):
        assert not still.decide_one({"a": 5.0}).asked  # always there, always the same
    assert not model.decide_one(noise(0)).asked  # never seen before: neither value nor presence
    asked = [model.decide_one(noise(t)).asked for t in range(1, 300)]
    expected: list[bool] = []
    for t in range(12, 311):
        due = 0.05 * t
        first = sum(expected) < due + 2 * sqrt(due)
        if sum(expected) >= 10:
            break
        expected.append(first)
    assert asked[: len(expected)] == expected
    assert sum(expected) == 10


@pytest.mark.parametrize("make", [hw.Spring, partial(hw.Linear, query=hw.query.Quantile(0.05))])
def test_the_first_question_waits_until_ten_events_show_what_they_are_like(make: Any) -> None:
    model = make()
    asked = [model.decide_one(noise(t)).asked for t in range(13)]
    assert asked == [False] * 9 + [True] * 3 + [False]  # 12 events: 0.6 + 2√0.6 is above 2
    unscaled = hw.Linear(query="quantile", scale=None)
    assert unscaled.decide_one(noise(0)).asked


def test_labels_of_a_second_class_are_looked_for_at_the_rate() -> None:
    model = hw.Spring(label_rate=0.1, multiclass=True)
    for t in range(2_000):
        decision = model.decide_one(noise(t))
        if decision.asked:
            model.answer(decision, "the only one")  # all margins are 0
    assert 0.08 * 2_000 < model.asked < 0.12 * 2_000


def test_a_question_has_the_probability_that_it_reports() -> None:
    rate, by_chance, unlikely = 0.5, 0, 0
    model = hw.Spring(label_rate=rate)
    chance = 0.15 * rate
    for t in range(8_000):
        decision = model.decide_one(noise(t % 1000))
        if decision.asked and model.learned < 50:
            model.answer(decision, noise(t % 1000)["a"] > 0)
        assert decision.query_probability in (0.0, chance, 1.0)
        assert decision.asked or decision.query_probability < 1
        if decision.query_probability == chance:
            unlikely += 1
            by_chance += decision.asked
    assert unlikely > 2_000
    assert abs(by_chance - chance * unlikely) < 4 * sqrt(chance * unlikely)


@pytest.mark.parametrize("rate", [0.02, 0.05, 0.2])
def test_the_rate_is_kept(rate: float) -> None:
    network = hw.streams.SensorNetwork(6_000, seed=2)
    trace = hw.Spring(label_rate=rate).simulate(*network.batch())
    assert abs(trace.asked.mean() - rate) < 0.15 * rate


# As users rely on it


def accuracy(model: hw.Learner, rows: Iterable[Labelled]) -> float:
    right = []
    for event, label in rows:
        decision = model.decide_one(event)
        right.append(decision.prediction == label)
        if decision.asked:
            model.answer(decision, label)
    return float(np.mean(right))


def test_raw_scales_do_not_matter() -> None:
    rows = list(sensors(4, 3000, steady))
    odd = [({n: 1e6 * x + 1e8 if n == "s0" else x for n, x in e.items()}, y) for e, y in rows]
    plain, scaled = accuracy(hw.Spring(), rows), accuracy(hw.Spring(), odd)
    assert plain > 0.8
    assert abs(plain - scaled) < 0.03


def test_after_a_reversal_it_is_soon_as_good_as_a_fresh_one() -> None:
    errors, of_fresh = [], []
    for seed in (12, 13, 14):
        rows = list(sensors(seed, 8_000, lambda t: 1 if t < 3_000 else -1))
        used, fresh = hw.Spring(label_rate=0.1), hw.Spring(label_rate=0.1)
        assert accuracy(used, rows[:3_000]) > 0.8
        errors.append(1 - accuracy(used, rows[3_000:]))
        of_fresh.append(1 - accuracy(fresh, rows[3_000:]))
        change = used.status().changes[0]
        assert 2_700 < change.event < 3_400
        assert "predicted better" in change.reason
    assert np.mean(errors) < 1.7 * np.mean(of_fresh)


def test_a_concept_that_comes_back_is_remembered() -> None:
    rows = list(sensors(13, 9_000, lambda t: -1 if 3_000 <= t < 6_000 else 1))
    model = hw.Spring(label_rate=0.1)
    accuracy(model, rows[:6_000])
    learned = model.learned
    accuracy(model, rows[6_000:])
    back = next(change for change in model.status().changes if change.learned > learned)
    assert back.reason == "the concept before the last change predicted better"
    assert back.learned - learned < 120


def turning(seed: int, length: int, turns: float) -> Iterator[Labelled]:
    """Six sensors; the direction that separates the classes turns all the time."""
    generator = random.Random(seed)
    for t in range(length):
        x = [generator.gauss(0, 1) for _ in range(6)]
        angle = 2 * pi * turns * t / length
        score = cos(angle) * (x[0] + x[1]) + sin(angle) * (x[2] + x[3])
        label = score + 0.3 * generator.gauss(0, 1) > 0
        yield {f"s{place}": value for place, value in enumerate(x)}, label


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_rule_that_turns_is_followed_by_the_column_that_forgets(seed: int) -> None:
    def trusted(turns: float) -> float:
        """The mean trust in the column over the stream."""
        model, found = hw.Spring(label_rate=0.2), []
        for event, label in turning(seed, 4_000, turns):
            decision = model.decide_one(event)
            if decision.asked:
                model.answer(decision, label)
                found.append(model.status().trust["fading"])
        return sum(found) / len(found)

    assert trusted(turns=0) < 0.2 < 0.35 < trusted(turns=0.35)


def reliability(model: hw.Learner, rows: Iterable[Labelled]) -> tuple[float, float, float]:
    """The mean gap between probability and share over ten equal bins; both means."""
    rows = list(rows)
    p = np.array([model.predict_proba_one(event)[True] for event, _ in rows])
    y = np.array([label for _, label in rows], dtype=float)
    order = np.argsort(p)
    gaps = [abs(p[part].mean() - y[part].mean()) for part in np.array_split(order, 10)]
    return float(np.mean(gaps)), float(p.mean()), float(y.mean())


def noisy(seed: int, length: int, concept: int = 1, offset: float = 0.0) -> Iterator[Labelled]:
    """P(positive) = σ(2a − b + offset), or that of the reverse."""
    generator = random.Random(seed)
    for _ in range(length):
        event: Event = {name: generator.gauss(0, 1) for name in "abc"}
        odds = concept * (2 * event["a"] - event["b"]) + offset
        yield event, generator.random() < 1 / (1 + exp(-odds))


def test_probabilities_are_reliable_on_a_calm_stream() -> None:
    model = hw.Spring(label_rate=0.1)
    accuracy(model, noisy(1, 8_000))
    gap, told, true = reliability(model, noisy(2, 4_000))
    assert gap < 0.08
    assert abs(told - true) < 0.06


def test_probabilities_are_reliable_after_a_change() -> None:
    model = hw.Spring(label_rate=0.1)
    accuracy(model, noisy(1, 5_000))
    accuracy(model, noisy(3, 5_000, concept=-1))
    assert model.status().changes != ()
    gap, told, true = reliability(model, noisy(2, 4_000, concept=-1))
    assert gap < 0.08
    assert abs(told - true) < 0.06


def test_probabilities_are_those_of_the_stream_when_a_class_is_rare() -> None:
    model = hw.Spring(label_rate=0.1)
    accuracy(model, rare(1, 12_000, 0.02))
    gap, told, true = reliability(model, rare(2, 6_000, 0.02))
    assert gap < 0.03
    assert abs(told - true) < 0.02
    test = list(rare(2, 6_000, 0.02))
    for side in (True, False):  # predictions are as if the classes were of one size
        assert np.mean([model.predict_one(e) == y for e, y in test if y == side]) > 0.7


def separable(seed: int, length: int) -> Iterator[Labelled]:
    generator = random.Random(seed)
    truth = [generator.gauss(0, 1) for _ in range(20)]
    for _ in range(length):
        event: Event = {place: generator.gauss(0, 1) for place in range(20)}
        q = sum(w * event[place] for place, w in enumerate(truth))
        if abs(q) > 1.0:
            yield event, q > 0


def test_with_every_label_its_error_is_within_half_a_point_of_arow_s() -> None:
    """Asked for, or told with the event; ten streams, all of their events."""
    wrong: dict[str, int] = {"asked": 0, "told": 0, "AROW": 0}
    events = 0
    for seed in range(10):
        asking, told = hw.Spring(label_rate=1.0), hw.Spring()
        arow = hw.Linear(update=hw.update.AROW(), query="all", scale="running")
        for event, label in separable(seed, 1_500):
            for name, model in (("asked", asking), ("AROW", arow)):
                decision = model.decide_one(event)
                assert decision.asked
                wrong[name] += decision.prediction != label
                model.answer(decision, label)
            wrong["told"] += told.predict_one(event) != label
            told.learn_one(event, label)
            events += 1
    assert wrong["asked"] - wrong["AROW"] < 0.005 * events
    assert wrong["told"] - wrong["AROW"] < 0.005 * events


# What is refused


def test_the_learners_own_names_are_refused() -> None:
    model = hw.Spring()
    for name in OWN:
        for _ in range(2):
            before = model.to_bytes()
            with pytest.raises(EventError, match="is the learner's own; rename it"):
                model.decide_one({name: 1.0})
            with pytest.raises(EventError, match="is the learner's own; rename it"):
                model.simulate([[1.0]], [True], names=[name])
            assert model.to_bytes() == before
            model.learn_one({"a": 1.0}, True)


def test_values_beyond_all_measure_and_labels_of_another_kind_are_refused() -> None:
    model = hw.Spring(label_rate=1.0)
    for value in (1.0, 2.0):
        model.learn_one({"a": value}, True)
    decision = model.decide_one({"a": 3.0})
    before = model.to_bytes()
    for act in (model.decide_one, lambda x: model.learn_one(x, True)):
        with pytest.raises(StepError, match=r"must lie between -1e140 and 1e140 to be scaled"):
            act({"a": 1e200, "new": 1.0})
        assert model.to_bytes() == before
    with pytest.raises(LabelError):
        model.learn_one({"a": 1.0, "new": 1.0}, "maybe")
    with pytest.raises(LabelError):
        model.answer(decision, "maybe")
    assert model.to_bytes() == before


@pytest.mark.parametrize("rate", [0, -0.1, 1.5, float("nan"), "few", None])
def test_a_rate_is_a_share(rate: Any) -> None:
    with pytest.raises(ParameterError, match="label_rate must be"):
        hw.Spring(label_rate=rate)


def broken(key: str, value: Any) -> bytes:
    """A model file of Spring with one thing changed."""
    model = hw.Spring()
    for t in range(60):
        model.learn_one(noise(t), t % 2 == 0)
    header, state = take_apart(model.to_bytes())
    spring = state["model"]["spring"]
    place = {
        "spring": spring,
        "rows": spring["rows"],
        "window": spring["windows"][1],
        "probability": spring["probability"],
        "scaler": state["scaler"],
    }
    part, _, name = key.partition(".")
    place[part][name] = value if not callable(value) else value(place[part][name])
    return put_together(header, state)


NAN = float("nan")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("spring.long", 2),
        ("spring.trust", [1.0, 1.0, 0.0, 0.0, 0.0]),
        ("spring.trust", [NAN, 0.0, 0.0, 0.0, 1.0]),
        ("spring.sizes", [[0.0, 0.0]] * 4),
        ("spring.odds", [0.0, 1.0]),
        ("spring.slope", 0.1),
        ("spring.curve", NAN),
        ("spring.since", 2**63),
        ("rows.features", [0, 1, 2, 3, 4, 99]),
        ("rows.features", [0, 1, 2, 3, 5, 4]),
        ("rows.dual", [[[0.0] * 4] * 2]),
        ("rows.dual", lambda dual: [[[NAN] * 4] * 2, *dual[1:]]),
        ("rows.calm", lambda calm: [[[0.0, 2.0]] * 2, *calm[1:]]),
        ("rows.fading", lambda fading: [[[0.0, 2.0]] * 2, *fading[1:]]),
        ("rows.fading", lambda fading: fading[1:]),
        ("spring.fading", {"trust": 0.5, "slope": 3.0, "curve": 1.0}),
        ("spring.fading", {"trust": 0.0, "slope": 0.1, "curve": 1.0}),
        ("rows.labels", [-1.0, 5.0]),
        ("window.numbers", lambda numbers: [1, *numbers[1:]]),
        ("window.cursors", [0, 500]),
        ("window.ids", lambda ids: [[999] * len(ids[0]), *ids[1:]]),
        ("window.values", lambda values: [[1.0], *values[1:]]),
        ("window.alphas", lambda alphas: [[NAN] * 4, *alphas[1:]]),
        ("probability.slope", 0.0),
        ("probability.information", [1.0, 5.0, 1.0]),
        ("probability.expected", [2.0, 1.0]),
        ("scaler.loadings", [0.0]),
        ("scaler.loadings", [NAN] * 6),
        ("scaler.summary", None),
        ("scaler.counts", [8_000] * 6),
        ("scaler.squares", [-1.0] * 6),
    ],
)
def test_a_file_that_does_not_fit_is_refused(key: str, value: Any) -> None:
    with pytest.raises(ModelFileError):
        hw.from_bytes(broken(key, value))


def test_a_file_from_before_there_was_fading_goes_on_with_it() -> None:
    header, state = take_apart(hw.from_bytes(broken("spring.since", 60)).to_bytes())
    spring = state["model"]["spring"]
    spring["trust"][0] += spring.pop("fading")["trust"]
    del spring["rows"]["fading"], spring["probability"]["expected"]
    model = hw.from_bytes(put_together(header, state))
    assert isinstance(model, hw.Spring)
    assert model.status().trust["fading"] == 0.0
    for event, label in sensors(3, 40, steady):
        model.learn_one(event, label)
    assert model.status().trust["fading"] > 0.0
    assert hw.from_bytes(model.to_bytes()).to_bytes() == model.to_bytes()


def test_a_file_in_which_nothing_is_changed_is_taken() -> None:
    assert hw.from_bytes(broken("spring.since", 60)).learned == 60


# The reference itself, by hand


def test_the_reference_s_first_label_by_hand() -> None:
    """One feature, seen once: it says nothing yet, and the constant alone is learned."""
    plain = Spring(rate=0.5)
    plain.learn({"a": 4.0}, 1)
    inputs: Inputs = inputs_of(plain.scaler.look({}))
    assert inputs == {("(factor)", 0): 0.0, ("(energy)", 0): 0.0, ("(intercept)", 0): 0.3}
    row = plain.rows["(intercept)", 0]
    assert row.calm == about(0.3 / 1.09)  # AROW: loss 1, variance 0.09
    assert row.variance == about(1 - 0.09 / 1.09)
    assert plain.sizes == [[0, 1], [0, 0], [0, 1], [0, 1]]
    alpha = plain.store[1][0].alphas[0]
    assert row.dual[0] == about(0.3 * alpha)
    assert alpha == about(1.5 / (1 + exp(0.09 * alpha)), rel=1e-9)  # C = 2·½·3/2, α = Cσ(−q)
    assert plain.labels == [0.0, 1.0]
    assert len(plain.store[1][-NEWEST:]) == 1
