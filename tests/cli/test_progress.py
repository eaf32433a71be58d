"""The progress bar: on a terminal and nowhere else, with names from people's files as they are."""

from __future__ import annotations

import io
import re

import pytest

from linkedbandits.cli.progress import progress_bar


class Terminal(io.StringIO):
    """A text stream that says it is one."""

    def isatty(self):
        return True


@pytest.fixture
def shown(monkeypatch):
    """A function that runs a bar to its end on a stream and returns what was written to it, without colours."""
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "LINES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")

    def run(stream, steps, **options):
        monkeypatch.setattr("sys.stderr", stream)
        with progress_bar(10, **options) as advance:
            for description, amount in steps:
                advance(description, amount)
        return re.sub(r"\x1b\[[\d;?]*[a-zA-Z]", "", stream.getvalue())

    return run


def test_what_has_a_unit_is_counted_in_it(shown):
    text = shown(Terminal(), [("first", 3), ("second", 4)], unit="trials")
    assert "7/10 trials" in text
    assert "second" in text
    assert "%" not in text


def test_what_has_no_unit_is_shown_in_percent(shown):
    text = shown(Terminal(), [("", 3), ("", 4)])
    assert "70%" in text
    assert "7/10" not in text


def test_a_pipe_sees_nothing_of_it(shown):
    assert shown(io.StringIO(), [("first", 10)], unit="trials") == ""


def test_in_the_end_nothing_of_it_is_left(shown):
    """The line is wiped after it was shown for the last time."""
    terminal = Terminal()
    shown(terminal, [("first", 10)], unit="trials")
    _, _, after = terminal.getvalue().rpartition("10/10")
    assert "\x1b[2K" in after


def test_a_description_is_no_markup(shown):
    assert "[red]mine[/nope]" in shown(Terminal(), [("[red]mine[/nope]", 1)])


def test_standard_output_is_left_alone(shown, capsys):
    shown(Terminal(), [("first", 10)], unit="trials")
    assert capsys.readouterr().out == ""


def test_how_much_there_is_may_not_be_known(shown, monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with progress_bar(None, "rows") as advance:
        advance("reading", 7)
    assert "7/? rows" in re.sub(r"\x1b\[[\d;?]*[a-zA-Z]", "", terminal.getvalue())
