"""What a release is held to, where it takes no building."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from zipfile import ZipFile

import pytest

from tools.release_check import (
    ROOT,
    VERSIONS,
    WITH_PLACEHOLDERS,
    disagreements,
    examples,
    readme_of,
    relative_links,
    unfinished,
    versions,
)


@pytest.fixture
def copy(tmp_path):
    """The files that are looked at, to be changed."""
    for name in {*VERSIONS, *WITH_PLACEHOLDERS}:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text((ROOT / name).read_text(encoding="utf-8"), encoding="utf-8")
    return tmp_path


def replace(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_version_changelog_and_citation_agree():
    assert disagreements(ROOT) == []
    assert None not in versions(ROOT).values()


@pytest.mark.parametrize("name", list(VERSIONS)[1:])
def test_another_version_is_noticed(copy, name):
    version = versions(ROOT)["src/linkedbandits/version.py"]
    replace(copy / name, version, "9.8.7")
    assert disagreements(copy) == [f"{name} has 9.8.7, and src/linkedbandits/version.py {version}"]


def test_a_release_has_a_date_and_no_placeholders(copy):
    for name in WITH_PLACEHOLDERS:
        path = copy / name
        path.write_text(path.read_text(encoding="utf-8").replace("OWNER", "someone"), encoding="utf-8")
    changelog = copy / "CHANGELOG.md"
    version = versions(ROOT)["src/linkedbandits/version.py"]
    body = changelog.read_text(encoding="utf-8").split("\n## ", 2)[1].split("\n", 1)[1]
    changelog.write_text(f"# Changelog\n\n## {version}, unreleased\n{body}", encoding="utf-8")
    assert unfinished(copy) == ["the first heading of CHANGELOG.md has no date"]
    replace(changelog, "unreleased", "2026-11-30")
    assert unfinished(copy) == []
    (copy / "CITATION.cff").write_text("url: https://github.com/OWNER/linkedbandits\n", encoding="utf-8")
    assert unfinished(copy) == ["CITATION.cff has OWNER in it: docs/releasing.md"]


def test_the_readme_of_a_wheel_and_its_relative_links(tmp_path):
    with ZipFile(tmp_path / "a.whl", "w") as wheel:
        wheel.writestr("a.dist-info/METADATA", "Name: a\n\n[here](docs/a.md) [there](https://b) [up](#c) ![d](e.png)\n")
    assert relative_links(readme_of(tmp_path / "a.whl")) == ["docs/a.md", "e.png"]


def test_examples_are_one_program():
    program = examples("```python\na = 1\n```\nwords\n```sh\nno\n```\n```python\nb = a\n```\n")
    names: dict[str, object] = {}
    exec(program, names)
    assert names["b"] == 1
    assert "no" not in program


@pytest.fixture
def hatch_build(monkeypatch):
    """The hook of the build, where the builder itself is not installed."""
    for name in ("hatchling", "hatchling.metadata", "hatchling.metadata.plugin", "hatchling.metadata.plugin.interface"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    sys.modules["hatchling.metadata.plugin.interface"].MetadataHookInterface = object
    names: dict[str, object] = {}
    exec((ROOT / "hatch_build.py").read_text(encoding="utf-8"), names)
    return names


def test_the_readme_on_an_index_has_no_relative_links(hatch_build):
    hook = hatch_build["ReadmeHook"]()
    hook.root = str(ROOT)
    metadata = {"urls": {"Source": "https://github.com/OWNER/linkedbandits"}}
    hook.update(metadata)
    text = metadata["readme"]["text"]
    assert relative_links((ROOT / "README.md").read_text(encoding="utf-8"))
    assert relative_links(text) == []
    assert "](https://github.com/OWNER/linkedbandits/raw/main/docs/figures/gallery/what-a-play-shows.png)" in text
    assert "[`make bench SECTION=field`](https://github.com/OWNER/linkedbandits/blob/main/docs/field.md)" in text
    assert "(#install)" in text
