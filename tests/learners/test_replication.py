"""Replication switches: only `hw.named` takes them, and it makes learners like any other."""

import copy
import dataclasses
import pickle
from typing import Any

import pytest
from click.testing import CliRunner

import headwater as hw
from headwater.catalogue import algorithm, known, parameters_of
from headwater.cli import main
from headwater.errors import ParameterError
from headwater.learners.replication import Replication

SWITCHED: list[tuple[str, dict[str, Any]]] = [
    *((name, {"legacy": True}) for name in hw.names() if name.startswith("OLSF")),
    *(
        (name, switch)
        for name in ("FESL-c", "FESL-s", "NOGD", "ROGD-u", "ROGD-f")
        for switch in ({"schedule": (20, 5, 9)}, {"clip_losses": True})
    ),
    ("SEL-2nd", {"query_form": "original"}),
    ("SEL-ada", {"by_norm": True}),
]


@pytest.mark.parametrize(("name", "switch"), SWITCHED, ids=str)
def test_a_switch_makes_a_learner_that_is_saved_copied_and_written_down(
    name: str, switch: dict[str, Any]
) -> None:
    model = hw.named(name, **switch, seed=3)
    assert isinstance(model, Replication)
    (key, value) = next(iter(switch.items()))
    assert repr(model) == f"named({name!r}, {key}={value!r}, seed=3)"
    for number in range(40):
        model.learn_one({"rain": number % 7 - 3.0, "wind": 1.0}, number % 2 == 0)
    again = [hw.from_bytes(model.to_bytes()), copy.copy(model), pickle.loads(pickle.dumps(model))]
    for other in again:
        assert type(other) is type(model)
        assert repr(other) == repr(model)
        assert other.to_bytes() == model.to_bytes()


@pytest.mark.parametrize(("name", "switch"), SWITCHED, ids=str)
def test_a_switch_changes_what_is_learned_and_nothing_else_does(
    name: str, switch: dict[str, Any]
) -> None:
    plain, told = hw.named(name), hw.named(name, **switch)
    assert not isinstance(plain, Replication)
    assert told.task == plain.task
    own = set(told.parameters()) - set(plain.parameters())
    assert {parameter for parameter in own if parameter in switch} == set(switch)


@pytest.mark.parametrize("cls", Replication.__subclasses__(), ids=lambda cls: cls.__name__)
def test_switches_are_no_parameters_of_public_classes(cls: type[Replication]) -> None:
    public = {value for value in (getattr(hw, name) for name in hw.__all__) if is_data(value)}
    public |= set(hw.query.Query.__subclasses__())
    for switch in cls.switches:
        assert [one for one in public if switch in fields_of(one)] == []
        assert any(switch in parameters_of(name) for name in cls.names)


def is_data(value: Any) -> bool:
    return isinstance(value, type) and dataclasses.is_dataclass(value)


def fields_of(cls: Any) -> set[str]:
    return {field.name for field in dataclasses.fields(cls)}


@pytest.mark.parametrize("cls", Replication.__subclasses__(), ids=lambda cls: cls.__name__)
def test_they_are_reached_by_their_names_only(cls: type[Replication]) -> None:
    assert cls.__name__ not in known()
    with pytest.raises(ParameterError, match="there is no algorithm"):
        algorithm(cls.__name__)


def test_a_switch_that_stands_as_ever_makes_the_public_learner() -> None:
    assert type(hw.named("OLSF-I", legacy=False)) is hw.OLSF
    assert type(hw.named("FESL-c", schedule=None, clip_losses=False)) is hw.FESL
    assert type(hw.named("SEL-2nd", query_form="text")) is hw.SEL2
    assert type(hw.named("SEL-ada", by_norm=False)) is hw.Linear


def test_a_combination_without_a_name_says_what_it_is() -> None:
    model = hw.named("FESL-c", clip_losses=True)
    nameless = dataclasses.replace(model, combine="best")  # type: ignore[call-arg]
    assert repr(nameless) == "PaperFESL(combine='best', clip_losses=True)"


def test_the_command_line_takes_switches_too(tmp_path: Any) -> None:
    events = tmp_path / "days.jsonl"
    events.write_text('{"rain": 2.0, "y": true}\n{"rain": -1.0, "y": false}\n')
    model = tmp_path / "model.hw"
    command = ["run", str(events), "--learner", "OLSF-II", "--set", "legacy=true"]
    result = CliRunner().invoke(main, [*command, "--save", str(model)])
    assert result.exit_code == 0, result.output
    assert repr(hw.load(model)) == "named('OLSF-II', legacy=True)"
