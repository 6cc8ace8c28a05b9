"""Many deciders, one learner: replicas and their owner keep their contract."""

import copy
import pickle
import threading
from collections.abc import Callable, Sequence
from math import isclose
from random import Random
from typing import Any

import pytest

import headwater as hw
from headwater.errors import AnswerError, ModelFileError, ParameterError
from model_bytes import put_together, state_of, take_apart
from python_models import HingeSteps
from reference.replica import Replica, absorb
from reference.scaler import Scaler, Statistics, read_scaler
from reference.spring import CONSTANT, OWN, PRESENCE, VALUE, read_spring
from reference.state import read_file

Event = dict[Any, float]


def scaler_of(model: hw.Learner) -> Scaler:
    return read_scaler(read_file(model.to_bytes())[1])


def events(count: int, seed: int, *, moved: float = 0.0) -> list[Event]:
    """Sensors, one of which comes and goes, a rare word, and a new name now and then."""
    draw = Random(seed)
    all_events: list[Event] = []
    for i in range(count):
        level = draw.gauss(0, 1)
        event: Event = {"a": 20 + 3 * level + moved, "b": -level + draw.gauss(0, 0.2), 7: level}
        if draw.random() < 0.4:
            event["c"] = draw.expovariate(1)
        if draw.random() < 0.05:
            event["word"] = 1.0
        if i % 50 == 49:
            event[f"new {seed} {i // 50}"] = draw.random()
        all_events.append(event)
    return all_events


def label(event: Event) -> bool:
    return event["b"] > 0


def assert_near(found: Scaler, wanted: Scaler, near: float, summary: bool) -> None:
    assert (found.rounds, found.features.keys()) == (wanted.rounds, wanted.features.keys())
    for name, one in found.features.items():
        other = wanted.features[name]
        size = max(1.0, abs(other.mean))
        assert (one.n, one.last, one.far_off, one.close) == (
            *(other.n, other.last, other.far_off, other.close),
        ), name
        assert isclose(one.first, other.first, rel_tol=near), name
        assert abs(one.mean - other.mean) <= near * size, name
        assert abs(one.squares - other.squares) <= near * size**2 * max(1.0, one.n), name
        assert abs(one.anchor - other.anchor) <= near * size, name
        assert not summary or abs(one.loading - other.loading) <= near, name
    if not summary:
        return
    for moments, others in ((found.factor, wanted.factor), (found.energy, wanted.energy)):
        assert moments.n == others.n
        assert isclose(moments.mean, others.mean, rel_tol=near, abs_tol=near)
        assert isclose(moments.variance, others.variance, rel_tol=near, abs_tol=near)


@pytest.mark.parametrize("learner", [hw.Linear, hw.Spring])
@pytest.mark.parametrize(
    ("before", "each", "moved"),
    [(0, 40, 0.0), (100, 200, 0.0), (60, 150, 500.0), (7_800, 300, 0.0)],
    ids=["from nothing", "few", "another unit", "half is forgotten"],
)
def test_the_owners_scaler_is_that_of_the_reference(
    learner: Any, before: int, each: int, moved: float
) -> None:
    owner = learner(seed=9)
    for event in events(before, 1):
        owner.decide_one(event)
    plain = scaler_of(owner)
    deciders = [owner.replica(seed=seed) for seed in range(3)]
    copies = [Replica.of(plain) for _ in deciders]
    for seed, (decider, plain_copy) in enumerate(zip(deciders, copies, strict=True)):
        for event in events(each, 10 + seed, moved=moved):
            decider.decide_one(event)
            plain_copy.show(event)
    owner.absorb(deciders)
    absorb(plain, copies)
    assert_near(scaler_of(owner), plain, 1e-9, isinstance(owner, hw.Spring))


