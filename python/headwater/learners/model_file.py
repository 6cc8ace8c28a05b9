"""A model's header as JSON."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from headwater.errors import ParameterError
from headwater.inputs.columns import Columns
from headwater.rules.component import Component


def write_header(name: str, parameters: Mapping[str, Any], columns: Columns | None = None) -> str:
    """A learner's class, its parameters and the roles of its columns as text."""
    given = {key: value for key, value in parameters.items() if (key, value) != ("track", False)}
    plain = {key: _to_plain(value) for key, value in given.items()}
    header = {"class": name, "parameters": plain}
    if columns is not None:
        header["columns"] = columns.to_plain()
    return json.dumps(header, ensure_ascii=False, sort_keys=True)


def read_header(text: str) -> tuple[str, dict[str, Any], Columns | None]:
    """The class, the parameters and the columns that `write_header` wrote."""
    try:
        header = json.loads(text)
    except (ValueError, RecursionError):
        raise ParameterError("it is not JSON.") from None
    match header:
        case {"class": str(name), "parameters": dict(parameters), **rest} if set(rest) <= {
            "columns"
        }:
            columns = rest.get("columns")
            if columns is not None and not isinstance(columns, dict):
                raise ParameterError("its columns are no table.")
            given = {key: _from_plain(value) for key, value in parameters.items()}
            return name, given, None if columns is None else Columns.from_plain(columns)
    raise ParameterError("it does not name a class and its parameters.")


def _to_plain(value: Any) -> Any:
    if isinstance(value, Component):
        inner = {name: _to_plain(v) for name, v in value.parameters().items()}
        return {"component": f"{value.kind}.{type(value).__name__}", **inner}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_to_plain(part) for part in value]
    return value


def _from_plain(value: Any) -> Any:
    if isinstance(value, dict):
        cls = _component_class(value.get("component"))
        parameters = {name: _from_plain(v) for name, v in value.items() if name != "component"}
        known = {field.name for field in fields(cls)}  # type: ignore[arg-type]
        if not set(parameters) <= known:
            raise ParameterError(f"{value['component']} has other parameters.")
        return cls(**parameters)
    return tuple(map(_from_plain, value)) if isinstance(value, list) else value


def _component_class(name: object) -> type[Component]:
    waiting = Component.__subclasses__()
    while waiting:
        cls = waiting.pop()
        if is_dataclass(cls) and f"{cls.kind}.{cls.__name__}" == name:
            return cls
        waiting += cls.__subclasses__()
    raise ParameterError(f"there is no component {name!r}.")
