"""Processes that see only some of the packages that are installed, as if the others were not."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution, packages_distributions
from pathlib import Path

import pytest

from tools.waiting import SECONDS

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

# The finder of files is asked by Python for what has not been imported yet; it does not find what is hidden. The name
# of a package of which only a part is installed is found, as it would be.
HIDE = """
import json, sys
from importlib.machinery import PathFinder
hidden = set(json.loads(sys.argv.pop(1)))
class Some(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in hidden else PathFinder.find_spec(name, path, target)
sys.meta_path[sys.meta_path.index(PathFinder)] = Some
assert not hidden & set(sys.modules), hidden & set(sys.modules)
"""


def canonical(name: str) -> str:
    """The name of a project as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def closure(requirements: Iterable[str]) -> set[str]:
    """The projects that installing these brings here. PackageNotFoundError if one of them is not installed."""
    from packaging.requirements import Requirement

    found: set[str] = set()
    seen: set[tuple[str, str]] = set()
    waiting = [(Requirement(text), "") for text in requirements]
    while waiting:
        requirement, asked_by = waiting.pop()
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": asked_by}):
            continue
        name = canonical(requirement.name)
        own = name == "linkedbandits"
        for extra in ("", *requirement.extras):
            if (name, extra) in seen:
                continue
            seen.add((name, extra))
            if own:
                needed = PROJECT["optional-dependencies"][extra] if extra else PROJECT["dependencies"]
            else:
                found.add(name)
                needed = distribution(name).requires or []
            waiting += [(Requirement(text), extra) for text in needed]
    return found


@cache
def _projects_of_modules() -> dict[str, set[str]]:
    return {
        module: {canonical(project) for project in projects} for module, projects in packages_distributions().items()
    }


def hidden_without(projects: set[str]) -> list[str]:
    """The modules, outermost names, that only other projects than these have."""
    found = {module for module, owners in _projects_of_modules().items() if not owners & projects}
    return sorted(found - {"linkedbandits", "_distutils_hack"} - sys.stdlib_module_names)


def python_that_sees(projects: set[str], statements: str) -> subprocess.CompletedProcess[str]:
    """Run statements where no third-party package can be imported but those of these projects."""
    asked = [sys.executable, "-c", HIDE + statements, json.dumps(hidden_without(projects))]
    return subprocess.run(asked, capture_output=True, text=True, timeout=SECONDS, check=False)


def closure_or_skip(requirements: Iterable[str]) -> set[str]:
    """As :func:`closure`; a project that is not installed here is a reason to skip."""
    try:
        return closure(requirements)
    except PackageNotFoundError as error:
        pytest.skip(f"{error.name} is not installed")
