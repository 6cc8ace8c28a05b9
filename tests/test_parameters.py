"""Parameters: checked by their annotations, shared ones written once, and described."""

import dataclasses
import inspect
from typing import Annotated, Any

import numpy as np
import pytest

import headwater as hw
from headwater import streams
from headwater.errors import ParameterError
from headwater.learners.base import learner_classes
from headwater.parameters import (
    COUNT,
    SHARE,
    checked,
    described_parameters,
    field_limits,
    limit_of,
    with_parameters,
)
from headwater.streams.table_stream import TableStream

LEARNERS = {name: cls for name, cls in learner_classes().items() if name in hw.__all__}
TABLE_STREAMS = [
    cls
    for cls in (getattr(streams, name) for name in streams.__all__)
    if isinstance(cls, type) and issubclass(cls, TableStream)
]


@checked
def halved(share: Annotated[float, SHARE], times: Annotated[int, COUNT] = 1) -> tuple[Any, Any]:
    """What a checked function gets."""
    return share, times


class Owner:
    """A class with checked methods."""

    @checked
    def __init__(self, *, loud: bool = False) -> None:
        self.loud = loud

    @checked
    def call(self, times: Annotated[int, COUNT]) -> int:
        return times


def test_a_checked_function_gets_plain_values() -> None:
    share: Any = np.float32(0.5)
    times: Any = np.int8(3)
    assert [type(part) for part in halved(share, times)] == [float, int]
    assert halved(1) == (1.0, 1)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: halved(0), "halved: share must be in (0, 1], got 0."),
        (lambda: halved(1, times=0), "halved: times must be a whole number above 0, got 0."),
        (lambda: Owner(loud=1), "Owner: loud must be True or False, got 1."),  # type: ignore[arg-type]
        (lambda: Owner().call(0), "Owner.call: times must be a whole number above 0, got 0."),
    ],
)
def test_a_refusal_names_its_owner(call: Any, sentence: str) -> None:
    with pytest.raises(ParameterError) as caught:
        call()
    assert str(caught.value) == sentence


def test_missing_arguments_are_python_s_business() -> None:
    with pytest.raises(TypeError, match=r"halved\(\) missing 1 required positional argument"):
        halved()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="there is no parameter 'width'; it has"):
        streams.Varying([[1.0]], [True], width=3)  # type: ignore[call-arg]


@pytest.mark.parametrize("annotation", [float, str | None, Any, int | str | None])
def test_other_annotations_state_no_limit(annotation: Any) -> None:
    assert limit_of(annotation) is None


@pytest.mark.parametrize("name", LEARNERS)
def test_a_learner_s_own_parameters_come_first(name: str) -> None:
    listed = [field.name for field in dataclasses.fields(LEARNERS[name])]
    shared = [
        one for one in ("max_features", "when_full", "classes", "seed", "track") if one in listed
    ]
    assert listed[-len(shared) :] == shared
    assert list(inspect.signature(LEARNERS[name]).parameters) == listed


def test_shared_parameters_are_the_same_everywhere() -> None:
    kinds = list(LEARNERS.values())
    for name in ("max_features", "when_full", "classes", "seed", "track"):
        having = [cls for cls in kinds if name in field_limits(cls)]
        assert len(having) > 5
        assert len({described_parameters(cls.__doc__)[name] for cls in having}) == 1
        assert len({field_limits(cls)[name].expected for cls in having}) == 1


def test_learners_that_cannot_be_bounded_have_no_bound() -> None:
    without = {name for name, cls in LEARNERS.items() if "max_features" not in field_limits(cls)}
    assert without == {"FESL", "RFESL", "SEL2", "OFSP"}


@pytest.mark.parametrize("cls", TABLE_STREAMS, ids=lambda cls: cls.__name__)
def test_a_stream_lists_and_describes_every_parameter(cls: type) -> None:
    listed = list(inspect.signature(cls).parameters)
    assert listed[:2] == ["X", "y"]
    assert listed[-3:] == ["shuffle", "names", "seed"]
    assert list(described_parameters(cls.__doc__)) == listed


def test_what_a_docstring_says_itself_is_kept() -> None:
    own = "A rule.\n\nParameters\n----------\nrate\n    Its own.\n\nExamples\n--------\n>>> 1\n1"
    text = with_parameters(own, {"rate": "    Shared.\n", "seed": "    Draws.\n"}, ["rate", "seed"])
    assert text == own.replace("    Its own.\n", "    Its own.\nseed\n    Draws.\n")
    bare = with_parameters("A rule.", {"seed": "    Draws.\n"}, ["seed"])
    assert bare == "A rule.\n\nParameters\n----------\nseed\n    Draws."
