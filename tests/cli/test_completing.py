"""Completion: a shell can have its script, and is told how words go on."""

from __future__ import annotations

import subprocess
import sys

import pytest

from linkedbandits.cli import COMPLETES, completing
from linkedbandits.policies import POLICIES
from tests.support.command_line import COMMAND, environment
from tools.waiting import SECONDS


def asked(*words: str, shell: str = "bash") -> list[str]:
    """How the last word goes on, as a shell asks for it."""
    given = {"COMP_WORDS": "\n".join(["linkedbandits", *words]), "COMP_CWORD": str(len(words))}
    if shell != "bash":
        given = {"_TYPER_COMPLETE_ARGS": " ".join(["linkedbandits", *words])}
    result = subprocess.run(
        COMMAND,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=True,
        env=environment(**given, **{COMPLETES: f"complete_{shell}"}),
    )
    return result.stdout.split()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "goes_on"),
    [
        (("comp",), {"compare", "compact"}),
        (("compare", "--pol"), {"--policy"}),
        (("compare", "--policy", "linked-e"), {"linked-elimination", "linked-ege"}),
        (("simulate", "--policy", ""), set(POLICIES)),
        (("compare", "--scenario", "in"), {"increasing"}),
        (("bounds", "--linkage", "s"), {"single", "suffix"}),
        (("verdict", "--attempts", ""), {"first", "duels", "all"}),
        (("study", "--engine", "d"), {"dask"}),
        (("lidar", "--method", "fr"), {"free", "free-running"}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_words_go_on(words, goes_on):
    assert set(asked(*words)) == goes_on


@pytest.mark.slow
def test_another_shell_is_told_the_same():
    assert "linked-ege" in "".join(asked("compare", "--policy", "linked-eg", shell="zsh"))


@pytest.mark.slow
def test_a_shell_gets_its_script():
    """The shell is known by the process that begins the command; more than one command, or it would be replaced."""
    script = f"'{sys.executable}' -m linkedbandits --show-completion; true"
    shown = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, timeout=SECONDS, check=True, env=environment()
    )
    assert "complete -o default -F _linkedbandits_completion linkedbandits" in shown.stdout
    assert f"{COMPLETES}=complete_bash" in shown.stdout


@pytest.mark.slow
def test_it_can_be_installed_and_bash_then_completes(tmp_path):
    """In a home of its own; bash reads what was installed and asks the real command, which is put in its way."""
    command = tmp_path / "bin" / "linkedbandits"
    command.parent.mkdir()
    command.write_text(f"#!/bin/sh\nexec '{sys.executable}' -m linkedbandits \"$@\"\n")
    command.chmod(0o755)
    home = {**environment(), "HOME": str(tmp_path), "PATH": f"{command.parent}:{environment()['PATH']}"}

    def bash(script: str) -> str:
        result = subprocess.run(
            ["bash", "-c", script], capture_output=True, text=True, timeout=SECONDS, check=False, env=home
        )
        assert result.returncode == 0, result.stderr
        return result.stdout

    assert "completion installed in" in bash("linkedbandits --install-completion; test $? = 0")
    asks = "COMP_WORDS=(linkedbandits compare --linkage or); COMP_CWORD=3; _linkedbandits_completion linkedbandits"
    assert bash(f'source ~/.bashrc; {asks}; echo "${{COMPREPLY[@]}}"') == "ordered\n"


def test_names_are_completed_by_how_they_begin():
    assert completing.linkages("") == ["ordered", "free", "single", "suffix"]
    assert completing.scenarios("x") == []
    assert completing.policies("whole") == ["whole-sequence-ege"]
