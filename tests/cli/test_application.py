"""The command line as a whole: its commands, their help and completion, and what each of them loads."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import typer

import linkedbandits as lb
from linkedbandits.cli import COMMANDS, COMPLETES, application
from linkedbandits.policies import POLICIES
from tests.support.command_line import COMMAND, environment, run, run_in_its_own_process
from tools.waiting import SECONDS


def python(code: str, *arguments: str, **given: str) -> subprocess.CompletedProcess[str]:
    asked = [sys.executable, "-c", code, *arguments]
    return subprocess.run(asked, capture_output=True, text=True, timeout=SECONDS, check=False, env=environment(**given))


def names(app: typer.Typer) -> list[str]:
    return list(typer.main.get_command(app).commands)


def test_only_the_command_that_is_asked_for_is_loaded_and_else_all():
    for asked in COMMANDS:
        assert names(application(asked)) == [asked]
    for other in (None, "--help", "stimulate"):
        assert set(names(application(other))) == set(COMMANDS)


def test_a_command_that_does_not_exist_is_told_the_nearest():
    result = run("stimulate")
    assert result.returncode == 2
    assert "Did you mean 'simulate'?" in result.stderr


def test_version():
    assert run("--version").stdout == f"linkedbandits {lb.__version__}\n"


def test_a_command_does_not_load_what_it_does_not_use():
    """Loading scipy, matplotlib or the service takes longer than all the rest together."""
    begin = "import sys; from linkedbandits.cli import application; application('simulate')"
    heavy = "print([name for name in ('scipy', 'matplotlib', 'polars', 'starlette') if name in sys.modules])"
    assert python(f"{begin}; {heavy}").stdout == "[]\n"


def test_the_library_alone_imports_none_of_the_extras():
    extras = {"typer", "rich", "matplotlib", "polars", "numba", "fastapi", "pytest"}
    result = python(f"import sys, linkedbandits; print(sorted({extras!r} & set(sys.modules)))")
    assert (result.stdout, result.stderr) == ("[]\n", "")


def test_without_typer_the_command_line_says_what_to_install():
    result = python(
        "import runpy, sys; sys.modules['typer'] = None; runpy.run_module('linkedbandits', run_name='__main__')"
    )
    assert result.returncode == 1
    assert result.stderr == "the command line needs typer; install it with: pip install 'linkedbandits[cli]'\n"


def test_a_command_whose_part_is_not_installed_says_which_extra_brings_it():
    without = "import sys; sys.modules['linkedbandits.lidar'] = None; from linkedbandits.__main__ import main; main()"
    result = python(without, "lidar", "ramp")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == (
        "linkedbandits: lidar needs linkedbandits.lidar; install it with: pip install 'linkedbandits[lidar]'\n"
    )
    listed = python(without, "--help", COLUMNS="200").stdout
    assert "Not installed; the extra lidar brings it." in listed
    assert "simulate" in listed


def every_command(group: Any, before: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield before, group
    for name, command in getattr(group, "commands", {}).items():
        yield from every_command(command, (*before, name))


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_help_cuts_nothing_however_narrow_the_terminal_is(columns):
    for words, command in every_command(typer.main.get_command(application())):
        shown = run(*words, "-h", COLUMNS=str(columns))
        assert (shown.returncode, "…" in shown.stdout) == (0, False), words
        said = shown.stdout.replace("│", " ").replace(",", " ").replace("/", " ").split()
        for param in command.params:
            if isinstance(param, typer.core.TyperOption) and not param.hidden:
                assert {*param.opts, *param.secondary_opts} <= set(said), (words, param.name)
        assert set(getattr(command, "commands", {})) <= set(said)


def test_a_flag_takes_no_value_in_the_help():
    assert "--json <bool>" not in " ".join(run("compare", "--help", COLUMNS="80").stdout.split())


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [("simulate", "--means", "0.9,0.1", "--trials", "50", "--seed", "1", "--json"), ("study", "nowhere.toml")],
    ids=" ".join,
)
def test_a_process_of_its_own_says_the_same_as_the_runner_of_the_tests(arguments):
    alone, here = run_in_its_own_process(*arguments), run(*arguments)
    assert (alone.returncode, alone.stdout, alone.stderr) == (here.returncode, here.stdout, here.stderr)
    assert alone.stdout or alone.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "goes_on"),
    [
        (("comp",), {"compare", "compact"}),
        (("compare", "--pol"), {"--policy"}),
        (("simulate", "--policy", ""), set(POLICIES)),
        (("compare", "--scenario", "in"), {"increasing"}),
        (("bounds", "--linkage", "s"), {"single", "suffix"}),
        (("study", "--engine", "d"), {"dask"}),
    ],
)
def test_a_shell_is_told_how_words_go_on(words, goes_on):
    given = {"COMP_WORDS": "\n".join(["linkedbandits", *words]), "COMP_CWORD": str(len(words))}
    asked = environment(**given, **{COMPLETES: "complete_bash"})
    result = subprocess.run(COMMAND, capture_output=True, text=True, timeout=SECONDS, check=True, env=asked)
    assert set(result.stdout.split()) == goes_on


@pytest.mark.slow
def test_completion_can_be_installed_and_bash_then_completes(tmp_path):
    """In a home of its own; bash reads what was installed and asks the real command, which is put in its way."""
    command = tmp_path / "bin" / "linkedbandits"
    command.parent.mkdir()
    command.write_text(f"#!/bin/sh\nexec '{sys.executable}' -m linkedbandits \"$@\"\n")
    command.chmod(0o755)
    home = {**environment(), "HOME": str(tmp_path), "PATH": f"{command.parent}:{environment()['PATH']}"}
    asks = "COMP_WORDS=(linkedbandits compare --linkage or); COMP_CWORD=3; _linkedbandits_completion linkedbandits"
    for script, said in (
        ("linkedbandits --install-completion; test $? = 0", "completion installed in"),
        (f'source ~/.bashrc; {asks}; echo "${{COMPREPLY[@]}}"', "ordered\n"),
    ):
        shell = ["bash", "-c", script]
        result = subprocess.run(shell, capture_output=True, text=True, timeout=SECONDS, check=False, env=home)
        assert (result.returncode, said in result.stdout) == (0, True), result.stderr
