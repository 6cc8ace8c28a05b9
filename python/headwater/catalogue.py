"""Every learner and algorithm by name: the papers' names, the classes, and users' own.

Each paper's name stands for one learner: `LEPE` is `PEA`; `FLLS-I_f` is FLLS-I on another stream;
the FLLS paper's `PEA` is `named("PEA", kept_share=0.5, l1_radius=30)`.
"""

import dataclasses
import difflib
import importlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any, NamedTuple

from headwater.errors import ParameterError
from headwater.learners import fesl, olsf
from headwater.learners.base import Learner, learner_classes
from headwater.learners.fesl import FESL, RFESL
from headwater.learners.flls import FLLS
from headwater.learners.linear import Linear
from headwater.learners.ofs import OFSP
from headwater.learners.olsf import OLSF
from headwater.learners.olvf import OLVF
from headwater.learners.paa import CSPAA, MPAA, PAA
from headwater.learners.replication import (
    LegacyOLSF,
    OriginalSEL2,
    OriginalSELAda,
    PaperFESL,
    Replication,
)
from headwater.learners.second_order import SEL2
from headwater.learners.shared_parameters import shared_defaults
from headwater.parameters import TRUTH, did_you_mean
from headwater.rules.component import Component
from headwater.rules.query import All, Decaying, Margin, Query, Quota, Random, SelAda
from headwater.rules.sparsify import KeepCount, KeepLargest, Sparsify
from headwater.rules.update import (
    CPA,
    CW,
    PA,
    PA1,
    PA2,
    Gradient,
    MarginPerceptron,
    Perceptron,
    Update,
)

# A component's field, and the flat parameter that stands for it.
_FLAT = {"width": "query_width", "share": "kept_share"}


@dataclass(frozen=True)
class _Recipe:
    """The flat parameters of a name with their defaults, and the function that makes a learner."""

    defaults: dict[str, Any]
    make: Callable[[dict[str, Any]], Learner]


def _preset(cls: type[Learner], **fixed: Any) -> _Recipe:
    """A learner class with some of its parameters fixed."""
    fields = dataclasses.fields(cls)
    defaults = {f.name: f.default for f in fields if f.name not in fixed}
    return _Recipe(defaults, lambda given: cls(**fixed, **given))


def _switched(recipe: _Recipe, replication: type[Replication], **fixed: Any) -> _Recipe:
    """A recipe with replication switches; the replication is made if one of them is given."""
    switches = replication.switches

    def make(given: dict[str, Any]) -> Learner:
        as_they_stand = (
            type(given[switch]) is type(default) and given[switch] == default
            for switch, default in switches.items()
        )
        if all(as_they_stand):
            return recipe.make({name: given[name] for name in recipe.defaults})
        return replication(**fixed, **given)

    return _Recipe({**recipe.defaults, **switches}, make)


def _composed(
    update: Update, query: Query, sparsify: Sparsify | None = None, **fixed: Any
) -> _Recipe:
    """A raw `Linear` without intercept, made of these components; their fields are parameters."""
    components: dict[str, Component | None] = {
        "update": update,
        "query": query,
        "sparsify": sparsify,
    }
    shared = shared_defaults(Linear)
    defaults: dict[str, Any] = {}
    for component in filter(None, components.values()):
        defaults |= {_FLAT.get(name, name): value for name, value in component.parameters().items()}

    def make(given: dict[str, Any]) -> Learner:
        filled = {
            kind: component and dataclasses.replace(component, **_own(component, given))  # type: ignore[type-var]
            for kind, component in components.items()
        }
        rest = {name: given[name] for name in shared}
        plain: dict[str, Any] = {"scale": None, "intercept": False, "class_weight": None}
        return Linear(**filled, **plain, **fixed, **rest)  # type: ignore[arg-type]

    return _Recipe(defaults | shared, make)


def _own(component: Component, given: dict[str, Any]) -> dict[str, Any]:
    return {name: given[_FLAT.get(name, name)] for name in component.parameters()}


def _perceptron(query: Query, sparsify: Sparsify | None) -> _Recipe:
    """A perceptron that steps on mistakes or, as the FLLS tables do, on margins below 1."""
    kinds = {
        False: _composed(Perceptron(), query, sparsify),
        True: _composed(MarginPerceptron(), query, sparsify),
    }

    def make(given: dict[str, Any]) -> Learner:
        switch = "margin_perceptron"
        on_margins = TRUTH.check("named", switch, given.pop(switch))
        return kinds[on_margins].make({"positive_margin": 1.0, **given})

    return _Recipe(kinds[False].defaults | {"margin_perceptron": False}, make)