@pytest.mark.parametrize("k", [1, 2, 5])
def test_counts_means_and_variances_are_those_of_one_learner_where_nothing_was_cut(k: int) -> None:
    shown = events(600, 3)
    owner, one = hw.Spring(seed=1), hw.Spring(seed=1)
    for event in shown[:100]:
        owner.decide_one(event), one.decide_one(event)
    parts = [shown[100 + i :: k] for i in range(k)]
    deciders = [owner.replica(seed=10 + i) for i in range(k)]
    for decider, part in zip(deciders, parts, strict=True):
        for event in part[: len(part) // 2]:
            decider.decide_one(event)
    owner.absorb(deciders)  # twice: sums are those since the last time
    for decider, part in zip(deciders, parts, strict=True):
        for event in part[len(part) // 2 :]:
            decider.decide_one(event)
    owner.absorb(deciders)
    for event in shown[100:]:
        one.decide_one(event)
    found, wanted = scaler_of(owner), scaler_of(one)
    assert (owner.seen, found.rounds) == (600, 600)
    assert found.features.keys() == wanted.features.keys()
    for name, stats in found.features.items():
        other = wanted.features[name]
        assert stats.n == other.n
        assert isclose(stats.mean, other.mean, rel_tol=1e-12, abs_tol=1e-12)
        assert isclose(stats.squares, other.squares, rel_tol=1e-12, abs_tol=1e-12 * stats.n)


def frozen(decision: hw.Decision) -> tuple[dict[Any, tuple[float, float]], list[float]]:
    """Value and presence of each feature as the model saw them, and factor and energy."""
    parts = decision.__reduce__()[1]
    names, seen, summary = list(decision.features), parts[6], parts[7]
    pairs = zip(seen[: len(names)], seen[len(names) :], strict=True)
    return dict(zip(names, pairs, strict=True)), summary


def decided_by(
    deciders: Sequence[hw.Learner], shown: list[Event]
) -> list[tuple[hw.Decision, Event, int]]:
    """What they decided in turn, with the event and its number in its decider."""
    return [
        (deciders[i % len(deciders)].decide_one(event), event, i // len(deciders))
        for i, event in enumerate(shown)
    ]


def example_of(decision: hw.Decision) -> Event:
    """The frozen inputs of a decision, by the names that their weights have."""
    values = frozen(decision)[0]
    example = {name: value for name, (value, _) in values.items()}
    return example | {f"{name} (present)": there for name, (_, there) in values.items() if there}


def test_weights_are_those_of_a_learner_that_is_given_the_frozen_examples() -> None:
    owner = hw.Linear(query="all", intercept=False)
    plain = hw.Linear(query="all", intercept=False, scale=None)
    deciders = [owner.replica(seed=seed) for seed in (1, 2, 3)]
    for start in range(0, 300, 60):
        decided = decided_by(deciders, events(60, start))
        owner.absorb(deciders)
        for decision, event, _ in decided[::-1]:  # in any order, as long as it is the same
            owner.answer(decision, label(event))
            plain.learn_one(example_of(decision), label(event))
        for decider in deciders:
            decider.refresh(owner)
    found, wanted = owner.weights(), plain.weights()
    assert owner.learned == plain.learned == 300
    assert found.keys() == wanted.keys() >= {"a", "c", "c (present)", "word (present)"}
    largest = max(abs(weight) for weight in wanted.values())
    for name, weight in found.items():
        assert abs(weight - wanted[name]) <= 1e-12 * largest, name


def test_spring_learns_frozen_examples_as_its_plain_reference_does() -> None:
    owner = hw.Spring(label_rate=0.3, seed=5)
    for event in events(80, 4):
        decision = owner.decide_one(event)
        if decision.asked:
            owner.answer(decision, label(event))
    deciders = [owner.replica(seed=seed) for seed in (1, 2)]
    for start in (0, 1):
        base, shown = owner.seen, events(120, 50 + start)
        decided = decided_by(deciders, shown)
        owner.absorb(deciders)
        for decision, event, place in decided:
            if not decision.asked:
                continue
            plain = read_spring(read_file(owner.to_bytes())[1], 0.3)
            values, summary = frozen(decision)
            inputs = {(name, VALUE): z for name, (z, _) in values.items()}
            inputs |= {(name, PRESENCE): there for name, (_, there) in values.items() if there}
            own = zip(OWN, (*summary, CONSTANT), strict=True)
            inputs |= {(name, VALUE): x for name, x in own}
            which = shown.index(event) % 2
            number = base + which * 60 + place + 1
            weight = min(1 / decision.query_probability, 1e9)
            plain.teach(number, inputs, 1 if label(event) else -1, weight)
            owner.answer(decision, label(event))
            for other in shown[:5]:
                seen = plain.look(other)
                assert isclose(
                    owner.margin_one(other), plain.margin(seen), rel_tol=1e-6, abs_tol=1e-9
                )
        for decider in deciders:
            decider.refresh(owner)
    assert owner.learned == owner.asked > 60


def learners() -> list[hw.Learner]:
    """One learner of each kind; all of them ask for some labels."""
    return [
        *(hw.Spring(label_rate=0.3), hw.Linear(), hw.FLLS(), hw.OLSF(), hw.PAA(), hw.CSPAA()),
        *(hw.MPAA(), hw.OLVF(), hw.SEL2(), hw.OFSP(count=2), hw.PARegressor(), hw.FESL()),
        *(hw.RFESL(), hw.named("SEL-ada"), hw.Linear(query=hw.query.Quota(0.3))),
        *(hw.Spring(label_rate=0.3, max_features=6), hw.Linear(max_features=4, when_full="oldest")),
        hw.Linear(max_features=4, when_full="refuse"),
    ]


@pytest.mark.parametrize("owner", learners(), ids=repr)
def test_one_replica_answered_at_the_end_is_the_learner_itself_answered_at_the_end(
    owner: hw.Learner,
) -> None:
    one = copy.copy(owner)
    shown = events(150, 2)
    replica = owner.replica(seed=owner.seed + 1)
    decisions = [replica.decide_one(event) for event in shown]
    owner.absorb([replica])
    own = []
    for event, decision in zip(shown, decisions, strict=True):
        own.append(one.decide_one(event, outcome=(decision.asked, decision.query_probability)))
        assert (own[-1].margin, own[-1].prediction) == (decision.margin, decision.prediction)
    for event, decision, same in zip(shown, decisions, own, strict=True):
        if decision.asked:
            y: Any = label(event) if owner.task == "binary" else "xy"[label(event)]
            y = event["b"] if owner.task == "regression" else y
            owner.answer(hw.Decision.from_bytes(decision.to_bytes(), decision.event), y)
            one.answer(same, y)
    assert (owner.seen, owner.asked, owner.learned) == (150, one.asked, one.asked)
    assert owner.asked > 10
    if owner.parameters().get("max_features") is None:
        assert owner.labels == one.labels
        found, wanted = owner.features(), one.features()
        assert [feature.name for feature in found] == [feature.name for feature in wanted]
        assert [feature.weight for feature in found] == [feature.weight for feature in wanted]
    else:
        names = [feature.name for feature in owner.features()]
        given = [name for name in names if not str(name).startswith("(")]
        assert 0 < len(given) <= owner.parameters()["max_features"]
    restored = hw.from_bytes(owner.to_bytes())
    assert restored.to_bytes() == owner.to_bytes()
    replica.refresh(owner)
    assert replica.features() == owner.features()
    for event in events(20, 8):
        assert replica.margin_one(event) == owner.margin_one(event)


def test_a_replica_predicts_with_the_model_of_its_last_refresh() -> None:
    owner = hw.PAA()
    replica = owner.replica(seed=1)
    owner.learn_one({"rain": 1.0}, True)
    assert (replica.margin_one({"rain": 1.0}), replica.learned) == (0.0, 0)
    replica.refresh(owner)
    assert (replica.margin_one({"rain": 1.0}), replica.learned) == (1.0, 1)


def test_replicas_keep_their_share_of_the_label_rate_between_refreshes() -> None:
    owner = hw.Spring(label_rate=0.1)
    for event in events(400, 1):
        decision = owner.decide_one(event)
        if decision.asked:
            owner.answer(decision, label(event))
    deciders = [owner.replica(seed=seed) for seed in range(1, 5)]
    before, draw = owner.asked, Random(5)
    for start in range(10):
        decided = decided_by(deciders, events(400, 100 + start))
        owner.absorb(deciders)
        for decision, event, _ in decided:
            if decision.asked and draw.random() < 0.9:
                owner.answer(decision, label(event))
        for decider in deciders:
            decider.refresh(owner)
    assert 0.08 * 4_000 < owner.asked - before < 0.12 * 4_000


def test_a_replica_does_not_learn() -> None:
    owner = hw.Spring()
    replica = owner.replica(seed=1)
    decision = replica.decide_one({"a": 1.0}, outcome=(True, 1.0))
    before = replica.to_bytes()
    for learn in (
        lambda: replica.learn_one({"a": 1.0}, True),
        lambda: replica.answer(decision, True),
        lambda: replica.learn_many([[1.0]], [True]),
        lambda: hw.Spring(label_rate=1.0).replica(seed=1).simulate([[1.0]], [True]),
    ):
        with pytest.raises(ParameterError, match="a replica, which decides and does not learn"):
            learn()
    assert replica.to_bytes() == before
    assert not decision.answered
    with pytest.raises(AnswerError, match="a replica that was not absorbed"):
        owner.answer(decision, True)
    owner.absorb([replica])
    owner.answer(decision, True)
    with pytest.raises(AnswerError, match="answered before"):
        owner.answer(decision, True)


def test_saving_and_pickling_replicas_and_owners_changes_nothing() -> None:
    owner = hw.Spring(label_rate=0.5, seed=3)
    replica = owner.replica(seed=4)
    decided = [replica.decide_one(event) for event in events(60, 1)]
    again = hw.from_bytes(replica.to_bytes())
    for event in events(60, 2):
        decided.append(replica.decide_one(event))
        again.decide_one(event)
    assert again.to_bytes() == replica.to_bytes()
    assert pickle.loads(pickle.dumps(replica)).to_bytes() == replica.to_bytes()
    other: hw.Learner = copy.copy(owner)
    owner.absorb([replica])
    other.absorb([again.report()])
    assert owner.to_bytes() == other.to_bytes()
    for decision in decided:
        if decision.asked:
            other = hw.from_bytes(other.to_bytes())  # its questions are open there too
            other.answer(pickle.loads(pickle.dumps(decision)), label(decision.features))
            owner.answer(decision, label(decision.features))
    assert owner.to_bytes() == other.to_bytes()
    assert owner.learned == owner.asked > 10
    again.refresh(other.to_bytes())
    replica.refresh(owner)
    assert again.to_bytes() == replica.to_bytes()


def test_a_report_counts_once_and_a_refused_one_stays_with_its_replica() -> None:
    owner = hw.Spring()
    replica = owner.replica(seed=1)
    for event in events(30, 1):
        replica.decide_one(event)
    report = replica.report()
    owner.absorb([report])
    before = owner.to_bytes()
    with pytest.raises(ParameterError, match="absorbed before, or another replica has the same"):
        owner.absorb([report])
    for event in events(30, 2):
        replica.decide_one(event)
    for wrong in (report, b"HWREPORT", b"none", report[:-1], report[:-9] + b"x" + report[-8:]):
        with pytest.raises((ParameterError, ModelFileError)):
            owner.absorb([replica, wrong])
        assert owner.to_bytes() == before
    owner.absorb([replica])
    assert owner.seen == 60


def test_what_cannot_have_replicas_says_so() -> None:
    owner = hw.Spring()
    replica = owner.replica(seed=1)
    wrong: Any = replica
    number: Any = 7
    cases: list[tuple[Any, str]] = [
        (lambda: hw.Spring(track=True).replica(seed=1), "register must be shown every event"),
        (lambda: HingeSteps().replica(seed=1), "a model written in Python"),
        (lambda: hw.Linear(query=hw.query.Quota(0.1, total=9)).replica(seed=1), "with a total"),
        (lambda: owner.replica(seed=0), "seed must be another than the owner's"),
        (lambda: owner.replica(seed=-1), "seed"),
        (lambda: replica.replica(seed=2), "make replicas of its owner"),
        (lambda: replica.absorb([replica]), "its owner absorbs replicas"),
        (lambda: owner.absorb([owner]), "this learner is no replica"),
        (lambda: owner.absorb(wrong), "expected a list"),
        (lambda: owner.absorb(number), "expected a list of replicas or reports, got 7"),
        (
            lambda: owner.absorb([number]),
            "expected replicas of this learner, or reports of them, got 7",
        ),
        (lambda: hw.Spring(label_rate=0.2).absorb([replica]), "other parameters or another seed"),
        (lambda: hw.Linear(scale=None).absorb([replica]), "other parameters or another seed"),
        (lambda: replica.refresh(hw.Spring(seed=7)), "expected the learner that this is a replica"),
        (lambda: replica.refresh(replica), "expected the learner that this is a replica of"),
        (lambda: owner.refresh(owner), "this learner is no replica"),
        (lambda: owner.report(), "this learner is no replica"),
    ]
    for act, sentence in cases:
        with pytest.raises(ParameterError, match=sentence):
            act()
    with pytest.raises(ModelFileError):
        replica.refresh(b"nothing")
    replica.decide_one({"a": 1.0})
    owner.absorb([replica])
    assert owner.seen == 1


def test_a_copy_of_a_replica_is_not_counted_beside_it() -> None:
    owner = hw.Linear()
    replica = owner.replica(seed=1)
    replica.decide_one({"a": 1.0})
    with pytest.raises(ParameterError, match="another replica has the same seed"):
        owner.absorb([replica, copy.copy(replica)])
    assert owner.seen == 0
    owner.absorb([replica])
    assert owner.seen == 1


def test_an_impossible_state_of_a_replica_is_refused() -> None:
    owner = hw.Spring(label_rate=0.5)
    replica = owner.replica(seed=1)
    for event in events(40, 1):
        replica.decide_one(event)
    header, _ = take_apart(replica.to_bytes())
    changes: list[Callable[[Any], object]] = [
        lambda state: state["replica"].update(after=41),
        lambda state: state["replica"].update(shown=None),
        lambda state: state["replica"]["shown"].update(rounds=99),
        lambda state: state["replica"]["shown"]["ids"].__setitem__(0, 10**6),
        lambda state: state["replica"]["shown"]["live"]["means"].__setitem__(0, 1e300),
    ]
    for change in changes:
        state = state_of(replica)
        change(state)
        with pytest.raises(ModelFileError, match="does not fit"):
            hw.from_bytes(put_together(header, state))
    owner.absorb([replica])
    header, _ = take_apart(owner.to_bytes())
    changes = [
        lambda state: state["absorbed"]["spans"][0].update(base=1),
        lambda state: state["absorbed"].update(seen=[]),
    ]
    for change in changes:
        state = state_of(owner)
        change(state)
        with pytest.raises(ModelFileError, match="does not fit"):
            hw.from_bytes(put_together(header, state))


def test_replicas_decide_in_threads_while_their_owner_absorbs_and_learns() -> None:
    owner = hw.Spring(label_rate=0.2)
    deciders = [owner.replica(seed=seed) for seed in range(1, 4)]
    errors: list[BaseException] = []

    def decide(decider: hw.Learner, seed: int) -> None:
        try:
            for event in events(2_000, seed):
                decider.decide_one(event)
        except BaseException as error:
            errors.append(error)

    threads = [
        threading.Thread(target=decide, args=(decider, seed))
        for seed, decider in enumerate(deciders)
    ]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        owner.absorb(deciders)
        owner.learn_one({"a": 1.0, "b": 0.5}, True)
        for decider in deciders:
            decider.refresh(owner)
    for thread in threads:
        thread.join()
    owner.absorb(deciders)
    assert not errors
    assert owner.seen == 6_000
    statistics: Statistics = scaler_of(owner).features["b"]
    assert statistics.n <= 8_000
    assert hw.from_bytes(owner.to_bytes()).to_bytes() == owner.to_bytes()


def test_a_replica_in_another_process_is_refreshed_by_what_has_changed() -> None:
    owner = hw.Spring(label_rate=0.3)
    for event in events(200, 1):
        owner.learn_one(event, label(event))
    state = hw.apply_delta(b"", owner.delta(b""))
    replica = hw.from_bytes(state).replica(seed=4)
    for seed in (2, 3):
        for event in events(20, seed):
            owner.learn_one(event, label(event))
        delta = owner.delta(state)
        assert len(delta) < len(owner.to_bytes())
        state = hw.apply_delta(state, delta)
        assert state == owner.to_bytes()
        replica.refresh(state)
        for event in events(20, 9):
            assert replica.margin_one(event) == owner.margin_one(event)
    with pytest.raises(ModelFileError, match="made for another state than the one given"):
        hw.apply_delta(state, delta)
    text: Any = "text"
    with pytest.raises(ModelFileError, match="delta: expected bytes, got str"):
        owner.delta(text)
    with pytest.raises(ModelFileError, match="delta: expected bytes, got str"):
        hw.apply_delta(state, text)
