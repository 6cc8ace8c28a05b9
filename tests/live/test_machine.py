"""Any order of events, answers, corrections, restarts and kills: what must hold holds.

Invariants: the model is the run that the journal stands for; every event id has one fact; the
states of questions are those that follow from what was done; nothing is learned twice.

A correction is replayed in the background, so whether the next event is asked about may depend on
time. Rules therefore draw events, which are the same every time, and pass over those that were not
asked about.
"""

import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from typing import Any

from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, rule

import headwater as hw
from headwater.errors import AnswerError, IdReusedError
from live.test_past import stop_like_a_kill

FULL = bool(os.environ.get("HEADWATER_FULL"))
LEARNERS: list[Callable[[], hw.Learner]] = [
    lambda: hw.Spring(label_rate=0.6),
    lambda: hw.Linear(query=hw.query.Budget(0.6), max_features=4),
    lambda: hw.PAA(query_width=5.0),
]
OPTIONS: dict[str, Any] = {"apply_after": 1e9, "snapshot_facts": 7, "synchronous": "normal"}


def by_hand(url: str, learner: hw.Learner) -> bytes:
    """The run that a journal stands for, in two plain passes over its facts."""
    with hw.live.read(url) as reader:
        facts = list(reader.facts())
    labels: dict[int, Any] = {}
    retracted, removed = set(), set()
    for fact in facts:
        if fact["kind"] == "correction":
            labels[fact["answer"]] = fact["label"]
        elif fact["kind"] == "retraction" and "since" in fact:
            retracted.add(fact["answer"])
        elif fact["kind"] == "removal":
            removed.add(fact["target"])
    decisions = {}
    for fact in facts:
        number: int = fact["number"]
        answer, target = fact.get("answer", 0), fact.get("target", 0)
        if fact["kind"] == "event" and number not in removed:
            outcome = (fact["asked"], fact["probability"])
            rate = fact.get("rate")
            decisions[number] = learner.decide_one(fact["event"], rate=rate, outcome=outcome)
            if "label" in fact and number not in retracted:
                learner.answer(decisions[number], labels.get(number, fact["label"]))
        elif fact["kind"] == "applied" and target not in removed and answer not in retracted:
            learner.answer(decisions[target], labels.get(answer, fact["label"]))
    return learner.to_bytes()


class Life(RuleBasedStateMachine):
    """One live stream, and what a plain observer knows of it."""

    events = Bundle("events")

    @initialize(kind=st.sampled_from(range(len(LEARNERS))))
    def begin(self, kind: int) -> None:
        self.folder = tempfile.mkdtemp()
        self.url = f"{self.folder}/plant.db"
        self.make = LEARNERS[kind]
        self.states: dict[int, str] = {}
        self.ids: dict[int, hw.live.Receipt] = {}
        self.holds: dict[str, int] = {}  # person to question
        self.loop = hw.live.open(self.url, learner=self.make(), **OPTIONS)

    @rule(
        target=events,
        values=st.lists(st.floats(-2, 2), min_size=1, max_size=3),
        label=st.sampled_from([None, None, None, True, False]),
    )
    def receive(self, values: list[float], label: bool | None) -> int:
        id = len(self.ids)
        event = {f"f{(id // 9 + n) % 5}": value for n, value in enumerate(values)}
        receipt = self.loop.receive(event, id=id, label=label)
        assert not receipt.repeated
        self.ids[id] = receipt
        if receipt.question is not None:
            self.states[receipt.question] = "open"
        again = self.loop.receive(event, id=id, label=label)
        assert again == receipt._replace(repeated=True)
        return id

    @rule(id=events, label=st.booleans(), by=st.sampled_from([None, "ada", "bob"]))
    def answer(self, id: int, label: bool, by: str | None) -> None:
        question = self.ids[id].question
        if question is None or self.states[question] != "open":
            return
        answered = self.loop.answer(question, label, by=by)
        if by is None:
            self.states[question] = "applied"
        else:
            if by in self.holds:
                self.states[self.holds[by]] = "applied"
            self.states[question], self.holds[by] = "answered", question
        assert answered.state == self.states[question]
        assert self.loop.answer(question, label, by=by).repeated

    @rule(id=events, label=st.booleans())
    def correct(self, id: int, label: bool) -> None:
        question = self.ids[id].question
        if question is None:
            return
        if self.states[question] in ("answered", "applied"):
            self.loop.correct(question, label)
            return
        try:
            self.loop.correct(question, label)
        except AnswerError:
            return
        raise AssertionError("it corrected what was not answered")

    @rule(id=events)
    def retract(self, id: int) -> None:
        question = self.ids[id].question
        if question is None or self.states[question] not in ("answered", "applied"):
            return
        self.loop.retract(question)
        self.holds = {by: held for by, held in self.holds.items() if held != question}
        self.states[question] = "open"
        self.loop.wait()

    @rule(id=events)
    def remove(self, id: int) -> None:
        question = self.ids[id].question
        if question is not None and self.states[question] != "bad":
            self.loop.remove(f"#{question}")
            self.holds = {by: held for by, held in self.holds.items() if held != question}
            self.states[question] = "bad"

    @rule()
    def snapshot(self) -> None:
        self.loop.snapshot()

    @rule()
    def restart(self) -> None:
        self.loop.close()
        self.loop = hw.live.open(self.url, **OPTIONS)

    @rule()
    def kill(self) -> None:
        stop_like_a_kill(self.loop)
        self.loop = hw.live.open(self.url, **OPTIONS)

    @rule(id=st.integers(0, 5))
    def reuse(self, id: int) -> None:
        if id in self.ids:
            try:
                self.loop.receive({"another": 1.0}, id=id)
            except IdReusedError:
                return
            raise AssertionError("it took another event by the same id")

    def teardown(self) -> None:
        if not hasattr(self, "loop"):
            return
        self.loop.wait()
        states = Counter(self.states.values())
        assert self.loop.status().questions == dict(states)
        assert self.loop.status().events == len(self.ids)
        assert self.loop.status().labels == self.loop.learner.learned
        assert by_hand(self.url, self.make()) == self.loop.learner.to_bytes()
        self.loop.close()
        shutil.rmtree(self.folder)


TestLife = Life.TestCase
TestLife.settings = settings(
    max_examples=500 if FULL else 12,
    stateful_step_count=50,
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],  # a failure of fifty steps takes long to shorten
)
