"""`make audit`: what is locked is listed, with what registries say of it or without."""

import importlib.util
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.error import URLError

import pytest

SCRIPT = Path(__file__).parent.parent / "tools/versions.py"


@pytest.fixture(scope="module")
def versions() -> Any:
    spec = importlib.util.spec_from_file_location("versions", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_both_lock_files_are_read(versions: Any) -> None:
    found = list(versions.locked())
    assert {"PyPI", "crates.io"} == {one.registry for one in found}
    assert {"click", "pyo3"} <= {one.name for one in found}
    assert not [one for one in found if one.name.startswith("headwater")]


def test_offline_it_lists_what_is_locked(versions: Any, capsys: pytest.CaptureFixture[str]) -> None:
    def nothing(address: str) -> bytes:
        raise URLError("no network")

    assert versions.main(nothing) == 0
    said = capsys.readouterr().out
    count = len(list(versions.locked()))
    assert f"{count} locked, 0 withdrawn, {count} of which nothing could be learned." in said


def test_ages_newest_versions_and_withdrawals_are_told(versions: Any) -> None:
    pypi = {
        "info": {"version": "8.10"},
        "releases": {"8.5": [{"upload_time_iso_8601": "2026-01-01T00:00:00Z", "yanked": True}]},
    }
    lines = [
        {"vers": "1.9.0", "yanked": False, "pubtime": "2026-01-05T00:00:00Z"},
        {"vers": "1.10.0", "yanked": False},
        {"vers": "2.0.0-alpha", "yanked": False},
    ]
    asked = []

    def fetch(address: str) -> bytes:
        asked.append(address)
        return "\n".join(map(json.dumps, [pypi] if "pypi" in address else lines)).encode()

    every = [versions.Locked("PyPI", "click", "8.5"), versions.Locked("crates.io", "abc", "1.9.0")]
    found = [(one, versions.ask(one, fetch)) for one in every]
    assert asked == ["https://pypi.org/pypi/click/json", "https://index.crates.io/3/a/abc"]
    now = datetime(2026, 1, 11, tzinfo=UTC)
    assert list(versions.rows(found, now))[1:] == [
        ("PyPI", "click", "8.5", "10", "8.10", "WITHDRAWN"),
        ("crates.io", "abc", "1.9.0", "6", "1.10.0", ""),
    ]
