"""What a learner is, where a check must know it."""

from headwater.learners.base import Learner
from headwater.types import Name

OWN_NAMES: dict[str, tuple[Name, ...]] = {
    "none": (),
    "intercept": ("(intercept)",),
    "summary": ("(factor)", "(energy)", "(intercept)"),
}


def kind_of(model: Learner) -> str:
    """The kind of its model; `"external"`: it is written in Python."""
    kind: str = model._parts().model["kind"]
    return kind


def own_names(model: Learner) -> tuple[Name, ...]:
    """The features that it adds to every event, in the order of their ids."""
    return OWN_NAMES[model._parts().own]


def is_closed(model: Learner) -> bool:
    """Whether it uses the names of its first round only."""
    return model._parts().closed


def is_scaled(model: Learner) -> bool:
    """Whether it scales values by the events decided on: a decision then sees other values than a
    mere prediction."""
    return model._parts().scale is not None


def is_bounded(model: Learner) -> bool:
    """Whether it may let names go."""
    return model.parameters().get("max_features") is not None


def weighs_classes(model: Learner) -> bool:
    """Whether it predicts as if classes were equally frequent, which its probabilities do not."""
    if kind_of(model) == "linear":
        weight = model.parameters().get("class_weight")
        return weight is not None and model.parameters().get("intercept", True) is True
    return kind_of(model) in ("spring", "spring_classes", "dual_logistic")
