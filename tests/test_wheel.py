"""What users get: the wheel and the source package, built from this tree, have all of the library and it works."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pytest
import scipy

from tests.support.command_line import environment
from tools.release_check import examples
from tools.waiting import SECONDS

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
NO_SOURCE = {"__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache"}


def ran(*command: str | Path, cwd: Path = ROOT, **variables: str) -> str:
    """What a command prints; it has to succeed."""
    done = subprocess.run(
        command, cwd=cwd, env=environment(**variables), capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def installed_into(folder: Path, *what: str | Path) -> Path:
    """A folder with these installed into it, by whichever installer made this environment."""
    if find_spec("pip") is not None:
        installer = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check"]
    else:
        installer = [shutil.which("uv") or "uv", "pip", "install", "--python", sys.executable]
    ran(*installer, "--quiet", "--target", str(folder), *what)
    return folder


def build(tree: Path, out: Path, *targets: str) -> None:
    """Build packages of a tree; nothing is fetched where hatchling is installed, as it is by the extra dev."""
    beside = []
    if find_spec("hatchling") is None:
        tools = out.parent / "hatchling"
        beside = [str(tools if tools.is_dir() else installed_into(tools, "hatchling"))]
    inherited = [path for path in [os.environ.get("PYTHONPATH")] if path]
    chosen = [word for target in targets for word in ("--target", target)]
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(out), *chosen]
    ran(*command, cwd=tree, PYTHONPATH=os.pathsep.join([*beside, *inherited]))


@cache
def files_of_the_library() -> set[str]:
    """All of them, code or not, by their paths inside a wheel."""
    paths = (path.relative_to(SOURCE) for path in (SOURCE / "linkedbandits").rglob("*") if path.is_file())
    return {path.as_posix() for path in paths if not NO_SOURCE & set(path.parts)}


def names_in(wheel: Path) -> set[str]:
    with ZipFile(wheel) as inside:
        return set(inside.namelist())


def check_that_the_wheel_has_every_file_of_the_library_and_no_other(wheel: Path) -> None:
    assert {Path(name).suffix for name in files_of_the_library()} >= {".py", ".cu", ".cuh", ".css", ".js", ".typed"}
    found = names_in(wheel)
    about_it = {name for name in found if name.partition("/")[0].endswith(".dist-info")}
    assert found - about_it == files_of_the_library()
    assert {Path(name).name for name in about_it} == {"METADATA", "RECORD", "WHEEL", "entry_points.txt", "LICENSE"}


def check_that_the_source_package_has_the_tests_as_well_and_makes_the_same_wheel(
    source: Path, wheel: Path, folder: Path
) -> None:
    with tarfile.open(source) as inside:
        inside.extractall(folder, filter="data")
    (tree,) = folder.iterdir()
    for name in ("tests/test_wheel.py", "Makefile", "docs/install.md", "examples", "tools/release_check.py"):
        assert (tree / name).exists(), name
    build(tree, folder / "dist", "wheel")
    (again,) = (folder / "dist").glob("*.whl")
    assert names_in(again) == names_in(wheel)


def check_that_it_runs_the_examples_of_the_readme_with_numpy_and_scipy_alone(wheel: Path, folder: Path) -> None:
    """Without the folders of installed packages: what can be imported is what is in these two folders."""
    installed = installed_into(folder / "installed", "--no-deps", wheel)
    linked = folder / "linked"
    linked.mkdir()
    for package in (np, scipy):
        home = Path(package.__file__).parent
        for path in (home, home.with_name(f"{home.name}.libs")):
            if path.exists():
                (linked / path.name).symlink_to(path)
    program = examples((ROOT / "README.md").read_text(encoding="utf-8"))
    program += "\nfrom importlib.util import find_spec; print(find_spec('pytest')); print(lb.__file__)"
    path = os.pathsep.join(map(str, (installed, linked)))
    *_, pytest_here, home = ran(sys.executable, "-S", "-P", "-c", program, cwd=folder, PYTHONPATH=path).splitlines()
    assert pytest_here == "None"  # the folders of installed packages are out of sight
    assert Path(home).is_relative_to(installed)


@pytest.mark.slow
def test_the_packages_have_all_of_the_library_and_it_works_where_only_they_are_installed(tmp_path):
    """One test, because the packages take long to build."""
    build(ROOT, tmp_path / "dist", "wheel", "sdist")
    source, wheel = sorted((tmp_path / "dist").iterdir(), key=lambda path: path.suffix)
    check_that_the_wheel_has_every_file_of_the_library_and_no_other(wheel)
    check_that_it_runs_the_examples_of_the_readme_with_numpy_and_scipy_alone(wheel, tmp_path)
    (tmp_path / "unpacked").mkdir()
    check_that_the_source_package_has_the_tests_as_well_and_makes_the_same_wheel(source, wheel, tmp_path / "unpacked")