def _ofs() -> _Recipe:
    """OFS, whose radius is 1/√decay."""
    recipe = _composed(Gradient(), All(), KeepCount())
    defaults = {name: value for name, value in recipe.defaults.items() if name != "l2_radius"}

    def make(given: dict[str, Any]) -> Learner:
        decay = Gradient(given["step"], given["decay"]).decay
        return recipe.make({**given, "l2_radius": decay**-0.5 if decay else inf})

    return _Recipe(defaults, make)


def _rfesl() -> _Recipe:
    """RFESL, whose quota's fields are its own."""
    recipe = _preset(RFESL, query=None)

    def make(given: dict[str, Any]) -> Learner:
        quota = Quota(given.pop("rate"), given.pop("total"))
        return RFESL(query=quota, **given)

    return _Recipe(recipe.defaults | Quota().parameters(), make)


_STEPS: dict[str, tuple[str, Update]] = {
    "": ("pa", PA()),
    "-I": ("pa1", PA1()),
    "-II": ("pa2", PA2()),
}
_DENSE = KeepLargest(share=1.0)


def _table() -> dict[str, _Recipe]:
    table: dict[str, _Recipe] = {}
    for suffix, (word, step) in _STEPS.items():  # FLLS
        table[f"FLLS{suffix}"] = _preset(FLLS, update=word)
        table[f"RFLLS{suffix}"] = _composed(step, Quota(), KeepLargest())
    table["PEA"] = table["LEPE"] = _perceptron(Margin(), KeepLargest(share=1.0, l1_radius=inf))
    table["RPEA"] = _perceptron(Quota(), KeepLargest())
    table["FLLS-I_SN"] = _composed(PA1(), Margin(), _DENSE, growth="restart")
    table["FLLS-I_SI"] = _composed(PA1(), Margin(), _DENSE, growth="closed")
    table["FLLS-I_f"] = table["FLLS-I"]

    for name, fixed in olsf.NAMES.items():  # OLSF
        table[name] = _switched(_preset(OLSF, **fixed), LegacyOLSF, **fixed)
    table["OFS"] = _ofs()
    table["OFS_P"] = _preset(OFSP)
    table["OLVF"] = _preset(OLVF)

    table["PE"] = _composed(Perceptron(), All())  # PAA
    table["RPE"] = _composed(Perceptron(), Random())
    table["MPE"] = _composed(Perceptron(), All(), multiclass=True)
    table["MPEA"] = _composed(Perceptron(), Margin(), multiclass=True)
    table["MRPE"] = _composed(Perceptron(), Random(), multiclass=True)
    for suffix, (word, step) in _STEPS.items():
        table[f"PA{suffix}"] = _composed(step, All())
        table[f"PAA{suffix}"] = _preset(PAA, update=word)
        table[f"RPA{suffix}"] = _composed(step, Random())
        table[f"MPA{suffix}"] = _composed(step, All(), multiclass=True)
        table[f"MPAA{suffix}"] = _preset(MPAA, update=word)
        table[f"MRPA{suffix}"] = _composed(step, Random(), multiclass=True)
    table["SEL-ada"] = _switched(_composed(Perceptron(), SelAda()), OriginalSELAda)
    table["SEL-2nd"] = _switched(_preset(SEL2), OriginalSEL2)
    table["CSPAA"] = _preset(CSPAA)
    table["CSPAA(a)"] = _composed(PA1(None, "balanced"), Decaying())
    table["CSRND"] = _composed(PA1(None, "balanced"), Random())
    table["PAUM"] = _composed(MarginPerceptron("balanced"), All())
    table["CPA"] = _composed(CPA(None, "balanced"), All())
    table["CW-diag"] = _composed(CW(), All())

    for name, fixed in fesl.NAMES.items():  # FESL
        table[name] = _switched(_preset(FESL, **fixed), PaperFESL, **fixed)
    table["RFESL"] = _rfesl()
    return table


_TABLE = _table()


def names() -> tuple[str, ...]:
    """The names of all algorithms, as their papers print them.

    Examples
    --------
    >>> import headwater as hw
    >>> "RFLLS-II" in hw.names()
    True
    """
    return tuple(_TABLE)


def parameters_of(name: str) -> tuple[str, ...]:
    """The parameters that `named(name, ...)` takes.

    Examples
    --------
    >>> parameters_of("RPA-I")
    ('C', 'positive_margin', 'rate', 'max_features', 'when_full', 'classes', 'seed', 'track')
    """
    return tuple(_recipe(name).defaults)


