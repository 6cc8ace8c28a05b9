"""Parts of a database that workers share: fences, places, early answers, the outbox."""

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import headwater as hw
from headwater.errors import HeldError, ParameterError
from headwater.live.part import Incoming, Part
from live import postgres


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    if postgres.programs() is None:
        pytest.skip("PostgreSQL is not installed")
    with postgres.server() as url:
        yield url


def event(position: int, value: float = 1.0, **other: Any) -> Incoming:
    said: dict[str, Any] = {"id": f"e{position}", "x": {"a": value, "b": float(position % 5)}}
    return Incoming("events", position, None, float(position), **{**said, **other})


def answer(position: int, id: str, label: Any = True, by: str | None = None) -> Incoming:
    return Incoming("answers", position, None, float(position), id=id, label=label, group=by)


def said(part: Part, kind: str) -> list[dict[str, Any]]:
    return [json.loads(row.value) for row in part.unsent if row.kind == kind]


def model(part: Part, name: str | None = None) -> bytes:
    return part._loops[name or part.part].learner.to_bytes()


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "plant.db")


def test_messages_are_taken_once_wherever_the_process_ends(path: str) -> None:
    part = Part(path, "plant/0", hw.PAA())
    part.take([event(0), event(1), answer(0, "e0"), event(2)])
    assert part.positions == {"events": 3, "answers": 1}
    before = model(part)
    part.abandon()  # as a kill would
    part = Part(path, "plant/0", hw.PAA())
    assert model(part) == before
    assert [row["id"] for row in said(part, "decisions")] == ["e0", "e1", "e2"]
    part.take([event(1), answer(0, "e0"), event(2), event(3)])  # the broker sends some again
    assert part.counts.decided == 1
    assert part.positions == {"events": 4, "answers": 1}
    part.close()


def test_what_was_sent_goes_and_what_was_not_is_there_after_a_crash(path: str) -> None:
    part = Part(path, "plant/0", hw.PAA())
    part.take([event(0), event(1)])
    first = [row for row in part.unsent if "e0" in row.value]
    part.sent(first)
    part.take([event(2)])
    part.abandon()
    part = Part(path, "plant/0", hw.PAA())
    assert [row["id"] for row in said(part, "decisions")] == ["e1", "e2"]
    part.sent(part.unsent)
    part.close()
    part = Part(path, "plant/0", hw.PAA())
    assert part.unsent == []
    part.close()


def test_an_answer_waits_for_its_event_across_a_crash(path: str) -> None:
    part = Part(path, "plant/0", hw.PAA())
    part.take([answer(0, "e0"), answer(1, "e0")])
    assert (part.counts.early, part.counts.repeated) == (1, 1)
    part.abandon()
    part = Part(path, "plant/0", hw.PAA())
    part.take([event(0)])
    assert part.counts.answered == 1
    assert part._loops["plant/0"].learner.learned == 1
    part.close()
    with Part_of(path) as again:
        assert not again._early


def test_an_answer_whose_event_never_comes_is_a_dead_letter(path: str) -> None:
    part = Part(path, "plant/0", hw.PAA(), early=10.0)
    part.take([answer(0, "nobody")])
    part.take([event(0, id="x")._replace(time=11.0)])
    (dead,) = said(part, "dead")
    assert dead["sentence"] == 'answer: its event "nobody" did not come within 0.000115741 days.'
    part.close()


def test_events_and_answers_that_come_twice_count_once(path: str) -> None:
    part = Part(path, "plant/0", hw.PAA())
    again = event(1)._replace(id="e0", x=event(0).x)
    part.take([event(0), again, answer(0, "e0", by="ada"), answer(1, "e0", by="ada")])
    assert (part.counts.decided, part.counts.answered, part.counts.repeated) == (1, 1, 2)
    assert part._loops["plant/0"].learner.seen == 1
    part.close()


def test_what_cannot_be_used_is_a_dead_letter_with_its_sentence(path: str) -> None:
    part = Part(path, "plant/0", hw.PAA())
    bad = [
        Incoming("events", 0, None, 0.0, problem="event: expected x.", body=b"\xff{"),
        event(1, x={"a": float("inf")}),
        event(2),
        event(3)._replace(id="e2"),  # another event by the same id
        answer(0, "e2", "blue"),
        Incoming("answers", 1, None, 3.0, id="e2"),
    ]
    part.take(bad)
    sentences = [dead["sentence"] for dead in said(part, "dead")]
    assert part.counts.dead == len(sentences) == 5
    assert sentences[0] == "event: expected x."
    assert "'a'" in sentences[1]
    assert "the id 'e2' was used before" in sentences[2]
    assert "blue" in sentences[3]
    assert sentences[4] == "answer: expected the id of its event and a label, got no label."
    assert part.counts.decided == 1
    part.close()


