"""Parameters rebuild a learner and are fixed."""

from typing import Any

from headwater.catalogue import named
from headwater.learners.base import from_bytes, learner_classes
from headwater.rules import query, scale, sparsify, update
from headwater.testing.expect import refused, same
from headwater.testing.small_stream import Make, SmallStream, halfway


def check_repr_rebuilds_the_learner(make: Make, stream: SmallStream) -> None:
    """Evaluating `repr(learner)` gives a fresh learner with the same parameters."""
    rules = {"query": query, "scale": scale, "sparsify": sparsify, "update": update}
    known = {**rules, "named": named, **learner_classes()}
    several = ("ham", "egg", "tea") if stream.task == "multiclass" else ("ham", "egg")
    models = [make(seed=3), make() if stream.task == "regression" else make(classes=several)]
    for model in models:
        names: dict[str, Any] = {**known, type(model).__name__: type(model)}
        rebuilt = eval(repr(model), names)
        same(type(rebuilt), type(model), "the class that repr names")
        same(repr(rebuilt), repr(model), "the repr of a learner rebuilt")
        same(rebuilt.to_bytes(), model.to_bytes(), "the state of a learner rebuilt")
    same(repr(halfway(make, stream)), repr(make()), "the repr of a learner that has learned")


def check_parameters_rebuild_the_learner(make: Make, stream: SmallStream) -> None:
    """The class called with `parameters()` gives a fresh learner with the same parameters."""
    model = make(seed=3)
    rebuilt = type(model)(**model.parameters())
    same(rebuilt.to_bytes(), model.to_bytes(), "the state of a learner rebuilt")
    loaded = from_bytes(model.to_bytes())
    same(loaded.parameters(), model.parameters(), "the parameters of a loaded learner")


def check_parameters_are_fixed(make: Make, stream: SmallStream) -> None:
    """Parameters cannot be set or deleted after construction."""
    model = make()
    before = model.to_bytes()
    for name, value in model.parameters().items():
        with refused(AttributeError, f"setting {name}"):
            setattr(model, name, value)
        with refused(AttributeError, f"deleting {name}"):
            delattr(model, name)
    model.parameters()["seed"] = 5
    same(model.to_bytes(), before, "the state")
