"""Where reports go: as wide as the terminal, or wide enough for a table in a pipe; names are no markup."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from rich.table import Table

from linkedbandits.cli.report import fits, report_console


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture(autouse=True)
def no_shape_from_outside(monkeypatch):
    for name in ("COLUMNS", "LINES", "FORCE_COLOR", "NO_COLOR", "TERM", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)


def printed(monkeypatch, text, stream):
    monkeypatch.setattr("sys.stdout", stream)
    report_console().print(text)
    return stream.getvalue()


LONG = "word " * 39 + "words"  # 200 characters


def test_in_a_pipe_a_line_of_a_table_stays_a_line(monkeypatch):
    assert printed(monkeypatch, LONG, io.StringIO()) == f"{LONG}\n"
    assert printed(monkeypatch, f"{LONG}!", io.StringIO()).count("\n") == 2


@pytest.mark.parametrize("stream", [io.StringIO, Terminal])
def test_who_says_how_wide_it_is_gets_that(monkeypatch, stream):
    monkeypatch.setenv("COLUMNS", "50")
    lines = printed(monkeypatch, LONG, stream()).splitlines()
    assert len(lines) > 3
    assert all(len(line) <= 50 for line in lines)


def test_a_terminal_is_not_taken_to_be_wider_than_it_is(monkeypatch):
    """A terminal that does not say has 80 columns."""
    monkeypatch.setattr("os.get_terminal_size", lambda *_: (_ for _ in ()).throw(OSError()))
    assert all(len(line) <= 80 for line in printed(monkeypatch, LONG, Terminal()).splitlines())


@pytest.mark.parametrize("stream", [io.StringIO, Terminal])
def test_names_and_numbers_come_out_as_they_are(monkeypatch, stream):
    monkeypatch.setenv("COLUMNS", "80")
    assert printed(monkeypatch, "[red]a/b[/nope] 12.5 'x'", stream()) == "[red]a/b[/nope] 12.5 'x'\n"


@pytest.mark.parametrize("overflow", ["fold", "ellipsis"])
def test_a_table_fits_if_none_of_its_cells_is_broken(overflow):
    table = Table()
    table.add_column("policy", overflow=overflow)
    table.add_row("linked-track-and-stop")
    assert fits(Console(width=25), table)  # with a border and a space on either side
    assert not fits(Console(width=24), table)
