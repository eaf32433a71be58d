"""Help: every option is there whole, however narrow the terminal is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import typer

from linkedbandits.cli import application
from linkedbandits.cli.helping import Command, Group
from tests.support.command_line import run


def every_command(group: Any, before: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield before, group
    for name, command in getattr(group, "commands", {}).items():
        yield from every_command(command, (*before, name))


COMMANDS = dict(every_command(typer.main.get_command(application())))


@pytest.mark.parametrize("columns", [40, 60, 80, 200])
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_no_option_is_lost_and_nothing_is_cut(words, columns):
    shown = run(*words, "--help", COLUMNS=str(columns))
    assert shown.returncode == 0
    assert "…" not in shown.stdout
    assert max(map(len, shown.stdout.splitlines())) <= columns
    said = shown.stdout.replace("│", " ").split()
    for param in COMMANDS[words].params:
        if isinstance(param, typer.core.TyperOption) and not param.hidden:
            for name in (*param.opts, *param.secondary_opts):
                assert any(name in word.split(",") for word in said), name
    for name in getattr(COMMANDS[words], "commands", {}):
        assert name in said


@pytest.mark.parametrize("columns", [40, 200])
@pytest.mark.parametrize("words", [("compare",), ("serve",), ()], ids=" ".join)
def test_flags_take_no_value_and_what_may_be_repeated_takes_one_at_a_time(words, columns):
    shown = run(*words, "--help", COLUMNS=str(columns)).stdout
    assert "<bool>" not in shown
    assert "list[" not in shown
    if words:
        assert "<str>..." in shown


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_the_short_option_shows_the_same_help(words):
    assert isinstance(COMMANDS[words], Group if hasattr(COMMANDS[words], "commands") else Command)
    assert run(*words, "-h").stdout == run(*words, "--help").stdout


def test_a_wide_terminal_has_panels_and_a_narrow_one_has_none():
    assert "╭" in run("serve", "--help", COLUMNS="200").stdout
    narrow = run("serve", "--help", COLUMNS="40").stdout
    assert "╭" not in narrow
    assert narrow.startswith("Usage: linkedbandits serve [OPTIONS]\n\nServe live experiments over HTTP, with a\npage")
    assert "\n  --requests-per-second <float range>\n      How many requests per second each\n" in narrow


def test_a_group_lists_its_commands_with_what_they_do():
    shown = run("--help", COLUMNS="24").stdout
    assert "\n  token\n      Make, list and\n      revoke the tokens\n" in shown
