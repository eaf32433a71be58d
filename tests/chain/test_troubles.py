"""What goes wrong beside the calls is noted, and said once."""

from __future__ import annotations

import logging

from linkedbandits.chain.troubles import LOGGER, Troubles


def test_the_first_of_each_place_and_type_is_logged_with_its_traceback(caplog):
    troubles = Troubles()
    for error in (KeyError("x"), KeyError("y"), OSError("disk")):
        troubles.note("the experiment", error)
    troubles.note("on_result", KeyError("z"))
    assert [record.levelno for record in caplog.records] == [logging.ERROR] * 3
    assert caplog.records[0].exc_info[1].args == ("x",)
    assert troubles.count == 4
    assert troubles.last == "on_result: KeyError: 'z'"


def test_a_warning_is_given_once_and_is_no_error(caplog):
    troubles = Troubles()
    for _ in range(3):
        troubles.once("this", "mind this")
    assert [record.getMessage() for record in caplog.records] == ["mind this"]
    assert (troubles.count, troubles.last) == (0, None)


def test_neither_errors_without_words_nor_filters_that_raise_break_a_call(monkeypatch):
    class Speechless(Exception):
        def __str__(self):
            raise RuntimeError("no words")

    def raises(record):
        raise RuntimeError("a filter")

    monkeypatch.setattr(LOGGER, "filters", [raises])
    troubles = Troubles()
    troubles.note("a hook", Speechless())
    troubles.once("x", "a warning with a % in it")
    assert (troubles.count, troubles.last) == (1, "a hook: Speechless: (without words)")
