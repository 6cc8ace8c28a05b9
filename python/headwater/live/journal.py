"""The facts of one stream and the learner that they make, as the writer's thread sees them.

A verb first asks the learner, which refuses with nothing changed, and then notes rows that `flush`
writes; if writing fails, `recover` makes the learner anew from what is on disk.
"""

import json
import math
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy import Connection

from headwater._core import ARITHMETIC, Decision, EventNames
from headwater.errors import (
    AnswerError,
    HeadwaterError,
    IdReusedError,
    LabelError,
    StepError,
    TooOldError,
)
from headwater.learners.base import Learner
from headwater.live import database as db
from headwater.live.allowance import Allowance, Spending, coin
from headwater.live.database import Database
from headwater.live.open_questions import OpenQuestion, OpenQuestions
from headwater.live.quality import RESET
from headwater.live.reading import begin_replay
from headwater.live.replay import (
    History,
    Kind,
    Replayer,
    fetch_decision,
    header_of,
    label_of,
    label_text,
    learner_of,
    read_names,
    takes_rate,
)
from headwater.live.reported import Reported
from headwater.live.results import Answered, Receipt
from headwater.live.settings import Settings
from headwater.live.snapshots import SnapshotStore
from headwater.live.writer import Call, Refused
from headwater.types import Id, Label

MOST_DECISIONS = 10_000
"""Decisions of open questions that are in memory at most; all of them are in the database."""
WAITING = ("open", "answered", "reopening", "disputed")
"""The states of questions whose frozen inputs may still be needed."""
ANSWERED = ("answered", "applied", "refused", "settled")
"""The states of questions whose answer counts."""
SETTLED = "settled"
"""What the fact of an answer says that ended a dispute."""


class HeldAnswer(NamedTuple):
    """An answer that is a fact and not learned yet."""

    number: int
    target: int
    label: Label
    person: int | None
    time: float


class NotedEvent(NamedTuple):
    """An event that is known by its id: a row of the database, or one of the batch at work."""

    number: int
    label: str | None
    asked: bool
    probability: float
    margin: float
    prediction: str | None
    digest: int | None