def _recipe(name: str) -> _Recipe:
    if not isinstance(name, str) or name not in _TABLE:
        near = difflib.get_close_matches(str(name), _TABLE, n=3, cutoff=0.4)
        cure = f"did you mean {' or '.join(near)}?" if near else "headwater.names() lists them."
        raise ParameterError(f"named: there is no algorithm {name!r}; {cure}")
    return _TABLE[name]


def named(name: str, /, **parameters: Any) -> Learner:
    """The algorithm that its paper calls `name`, as an ordinary learner.

    Parameters are flat: `C`, `query_width`, `rate`, `kept_share`, `l1_radius`, `positive_margin`,
    ... whichever the algorithm has, and `classes` and `seed`. Some names have replication switches
    beside them, which no class has: `docs/learners/components.md` lists them.

    Examples
    --------
    >>> import headwater as hw
    >>> hw.named("FLLS-II", C=0.5)
    FLLS(update='pa2', C=0.5)
    >>> hw.named("RPA-I", rate=0.2).query
    query.Random(rate=0.2)
    """
    recipe = _recipe(name)
    known = sorted(recipe.defaults)
    for parameter in parameters:
        if parameter not in known:
            raise ParameterError(
                f"named: {name} has no parameter {parameter!r}"
                + did_you_mean(parameter, recipe.defaults, f"; it has {', '.join(known)}.")
            )
    return recipe.make(recipe.defaults | parameters)


class Algorithm(NamedTuple):
    """The function that makes a learner, and its parameters."""

    make: Callable[..., Any]
    parameters: frozenset[str]


def algorithm(name: str) -> Algorithm:
    """The algorithm that its paper calls so, a class of this package, or `module:callable`.

    Examples
    --------
    >>> algorithm("FLLS-II").make(C=0.5)
    FLLS(update='pa2', C=0.5)
    >>> "query" in algorithm("Linear").parameters
    True
    """
    if name in names():
        return Algorithm(lambda **given: named(name, **given), frozenset(parameters_of(name)))
    found: Any = imported(name) if ":" in name else _classes().get(name)
    if found is None or not callable(found):
        must = (
            ": it must be one of headwater.names(), a learner of the package, or module:callable."
        )
        raise ParameterError(
            f"there is no algorithm {name!r}{did_you_mean(name, known(), otherwise=must)}"
        )
    return Algorithm(found, frozenset(inspect.signature(found).parameters))


def known() -> tuple[str, ...]:
    """The names of all algorithms of the package: its learners', then the papers'.

    Examples
    --------
    >>> {"Spring", "FLLS-II"} <= set(known())
    True
    """
    return tuple(dict.fromkeys([*sorted(_classes()), *names()]))


def _classes() -> dict[str, type[Learner]]:
    """The learners that are known by their class: all but those that only `named` makes."""
    return {
        name: cls for name, cls in learner_classes().items() if not issubclass(cls, Replication)
    }


def imported(place: str) -> Any:
    """What `module:attribute` names.

    Examples
    --------
    >>> imported("math:sqrt")(4)
    2.0
    """
    module, _, name = place.partition(":")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ParameterError(f"{place}: cannot be imported: {error}.") from error


def with_rate(
    takes: frozenset[str], given: dict[str, Any], rate: float, total: int | None = None
) -> dict[str, Any] | None:
    """The parameters plus a label rate, in the form that the algorithm takes; None: it takes none.

    `total` is the length of the stream, for algorithms that can keep to the rate exactly.

    Examples
    --------
    >>> with_rate(algorithm("Spring").parameters, {"seed": 1}, 0.1)
    {'seed': 1, 'label_rate': 0.1}
    >>> with_rate(algorithm("Linear").parameters, {}, 0.1)
    {'query': query.Budget(rate=0.1)}
    >>> with_rate(algorithm("FLLS").parameters, {}, 0.1)
    """
    if "label_rate" in takes:
        return {**given, "label_rate": rate}
    if "rate" in takes:
        exact = {"total": total} if total is not None and "total" in takes else {}
        return {**given, "rate": rate, **exact}
    if "query" in takes:
        return {**given, "query": query_rule(given.get("query", "budget"), rate)}
    return None


def query_rule(word: str, rate: float) -> Any:
    """The query rule of this word that asks for `rate` of the labels.

    Examples
    --------
    >>> query_rule("budget", 0.1)
    query.Budget(rate=0.1)
    """
    rules: dict[str, Any] = {rule.word: rule for rule in Query.__subclasses__()}
    if word not in rules or "rate" not in rules[word]().parameters():
        raise ParameterError(f"query must be a rule that has a rate, got {word!r}.")
    return rules[word](rate)
