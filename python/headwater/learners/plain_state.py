"""What a learner written in Python has learned, as text: JSON that holds values and no code."""

import base64
import json
from typing import Any

import numpy as np

from headwater.errors import ModelFileError, ParameterError

SIMPLE = (bool, int, float, str)


def write_state(owner: str, values: dict[str, Any]) -> str:
    """The values by name as text; equal values give equal texts.

    Examples
    --------
    >>> write_state("Mine", {"weights": {"rain": 0.5}})
    '{"weights": {"dict": [["rain", 0.5]]}}'
    """
    plain = {name: _to_plain(f"{owner}.{name}", value) for name, value in values.items()}
    return json.dumps(plain)


def read_state(owner: str, text: str) -> dict[str, Any]:
    """The values that `write_state` wrote.

    Examples
    --------
    >>> read_state("Mine", '{"weights": {"dict": [["rain", 0.5]]}}')
    {'weights': {'rain': 0.5}}
    """
    try:
        plain = json.loads(text)
        return {name: _from_plain(value) for name, value in plain.items()}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise ModelFileError(
            f"model file: what {owner} has learned cannot be read; it was altered."
        ) from None


def _to_plain(place: str, value: Any) -> Any:
    kind = type(value)
    if value is None or kind in SIMPLE:
        return value
    if isinstance(value, np.generic) and isinstance(value.item(), SIMPLE):
        return value.item()
    if kind is list:
        return [_to_plain(place, part) for part in value]
    if kind is tuple:
        return {"tuple": [_to_plain(place, part) for part in value]}
    if kind is set:  # whose own order differs from process to process
        return {"set": sorted((_to_plain(place, part) for part in value), key=json.dumps)}
    if kind is dict:
        items = value.items()
        return {"dict": [[_to_plain(place, key), _to_plain(place, part)] for key, part in items]}
    if kind is np.ndarray and value.dtype.kind in "biuf":
        data = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()
        return {"array": [value.dtype.str, list(value.shape), data]}
    raise ParameterError(
        f"{place}: what is saved must be numbers, texts, None, arrays of numbers, and lists,"
        f" tuples, sets and dicts of them, got {kind.__name__}."
    )


def _from_plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_from_plain(part) for part in value]
    if not isinstance(value, dict):
        return value
    [(kind, parts)] = value.items()
    match kind:
        case "tuple":
            return tuple(map(_from_plain, parts))
        case "set":
            return set(map(_from_plain, parts))
        case "dict":
            return {_from_plain(key): _from_plain(part) for key, part in parts}
        case "array":
            dtype, shape, data = parts
            if np.dtype(dtype).kind not in "biuf":
                raise ValueError
            return np.frombuffer(base64.b64decode(data), dtype).reshape(shape).copy()
        case _:
            raise ValueError