class Journal:
    """One stream of a database, with its learner."""

    def __init__(
        self,
        database: Database,
        stream: int,
        name: str,
        settings: Settings,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.database = database
        self.stream = stream
        self.name = name
        self.settings = settings
        self.clock = clock
        self.snapshots = SnapshotStore(self.database)
        self.is_settled = threading.Event()  # the model contains every change of the past
        self.learner: Learner
        self.names: EventNames
        self.history: History
        self.head = 0  # the last fact's number
        self.time = 0.0  # and its time
        self.arithmetic = 0
        self.people: dict[str, int] = {}
        self._kept_names = 0
        self._takes_rate = False
        self._start()

    def _start(self) -> None:
        """Nothing is noted, nothing is known beside the database."""
        self._known: dict[str, NotedEvent] = {}
        self.open: dict[int, Decision] = {}  # decisions of open questions; others are on disk
        self.held: dict[int, HeldAnswer] = {}
        self.reopening: set[int] = set()  # whose answer the model still contains
        self.queue = OpenQuestions()
        self.spending = self._spending()
        self._empty()

    def _spending(self) -> Spending | None:
        allowance = self.settings.allowance
        return None if allowance is None else Spending(allowance, self.settings.desk.overlap)

    def change_allowance(self, connection: Connection, allowance: Allowance | None) -> int:
        """Another allowance counts from now on, for the windows that go on too."""
        self.settings = replace(self.settings, allowance=allowance)
        here = sa.update(db.streams).where(db.streams.c.stream == self.stream)
        connection.execute(here.values(settings=self.settings.to_json()))
        given = None if allowance is None else allowance.to_dict()
        number = self.note(Kind.SETTINGS, None, data=json.dumps({"allowance": given}))
        self.flush(connection)
        self._recover_spending(connection)
        return number

    def reset_quality(self, connection: Connection) -> int:
        """Quality since the last reset begins here."""
        return self.note(Kind.SETTINGS, None, data=RESET)

    def _recover_spending(self, connection: Connection) -> None:
        self.spending = self._spending()
        if self.spending is not None:
            self.spending.recover(connection, self.stream, self.now)

    @property
    def now(self) -> float:
        """The time that counts: it never runs backwards."""
        return self.time if self.settings.clock == "events" else max(self.time, self.clock())

    def _empty(self) -> None:
        self._facts: list[tuple[Any, ...]] = []
        self._bodies: list[tuple[Any, ...]] = []
        self._decisions: list[tuple[Any, ...]] = []
        self._questions: dict[int, tuple[str, int | None]] = {}

    # Reading what is on disk

    def recover(self, connection: Connection) -> Replayer:
        """Make the learner anew from the newest right snapshot and the facts after it."""
        f = db.facts.c
        here = f.stream == self.stream
        newest = sa.select(f.number, f.time).where(here).order_by(f.number.desc()).limit(1)
        last = connection.execute(newest).first()
        self.head, self.time = (0, 0.0) if last is None else (last.number, last.time)
        self._use_names(connection)
        rows = connection.execute(sa.select(db.people.c.name, db.people.c.person)).all()
        self.people = {name: person for name, person in rows if name is not None}
        streams = db.streams.c
        found = sa.select(streams.arithmetic).where(streams.stream == self.stream)
        self.arithmetic = connection.scalars(found).one()
        history = History.read(connection, self.stream)
        replayer = begin_replay(self.database, connection, self.stream, history)
        replayer.catch_up(connection)
        self._start()
        self.adopt(replayer)
        self.held = self._read_held(connection)
        self.queue = OpenQuestions.recover(connection, self.stream, self.history)
        self._recover_spending(connection)
        return replayer

    def adopt(self, replayer: Replayer) -> None:
        """The replayed model is the model."""
        self.history = replayer.history
        self.learner = replayer.learner
        self.open = dict(replayer.open)
        self.reopening.clear()
        self._takes_rate = takes_rate(self.learner)

    def _use_names(self, connection: Connection) -> None:
        self.names = read_names(connection, self.stream)
        self._kept_names = len(self.names)

    def _read_held(self, connection: Connection) -> dict[int, HeldAnswer]:
        """Answers that are not applied yet, by their number."""
        q, f = db.questions.c, db.facts.c
        joined = db.questions.join(db.facts, (q.stream == f.stream) & (q.answer == f.number))
        found = sa.select(f.number, f.target, f.label, f.person, f.time).select_from(joined)
        here = (q.stream == self.stream) & (q.state == "answered")
        held = {}
        for number, target, text, person, when in connection.execute(
            found.where(here).order_by(f.number)
        ):
            label = self.history.named(number, json.loads(text))
            held[number] = HeldAnswer(number, target, label, person, when)
        return held

    # Writing

    def begin(self, connection: Connection, keys: list[str]) -> None:
        """Before a batch: find the keys that were used before."""
        self._known = {}
        f = db.facts.c
        columns = (f.number, f.label, f.asked, f.probability, f.margin, f.prediction, f.digest)
        for start in range(0, len(keys), 500):
            some = f.key.in_(keys[start : start + 500])
            found = db.by_index(sa.select(f.key, *columns), "key").where(
                f.stream == self.stream, some
            )
            for key, *row in connection.execute(found):
                self._known[key] = NotedEvent(*row)

    def flush(self, connection: Connection) -> None:
        """Write what was noted since the last time."""
        new = self.names.since(self._kept_names)
        names = [(self.stream, number, json.dumps(name)) for number, name in new]
        self._kept_names = len(self.names)
        questions = [(self.stream, number, *row) for number, row in self._questions.items()]
        insert = self.database.insert
        insert(connection, db.names, names)
        insert(connection, db.facts, self._facts)
        insert(connection, db.bodies, self._bodies)
        insert(connection, db.decisions, self._decisions, replace=True)
        insert(connection, db.questions, questions, replace=True)
        self._empty()

    def due(self) -> list[Call]:
        """To be done: answers whose time has come, also if the clock was set back."""
        now, wait = self.clock(), self.settings.apply_after
        late = [
            held
            for held in self.held.values()
            if not 0 <= now - held.time < wait and held.target not in self.reopening
        ]
        return [partial(self.apply_held, held=held) for held in late]

    # Verbs

    def receive(
        self,
        x: Mapping[Any, Any],
        id: Id | None,
        label: Label | None,
        rate: float | None,
        when: float | None,
        group: str | None = None,
    ) -> Receipt:
        """Decide on an event; with a label, learn it at once and ask nothing."""
        key = None if id is None else json.dumps(id)
        known = None if key is None else self._known.get(key)
        if known is not None:
            assert id is not None
            return _repeated(x, id, label, known)
        when = max(self.time, self.clock() if when is None else when)
        told: dict[str, Any] = {}
        if label is not None:
            self.check_label(label)
            rate = 0.0 if self._takes_rate else None
            told = {} if self._takes_rate else {"outcome": (False, 0.0)}
        elif self.spending is not None:
            rate, told = self._allowed(rate, when)
        try:
            if self.learner.track:
                self.learner.tell_time(when)
            decision = self.learner.decide_one(x, rate=rate, **told)
        except HeadwaterError as error:
            raise Refused(error) from None
        body, digest = self.names.encode(x)
        prediction = decision.prediction
        event = NotedEvent(
            self.head + 1,
            None if label is None else label_text(label),
            decision.asked,
            decision.query_probability,
            decision.margin,
            None if prediction is None else label_text(prediction),
            digest,
        )
        fields = event._asdict()
        data = self._beside(x, decision, digest, group, told.get("reserve", (False,))[0])
        number = self.note(Kind.EVENT, when, key=key, rate=rate, data=data, **fields)
        self._bodies.append((self.stream, number, body))
        if self.spending is not None:
            self.spending.forecast.note(self.time)
            if decision.asked and not self.queue.same(digest):
                self.spending.opened(self.time, self.settings.desk.overlap)
        if decision.asked or self.settings.answer_within > 0:
            self.keep(number, decision)
        if decision.asked:
            self._open_question(number, decision, digest, group)
        if label is not None:
            self._learn(decision, label)
        if key is not None:
            self._known[key] = event
        return _receipt(event, f"#{number}" if id is None else id)

    def absorb(self, reported: Reported) -> list[Receipt]:
        """Count what a replica decided, and open its questions; receipts of them, in their order.

        Of an event that is known by its id already there is no second question.
        """
        try:
            asked = [
                (one, Decision.from_bytes(one.decision, one.x), *self.names.encode(one.x))
                for one in reported.asked
            ]
            self.learner.absorb([reported.report])
        except HeadwaterError as error:
            raise Refused(error) from None
        new: dict[str, Any] = {}
        for given in asked:
            key = json.dumps(given[0].id)
            if key not in self._known:
                new.setdefault(key, given)
        report = self.head + len(new) + 1
        receipts = []
        for key, (one, decision, body, digest) in new.items():
            prediction = decision.prediction
            event = NotedEvent(
                self.head + 1,
                None,
                True,
                decision.query_probability,
                decision.margin,
                None if prediction is None else label_text(prediction),
                digest,
            )
            beside: dict[str, Any] = {"report": report}
            beside |= {} if one.group is None else {"group": one.group}
            beside |= {} if one.sure is None else {"probability": one.sure}
            beside |= {"copy": True} if self.queue.same(digest) else {}
            data = json.dumps(beside)
            fields = event._asdict()
            rate = reported.chances.rate
            number = self.note(Kind.EVENT, one.time, key=key, data=data, rate=rate, **fields)
            self._bodies.append((self.stream, number, body))
            self.keep(number, decision)
            self._open_question(number, decision, digest, one.group)
            self._known[key] = event
            receipts.append(_receipt(event, one.id))
        messages = {"of": reported.source, "begin": reported.begin, "end": reported.end}
        data = json.dumps({**messages, **reported.chances._asdict()})
        self.note(Kind.REPORT, reported.time, data=data)
        self._bodies.append((self.stream, report, reported.report))
        return receipts

    def _open_question(
        self, number: int, decision: Decision, digest: int, group: str | None
    ) -> None:
        sure = abs(decision.margin)
        self.queue.add(OpenQuestion(number, self.time, sure, digest, group))
        self.set_question(number, "open", None)
        self.open[number] = decision
        if len(self.open) > MOST_DECISIONS and self.is_settled.is_set():
            del self.open[next(iter(self.open))]

    def _allowed(self, rate: float | None, when: float) -> tuple[float | None, dict[str, Any]]:
        """The rate that the allowance leaves for the next event, and the reserve's coin."""
        assert self.spending is not None
        allowed = self.spending.rate(when)
        if allowed is None:
            return rate, {}
        rate = allowed if rate is None else min(rate, allowed)
        a = self.spending.allowance.reserve * rate
        return rate, {"reserve": (coin(self.stream, self.head + 1) < a, a)} if a > 0 else {}

    def _beside(
        self,
        x: Mapping[Any, Any],
        decision: Decision,
        digest: int,
        group: str | None,
        reserve: bool,
    ) -> str | None:
        """What else the fact of an event keeps: its group; of a question, how sure it was served,
        how many cards it has, whether the reserve drew it, and whether it is a copy of one that is
        open."""
        data: dict[str, Any] = {} if group is None else {"group": group}
        if decision.asked:
            with suppress(HeadwaterError):  # some learners give no probabilities
                given = self.learner.predict_proba_one(x)
                if decision.prediction in given:
                    data["probability"] = given[decision.prediction]
            if self.queue.same(digest):
                data["copy"] = True
            if reserve:
                data["reserve"] = True
            if self.settings.desk.overlap > 1:
                data["cards"] = self.settings.desk.overlap
        return json.dumps(data) if data else None

    def answer(
        self, connection: Connection, target: int, label: Label, by: str | None, key: str
    ) -> Answered | None:
        """The answer to a question; one by the same key is the same answer.

        None if it has another answer, which this one would correct.
        """
        person = self.person(connection, by)
        full_key = f"a/{target}/{person or 0}/{key}"
        repeated = self._find_answer(connection, full_key, label)
        state, _ = self.question(connection, target)
        if repeated is not None:
            return Answered(repeated, target, state, True)
        if state in ANSWERED:
            return None
        if state not in ("open", "reopening"):
            raise Refused(AnswerError(f"answer: question {target} is {state}, not open."))
        self.check_label(label)
        self.apply_held_of(connection, person)
        return self.take(connection, target, label, person, key=full_key)

    def take(
        self,
        connection: Connection,
        target: int,
        label: Label,
        person: int | None,
        *,
        key: str | None = None,
        answer: int | None = None,
        settled: bool = False,
    ) -> Answered:
        """Note the answer to an open question, and let it be learned now or later.

        `answer` is the fact that it follows from: the answer to a copy, or the last vote.
        """
        waits = person is not None and self.settings.apply_after > 0 and not settled
        if waits or target in self.reopening:
            number = self.note_answer(target, label, person, key, answer, settled)
            self.hold(number, target, label, person)
            return Answered(number, target, "answered", False)
        decision = self._decision(connection, target)
        number = self.note_answer(target, label, person, key, answer, settled)
        state = self._apply(number, target, label, decision, settled)
        return Answered(number, target, state, False)

    def apply_all_held(self, connection: Connection) -> int:
        before = len(self.held)
        for held in list(self.held.values()):
            self.apply_held(connection, held)
        return before - len(self.held)

    def apply_held_of(self, connection: Connection, person: int | None) -> None:
        """Learn the answers of a person who goes on."""
        for held in [one for one in self.held.values() if one.person == person is not None]:
            self.apply_held(connection, held)

    def label(self, connection: Connection, target: int, label: Label) -> Answered | None:
        """A label that came later, without a question; None as of `answer`."""
        self.flush(connection)
        f = db.facts.c
        found = sa.select(f.asked, f.label).where(f.stream == self.stream, f.number == target)
        row = connection.execute(found).one()
        key = f"a/{target}/0/"
        if row.asked:
            return self.answer(connection, target, label, None, "")
        if row.label is not None:  # it came with its event
            if row.label == label_text(label):
                return Answered(target, target, "applied", True)
            return None
        known = self.find_key(connection, key)
        if known is not None:
            same = known[1] == label_text(label)
            return Answered(known[0], target, "applied", True) if same else None
        self.check_label(label)
        if not self.settings.answer_within:
            raise Refused(
                TooOldError(
                    f"live: the event of fact {target} was not asked about, and this stream keeps"
                    " nothing that its label would need; answer_within says for how long it does."
                )
            )
        decision = self._decision(connection, target)
        number = self.note_answer(target, label, None, key)
        return Answered(number, target, self._apply(number, target, label, decision), False)

    def forget_person(self, connection: Connection, by: str) -> int:
        """Erase a person's name; the answers stay, under a number."""
        person = self.people.pop(by, None)
        if person is None:
            raise Refused(AnswerError(f"forget: nobody called {by!r} has answered."))
        named = sa.update(db.people).where(db.people.c.person == person)
        connection.execute(named.values(name=None))
        return person

    def upgrade(self, connection: Connection) -> None:
        """The model was replayed by another arithmetic than it was made with: note that."""
        self.note(Kind.UPGRADED, None, data=json.dumps([self.arithmetic, ARITHMETIC]))
        here = sa.update(db.streams).where(db.streams.c.stream == self.stream)
        connection.execute(here.values(arithmetic=ARITHMETIC))
        self.arithmetic = ARITHMETIC

    # Parts of verbs

    def note(self, kind: Kind, when: float | None, **columns: Any) -> int:
        """Append a fact; its time never runs backwards."""
        self.head += 1
        self.time = self.now if when is None else max(self.time, when)
        get = columns.get
        self._facts.append(
            (
                *(self.stream, self.head, int(kind), self.time, get("key"), get("target")),
                *(get("answer"), get("since"), get("person"), get("label"), get("asked")),
                *(get("probability"), get("rate"), get("margin"), get("prediction")),
                *(get("digest"), get("data")),
            )
        )
        return self.head

    def note_answer(
        self,
        target: int,
        label: Label,
        person: int | None,
        key: str | None,
        answer: int | None = None,
        settled: bool = False,
    ) -> int:
        data = SETTLED if settled else None
        said = {"target": target, "label": label_text(label), "person": person}
        return self.note(Kind.ANSWER, None, key=key, answer=answer, data=data, **said)

    def keep(self, number: int, decision: Decision) -> None:
        """Keep what an answer to this event will need."""
        self._decisions.append((self.stream, number, decision.to_bytes()))

    def hold(self, number: int, target: int, label: Label, person: int | None) -> None:
        self.set_question(target, "answered", number)
        self.held[number] = HeldAnswer(number, target, label, person, self.clock())

    def apply_held(self, connection: Connection, held: HeldAnswer) -> None:
        if held.number in self.held and held.target not in self.reopening:
            decision = self._decision(connection, held.target)
            del self.held[held.number]
            self._apply(held.number, held.target, held.label, decision)

    def _apply(
        self, answer: int, target: int, label: Label, decision: Decision, settled: bool = False
    ) -> str:
        """Let the learner learn an answer; what it cannot take is kept and shown."""
        weight = self._weight(decision)
        learned = self._learn(decision, label, weight)
        state = ("settled" if settled else "applied") if learned else "refused"
        text = label_text(label)
        data = None if weight is None else json.dumps({"weight": weight})
        self.note(Kind.APPLIED, None, target=target, answer=answer, label=text, data=data)
        if decision.asked:
            self.set_question(target, state, answer)
        self.open.pop(target, None)
        return state

    def _weight(self, decision: Decision) -> int | None:
        """How many labels one stands for in the learner's probabilities; None: its decision knows.

        A label that came later and unasked stands for none, unless those of all events come: who
        sends it may have chosen which.
        """
        if self.settings.labels == "all":
            return 1
        return None if decision.asked else 0

    def _learn(self, decision: Decision, label: Label, weight: int | None = None) -> bool:
        try:
            self.learner.answer(decision, label, weight=weight)
        except (AnswerError, LabelError, StepError):
            return False
        return True

    def _decision(self, connection: Connection, target: int) -> Decision:
        if target in self.open:
            return self.open[target]
        self.flush(connection)
        try:
            return fetch_decision(connection, self.stream, target, self.names)
        except TooOldError as error:
            raise Refused(error) from None

    def check_label(self, label: Label) -> None:
        """Refuse a label that the learner could not learn after those that it has learned."""
        if self._surely_fits(label):
            return
        rehearsal = learner_of(header_of(self.learner))
        try:
            if self.learner.task == "binary":
                for known, count in zip(
                    self.learner.labels, self.learner._learned_of_each(), strict=True
                ):
                    if count:
                        rehearsal.learn_one({"x": 1.0}, known)
                for held in self.held.values():
                    rehearsal.learn_one({"x": 1.0}, held.label)
            rehearsal.learn_one({"x": 1.0}, label)
        except LabelError as error:
            raise Refused(error) from None

    def _surely_fits(self, label: Label) -> bool:
        """Whether no rehearsal is needed: the learner has learned this label, in this form."""
        if self.learner.task == "regression":
            return type(label) is float and math.isfinite(label)
        known = self.learner.labels
        if self.learner.task == "binary":
            counts = self.learner._learned_of_each()
            known = tuple(one for one, count in zip(known, counts, strict=True) if count)
        return any(one == label and type(one) is type(label) for one in known)

    def set_question(self, number: int, state: str, answer: int | None) -> None:
        self._questions[number] = (state, answer)
        if state in ("open", "reopening"):
            self.queue.reopen(number)
        else:
            self.queue.remove(number)

    def question(self, connection: Connection, target: int) -> tuple[str, int | None]:
        """State and answer of a question."""
        found = self.find_question(connection, target)
        if found is None:
            raise Refused(AnswerError(f"answer: there is no question {target}."))
        return found

    def find_question(self, connection: Connection, target: int) -> tuple[str, int | None] | None:
        if target in self._questions:
            return self._questions[target]
        q = db.questions.c
        found = sa.select(q.state, q.answer).where(q.stream == self.stream, q.number == target)
        row = connection.execute(found).first()
        return None if row is None else (row.state, row.answer)

    def read_queue(self, connection: Connection) -> None:
        """Let the queue know all about questions that were opened again."""
        self.flush(connection)
        self.queue.read(connection, self.stream, self.history)

    def find_key(self, connection: Connection, key: str) -> tuple[int, str | None] | None:
        """Number and label of the fact with this key."""
        self.flush(connection)
        f = db.facts.c
        found = sa.select(f.number, f.label).where(f.stream == self.stream, f.key == key)
        row = connection.execute(found).first()
        return None if row is None else (row.number, row.label)

    def _find_answer(self, connection: Connection, key: str, label: Label) -> int | None:
        """The same answer by the same key, if it was given before."""
        known = self.find_key(connection, key)
        if known is None:
            return None
        number, text = known
        if text != label_text(label):
            raise Refused(
                IdReusedError(
                    f"answer: fact {number} is an answer by the same person and key with another"
                    " label; use correct, or another key."
                )
            )
        return number

    def person(self, connection: Connection, name: str | None) -> int | None:
        """The number of a person, who may be new."""
        if name is None:
            return None
        if name not in self.people:
            # Another worker on the same database may have met the person, or others, meanwhile.
            self.database.serialise(connection, db.people)
            p = db.people.c
            number = connection.scalar(sa.select(p.person).where(p.name == name))
            if number is None:
                number = 1 + (connection.scalar(sa.select(sa.func.max(p.person))) or 0)
                self.database.insert(connection, db.people, [(number, name)])
            self.people[name] = number
        return self.people[name]

    def drop_names(self, connection: Connection) -> None:
        """Drop the names that no event has any more."""
        b, f, n = db.bodies.c, db.facts.c, db.names.c
        used: set[int] = set()
        both = (f.stream == b.stream) & (f.number == b.number)
        events = sa.select(b.body).select_from(db.bodies.join(db.facts, both))
        for body in connection.scalars(events.where(b.stream == self.stream, f.kind == Kind.EVENT)):
            used.update(self.names.used(bytes(body)))
        for number, _ in self.names.since(0):
            if number not in used:
                where = (n.stream == self.stream) & (n.number == number)
                connection.execute(sa.delete(db.names).where(where))
        self._use_names(connection)


def _receipt(event: NotedEvent, id: Id, repeated: bool = False) -> Receipt:
    prediction = label_of(event.prediction)
    decided = (prediction, event.margin, event.probability, bool(event.asked))
    return Receipt(event.number, id, *decided, repeated)


def _repeated(x: Mapping[Any, Any], id: Id, label: Label | None, known: NotedEvent) -> Receipt:
    """The first decision about an event that comes again."""
    try:
        digest = EventNames().encode(x)[1]
    except HeadwaterError as error:
        raise Refused(error) from None
    if known.digest != digest or known.label != (None if label is None else label_text(label)):
        raise Refused(
            IdReusedError(
                f"event: the id {id!r} was used before, for another event (fact {known.number});"
                " an event that is sent again must be the same."
            )
        )
    return _receipt(known, id, repeated=True)
