"""One learner per key, without an engine: rows and a state in, rows out."""

import copy
import json
import random
from typing import Any

import pytest

import headwater as hw
from headwater.adapters.keyed import (
    NO_TIME,
    DictState,
    Early,
    Head,
    KeyedLearners,
    LearnerCache,
    Open,
    Row,
)

START = hw.PAA(seed=3).to_bytes()
HOUR = 3_600_000


def event(t: int, **features: float) -> Row:
    return Row("a", t, "event", f"e{t}", json.dumps(features or {"rain": 1.0}))


def answer(t: int, id: str, label: Any = True) -> Row:
    return Row("a", t, "answer", id, json.dumps(label))


def kept(state: DictState) -> tuple[Any, ...]:
    """All that a state holds."""
    return state.head(), state.model(), dict(state._open), dict(state._early)


def kinds(rows: list[Row]) -> list[tuple[str, str]]:
    return [(row.kind, row.id) for row in rows]


def made_up(count: int, seed: int) -> list[Row]:
    """Events with changing features, and answers that come a little later."""
    generator = random.Random(seed)
    rows = []
    for t in range(count):
        names = generator.sample("abcdefgh", 4)
        features = {name: generator.gauss(0, 1) for name in names}
        rows.append(event(10 * t, **features))
        after = generator.choice((1, 15, 203))  # never the time of an event
        rows.append(answer(10 * t + after, f"e{10 * t}", features[names[0]] > 0))
    return sorted(rows, key=lambda row: row.t)


def plain_loop(rows: list[Row], model: hw.Learner) -> list[tuple[str, str]]:
    """The rows by hand: what goes out, in order."""
    questions, out = {}, []
    for row in rows:
        if row.kind == "event":
            decision = model.decide_one(json.loads(row.body))
            out.append(("decision", row.id))
            if decision.asked:
                questions[row.id] = decision
                out.append(("question", row.id))
        elif row.id in questions:
            model.answer(questions.pop(row.id), json.loads(row.body))
            out.append(("learned", row.id))
    return out


@pytest.mark.parametrize("capacity", [0, 10**9], ids=["no cache", "cache"])
@pytest.mark.parametrize("longest", [1, 7, 1000])
@pytest.mark.parametrize("model", [hw.Spring(label_rate=0.3), hw.FLLS(seed=1), hw.Linear()])
def test_in_batches_of_any_length_it_is_the_plain_loop(
    model: hw.Learner, longest: int, capacity: int
) -> None:
    rows, state, out = made_up(150, seed=longest), DictState(), list[Row]()
    learners = KeyedLearners(model.to_bytes(), cache=LearnerCache(capacity))
    generator, begin = random.Random(0), 0
    while begin < len(rows):
        end = begin + generator.randint(1, longest)
        batch = rows[begin:end]
        generator.shuffle(batch)
        out += learners.handle("a", batch, state, now=0)
        begin = end
    loop = copy.deepcopy(model)
    assert kinds(out) == plain_loop(rows, loop)
    assert state.model() == loop.to_bytes()
    assert {"decision", "question", "learned"} == {row.kind for row in out}
    assert learners.cache.hits > 0 if capacity and longest < 1000 else learners.cache.hits == 0


def test_every_key_has_its_own_learner_and_may_choose_it() -> None:
    learners = KeyedLearners(lambda key: hw.PAA(C=0.25 if key == "b" else 1.0))
    states = {"a": DictState(), "b": DictState()}
    for key, state in states.items():
        learners.handle(key, [event(1)._replace(key=key), answer(2, "e1")], state, now=0)
    weights = {key: hw.from_bytes(state.model()).weights() for key, state in states.items()}
    assert weights == {"a": {"rain": 1.0}, "b": {"rain": 0.25}}


def test_a_batch_that_is_repeated_starts_from_the_state_not_from_memory() -> None:
    learners, state = KeyedLearners(START), DictState()
    learners.handle("a", [event(1), answer(2, "e1")], state, now=0)
    before = copy.deepcopy(state)
    batch = [event(3), answer(4, "e3", False)]
    first = learners.handle("a", batch, state, now=0)  # lost by a crash elsewhere
    assert learners.handle("a", batch, before, now=0) == first
    assert kept(before) == kept(state)


