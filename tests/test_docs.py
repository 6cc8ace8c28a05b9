"""What the documentation says is so: its programs run, and nothing public is left out."""

import dataclasses
import doctest
import importlib
import inspect
import re
import sys
import types
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import Any

import pytest

import headwater as hw
from headwater import _core
from headwater.learners.replication import Replication
from headwater.rules.component import Component

PROJECT = Path(__file__).parent.parent
PAGES = [PROJECT / "README.md", *sorted((PROJECT / "docs").rglob("*.md"))]

BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)

MODULE = re.compile(r"# (\w+)\.py\n")


def blocks(page: Path) -> list[tuple[int, str]]:
    """The Python programs of a page, each with the number of its first line."""
    text = page.read_text()
    return [(text[: found.start(1)].count("\n") + 1, found[1]) for found in BLOCK.finditer(text)]


def test_the_readme_shows_a_program() -> None:
    assert blocks(PROJECT / "README.md")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_programs_of_a_page_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if page.name == "spark.md" and (find_spec("pyspark") is None or which("java") is None):
        pytest.skip("PySpark or Java is not here: make test-full installs PySpark")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}
    for line, source in blocks(page):
        if module := MODULE.match(source):  # a file that later programs import
            Path(module[1] + ".py").write_text(source)
            monkeypatch.setitem(sys.modules, module[1], None)  # so that it is forgotten in the end
            del sys.modules[module[1]]
            importlib.import_module(module[1])
        elif source.lstrip().startswith(">>>"):
            run_examples(source, names, f"{page.name}:{line}")
        else:
            code = compile("\n" * (line - 1) + source, str(page), "exec")
            exec(code, names)


def run_examples(text: str, names: dict[str, Any], where: str) -> None:
    """Run the `>>>` lines of a text and compare what they print."""
    examples = doctest.DocTestParser().get_doctest(text, names, where, where, 0)
    assert examples.examples, f"{where} shows no example"
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.FAIL_FAST)
    runner.run(examples, out=report.append, clear_globs=False)
    assert not report, "".join(report)
    names |= examples.globs


# Docstrings of the Rust classes, which doctest does not find by itself


def documented(cls: type) -> Iterator[tuple[str, str]]:
    """The docstrings of a class and of what it defines."""
    if cls.__doc__:
        yield cls.__name__, cls.__doc__
    for name, value in vars(cls).items():
        if isinstance(getattr(value, "__doc__", None), str) and not name.startswith("__"):
            yield f"{cls.__name__}.{name}", value.__doc__


DOCSTRINGS = [*documented(_core.Learner), *documented(_core.Decision)]
EXAMPLES = [(name, text) for name, text in DOCSTRINGS if ">>>" in text]


@pytest.mark.parametrize(("name", "text"), EXAMPLES, ids=[name for name, _ in EXAMPLES])
def test_the_examples_of_the_core_run(name: str, text: str) -> None:
    run_examples(text, {}, name)


VERBS = [
    *("predict_one", "predict_proba_one", "margin_one", "query_one", "decide_one"),
    *("learn_one", "answer", "weights"),
]


def test_every_verb_of_the_core_shows_an_example() -> None:
    shown = {name for name, _ in EXAMPLES}
    assert {f"Learner.{verb}" for verb in VERBS} | {"Decision"} <= shown


def test_every_counter_and_field_of_the_core_says_what_it_is() -> None:
    described = {name for name, _ in DOCSTRINGS}
    fields = {f"Learner.{name}" for name in ("seen", "asked", "learned", "labels")}
    fields |= {f"Decision.{name}" for name in ("prediction", "margin", "query_probability")}
    fields |= {f"Decision.{name}" for name in ("asked", "features", "answered")}
    assert fields <= described


# What is public is explained


def public() -> Iterator[tuple[str, Any]]:
    """Every public class and function, those of the public modules too."""
    for name in hw.__all__:
        value = getattr(hw, name)
        if isinstance(value, types.ModuleType):
            for inner, part in vars(value).items():
                if inspect.isclass(part) and part.__module__.startswith(value.__name__):
                    yield f"{name}.{inner}", part
        elif inspect.isclass(value) or inspect.isfunction(value):
            yield name, value


PUBLIC = dict(public())
CLASSES = {name: value for name, value in PUBLIC.items() if inspect.isclass(value)}
BASES = {
    "scale.Scale",
    "query.Query",
    "sparsify.Sparsify",
    "update.Update",
    "streams.Stream",
}
"""Common bases of components and streams, of which nobody makes one."""
WITH_EXAMPLE = [name for name in PUBLIC if not name.startswith("errors.") and name not in BASES]


@pytest.mark.parametrize("name", PUBLIC)
def test_everything_public_is_described(name: str) -> None:
    assert (PUBLIC[name].__doc__ or "").strip()


