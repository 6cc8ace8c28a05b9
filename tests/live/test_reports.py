"""A part whose events deciders decide on: their reports, as facts."""

import random
from pathlib import Path
from typing import Any

import pytest

import headwater as hw
from headwater._core import Decision
from headwater.errors import JournalError, ParameterError
from headwater.evaluation.error_estimate import ErrorEstimate
from headwater.live.part import Incoming, Part
from headwater.live.reported import SHARE, Asked, Chances, Reported
from headwater.live.what_if import what_if

RATE = 0.3


class Deciding:
    """A decider in this process, with its events numbered from 0."""

    def __init__(self, owner: hw.Learner, source: str, seed: int) -> None:
        self.replica = owner.replica(seed=seed)
        self.source, self.place = source, 0
        self.draw = random.Random(seed)
        self.decisions: list[tuple[Any, dict[Any, float]]] = []

    def report(self, count: int) -> Reported:
        """Decide on the next events."""
        asked, chances = [], []
        for number in range(self.place, self.place + count):
            x: dict[Any, float] = {
                f"s{self.draw.randrange(8)}": self.draw.gauss(0, 1) for _ in "abc"
            }
            decision = self.replica.decide_one(x)
            self.decisions.append((decision, x))
            chances.append(decision.query_probability)
            if decision.asked:
                id = f"{self.source}@{number}"
                asked.append(Asked(id, None, float(number), None, x, decision.to_bytes(), None))
        begin, self.place = self.place, self.place + count
        rate = self.replica.asked / self.replica.seen
        end = (self.place, float(self.place), Chances.of(chances, rate))
        return Reported(self.source, begin, *end, self.replica.report(), asked)


def label(x: dict[Any, float]) -> bool:
    return sum(x.values()) > 0


def message(position: int, reported: Reported) -> Incoming:
    return Incoming("reports", position, None, reported.time, reported=reported)


def answers(position: int, reported: Reported, wrong: int = 0) -> list[Incoming]:
    """An answer to each question; the first ones are wrong."""
    return [
        Incoming(
            "answers",
            position + n,
            None,
            reported.time,
            id=one.id,
            label=label(one.x) != (n < wrong),
        )
        for n, one in enumerate(reported.asked)
    ]


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "plant.db")


def owner_of(path: str) -> Part:
    return Part(path, "reports/0", hw.Spring(label_rate=RATE), for_deciders=True)


def model(part: Part) -> hw.Learner:
    return part._loops["reports/0"].learner


def learn(owner: hw.Learner, reported: Reported) -> None:
    for one in reported.asked:
        owner.answer(Decision.from_bytes(one.decision, one.x), label(one.x))


