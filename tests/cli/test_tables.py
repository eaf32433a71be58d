"""What commands print: tables and text that fit the terminal, numbers, and a progress bar."""

from __future__ import annotations

import io
import re

import pytest

from linkedbandits.cli import tables
from linkedbandits.cli.tables import Report, progress_bar, standard_report, terminal_width, wrapped


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture(autouse=True)
def no_shape_from_outside(monkeypatch):
    for name in ("COLUMNS", "LINES", "FORCE_COLOR", "NO_COLOR", "TERM", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)


def printed(monkeypatch, text, stream):
    monkeypatch.setattr("sys.stdout", stream)
    standard_report().print(text)
    return stream.getvalue()


LONG = "word " * 39 + "words"  # 200 characters


def test_in_a_pipe_text_is_broken_at_200(monkeypatch):
    assert printed(monkeypatch, LONG, io.StringIO()) == f"{LONG}\n"
    assert printed(monkeypatch, f"{LONG}!", io.StringIO()).count("\n") == 2


@pytest.mark.parametrize("stream", [io.StringIO, Terminal])
def test_who_says_how_wide_it_is_gets_that(monkeypatch, stream):
    monkeypatch.setenv("COLUMNS", "50")
    lines = printed(monkeypatch, LONG, stream()).splitlines()
    assert len(lines) > 3
    assert all(len(line) <= 50 for line in lines)


@pytest.mark.parametrize("said", ["0", "wide", "", "-3"])
def test_who_says_nonsense_is_not_believed(monkeypatch, said):
    monkeypatch.setenv("COLUMNS", said)
    assert printed(monkeypatch, LONG, io.StringIO()) == f"{LONG}\n"


def test_a_terminal_is_not_taken_to_be_wider_than_it_is(monkeypatch):
    """A terminal that does not say has 80 columns, and so has one that says 0."""
    for answer in (lambda *_: (_ for _ in ()).throw(OSError()), lambda *_: type("Size", (), {"columns": 0})):
        monkeypatch.setattr("os.get_terminal_size", answer)
        assert terminal_width() == 80
        assert all(len(line) <= 80 for line in printed(monkeypatch, LONG, Terminal()).splitlines())


@pytest.mark.parametrize("stream", [io.StringIO, Terminal])
def test_names_and_numbers_come_out_as_they_are(monkeypatch, stream):
    monkeypatch.setenv("COLUMNS", "80")
    assert printed(monkeypatch, "[red]a/b[/nope] :smile: 12.5 'x'", stream()) == "[red]a/b[/nope] :smile: 12.5 'x'\n"


HEADINGS = ("policy", "plays", "90 %", "(95 % interval)")
ROWS = [("linked-track-and-stop", "1,234,567", "2,345,678", "(0 to 16.8 %)"), ("mine", "7", "", "(0 to 1 %)")]


def table(width, headings=HEADINGS, rows=ROWS, **more):
    out = io.StringIO()
    Report(width, file=out).table(headings, rows, **more)
    assert "…" not in out.getvalue()
    return out.getvalue()


LOOSE, TIGHT = 21 + 9 + 9 + 15 + 3 * 2 + 2, 21 + 9 + 9 + 15 + 3


def test_a_table_with_room_has_air():
    assert table(LOOSE).splitlines() == [
        " " * LOOSE,
        " policy                     plays       90 %  (95 % interval) ",
        " " + "─" * (LOOSE - 2) + " ",
        " linked-track-and-stop  1,234,567  2,345,678    (0 to 16.8 %) ",
        " mine                           7                  (0 to 1 %) ",
        " " * LOOSE,
    ]


def test_with_less_room_it_moves_closer_together():
    for width in (LOOSE - 1, TIGHT):
        assert table(width).splitlines() == [
            "",
            "policy                    plays      90 % (95 % interval)",
            "─" * TIGHT,
            "linked-track-and-stop 1,234,567 2,345,678   (0 to 16.8 %)",
            "mine                          7                (0 to 1 %)",
            "",
        ]


def test_without_room_it_stands_upright_and_blanks_are_left_out():
    for width in (TIGHT - 1, 32):
        assert table(width).splitlines() == [
            "",
            "linked-track-and-stop",
            "  plays            1,234,567",
            "  90 %             2,345,678",
            "  (95 % interval)  (0 to 16.8 %)",
            "",
            "mine",
            "  plays            7",
            "  (95 % interval)  (0 to 1 %)",
            "",
        ]


def test_upright_a_value_without_room_beside_its_name_stands_below_it():
    assert "\n  (95 % interval)\n    (0 to 16.8 %)\n" in table(31)
    assert "\n  plays            7\n" in table(31)
    assert "\n    (0 to\n    16.8 %)\n" in table(14)  # between words, where there is no other way


def test_upright_numbers_are_named_by_their_heading():
    assert table(11, ("arm", "mean"), [("3", "0.123456")], names=0) == "\narm 3\n  mean\n    0.123456\n\n"


