"""Checks the limits of parameters, and describes parameters that several classes share.

A limit is part of the field or argument: `C: Annotated[float, ABOVE_ZERO] = 1.0`. Words
(`Literal`), `bool` and `... | None` are limits by themselves. Dataclasses call `check_fields`;
functions and other classes use the decorator `checked`.
"""

import dataclasses
import difflib
import functools
import inspect
import math
import numbers
import re
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin

from headwater.errors import ParameterError

ELSEWHERE = {
    "alpha": ("C",),
    "budget": ("label_rate", "query"),
    "delta": ("query_width",),
    "label_rate": ("query",),
    "learning_rate": ("C", "step"),
    "loss": ("update",),
    "n_classes": ("multiclass",),
    "optimizer": ("update",),
    "query": ("label_rate", "query_width"),
    "random_state": ("seed",),
    "rate": ("label_rate", "query"),
    "rho": ("query_width",),
    "scaler": ("scale",),
    "threshold": ("class_weight",),
}
"""What other libraries and the papers call a parameter, and what it may be called here."""


def did_you_mean(word: Any, known: Iterable[str], otherwise: str = ".") -> str:
    """The end of a sentence about a word that does not exist: the nearest that does, if any is.

    Examples
    --------
    >>> did_you_mean("label_rat", ["label_rate", "seed"])
    '; did you mean label_rate?'
    >>> did_you_mean("random_state", ["label_rate", "seed"])
    '; did you mean seed?'
    >>> did_you_mean("xyz", ["label_rate", "seed"])
    '.'
    """
    if not isinstance(word, str):
        return otherwise
    listed = list(known)
    near = [name for name in ELSEWHERE.get(word, ()) if name in listed]
    near += difflib.get_close_matches(word, listed, n=1, cutoff=0.6)
    return f"; did you mean {near[0]}?" if near else otherwise


def brief(value: Any) -> str:
    """A value as an error message shows it: on one line, and not too long.

    Examples
    --------
    >>> brief("0.5"), brief(int), len(brief([0] * 1_000))
    ("'0.5'", 'the class int', 71)
    """
    if isinstance(value, type):
        return f"the class {value.__name__}"
    text = " ".join(repr(value).split())
    return text if len(text) <= 120 else f"{text[:61]}... ({type(value).__name__})"


def check_parameters(cls: type, given: Iterable[str], owner: str = "") -> None:
    """`check_names` of a dataclass whose `__init__` takes its fields."""
    if "__dataclass_fields__" in vars(cls) and vars(cls)["__dataclass_params__"].init:
        check_names(owner or cls.__name__, given, [f.name for f in dataclasses.fields(cls)])


def check_names(owner: str, given: Iterable[str], known: Sequence[str]) -> None:
    """Refuse parameters that there are not, as Python does: by a `TypeError`.

    Examples
    --------
    >>> check_names("Spring", ["label_rat"], ["label_rate", "seed"])
    Traceback (most recent call last):
    ...
    TypeError: Spring: there is no parameter 'label_rat'; did you mean label_rate?
    """
    for name in given:
        if name not in known:
            has = f"; it has {', '.join(known)}." if known else "; it has none."
            raise TypeError(
                f"{owner}: there is no parameter {name!r}{did_you_mean(name, known, has)}"
            )


