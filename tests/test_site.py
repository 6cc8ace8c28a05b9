"""`make docs` fails on a broken link and on a page that nothing links to."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

PROJECT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def check_site() -> ModuleType:
    spec = importlib.util.spec_from_file_location("check_site", PROJECT / "tools/check_site.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PAGES = {
    "index.html": '<a href="a/one.html#top">one</a><a href="https://elsewhere.example/">x</a>',
    "a/one.html": '<h1 id="top">One</h1><a href="../index.html">home</a><img src="one.png">',
    "a/one.png": "",
}


def write(folder: Path, pages: dict[str, str]) -> Path:
    for name, text in pages.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return folder.resolve()


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({}, None),
        ({"a/one.html": '<h1 id="top">'}, None),
        ({"a/one.html": "<h1>"}, "index.html: a/one.html#top names a place"),
        ({"index.html": '<a href="a/one.html">one</a><a href="b.html">'}, "b.html leads nowhere"),
        ({"a/two.html": '<a href="one.html">'}, "a/two.html: no page links to it"),
    ],
)
def test_faults_of_a_site_are_found(
    check_site: ModuleType, tmp_path: Path, changed: dict[str, str], fault: str | None
) -> None:
    _, faults = check_site.check(write(tmp_path, PAGES | changed))
    assert len(faults) == (fault is not None)
    assert fault is None or fault in faults[0]


def test_a_folder_without_a_site_is_said_to_have_none(
    check_site: ModuleType, tmp_path: Path
) -> None:
    assert check_site.main(str(tmp_path)) == 1
