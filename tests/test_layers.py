"""What may depend on what, in Python and in Rust (ARCHITECTURE.md)."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import headwater

LAYERS = (
    "cli > demo > service|studies > connectors|adapters|client > live > evaluation|testing"
    " > session|datasets > streams|labels|catalogue > learners > register > inputs|rules"
    " > parameters > types > display|errors > _core"
)
"""From the outside in; parts that do not exist yet have their place already."""
DEPTH = {
    part: depth for depth, layer in enumerate(LAYERS.split(" > ")) for part in layer.split("|")
}
OUTER = {
    *("cli", "demo", "service", "studies", "connectors", "adapters", "client", "datasets"),
    "live",
}
"""Where libraries that are optional extras may be imported."""
LOANS = {
    "display": {"matplotlib"},
    "evaluation": {"scipy", "matplotlib"},
    "inputs": {"pyarrow"},
    "register": {"matplotlib"},
    "types": {"matplotlib", "pandas"},
}
"""What else a part may import once it is called (figures are matplotlib's, a paired test SciPy's,
Parquet pyarrow's, a frame of features pandas'), or for the types alone."""
EXTRAS = {
    *("matplotlib", "scipy", "sklearn", "river", "pandas", "pyarrow", "polars"),
    *("skactiveml", "mlflow", "pyspark", "pooch", "joblib", "sqlalchemy", "alembic", "psycopg"),
    *("confluent_kafka", "paho"),
    *("starlette", "msgspec", "uvicorn", "jinja2", "prometheus_client", "httpx2"),
}

PACKAGE = Path(headwater.__file__).parent
PROJECT = Path(__file__).parent.parent
MODULES = sorted(PACKAGE.rglob("*.py"))


def part_of(path: Path) -> str:
    """The part of the package that a module belongs to: `learners`, `cli`, ..."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def name_of(path: Path) -> str:
    """The name by which a module is imported."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


NAMES = {name_of(path): path for path in MODULES}


def imported_names(path: Path) -> Iterator[str]:
    """Every module or name that a file imports, inside functions too."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}: import by full name, not relatively"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_there_is_something_to_check() -> None:
    assert {part_of(path) for path in MODULES} >= {"learners", "streams", "types", "errors", "cli"}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_downwards(path: Path) -> None:
    importer = part_of(path)
    if importer == "__init__":
        return
    for name in imported_names(path):
        package, _, rest = name.partition(".")
        imported = rest.split(".")[0]
        if package == headwater.__name__ and imported != importer:
            assert DEPTH[importer] < DEPTH[imported], f"{path.name} may not import {name}"


def imported_modules(path: Path) -> set[str]:
    """The modules of this package that a file imports; of `from package import module` the latter.

    The packages around a module, which Python imports first, are not counted.
    """
    found = set()
    for name in imported_names(path):
        while name and name not in NAMES:
            name = name.rpartition(".")[0]
        if name and name != headwater.__name__:
            found.add(name)
    return found - {name_of(path)}


def circle_through(start: str) -> list[str]:
    """A way along imports from a module back to itself; empty if there is none."""
    came_from, waiting = dict[str, str](), [start]
    while waiting:
        module = waiting.pop()
        for imported in imported_modules(NAMES[module]):
            if imported == start:
                way = [start, module]
                while way[-1] != start:
                    way.append(came_from[way[-1]])
                return way[::-1]
            if imported not in came_from:
                came_from[imported] = module
                waiting.append(imported)
    return []


@pytest.mark.parametrize("name", NAMES)
def test_no_imports_go_in_a_circle(name: str) -> None:
    """Not within a part of the package either."""
    assert not circle_through(name)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_every_part_has_its_place(path: Path) -> None:
    assert part_of(path) in {*DEPTH, "__init__"}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_optional_libraries_stay_in_the_outer_layers(path: Path) -> None:
    if part_of(path) not in OUTER:
        used = {name.partition(".")[0] for name in imported_names(path)}
        assert not used & EXTRAS - LOANS.get(part_of(path), set()), (
            f"{path.name} may not import them"
        )


def test_a_library_on_loan_is_imported_only_when_it_is_needed() -> None:
    program = f"import sys, headwater; sys.exit(any(name in sys.modules for name in {EXTRAS!r}))"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_running_a_file_loads_no_studies_no_demo_and_no_library_of_theirs() -> None:
    program = "import sys, headwater.cli.run; print(*sys.modules)"
    said = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    loaded = set(said.stdout.split())
    assert "headwater.catalogue" in loaded
    for part in ("studies", "demo", "adapters", "evaluation", "streams", "datasets"):
        assert f"headwater.{part}" not in loaded
    assert not loaded & {"matplotlib", "scipy", "pandas", "joblib"}


def test_the_architecture_page_draws_the_same_layers() -> None:
    assert LAYERS in (PROJECT / "ARCHITECTURE.md").read_text()


# Rust


def test_the_core_knows_nothing_of_python() -> None:
    manifest = tomllib.loads((PROJECT / "rust/core/Cargo.toml").read_text())
    tables = [manifest.get(f"{kind}dependencies", {}) for kind in ("", "dev-", "build-")]
    assert tables[0], "the manifest lists what the core depends on"
    lock = tomllib.loads((PROJECT / "Cargo.lock").read_text())
    needs = {p["name"]: [d.split()[0] for d in p.get("dependencies", [])] for p in lock["package"]}
    reached, waiting = set[str](), [name for table in tables for name in table]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += needs[name]
    assert not {name for name in reached if name.startswith(("pyo3", "numpy", "python"))}


def test_the_core_forbids_unsafe_code() -> None:
    assert "#![forbid(unsafe_code)]" in (PROJECT / "rust/core/src/lib.rs").read_text()


def test_the_core_has_no_clock_no_global_randomness_and_opens_no_files() -> None:
    outside = re.compile(
        r"std::(time|fs|net|env|process|thread)\b|SystemTime|Instant|thread_rng|getrandom"
    )
    for path in sorted((PROJECT / "rust/core/src").rglob("*.rs")):
        found = outside.search(path.read_text())
        assert path.parent.name == "readers" or not found, f"{path.name}: {found}"
