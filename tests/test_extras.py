"""Extras are asked for by name, and what they do to the signals of a command is undone."""

from __future__ import annotations

import sys
from importlib import import_module

import pytest

import linkedbandits as lb
from linkedbandits import extras
from linkedbandits.extras import need_polars
from tests.support.visible_packages import PROJECT, closure, closure_or_skip, python_that_sees


def test_without_polars_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(lb.MissingExtra, match=r"reading a log needs polars; .* pip install 'linkedbandits\[study\]'"):
        need_polars("reading a log")


def test_signals_are_taken_back_from_polars_when_it_is_first_imported_and_not_later(monkeypatch, tmp_path):
    import_module("polars")
    taken = []
    monkeypatch.setattr(extras, "take_back_signals", lambda: taken.append(1))
    need_polars("this")
    assert taken == []  # it is there already
    (tmp_path / "polars.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "polars")
    need_polars("this")
    assert taken == [1]


IMPORT_ALL_OF = """
from importlib import import_module
from pathlib import Path
def all_of(*packages):
    for package in packages:
        (folder,) = import_module(package).__path__
        for path in Path(folder).rglob("*.py"):  # pkgutil does not look into folders without an __init__
            if path.stem not in ("__init__", "__main__"):
                import_module(".".join([package, *path.relative_to(folder).with_suffix("").parts]))
"""
DRAW = "import linkedbandits as lb; lb.simulate([0.1, 0.9], lb.LinkedHalving(9), trials=5).plot()"
A_LOG = "import linkedbandits as lb; lb.read_attempts('log.csv')"
DASK = "import linkedbandits.study.engines.dask as dask; dask._import_distributed()"
SERVE = (
    "from linkedbandits.cli.service_options import service_extra\nwith service_extra(): all_of('linkedbandits.service')"
)
FILES = "from linkedbandits.lidar.photon_files import need\nfor name in {}: need(name, 'this')".format(
    ("h5py", "ptufile", "tifffile")
)
USES = {
    "cli": (
        "all_of('linkedbandits.cli')",
        "from linkedbandits.__main__ import main; sys.argv = ['linkedbandits', 'policies']; main()",
    ),
    "plot": ("all_of('linkedbandits.figures')", DRAW),
    "study": (f"all_of('linkedbandits.study', 'linkedbandits.attempts', 'linkedbandits.cli'); {DRAW}", A_LOG),
    "cluster": ("all_of('linkedbandits.study')", DASK),
    "client": ("import linkedbandits.service.async_client", "import linkedbandits.service.client"),
    "httpx": ("", "import linkedbandits.adapters.httpx"),
    "litellm": ("", "from linkedbandits.adapters.litellm import need_litellm; need_litellm()"),
    "opentelemetry": ("", "import linkedbandits.adapters.opentelemetry"),
    "compiled": ("", "from linkedbandits.extras import need_numba; need_numba()"),
    "service": ("all_of('linkedbandits.cli')", SERVE),
    "lidar": (f"from linkedbandits.lidar.scene import motorcycle; motorcycle(); {DRAW}", FILES),
    "gpu": ("", "from linkedbandits.lidar.engines.gpu.device import import_cupy; import_cupy()"),
    "gpu-cuda12": ("", "from linkedbandits.lidar.engines.gpu.device import import_cupy; import_cupy()"),
}
"""What works with an extra alone, and, in the second place, what says its name where it is missing."""
ON_A_CARD = {"gpu", "gpu-cuda12"}
"""Their packages are of no use without a card, and hundreds of megabytes, so nobody who tests is made to have them."""
FOR_NO_MODULE = {"docs", "release", "dev", "bench"}


def test_every_extra_that_modules_need_is_tried():
    assert USES.keys() | FOR_NO_MODULE == PROJECT["optional-dependencies"].keys()


def test_the_library_alone_needs_numpy_and_scipy_and_nothing_else():
    alone = closure(["linkedbandits"])
    assert alone == {"numpy", "scipy"}
    used = "import linkedbandits as lb; [getattr(lb, name) for name in lb.__all__ if 'Client' not in name]"
    done = python_that_sees(alone, used)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("extra", [extra for extra in USES if extra not in ON_A_CARD])
def test_an_extra_alone_brings_all_that_its_modules_import(extra, tmp_path, monkeypatch):
    visible = closure_or_skip([f"linkedbandits[{extra}]"])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log.csv").write_text("request,option,worked\n1,a,0\n1,b,1\n2,a,1\n")
    done = python_that_sees(visible, IMPORT_ALL_OF + "\n".join(USES[extra]))
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("extra", USES)
def test_without_an_extra_the_error_names_it(extra, tmp_path, monkeypatch):
    """What it takes over from other extras is there, so that it is its own packages that are missing."""
    of_others = [text for text in PROJECT["optional-dependencies"][extra] if text.startswith("linkedbandits[")]
    visible = closure_or_skip(["linkedbandits", *of_others])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log.csv").write_text("request,option,worked\n1,a,0\n1,b,1\n2,a,1\n")
    done = python_that_sees(visible, IMPORT_ALL_OF + USES[extra][1])
    assert done.returncode == 1
    assert f"pip install 'linkedbandits[{extra}]'" in done.stderr or f"or 'linkedbandits[{extra}]'" in done.stderr
