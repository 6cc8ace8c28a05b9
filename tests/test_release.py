"""Version, citation and release workflow agree, and the wheel's check tells what it is given."""

import importlib.util
import re
import shutil
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import headwater

PROJECT = Path(__file__).parent.parent


def tool() -> Any:
    spec = importlib.util.spec_from_file_location("check_wheel", PROJECT / "tools/check_wheel.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_version_stands_in_cargo_toml_and_everything_else_repeats_it() -> None:
    version = tomllib.loads((PROJECT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    assert headwater.__version__ == version
    citation = (PROJECT / "CITATION.cff").read_text()
    assert re.search(r"^version: (.+)$", citation, re.MULTILINE)[1] == version  # type: ignore[index]
    assert f"version = {{{version}}}" in (PROJECT / "docs/papers/citing.md").read_text()
    assert f"\n## {version}" in (PROJECT / "CHANGELOG.md").read_text()


def test_the_release_checks_that_the_tag_is_the_version_before_it_builds() -> None:
    workflow = (PROJECT / ".github/workflows/release.yml").read_text()
    assert "grep -qx" in workflow
    assert workflow.count("needs: version") == 2


def test_a_check_of_no_wheel_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert tool().main(["dist"]) == 2
    assert "expected one wheel" in capsys.readouterr().err


def test_the_path_without_rust_has_no_cargo() -> None:
    assert shutil.which("cargo", path=tool().without_rust()["PATH"]) is None


def test_this_interpreter_is_among_those_found() -> None:
    assert sys.version_info[:2] in tool().interpreters()