def test_without_an_id_an_event_is_called_by_its_place_and_without_a_place_refused(
    path: str,
) -> None:
    part = Part(path, "plant/0", hw.PAA())
    part.take([event(7)._replace(id=None), event(8)._replace(id=None, position=None)])
    assert said(part, "decisions")[0]["id"] == "plant/0@7"
    assert "expected an id" in said(part, "dead")[0]["sentence"]
    part.close()


def check_fences(url: str) -> None:
    first = Part(url, "plant/0", hw.PAA())
    other = Part(url, "plant/1", hw.PAA())
    first.take([event(0)])
    second = Part(url, "plant/0", hw.PAA())  # the group has given it to another worker
    with pytest.raises(HeldError, match="another process has taken plant/0 over"):
        first.take([event(1)])
    first.abandon()
    second.take([event(1)])
    other.take([event(0)])  # is not concerned
    with pytest.raises(HeldError, match="is held by workers"):
        hw.live.open(url, learner=hw.PAA())
    assert second.positions == {"events": 2}
    second.close()
    other.close()
    with hw.live.open(url, stream="plant/0") as whole:
        assert whole.learner.seen == 2
        with pytest.raises(HeldError, match="is held by process"):
            Part(url, "plant/0", hw.PAA())


def test_a_part_belongs_to_whoever_took_it_last(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headwater.live.holder.PATIENCE", 0.2)
    check_fences(path)


def test_on_postgresql_too(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headwater.live.holder.PATIENCE", 0.2)
    check_fences(server)


def test_a_writer_of_the_whole_database_that_lost_its_lock_is_fenced_off_by_a_part(
    path: str,
) -> None:
    whole = hw.live.open(path, learner=hw.PAA())
    whole._writer.holder.close()  # as when the connection of its lock breaks
    part = Part(path, "plant/0", hw.PAA())
    with pytest.raises(HeldError, match="has taken it over"):
        whole.receive({"a": 1.0})
    part.take([event(0)])
    part.close()
    whole.close()


def test_each_key_has_a_learner_and_few_of_them_are_in_memory(path: str) -> None:
    keys = [f"k{number}" for number in range(5)]
    part = Part(path, "plant/0", hw.PAA(), per_key=True, most_streams=2)
    for position in range(20):
        one = event(position)._replace(key=keys[position % 5])
        early = answer(position, f"e{position}")._replace(key=keys[position % 5])
        part.take([one, early])
    assert len(part._loops) == 2
    assert (part.counts.decided, part.counts.answered) == (20, 20)
    part.take([event(20)])
    assert "expected a key" in said(part, "dead")[0]["sentence"]
    part.close()
    for number, key in enumerate(keys):
        with hw.live.read(path, f"plant/0:{key}") as stream:
            assert stream.status().events == 4, number


def test_people_have_one_number_in_all_parts(path: str) -> None:
    parts = [Part(path, f"plant/{number}", hw.PAA()) for number in range(2)]
    for part, by in zip(parts * 2, ("ada", "bob", "bob", "eve"), strict=True):
        position = part.positions.get("events", 0)
        part.take([event(position), answer(position, f"e{position}", by=by)])
    assert [part.counts.answered for part in parts] == [2, 2]
    for part in parts:
        part.close()
    with sqlite3.connect(path) as connection:
        names = connection.execute("SELECT person, name FROM people").fetchall()
    connection.close()
    assert sorted(names) == [(1, "ada"), (2, "bob"), (3, "eve")]


def test_a_part_has_a_name_without_a_colon(path: str) -> None:
    with pytest.raises(ParameterError, match="a name without a colon, got 'a:b'"):
        Part(path, "a:b", hw.PAA())


class Part_of:  # noqa: N801, it reads as a call
    """A part that is closed at the end of a block."""

    def __init__(self, path: str) -> None:
        self.part = Part(path, "plant/0", hw.PAA())

    def __enter__(self) -> Part:
        return self.part

    def __exit__(self, *_: object) -> None:
        self.part.close()
