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


def tool(name: str = "check_wheel") -> Any:
    spec = importlib.util.spec_from_file_location(name, PROJECT / f"tools/{name}.py")
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


def test_a_build_from_source_that_finds_no_rust_ends_with_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    backend = tool("build_backend")

    def fail(*given: Any) -> None:
        raise ConnectionError(f"no network for {given}")

    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(SystemExit, match=r"Install a wheel instead .*, or Rust from https://rust"):
        backend.said(fail)("dist")
    monkeypatch.setattr(shutil, "which", lambda name: "/usr/bin/cargo")
    with pytest.raises(ConnectionError, match="no network"):
        backend.said(fail)("dist")
    assert backend.said(lambda folder, config=None: (folder, config))("a", config=1) == ("a", 1)


def test_the_build_backend_has_the_hooks_of_maturin() -> None:
    backend = tool("build_backend")
    for stem in ("build", "get_requires_for_build", "prepare_metadata_for_build"):
        for kind in ("wheel", "editable", "sdist"):
            name = f"{stem}_{kind}"
            assert hasattr(backend, name) == hasattr(backend.maturin, name), name
