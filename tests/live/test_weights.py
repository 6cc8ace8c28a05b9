"""The heaviest weights over time: written with each snapshot."""

from pathlib import Path

import pytest

import headwater as hw
from headwater.live import weights


def fill(plant: hw.live.Loop, first: int, last: int) -> None:
    for number in range(first, last):
        x = {"a": float(number % 3), 7: 1.0, f"word {number}": 0.1}
        plant.receive(x, id=number, label=number % 3 == 0)


def test_the_weights_of_each_snapshot_are_kept_heaviest_first(tmp_path: Path) -> None:
    path = tmp_path / "plant.db"
    expected = []
    with hw.live.open(path, learner=hw.OLSF()) as plant:
        for first in (0, 10, 20):
            fill(plant, first, first + 10)
            fact = plant.snapshot()
            known = {one.name: one.weight for one in plant.learner.features() if one.weight}
            expected.append((fact, known))
        assert [(one.fact, one.weights) for one in plant.weights()] == expected
        sizes = [abs(weight) for weight in plant.weights()[-1].weights.values()]
        assert sizes == sorted(sizes, reverse=True)
    with hw.live.read(path) as reader:
        assert [one.fact for one in reader.weights()][:3] == [fact for fact, _ in expected]


def test_with_several_classes_it_is_the_largest_weight(tmp_path: Path) -> None:
    learner = hw.Linear(multiclass=True)
    with hw.live.open(tmp_path / "plant.db", learner=learner) as plant:
        for number in range(12):
            plant.receive({"a": 1.0, "b": float(number % 3)}, label="xyz"[number % 3])
        plant.snapshot()
        (moment,) = plant.weights()
        weights = {one.name: one.weight for one in plant.learner.features()}
        sizes = {
            name: max(map(abs, of_each.values()))
            for name, of_each in weights.items()
            if isinstance(of_each, dict)
        }
        assert sizes.keys() == weights.keys()
        found = {name: abs(weight) for name, weight in moment.weights.items()}
        assert found == {name: size for name, size in sizes.items() if size}


def test_old_moments_are_thinned_out_and_the_first_and_last_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(weights, "MOMENTS", 8)
    with hw.live.open(tmp_path / "plant.db", learner=hw.OLSF()) as plant:
        facts = []
        for number in range(40):
            plant.receive({"a": 1.0}, label=bool(number % 2))
            facts.append(plant.snapshot())
        kept = [one.fact for one in plant.weights()]
    assert len(kept) <= 8
    assert kept[0] == facts[0]
    assert kept[-4:] == facts[-4:]


def test_what_was_learned_from_a_forgotten_event_is_not_kept(tmp_path: Path) -> None:
    with hw.live.open(tmp_path / "plant.db", learner=hw.OLSF()) as plant:
        fill(plant, 0, 5)
        before = plant.snapshot()
        plant.receive({"secret": 5.0}, id="x", label=True)
        plant.snapshot()
        assert "secret" in plant.weights()[-1].weights
        plant.forget("x")
        assert plant.weights()[0].fact == before
        assert all("secret" not in one.weights for one in plant.weights())


def test_a_deleted_stream_leaves_no_weights(tmp_path: Path) -> None:
    path = tmp_path / "plant.db"
    with (
        hw.live.open(path, learner=hw.OLSF()),
        hw.live.open(path, learner=hw.OLSF(), stream="north") as north,
    ):
        fill(north, 0, 5)
        north.snapshot()
        with hw.live.read(path, "north") as reader:
            number = reader.number
            assert reader.weights()
        north.delete()
        with hw.live.read(path) as reader, reader.database.reading() as connection:
            assert weights.read_weights(connection, number) == []
