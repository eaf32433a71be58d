"""The command line as a whole: which commands there are, and that one does not wait for the others."""

from __future__ import annotations

import subprocess
import sys

import pytest
import typer

from linkedbandits.cli import COMMANDS, application
from tests.support.command_line import run, run_in_its_own_process
from tools.waiting import SECONDS


def names(app: typer.Typer) -> list[str]:
    return list(typer.main.get_command(app).commands)


@pytest.mark.parametrize("asked", COMMANDS)
def test_who_asks_for_a_command_is_given_that_one(asked):
    assert names(application(asked)) == [asked]


@pytest.mark.parametrize("asked", [None, "--help", "stimulate"])
def test_who_asks_for_none_is_given_all(asked):
    assert set(names(application(asked))) == set(COMMANDS)


def test_a_command_that_does_not_exist_is_told_the_nearest():
    result = run("stimulate")
    assert result.returncode == 2
    assert "Did you mean 'simulate'?" in result.stderr


def test_a_command_does_not_load_what_it_does_not_use():
    """What loads scipy, drawing or the service takes longer to begin than all the rest together."""
    begin = "import sys; from linkedbandits.cli import application; application('simulate')"
    heavy = "print([name for name in ('scipy', 'matplotlib', 'polars', 'starlette') if name in sys.modules])"
    loaded = subprocess.run(
        [sys.executable, "-c", f"{begin}; {heavy}"], capture_output=True, text=True, check=True, timeout=SECONDS
    )
    assert loaded.stdout == "[]\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ("compare", "--arms", "3", "--trials", "50", "--seed", "1"),
        ("simulate", "--means", "0.9,0.1", "--trials", "50", "--seed", "1", "--json"),
        ("study", "nowhere.toml"),
    ],
    ids=" ".join,
)
def test_a_process_of_its_own_says_what_is_said_in_this_one(arguments):
    """Most tests of commands begin no process; so what they see has to be what a user sees."""
    alone, here = run_in_its_own_process(*arguments), run(*arguments)
    assert (alone.returncode, alone.stdout, alone.stderr) == (here.returncode, here.stdout, here.stderr)
    assert alone.stdout or alone.stderr
