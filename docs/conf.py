"""Sphinx's settings: `make docs` builds the site from these pages and the docstrings."""

import re
from importlib.metadata import version as version_of
from typing import Any

import headwater.adapters.mlflow  # noqa: F401 - before PySpark is mocked, which MLflow looks at

project = "Headwater"
author = "The Headwater authors"
project_copyright = f"2026, {author}"
release = version = version_of("headwater")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
]
html_theme = "furo"
html_title = "Headwater"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
smartquotes = False  # --option stays as it is typed
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b6e99", "color-brand-content": "#0b6e99"},
    "dark_css_variables": {"color-brand-primary": "#62c4e8", "color-brand-content": "#62c4e8"},
}
autodoc_mock_imports = ["pyspark"]  # half a gigabyte
exclude_patterns = ["_build"]
templates_path: list[str] = []

myst_enable_extensions = ["colon_fence", "html_image"]
myst_heading_anchors = 4
# `labels` is a field of several classes; which one is meant does not matter for a link.
suppress_warnings = ["misc.highlighting_failure", "ref.python"]
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
pygments_style = "friendly"
pygments_dark_style = "github-dark"

default_role = "code"  # `x` in a docstring is code, as it is in Markdown
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented_params"
autodoc_member_order = "bysource"
autodoc_class_signature = "mixed"
autodoc_default_options = {"members": True, "inherited-members": "object"}
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True

CODE = re.compile(r"(`+[^`]*`+)")


def as_rst(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """A docstring's Markdown as reStructuredText: signs of formulas are signs, fences are code."""
    fenced = example = False
    if what in ("property", "attribute") and lines:
        lines[0] = lines[0].replace(": ", " – ")  # Napoleon takes what stands before it for a type
    for i, line in enumerate(lines):
        if line.startswith("```"):
            fenced = not fenced
            lines[i] = "\n::\n" if fenced else ""
        elif fenced:
            lines[i] = "    " + line
        elif line.lstrip().startswith(">>>") or (example and line.strip()):
            example = True  # what it prints stands as it is, up to the next empty line
        else:
            example = False
            parts = CODE.split(line)
            for at in range(0, len(parts), 2):
                parts[at] = parts[at].replace("|", r"\|").replace(" *= ", r" \*= ")
                parts[at] = re.sub(r"(?<=\w)_(?=\W|$)", r"\\_", parts[at])
            lines[i] = "".join(parts)
    lines[:] = "\n".join(lines).split("\n")


PAGE = re.compile(r"`docs/([a-z/-]+)\.md`")


def as_links(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """The pages that a docstring names as files, as links."""
    lines[:] = [PAGE.sub(r":doc:`/\1`", line) for line in lines]


def without_last_empty_line(app: Any, name: str, source: list[str]) -> None:
    """A page's examples without the empty line that ends them where they are run as tests."""
    kept: list[str] = []
    inside = False
    for line in source[0].split("\n"):
        if line.startswith("```"):
            if inside and kept and not kept[-1]:
                kept.pop()
            inside = not inside
        kept.append(line)
    source[0] = "\n".join(kept)


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("autodoc-process-docstring", as_links, priority=390)
    app.connect("source-read", without_last_empty_line)
    app.connect("autodoc-process-docstring", as_rst, priority=400)
