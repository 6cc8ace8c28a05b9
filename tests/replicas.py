"""Learners with replication switches, made as users make them: by their names."""

from dataclasses import fields
from typing import Any

import headwater as hw
from headwater.learners.replication import Replication


def replica(cls: type[Replication], **given: Any) -> Any:
    """The learner of these parameters by `hw.named`; without a name by its private class."""
    defaults = {field.name: field.default for field in fields(cls)}
    for name, fixed in cls.names.items():
        if all({**defaults, **given}[key] == value for key, value in fixed.items()):
            return hw.named(name, **{key: v for key, v in given.items() if key not in fixed})
    return cls(**given)
