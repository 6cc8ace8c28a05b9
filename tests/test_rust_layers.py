"""What may depend on what in Rust: a module imports only what lies below it (ARCHITECTURE.md)."""

import graphlib
import re
from pathlib import Path

import pytest

PROJECT = Path(__file__).parent.parent
LAYERS = (
    "learner > event_bytes|readers|model > rules > scaling|register > capacity > feature_table"
    " > feature_history > storage > label > event > error"
)
DEPTH = {
    part: depth for depth, layer in enumerate(LAYERS.split(" > ")) for part in layer.split("|")
}
CRATES = ["core", "python", "fuzz"]

TREE = re.compile(r"\bcrate((?:::\w+)*)(?:::\{([^{}]*)\})?")
"""A path from the crate's root, or several that begin alike."""


def files_of(crate: str) -> dict[str, Path]:
    """The files of a crate by their module's path, such as `model::fesl`; the root is left out."""
    root = PROJECT / "rust" / crate / "src"
    found: dict[str, Path] = {}
    for path in sorted(root.rglob("*.rs")):
        parts = list(path.relative_to(root).with_suffix("").parts)
        if parts[-1] == "mod":
            parts.pop()
        if parts not in (["lib"], ["bin", "fuzz"]):
            found["::".join(parts)] = path
    return found


def code_of(path: Path) -> str:
    """The program without its tests, comments and texts."""
    code = path.read_text(encoding="utf-8").partition("#[cfg(test)]")[0]
    code = re.sub(r"//[^\n]*", "", code)
    code = re.sub(r"b?'(\\.|[^'\\])'", "' '", code)
    return re.sub(r'"(\\.|[^"\\])*"', '""', code, flags=re.DOTALL)


def imports_of(module: str, files: dict[str, Path]) -> set[str]:
    """The modules that one imports, by `use` or by a path in the middle of the code."""
    imported: set[str] = set()
    for start, several in TREE.findall(code_of(files[module])):
        for name in (several or "").split(","):
            path = [part for part in [*start.split("::"), name.strip()] if part]
            while path and "::".join(path) not in files:
                path.pop()
            if path:
                imported.add("::".join(path))
    return imported - {module}


def test_there_is_something_to_check() -> None:
    files = files_of("core")
    assert {name.partition("::")[0] for name in files} == set(DEPTH)
    assert "storage::weights" in imports_of("model::linear", files)
    assert "scaling" in imports_of("learner", files)


@pytest.mark.parametrize("module", files_of("core"))
def test_a_module_of_the_core_imports_only_what_lies_below_it(module: str) -> None:
    files = files_of("core")
    own = module.partition("::")[0]
    for imported in imports_of(module, files):
        part = imported.partition("::")[0]
        assert part == own or DEPTH[own] < DEPTH[part], f"{module} may not import {imported}"


@pytest.mark.parametrize("crate", CRATES)
def test_no_circle_of_modules_import_each_other(crate: str) -> None:
    files = files_of(crate)
    graph = {module: imports_of(module, files) for module in files}
    try:
        tuple(graphlib.TopologicalSorter(graph).static_order())
    except graphlib.CycleError as error:
        pytest.fail(f"rust/{crate}: {' imports '.join(reversed(error.args[1]))}")


@pytest.mark.parametrize("crate", CRATES)
def test_imports_are_written_from_the_root(crate: str) -> None:
    for module, path in files_of(crate).items():
        found = re.search(r"(?<!pub\()(?<!in )\b(super|self)::", code_of(path))
        assert not found, f"{module}: import by crate::..., not by {found and found[0]}"


def test_the_pages_draw_the_same_layers() -> None:
    for page in ("ARCHITECTURE.md", "rust/core/src/lib.rs"):
        assert LAYERS in (PROJECT / page).read_text(encoding="utf-8"), page
