"""What holds for every adapter."""

import importlib
import inspect
import re
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

PROJECT = Path(__file__).parent.parent.parent
LIBRARIES = {
    "river": "river",
    "sklearn": "sklearn",
    "activeml": "skactiveml",
    "mlflow": "mlflow",
    "spark": "pyspark",
}


def public() -> dict[str, Any]:
    """Every public class and function of every adapter whose library is here."""
    found: dict[str, Any] = {}
    for name, library in LIBRARIES.items():
        if library == "pyspark" and find_spec(library) is None:  # only `make test-full` has it
            continue
        module = importlib.import_module(f"headwater.adapters.{name}")
        values = {f"{name}.{each}": getattr(module, each) for each in module.__all__}
        found |= {each: value for each, value in values.items() if callable(value)}
    return found


PUBLIC = public()


@pytest.mark.parametrize(("adapter", "library"), LIBRARIES.items())
def test_without_its_library_an_adapter_says_what_to_install(adapter: str, library: str) -> None:
    program = f"import sys; sys.modules[{library!r}] = None; import headwater.adapters.{adapter}"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.returncode == 1
    last = run.stderr.splitlines()[-1]
    assert last.startswith(f"ImportError: headwater.adapters.{adapter} needs ")
    assert last.endswith(f"pip install 'headwater[{adapter}]'.")


def test_every_adapter_is_an_extra() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    assert set(LIBRARIES) <= set(project["optional-dependencies"])


def test_headwater_itself_needs_none_of_them() -> None:
    program = (
        f"import sys, headwater; print(sorted(set(sys.modules) & {set(LIBRARIES.values())!r}))"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.stdout == "[]\n"


@pytest.mark.parametrize("name", PUBLIC)
def test_everything_public_is_described_with_its_parameters_and_an_example(name: str) -> None:
    text = inspect.cleandoc(PUBLIC[name].__doc__ or "")
    assert text
    assert ">>> " in text
    for parameter in inspect.signature(PUBLIC[name]).parameters:
        assert re.search(rf"^{parameter}\n    \S", text, re.MULTILINE), parameter


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_method_is_described(name: str) -> None:
    for method, value in vars(PUBLIC[name]).items() if inspect.isclass(PUBLIC[name]) else ():
        if not method.startswith("_") and inspect.isfunction(value):
            assert (value.__doc__ or "").strip(), method


@pytest.mark.parametrize("name", PUBLIC)
def test_everything_public_stands_in_the_page_of_adapters(name: str) -> None:
    text = (PROJECT / "docs/how-to/adapters.md").read_text()
    assert f"`{name.partition('.')[2]}`" in text or f"`{name.partition('.')[2]}(" in text
