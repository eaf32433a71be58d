"""What is kept on disk is of these sources, and of no others."""

import importlib.util
import shutil
from math import inf
from pathlib import Path

import pytest

pytest.importorskip("numba")

import linkedbandits.lidar
from linkedbandits.lidar.engines.compiled import compiling


@pytest.fixture
def sources(tmp_path, monkeypatch):
    """A copy of all that machine code may be made from."""
    copy = tmp_path / "lidar"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(linkedbandits.lidar.__file__).parent, copy, ignore=ignored)
    monkeypatch.setattr(compiling, "_HERE", copy / "engines" / "compiled")
    return copy


def test_a_copy_of_the_sources_has_their_fingerprint(sources):
    assert compiling._fingerprint() == compiling.FINGERPRINT


@pytest.mark.parametrize("name", ["engines/compiled/arithmetic.py", "certificate.py", "engines/counter.py"])
def test_another_source_has_another_fingerprint(sources, name):
    path = sources / name
    path.write_text(path.read_text() + "\n# more\n")
    assert compiling._fingerprint() != compiling.FINGERPRINT


def test_what_machine_code_is_not_made_from_does_not_matter(sources):
    path = sources / "engines" / "gpu" / "engine.py"
    path.write_text(path.read_text() + "\n# more\n")
    assert compiling._fingerprint() == compiling.FINGERPRINT


def test_an_entry_is_ready_when_it_was_made_and_on_disk_as_long_as_sources_are_the_same(tmp_path, monkeypatch):
    path = tmp_path / "reciprocals.py"
    path.write_text("def reciprocal(x):\n    return 1.0 / x\n")
    found = importlib.util.spec_from_file_location("reciprocals", path)
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    made = compiling.entry(module.reciprocal)
    assert not compiling.is_ready(made)
    assert made(0.0) == inf  # not an error, as in NumPy
    assert compiling.is_ready(compiling.entry(module.reciprocal))
    monkeypatch.setattr(compiling, "FINGERPRINT", "of other sources")
    assert not compiling.is_ready(compiling.entry(module.reciprocal))
    shutil.rmtree(tmp_path / "__pycache__")
    assert compiling.is_ready(made)  # in this process
