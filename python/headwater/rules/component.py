"""Components of a learner: rules with their parameters; each has a word for its defaults."""

import dataclasses
import math
from typing import Any, ClassVar, Self

from headwater.errors import ParameterError
from headwater.parameters import brief, check_fields, check_parameters, did_you_mean


def shown(value: object) -> str:
    """A `repr` that can be evaluated: infinity is written as a call."""
    return "float('inf')" if value == math.inf else repr(value)


class Component:
    """A rule and its parameters: a small frozen dataclass with a word for its defaults."""

    word: ClassVar[str]
    kind: ClassVar[str]

    def __new__(cls, *args: Any, **given: Any) -> Self:
        check_parameters(cls, given, f"{cls.kind}.{cls.__name__}")
        return super().__new__(cls)

    def __post_init__(self) -> None:
        check_fields(self)

    def __repr__(self) -> str:
        given = ", ".join(f"{key}={shown(value)}" for key, value in self.parameters().items())
        return f"{self.kind}.{type(self).__name__}({given})"

    def parameters(self) -> dict[str, Any]:
        """The parameters it was created with, by name."""
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}  # type: ignore[arg-type]

    def for_core(self) -> tuple[str, dict[str, Any]]:
        """The word and the parameters for the core, with derived parameters computed."""
        return self.word, self.parameters()

    @classmethod
    def of(cls, owner: str, value: object) -> Self:
        """`value` as a component: itself, or the component that its word stands for."""
        if isinstance(value, cls):
            return value
        words = {sub.word: sub for sub in cls.__subclasses__()}
        if isinstance(value, str) and value in words:
            return words[value]()
        cure = did_you_mean(value, words)
        if isinstance(value, type) and issubclass(value, cls):
            cure = f"; write {cls.kind}.{value.__name__}()."
        elif isinstance(value, (int, float)) and "budget" in words:
            cure = f"; a share of the labels is written query.Budget({value!r})."
        raise ParameterError(
            f"{owner}: {cls.kind} must be one of {', '.join(map(repr, words))}"
            f" or a value of headwater.{cls.kind}, got {brief(value)}{cure}"
        )
