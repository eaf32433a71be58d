"""How the documents become a site: ``make docs``, which treats every warning as an error."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

HERE = Path(__file__).parent
ROOT = HERE.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
REPOSITORY = PROJECT["urls"]["Source"]

project = "linkedbandits"
author = "The linkedbandits maintainers"
copyright = f"2026, {author}"  # noqa: A001 - Sphinx asks for this name
release = re.search(r'"(.+)"', (ROOT / "src/linkedbandits/version.py").read_text(encoding="utf-8")).group(1)
version = release

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "sphinx_design",
]
exclude_patterns = ["_build"]
nitpicky = False
keep_warnings = True

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
# A console block shows commands and what they print; what is copied are the commands.
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
autodoc_mock_imports = ["litellm", "opentelemetry"]  # large, and nothing is shown of them
python_maximum_signature_line_length = 60
add_module_names = False
python_use_unqualified_type_names = True

html_theme = "furo"
html_title = "linkedbandits"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_domain_indices = False
html_baseurl = os.environ.get("LINKEDBANDITS_DOCS_URL", PROJECT["urls"]["Documentation"])
html_theme_options = {
    "source_repository": REPOSITORY,
    "source_branch": "main",
    "source_directory": "docs/",
    "light_css_variables": {"color-brand-primary": "#005a8f", "color-brand-content": "#005a8f"},
    "dark_css_variables": {"color-brand-primary": "#6cb8e6", "color-brand-content": "#6cb8e6"},
}

UPWARDS = re.compile(r"\]\(((?:\.\./)+[^)#\s]+)(#[^)\s]*)?\)")
"""A link that leaves the folder of its document."""
PAGES = {
    "README.md": "index.md",
    "README.md#install": "install.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
}
"""Files outside this folder that have a page of the site."""


def link_to_the_repository(app: Sphinx, document: str, source: list[str]) -> None:
    """Lead links that leave the documents, to an example or a module, to the repository; each has to be there."""
    folder = (HERE / document).parent

    def address(found: re.Match[str]) -> str:
        path, anchor = (folder / found.group(1)).resolve(), found.group(2) or ""
        if path.is_relative_to(HERE):
            return found.group()
        if not path.exists():
            raise ExtensionError(f"{document} links to {path}, which is not there")
        name = path.relative_to(ROOT).as_posix()
        kind = "tree" if path.is_dir() else "blob"
        if name + anchor in PAGES:
            return f"]({PAGES[name + anchor]})"
        return f"]({PAGES.get(name) or f'{REPOSITORY}/{kind}/main/{name}'}{anchor})"

    source[0] = UPWARDS.sub(address, source[0])


ARRAYS = {"float64": "FloatArray", "int64": "IntArray", "bool": "BoolArray", "uint64": "SeedArray"}
"""What the library calls arrays of these."""


def shortened(
    app: Sphinx, what: str, name: str, thing: object, options: object, arguments: str | None, returns: str | None
):
    """A signature for people: arrays have their short names, and functions that are defaults theirs."""

    def short(text: str | None) -> str | None:
        if text is None:
            return None
        for kind, called in ARRAYS.items():
            text = re.sub(
                rf"~?numpy\.ndarray\[tuple\[~?typing\.Any, \.\.\.\], ~?numpy\.dtype\[~?numpy\.{kind}\]\]", called, text
            )
        text = re.sub(r"<function ([\w.]+)(?: at 0x\w+)?>", r"\1", text)
        return re.sub(r"<(?:class '[\w.]*?(\w+)'|factory)>", lambda found: found.group(1) or "...", text)

    return short(arguments), short(returns)


def setup(app: Sphinx) -> None:
    """Sphinx calls this."""
    app.connect("autodoc-process-signature", shortened)
    app.connect("source-read", link_to_the_repository)
