"""Reports from a model's feature history: largest weights, new features, gone ones, changes."""

from collections.abc import Iterable
from typing import NamedTuple

from headwater.types import Feature, Label, Name

SILENCE = 10
"""A feature is gone if it is absent for more than this many of its usual intervals."""
KNOWN_WELL = 5
"""A feature has a usual interval once it was learned from this many times."""


class Weight(NamedTuple):
    """The weight of a feature; with several classes, the weight for one of them."""

    name: Name
    label: Label | None
    value: float


class Move(NamedTuple):
    """A weight in two models; 0 if a model does not have it."""

    name: Name
    label: Label | None
    before: float
    after: float


def weights_of(features: Iterable[Feature]) -> list[Weight]:
    """Every weight that is not 0: per feature, with several classes per feature and class.

    Examples
    --------
    >>> weights_of([Feature("rain", 1, 2, 2, 0.5), Feature("wind", 2, 2, 1, 0.0)])
    [Weight(name='rain', label=None, value=0.5)]
    """
    found: list[Weight] = []
    for feature in features:
        if isinstance(feature.weight, dict):
            found += [Weight(feature.name, label, v) for label, v in feature.weight.items() if v]
        elif feature.weight:
            found.append(Weight(feature.name, None, feature.weight))
    return found


def heaviest(features: Iterable[Feature], count: int) -> list[Weight]:
    """The weights farthest from 0, the farthest first; among equals the older feature first.

    Examples
    --------
    >>> heaviest([Feature("rain", 1, 2, 2, 0.5), Feature("wind", 2, 2, 1, -0.7)], 1)
    [Weight(name='wind', label=None, value=-0.7)]
    """
    return sorted(weights_of(features), key=lambda weight: -abs(weight.value))[:count]


def born(features: Iterable[Feature], learned: int, since: int = 0) -> list[Feature]:
    """Features first learned in the last tenth of the events learned, the newest first.

    Of `learned` events only those after the first `since` are considered.

    Examples
    --------
    >>> features = [Feature("rain", 1, 20, 20, 0.5), Feature("wind", 19, 20, 2, 0.1)]
    >>> [feature.name for feature in born(features, learned=20)]
    ['wind']
    """
    tenth = -(-(learned - since) // 10)
    new = [feature for feature in features if feature.first_learned > learned - tenth]
    return sorted(new, key=lambda feature: -feature.first_learned)


def gone(features: Iterable[Feature], learned: int) -> list[Feature]:
    """Features absent for more than ten times their usual interval, the latest gone first.

    A feature's usual interval is the mean number of learned events between two that carry it; it
    is known once the feature was learned from five times.

    Examples
    --------
    >>> gone([Feature("rain", 1, 9, 5, 0.5)], learned=29)
    []
    >>> [feature.name for feature in gone([Feature("rain", 1, 9, 5, 0.5)], learned=30)]
    ['rain']
    """
    silent = []
    for feature in features:
        if feature.times_learned < KNOWN_WELL:
            continue
        usual = (feature.last_learned - feature.first_learned) / (feature.times_learned - 1)
        if learned - feature.last_learned > SILENCE * usual:
            silent.append(feature)
    return sorted(silent, key=lambda feature: -feature.last_learned)


def moves(before: Iterable[Feature], after: Iterable[Feature]) -> list[Move]:
    """Every weight that differs between two models, the largest difference first.

    Examples
    --------
    >>> old, new = [Feature("rain", 1, 1, 1, 0.5)], [Feature("wind", 2, 2, 1, 0.75)]
    >>> for move in moves(old, new):
    ...     print(move)
    Move(name='wind', label=None, before=0.0, after=0.75)
    Move(name='rain', label=None, before=0.5, after=0.0)
    """
    old = {(name, label): value for name, label, value in weights_of(before)}
    new = {(name, label): value for name, label, value in weights_of(after)}
    found = [Move(*key, old.get(key, 0.0), new.get(key, 0.0)) for key in {**old, **new}]
    found = [move for move in found if move.before != move.after]
    return sorted(found, key=lambda move: -abs(move.after - move.before))
