"""Parameters that several learners have: written and described once, listed after their own.

A class marked by `shares` declares such parameters. `learner` makes a dataclass of a learner's
class: its own fields come first, then those of the shared parameters that it inherits.
"""

import dataclasses
import inspect
from typing import Any, TypeVar, dataclass_transform

from headwater.parameters import described_parameters, with_parameters

C = TypeVar("C", bound=type)


@dataclass_transform(eq_default=False, kw_only_default=True, frozen_default=True)
def shares(cls: C) -> C:
    """Mark a class whose annotations are parameters of its subclasses."""
    own = inspect.get_annotations(cls).items()
    shared = {name: kind for name, kind in own if not name.startswith("_")}
    cls._shared = shared  # type: ignore[attr-defined]
    return cls


@dataclass_transform(eq_default=False, kw_only_default=True, frozen_default=True)
def learner(cls: C, *, frozen: bool = True) -> C:
    """Make a dataclass of a learner's class, with every parameter described."""
    bases = cls.__mro__[1:]
    known = {name for base in bases for name in getattr(base, "__dataclass_fields__", {})}
    described: dict[str, str] = {}
    for base in bases:
        described = {**described_parameters(base.__doc__), **described}
        for name, annotation in vars(base).get("_shared", {}).items():
            if name not in known:
                cls.__annotations__.setdefault(name, annotation)
    made: Any = dataclasses.dataclass(frozen=frozen, kw_only=True, eq=False, repr=False)(cls)
    order = [field.name for field in dataclasses.fields(made)]
    made.__doc__ = with_parameters(cls.__doc__, described, order)
    if frozen:
        _say_that_parameters_are_fixed(made)
    return made  # type: ignore[no-any-return]


def _say_that_parameters_are_fixed(made: type) -> None:
    """Replace the dataclass's own sentence about an attribute that cannot be set."""
    set_attribute: Any = made.__setattr__

    def refuse(self: object, name: str, value: object) -> None:
        try:
            set_attribute(self, name, value)
        except dataclasses.FrozenInstanceError:
            kind = type(self).__name__
            raise dataclasses.FrozenInstanceError(
                f"{kind}: {name} cannot be changed; make another learner, {kind}({name}=...)."
                if name in getattr(self, "__dataclass_fields__", ())
                else f"{kind}: {name!r} is no attribute that can be set."
            ) from None

    made.__setattr__ = refuse  # type: ignore[assignment, method-assign]


def shared_defaults(cls: type) -> dict[str, Any]:
    """The shared parameters that a learner has, and their defaults."""
    shared = {name for base in cls.__mro__ for name in vars(base).get("_shared", {})}
    fields = dataclasses.fields(cls)
    return {field.name: field.default for field in fields if field.name in shared}
