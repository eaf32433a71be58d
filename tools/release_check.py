"""``python -m tools.release_check [--release]``: is the library ready to be released?

``docs/releasing.md`` has the list. Version, changelog and citation have to agree. The packages are built as they would
be uploaded, and the wheel is installed into an empty environment, where the examples of the README have to run. The
site is built last.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from email.parser import Parser
from pathlib import Path
from zipfile import ZipFile

ROOT = Path(__file__).parents[1]
WITH_PLACEHOLDERS = ("pyproject.toml", "CITATION.cff", "README.md", "SECURITY.md", "docs/citing.md")
"""Files in which OWNER stands for the owner of the repository."""
VERSIONS = {
    "src/linkedbandits/version.py": r'^__version__ = "(.+)"$',
    "CHANGELOG.md": r"^## ([\w.]+),",
    "CITATION.cff": r"^version: (.+)$",
    "README.md": r"^  version = \{(.+)\},$",
    "docs/citing.md": r"^  version = \{(.+)\},$",
}
"""Where the version is said, and how. The first place is what the others are held against."""
TIMEOUT = 1200.0
"""Seconds: no step takes a tenth of this on a machine that works."""
LINK = re.compile(r"\]\(([^)\s]+)\)")


def versions(root: Path) -> dict[str, str | None]:
    """The version that each of the files names first, or None."""
    found = {name: re.search(said, (root / name).read_text(encoding="utf-8"), re.M) for name, said in VERSIONS.items()}
    return {name: match.group(1) if match else None for name, match in found.items()}


def disagreements(root: Path) -> list[str]:
    """Where another version is named than in the library."""
    home, *others = said = versions(root)
    return [f"{name} has {said[name]}, and {home} {said[home]}" for name in others if said[name] != said[home]]


def unfinished(root: Path) -> list[str]:
    """What stands in the way of a release, though not of working on: no date, and names that were not filled in."""
    heading = re.search(r"^## (.+)$", (root / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    dated = heading is not None and re.fullmatch(r"[\w.]+, \d{4}-\d\d-\d\d", heading.group(1))
    found = [] if dated else ["the first heading of CHANGELOG.md has no date"]
    with_owner = (name for name in WITH_PLACEHOLDERS if "OWNER" in (root / name).read_text(encoding="utf-8"))
    return found + [f"{name} has OWNER in it: docs/releasing.md" for name in with_owner]


def readme_of(wheel: Path) -> str:
    """The README as an index will get it."""
    with ZipFile(wheel) as inside:
        (name,) = (name for name in inside.namelist() if name.endswith(".dist-info/METADATA"))
        return str(Parser().parsestr(inside.read(name).decode("utf-8")).get_payload())


def relative_links(text: str) -> list[str]:
    """Links that would lead nowhere on an index."""
    return [target for target in LINK.findall(text) if not target.startswith(("https://", "http://", "#", "mailto:"))]


def examples(text: str) -> str:
    """The Python examples of the README as one program, with coins that are fixed."""
    return "\n".join(["import random; random.seed(1)", *re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)])


def _run(*command: str | Path, cwd: Path = ROOT) -> None:
    subprocess.run(command, check=True, cwd=cwd, timeout=TIMEOUT)


def _step(words: str) -> None:
    print(f"== {words}", flush=True)


def main() -> int:
    """Run all checks; the status is that of a command."""
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m tools.release_check")
    parser.add_argument("--release", action="store_true", help="insist on a date, and that no placeholder is left")
    asked = parser.parse_args()

    _step("version, changelog and citation")
    wrong = disagreements(ROOT) + (unfinished(ROOT) if asked.release else [])
    if wrong:
        print("\n".join(wrong))
        return 1

    _step("source package and wheel")
    dist = ROOT / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    _run(sys.executable, "-m", "build", "--outdir", dist)
    packages = sorted(dist.iterdir())
    _run(sys.executable, "-m", "twine", "check", "--strict", *packages)
    (wheel,) = (package for package in packages if package.suffix == ".whl")
    nowhere = relative_links(readme_of(wheel))
    if nowhere:
        print("links that lead nowhere on an index:", *nowhere)
        return 1

    _step("the examples of the README, with the wheel in an empty environment")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        venv.create(folder / "venv", with_pip=True)
        python = folder / "venv" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
        _run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel)
        _run(python, "-c", examples((ROOT / "README.md").read_text(encoding="utf-8")), cwd=folder)

    _step("the site")
    _run(sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-E", "-b", "html", "docs", "docs/_build/html")
    print("All checks passed; the packages are in dist.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