def test_upright_a_heading_that_says_something_stays():
    shown = table(20, ("tried first, then", "share"), [("north, east", "0.25")])
    assert shown == "\ntried first, then\n\nnorth, east\n  share  0.25\n\n"


def test_a_name_that_is_longer_than_the_line_stays_whole():
    long = "a-name/that-is-longer-than-the-line"
    assert f"\n{long}\n" in table(20, rows=[(long, "1", "2", "3")])


def test_in_a_pipe_a_row_is_a_line_however_long(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr("sys.stdout", stream)
    standard_report().table(("name", "value"), [("n" * 3000, "7"), ("m", "8" * 300)])
    lines = stream.getvalue().splitlines()
    assert [line.split() for line in lines if line.strip()][2:] == [["n" * 3000, "7"], ["m", "8" * 300]]


SAID = "it was tried again after a while, and then it arrived"


def test_a_column_of_sentences_is_broken_between_words():
    shown = table(50, ("id", "address", "last"), [("0123", "https://example", SAID)], names=3, prose="last")
    assert max(map(len, shown.splitlines())) <= 50
    assert "0123 https://example it was tried again after a" in shown
    assert " ".join(shown.split()).endswith("it was tried again after a while, and then it arrived")


def test_a_column_of_sentences_that_would_be_too_narrow_is_none():
    shown = table(40, ("id", "address", "last"), [("0123", "https://example", SAID)], names=3, prose="last")
    assert shown.startswith("\n0123\n  address  https://example\n")


def test_pairs_stand_side_by_side():
    out = io.StringIO()
    Report(20, file=out).pairs([("pixels", "12"), ("a", "3 .. 4 .. 5"), ("depth", "0.1 .. 0.2 .. 0.33")])
    assert out.getvalue() == "pixels  12\na       3 .. 4 .. 5\ndepth\n  0.1 .. 0.2 .. 0.33\n"


def test_lines_have_marks_and_are_set_in():
    out = io.StringIO()
    Report(12, file=out).lines(["one two three", "four"])
    assert out.getvalue() == "- one two\n  three\n- four\n"


def test_wide_characters_count_twice():
    assert wrapped("東京 東京", 8) == ["東京", "東京"]
    assert wrapped("東京 東京", 9) == ["東京 東京"]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", [""]),
        ("a\n\nb", ["a", "", "b"]),
        ("a  b", ["a  b"]),
        ("aaaa  bbbb", ["aaaa", "bbbb"]),
        ("abcdefghij k", ["abcdefghij", "k"]),
        ("wrong 9 %", ["wrong", "9 %"]),
    ],
)
def test_text_is_broken_at_spaces_alone(text, lines):
    assert wrapped(text, 6) == lines


@pytest.mark.parametrize(
    ("shown_by", "value", "shown"),
    [
        *((tables.count, value, shown) for value, shown in [(0.4, "0"), (999.6, "1,000"), (9_999_999.0, "9,999,999")]),
        *((tables.count, value, shown) for value, shown in [(1e7, "1e+07"), (2.0**62, "> 4.6e+18")]),
        *((tables.percent, share, shown) for share, shown in [(0.0, "0 %"), (0.0123, "1.2 %"), (0.2345, "23.4 %")]),
        *((tables.times, ratio, shown) for ratio, shown in [(1.26, "1.3"), (99.9, "99.9"), (2641.3, "2,641")]),
    ],
)
def test_numbers_have_the_digits_that_matter(shown_by, value, shown):
    assert shown_by(value) == shown


def bar(monkeypatch, stream, steps, total=10, **options):
    """Run a bar to its end on a stream; return what was written to it, without colours."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr("sys.stderr", stream)
    with progress_bar(total, **options) as advance:
        for description, amount in steps:
            advance(description, amount)
    return re.sub(r"\x1b\[[\d;?]*[a-zA-Z]", "", stream.getvalue())


def test_a_bar_counts_in_its_unit_or_in_percent(monkeypatch, capsys):
    steps = [("first", 3), ("[red]mine[/nope]", 4)]
    text = bar(monkeypatch, Terminal(), steps, unit="trials")
    assert "7/10 trials" in text
    assert "[red]mine[/nope]" in text
    assert "70%" in bar(monkeypatch, Terminal(), steps)
    assert "7/? rows" in bar(monkeypatch, Terminal(), steps, total=None, unit="rows")
    assert capsys.readouterr().out == ""


def test_a_bar_leaves_nothing_behind_and_is_not_in_a_pipe(monkeypatch):
    assert bar(monkeypatch, io.StringIO(), [("first", 10)], unit="trials") == ""
    terminal = Terminal()
    bar(monkeypatch, terminal, [("first", 10)], unit="trials")
    assert "\x1b[2K" in terminal.getvalue().rpartition("10/10")[2]