def test_the_owner_is_that_of_its_reports_and_answers_also_after_a_crash(path: str) -> None:
    part, plain = owner_of(path), hw.Spring(label_rate=RATE)
    deciders = [Deciding(plain, f"events/{n}", n + 1) for n in range(2)]
    position = answered = 0
    for turn in range(6):
        reported = deciders[turn % 2].report(50)
        part.take([message(position, reported), *answers(answered, reported)])
        plain.absorb([reported.report])
        learn(plain, reported)
        position, answered = position + 1, answered + len(reported.asked)
        assert model(part).to_bytes() == plain.to_bytes()
        told = part.told()
        assert told.state == plain.to_bytes()
        assert told.positions[f"events/{turn % 2}"] == 50 * (turn // 2 + 1)
        if turn == 3:
            part.abandon()  # as a kill would
            part = owner_of(path)
        for decider in deciders:
            decider.replica.refresh(told.state)
    assert (model(part).seen, model(part).asked, model(part).learned) == (300, answered, answered)
    questions = [row for row in part.unsent if row.kind == "questions"]
    assert {row.kind for row in part.unsent} == {"questions"}
    assert len(questions) > 0
    part.close()
    with hw.live.open(path, stream="reports/0") as stream:
        status = stream.status()
        assert (status.events, status.asked, status.labels) == (300, answered, answered)
        assert stream.learner.to_bytes() == plain.to_bytes()


@pytest.mark.parametrize(("begin", "end"), [(0, 40), (20, 60), (41, 60)])
def test_a_report_that_does_not_go_on_where_the_last_one_ended_changes_nothing(
    path: str, begin: int, end: int
) -> None:
    part, plain = owner_of(path), hw.Spring(label_rate=RATE)
    part.take([message(0, Deciding(plain, "events/0", 1).report(40))])
    before = model(part).to_bytes()
    other = Deciding(plain, "events/0", 2)
    other.place = begin
    part.take([message(1, other.report(end - begin))])
    assert model(part).to_bytes() == before
    assert part.counts.dead == 1
    assert f"goes on at message 40 of events/0, got one of the messages {begin}" in part.last_dead
    assert part.positions == {"reports": 2, "events/0": 40}
    part.close()


def test_a_report_that_the_learner_refuses_is_to_be_made_again(path: str) -> None:
    part = owner_of(path)
    stranger = Deciding(hw.Spring(label_rate=0.1), "events/0", 1)
    part.take([message(0, stranger.report(10)), message(1, stranger.report(10))])
    assert part.counts.dead == 2
    assert model(part).seen == 0
    part.take([message(2, Deciding(hw.Spring(label_rate=RATE), "events/0", 1).report(10))])
    assert model(part).seen == 10
    part.close()


def test_an_event_that_two_reports_ask_about_is_one_question(path: str) -> None:
    part, plain = owner_of(path), hw.Spring(label_rate=RATE)
    first = Deciding(plain, "events/0", 1).report(40)
    again = Deciding(plain, "events/1", 2).report(40)
    one, other = first.asked[0], again.asked[0]
    again = again._replace(asked=[other._replace(id=one.id), *again.asked[1:], other])
    part.take([message(0, first), message(1, again)])
    assert part.counts.repeated == 1
    questions = [row for row in part.unsent if row.kind == "questions"]
    assert len(questions) == len(first.asked) + len(again.asked) - 1
    part.close()


def test_an_answer_that_comes_before_its_report_waits(path: str) -> None:
    part = owner_of(path)
    reported = Deciding(hw.Spring(label_rate=RATE), "events/0", 1).report(40)
    part.take(answers(0, reported))
    part.take([message(0, reported)])
    assert model(part).learned == len(reported.asked) == part.counts.answered
    part.close()


def test_a_corrected_answer_gives_the_model_that_was_given_the_right_one(path: str) -> None:
    part, plain = owner_of(path), hw.Spring(label_rate=RATE)
    decider = Deciding(plain, "events/0", 1)
    first = decider.report(40)
    part.take([message(0, first), *answers(0, first, wrong=1)])
    decider.replica.refresh(part.told().state)
    second = decider.report(40)
    part.take([message(1, second), *answers(100, second)])
    part.close()
    for reported in (first, second):
        plain.absorb([reported.report])
        learn(plain, reported)
    with hw.live.open(path, stream="reports/0") as stream:
        assert stream.learner.to_bytes() != plain.to_bytes()
        question = stream.find(first.asked[0].id).number
        stream.correct(question, label(first.asked[0].x))
        stream.wait(60)
        assert stream.learner.to_bytes() == plain.to_bytes()


def test_quality_is_that_of_all_events_that_deciders_decided_on(path: str) -> None:
    part, plain = owner_of(path), hw.Spring(label_rate=RATE)
    decider = Deciding(plain, "events/0", 1)
    estimate = ErrorEstimate(floor=0.0)
    for turn in range(4):
        reported = decider.report(100)
        part.take([message(turn, reported), *answers(1_000 * turn, reported)])
        floor = SHARE * reported.chances.rate
        for decision, x in decider.decisions[-100:]:
            p = decision.query_probability if decision.query_probability >= floor else 0.0
            wrong = decision.prediction != label(x)
            estimate.update(p, decision.asked and p > 0, wrong)
        decider.replica.refresh(part.told().state)
    part.close()
    with hw.live.open(path, stream="reports/0") as stream:
        quality = stream.quality()
    assert (quality.events, quality.labels) == (400, estimate.answers)
    assert quality.error == pytest.approx(estimate.value)
    assert quality.interval == pytest.approx(estimate.interval)


def test_what_needs_all_events_is_refused_with_a_sentence(path: str, tmp_path: Path) -> None:
    part = owner_of(path)
    part.take([message(0, Deciding(hw.Spring(label_rate=RATE), "events/0", 1).report(10))])
    part.close()
    with pytest.raises(JournalError, match="cannot be exported; use a backup"):
        hw.live.export_stream(path, tmp_path / "out.jsonl", "reports/0")
    with pytest.raises(JournalError, match="another learner cannot be given them"):
        what_if(path, hw.PAA(), stream="reports/0")
    with (
        hw.live.open(path, stream="reports/0") as stream,
        pytest.raises(ParameterError, match="begin a new stream with another"),
    ):
        stream.change_learner(hw.PAA())


@pytest.mark.parametrize(
    ("learner", "options", "sentence"),
    [
        (hw.PAA(), {"per_key": True}, "give --events instead of --reports"),
        (hw.PAA(), {"answer_within": 9.0}, "leave --answer-within out"),
        (hw.Spring(track=True), {}, "make the learner without track=True"),
    ],
)
def test_what_deciders_cannot_share_is_refused_with_a_sentence(
    path: str, learner: hw.Learner, options: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ParameterError, match=sentence):
        Part(path, "reports/0", learner, for_deciders=True, **options)


@pytest.mark.parametrize("verb", ["remove", "forget"])
def test_an_event_that_is_taken_out_is_not_learned_and_stays_in_the_sums(
    path: str, verb: str
) -> None:
    part, plain = owner_of(path), hw.Spring(label_rate=RATE)
    reported = Deciding(plain, "events/0", 1).report(40)
    part.take([message(0, reported), *answers(0, reported)])
    part.close()
    gone = reported.asked[0]
    plain.absorb([reported.report])
    learn(plain, reported._replace(asked=reported.asked[1:]))
    with hw.live.open(path, stream="reports/0") as stream:
        getattr(stream, verb)(gone.id)
        stream.wait(60)
        assert stream.learner.to_bytes() == plain.to_bytes()
        assert stream.learner.seen == 40