def test_an_answer_that_overtakes_its_event_is_learned_with_it() -> None:
    learners, state = KeyedLearners(START), DictState()
    assert learners.handle("a", [answer(1, "e5")], state, now=0) == []
    assert state.head() is not None
    assert state.head().early == 1  # type: ignore[union-attr]
    out = learners.handle("a", [event(5)], state, now=0)
    assert kinds(out) == [("decision", "e5"), ("question", "e5"), ("learned", "e5")]
    assert out[2].t == 1
    assert state.head().early == 0  # type: ignore[union-attr]
    assert state.all_early() == []
    loop = hw.PAA(seed=3)
    loop.answer(loop.decide_one({"rain": 1.0}), True)
    assert state.model() == loop.to_bytes()


def test_an_answer_without_an_event_is_late_when_its_time_is_over() -> None:
    learners, state = KeyedLearners(START, early_ms=HOUR), DictState()
    learners.handle("a", [answer(1, "e5")], state, now=0)
    learners.handle("a", [answer(2, "e6")], state, now=HOUR // 2)
    assert learners.expire("a", state, now=HOUR - 1) == []
    out = learners.expire("a", state, now=HOUR)
    assert kinds(out) == [("late", "e5")]
    why = "no question of this id was open while the answer waited"
    assert json.loads(out[0].body) == {"row": "answer", "body": "true", "why": why}
    assert [id for id, _ in state.all_early()] == ["e6"]
    assert state.head().early == 1  # type: ignore[union-attr]
    assert kinds(learners.handle("a", [event(5)], state, now=HOUR)) == [
        ("decision", "e5"),
        ("question", "e5"),
    ]


def test_an_answer_that_waited_for_an_event_nobody_asks_about_is_late() -> None:
    learners, state = KeyedLearners(hw.Linear(query=hw.query.Random(1e-9)).to_bytes()), DictState()
    learners.handle("a", [answer(1, "e5")], state, now=0)
    out = learners.handle("a", [event(5)], state, now=0)
    assert kinds(out) == [("decision", "e5"), ("late", "e5")]
    assert json.loads(out[1].body)["why"] == "its event was not asked about"


def test_an_event_that_comes_again_is_late_and_changes_nothing() -> None:
    learners, state = KeyedLearners(START), DictState()
    learners.handle("a", [event(1), event(2), answer(3, "e1")], state, now=0)
    before = kept(state)
    out = learners.handle("a", [event(2), event(1)], state, now=0)
    assert kinds(out) == [("late", "e1"), ("late", "e2")]
    assert "with t 2 was decided before" in out[0].body
    assert kept(state) == before


def test_an_answer_that_comes_again_is_not_learned_again() -> None:
    learners, state = KeyedLearners(START, early_ms=HOUR), DictState()
    learners.handle("a", [event(1), answer(2, "e1")], state, now=0)
    model = state.model()
    assert learners.handle("a", [answer(2, "e1")], state, now=0) == []
    assert kinds(learners.expire("a", state, now=HOUR)) == [("late", "e1")]
    assert state.model() == model


REFUSED = {
    "no JSON": (event(9)._replace(body="{"), "body: expected JSON, got '{'"),
    "no body": (event(9)._replace(body=None), "body: expected JSON, got None"),  # type: ignore[arg-type]
    "deep": (event(9)._replace(body="[" * 100_000), "body: expected JSON, got '[[["),
    "no object": (event(9)._replace(body="[1]"), "body: expected an object of features, got '[1]'"),
    "twice": (event(9)._replace(body='{"b": 1, "a": 1, "a": 2}'), "the feature 'a' stands there"),
    "infinite": (event(9)._replace(body='{"a": 1e999}'), "'a'"),
    "nested": (event(9)._replace(body='{"a": {"b": 1}}'), "'a'"),
    "kind": (event(9)._replace(kind="events"), 'expected "event" or "answer", got \'events\''),
    "id": (event(9)._replace(id=None), "id: expected a text, got None"),  # type: ignore[arg-type]
    "t": (event(NO_TIME), "t: expected a whole number that rises within a key, got null"),
    "label": (answer(9, "e2", "hot"), "hot"),
    "no label": (answer(9, "e2", None), "expected a label (text, number, true or false), got"),
}


@pytest.mark.parametrize(("row", "sentence"), REFUSED.values(), ids=list(REFUSED))
def test_a_row_that_cannot_be_used_is_refused_and_changes_nothing(row: Row, sentence: str) -> None:
    learners, state = KeyedLearners(START), DictState()
    learners.handle("a", [event(1), answer(2, "e1"), event(2), event(3)], state, now=0)
    before = kept(state)
    out = learners.handle("a", [row], state, now=0)
    assert [each.kind for each in out] == ["refused"]
    assert sentence in out[0].body
    assert kept(state) == before
    assert kinds(learners.handle("a", [answer(10, "e2")], state, now=0)) == [("learned", "e2")]


def test_a_key_of_refused_rows_alone_leaves_nothing() -> None:
    learners, state = KeyedLearners(START), DictState()
    learners.handle("a", [event(1)._replace(body="")], state, now=0)
    assert kept(state) == (None, b"", {}, {})


def test_a_fault_inside_a_learner_is_not_taken_for_a_bad_row() -> None:
    def broken(key: str) -> hw.Learner:
        raise RuntimeError("disk on fire")

    with pytest.raises(RuntimeError, match="disk on fire"):
        KeyedLearners(broken).handle("a", [event(1)], DictState(), now=0)


class CountingState(DictState):
    """Counts what is read and written."""

    def __init__(self) -> None:
        super().__init__()
        self.models_read = self.models_written = 0

    def model(self) -> bytes:
        self.models_read += 1
        return super().model()

    def keep(self, head: Head, model: bytes | None) -> None:
        self.models_written += model is not None
        super().keep(head, model)


def test_a_learner_in_memory_is_not_read_again_and_one_that_did_not_move_not_written() -> None:
    learners, state = KeyedLearners(START), CountingState()
    for t in range(1, 6):
        learners.handle("a", [event(t)], state, now=0)
    assert (state.models_read, state.models_written) == (0, 5)
    learners.handle("a", [event(1)], state, now=0)  # late
    learners.handle("a", [answer(9, "e99")], state, now=0)  # early
    learners.handle("a", [event(6)], state, now=0)
    assert (state.models_read, state.models_written) == (0, 6)


def test_the_learner_used_longest_ago_is_dropped_and_read_from_its_state() -> None:
    one = DictState()
    KeyedLearners(START).handle("a", [event(t) for t in range(6)], one, now=0)
    size = 3 * len(one.model())
    learners = KeyedLearners(START, cache=LearnerCache(size))
    states = {key: CountingState() for key in "abcdef"}

    def turn(key: str, t: int) -> None:
        learners.handle(key, [event(t, **{key: 1.0})._replace(key=key)], states[key], now=0)
        assert learners.cache.used <= size

    for t, key in enumerate("abab", 1):
        turn(key, t)
    assert learners.cache.hits == 2
    for key in "cdef":
        turn(key, 5)
    assert len(learners.cache) < 6
    turn("f", 6)
    assert states["f"].models_read == 0
    turn("a", 6)
    assert states["a"].models_read == 1


def test_a_question_is_kept_as_bytes_and_its_event() -> None:
    learners, state = KeyedLearners(START), DictState()
    learners.handle("a", [event(1, rain=2.0)], state, now=0)
    question = state.open("e1")
    assert isinstance(question, Open)
    assert hw.Decision.from_bytes(question.decision, json.loads(question.event)).asked
    assert state.early("e1") is None
    state.keep_early("e7", Early(1, "true", 5))
    assert state.early("e7") == Early(1, "true", 5)
