"""Settings of the service: the file, then the environment, then the command line.

`[serve]` of `headwater.inputs.config.SCHEMA` is their one table: name, kind, meaning, default. The
file is `headwater.toml`; in the environment `port` is `HEADWATER_SERVE_PORT`, on the command line
`--port`.
"""

import dataclasses
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headwater.errors import ParameterError
from headwater.inputs.config import FILE, SCHEMA, Config, Key, read_config

KEYS: Mapping[str, Key] = SCHEMA["serve"].keys
PREFIX = "HEADWATER_SERVE_"


@dataclass(frozen=True)
class Settings:
    """What the service is told; `config` is the whole of `headwater.toml`."""

    database: str = KEYS["database"].default
    host: str = KEYS["host"].default
    port: int = KEYS["port"].default
    hosts: tuple[str, ...] = KEYS["hosts"].default
    body_bytes: int = KEYS["body_bytes"].default
    body_seconds: float = KEYS["body_seconds"].default
    batch_events: int = KEYS["batch_events"].default
    requests_per_second: float = KEYS["requests_per_second"].default
    session_days: float = KEYS["session_days"].default
    stop_seconds: float = KEYS["stop_seconds"].default
    config: Config = Config()  # noqa: RUF009, it is frozen


def read_settings(
    path: str | Path | None = None,
    environment: Mapping[str, str] = os.environ,
    **options: Any,
) -> Settings:
    """Settings from a file, the environment and options; each replaces what came before.

    Without a path, `headwater.toml` of the current folder is read if it is there. Options that are
    None are not given.

    Examples
    --------
    >>> read_settings(environment={"HEADWATER_SERVE_PORT": "9000"}, host="0.0.0.0").port
    9000
    """
    if path is None and Path(FILE).exists():
        path = FILE
    config = Config() if path is None else read_config(path)
    given: dict[str, Any] = dict(config.sections.get("serve", {}))
    for name, key in KEYS.items():
        text = environment.get(PREFIX + name.upper())
        if text is not None:
            given[name] = _value(PREFIX + name.upper(), key, text)
    given |= {name: value for name, value in options.items() if value is not None}
    if isinstance(given.get("hosts"), list):
        given["hosts"] = tuple(given["hosts"])
    for name, value in given.items():
        if isinstance(value, (int, float)) and value < 0:
            raise ParameterError(f"serve: {name} must be 0 or above, got {value}.")
    return dataclasses.replace(Settings(config=config), **given)


def _value(place: str, key: Key, text: str) -> Any:
    try:
        match key.kind:
            case "a whole number":
                return int(text)
            case "a number":
                return float(text)
            case "a list of texts":
                return [part.strip() for part in text.split(",") if part.strip()]
            case _:
                return text
    except ValueError:
        raise ParameterError(f"{place}: expected {key.kind}, got {text!r}.") from None