@pytest.mark.parametrize("name", WITH_EXAMPLE)
def test_everything_public_shows_an_example(name: str) -> None:
    assert ">>> " in PUBLIC[name].__doc__


@pytest.mark.parametrize("name", CLASSES)
def test_every_public_method_is_described(name: str) -> None:
    for method, value in vars(CLASSES[name]).items():
        if not method.startswith("_") and inspect.isfunction(value):
            assert (value.__doc__ or "").strip(), method


DATA = [name for name, value in PUBLIC.items() if dataclasses.is_dataclass(value)]


@pytest.mark.parametrize("name", DATA)
def test_every_parameter_is_described(name: str) -> None:
    text = inspect.cleandoc(PUBLIC[name].__doc__)
    for field in dataclasses.fields(PUBLIC[name]):
        entry = re.search(rf"^{field.name}\n    \S", text, re.MULTILINE)
        assert entry, f"{name}: {field.name}"


@pytest.mark.parametrize("name", DATA)
def test_no_parameter_is_described_that_does_not_exist(name: str) -> None:
    text = inspect.cleandoc(PUBLIC[name].__doc__)
    section = re.search(r"^(?:Parameters|Attributes)\n-+\n(.*?)(?=^\w+\n---|\Z)", text, re.M | re.S)
    entries = set(re.findall(r"^(\w+)$", section[1], re.MULTILINE)) if section else set()
    assert entries == {field.name for field in dataclasses.fields(PUBLIC[name])}


COMPONENTS = [
    name for name, cls in CLASSES.items() if issubclass(cls, Component) and name not in BASES
]


@pytest.mark.parametrize("name", COMPONENTS)
def test_every_component_and_its_word_stand_in_the_page_of_learners(name: str) -> None:
    text = (PROJECT / "docs/learners/components.md").read_text()
    value = PUBLIC[name]
    assert re.search(rf"`(?:update\.)?{value.__name__}\(", text)
    assert f"`{value.word}`" in text or f'`"{value.word}"`' in text
    for field in dataclasses.fields(value):
        assert field.name in text


def test_every_name_of_an_algorithm_stands_in_the_page_of_learners() -> None:
    text = (PROJECT / "docs/learners/components.md").read_text()
    stems = re.findall(r"(\w+)…", text)  # MPA… stands for MPA, MPA-I, MPA-II
    spelled = {f"{stem}{suffix}" for stem in stems for suffix in ("", "-I", "-II")}
    listed = set(re.findall(r"[\w-]+(?:\(a\))?", text)) | spelled
    assert [name for name in hw.names() if name not in listed] == []


def test_every_switch_stands_in_the_page_of_learners() -> None:
    text = (PROJECT / "docs/learners/components.md").read_text()
    switches = {switch for one in Replication.__subclasses__() for switch in one.switches}
    assert [switch for switch in switches if f"`{switch}=" not in text] == []


def test_every_error_stands_in_the_tree_of_errors() -> None:
    tree = hw.errors.__doc__ or ""
    errors = [value for value in vars(hw.errors).values() if inspect.isclass(value)]
    assert len(errors) == 19
    assert [error.__name__ for error in errors if error.__name__ not in tree] == []


HOME = PROJECT / "docs" / "index.md"


def listed() -> list[Path]:
    """The pages in the table of contents, which the home page holds."""
    trees = re.findall(r"```{toctree}\n(.*?)```", HOME.read_text(), re.DOTALL)
    entries = [line for tree in trees for line in tree.splitlines() if line and line[0] != ":"]
    places = [re.sub(r".*<(.*)>", r"\1", entry) for entry in entries]
    return [HOME.parent / f"{place}.md" for place in places]


def test_every_page_has_one_place_in_the_table_of_contents() -> None:
    assert sorted([HOME, *listed()]) == sorted(PAGES[1:])


def test_every_public_name_stands_in_the_reference() -> None:
    pages = (PROJECT / "docs/reference/api").glob("*.md")
    text = "\n".join(page.read_text() for page in pages) + "\n"
    modules = re.findall(r"automodule:: headwater\.(?:rules\.)?(\w+)\n", text)
    names = [name for name in PUBLIC if name.partition(".")[0] not in modules]
    assert [name for name in names if f":: headwater.{name}\n" not in text] == []


def test_everything_a_learner_can_do_stands_in_the_reference() -> None:
    text = (PROJECT / "docs/reference/api/learners.md").read_text()
    parameters = {"seed", "track"}
    shown = re.findall(r"auto(?:method|property):: headwater\.Learner\.(\w+)\n", text)
    assert sorted(shown) == sorted(
        name
        for name in dir(hw.Learner)
        if name[0] != "_" and name not in parameters and hasattr(hw.Learner, name)
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), target
