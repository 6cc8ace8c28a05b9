"""A learner from the command line: its name, `--set NAME=VALUE`, and a label rate."""

import dataclasses
import difflib
import json
import math
from collections.abc import Sequence
from typing import Any

from headwater.catalogue import algorithm, known, with_rate
from headwater.cli.mistakes import Mistake
from headwater.learners.base import Learner
from headwater.parameters import did_you_mean
from headwater.rules.component import Component
from headwater.rules.query import Query
from headwater.rules.scale import Scale
from headwater.rules.sparsify import Sparsify
from headwater.rules.update import Update

COMPONENTS: dict[str, type[Component]] = {
    "update": Update,
    "query": Query,
    "sparsify": Sparsify,
    "scale": Scale,
}
COMMON = ("Spring", "Linear", "PARegressor", "FLLS", "OLSF", "PAA", "MPAA", "OLVF", "FESL")
"""The learners that an error message lists."""
WORDS = {"True": True, "False": False, "none": None, "None": None, "inf": math.inf}


def build(name: str, settings: Sequence[str], budget: float | None, seed: int) -> Learner:
    """The learner that these options describe."""
    name = _spelled(name)
    make, takes = algorithm(name)
    given = {"seed": seed, **_read(settings)}
    for parameter in given:
        if parameter.partition(".")[0] not in takes:
            raise Mistake(_no_parameter(name, parameter, takes))
    dotted = {parameter: given.pop(parameter) for parameter in list(given) if "." in parameter}
    for kind in {parameter.partition(".")[0] for parameter in dotted}:
        fields = {p.partition(".")[2]: v for p, v in dotted.items() if p.startswith(f"{kind}.")}
        word = given[kind] if kind in given else make().parameters()[kind]
        given[kind] = _filled(name, kind, word, fields)
    if budget is not None:
        if isinstance(given.get("query"), Component):
            raise Mistake("--budget sets the query rule's rate; leave out --set query.NAME=VALUE.")
        rated = with_rate(takes, given, budget)
        if rated is None:
            raise Mistake(_no_rate(name, takes))
        given = rated
    learner: Learner = make(**given)
    return learner


def _spelled(name: str) -> str:
    """The name as the package writes it, however the user did."""
    if name in known():
        return name
    alike = [one for one in known() if one.lower() == name.lower()]
    if len(alike) == 1:
        return alike[0]
    near = difflib.get_close_matches(name, known(), n=3, cutoff=0.6)
    listed = f"there are {', '.join(COMMON)}, and the papers' names (Python: headwater.names())."
    cure = f"did you mean {' or '.join(near)}?" if near else listed
    raise Mistake(f"--learner: there is no learner {name!r}; {cure}")


def _read(settings: Sequence[str]) -> dict[str, Any]:
    """`NAME=VALUE` as names and values."""
    read: dict[str, Any] = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not name or not equals:
            raise Mistake(f"--set: expected NAME=VALUE, got {setting!r}.")
        if name in read:
            raise Mistake(f"--set: {name} is given twice.")
        read[name] = value_of(value)
    return read


def value_of(text: str) -> Any:
    """A number, a bool, None or a list as JSON or Python writes it; values with commas; a text.

    Examples
    --------
    >>> [value_of(text) for text in ("0.5", "true", "none", "pa1", "ham,spam", "[0, 1]")]
    [0.5, True, None, 'pa1', ('ham', 'spam'), (0, 1)]
    """
    if text in WORDS:
        return WORDS[text]
    try:
        value = json.loads(text)
    except ValueError:
        if "," in text:
            return tuple(value_of(part.strip()) for part in text.split(","))
        try:
            return float(text)  # .5 is no number in JSON
        except ValueError:
            return text
    return tuple(value) if isinstance(value, list) else value


def _filled(owner: str, kind: str, word: Any, fields: dict[str, Any]) -> Component:
    """A component with some of its parameters set."""
    if kind not in COMPONENTS:
        raise Mistake(f"--set: {kind} of {owner} has no parameters of its own.")
    if word is None:
        raise Mistake(f"--set: {kind} of {owner} is none; fill it first: --set {kind}=WORD.")
    value = COMPONENTS[kind].of(owner, word)
    for field in fields:
        if field not in value.parameters():
            has = ", ".join(f"{kind}.{name}" for name in value.parameters()) or "none"
            raise Mistake(f"--set: {word} of {kind} has no parameter {field!r}; it has {has}.")
    return dataclasses.replace(value, **fields)  # type: ignore[type-var]


def _no_parameter(name: str, parameter: str, takes: frozenset[str]) -> str:
    listed = f"; it has {', '.join(sorted(takes))}."
    near = did_you_mean(parameter.partition(".")[0], takes, listed)
    has = f"--set: {name} has no parameter {parameter!r}{near}"
    if parameter.partition(".")[0] in COMPONENTS:
        return f"{has} Components are parameters of Linear: --learner Linear."
    kinds = [kind for kind in COMPONENTS if kind in takes]
    return f"{has} A component's own are set like {kinds[0]}.C=0.5." if kinds else has


def _no_rate(name: str, takes: frozenset[str]) -> str:
    if "query_width" in takes:
        return (
            f"--budget: {name} asks by a width, not by a rate: --set query_width=0.1 (the wider,"
            " the more it asks). Spring and Linear keep to a rate."
        )
    return f"--budget: {name} asks for every label. Spring and Linear keep to a rate."
