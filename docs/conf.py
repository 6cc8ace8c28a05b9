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
pygments_dark_style = "monokai"

default_role = "code"  # `x` in a docstring is code, as it is in Markdown
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented_params"
autodoc_member_order = "bysource"
autodoc_class_signature = "mixed"
autodoc_default_options = {"members": True, "inherited-members": "object", "show-inheritance": True}
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True

CODE = re.compile(r"(`+[^`]*`+)")


def as_rst(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """A docstring's Markdown as reStructuredText: signs of formulas are signs, fences are code."""
    fenced = False
    if what in ("property", "attribute") and lines:
        lines[0] = lines[0].replace(": ", " – ")  # Napoleon takes what stands before it for a type
    for i, line in enumerate(lines):
        if line.startswith("```"):
            fenced = not fenced
            lines[i] = "\n::\n" if fenced else ""
        elif fenced:
            lines[i] = "    " + line
        elif not line.lstrip().startswith((">>>", "...")):
            parts = CODE.split(line)
            for at in range(0, len(parts), 2):
                parts[at] = parts[at].replace("|", r"\|").replace(" *= ", r" \*= ")
                parts[at] = re.sub(r"(?<=\w)_(?=\W|$)", r"\\_", parts[at])
            lines[i] = "".join(parts)
    lines[:] = "\n".join(lines).split("\n")


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("autodoc-process-docstring", as_rst, priority=400)
