"""A model's header as JSON, and a file that is written whole or not at all."""

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from headwater.learners.normalize import Normalize
from headwater.learners.query import Query
from headwater.learners.slots import Slot
from headwater.learners.sparsify import Sparsify
from headwater.learners.update import Balanced, Update


def write_header(name: str, parameters: Mapping[str, Any]) -> str:
    """A learner's class and parameters as text."""
    plain = {key: _to_plain(value) for key, value in parameters.items()}
    header = {"class": name, "parameters": plain}
    return json.dumps(header, ensure_ascii=False, sort_keys=True)


def read_header(text: str) -> tuple[str, dict[str, Any]]:
    """What `write_header` was given."""
    header = json.loads(text)
    return header["class"], {k: _from_plain(v) for k, v in header["parameters"].items()}


def write_file(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file such that a reader finds the old one or the new one, never half of it."""
    target = Path(path)
    handle, partial = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(partial, 0o666 & ~_umask())
        os.replace(partial, target)
    except BaseException:
        Path(partial).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _to_plain(value: Any) -> Any:
    if isinstance(value, Slot):
        inner = {name: _to_plain(v) for name, v in value.parameters().items()}
        return {"slot": f"{value.kind}.{type(value).__name__}", **inner}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_to_plain(part) for part in value]
    return value


def _from_plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        parameters = {name: _from_plain(v) for name, v in value.items() if name != "slot"}
        return _slot_class(value["slot"])(**parameters)
    return tuple(map(_from_plain, value)) if isinstance(value, list) else value


def _slot_class(name: str) -> type[Slot]:
    kinds: list[type[Slot]] = [Balanced]
    for base in (Update, Query, Sparsify, Normalize):
        kinds += base.__subclasses__()
    return {f"{kind.kind}.{kind.__name__}": kind for kind in kinds}[name]