def no_such_name(module: str, names: Iterable[str]) -> Callable[[str], Any]:
    """A module's `__getattr__`, which says the nearest of its names.

    Examples
    --------
    >>> import headwater as hw
    >>> hw.query.Budjet
    Traceback (most recent call last):
    ...
    AttributeError: headwater.query: there is no 'Budjet'; did you mean Budget?
    """
    known = sorted(names)

    def refuse(name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        has = f"; it has {', '.join(known)}."
        raise AttributeError(f"{module}: there is no {name!r}{did_you_mean(name, known, has)}")

    return refuse


@dataclasses.dataclass(frozen=True)
class Limit:
    """How a parameter is read, which values it may have, and how to say so."""

    read: Callable[[Any], Any]
    """The value as a plain Python value; None: it is of another kind."""
    test: Callable[[Any], bool]
    expected: str
    optional: bool = False
    words: tuple[str, ...] = ()
    """The values, if they are words."""
    is_share: bool = False
    """Whether it is a share, which some write in percent."""

    def __repr__(self) -> str:
        return repr(self.expected)

    def check(self, owner: str, name: str, value: Any) -> Any:
        """The value as a plain Python value; a `ParameterError` if it is beyond the limit.

        Examples
        --------
        >>> SHARE.check("FLLS", "kept_share", 0)
        Traceback (most recent call last):
        ...
        headwater.errors.ParameterError: FLLS: kept_share must be in (0, 1], got 0.
        """
        if value is None and self.optional:
            return None
        plain = self.read(value)
        if plain is None or not self.test(plain):
            end = did_you_mean(value, self.words)
            if self.is_share and plain is not None and 2 <= plain <= 100:
                end = f"; {plain:g} % is {plain / 100:g}."
            raise ParameterError(
                f"{owner}: {name} must be {self.expected}, got {brief(value)}{end}"
            )
        return plain

    def or_none(self) -> "Limit":
        """The same limit, with None allowed."""
        expected = f"{self.expected}, or None"
        return dataclasses.replace(self, expected=expected, optional=True)


# How values are read


def read_number(value: Any) -> float | None:
    """A real number as a float; None if it is none, or too large to be one."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return None if math.isnan(number) else number


def read_whole(value: Any) -> int | None:
    """A whole number as an int; None if it is none."""
    is_whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    return int(value) if is_whole else None


def read_labels(value: Any) -> Any:
    """A tuple of labels, without NumPy's types; None if it is no sequence."""
    if not isinstance(value, Sequence) or isinstance(value, (str, bytes)):
        return None
    return tuple(label.item() if hasattr(label, "item") else label for label in value)


def read_text(value: Any) -> str | None:
    """A text as it is; None if it is none."""
    return value if isinstance(value, str) else None


def tuple_of(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """What reads a sequence as a tuple whose parts are read so; None if one of them cannot be."""

    def read_all(value: Any) -> Any:
        if not isinstance(value, Sequence) or isinstance(value, (str, bytes)):
            return None
        parts = tuple(map(read, value))
        return None if None in parts else parts

    return read_all


# Limits


def _any(value: Any) -> bool:
    return True


def number(expected: str, test: Callable[[float], bool]) -> Limit:
    """A limit of numbers."""
    return Limit(read_number, test, expected)


def whole(expected: str, test: Callable[[int], bool]) -> Limit:
    """A limit of whole numbers."""
    return Limit(read_whole, test, expected)


def whole_from(least: int, bits: int) -> Limit:
    """Whole numbers from `least` to 2^bits − 1."""
    expected = f"a whole number from {least} to 2**{bits} - 1"
    return whole(expected, lambda v: least <= v < 2**bits)


def one_of(*words: str) -> Limit:
    """One of these words."""
    quoted = [f'"{word}"' for word in words]
    expected = " or ".join(filter(None, [", ".join(quoted[:-1]), quoted[-1]]))
    return Limit(read_text, lambda v: v in words, expected, words=words)


ABOVE_ZERO = number("a number above 0", lambda v: v > 0)
FINITE = number("a finite number above 0", lambda v: 0 < v < math.inf)
NOT_NEGATIVE = number("a finite number, 0 or above", lambda v: 0 <= v < math.inf)
SHARE = Limit(read_number, lambda v: 0 < v <= 1, "in (0, 1]", is_share=True)
INSIDE = Limit(read_number, lambda v: 0 < v < 1, "in (0, 1)", is_share=True)
RATE = Limit(read_number, lambda v: 0 <= v <= 1, "in [0, 1]", is_share=True)
COUNT = whole("a whole number above 0", lambda v: v > 0)
SEED = whole_from(0, bits=64)
TRUTH = Limit(lambda v: v if isinstance(v, bool) else None, _any, "True or False")
CLASSES = Limit(read_labels, _any, "a tuple of labels")


def limit_of(annotation: Any) -> Limit | None:
    """The limit that an annotation states; None: it states none.

    Examples
    --------
    >>> limit_of(Annotated[float, ABOVE_ZERO]).expected
    'a number above 0'
    >>> limit_of(Literal["even", "olvf"] | None).expected
    '"even" or "olvf", or None'
    """
    if annotation is bool:
        return TRUTH
    parts = get_args(annotation)
    if get_origin(annotation) is Annotated:
        return next((part for part in parts[1:] if isinstance(part, Limit)), None)
    if get_origin(annotation) is Literal:
        return one_of(*parts)
    if get_origin(annotation) in (Union, types.UnionType) and type(None) in parts:
        others = [part for part in parts if part is not type(None)]
        limit = limit_of(others[0]) if len(others) == 1 else None
        return limit and limit.or_none()
    return None


# Where limits are checked


_FIELD_LIMITS: dict[type, dict[str, Limit]] = {}


def field_limits(cls: type) -> dict[str, Limit]:
    """The limits of a dataclass's fields, by name."""
    if cls not in _FIELD_LIMITS:
        found = {field.name: limit_of(field.type) for field in dataclasses.fields(cls)}
        _FIELD_LIMITS[cls] = {name: limit for name, limit in found.items() if limit is not None}
    return _FIELD_LIMITS[cls]


def check_fields(value: Any, owner: str = "") -> None:
    """Convert the limited fields of a frozen dataclass to plain Python values, or refuse them.

    Errors name the class, unless they are to name another `owner`.
    """
    owner = owner or type(value).__name__
    for name, limit in field_limits(type(value)).items():
        object.__setattr__(value, name, limit.check(owner, name, getattr(value, name)))


def argument_limits(function: Callable[..., Any]) -> dict[str, Limit]:
    """The limits of a function's arguments, by name."""
    arguments = inspect.signature(function).parameters.values()
    found = {argument.name: limit_of(argument.annotation) for argument in arguments}
    return {name: limit for name, limit in found.items() if limit is not None}


P = ParamSpec("P")
R = TypeVar("R")


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """The function with its arguments checked first; those with limits become plain values.

    Errors name the function, or the class whose `__init__`, `__new__` or method it is.

    Examples
    --------
    >>> @checked
    ... def halve(share: Annotated[float, SHARE]) -> float:
    ...     return share / 2
    >>> halve(2)
    Traceback (most recent call last):
    ...
    headwater.errors.ParameterError: halve: share must be in (0, 1], got 2; 2 % is 0.02.
    """
    signature, limits = inspect.signature(function), argument_limits(function)
    is_method = next(iter(signature.parameters), "") == "self"
    takes_any = any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values())

    def owner_of(args: tuple[Any, ...]) -> str:
        if function.__name__ == "__new__":
            return str(getattr(args[0], "__name__", args[0]))
        if not is_method:
            return function.__name__
        name = type(args[0]).__name__
        return name if function.__name__ == "__init__" else f"{name}.{function.__name__}"

    def known_of(args: tuple[Any, ...]) -> list[str]:
        functions: list[Any] = [function]
        if function.__name__ == "__init__":  # with the parameters of the classes in between
            functions = [vars(cls).get("__init__") for cls in type(args[0]).__mro__[:-1]]
        named = [inspect.signature(one).parameters.values() for one in functions if one]
        found = [p.name for part in named for p in part if p.kind not in (p.VAR_KEYWORD,)]
        return [name for name in dict.fromkeys(found) if name not in ("self", "cls")]

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError:
            if not takes_any:
                check_names(owner_of(args), kwargs, known_of(args))
            return function(*args, **kwargs)  # which says what is missing or too much
        owner = owner_of(args)
        for name, limit in limits.items():
            if name in bound.arguments:
                bound.arguments[name] = limit.check(owner, name, bound.arguments[name])
        return function(*bound.args, **bound.kwargs)

    return call


# How parameters are described

_SECTION = re.compile(r"^Parameters\n-+\n(.*?)(?=^\w+\n-+\n|\Z)", re.MULTILINE | re.DOTALL)
_ENTRY = re.compile(r"^(\w+)\n((?: {4}.*\n|\n(?= {4}))+)", re.MULTILINE)


def described_parameters(doc: str | None) -> dict[str, str]:
    """What a docstring says of each parameter, in its order.

    Examples
    --------
    >>> described_parameters("A rule.\\n\\nParameters\\n----------\\nrate\\n    How often.\\n")
    {'rate': '    How often.\\n'}
    """
    section = _SECTION.search(inspect.cleandoc(doc or "") + "\n")
    return dict(_ENTRY.findall(section[1])) if section else {}


def with_parameters(doc: str | None, described: Mapping[str, str], order: Iterable[str]) -> str:
    """A docstring that describes the parameters of `order`: as it does, else as `described`."""
    text = inspect.cleandoc(doc or "") + "\n"
    known = {**described, **described_parameters(doc)}
    entries = "".join(f"{name}\n{known[name]}" for name in order if name in known)
    section = f"Parameters\n----------\n{entries}\n"
    if _SECTION.search(text):
        return _SECTION.sub(lambda _: section, text, count=1).rstrip()
    before, examples, after = text.partition("Examples\n--------\n")
    return f"{before.rstrip()}\n\n{section}{examples}{after}".rstrip()
