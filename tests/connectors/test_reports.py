"""Models on their way to deciders, and reports on their way to the owner."""

import random
from typing import Any

import pytest

import headwater as hw
from headwater.connectors.reports import (
    DELTAS,
    PIECE,
    ModelReader,
    ModelWriter,
    Piece,
    read_report,
    write_report,
)
from headwater.errors import EventError
from headwater.live.part import Told
from headwater.live.reported import Asked, Chances, Reported


def told(owner: hw.Learner, fact: int = 0) -> Told:
    return Told(owner.to_bytes(), fact, {"events/0": fact})


def sent(writer: ModelWriter, owner: hw.Learner, fact: int = 0) -> list[Piece]:
    """The messages of a model; a whole begins at its fact's number in the topic."""
    pieces = writer.pieces(told(owner, fact))
    if writer.whole is None:
        writer.whole = fact
    return pieces


def read(reader: ModelReader, pieces: list[Piece]) -> bytes | None:
    for piece in pieces:
        reader.read(piece.about, piece.body)
    return None if reader.model is None else reader.model.state


def large() -> hw.Learner:
    """A learner of more than a message can hold."""
    draw = random.Random(0)
    owner = hw.PAA()
    owner.learn_one({f"{draw.getrandbits(80):x}": draw.gauss(0, 1) for _ in range(40_000)}, True)
    return owner


def test_a_model_that_is_longer_than_a_message_comes_in_pieces() -> None:
    owner, reader = large(), ModelReader()
    pieces = sent(ModelWriter("a"), owner)
    assert len(pieces) > 1
    assert all(len(piece.body) <= PIECE for piece in pieces)
    assert len({piece.key for piece in pieces}) == len(pieces)
    assert read(reader, pieces) == owner.to_bytes()


@pytest.mark.parametrize("gone", [0, 1, -1])
def test_a_model_with_a_piece_missing_is_passed_over(gone: int) -> None:
    owner, writer, reader = large(), ModelWriter("a"), ModelReader()
    pieces = sent(writer, owner)
    del pieces[gone]
    assert read(reader, pieces) is None
    whole = sent(ModelWriter("b"), owner)  # as another owner sends it
    assert read(reader, whole) == owner.to_bytes()


def test_deltas_follow_a_whole_and_a_reader_in_between_waits_for_the_next() -> None:
    owner, writer = hw.Spring(), ModelWriter("a")
    first, late = ModelReader(), ModelReader()
    kinds = []
    for fact in range(DELTAS + 1):
        owner.learn_one({f"s{fact % 5}": float(fact), "b": 1.0}, fact % 2 == 0)
        pieces = sent(writer, owner, fact)
        kinds.append(pieces[0].about["delta"])
        assert read(first, pieces) == owner.to_bytes()
        assert pieces[0].about["whole"] == (0 if pieces[0].about["delta"] else None)
        if fact > 0:
            assert read(late, pieces) == (owner.to_bytes() if fact == DELTAS else None)
    assert kinds == [False] + [True] * (DELTAS - 1) + [False]


def test_without_a_place_for_the_whole_the_next_model_is_whole() -> None:
    owner, writer = hw.PAA(), ModelWriter("a")
    assert not writer.pieces(told(owner))[0].about["delta"]  # it was not delivered
    assert not writer.pieces(told(owner))[0].about["delta"]


def test_a_report_is_read_as_it_was_written_to_the_last_bit() -> None:
    replica = hw.PAA().replica(seed=1)
    x: dict[Any, float] = {"a": 0.1 + 0.2, "b": -0.0, "c": 1e-300}
    decision = replica.decide_one(x).to_bytes()
    asked = [
        Asked("e1", "k", 1.5, "line", x, decision, 0.75),
        Asked(7, None, 2.5, None, x, decision, None),
    ]
    chances = Chances.of([0.1, 0.7, 1.0], 0.3)
    reported = Reported("events/0", 3, 9, 2.5, chances, replica.report(), asked)
    again = read_report(write_report(reported))
    assert again == reported
    assert str(again.asked[0].x) == str(x)


@pytest.mark.parametrize("damage", [b"", b"other", b"cut", b"altered"])
def test_what_is_no_report_gets_a_sentence(damage: bytes) -> None:
    whole = write_report(Reported("events/0", 0, 0, 0.0, Chances.of([], 0.0), b"", []))
    given = {b"cut": whole[:-5], b"altered": whole[:20] + b"?" + whole[21:]}.get(damage, damage)
    with pytest.raises(EventError, match=f"a decider sends, got {len(given)} other bytes"):
        read_report(given)
