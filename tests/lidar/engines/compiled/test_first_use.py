"""While machine code is made it is said why, which kind it is, and how long it took."""

from __future__ import annotations

import pytest

pytest.importorskip("numba")

from linkedbandits.lidar.engines.compiled import first_use


@pytest.fixture
def making(monkeypatch, capsys):
    """Calls ``have_made`` with functions that are ready by name or not, in a process that has said nothing yet."""
    monkeypatch.setattr(first_use, "_explained", [])
    monkeypatch.setattr(first_use, "is_ready", lambda function: function == "ready")

    def said(**kinds):
        called = []
        first_use.have_made({name: (state, lambda name=name: called.append(name)) for name, state in kinds.items()})
        assert called == list(kinds)
        return capsys.readouterr().err.splitlines()

    return said


def test_it_says_which_of_how_many_and_how_long(making):
    why, *lines = making(first="not", second="ready", third="not")
    assert "up to a minute for each kind of work" in why
    assert "python -m linkedbandits.lidar.engines.compiled makes all of it in advance" in why
    assert lines == [
        "linkedbandits: machine code for first (1 of 2) ...",
        "linkedbandits: machine code for first took 0 s",
        "linkedbandits: machine code for third (2 of 2) ...",
        "linkedbandits: machine code for third took 0 s",
    ]


def test_why_is_said_once(making):
    assert len(making(first="not")) == 3
    assert making(other="not") == [
        "linkedbandits: machine code for other (1 of 1) ...",
        "linkedbandits: machine code for other took 0 s",
    ]


def test_nothing_is_said_when_all_is_there(making):
    assert making(first="ready", second="ready") == []


def test_who_makes_it_in_advance_is_not_told_that_one_can(making):
    first_use.need_not_explain()
    assert len(making(first="not")) == 2
