"""What ``import linkedbandits`` brings: every public name, and nothing heavy until it is used."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import linkedbandits as lb
from tools.waiting import SECONDS


def in_a_new_process(statements: str) -> str:
    asked = [sys.executable, "-c", statements]
    return subprocess.run(asked, capture_output=True, text=True, timeout=SECONDS, check=True).stdout


@pytest.mark.parametrize("name", lb.__all__)
def test_every_public_name_is_there(name):
    assert getattr(lb, name) is not None
    assert name in dir(lb)


def test_every_name_of_the_stub_is_what_its_module_has():
    stub = Path(lb.__file__).with_name("__init__.pyi").read_text(encoding="utf-8")
    listed = [(node.module, name) for node in ast.parse(stub).body[1:] for name in node.names]
    assert sorted(name.asname for _, name in listed) == lb.__all__
    assert all(getattr(lb, name.name) is getattr(import_module(module), name.name) for module, name in listed)


def test_a_name_that_is_not_there_says_so():
    with pytest.raises(AttributeError, match="linkedbandits has no 'LinkedMagic'; dir"):
        _ = lb.LinkedMagic


def test_modules_are_there_without_an_import_of_their_own():
    assert (
        in_a_new_process("import linkedbandits as lb; print(lb.simulation.simulate_lanes.__name__)")
        == "simulate_lanes\n"
    )


def test_a_command_listens_to_ctrl_c_before_anything_large_is_read():
    """What is read before that can be interrupted only with a traceback."""
    before = "import sys, linkedbandits.__main__; print(sorted({'numpy', 'scipy', 'typer', 'rich'} & set(sys.modules)))"
    assert in_a_new_process(before) == "[]\n"


def test_an_experiment_reads_neither_the_policies_it_does_not_play_nor_what_reads_logs_from_files():
    used = "import sys, linkedbandits as lb; lb.simulate; lb.Experiment(['a', 'b']); "
    unused = "{'linkedbandits.policies.lil_ucb', 'linkedbandits.attempts.reading', 'linkedbandits.attempts.report'}"
    assert in_a_new_process(f"{used}print(sorted({unused} & set(sys.modules)))") == "[]\n"


@pytest.mark.parametrize("package", ["attempts", "policies"])
def test_a_name_that_a_package_does_not_have_is_no_attribute_of_it(package):
    with pytest.raises(AttributeError, match=f"'linkedbandits.{package}' has no attribute 'magic'"):
        _ = import_module(f"linkedbandits.{package}").magic


def test_modules_of_policies_are_there_without_an_import_of_their_own():
    asked = "import linkedbandits.policies as policies; print(policies.linked_halving.LinkedHalving.name)"
    assert in_a_new_process(asked) == "linked-halving\n"


def test_what_draws_and_tabulates_is_read_when_it_is_used():
    """Results can be drawn and become frames; who wants neither does not wait for the libraries that do it."""
    used = "import sys, linkedbandits as lb; from linkedbandits import lidar; exp = lb.Experiment('ab'); repr(exp); "
    used += "exp._repr_html_(); repr(lb.simulate([0.1, 0.9], lb.LinkedHalving(9), trials=5)); "
    found = "print(sorted({'matplotlib', 'polars', 'pandas'} & set(sys.modules)))"
    assert in_a_new_process(used + found) == "[]\n"
