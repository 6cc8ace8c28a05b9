"""Any order of leases, answers, votes, skips, undos, deadlines, restarts and kills.

Invariants:

- a card is held by at most as many people as overlap says, and by nobody who has dealt with it
- nobody gets an empty hand while a card is open to them
- a question is learned at most once, with the label that its people said
- states of questions are those that follow from what was done
- the model is the run that the journal stands for
- cards opened less cards returned never exceed the allowance
"""

import os
import shutil
import tempfile
from collections import Counter
from typing import Any

from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import headwater as hw
from headwater.errors import AnswerError
from headwater.live.allowance import Allowance
from live.test_desk import Clock
from live.test_machine import by_hand
from live.test_past import stop_like_a_kill

FULL = bool(os.environ.get("HEADWATER_FULL"))
STEPS = 400
PEOPLE = ("ada", "bob", "eve")
PER_HOUR = 12
LEASE = 300.0


class DeskLife(RuleBasedStateMachine):
    """One desk, and what a plain observer knows of it."""

    @initialize(overlap=st.sampled_from([1, 1, 2, 3]), late=st.sampled_from([None, 900.0]))
    def begin(self, overlap: int, late: float | None) -> None:
        self.folder = tempfile.mkdtemp()
        self.url = f"{self.folder}/plant.db"
        self.overlap, self.late = overlap, late
        self.clock, self.watch = Clock(1_800_000_000.0), Clock(0.0)
        self.states: dict[int, str] = {}
        self.opened: dict[int, float] = {}
        self.acted: dict[int, dict[str, Any]] = {}  # question, person: what was done
        self.acts: dict[str, list[tuple[str, int]]] = {name: [] for name in PEOPLE}
        self.held: dict[str, dict[int, float]] = {name: {} for name in PEOPLE}
        self.spent: Counter[float] = Counter()
        self.value = 0
        self.open()

    def make(self) -> hw.Learner:
        return hw.Linear(query=hw.query.Random(0.9))

    def open(self) -> None:
        desk = hw.live.DeskSettings(overlap=self.overlap, deadline=self.late, lease_seconds=LEASE)
        self.loop = hw.live.open(
            self.url,
            learner=self.make(),
            desk=desk,
            allowance=Allowance(per_hour=PER_HOUR, reserve=0.2),
            apply_after=0,
            snapshot_facts=25,
            synchronous="normal",
        )
        self.loop._live.journal.clock = self.clock
        self.loop._live.recover()
        self.loop._live.clerk.leases.clock = self.watch
        self.desk = self.loop.desk
        self.held = {name: {} for name in PEOPLE}

    # What the observer knows

    def expire(self) -> None:
        for number, state in self.states.items():
            if state == "open" and self.late and self.opened[number] + self.late <= self.clock.now:
                self.states[number] = "expired"
                self.spent[self.clock.now // 3600] -= self.overlap - self.votes(number)
                self.drop(number)

    def votes(self, number: int) -> int:
        return sum(isinstance(said, bool) for said in self.acted[number].values())

    def drop(self, number: int) -> None:
        for cards in self.held.values():
            cards.pop(number, None)

    def holders(self, number: int) -> list[str]:
        return [n for n in PEOPLE if self.held[n].get(number, -1) > self.watch.now]

    def free(self, by: str) -> list[int]:
        return [
            number
            for number, state in self.states.items()
            if state == "open"
            and by not in self.acted[number]
            and len(set(self.holders(number)) - {by}) + self.votes(number) < self.overlap
        ]

    # Rules

    @rule(many=st.integers(1, 6))
    def receive(self, many: int) -> None:
        for _ in range(many):
            self.value += 1
            receipt = self.loop.receive({"a": self.value / 7, "b": float(self.value % 5)})
            if receipt.asked:
                self.states[receipt.number] = "open"
                self.opened[receipt.number] = self.clock.now
                self.acted[receipt.number] = {}
                self.spent[self.clock.now // 3600] += self.overlap

    @rule(by=st.sampled_from(PEOPLE), n=st.integers(1, 4))
    def lease(self, by: str, n: int) -> None:
        self.expire()
        now = self.watch.now
        self.held = {
            name: {one: until for one, until in cards.items() if until > now}
            for name, cards in self.held.items()
        }
        mine = list(self.held[by])
        free = set(self.free(by))
        cards = [card.question for card in self.desk.lease(by, n)]
        assert cards[: len(mine)] == mine[:n]
        assert len(cards) == min(n, max(len(mine), len(free)))
        assert set(cards) <= free
        for number in cards:
            self.held[by][number] = self.watch.now + LEASE

    @rule(by=st.sampled_from(PEOPLE), label=st.booleans(), pick=st.integers(0, 99))
    def answer(self, by: str, label: bool, pick: int) -> None:
        self.expire()
        if not self.states:
            return
        number = list(self.states)[pick % len(self.states)]
        if number not in self.free(by):
            return
        key = str(len(self.acts[by]))
        done = self.desk.answer(number, label, by=by, key=key)
        self.acted[number][by] = label
        self.acts[by].append(("answer", number))
        self.held[by].pop(number, None)
        if self.votes(number) == self.overlap:
            said = Counter(one for one in self.acted[number].values() if isinstance(one, bool))
            most = said.most_common(1)[0][1]
            self.states[number] = "applied" if 2 * most > self.overlap else "disputed"
            self.drop(number)
        if not self.is_replaying(number):
            assert done.state in (self.states[number], "answered")
        assert self.desk.answer(number, label, by=by, key=key).repeated

    def is_replaying(self, number: int) -> bool:
        return number in self.loop._live.journal.reopening

    @rule(by=st.sampled_from(PEOPLE), unsure=st.booleans(), pick=st.integers(0, 99))
    def set_aside(self, by: str, unsure: bool, pick: int) -> None:
        self.expire()
        free = self.free(by)
        if not free:
            return
        number = free[pick % len(free)]
        (self.desk.unsure if unsure else self.desk.skip)(number, by=by)
        self.acted[number][by] = "aside"
        self.acts[by].append(("aside", number))
        self.held[by].pop(number, None)

    @rule(by=st.sampled_from(PEOPLE))
    def undo(self, by: str) -> None:
        self.expire()
        while self.acts[by]:
            act, number = self.acts[by][-1]
            if self.states[number] in ("expired", "settled"):
                self.acts[by].pop()
                continue
            self.loop.wait()
            self.loop.apply()
            undone = self.desk.undo(by=by)
            assert undone.question == number
            self.acts[by].pop()
            del self.acted[number][by]
            if act == "answer":
                self.states[number] = "open"
            if (
                self.states[number] == "open"
                and len(set(self.holders(number)) - {by}) + self.votes(number) < self.overlap
            ):
                self.held[by][number] = self.watch.now + LEASE
            self.loop.wait()
            self.expire()
            return
        try:
            self.desk.undo(by=by)
        except AnswerError:
            return
        raise AssertionError("it undid what nobody did")

    @rule(label=st.booleans())
    def settle(self, label: bool) -> None:
        disputes = self.desk.disputes()
        assert {one.question for one in disputes} == {
            number for number, state in self.states.items() if state == "disputed"
        }
        for dispute in disputes[:1]:
            votes = {n: s for n, s in self.acted[dispute.question].items() if s in (True, False)}
            assert dispute.labels == votes
            assert self.desk.settle(dispute.question, label, by="chief").state == "settled"
            self.states[dispute.question] = "settled"

    @rule(by=st.sampled_from(PEOPLE))
    def release(self, by: str) -> None:
        for number in list(self.held[by])[:1]:
            self.desk.release(number, by=by)
            del self.held[by][number]

    @rule(seconds=st.sampled_from([1.0, 60.0, 301.0, 1000.0]))
    def time_passes(self, seconds: float) -> None:
        self.clock.now += seconds
        self.watch.now += seconds
        self.loop._do(self.loop._live.clerk.expire)  # the writer would do so within a moment
        self.expire()

    @rule(kill=st.booleans(), often=st.integers(0, 19))
    def restart(self, kill: bool, often: int) -> None:
        if often:
            return  # it takes longer than all else
        self.loop.wait()
        self.loop.apply()
        if kill:
            stop_like_a_kill(self.loop)
        else:
            self.loop.close()
        self.open()

    @invariant()
    def the_allowance_is_kept(self) -> None:
        if hasattr(self, "spent"):
            assert all(count <= PER_HOUR for count in self.spent.values())

    @invariant()
    def no_card_is_held_by_too_many(self) -> None:
        if not hasattr(self, "loop"):
            return
        leases = self.loop._live.clerk.leases
        for number, state in self.states.items():
            if state == "open":
                assert len(leases.holders(number)) + self.votes(number) <= self.overlap

    def teardown(self) -> None:
        if not hasattr(self, "loop"):
            return
        self.loop.wait()
        self.loop.apply()
        self.expire()
        self.desk.waiting()
        self.loop._do(self.loop._live.clerk.expire)
        assert self.loop.status().questions == dict(Counter(self.states.values()))
        learned = sum(state in ("applied", "settled") for state in self.states.values())
        assert self.loop.learner.learned == self.loop.status().labels == learned
        assert by_hand(self.url, self.make()) == self.loop.learner.to_bytes()
        self.loop.close()
        shutil.rmtree(self.folder)


TestDeskLife = DeskLife.TestCase
TestDeskLife.settings = settings(
    max_examples=2_500 if FULL else 25,
    stateful_step_count=STEPS,
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
)
